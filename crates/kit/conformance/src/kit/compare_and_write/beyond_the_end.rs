//! A block after the last one is out of range.

use super::super::prelude::*;

pub(super) const CHECK: Check = Check {
    number: 43,
    name: "compare_and_write/beyond_the_end",
    section: "SBC-3 §5.2",
    asks: "A block after the last one is out of range.",
    needs: &[Need::Writes],
    run,
};

fn run(bench: &mut Bench<'_>) -> Verdict {
    let lba = bench.capacity(A)?;
    caw(bench, A, lba, &[0; BLOCK], &[0; BLOCK])?.check_condition(0x05, 0x21, 0x00)?;
    Ok(())
}
