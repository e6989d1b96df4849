//! Unfinished operations: files half created or half deleted, blocks claimed and not pointed to,
//! and blocks behind the end of a disk that was about to grow. The host that takes over the lock
//! finishes them; so do the host itself when one of its steps has failed, and [`Datastore::tidy`].

use crate::datastore::Datastore;
use crate::directory::LockedFile;
use crate::error::DatastoreError;
use crate::format::{Allocation, FileId, state};
use crate::lock::LOCK_PATIENCE;
use crate::map::BlockMap;
use data_mover::Device;
use std::time::Duration;

impl<D: Device> Datastore<D> {
    /// Finishes the half-done operation of a file whose lock this host has. A file that was being
    /// created or deleted is removed; blocks without content of the file are freed. Returns the
    /// number of blocks freed.
    pub(crate) async fn finish(&self, file: &mut LockedFile) -> Result<u64, DatastoreError> {
        match file.record.value.state {
            state::CREATING | state::DELETING => self.remove(file).await.map(|()| 0),
            state::LIVE | state::PARTIAL => {
                let map = BlockMap::new(file.id());
                let claimed = self.blocks_of(file.id()).await?;
                let unused = self.unused(&map, self.blocks_for(file.record.value.size.get()), &claimed).await?;
                self.free_unused(&map, &unused).await
            }
            _ => Ok(0),
        }
    }

    /// Claimed blocks of a file that have no pointer, or only one behind its end. `blocks` is the
    /// number of blocks that its size requires.
    pub(crate) async fn unused(
        &self,
        map: &BlockMap,
        blocks: u32,
        claimed: &[(u32, u32)],
    ) -> Result<Vec<(u32, u32)>, DatastoreError> {
        let mut unused = Vec::new();
        for (index, block) in claimed {
            if self.is_behind(*index, blocks) || map.pointed(self, *index).await? != Some(*block) {
                unused.push((*index, *block));
            }
        }
        Ok(unused)
    }

    /// Whether a number is behind the end of a file of this many blocks. A block of pointers is
    /// behind the end when all blocks that it could point to are.
    pub(crate) fn is_behind(&self, index: u32, blocks: u32) -> bool {
        match index.checked_sub(Allocation::POINTER_BLOCK) {
            Some(root) => root >= self.store.geometry.roots_for(blocks),
            None => index >= blocks,
        }
    }

    /// Frees blocks of a file. Their pointers are removed first, so that none leads to a block that
    /// another file has.
    async fn free_unused(&self, map: &BlockMap, blocks: &[(u32, u32)]) -> Result<u64, DatastoreError> {
        if blocks.is_empty() {
            return Ok(0);
        }
        map.remove_pointers(self, blocks).await?;
        self.free(map.file, blocks).await?;
        Ok(blocks.len() as u64)
    }

    /// Frees everything that a file has behind this many blocks.
    pub(crate) async fn free_behind(&self, map: &BlockMap, blocks: u32) -> Result<(), DatastoreError> {
        let mut behind = self.blocks_of(map.file).await?;
        behind.retain(|(index, _)| self.is_behind(*index, blocks));
        self.free_unused(map, &behind).await.map(drop)
    }

    /// Marks a file after a step that failed with blocks claimed. They are looked for when the lock
    /// is released.
    pub(crate) fn mark_untidy(&self, file: FileId) {
        self.untidy.borrow_mut().insert(file.record);
    }

    /// Takes the lock of a file, which finishes operations of a dead host, and releases it.
    pub(crate) async fn finish_file(&self, number: u32, name: &str) -> Result<(), DatastoreError> {
        match self.lock_record_in(number, name, LOCK_PATIENCE, &[state::LIVE, state::PARTIAL]).await? {
            Some(file) => self.unlock(file).await,
            None => Ok(()),
        }
    }

    /// Finishes a file that no host has open, if it has leftovers. Returns the number of blocks
    /// freed.
    pub(crate) async fn finish_closed(&self, number: u32, claimed: &[(u32, u32)]) -> Result<u64, DatastoreError> {
        let record = self.record(number).await?;
        let id = FileId { record: number, generation: record.value.generation.get() };
        let blocks = self.blocks_for(record.value.size.get());
        match self.unused(&BlockMap::new(id), blocks, claimed).await {
            Ok(unused) if unused.is_empty() => return Ok(0),
            // The check reports the damage.
            Err(DatastoreError::Damaged { .. }) => return Ok(0),
            Err(error) => return Err(error),
            Ok(_) => {}
        }
        // The lock is taken only now, because taking it prevents an interrupted copy of the file
        // from being continued.
        let states = [state::LIVE, state::PARTIAL];
        let file = self.lock_record_in(number, &record.value.name(), Duration::ZERO, &states).await;
        let mut file = match file {
            Ok(Some(file)) => file,
            Ok(None) | Err(DatastoreError::Locked { .. }) => return Ok(0),
            Err(error) => return Err(error),
        };
        let finished = self.finish(&mut file).await;
        self.unlock(file).await?;
        finished
    }
}
