use super::super::prelude::*;
use super::support::{block_limit, sizes, unit_with};

check! {
    /// UNMAP of every number of descriptors up to the announced one, and of the most blocks at
    /// once, unmaps all of them; one more is refused.
    226, "SBC-3 §5.28, §6.6.4", needs: [Writes]
}

/// Number of descriptors that fit into a parameter list.
const FIT: u64 = 4095;
/// Number of blocks of a descriptor, between which as many stay mapped; within these bounds it is
/// OPTIMAL UNMAP GRANULARITY.
const RUN: std::ops::RangeInclusive<u64> = 8..=2048;

fn run(bench: &mut Bench<'_>) -> Verdict {
    let announced = block_limit(bench, 24, 4)?;
    if announced == 0 {
        return skipped("MAXIMUM UNMAP BLOCK DESCRIPTOR COUNT is 0: UNMAP is not supported");
    }
    let most = announced.min(FIT);
    let run = block_limit(bench, 28, 4)?.clamp(*RUN.start(), *RUN.end());
    let counts = sizes(bench, most);
    for count in counts.into_iter().chain((announced < FIT).then_some(most + 1)) {
        bench.check_stopped()?;
        let blocks = count * 2 * run;
        let lba = bench.scratch(blocks)?;
        let old = bench.pattern(usize::try_from(blocks).unwrap_or(0));
        bench.write(A, lba, &old)?;
        let ranges: Vec<_> = (0..count).map(|index| (lba + index * 2 * run, run as u32)).collect();
        let answer = unmap(bench, A, &ranges)?;
        if count > most {
            answer.check_condition(0x05, 0x26, 0x00)?;
            bench.expect_content(A, lba, &old)?;
            continue;
        }
        answer.good()?;
        let mut expected = old;
        for piece in expected.chunks_mut(run as usize * BLOCK).step_by(2) {
            piece.fill(0);
        }
        bench.expect_content(A, lba, &expected)?;
    }
    blocks_at_once(bench)
}

/// Unmaps MAXIMUM UNMAP LBA COUNT blocks in one descriptor, and one block more.
fn blocks_at_once(bench: &mut Bench<'_>) -> Verdict {
    let most = block_limit(bench, 20, 4)?;
    let (Ok(blocks), Some(path)) = (u32::try_from(most), unit_with(bench, most)?) else { return Ok(()) };
    let mark = bench.pattern(1);
    for lba in [0, most - 1, most] {
        bench.write(path, lba, &mark)?;
    }
    if let Some(more) = blocks.checked_add(1) {
        unmap(bench, path, &[(0, more)])?.check_condition(0x05, 0x26, 0x00)?;
        bench.expect_content(path, 0, &mark)?;
    }
    unmap(bench, path, &[(0, blocks)])?.good()?;
    for lba in [0, most - 1] {
        bench.expect_content(path, lba, &[0; BLOCK])?;
    }
    bench.expect_content(path, most, &mark)
}
