use super::super::prelude::*;
use super::support::*;

check! {
    /// OFFSET INTO ROD counts through the ranges of the token in their order; beyond its end
    /// nothing is written.
    216, "SBC-4 §5.47", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (lba, data) = source(bench, 64)?;
    let created = populate(bench, A, &[(lba + 32, 32), (lba, 32)])?;
    write_token(bench, A, &created, 16, &[(lba + 2048, 8), (lba + 2100, 24)])?.good()?;
    let rod = [&data[32 * BLOCK..], &data[..32 * BLOCK]].concat();
    bench.expect_content(A, lba + 2048, &rod[16 * BLOCK..24 * BLOCK])?;
    bench.expect_content(A, lba + 2100, &rod[24 * BLOCK..48 * BLOCK])?;
    write_token(bench, A, &created, 64, &[(lba + 2048, 1)])?.key(0x05)?;
    bench.expect_content(A, lba + 2048, &rod[16 * BLOCK..24 * BLOCK])
}
