//! Under a write exclusive, all registrants reservation every registered nexus writes, and one that is not registered conflicts.

use super::super::prelude::*;

pub(super) const CHECK: Check = Check {
    number: 137,
    name: "reservations/all_registrants",
    section: "SPC-4 §5.13, §6.16",
    asks: "Under a write exclusive, all registrants reservation every registered nexus writes, and one that is not registered conflicts.",
    needs: &[Need::Writes],
    run,
};

fn run(bench: &mut Bench<'_>) -> Verdict {
    let lba = bench.scratch(1)?;
    let data = bench.pattern(1);
    pr::reserve_for_all_registrants(bench)?;
    bench.give(B, cdb::write16(lba, 1, false), data.clone())?.good()?;
    bench.give(C, cdb::write16(lba, 1, false), data)?.conflict()?;
    bench.fetch(C, cdb::read16(lba, 1), 512)?.good()?;
    pr::out(bench, A, 0x03, 0, 0xA, 0)?.good()?;
    Ok(())
}
