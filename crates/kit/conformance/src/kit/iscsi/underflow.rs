//! MODE SENSE with an expected length longer than the data has an underflow of the difference.

use super::super::prelude::*;

pub(super) const CHECK: Check = Check {
    number: 172,
    name: "iscsi/underflow",
    section: "RFC 7143 §11.4.5.1",
    asks: "MODE SENSE with an expected length longer than the data has an underflow of the difference.",
    needs: &[],
    run,
};

fn run(bench: &mut Bench<'_>) -> Verdict {
    let answer = bench.fetch(A, cdb::mode_sense6(0x0A), 255)?.good()?;
    let length = i64::try_from(answer.number(0, 1)? + 1).unwrap_or(0);
    expect_equal("bytes of data", i64::try_from(answer.data().len()).unwrap_or(0), length)?;
    answer.residual(255 - length)?;
    Ok(())
}
