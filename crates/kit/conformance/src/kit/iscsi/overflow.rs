//! READ with an expected length shorter than the transfer has an overflow of the difference.

use super::super::prelude::*;

pub(super) const CHECK: Check = Check {
    number: 171,
    name: "iscsi/overflow",
    section: "RFC 7143 §11.4.5.1",
    asks: "READ with an expected length shorter than the transfer has an overflow of the difference.",
    needs: &[],
    run,
};

fn run(bench: &mut Bench<'_>) -> Verdict {
    bench.fetch(A, cdb::read16(0, 8), 2048)?.good()?.length(2048)?.residual(-2048)?;
    Ok(())
}
