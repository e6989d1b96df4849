use super::super::prelude::*;
use super::support::*;

check! {
    /// WRITE USING TOKEN writes the source as it was at POPULATE TOKEN, although the source was
    /// overwritten and unmapped since.
    212, "SBC-4 §5.10, §5.47", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (lba, data) = source(bench, 64)?;
    let created = populate(bench, A, &[(lba, 64)])?;
    let other = bench.pattern(32);
    bench.write(A, lba, &other)?;
    bench.clear(A, lba + 32, 32)?;
    write_token(bench, A, &created, 0, &[(lba + 2048, 64)])?.good()?;
    bench.expect_content(A, lba + 2048, &data)?;
    bench.expect_content(A, lba, &other)?;
    // More than a mapping unit away, and not aligned with it.
    write_token(bench, A, &created, 0, &[(lba + 2200 + 3, 64)])?.good()?;
    bench.expect_content(A, lba + 2200 + 3, &data)
}
