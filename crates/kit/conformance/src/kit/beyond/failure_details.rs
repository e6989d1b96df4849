use super::super::prelude::*;

check! {
    /// RECEIVE COPY FAILURE DETAILS (LID1) returns the status and the sense data of a copy that
    /// failed.
    204, "SPC-4 §6.20", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (lba, _) = source(bench, 8)?;
    let capacity = bench.capacity(A)?;
    let mut list = within(bench, lba, capacity, 8)?;
    (list[0], list[1]) = (0x22, 0x00);
    let answer = copy(bench, A, list)?.key(0x0A)?;
    let sense = answer.sense_bytes().clone();
    let details = bench.fetch(A, cdb::receive_copy_results(4, 0x22, 1024), 1024)?.good()?;
    expect_equal("AVAILABLE DATA", details.number(0, 4)?, details.data().len() as u64 - 4)?;
    let details = details.masked(56, 0xFF, 0x02)?;
    expect_equal("SENSE DATA LENGTH", details.number(58, 2)?, sense.len() as u64)?;
    expect_bytes("sense data", details.data().get(60..).unwrap_or_default(), &sense)?;
    // The details were consumed.
    bench.fetch(A, cdb::receive_copy_results(4, 0x22, 1024), 1024)?.check_condition(0x05, 0x24, 0x00)?.done()
}
