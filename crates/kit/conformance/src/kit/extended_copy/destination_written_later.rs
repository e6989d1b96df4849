//! A WRITE to the destination after the copy leaves the source.

use super::super::prelude::*;

pub(super) const CHECK: Check = Check {
    number: 86,
    name: "extended_copy/destination_written_later",
    section: "SPC-4 §6.3",
    asks: "A WRITE to the destination after the copy leaves the source.",
    needs: &[Need::Writes],
    run,
};

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (lba, data) = source(bench, 64)?;
    let list = within(bench, lba, lba + 2048, 64)?;
    copy(bench, A, list)?.good()?;
    let new = bench.pattern(64);
    bench.write(A, lba + 2048, &new)?;
    bench.expect_content(A, lba, &data)?;
    Ok(())
}
