//! UNMAP of ranges, and whether a block is mapped.

use super::super::prelude::*;

/// Provisioning status: mapped, or unknown.
pub const MAPPED: u64 = 0;
/// Provisioning status: deallocated.
pub const DEALLOCATED: u64 = 1;

/// UNMAP of ranges, each an LBA and a number of blocks.
pub fn unmap(bench: &mut Bench<'_>, path: Path, ranges: &[(u64, u32)]) -> Result<Answer, NotPassed> {
    let list = cdb::unmap_list(ranges);
    bench.send_data(path, cdb::unmap(u16::try_from(list.len()).unwrap_or(u16::MAX)), list)
}

/// Provisioning status of a block, from GET LBA STATUS; skips the check if the command is not
/// supported.
pub fn provisioning(bench: &mut Bench<'_>, path: Path, lba: u64) -> Result<u64, NotPassed> {
    let answer = bench.fetch(path, cdb::get_lba_status(lba, 24), 24)?;
    if answer.is(0x05, 0x20, 0x00) || answer.is(0x05, 0x24, 0x00) {
        return skipped("GET LBA STATUS, which shows whether space was freed, is not supported");
    }
    let answer = answer.good()?;
    expect_equal("LBA of the first descriptor", answer.number(8, 8)?, lba)?;
    Ok(answer.number(20, 1)? & 0x0F)
}

/// Path through the second portal if there is one.
pub fn other_path(bench: &Bench<'_>) -> Path {
    if bench.options().second_portal.is_some() { A2 } else { A }
}
