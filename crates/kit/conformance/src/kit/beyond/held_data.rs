use super::super::prelude::*;
use super::support::*;

check! {
    /// RECEIVE COPY DATA (LID1) returns the data that a segment of a copy held.
    210, "SPC-4 §6.4.6.14, §6.18", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    if !implements(bench, 0x0D)? {
        return skipped("segment type 0Dh is not implemented");
    }
    let (lba, data) = source(bench, 8)?;
    let mut list = within(bench, lba, lba + 2048, 8)?;
    (list[0], list[1], list[48]) = (0x23, 0x00, 0x0D);
    copy(bench, A, list)?.good()?;
    bench.expect_content(A, lba + 2048, &data)?;
    let held = bench.fetch(A, cdb::receive_copy_results(1, 0x23, 65_536), 65_536)?.good()?;
    expect_equal("AVAILABLE DATA", held.number(0, 4)?, data.len() as u64)?;
    expect_bytes("held data", held.data().get(4..).unwrap_or_default(), &data)
}
