use super::super::prelude::*;

check! {
    /// MODE SENSE with an expected length longer than the data has an underflow of the difference.
    172, "RFC 7143 §11.4.5.1", needs: []
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let answer = bench.fetch(A, cdb::mode_sense6(0x0A), 255)?.good()?;
    let length = i64::try_from(answer.number(0, 1)? + 1).unwrap_or(0);
    expect_equal("bytes of data", i64::try_from(answer.data().len()).unwrap_or(0), length)?;
    answer.residual(255 - length)?;
    Ok(())
}
