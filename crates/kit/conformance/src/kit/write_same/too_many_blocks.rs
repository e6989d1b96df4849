use super::super::prelude::*;

check! {
    /// WRITE SAME (16) of more blocks than MAXIMUM WRITE SAME LENGTH is refused.
    103, "SBC-3 §5.46, §6.6.4", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let most = bench.fetch(A, cdb::inquiry(Some(0xB0), 64), 64)?.good()?.number(36, 8)?;
    let blocks = match u32::try_from(most) {
        Ok(1..) if most < bench.capacity(A)? => u32::try_from(most + 1).unwrap_or(u32::MAX),
        _ => return skipped("MAXIMUM WRITE SAME LENGTH is no limit within this logical unit"),
    };
    bench
        .send_data(A, cdb::write_same16(0, blocks, false, false), vec![0; BLOCK])?
        .check_condition(0x05, 0x24, 0x00)?;
    Ok(())
}
