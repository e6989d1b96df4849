use super::super::prelude::*;

check! {
    /// Segments of one list run in their order, forth and back between two logical units: a later
    /// one sees what an earlier one wrote.
    200, "SPC-4 §6.4.3", needs: [Writes, SecondUnit]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let lba = bench.scratch(2048)?;
    let (data, old) = (bench.pattern(64), bench.pattern(128));
    bench.write(A, lba, &data)?;
    bench.write(A.second(), lba, &old)?;
    let units = [naa(bench, A)?, naa(bench, A.second())?];
    let segment = |source, from, destination, to| CopySegment {
        source,
        destination,
        source_lba: lba + from,
        destination_lba: lba + to,
        blocks: 64,
    };
    // To the second unit, then overlapping back onto the first, then overlapping itself on the
    // second.
    let list = cdb::extended_copy_list(&units, &[segment(0, 0, 1, 0), segment(1, 0, 0, 16), segment(1, 0, 1, 16)]);
    copy(bench, A, list)?.good()?;
    let first = [&data[..16 * BLOCK], &data].concat();
    bench.expect_content(A, lba, &first)?;
    bench.expect_content(A.second(), lba, &first)?;
    bench.expect_content(A.second(), lba + 80, &old[80 * BLOCK..])
}
