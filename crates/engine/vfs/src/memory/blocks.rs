//! Blocks of the engine in memory, shared by the files of all its file systems.

use super::ranges::Ranges;
use crate::{FileId, FileSystemId};
use bytes::Bytes;
use std::collections::BTreeMap;

/// Bytes of a block: what is mapped, shared and freed as a whole.
pub(super) const BLOCK_BYTES: u64 = 4096;

/// File of one file system.
pub(super) type Owner = (FileSystemId, FileId);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct BlockId(u64);

#[derive(Clone, Debug)]
struct Block {
    data: Bytes,
    /// Number of places that map it; 0 until the step ends that unmapped the last one.
    places: u64,
}

/// All blocks.
#[derive(Clone, Debug, Default)]
pub(super) struct Blocks {
    blocks: BTreeMap<BlockId, Block>,
    next: u64,
    /// Blocks that are mapped somewhere.
    pub(super) mapped: u64,
    /// Blocks that this step unmapped.
    unmapped: Vec<BlockId>,
}

impl Blocks {
    /// Adds a block, which the caller maps next.
    pub(super) fn add(&mut self, data: Bytes) -> BlockId {
        let id = BlockId(self.next);
        self.next += 1;
        self.blocks.insert(id, Block { data, places: 0 });
        self.unmapped.push(id);
        id
    }

    pub(super) fn data(&self, id: BlockId) -> Bytes {
        self.blocks.get(&id).map(|block| block.data.clone()).unwrap_or_default()
    }

    /// Number of places that map a block.
    pub(super) fn places(&self, id: BlockId) -> u64 {
        self.blocks.get(&id).map_or(0, |block| block.places)
    }

    pub(super) fn map(&mut self, id: BlockId) {
        if let Some(block) = self.blocks.get_mut(&id) {
            self.mapped += u64::from(block.places == 0);
            block.places += 1;
        }
    }

    pub(super) fn unmap(&mut self, id: BlockId) {
        if let Some(block) = self.blocks.get_mut(&id) {
            block.places -= 1;
            if block.places == 0 {
                self.mapped -= 1;
                self.unmapped.push(id);
            }
        }
    }

    /// Forgets blocks that nothing maps.
    pub(super) fn sweep(&mut self) {
        for id in std::mem::take(&mut self.unmapped) {
            if self.places(id) == 0 {
                self.blocks.remove(&id);
            }
        }
    }
}

/// Content of a regular file.
#[derive(Clone, Debug, Default)]
pub(super) struct Mapping {
    pub(super) blocks: BTreeMap<u64, BlockId>,
    /// Blocks for which space is promised.
    pub(super) allocated: Ranges,
}

/// Change of a step, with the state before it.
#[derive(Clone, Debug)]
pub(super) enum Undo {
    Block(Owner, u64, Option<BlockId>),
    Allocated(Owner, Ranges),
}
