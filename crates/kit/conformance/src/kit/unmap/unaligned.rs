use super::super::prelude::*;

check! {
    /// UNMAP of seven unaligned blocks zeroes those and does not change their neighbours.
    118, "SBC-3 §5.28, §4.7.3.4", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let lba = bench.scratch(24)?;
    let mut expected = bench.pattern(24);
    bench.write(A, lba, &expected)?;
    unmap(bench, A, &[(lba + 5, 7)])?.good()?;
    expected[5 * BLOCK..12 * BLOCK].fill(0);
    bench.expect_content(A, lba, &expected)?;
    Ok(())
}
