//! UNMAP without a list, without descriptors, or of no blocks at the end succeeds.

use super::super::prelude::*;

pub(super) const CHECK: Check = Check {
    number: 115,
    name: "unmap/nothing",
    section: "SBC-3 §5.28",
    asks: "UNMAP without a list, without descriptors, or of no blocks at the end succeeds.",
    needs: &[Need::Writes],
    run,
};

fn run(bench: &mut Bench<'_>) -> Verdict {
    bench.ask(A, cdb::unmap(0))?.good()?;
    unmap(bench, A, &[])?.good()?;
    let capacity = bench.capacity(A)?;
    unmap(bench, A, &[(capacity, 0)])?.good()?;
    Ok(())
}
