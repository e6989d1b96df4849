use super::super::prelude::*;

check! {
    /// A reservation of another nexus on the source stops a copy that is sent to the destination:
    /// 0A/0D/01, with the status of the source forwarded.
    201, "SPC-4 §6.4.4; SPC-2 §5.5.1", needs: [Writes, SecondUnit]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let lba = bench.scratch(2048)?;
    let old = bench.pattern(8);
    bench.write(A, lba, &old)?;
    let units = [naa(bench, A.second())?, naa(bench, A)?];
    let segment = CopySegment { source: 0, destination: 1, source_lba: lba, destination_lba: lba, blocks: 8 };
    bench.ask(B.second(), cdb::padded(&[0x16]))?.good()?;
    let answer = copy(bench, A, cdb::extended_copy_list(&units, &[segment]))?.check_condition(0x0A, 0x0D, 0x01)?;
    bench.ask(B.second(), cdb::padded(&[0x17]))?.good()?;
    // Byte 8 is the offset of the forwarded status of the source.
    let sense = answer.sense_bytes();
    let at = usize::from(sense.get(8).copied().unwrap_or(0));
    expect_equal("forwarded status of the source", sense.get(at).copied().filter(|_| at >= 18), Some(0x18))?;
    bench.expect_content(A, lba, &old)
}
