use super::super::prelude::*;
use super::support::*;

check! {
    /// A copy to a write protected logical unit is refused, sent to the source or to the
    /// destination, and nothing is written.
    202, "SPC-4 §6.4.4, §7.5.8", needs: [Writes, SecondUnit]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let lba = bench.scratch(2048)?;
    let (data, old) = (bench.pattern(8), bench.pattern(8));
    bench.write(A, lba, &data)?;
    bench.write(A.second(), lba, &old)?;
    let list = between_units(bench, lba, lba, 8)?;
    protect(bench, A.second(), true)?;
    let answers = [A, A.second()].map(|path| copy(bench, path, list.clone()));
    protect(bench, A.second(), false)?;
    for answer in answers {
        answer?.one_of(&[(0x07, 0x27, 0x00), (0x07, 0x27, 0x02), (0x0A, 0x0D, 0x01)])?;
    }
    bench.expect_content(A.second(), lba, &old)
}
