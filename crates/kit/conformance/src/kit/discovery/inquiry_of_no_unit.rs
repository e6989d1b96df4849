use super::super::prelude::*;

check! {
    /// INQUIRY to a LUN without a logical unit succeeds with peripheral qualifier 011b and device
    /// type 1Fh.
    4, "SPC-4 §6.6.2", needs: []
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    bench.fetch(A.lun(NO_UNIT), cdb::inquiry(None, 96), 96)?.good()?.bytes(0, &[0x7F])?;
    Ok(())
}
