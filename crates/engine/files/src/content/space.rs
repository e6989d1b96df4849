//! Space of a file, and of the share.

use crate::engine::{BLOCK_BYTES, Room};
use crate::halt::Step;
use crate::layout::address::Region;
use crate::layout::address::{FILES, INODES_PER_BLOCK, ROOT, inode_table};
use crate::share::Share;
use crate::share::regions;
use smallvec::SmallVec;
use vfs::{Capacity, FileId, Space};

/// Blocks of a file, without those that a deletion frees.
pub(crate) struct Extent {
    mapped: u64,
    promised: u64,
    /// Where they are mapped.
    pub regions: SmallVec<[Region; 2]>,
    /// Number that changes with the file.
    pub change: u64,
}

impl Extent {
    /// Space of the file, of whose blocks so many are mapped by nothing else.
    pub(crate) fn space(&self, unique: u64) -> Space {
        // Blocks may have come while they were counted.
        let freed = unique.min(self.mapped) + self.promised;
        Space {
            mapped_bytes: self.mapped * BLOCK_BYTES,
            promised_bytes: self.promised * BLOCK_BYTES,
            freed_bytes: freed * BLOCK_BYTES,
        }
    }
}

impl Share<'_> {
    pub(crate) fn extent(&mut self, file: FileId) -> Step<Extent> {
        let inode = self.inode(file)?;
        let (mapped, promised) = (self.mapped(file, &inode)?, self.promised(file, &inode)?);
        Ok(Extent { mapped, promised, regions: regions(file, &inode).collect(), change: inode.change })
    }

    /// Capacity of the share. Files in use are counted in blocks of the inode table.
    pub(crate) fn capacity(&mut self) -> Step<Capacity> {
        let object = self.object();
        let blocks = self.look().mapped(object, inode_table()).map_err(|missing| missing.of(ROOT))?;
        let Room { total_blocks, free_blocks, used_blocks } =
            self.look().room(object).map_err(|missing| missing.of(ROOT))?;
        Ok(Capacity {
            total_bytes: total_blocks * BLOCK_BYTES,
            free_bytes: free_blocks * BLOCK_BYTES,
            available_bytes: free_blocks * BLOCK_BYTES,
            used_bytes: used_blocks * BLOCK_BYTES,
            files: FILES,
            free_files: FILES - blocks * INODES_PER_BLOCK,
        })
    }
}
