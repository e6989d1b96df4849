//! A pool without space, which is then freed again.

use super::super::prelude::*;

/// Has the hook fill the pool, writes until the first block that finds no space, and runs `ask`
/// with the LBA of an unmapped block. The pool is freed afterwards, and written blocks are
/// unmapped.
pub fn with_full_pool(bench: &mut Bench<'_>, ask: impl FnOnce(&mut Bench<'_>, u64) -> Verdict) -> Verdict {
    bench.hook(&["fill-pool"])?;
    let verdict = exhaust(bench).and_then(|unmapped| {
        bench.settle();
        ask(bench, unmapped)
    });
    bench.hook(&["free-pool"])?;
    bench.settle();
    verdict
}

/// Unmaps the second half of the logical unit and writes to it until a block finds no space.
fn exhaust(bench: &mut Bench<'_>) -> Result<u64, Trouble> {
    // The pool may have passed thresholds.
    bench.settle();
    let capacity = bench.capacity(A)?;
    let first = (capacity / 2).next_multiple_of(2048);
    let mut lba = first;
    while lba + 2048 <= capacity {
        let list = cdb::unmap_list(&[(lba, 2048)]);
        bench.give(A, cdb::unmap(24), list)?.good()?;
        lba += 2048;
    }
    let mut lba = first;
    while lba + 2048 <= capacity {
        bench.go_on()?;
        let answer = give_through(bench, lba, 2048)?;
        if answer.status() != GOOD {
            answer.check_condition(0x07, 0x27, 0x07)?;
            return settle_on(bench, lba);
        }
        lba += 2048;
    }
    failed("expected a WRITE to fail after fill-pool, found space for half of the logical unit")
}

/// Maps what can be mapped of the 1 MiB at `lba` block by block; the first that finds no space is the answer.
fn settle_on(bench: &mut Bench<'_>, lba: u64) -> Result<u64, Trouble> {
    for at in (lba..lba + 2048).step_by(8) {
        let answer = give_through(bench, at, 8)?;
        if answer.status() != GOOD {
            answer.check_condition(0x07, 0x27, 0x07)?;
            return Ok(at);
        }
    }
    failed("expected no space for 1 MiB after a WRITE of it found none, found space block by block")
}

/// WRITE of so many blocks; sent again after the unit attention of a threshold.
fn give_through(bench: &mut Bench<'_>, lba: u64, blocks: u32) -> Result<Answer, Trouble> {
    let data = bench.pattern(blocks as usize);
    let answer = bench.give(A, cdb::write16(lba, blocks, false), data.clone())?;
    if answer.is(0x06, 0x38, 0x07) { bench.give(A, cdb::write16(lba, blocks, false), data) } else { Ok(answer) }
}
