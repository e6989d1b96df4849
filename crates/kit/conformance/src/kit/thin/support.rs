//! A pool without space, which is then freed again.

use super::super::prelude::*;

/// Has the hook fill the pool, writes until the first block that finds no space, and runs `ask`
/// with the LBA of an unmapped block. The pool is freed afterwards, and written blocks are
/// unmapped.
pub fn with_full_pool(bench: &mut Bench<'_>, ask: impl FnOnce(&mut Bench<'_>, u64) -> Verdict) -> Verdict {
    bench.hook(&["fill-pool"])?;
    let verdict = exhaust(bench).and_then(|unmapped| {
        bench.clear_unit_attentions();
        ask(bench, unmapped)
    });
    bench.hook(&["free-pool"])?;
    bench.clear_unit_attentions();
    verdict
}

/// Unmaps the second half of the logical unit and writes to it until a block finds no space.
fn exhaust(bench: &mut Bench<'_>) -> Result<u64, NotPassed> {
    // The pool may have passed thresholds.
    bench.clear_unit_attentions();
    let capacity = bench.capacity(A)?;
    let first = (capacity / 2).next_multiple_of(2048);
    let mut lba = first;
    while lba + 2048 <= capacity {
        let list = cdb::unmap_list(&[(lba, 2048)]);
        bench.send_data(A, cdb::unmap(24), list)?.good()?;
        lba += 2048;
    }
    let mut lba = first;
    while lba + 2048 <= capacity {
        bench.check_stopped()?;
        let answer = write_after_attention(bench, lba, 2048)?;
        if answer.status() != GOOD {
            answer.check_condition(0x07, 0x27, 0x07)?;
            return first_block_without_space(bench, lba);
        }
        lba += 2048;
    }
    failed("expected a WRITE to fail after fill-pool, found space for half of the logical unit")
}

/// Maps the 1 MiB at `lba` block by block as far as possible; returns the first block that finds no
/// space.
fn first_block_without_space(bench: &mut Bench<'_>, lba: u64) -> Result<u64, NotPassed> {
    for at in (lba..lba + 2048).step_by(8) {
        let answer = write_after_attention(bench, at, 8)?;
        if answer.status() != GOOD {
            answer.check_condition(0x07, 0x27, 0x07)?;
            return Ok(at);
        }
    }
    failed("expected no space for 1 MiB after a WRITE of it found none, found space block by block")
}

/// WRITE of `blocks` blocks, repeated after the unit attention of a threshold.
fn write_after_attention(bench: &mut Bench<'_>, lba: u64, blocks: u32) -> Result<Answer, NotPassed> {
    let data = bench.pattern(blocks as usize);
    let answer = bench.send_data(A, cdb::write16(lba, blocks, false), data.clone())?;
    if answer.is(0x06, 0x38, 0x07) { bench.send_data(A, cdb::write16(lba, blocks, false), data) } else { Ok(answer) }
}
