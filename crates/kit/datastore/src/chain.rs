//! Base disks: disks that other disks are based on. They are read without a lock because they do
//! not change while they have children. That may end at any time: a snapshot is committed into the
//! base, or its last child is deleted, and then its blocks may go to another file. So a reader
//! checks the records of these disks once more before it reports success
//! ([`VirtualDisk::check_unchanged`]).
//!
//! Disks below one that is open under its lock cannot change. A disk is opened, deleted or
//! committed into only when it has no children, or when the only child is the one being committed,
//! which requires that child's lock.

use crate::datastore::Datastore;
use crate::disk::{COMMITTING, Content, VirtualDisk};
use crate::error::DatastoreError;
use crate::format::{File, FileId, Pointer, state};
use crate::map::BlockMap;
use crate::records::id_of;
use crate::sector::{Loaded, SECTOR_BYTES};
use data_mover::Device;
use std::collections::HashSet;
use std::rc::Rc;

impl<D: Device> Datastore<D> {
    /// Opens a disk for reading. A frozen base disk needs no lock; the lock of any other disk is
    /// taken.
    pub async fn open_read(self: &Rc<Self>, name: &str) -> Result<VirtualDisk<D>, DatastoreError> {
        let record = self.readable_records().await?.live(name)?.clone();
        if record.value.frozen == 0 || self.children(id_of(&record)).await?.is_empty() {
            return self.open(name).await;
        }
        if record.value.frozen == COMMITTING {
            return Err(Self::half_committed(name));
        }
        let below = self.open_below(record.value.parent()).await?;
        self.opened_to_read(record, below)
    }

    /// Opens the chain of disks below one, without locks.
    pub(crate) async fn open_below(
        self: &Rc<Self>,
        parent: Option<FileId>,
    ) -> Result<Vec<Rc<VirtualDisk<D>>>, DatastoreError> {
        let mut below = Vec::new();
        let (mut seen, mut next) = (HashSet::new(), parent);
        while let Some(id) = next {
            let record = self.record(id.record).await?;
            let (lba, file) = (record.lba, &record.value);
            if !seen.insert(id) {
                return Err(DatastoreError::Damaged { lba, what: "the chain of base disks is circular" });
            }
            if file.state != state::LIVE || id_of(&record) != id || file.frozen == 0 {
                return Err(DatastoreError::Damaged { lba, what: "the base of a disk is missing" });
            }
            next = file.parent();
            below.push(Rc::new(self.opened_to_read(record, Vec::new())?));
        }
        Ok(below)
    }

    fn opened_to_read(
        self: &Rc<Self>,
        record: Loaded<File>,
        below: Vec<Rc<VirtualDisk<D>>>,
    ) -> Result<VirtualDisk<D>, DatastoreError> {
        let format = Self::format_of(&record)?;
        let mut disk = self.opened(None, BlockMap::new(id_of(&record)), format, record.value.size.get(), below);
        disk.as_opened = Some(record);
        Ok(disk)
    }
}

impl<D: Device> VirtualDisk<D> {
    /// Content at `offset`, for at most `bytes` (both in whole sectors) and not beyond the end of a
    /// block. Returns the content and its length in bytes. Beyond the end of a lower disk
    /// everything reads as zeros.
    pub async fn locate(&self, offset: u64, bytes: u64) -> Result<(Content, u64), DatastoreError> {
        match self.locate_own(offset, bytes).await? {
            Some(content) => Ok((content, self.within_block(offset, bytes))),
            None => self.locate_below(offset, bytes).await,
        }
    }

    /// Like [`Self::locate`], but skips the disk itself: content that the chain below holds there.
    pub(crate) async fn locate_below(&self, offset: u64, bytes: u64) -> Result<(Content, u64), DatastoreError> {
        let length = self.within_block(offset, bytes);
        for disk in &self.below {
            if let Some(content) = disk.locate_own(offset, bytes).await? {
                return Ok((content, length));
            }
        }
        Ok((Content::Zeros, length))
    }

    fn within_block(&self, offset: u64, bytes: u64) -> u64 {
        let block_bytes = self.on.store.geometry.block_bytes();
        bytes.min(block_bytes - offset % block_bytes)
    }

    /// Content that the disk itself holds; `None` where the disk below shows through.
    async fn locate_own(&self, offset: u64, bytes: u64) -> Result<Option<Content>, DatastoreError> {
        let store = &self.on.store;
        if offset >= self.size() {
            return Ok(Some(Content::Zeros));
        }
        let block_bytes = store.geometry.block_bytes();
        let index = u32::try_from(offset / block_bytes).unwrap_or(u32::MAX);
        Ok(match self.map.get(&self.on, index).await? {
            Pointer::Hole => None,
            Pointer::ToBeZeroed(_) => Some(Content::Zeros),
            Pointer::Data(block) => {
                let (from, sectors) = (offset % block_bytes, self.within_block(offset, bytes) / SECTOR_BYTES as u64);
                Some(Content::Sectors(store.extent(block, from / SECTOR_BYTES as u64, sectors)))
            }
        })
    }

    /// Checks that what was read is valid: this host still has its lock, and no host changed the
    /// disks that were read without one. Call it after the last read and before the data is
    /// reported as the disk's content.
    ///
    /// Errors: [`DatastoreError::Changed`]; [`DatastoreError::Evicted`], [`DatastoreError::LeaseExpired`].
    pub async fn check_unchanged(&self) -> Result<(), DatastoreError> {
        if self.file.lock().await.is_some() {
            self.on.store.alive()?;
        }
        let below = self.below.iter().filter_map(|disk| disk.as_opened.as_ref());
        for then in self.as_opened.iter().chain(below) {
            if !is_unchanged(then, &self.on.record(then.number).await?) {
                return Err(DatastoreError::Changed(then.value.name()));
            }
        }
        Ok(())
    }
}

/// Whether a frozen disk cannot have changed between two reads of its record. Before its content
/// changes, the disk is thawed or marked; freezing it again is another update. So one update that
/// is not a touch (a rename) is allowed. Creating a child leaves no trace in the record.
fn is_unchanged(then: &Loaded<File>, now: &Loaded<File>) -> bool {
    let (before, after) = (&then.value, &now.value);
    let touches = after.touched.get().checked_sub(before.touched.get());
    let updates = now.version.checked_sub(then.version);
    let others = updates.zip(touches).and_then(|(updates, touches)| updates.checked_sub(touches));
    let same = |of: fn(&File) -> (u8, u8, u32)| of(before) == of(after);
    same(|file| (file.state, file.frozen, file.generation.get()))
        && others.is_some_and(|others| others <= u64::from(before.frozen != COMMITTING))
}
