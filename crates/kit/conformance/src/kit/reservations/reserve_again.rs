//! RESERVE (6) by the holder succeeds again, and one RELEASE ends it.

use super::super::prelude::*;

pub(super) const CHECK: Check = Check {
    number: 130,
    name: "reservations/reserve_again",
    section: "SPC-2 §7.21",
    asks: "RESERVE (6) by the holder succeeds again, and one RELEASE ends it.",
    needs: &[Need::Writes],
    run,
};

fn run(bench: &mut Bench<'_>) -> Verdict {
    bench.ask(A, cdb::padded(&[0x16]))?.good()?;
    bench.ask(A, cdb::padded(&[0x16]))?.good()?;
    bench.ask(A, cdb::padded(&[0x17]))?.good()?;
    bench.ask(B, cdb::padded(&[0x16]))?.good()?;
    bench.ask(B, cdb::padded(&[0x17]))?.good()?;
    Ok(())
}
