use super::super::prelude::*;
use super::support::*;

check! {
    /// The initiator that created a token can use it through another target port and on another
    /// logical unit.
    217, "SPC-4 §5.16.6", needs: [Writes, SecondPortal, SecondUnit]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (lba, data) = source(bench, 8)?;
    let created = populate(bench, A, &[(lba, 8)])?;
    write_token(bench, A2.second(), &created, 0, &[(lba, 8)])?.good()?;
    bench.expect_content(A.second(), lba, &data)
}
