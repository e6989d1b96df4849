use super::super::prelude::*;

check! {
    /// VPD page B2h: UNMAP, both WRITE SAME with UNMAP, unmapped blocks read as zeros, thin.
    11, "SBC-3 §6.6.6", needs: []
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let answer = bench.fetch(A, cdb::inquiry(Some(0xB2), 255), 255)?.good()?.bytes(1, &[0xB2])?;
    answer.masked(5, 0xFF, 0xE4)?.masked(6, 0x07, 0x02)?;
    Ok(())
}
