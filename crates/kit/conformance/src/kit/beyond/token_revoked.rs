//! A token of a logical unit that is not mapped to the initiator any more is refused.

use super::super::prelude::*;
use super::support::*;

pub(super) const CHECK: Check = Check {
    number: 223,
    name: "beyond/token_revoked",
    section: "SPC-4 §5.16.6",
    asks: "A token of a logical unit that is not mapped to the initiator any more is refused.",
    needs: &[Need::Writes, Need::SecondUnit, Need::Hook],
    run,
};

fn run(bench: &mut Bench<'_>) -> Verdict {
    let lba = bench.scratch(2048)?;
    let data = bench.pattern(8);
    bench.write(A.second(), lba, &data)?;
    let old = bench.pattern(8);
    bench.write(A, lba, &old)?;
    let made = populate(bench, A.second(), &[(lba, 8)])?;
    without_second(bench, |bench| {
        bench.settle();
        let refused = [(0x05, 0x23, 0x04), (0x05, 0x23, 0x06), (0x05, 0x23, 0x08)];
        write_token(bench, A, &made, 0, &[(lba, 8)])?.one_of(&refused)?.done()
    })?;
    bench.settle();
    bench.expect_content(A, lba, &old)
}
