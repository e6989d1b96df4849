//! Copies that were interrupted, and go on later: the file keeps how far the copy was and what it came from.

use crate::datastore::Datastore;
use crate::directory::LockedFile;
use crate::disk::VirtualDisk;
use crate::error::DatastoreError;
use crate::format::{Lock, state};
use crate::lock::LOCK_PATIENCE;
use crate::map::BlockMap;
use data_mover::Device;
use std::rc::Rc;

/// What a copy comes from, and how often its lock had been taken and given back: whoever writes to a disk takes its lock, so the number tells
/// whether anybody can have changed it since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceMark {
    /// The datastore's UUID, or the NAA designator of a whole logical unit.
    pub unit: [u8; 16],
    /// Record and generation of the file; 0 and 0 of a whole logical unit, of which nobody can tell whether it was changed.
    file: (u32, u32),
    /// Version of the lock; with the lock taken, odd ones and even ones take turns.
    lock: u64,
    /// The lock was that of a dead host, or is not needed.
    taken_over: bool,
    locked: bool,
}

impl SourceMark {
    /// A whole logical unit.
    pub fn of_unit(naa: [u8; 16]) -> Self {
        Self { unit: naa, file: (0, 0), lock: 0, taken_over: false, locked: false }
    }

    /// True when this is the source of an earlier copy, and nobody has had it open to write since then.
    pub fn continues(&self, earlier: &Self) -> bool {
        if self.unit != earlier.unit || self.file != earlier.file {
            return false;
        }
        match self.lock.checked_sub(earlier.lock) {
            // Nobody had the lock then, and nobody has had it since.
            Some(0) => !self.locked,
            // The lock of the host that died is this host's now.
            Some(1) => self.locked && self.taken_over,
            // It was given back, and is this host's now.
            Some(2) => self.locked && !self.taken_over,
            _ => false,
        }
    }

    /// For keeping; [`Self::from_bytes`] is the way back.
    pub fn to_bytes(&self) -> [u8; 32] {
        let mut bytes = [0; 32];
        let fields = self.unit.into_iter().chain(self.file.0.to_le_bytes()).chain(self.file.1.to_le_bytes());
        for (to, from) in bytes.iter_mut().zip(fields.chain(self.lock.to_le_bytes())) {
            *to = from;
        }
        bytes
    }

    /// What was kept.
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

/// A copy that was interrupted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partial {
    /// Name of the file.
    pub name: String,
    /// Size that it will have, in bytes.
    pub size: u64,
    /// Bytes that are copied, from the beginning on.
    pub copied: u64,
    /// What they come from.
    pub source: SourceMark,
}

impl<D: Device> VirtualDisk<D> {
    /// What a copy of this disk comes from.
    pub async fn mark(&self) -> Result<SourceMark, DatastoreError> {
        let file = self.map.file;
        let unit = self.on.uuid().into_bytes();
        let (lock, taken_over, locked) = match self.file.lock().await.as_ref() {
            Some(file) => (file.lock_version(), file.was_taken_over(), true),
            None => (self.on.store.load::<Lock>(self.on.store.geometry.lock(file.record)).await?.version, false, false),
        };
        Ok(SourceMark { unit, file: (file.record, file.generation), lock, taken_over, locked })
    }

    /// Keeps a disk that was begun, should the copy end early: so many bytes from the beginning on are there.
    pub async fn keep_partial(&self, source: &SourceMark, copied: u64) -> Result<(), DatastoreError> {
        let mut file = self.file.lock().await;
        let file = file.as_mut().ok_or_else(Self::only_read)?;
        let change = |file: &mut crate::format::File| {
            file.state = state::PARTIAL;
            file.copied = copied.into();
            file.source = source.to_bytes();
        };
        self.on.change(file, change).await
    }
}

impl<D: Device> VirtualDisk<D> {
    /// Ends a copy early, to go on with it later: blocks that were claimed for what did not come any more are free again, and the lock is given
    /// back.
    pub async fn close_partial(self, source: &SourceMark, copied: u64) -> Result<(), DatastoreError> {
        let kept = self.keep_partial(source, copied).await;
        let Some(mut file) = self.file.into_inner() else { return kept };
        let finished = self.on.finish(&mut file).await;
        let unlocked = self.on.unlock(file).await;
        kept.and(finished.map(drop)).and(unlocked)
    }
}

impl<D: Device> Datastore<D> {
    /// Copies that were interrupted.
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

    /// Opens what an interrupted copy has left, to go on with it; `None` when there is nothing of this name.
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

    /// Deletes what an interrupted copy has left; false when there is nothing of this name.
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
    fn a_mark_tells_whether_somebody_had_the_disk_open_since() {
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
