use super::super::prelude::*;

check! {
    /// Under a write exclusive, all registrants reservation every registered nexus writes, and one
    /// that is not registered conflicts.
    137, "SPC-4 §5.13, §6.16", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let lba = bench.scratch(1)?;
    let data = bench.pattern(1);
    pr::reserve_for_all_registrants(bench)?;
    bench.send_data(B, cdb::write16(lba, 1, false), data.clone())?.good()?;
    bench.send_data(C, cdb::write16(lba, 1, false), data)?.conflict()?;
    bench.fetch(C, cdb::read16(lba, 1), 512)?.good()?;
    pr::out(bench, A, 0x03, 0, 0xA, 0)?.good()?;
    Ok(())
}
