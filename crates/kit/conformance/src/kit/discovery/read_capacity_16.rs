use super::super::prelude::*;

check! {
    /// READ CAPACITY (16): blocks of 512 bytes, thin (LBPME), unmapped blocks read as zeros
    /// (LBPRZ).
    15, "SBC-3 §5.16", needs: []
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let answer = bench.fetch(A, cdb::read_capacity16(), 32)?.good()?.length(32)?;
    answer.bytes(8, &[0x00, 0x00, 0x02, 0x00])?.masked(14, 0xC0, 0xC0)?;
    Ok(())
}
