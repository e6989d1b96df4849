//! Layout of the logical unit.

use crate::error::DatastoreError;
use crate::format::{ALLOCATIONS, Allocation, Header, MAX_BLOCKS, POINTERS};
use crate::sector::SECTOR_BYTES;
use std::ops::RangeInclusive;

/// Sectors of direct pointers per file.
pub(crate) const DIRECT_SECTORS: u32 = 8;
/// Sectors of pointers to blocks of pointers, per file.
pub(crate) const ROOT_SECTORS: u32 = 2;
const POINTER_SECTORS: u32 = DIRECT_SECTORS + ROOT_SECTORS;
/// Blocks of a file that direct pointers address.
pub(crate) const DIRECT_BLOCKS: u32 = DIRECT_SECTORS * POINTERS as u32;
/// Largest number of blocks of pointers per file.
pub(crate) const ROOTS: u32 = ROOT_SECTORS * POINTERS as u32;

/// LBAs of the header, of the lock of the directory, and of the first heartbeat slot.
pub(crate) const HEADER: u64 = 0;
pub(crate) const DIRECTORY_LOCK: u64 = 8;
const HEARTBEATS: u64 = 64;

/// Limits of the numbers in a header.
const BLOCK_BYTES: RangeInclusive<u64> = 64 << 10..=64 << 20;
const HOSTS: RangeInclusive<u32> = 1..=1024;
const FILES: RangeInclusive<u32> = 1..=Allocation::MAX_FILES;

/// Layout in logical blocks of 512 bytes. It follows from four numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Sectors per block.
    pub block_sectors: u32,
    /// Number of data blocks.
    pub blocks: u32,
    /// Number of heartbeat slots.
    pub hosts: u32,
    /// Number of file records.
    pub files: u32,
}

impl Geometry {
    /// Largest datastore that fits on `sectors` logical blocks.
    ///
    /// Errors: [`DatastoreError::Geometry`] when the block size is no power of two from 64 KiB to 64 MiB, or nothing
    /// fits.
    pub fn fit(sectors: u64, block_bytes: u64, hosts: u32, files: u32) -> Result<Self, DatastoreError> {
        if !block_bytes.is_power_of_two() || !BLOCK_BYTES.contains(&block_bytes) {
            let words =
                format!("a block of {block_bytes} bytes: the size must be a power of two from 65536 to 67108864");
            return Err(DatastoreError::Geometry(words));
        }
        if !HOSTS.contains(&hosts) || !FILES.contains(&files) {
            return Err(DatastoreError::Geometry("a datastore has 1 to 1024 hosts and 1 to 1048575 files".into()));
        }
        let block_sectors = (block_bytes / SECTOR_BYTES as u64) as u32;
        let mut geometry = Self { block_sectors, blocks: 0, hosts, files };
        let most = sectors / u64::from(block_sectors);
        // The allocation table takes space from the blocks that it describes: a few steps down
        // suffice.
        let mut blocks = most.min(u64::from(MAX_BLOCKS));
        while blocks > 0 {
            geometry.blocks = blocks as u32;
            let end = geometry.block_lba(0) + blocks * u64::from(block_sectors);
            if end <= sectors {
                return Ok(geometry);
            }
            blocks = blocks.saturating_sub((end - sectors).div_ceil(u64::from(block_sectors)));
        }
        let least = geometry.block_lba(0) + u64::from(block_sectors);
        let words = format!("the logical unit has {sectors} sectors; this datastore needs at least {least}");
        Err(DatastoreError::Geometry(words))
    }

    /// Layout that a header describes, on a logical unit of `sectors`.
    ///
    /// Errors: [`DatastoreError::Damaged`] when the numbers are not valid, or the datastore would
    /// be larger than the unit.
    pub(crate) fn of(header: &Header, sectors: u64) -> Result<Self, DatastoreError> {
        let geometry = Self {
            block_sectors: header.block_sectors.get(),
            blocks: header.blocks.get(),
            hosts: header.hosts.get(),
            files: header.files.get(),
        };
        let damaged = |what| Err(DatastoreError::Damaged { lba: HEADER, what });
        if !geometry.block_sectors.is_power_of_two() || !BLOCK_BYTES.contains(&geometry.block_bytes()) {
            return damaged("its block size is not a power of two from 64 KiB to 64 MiB");
        }
        if !HOSTS.contains(&geometry.hosts) || !FILES.contains(&geometry.files) {
            return damaged("its number of hosts or files is not valid");
        }
        if !(1..=MAX_BLOCKS).contains(&geometry.blocks) || geometry.sectors() > sectors {
            return damaged("it is larger than the logical unit, or empty");
        }
        Ok(geometry)
    }

