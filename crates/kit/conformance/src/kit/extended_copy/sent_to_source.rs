use super::super::prelude::*;

check! {
    /// 4 MiB from the first to the second logical unit, sent to the first.
    61, "SPC-4 §6.3", needs: [Writes, SecondUnit]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let lba = bench.scratch(16_384)?;
    let data = bench.pattern(8192);
    bench.write(A, lba, &data)?;
    let list = between_units(bench, lba, lba + 8192, 8192)?;
    copy(bench, A, list)?.good()?;
    bench.expect_content(A.second(), lba + 8192, &data)?;
    Ok(())
}
