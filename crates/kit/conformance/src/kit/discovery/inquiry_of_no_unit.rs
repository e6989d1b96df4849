//! INQUIRY to a LUN without a logical unit succeeds with peripheral qualifier 011b and device type 1Fh.

use super::super::prelude::*;

pub(super) const CHECK: Check = Check {
    number: 4,
    name: "discovery/inquiry_of_no_unit",
    section: "SPC-4 §6.6.2",
    asks: "INQUIRY to a LUN without a logical unit succeeds with peripheral qualifier 011b and device type 1Fh.",
    needs: &[],
    run,
};

fn run(bench: &mut Bench<'_>) -> Verdict {
    bench.fetch(A.lun(NO_UNIT), cdb::inquiry(None, 96), 96)?.good()?.bytes(0, &[0x7F])?;
    Ok(())
}
