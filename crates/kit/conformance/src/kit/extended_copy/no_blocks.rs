//! A segment of no blocks does nothing and succeeds.

use super::super::prelude::*;

pub(super) const CHECK: Check = Check {
    number: 79,
    name: "extended_copy/no_blocks",
    section: "SPC-4 §6.3.7.5",
    asks: "A segment of no blocks does nothing and succeeds.",
    needs: &[Need::Writes],
    run,
};

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (lba, old) = source(bench, 8)?;
    let list = within(bench, lba + 2048, lba, 0)?;
    copy(bench, A, list)?.good()?;
    bench.expect_content(A, lba, &old)?;
    Ok(())
}
