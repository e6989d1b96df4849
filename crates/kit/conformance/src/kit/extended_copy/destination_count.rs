//! DC=1 counts in blocks of the destination, which is the same when they have one size.

use super::super::prelude::*;

pub(super) const CHECK: Check = Check {
    number: 80,
    name: "extended_copy/destination_count",
    section: "SPC-4 §6.3.7.5",
    asks: "DC=1 counts in blocks of the destination, which is the same when they have one size.",
    needs: &[Need::Writes],
    run,
};

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (lba, data) = source(bench, 64)?;
    let mut list = within(bench, lba, lba + 2048, 64)?;
    list[49] |= 0x02;
    copy(bench, A, list)?.good()?;
    bench.expect_content(A, lba + 2048, &data)?;
    Ok(())
}
