use super::super::prelude::*;
use super::support::*;

check! {
    /// EXTENDED COPY (LID4) copies, and RECEIVE COPY STATUS (LID4) reports it.
    206, "SPC-4 §6.5, §6.21", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (lba, data) = source(bench, 64)?;
    let list = within(bench, lba, lba + 2048, 64)?;
    copy4(bench, lid4(&list, 0x0102_0304, 0))?.good()?;
    bench.expect_content(A, lba + 2048, &data)?;
    let status = bench.fetch(A, token::receive(5, 0x0102_0304, 255), 255)?.good()?;
    expect_equal("AVAILABLE DATA", status.number(0, 4)?, 0x1C)?;
    let status = status.masked(4, 0x1F, 0x01)?.masked(5, 0x7F, 0x01)?;
    expect_equal("SEGMENTS PROCESSED", status.number(24, 2)?, 1)?;
    bench
        .fetch(A, token::receive(5, 0x0102_0305, 255), 255)?
        .check_condition(0x05, 0x24, 0x00)?
        .points_to_cdb(2)?
        .done()
}
