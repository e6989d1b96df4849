use super::super::prelude::*;
use super::support::*;

check! {
    /// A token with any one byte changed is refused with INVALID TOKEN OPERATION, and nothing is
    /// written.
    213, "SPC-4 §5.16.6, annex F", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (lba, _) = source(bench, 8)?;
    let created = populate(bench, A, &[(lba, 8)])?;
    let old = bench.pattern(8);
    bench.write(A, lba + 2048, &old)?;
    for at in 0..created.len() {
        bench.check_stopped()?;
        let mut forged = created;
        forged[at] ^= 0x80;
        let answer = write_token(bench, A, &forged, 0, &[(lba + 2048, 8)])?;
        if !matches!(answer.sense(), Some((0x05, 0x23, 0x00..=0x0A))) {
            return failed(format!("byte {at} changed: expected CHECK CONDITION 05/23/xx, found {}", answer.found()));
        }
    }
    bench.expect_content(A, lba + 2048, &old)
}
