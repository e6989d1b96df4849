//! A segment that names a CSCD descriptor which is not there aborts the copy.

use super::super::prelude::*;

pub(super) const CHECK: Check = Check {
    number: 74,
    name: "extended_copy/index_without_descriptor",
    section: "SPC-4 §6.3.3",
    asks: "A segment that names a CSCD descriptor which is not there aborts the copy.",
    needs: &[Need::Writes],
    run,
};

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (lba, _) = source(bench, 8)?;
    let mut list = within(bench, lba, lba + 2048, 8)?;
    list[48 + 7] = 1;
    copy(bench, A, list)?.key(0x0A)?;
    Ok(())
}
