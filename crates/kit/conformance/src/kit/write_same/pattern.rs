//! WRITE SAME (16) of A5h bytes makes every block the pattern.

use super::super::prelude::*;

pub(super) const CHECK: Check = Check {
    number: 101,
    name: "write_same/pattern",
    section: "SBC-3 §5.46",
    asks: "WRITE SAME (16) of A5h bytes makes every block the pattern.",
    needs: &[Need::Writes],
    run,
};

fn run(bench: &mut Bench<'_>) -> Verdict {
    let lba = bench.scratch(2048)?;
    bench.give(A, cdb::write_same16(lba, 2048, false, false), vec![0xA5; BLOCK])?.good()?;
    bench.expect_content(A, lba, &vec![0xA5; 2048 * BLOCK])?;
    Ok(())
}
