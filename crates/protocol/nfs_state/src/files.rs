//! Opens, locks and asynchronous copies with their stateids, by file, client and owner.

mod locks;
mod opens;
mod owners;
mod ranges;
mod revocation;
mod room;
mod shares;

use std::collections::{BTreeMap, BTreeSet};

use nfs::v4::{Stateid, Status};
use thiserror::Error;

use crate::ids;
use crate::mutations::{Mutation, leaves_out};
use crate::table::{Key, Table};

pub(crate) use locks::{LockObstacles, LockRequest};
pub(crate) use opens::OpenUndo;
use owners::Owners;
use ranges::Ranges;
pub(crate) use ranges::{Extent, Range};
pub(crate) use room::{Reservation, Room};
pub(crate) use shares::Share;
use shares::{Opened, ShareCounts};

/// Most files that a part of the list of ranges looks at.
const FILES_PER_PART: usize = 256;

/// Identity of a regular file in all shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileKey {
    /// Share.
    pub share: u64,
    /// File within the share.
    pub file: u64,
}

/// Why state is gone that its client has not given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Revocation {
    /// The lease had expired, and another client wanted what this one had.
    Expired,
    /// The administrator, or the roll-back or deletion of a share.
    Administrative,
}

impl Revocation {
    /// Answer to the use of a revoked stateid (RFC 8881 §8.2.4).
    const fn status(self) -> Status {
        match self {
            Self::Expired => Status::EXPIRED,
            Self::Administrative => Status::ADMIN_REVOKED,
        }
    }
}

/// What a stateid stands for.
#[derive(Debug)]
enum Kind {
    Open(Open),
    Lock(Lock),
    /// An asynchronous copy (RFC 7862 §15.2).
    Copy,
    Revoked(Revocation),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Open {
    file: Key,
    owner: Key,
    opened: Opened,
    /// User whose permission was checked; `None` if several users opened the file by this open.
    opener: Option<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Lock {
    file: Key,
    open: Key,
    owner: Key,
}

/// A stateid.
#[derive(Debug)]
struct Entry {
    client: Key,
    seqid: u32,
    kind: Kind,
}

/// A file with at least one open.
#[derive(Debug)]
struct File {
    key: FileKey,
    opens: BTreeSet<Key>,
    shares: ShareCounts,
    ranges: Ranges,
}

/// Numbers of what one client has, or of what all have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Holdings {
    /// Opens.
    pub opens: u32,
    /// Stateids of lock owners.
    pub lock_stateids: u32,
    /// Asynchronous copies.
    pub copies: u32,
    /// Stateids revoked after the lease had expired, and not yet freed.
    pub expired: u32,
    /// Stateids revoked by an administrator, and not yet freed.
    pub revoked: u32,
}

impl Holdings {
    /// Whether there is state that is in force.
    pub const fn is_live(&self) -> bool {
        self.opens > 0 || self.lock_stateids > 0 || self.copies > 0
    }

    /// Whether there is state that was revoked, and not yet freed.
    pub const fn has_lost(&self) -> bool {
        self.expired > 0 || self.revoked > 0
    }

    fn of(&mut self, kind: &Kind) -> &mut u32 {
        match kind {
            Kind::Open(_) => &mut self.opens,
            Kind::Lock(_) => &mut self.lock_stateids,
            Kind::Copy => &mut self.copies,
            Kind::Revoked(Revocation::Expired) => &mut self.expired,
            Kind::Revoked(Revocation::Administrative) => &mut self.revoked,
        }
    }
}

/// What stands in the way of a share.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Obstacles {
    /// Nothing.
    None,
    /// Only clients whose lease has expired.
    Courteous(BTreeSet<Key>),
    /// A client that keeps its lease.
    Held,
}

