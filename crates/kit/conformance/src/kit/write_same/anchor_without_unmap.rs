//! ANCHOR without UNMAP is refused.

use super::super::prelude::*;

pub(super) const CHECK: Check = Check {
    number: 105,
    name: "write_same/anchor_without_unmap",
    section: "SBC-3 §5.46",
    asks: "ANCHOR without UNMAP is refused.",
    needs: &[Need::Writes],
    run,
};

fn run(bench: &mut Bench<'_>) -> Verdict {
    let lba = bench.scratch(8)?;
    let mut cdb = cdb::write_same16(lba, 8, false, false);
    cdb[1] |= 0x10;
    bench.give(A, cdb, vec![0; BLOCK])?.check_condition(0x05, 0x24, 0x00)?;
    Ok(())
}
