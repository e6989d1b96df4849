use super::super::prelude::*;
use super::support::sizes;

check! {
    /// EXTENDED COPY of every number of segments up to the announced one copies all of them; one
    /// segment more is refused, and nothing is copied.
    227, "SPC-4 §6.3.1, §6.26", needs: [Writes]
}

/// Largest number of segments for which the kit sends a list.
const MOST: u64 = 4096;

fn run(bench: &mut Bench<'_>) -> Verdict {
    let announced = parameters(bench)?.number(10, 2)?;
    let most = announced.min(MOST);
    let naa = naa(bench, A)?;
    for count in sizes(bench, most).into_iter().chain((announced < MOST).then_some(most + 1)) {
        bench.check_stopped()?;
        let length = usize::try_from(count).unwrap_or(0);
        let lba = bench.scratch(2 * count)?;
        let (source, old) = (bench.pattern(length), bench.pattern(length));
        bench.write(A, lba, &source)?;
        bench.write(A, lba + count, &old)?;
        // Each block in its own segment, in reverse order.
        let segment = |index: u64| {
            let destination_lba = lba + count + (count - 1 - index);
            CopySegment { source: 0, destination: 0, source_lba: lba + index, destination_lba, blocks: 1 }
        };
        let segments: Vec<_> = (0..count).map(segment).collect();
        let answer = copy(bench, A, cdb::extended_copy_list(&[naa], &segments))?;
        if count > most {
            answer.check_condition(0x05, 0x26, 0x08)?;
            bench.expect_content(A, lba + count, &old)?;
        } else {
            answer.good()?;
            let reversed: Vec<u8> = source.chunks(BLOCK).rev().flatten().copied().collect();
            bench.expect_content(A, lba + count, &reversed)?;
        }
    }
    Ok(())
}
