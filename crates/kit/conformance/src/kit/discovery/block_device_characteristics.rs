use super::super::prelude::*;

check! {
    /// VPD page B1h: the medium does not rotate.
    12, "SBC-3 §6.6.5", needs: []
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    bench.fetch(A, cdb::inquiry(Some(0xB1), 255), 255)?.good()?.bytes(1, &[0xB1, 0x00, 0x3C, 0x00, 0x01])?;
    Ok(())
}
