//! Steps, which change the blocks of files all or not at all.

use super::blocks::{BlockId, Mapping, Owner, Undo};
use super::ranges::Ranges;
use super::state::State;
use crate::{FileSystemId, FsError, SpaceReason};

impl State {
    fn mapping_mut(&mut self, (share, file): Owner) -> Option<&mut Mapping> {
        self.shares.get_mut(&share)?.files.get_mut(&file)?.mapping_mut()
    }

    pub(super) fn mapping(&self, (share, file): Owner) -> Option<&Mapping> {
        self.shares.get(&share)?.files.get(&file)?.mapping()
    }

    /// Maps a block of a file, or unmaps it.
    pub(super) fn assign(&mut self, owner: Owner, index: u64, block: Option<BlockId>) {
        let Some(mapping) = self.mapping_mut(owner) else { return };
        let before = match block {
            Some(block) => mapping.blocks.insert(index, block),
            None => mapping.blocks.remove(&index),
        };
        block.into_iter().for_each(|block| self.blocks.map(block));
        before.into_iter().for_each(|block| self.blocks.unmap(block));
        self.undo.push(Undo::Block(owner, index, before));
    }

    /// Changes the promises of a file.
    pub(super) fn allot(&mut self, owner: Owner, change: impl FnOnce(&mut Ranges)) {
        let Some(mapping) = self.mapping_mut(owner) else { return };
        let before = mapping.allocated.clone();
        change(&mut mapping.allocated);
        if mapping.allocated.is_empty() {
            self.promising.remove(&owner);
        } else {
            self.promising.insert(owner);
        }
        self.undo.push(Undo::Allocated(owner, before));
    }

    /// Blocks that a file's allocations still promise: all but those that it alone maps.
    pub(super) fn promised_to(&self, owner: Owner) -> u64 {
        let Some(Mapping { blocks, allocated }) = self.mapping(owner) else { return 0 };
        let own = |range| blocks.range(range).filter(|(_, id)| self.blocks.places(**id) == 1).count() as u64;
        allocated.blocks() - allocated.iter().map(own).sum::<u64>()
    }

    /// Blocks that are mapped or promised.
    pub(super) fn taken(&self) -> u64 {
        self.blocks.mapped + self.promising.iter().map(|owner| self.promised_to(*owner)).sum::<u64>()
    }

    /// Blocks that the files of one file system map or are promised.
    pub(super) fn used_by(&self, share: FileSystemId) -> u64 {
        let files = self.shares.get(&share).into_iter().flat_map(|share| share.files.iter());
        let mapped = files.filter_map(|(_, inode)| inode.mapping()).map(|mapping| mapping.blocks.len() as u64);
        let promising = self.promising.iter().filter(|owner| owner.0 == share);
        mapped.sum::<u64>() + promising.map(|owner| self.promised_to(*owner)).sum::<u64>()
    }

    /// Executes changes of blocks and promises; undoes them if there is no space for them, which is then
    /// missing for `reason`.
    pub(super) fn step(
        &mut self,
        share: FileSystemId,
        reason: SpaceReason,
        change: impl FnOnce(&mut Self),
    ) -> Result<(), FsError> {
        let quota = self.shares.get(&share).and_then(|share| share.quota_blocks);
        let used = |state: &Self| if quota.is_some() { state.used_by(share) } else { 0 };
        let (taken_before, used_before) = (self.taken(), used(self));
        self.undo.clear();
        change(self);
        let (taken, used) = (self.taken(), used(self));
        let failed = if taken > self.capacity_blocks && taken > taken_before {
            Err(FsError::NoSpace(reason))
        } else if quota.is_some_and(|quota| used > quota && used > used_before) {
            Err(FsError::Quota)
        } else {
            Ok(())
        };
        if failed.is_err() {
            self.take_back();
        }
        self.undo.clear();
        self.blocks.sweep();
        failed
    }

    fn take_back(&mut self) {
        while let Some(change) = self.undo.pop() {
            match change {
                Undo::Block(owner, index, before) => self.assign(owner, index, before),
                Undo::Allocated(owner, before) => self.allot(owner, |allocated| *allocated = before),
            }
            self.undo.pop(); // of the undoing itself
        }
    }

    /// Blocks by which the space that is neither mapped nor promised would grow without the file.
    pub(super) fn freed_without(&mut self, owner: Owner) -> u64 {
        let before = self.taken();
        self.undo.clear();
        self.unmap_all(owner);
        let freed = before - self.taken();
        self.take_back();
        self.blocks.sweep();
        freed
    }

    /// Unmaps everything of a file and ends its promises.
    pub(super) fn unmap_all(&mut self, owner: Owner) {
        let blocks: Vec<u64> =
            self.mapping(owner).into_iter().flat_map(|mapping| mapping.blocks.keys().copied()).collect();
        for index in blocks {
            self.assign(owner, index, None);
        }
        self.allot(owner, |allocated| *allocated = Ranges::default());
    }
}