/// Why an asynchronous copy is not begun.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum CopyDenied {
    /// The client is gone.
    #[error("the client is gone")]
    NoClient,
    /// The client has as many as it may have.
    #[error("the client has {most} asynchronous copies, the most for one client")]
    OfClient {
        /// [`crate::Limits::copies_per_client`].
        most: u32,
    },
    /// There are as many as there may be.
    #[error("there are {most} asynchronous copies, the most for all clients")]
    OfAll {
        /// [`crate::Limits::copies`].
        most: u32,
    },
}

impl CopyDenied {
    /// Status of COPY.
    pub const fn status(self) -> Status {
        match self {
            Self::NoClient => Status::DEADSESSION,
            Self::OfClient { .. } | Self::OfAll { .. } => Status::OFFLOAD_DENIED,
        }
    }
}

/// Limits of the part.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FileLimits {
    /// One client may have one part in so many.
    pub client_share: u32,
    pub opens: u32,
    pub lock_stateids: u32,
    pub ranges: u32,
    pub ranges_per_file: u32,
    pub owner_bytes: u64,
    pub copies: u32,
    pub copies_per_client: u32,
}

/// All opens and locks.
#[derive(Debug)]
pub(crate) struct Files {
    boot: u32,
    limits: FileLimits,
    entries: Table<Entry>,
    files: Table<File>,
    by_file: BTreeMap<FileKey, Key>,
    owners: Owners,
    /// Client and entry.
    by_client: BTreeSet<(Key, Key)>,
    /// Entry of an open, by file and owner.
    open_of: BTreeMap<(Key, Key), Key>,
    /// Entry of a lock, by open and owner.
    lock_of: BTreeMap<(Key, Key), Key>,
    /// By index of the client.
    held: Vec<Holdings>,
    total: Holdings,
    ranges: u32,
    /// Number of locked ranges of each client that has any.
    ranges_of: BTreeMap<Key, u32>,
    /// Opens that are reserved for each client that has any.
    reserved_for: BTreeMap<Key, u32>,
    /// Opens that are reserved for all clients.
    reserved: u32,
    /// Files whose last open is gone, which the caller has not yet taken.
    released: BTreeSet<FileKey>,
}

impl Files {
    pub(crate) const fn new(boot: u32, limits: FileLimits) -> Self {
        Self {
            boot,
            limits,
            entries: Table::new(),
            files: Table::new(),
            by_file: BTreeMap::new(),
            owners: Owners::new(),
            by_client: BTreeSet::new(),
            open_of: BTreeMap::new(),
            lock_of: BTreeMap::new(),
            held: Vec::new(),
            total: Holdings { opens: 0, lock_stateids: 0, copies: 0, expired: 0, revoked: 0 },
            ranges: 0,
            ranges_of: BTreeMap::new(),
            reserved_for: BTreeMap::new(),
            reserved: 0,
            released: BTreeSet::new(),
        }
    }

    /// What all clients have.
    pub(crate) const fn total(&self) -> Holdings {
        self.total
    }
    /// Number of locked ranges.
    pub(crate) const fn ranges(&self) -> u32 {
        self.ranges
    }
    /// Bytes of the names of all owners.
    pub(crate) const fn owner_bytes(&self) -> u64 {
        self.owners.bytes()
    }
    /// What a client has.
    pub(crate) fn held(&self, client: Key) -> Holdings {
        self.held.get(client.index as usize).copied().unwrap_or_default()
    }
    /// A file whose last open is gone; each is named once.
    pub(crate) fn take_released(&mut self) -> Option<FileKey> {
        self.released.pop_first()
    }

    /// Entry of a stateid of a client. `BAD_STATEID`: none, one of another client, or a later version.
    /// `OLD_STATEID`: an earlier version. `EXPIRED`, `ADMIN_REVOKED`: revoked. RFC 8881 §8.2.4.
    pub(crate) fn find(&self, client: Key, stateid: &Stateid) -> Result<Key, Status> {
        let key = self.find_any(client, stateid)?;
        match self.entries.get(key).map(|entry| &entry.kind) {
            Some(Kind::Revoked(revocation)) => Err(revocation.status()),
            _ => Ok(key),
        }
    }

