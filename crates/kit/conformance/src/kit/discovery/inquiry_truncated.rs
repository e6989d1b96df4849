//! INQUIRY with a short allocation length is cut, keeps its ADDITIONAL LENGTH and tells the residual.

use super::super::prelude::*;

pub(super) const CHECK: Check = Check {
    number: 2,
    name: "discovery/inquiry_truncated",
    section: "SPC-4 §4.2.5.6; RFC 7143 §11.4.5",
    asks: "INQUIRY with a short allocation length is cut, keeps its ADDITIONAL LENGTH and tells the residual.",
    needs: &[],
    run,
};

fn run(bench: &mut Bench<'_>) -> Verdict {
    let answer = bench.fetch(A, cdb::inquiry(None, 5), 96)?.good()?;
    answer.length(5)?.bytes(4, &[0x5B])?.residual(91)?;
    Ok(())
}
