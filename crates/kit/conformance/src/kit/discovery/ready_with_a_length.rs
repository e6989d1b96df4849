//! TEST UNIT READY with the R bit and an expected length succeeds with an underflow of all of it, as ESXi sends it.

use super::super::prelude::*;

pub(super) const CHECK: Check = Check {
    number: 6,
    name: "discovery/ready_with_a_length",
    section: "RFC 7143 §11.4.5.1",
    asks: "TEST UNIT READY with the R bit and an expected length succeeds with an underflow of all of it, as ESXi sends it.",
    needs: &[],
    run,
};

fn run(bench: &mut Bench<'_>) -> Verdict {
    bench.fetch(A, cdb::test_unit_ready(), 252)?.good()?.length(0)?.residual(252)?;
    Ok(())
}
