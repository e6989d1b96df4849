//! A destination range beyond the end aborts the copy.

use super::super::prelude::*;

pub(super) const CHECK: Check = Check {
    number: 78,
    name: "extended_copy/destination_beyond_the_end",
    section: "SPC-4 §6.3.3",
    asks: "A destination range beyond the end aborts the copy.",
    needs: &[Need::Writes],
    run,
};

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (lba, _) = source(bench, 2048)?;
    let capacity = bench.capacity(A)?;
    let list = within(bench, lba, capacity - 1, 2048)?;
    copy(bench, A, list)?.key(0x0A)?;
    Ok(())
}
