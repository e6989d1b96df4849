//! A copy within one logical unit with one CSCD descriptor and both indexes 0.

use super::super::prelude::*;

pub(super) const CHECK: Check = Check {
    number: 62,
    name: "extended_copy/one_descriptor",
    section: "SPC-4 §6.3",
    asks: "A copy within one logical unit with one CSCD descriptor and both indexes 0.",
    needs: &[Need::Writes],
    run,
};

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (lba, data) = source(bench, 2048)?;
    let list = within(bench, lba, lba + 2048, 2048)?;
    copy(bench, A, list)?.good()?;
    bench.expect_content(A, lba + 2048, &data)?;
    Ok(())
}