    /// The same, for revoked stateids too.
    fn find_any(&self, client: Key, stateid: &Stateid) -> Result<Key, Status> {
        let key = ids::stateid_key(self.boot, stateid).ok_or(Status::BAD_STATEID)?;
        let entry = self.entries.get(key).filter(|entry| entry.client == client).ok_or(Status::BAD_STATEID)?;
        let behind = entry.seqid.wrapping_sub(stateid.seqid);
        match stateid.seqid {
            0 => Ok(key),
            _ if behind == 0 => Ok(key),
            _ if behind < 1 << 31 => Err(Status::OLD_STATEID),
            _ => Err(Status::BAD_STATEID),
        }
    }

    fn kind(&self, key: Key) -> Option<&Kind> {
        self.entries.get(key).map(|entry| &entry.kind)
    }
    fn open(&self, key: Key) -> Option<Open> {
        if let Kind::Open(open) = self.kind(key)? { Some(*open) } else { None }
    }
    fn lock(&self, key: Key) -> Option<Lock> {
        if let Kind::Lock(lock) = self.kind(key)? { Some(*lock) } else { None }
    }
    fn file(&self, file: &FileKey) -> Option<&File> {
        self.files.get(*self.by_file.get(file)?)
    }

    /// Entry of an open of this file, with its share; `BAD_STATEID` for anything else.
    pub(crate) fn find_open(&self, client: Key, file: &FileKey, stateid: &Stateid) -> Result<Key, Status> {
        let key = self.find(client, stateid)?;
        let open = self.open(key).filter(|open| self.is_of(open.file, file));
        open.map(|_| key).ok_or(Status::BAD_STATEID)
    }

    /// Open that a stateid of an open or a lock of this file belongs to, and its access.
    pub(crate) fn find_access(&self, client: Key, file: &FileKey, stateid: &Stateid) -> Result<(Key, u32), Status> {
        let key = self.find(client, stateid)?;
        let key = self.lock(key).map_or(key, |lock| lock.open);
        let open = self.open(key).filter(|open| self.is_of(open.file, file)).ok_or(Status::BAD_STATEID)?;
        Ok((key, open.opened.share().access))
    }

    /// Whether all OPENs of an open are of this user.
    pub(crate) fn is_opener(&self, open: Key, user: u32) -> bool {
        self.open(open).is_some_and(|open| open.opener == Some(user))
    }

    fn is_of(&self, key: Key, file: &FileKey) -> bool {
        self.files.get(key).is_some_and(|found| found.key == *file)
    }

    /// Stateid of an entry, in its present version.
    pub(crate) fn stateid(&self, key: Key) -> Stateid {
        ids::stateid(self.boot, key, self.entries.get(key).map_or(0, |entry| entry.seqid))
    }

    /// Raises the version of an entry; 0 is left out, as it stands for the present one.
    fn raise(&mut self, key: Key) -> Stateid {
        if let Some(entry) = self.entries.get_mut(key) {
            entry.seqid = entry.seqid.checked_add(1).unwrap_or(1);
        }
        self.stateid(key)
    }

    fn insert(&mut self, client: Key, kind: Kind) -> Key {
        self.count(client, &kind, 1);
        let key = self.entries.insert(|_| Entry { client, seqid: 1, kind });
        self.by_client.insert((client, key));
        key
    }

    fn count(&mut self, client: Key, kind: &Kind, change: i32) {
        let index = client.index as usize;
        if self.held.len() <= index {
            self.held.resize(index + 1, Holdings::default());
        }
        for holdings in self.held.get_mut(index).into_iter().chain([&mut self.total]) {
            let count = holdings.of(kind);
            *count = count.wrapping_add_signed(change);
        }
    }

