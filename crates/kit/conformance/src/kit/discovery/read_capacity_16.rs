//! READ CAPACITY (16): blocks of 512 bytes, thin (LBPME), unmapped blocks read as zeros (LBPRZ).

use super::super::prelude::*;

pub(super) const CHECK: Check = Check {
    number: 15,
    name: "discovery/read_capacity_16",
    section: "SBC-3 §5.16",
    asks: "READ CAPACITY (16): blocks of 512 bytes, thin (LBPME), unmapped blocks read as zeros (LBPRZ).",
    needs: &[],
    run,
};

fn run(bench: &mut Bench<'_>) -> Verdict {
    let answer = bench.fetch(A, cdb::read_capacity16(), 32)?.good()?.length(32)?;
    answer.bytes(8, &[0x00, 0x00, 0x02, 0x00])?.masked(14, 0xC0, 0xC0)?;
    Ok(())
}
