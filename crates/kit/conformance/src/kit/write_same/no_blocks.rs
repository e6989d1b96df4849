use super::super::prelude::*;

check! {
    /// WRITE SAME (16) of no blocks is refused where WSNZ is announced.
    102, "SBC-3 §5.46, §6.6.4", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let limits = bench.fetch(A, cdb::inquiry(Some(0xB0), 64), 64)?.good()?;
    if limits.number(4, 1)? & 1 == 0 {
        return skipped("WSNZ is 0: no blocks means all to the end of the medium");
    }
    let lba = bench.scratch(1)?;
    bench.send_data(A, cdb::write_same16(lba, 0, false, false), vec![0; BLOCK])?.check_condition(0x05, 0x24, 0x00)?;
    Ok(())
}
