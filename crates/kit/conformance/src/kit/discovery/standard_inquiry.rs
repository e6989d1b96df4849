use super::super::prelude::*;

check! {
    /// Standard INQUIRY data describe an SPC-4 device with third-party copy, implicit port groups
    /// and queueing.
    1, "SPC-4 §6.6.2", needs: []
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let answer = bench.fetch(A, cdb::inquiry(None, 96), 96)?.good()?.length(96)?.residual(0)?;
    // VERSION, RESPONSE DATA FORMAT, TPGS and 3PC, CMDQUE, ADDITIONAL LENGTH.
    answer.bytes(2, &[0x06])?.masked(3, 0x0F, 0x02)?.masked(5, 0x38, 0x18)?.masked(7, 0x02, 0x02)?.bytes(4, &[0x5B])?;
    Ok(())
}
