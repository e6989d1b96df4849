use super::super::prelude::*;

check! {
    /// ANCHOR without UNMAP is refused.
    105, "SBC-3 §5.46", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let lba = bench.scratch(8)?;
    let mut cdb = cdb::write_same16(lba, 8, false, false);
    cdb[1] |= 0x10;
    bench.send_data(A, cdb, vec![0; BLOCK])?.check_condition(0x05, 0x24, 0x00)?;
    Ok(())
}