    /// Begins an asynchronous copy.
    pub(crate) fn begin_copy(&mut self, client: Key) -> Result<Stateid, CopyDenied> {
        let FileLimits { copies, copies_per_client, .. } = self.limits;
        let limited = !leaves_out(Mutation::CopyLimit);
        if limited && self.held(client).copies >= copies_per_client {
            return Err(CopyDenied::OfClient { most: copies_per_client });
        }
        if limited && self.total.copies >= copies {
            return Err(CopyDenied::OfAll { most: copies });
        }
        let key = self.insert(client, Kind::Copy);
        Ok(self.stateid(key))
    }

    /// Client of a copy that goes on, or whose callback is due.
    pub(crate) fn copy_client(&self, stateid: &Stateid) -> Option<Key> {
        let entry = self.entries.get(ids::stateid_key(self.boot, stateid)?)?;
        (matches!(entry.kind, Kind::Copy) && entry.seqid == stateid.seqid).then_some(entry.client)
    }

    /// Ends a copy.
    pub(crate) fn end_copy(&mut self, stateid: &Stateid) {
        if self.copy_client(stateid).is_some()
            && let Some(key) = ids::stateid_key(self.boot, stateid)
        {
            self.remove(key);
        }
    }

    /// Frees a stateid (RFC 8881 §18.38). `LOCKS_HELD`: an open, a copy, or a lock with ranges.
    pub(crate) fn free(&mut self, client: Key, stateid: &Stateid) -> Result<(), Status> {
        let key = self.find_any(client, stateid)?;
        let held = match self.kind(key) {
            Some(Kind::Lock(lock)) => self.files.get(lock.file).is_some_and(|file| file.ranges.holds(key)),
            Some(Kind::Open(_) | Kind::Copy) => true,
            _ => false,
        };
        if held {
            return Err(Status::LOCKS_HELD);
        }
        self.remove(key);
        Ok(())
    }

    /// Opens from an index on: entry, client, file, owner and share.
    pub(crate) fn opens_from(&self, index: u32) -> impl Iterator<Item = (Key, Key, FileKey, bytes::Bytes, Share)> {
        self.entries.iter_from(index).filter_map(|(key, entry)| {
            let Kind::Open(open) = &entry.kind else { return None };
            let file = self.files.get(open.file)?.key;
            Some((key, entry.client, file, self.owners.name(open.owner), open.opened.share()))
        })
    }

    /// Locked ranges of files, of one share or all, from a place on, and the place of the next part; `None` at
    /// the end. A part has at most `most` ranges, and fewer where many files have none: it looks at
    /// [`FILES_PER_PART`] files. Its cost does not depend on those before.
    pub(crate) fn ranges_from(
        &self,
        share: Option<u64>,
        from: RangePlace,
        most: usize,
    ) -> (Vec<ListedRange>, Option<RangePlace>) {
        let mut listed = Vec::new();
        let (files, next) = self.files.part_from(from.file, FILES_PER_PART);
        for (key, file) in files.filter(|(_, file)| share.is_none_or(|share| share == file.key.share)) {
            let (first, owner) = if key.index == from.file { (from.first, from.owner) } else { (0, 0) };
            for range in file.ranges.iter_from(first, owner) {
                let place = RangePlace { file: key.index, first: range.extent.first, owner: range.owner.index };
                if listed.len() >= most {
                    return (listed, Some(place));
                }
                let Some(entry) = self.entries.get(range.state) else { continue };
                let (client, owner) = (entry.client, self.owners.name(range.owner));
                listed.push(ListedRange { client, file: file.key, owner, range: *range });
            }
        }
        (listed, next.map(|file| RangePlace { file, first: 0, owner: 0 }))
    }
}

/// Place of a range in the list of all: index of the file, first byte, and index of the owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RangePlace {
    pub file: u32,
    pub first: u64,
    pub owner: u32,
}

/// Range with what it belongs to.
pub(crate) struct ListedRange {
    pub client: Key,
    pub file: FileKey,
    /// Name of the owner.
    pub owner: bytes::Bytes,
    pub range: Range,
}

#[cfg(test)]
mod invariants;
