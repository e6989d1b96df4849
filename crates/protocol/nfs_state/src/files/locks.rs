//! Byte-range locks (RFC 8881 §9.1 to §9.5).

use std::collections::BTreeSet;

use bytes::Bytes;
use nfs::v4::{Stateid, Status};

use super::owners::Owns;
use super::ranges::{Extent, Range};
use super::{FileKey, Files, Kind, Lock};
use crate::mutations::{Mutation, leaves_out};
use crate::table::Key;

/// A lock that is wanted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LockRequest<'a> {
    pub client: Key,
    /// Name of the lock owner.
    pub owner: &'a Bytes,
    pub extent: Extent,
    pub exclusive: bool,
}

/// What stands in the way of a lock.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum LockObstacles {
    /// Nothing.
    None,
    /// Only clients whose lease has expired.
    Courteous(BTreeSet<Key>),
    /// A lock of a client that keeps its lease: the client, the owner and the range.
    Held(Key, Bytes, Range),
}

impl Files {
    /// What stands in the way of a lock.
    pub(crate) fn lock_obstacles(
        &self,
        file: &FileKey,
        wanted: LockRequest,
        is_courteous: impl Fn(Key) -> bool,
    ) -> LockObstacles {
        let Some(file) = self.file(file).filter(|_| !leaves_out(Mutation::LockConflict)) else {
            return LockObstacles::None;
        };
        let owner = self.owners.find(wanted.client, Owns::Locks, wanted.owner);
        let mut courteous = BTreeSet::new();
        for range in file.ranges.conflicts(wanted.extent, wanted.exclusive, owner) {
            let Some(entry) = self.entries.get(range.state) else { continue };
            if !is_courteous(entry.client) {
                return LockObstacles::Held(entry.client, self.owners.name(range.owner), *range);
            }
            courteous.insert(entry.client);
        }
        if courteous.is_empty() { LockObstacles::None } else { LockObstacles::Courteous(courteous) }
    }

    /// Open and owner's name of a lock's stateid.
    pub(crate) fn lock_owner(&self, key: Key) -> Option<(Key, Bytes)> {
        self.lock(key).map(|lock| (lock.open, self.owners.name(lock.owner)))
    }

    /// Entry of a lock of this file; `BAD_STATEID` for anything else.
    pub(crate) fn find_lock(&self, client: Key, file: &FileKey, stateid: &Stateid) -> Result<Key, Status> {
        let key = self.find(client, stateid)?;
        let lock = self.lock(key).filter(|lock| self.is_of(lock.file, file));
        lock.map(|_| key).ok_or(Status::BAD_STATEID)
    }

    /// Entry of the lock that an owner has through an open.
    pub(super) fn known_lock(&self, open: Key, wanted: LockRequest) -> Option<Key> {
        let owner = self.owners.find(wanted.client, Owns::Locks, wanted.owner)?;
        self.lock_of.get(&(open, owner)).copied()
    }

    /// Locks a range through an open. Nothing may stand in the way. `DELAY`: too many locks.
    pub(crate) fn add_lock(&mut self, open_key: Key, wanted: LockRequest) -> Result<Stateid, Status> {
        let open = self.open(open_key).ok_or(Status::BAD_STATEID)?;
        self.room_for_lock(open_key, wanted).check()?;
        let (key, stateid) = match self.known_lock(open_key, wanted) {
            Some(key) => (key, self.raise(key)),
            None => {
                let key = self.add_lock_stateid(open_key, open.file, wanted);
                (key, self.stateid(key))
            }
        };
        let owner = self.lock(key).map(|lock| lock.owner).ok_or(Status::BAD_STATEID)?;
        let range = Range { extent: wanted.extent, exclusive: wanted.exclusive, owner, state: key };
        self.change_ranges(wanted.client, open.file, |ranges| ranges.lock(range));
        Ok(stateid)
    }

    fn add_lock_stateid(&mut self, open: Key, file: Key, wanted: LockRequest) -> Key {
        let owner = self.owners.refer(wanted.client, Owns::Locks, wanted.owner);
        let key = self.insert(wanted.client, Kind::Lock(Lock { file, open, owner }));
        self.lock_of.insert((open, owner), key);
        key
    }

    /// Unlocks a range of an owner. `DELAY`: one lock would become two, and there are too many.
    pub(crate) fn unlock(&mut self, key: Key, extent: Extent) -> Result<Stateid, Status> {
        let lock = self.lock(key).ok_or(Status::BAD_STATEID)?;
        let client = self.entries.get(key).map(|entry| entry.client).ok_or(Status::BAD_STATEID)?;
        if self.files.get(lock.file).is_some_and(|file| file.ranges.splits(extent, lock.owner)) {
            self.room_for_ranges(client, lock.file, 1).check()?;
        }
        self.change_ranges(client, lock.file, |ranges| ranges.unlock(extent, lock.owner));
        Ok(self.raise(key))
    }

    /// Changes the ranges of a client in a file, and counts them.
    pub(super) fn change_ranges(&mut self, client: Key, file: Key, change: impl FnOnce(&mut super::Ranges)) {
        let Some(file) = self.files.get_mut(file) else { return };
        let before = file.ranges.len();
        change(&mut file.ranges);
        let after = file.ranges.len();
        self.ranges = self.ranges - before + after;
        let own = self.ranges_of.entry(client).or_default();
        *own = *own + after - before;
        if *own == 0 {
            self.ranges_of.remove(&client);
        }
    }

    /// Entries of the locks of an open.
    pub(super) fn locks_of_open(&self, open: Key) -> Vec<Key> {
        self.lock_of.range((open, Key::MIN)..=(open, Key::MAX)).map(|(_, key)| *key).collect()
    }
}
