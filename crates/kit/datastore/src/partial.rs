//! Interrupted copies that continue later: the file stores its source and how many bytes were
//! copied.

use crate::datastore::Datastore;
use crate::directory::LockedFile;
use crate::disk::VirtualDisk;
use crate::error::DatastoreError;
use crate::format::{Lock, state};
use crate::lock::LOCK_PATIENCE;
use crate::map::BlockMap;
use data_mover::Device;
use std::rc::Rc;

/// Source of a copy, and how often its lock had been taken and released. A host that writes to a
/// disk takes its lock, so the number shows whether the source may have changed since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceMark {
    /// UUID of the datastore, or NAA designator of a whole logical unit.
    pub unit: [u8; 16],
    /// Record and generation of the file; (0, 0) for a whole logical unit, whose changes cannot be
    /// detected.
    file: (u32, u32),
    /// Version of the lock; taking and releasing it alternate between odd and even versions.
    lock: u64,
    /// The lock was taken over from a dead host.
    taken_over: bool,
    locked: bool,
}

impl SourceMark {
    /// Mark of a whole logical unit.
    pub fn of_unit(naa: [u8; 16]) -> Self {
        Self { unit: naa, file: (0, 0), lock: 0, taken_over: false, locked: false }
    }

    /// Whether this is the source of an earlier copy, and no host has had it open for writing
    /// since.
    pub fn continues(&self, earlier: &Self) -> bool {
        if self.unit != earlier.unit || self.file != earlier.file {
            return false;
        }
        match self.lock.checked_sub(earlier.lock) {
            // The lock was free then, and has not been taken since.
            Some(0) => !self.locked,
            // The lock of the dead host is now this host's.
            Some(1) => self.locked && self.taken_over,
            // The lock was released, and is now this host's.
            Some(2) => self.locked && !self.taken_over,
            _ => false,
        }
    }

    /// Encodes the mark for storage; [`Self::from_bytes`] decodes it.
    pub fn to_bytes(&self) -> [u8; 32] {
        let mut bytes = [0; 32];
        let fields = self.unit.into_iter().chain(self.file.0.to_le_bytes()).chain(self.file.1.to_le_bytes());
        for (to, from) in bytes.iter_mut().zip(fields.chain(self.lock.to_le_bytes())) {
            *to = from;
        }
        bytes
    }

    /// Decodes a stored mark.
    pub fn from_bytes(bytes: &[u8; 32]) -> Self {
        let word =
            |at: usize| bytes.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_le_bytes);
        let mut unit = [0; 16];
        for (to, from) in unit.iter_mut().zip(bytes) {
            *to = *from;
        }
        let lock = u64::from(word(24)) | u64::from(word(28)) << 32;
        Self { unit, file: (word(16), word(20)), lock, taken_over: false, locked: false }
    }
}

/// An interrupted copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partial {
    /// Name of the file.
    pub name: String,
    /// Final size in bytes.
    pub size: u64,
    /// Bytes copied so far, from the beginning of the disk.
    pub copied: u64,
    /// Source of the copy.
    pub source: SourceMark,
}

impl<D: Device> VirtualDisk<D> {
    /// Mark of this disk as the source of a copy.
    pub async fn mark(&self) -> Result<SourceMark, DatastoreError> {
        let file = self.map.file;
        let unit = self.on.uuid().into_bytes();
        let (lock, taken_over, locked) = match self.file.lock().await.as_ref() {
            Some(file) => (file.lock_version(), file.was_taken_over(), true),
            None => (self.on.store.load::<Lock>(self.on.store.geometry.lock(file.record)).await?.version, false, false),
        };
        Ok(SourceMark { unit, file: (file.record, file.generation), lock, taken_over, locked })
    }

    /// Records that `copied` bytes from the beginning are present, so that a disk that was begun
    /// survives an early end of the copy.
    pub async fn keep_partial(&self, source: &SourceMark, copied: u64) -> Result<(), DatastoreError> {
        let mut file = self.file.lock().await;
        let file = file.as_mut().ok_or_else(Self::read_only_error)?;
        let change = |file: &mut crate::format::File| {
            file.state = state::PARTIAL;
            file.copied = copied.into();
            file.source = source.to_bytes();
        };
        self.on.change(file, change).await
    }
}

impl<D: Device> VirtualDisk<D> {
    /// Ends a copy early so that it can continue later: blocks claimed but not filled are freed,
    /// and the lock is released.
    pub async fn close_partial(self, source: &SourceMark, copied: u64) -> Result<(), DatastoreError> {
        let kept = self.keep_partial(source, copied).await;
        let Some(mut file) = self.file.into_inner() else { return kept };
        let finished = self.on.finish(&mut file).await;
        let unlocked = self.on.unlock(file).await;
        kept.and(finished.map(drop)).and(unlocked)
    }
}

impl<D: Device> Datastore<D> {
    /// All interrupted copies.
    pub async fn partials(&self) -> Result<Vec<Partial>, DatastoreError> {
        let records = self.readable_records().await?;
        let partial = records.iter().filter(|record| record.value.state == state::PARTIAL);
        Ok(partial
            .map(|record| Partial {
                name: record.value.name(),
                size: record.value.size.get(),
                copied: record.value.copied.get(),
                source: SourceMark::from_bytes(&record.value.source),
            })
            .collect())
    }

    /// Opens an interrupted copy to continue it; `None` when there is none of this name.
    pub async fn resume_disk(self: &Rc<Self>, name: &str) -> Result<Option<(VirtualDisk<D>, Partial)>, DatastoreError> {
        let Some(file) = self.lock_partial(name).await? else { return Ok(None) };
        let record = &file.record.value;
        let partial = Partial {
            name: record.name(),
            size: record.size.get(),
            copied: record.copied.get(),
            source: SourceMark::from_bytes(&record.source),
        };
        let format = Self::format_of(&file.record)?;
        let map = BlockMap::new(file.id());
        let size = record.size.get();
        Ok(Some((self.opened(Some(file), map, format, size, Vec::new()), partial)))
    }

    async fn lock_partial(&self, name: &str) -> Result<Option<LockedFile>, DatastoreError> {
        let records = self.readable_records().await?;
        let Some(found) = records.find(name, state::PARTIAL)? else { return Ok(None) };
        self.lock_record_in(found.number, name, LOCK_PATIENCE, &[state::PARTIAL]).await
    }

    /// Deletes an interrupted copy; false when there is none of this name.
    pub async fn delete_partial(&self, name: &str) -> Result<bool, DatastoreError> {
        match self.lock_partial(name).await? {
            Some(file) => self.abandon(file).await.map(|()| true),
            None => Ok(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_shows_whether_a_host_has_opened_the_disk_since() {
        let mark = |lock, locked, taken_over| SourceMark { unit: [7; 16], file: (3, 9), lock, taken_over, locked };
        let earlier = SourceMark::from_bytes(&mark(11, true, false).to_bytes());
        assert_eq!((earlier.unit, earlier.file, earlier.lock), ([7; 16], (3, 9), 11));
        for (lock, taken_over, same) in [
            (12, true, true),
            (13, false, true),
            (12, false, false),
            (13, true, false),
            (14, true, false),
            (15, false, false),
            (10, true, false),
        ] {
            assert_eq!(mark(lock, true, taken_over).continues(&earlier), same, "{lock} {taken_over}");
        }
        assert!(mark(11, false, false).continues(&earlier) && !mark(12, false, false).continues(&earlier));
        assert!(!SourceMark { unit: [8; 16], ..mark(13, true, false) }.continues(&earlier));
    }
}
