use super::super::prelude::*;
use super::support::*;

check! {
    /// WRITE USING TOKEN with DEL_TKN makes the token invalid.
    215, "SBC-4 §5.47", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (lba, data) = source(bench, 8)?;
    let created = populate(bench, A, &[(lba, 8)])?;
    let list = token::write_list(&created, 0, true, &[(lba + 2048, 8)]);
    let length = u32::try_from(list.len()).unwrap_or(u32::MAX);
    bench.send_data(A, token::write_using_token(3, length), list)?.good()?;
    bench.expect_content(A, lba + 2048, &data)?;
    let refused = [(0x05, 0x23, 0x04), (0x05, 0x23, 0x09)];
    write_token(bench, A, &created, 0, &[(lba + 2048, 8)])?.one_of(&refused)?.done()
}
