use super::super::prelude::*;
use super::support::*;

check! {
    /// A token is refused from another initiator.
    214, "SPC-4 §5.16.6", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (lba, _) = source(bench, 8)?;
    let created = populate(bench, A, &[(lba, 8)])?;
    let old = bench.pattern(8);
    bench.write(A, lba + 2048, &old)?;
    let refused = [(0x05, 0x23, 0x00), (0x05, 0x23, 0x04), (0x05, 0x23, 0x06)];
    write_token(bench, B, &created, 0, &[(lba + 2048, 8)])?.one_of(&refused)?;
    bench.expect_content(A, lba + 2048, &old)?;
    // The token stays valid for its creator.
    write_token(bench, A, &created, 0, &[(lba + 2048, 8)])?.good()?.done()
}
