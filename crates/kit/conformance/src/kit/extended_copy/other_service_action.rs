//! EXTENDED COPY (LID4) works, or is refused: never a silent GOOD.

use super::super::prelude::*;

pub(super) const CHECK: Check = Check {
    number: 97,
    name: "extended_copy/other_service_action",
    section: "SPC-4 §4.5, §6.4",
    asks: "EXTENDED COPY (LID4) works, or is refused: never a silent GOOD.",
    needs: &[Need::Writes],
    run,
};

fn run(bench: &mut Bench<'_>) -> Verdict {
    let answer = bench.give(A, cdb::padded(&[0x83, 0x01, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 48]), vec![0; 48])?;
    answer.key(0x05)?;
    Ok(())
}
