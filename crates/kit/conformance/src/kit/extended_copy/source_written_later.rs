//! A WRITE to the source after the copy leaves the destination.

use super::super::prelude::*;

pub(super) const CHECK: Check = Check {
    number: 85,
    name: "extended_copy/source_written_later",
    section: "SPC-4 §6.3",
    asks: "A WRITE to the source after the copy leaves the destination.",
    needs: &[Need::Writes],
    run,
};

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (lba, data) = source(bench, 64)?;
    let list = within(bench, lba, lba + 2048, 64)?;
    copy(bench, A, list)?.good()?;
    let new = bench.pattern(64);
    bench.write(A, lba, &new)?;
    bench.expect_content(A, lba + 2048, &data)?;
    Ok(())
}
