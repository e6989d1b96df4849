//! A source range beyond the end aborts the copy, and nothing is written.

use super::super::prelude::*;

pub(super) const CHECK: Check = Check {
    number: 77,
    name: "extended_copy/source_beyond_the_end",
    section: "SPC-4 §6.3.3",
    asks: "A source range beyond the end aborts the copy, and nothing is written.",
    needs: &[Need::Writes],
    run,
};

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (lba, old) = source(bench, 8)?;
    let capacity = bench.capacity(A)?;
    let list = within(bench, capacity - 4, lba, 8)?;
    copy(bench, A, list)?.key(0x0A)?;
    bench.expect_content(A, lba, &old)?;
    Ok(())
}
