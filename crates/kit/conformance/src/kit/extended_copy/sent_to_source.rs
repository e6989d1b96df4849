//! 4 MiB from the first to the second logical unit, sent to the first.

use super::super::prelude::*;

pub(super) const CHECK: Check = Check {
    number: 61,
    name: "extended_copy/sent_to_source",
    section: "SPC-4 §6.3",
    asks: "4 MiB from the first to the second logical unit, sent to the first.",
    needs: &[Need::Writes, Need::SecondUnit],
    run,
};

fn run(bench: &mut Bench<'_>) -> Verdict {
    let lba = bench.scratch(16_384)?;
    let data = bench.pattern(8192);
    bench.write(A, lba, &data)?;
    let list = between_units(bench, lba, lba + 8192, 8192)?;
    copy(bench, A, list)?.good()?;
    bench.expect_content(A.second(), lba + 8192, &data)?;
    Ok(())
}
