//! RELEASE (6) of another nexus succeeds and changes nothing.

use super::super::prelude::*;

pub(super) const CHECK: Check = Check {
    number: 133,
    name: "reservations/release_by_another",
    section: "SPC-2 §7.17",
    asks: "RELEASE (6) of another nexus succeeds and changes nothing.",
    needs: &[Need::Writes],
    run,
};

fn run(bench: &mut Bench<'_>) -> Verdict {
    bench.ask(A, cdb::padded(&[0x16]))?.good()?;
    bench.ask(B, cdb::padded(&[0x17]))?.good()?;
    bench.ask(B, cdb::test_unit_ready())?.conflict()?;
    bench.ask(A, cdb::padded(&[0x17]))?.good()?;
    Ok(())
}
