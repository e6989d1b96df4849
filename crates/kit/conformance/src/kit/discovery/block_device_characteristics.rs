//! VPD page B1h: the medium does not rotate.

use super::super::prelude::*;

pub(super) const CHECK: Check = Check {
    number: 12,
    name: "discovery/block_device_characteristics",
    section: "SBC-3 §6.6.5",
    asks: "VPD page B1h: the medium does not rotate.",
    needs: &[],
    run,
};

fn run(bench: &mut Bench<'_>) -> Verdict {
    bench.fetch(A, cdb::inquiry(Some(0xB1), 255), 255)?.good()?.bytes(1, &[0xB1, 0x00, 0x3C, 0x00, 0x01])?;
    Ok(())
}
