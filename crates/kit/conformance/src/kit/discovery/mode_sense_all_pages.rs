use super::super::prelude::*;

check! {
    /// MODE SENSE (6) of all pages has a block descriptor with blocks of 512 bytes, is not write
    /// protected and has DPOFUA.
    20, "SPC-4 §6.13; SBC-3 §6.5.2", needs: []
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let capacity = bench.capacity(A)?;
    let answer = bench.fetch(A, cdb::padded(&[0x1A, 0x00, 0x3F, 0x00, 0xFF]), 255)?.good()?;
    let blocks = u32::try_from(capacity).unwrap_or(u32::MAX);
    let answer = answer.masked(2, 0x90, 0x10)?.bytes(3, &[8])?.bytes(9, &[0x00, 0x02, 0x00])?;
    let found = answer.number(4, 4)?;
    expect(found == u64::from(blocks) || found == u64::from(u32::MAX), || {
        format!("NUMBER OF LOGICAL BLOCKS: expected {blocks:08x}h or ffffffffh, found {found:08x}h")
    })?;
    Ok(())
}
