use super::super::prelude::*;
use super::support::*;

check! {
    /// A write protected logical unit can be copied from.
    203, "SPC-4 §7.5.8", needs: [Writes, SecondUnit]
}

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
