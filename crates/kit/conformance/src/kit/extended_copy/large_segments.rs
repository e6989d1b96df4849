use super::super::prelude::*;

check! {
    /// Eight segments of up to 30 MiB in one list succeed in ordinary time, and a longer segment
    /// than announced is refused.
    83, "SPC-4 §6.3, §6.26", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let parameters = parameters(bench)?;
    let longest = parameters.number(16, 4)? / 512;
    let blocks = u16::try_from(longest.min(61_440)).unwrap_or(0);
    let count = parameters.number(10, 2)?.min(8);
    let room = bench.capacity(A)? / 2048 * 2048;
    let each = u16::try_from(room / 2 / count.max(1)).unwrap_or(u16::MAX).min(blocks);
    if each == 0 {
        return skipped("the logical unit is too small for a copy of many segments");
    }
    let length = u64::from(each) * count;
    let data = bench.pattern(64);
    bench.write(A, 0, &data)?;
    bench.write(A, length - 64, &data)?;
    let naa = naa(bench, A)?;
    let segments: Vec<_> = (0..count)
        .map(|index| index * u64::from(each))
        .map(|at| CopySegment { source: 0, destination: 0, source_lba: at, destination_lba: length + at, blocks: each })
        .collect();
    copy(bench, A, cdb::extended_copy_list(&[naa], &segments))?.good()?;
    bench.expect_content(A, length, &data)?;
    bench.expect_content(A, 2 * length - 64, &data)?;
    if let Ok(more) = u16::try_from(longest + 1)
        && longest > 0
    {
        let list = within(bench, 0, 0, more)?;
        copy(bench, A, list)?.check_condition(0x05, 0x26, 0x00)?;
    }
    Ok(())
}
