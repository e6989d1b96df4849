use super::super::prelude::*;
use super::support::*;

check! {
    /// WRITE USING TOKEN on a logical unit that another nexus has reserved is a reservation
    /// conflict, and on a write protected one refused.
    221, "SBC-4 §5.47; SPC-2 §5.5.1", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (lba, data) = source(bench, 8)?;
    let created = populate(bench, A, &[(lba, 8)])?;
    let old = bench.pattern(8);
    bench.write(A, lba + 2048, &old)?;
    bench.ask(B, cdb::padded(&[0x16]))?.good()?;
    let answer = write_token(bench, A, &created, 0, &[(lba + 2048, 8)]);
    bench.ask(B, cdb::padded(&[0x17]))?.good()?;
    answer?.conflict()?;
    protect(bench, A, true)?;
    let answer = write_token(bench, A, &created, 0, &[(lba + 2048, 8)]);
    protect(bench, A, false)?;
    answer?.one_of(&[(0x07, 0x27, 0x00), (0x07, 0x27, 0x02)])?;
    bench.expect_content(A, lba + 2048, &old)?;
    write_token(bench, A, &created, 0, &[(lba + 2048, 8)])?.good()?;
    bench.expect_content(A, lba + 2048, &data)
}