    /// Block size in bytes.
    pub fn block_bytes(&self) -> u64 {
        u64::from(self.block_sectors) * SECTOR_BYTES as u64
    }

    /// Number of logical blocks that the datastore occupies.
    pub fn sectors(&self) -> u64 {
        self.block_lba(self.blocks)
    }

    pub(crate) fn heartbeat(&self, slot: u32) -> u64 {
        HEARTBEATS + u64::from(slot)
    }

    pub(crate) fn lock(&self, record: u32) -> u64 {
        self.heartbeat(self.hosts) + u64::from(record)
    }

    pub(crate) fn file(&self, record: u32) -> u64 {
        self.lock(self.files) + u64::from(record)
    }

    /// LBA of a sector of direct pointers; `sector` is below [`DIRECT_SECTORS`].
    pub(crate) fn direct(&self, record: u32, sector: u32) -> u64 {
        self.file(self.files) + u64::from(record) * u64::from(POINTER_SECTORS) + u64::from(sector)
    }

    /// LBA of a sector of pointers to blocks of pointers; `sector` is below [`ROOT_SECTORS`].
    pub(crate) fn roots(&self, record: u32, sector: u32) -> u64 {
        self.direct(record, DIRECT_SECTORS + sector)
    }

    pub(crate) fn allocation_sectors(&self) -> u32 {
        self.blocks.div_ceil(ALLOCATIONS as u32)
    }

    /// LBA of a sector of the allocation table.
    pub(crate) fn allocation(&self, sector: u32) -> u64 {
        self.direct(self.files, 0) + u64::from(sector)
    }

    /// LBA of the second copy of the header.
    pub(crate) fn second_header(&self) -> u64 {
        self.allocation(self.allocation_sectors())
    }

    /// LBA of the first sector of a block.
    pub(crate) fn block_lba(&self, block: u32) -> u64 {
        let block_sectors = u64::from(self.block_sectors);
        (self.second_header() + 1).next_multiple_of(block_sectors) + u64::from(block) * block_sectors
    }

    /// Blocks of a file that one block of pointers addresses.
    pub(crate) fn blocks_in_root(&self) -> u32 {
        self.block_sectors * POINTERS as u32
    }

    /// Blocks of pointers that a file of this many blocks needs at most.
    pub(crate) fn roots_for(&self, blocks: u32) -> u32 {
        blocks.saturating_sub(DIRECT_BLOCKS).div_ceil(self.blocks_in_root())
    }

    /// Largest number of blocks per file.
    pub(crate) fn max_file_blocks(&self) -> u64 {
        let all = u64::from(DIRECT_BLOCKS) + u64::from(ROOTS) * u64::from(self.blocks_in_root());
        all.min(u64::from(Allocation::POINTER_BLOCK))
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed step is a failed test")]
mod tests {
    use super::*;

    #[test]
    fn everything_fits_and_nothing_overlaps() {
        for (sectors, block) in [(1_u64 << 17, 64 << 10), (1 << 21, 1 << 20), (1 << 24, 8 << 20), (7_654_321, 1 << 20)]
        {
            let geometry = Geometry::fit(sectors, block, 64, 100).unwrap();
            assert!(geometry.sectors() <= sectors && geometry.blocks > 0);
            let better = Geometry { blocks: geometry.blocks + 1, ..geometry };
            assert!(better.sectors() > sectors, "a block more would fit");
            let places = [
                HEADER,
                DIRECTORY_LOCK,
                geometry.heartbeat(0),
                geometry.heartbeat(63),
                geometry.lock(0),
                geometry.lock(99),
                geometry.file(0),
                geometry.file(99),
                geometry.direct(0, 0),
                geometry.roots(99, 1),
                geometry.allocation(0),
                geometry.allocation(geometry.allocation_sectors() - 1),
                geometry.second_header(),
                geometry.block_lba(0),
            ];
            assert!(places.is_sorted_by(|a, b| a < b), "{places:?}");
        }
        for (sectors, block, hosts) in [(1000, 1 << 20, 64), (1 << 21, 1000, 64), (1 << 21, 1 << 20, 0)] {
            assert!(matches!(Geometry::fit(sectors, block, hosts, 100), Err(DatastoreError::Geometry(_))));
        }
    }
}
