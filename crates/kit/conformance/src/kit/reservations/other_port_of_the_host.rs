//! The reservation is of one nexus: the same initiator through the other portal conflicts.

use super::super::prelude::*;

pub(super) const CHECK: Check = Check {
    number: 136,
    name: "reservations/other_port_of_the_host",
    section: "SPC-2 §5.5.1; SAM-5 §4.3",
    asks: "The reservation is of one nexus: the same initiator through the other portal conflicts.",
    needs: &[Need::Writes, Need::SecondPortal],
    run,
};

fn run(bench: &mut Bench<'_>) -> Verdict {
    bench.ask(A, cdb::padded(&[0x16]))?.good()?;
    bench.ask(A2, cdb::test_unit_ready())?.conflict()?;
    bench.ask(A, cdb::padded(&[0x17]))?.good()?;
    Ok(())
}
