use super::super::prelude::*;
use super::support::*;

check! {
    /// RECEIVE COPY STATUS (LID4) returns the sense data of a copy that failed, and how many
    /// segments were done.
    207, "SPC-4 §6.21", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (lba, _) = source(bench, 8)?;
    let capacity = bench.capacity(A)?;
    let naa = naa(bench, A)?;
    let segment =
        |destination_lba| CopySegment { source: 0, destination: 0, source_lba: lba, destination_lba, blocks: 8 };
    let list = cdb::extended_copy_list(&[naa], &[segment(lba + 2048), segment(capacity)]);
    let answer = copy4(bench, lid4(&list, 7, 0))?.key(0x0A)?;
    let status =
        bench.fetch(A, token::receive(5, 7, 255), 255)?.good()?.masked(5, 0x7F, 0x02)?.masked(12, 0xFF, 0x02)?;
    expect_equal("SEGMENTS PROCESSED", status.number(24, 2)?, 1)?;
    let length = usize::try_from(status.number(14, 1)?).unwrap_or(0);
    expect_bytes("sense data", status.data().get(32..32 + length).unwrap_or_default(), answer.sense_bytes())
}
