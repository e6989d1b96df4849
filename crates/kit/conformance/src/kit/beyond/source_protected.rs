//! A write protected logical unit can be copied from.

use super::super::prelude::*;
use super::support::*;

pub(super) const CHECK: Check = Check {
    number: 203,
    name: "beyond/source_protected",
    section: "SPC-4 §7.5.8",
    asks: "A write protected logical unit can be copied from.",
    needs: &[Need::Writes, Need::SecondUnit],
    run,
};

fn run(bench: &mut Bench<'_>) -> Verdict {
    let lba = bench.scratch(2048)?;
    let data = bench.pattern(8);
    bench.write(A, lba, &data)?;
    let list = between_units(bench, lba, lba, 8)?;
    protect(bench, A, true)?;
    let answer = copy(bench, A.second(), list);
    protect(bench, A, false)?;
    answer?.good()?;
    bench.expect_content(A.second(), lba, &data)
}
