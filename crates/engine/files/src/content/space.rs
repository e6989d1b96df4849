//! Space of a file, and of the share.

use crate::engine::{BLOCK_BYTES, Room};
use crate::halt::Step;
use crate::layout::address::{FILES, INODES_PER_BLOCK, ROOT, inode_table};
use crate::share::Share;
use vfs::{Capacity, FileId, Space};

impl Share<'_> {
    pub(crate) fn space(&mut self, file: FileId) -> Step<Space> {
        let inode = self.inode(file)?;
        let promised_bytes = self.promised(file, &inode)? * BLOCK_BYTES;
        Ok(Space {
            mapped_bytes: self.mapped(file, &inode)? * BLOCK_BYTES,
            promised_bytes,
            freed_bytes: self.unique(file, &inode)? * BLOCK_BYTES + promised_bytes,
        })
    }

    /// Capacity of the share. Files in use are counted in blocks of the inode table.
    pub(crate) fn capacity(&mut self) -> Step<Capacity> {
        let object = self.object();
        let blocks = self.look().mapped(object, inode_table()).map_err(|missing| missing.of(ROOT))?;
        let Room { total_blocks, free_blocks } = self.look().room(object);
        Ok(Capacity {
            total_bytes: total_blocks * BLOCK_BYTES,
            free_bytes: free_blocks * BLOCK_BYTES,
            available_bytes: free_blocks * BLOCK_BYTES,
            files: FILES,
            free_files: FILES - blocks * INODES_PER_BLOCK,
        })
    }
}
