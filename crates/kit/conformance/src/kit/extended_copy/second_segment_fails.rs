use super::super::prelude::*;

check! {
    /// When the second segment fails, the first stays, and the sense data name segment 1.
    88, "SPC-4 §6.3.3", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (lba, data) = source(bench, 64)?;
    let capacity = bench.capacity(A)?;
    let naa = naa(bench, A)?;
    let segment =
        |destination_lba| CopySegment { source: 0, destination: 0, source_lba: lba, destination_lba, blocks: 64 };
    let list = cdb::extended_copy_list(&[naa], &[segment(lba + 2048), segment(capacity)]);
    let answer = copy(bench, A, list)?.key(0x0A)?;
    expect_bytes(
        "segment number in sense bytes 10 and 11",
        answer.sense_bytes().get(10..12).unwrap_or_default(),
        &[0, 1],
    )?;
    bench.expect_content(A, lba + 2048, &data)?;
    Ok(())
}
