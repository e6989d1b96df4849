//! The initiator that made a token can use it through another target port and on another logical unit.

use super::super::prelude::*;
use super::support::*;

pub(super) const CHECK: Check = Check {
    number: 217,
    name: "beyond/token_over_another_path",
    section: "SPC-4 §5.16.6",
    asks: "The initiator that made a token can use it through another target port and on another logical unit.",
    needs: &[Need::Writes, Need::SecondPortal, Need::SecondUnit],
    run,
};

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (lba, data) = source(bench, 8)?;
    let made = populate(bench, A, &[(lba, 8)])?;
    write_token(bench, A2.second(), &made, 0, &[(lba, 8)])?.good()?;
    bench.expect_content(A.second(), lba, &data)
}
