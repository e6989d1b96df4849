use super::super::prelude::*;
use super::support::*;

check! {
    /// The well-known block device zero token writes zeros.
    218, "SBC-4 §4.30.3", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (lba, data) = source(bench, 64)?;
    let answer = write_token(bench, A, &token::zero_token(), 0, &[(lba + 8, 16), (lba + 40, 5)])?;
    if answer.is(0x05, 0x23, 0x01) || answer.is(0x05, 0x20, 0x00) || answer.is(0x05, 0x24, 0x00) {
        return skipped("the zero token is not supported");
    }
    answer.good()?;
    let mut expected = data;
    expected[8 * BLOCK..24 * BLOCK].fill(0);
    expected[40 * BLOCK..45 * BLOCK].fill(0);
    bench.expect_content(A, lba, &expected)
}
