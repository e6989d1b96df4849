//! What clients may have at the server, at the most: an open or lock that is denied needs one in the way.

use crate::shared::{Incarnation, LEASE, SLACK};
use std::collections::BTreeMap;
use std::time::Duration;

/// Units of a file that clients lock.
pub(crate) const UNITS: usize = 12;

/// How long what is gone counts for calls that were sent before. No call takes longer: clients are silent for less.
const REMEMBERED: Duration = Duration::from_secs(90);

/// Lock of a unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Lock {
    /// None.
    #[default]
    Free,
    /// Shared.
    Read,
    /// Exclusive.
    Write,
}

impl Lock {
    /// Whether two owners cannot have both.
    pub const fn conflicts_with(self, other: Self) -> bool {
        matches!((self, other), (Self::Write, Self::Read | Self::Write) | (Self::Read, Self::Write))
    }
}

/// Locks of an owner in a file.
pub(crate) type Locks = [Lock; UNITS];

/// Access and denied access: bits of `share_access` and `share_deny`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Share {
    pub access: u32,
    pub deny: u32,
}

impl Share {
    pub const fn conflicts_with(self, other: Self) -> bool {
        self.access & other.deny != 0 || self.deny & other.access != 0
    }
    pub const fn with(self, other: Self) -> Self {
        Self { access: self.access | other.access, deny: self.deny | other.deny }
    }
}

/// Owner of opens and locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Owner {
    pub incarnation: Incarnation,
    pub actor: usize,
}

/// From the first sending of a call to its reply.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    pub sent: Duration,
    pub answered: Duration,
}

/// What an owner may have of a file, or had.
#[derive(Clone, Copy, Debug)]
struct Entry {
    owner: Owner,
    file: usize,
    share: Share,
    locks: Locks,
    /// When it was known to be gone.
    gone: Option<Duration>,
}

/// What clients may have.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    entries: Vec<Entry>,
    /// When the server last took a call of an incarnation.
    heard: BTreeMap<Incarnation, Duration>,
}

impl Ledger {
    /// The server takes a call.
    pub fn heard(&mut self, incarnation: Incarnation, now: Duration) {
        self.heard.insert(incarnation, now);
    }

    fn present(&mut self, owner: Owner, file: usize) -> Option<&mut Entry> {
        self.entries.iter_mut().find(|entry| entry.owner == owner && entry.file == file && entry.gone.is_none())
    }

    /// A call that may open or lock is sent.
    pub fn may_have(&mut self, owner: Owner, file: usize, share: Share, locks: &Locks) {
        match self.present(owner, file) {
            Some(entry) => {
                entry.share = entry.share.with(share);
                entry.locks.iter_mut().zip(locks).for_each(|(own, lock)| *own = (*own).max(*lock));
            }
            None => self.entries.push(Entry { owner, file, share, locks: *locks, gone: None }),
        }
    }

    /// The owner knows what it has; nothing, if there is no share.
    pub fn has(&mut self, owner: Owner, file: usize, share: Option<Share>, locks: &Locks, now: Duration) {
        let Some(entry) = self.present(owner, file) else { return };
        let same = share == Some(entry.share) && entry.locks == *locks;
        if same {
            return;
        }
        entry.gone = Some(now);
        if let Some(share) = share {
            self.entries.push(Entry { owner, file, share, locks: *locks, gone: None });
        }
    }

    /// All that an incarnation had is gone.
    pub fn gone(&mut self, incarnation: Incarnation, now: Duration) {
        let of_it = self.entries.iter_mut().filter(|entry| entry.owner.incarnation == incarnation);
        of_it.for_each(|entry| entry.gone = Some(entry.gone.unwrap_or(now)));
    }

    /// All is gone, because the server has crashed.
    pub fn crashed(&mut self, now: Duration) {
        self.entries.iter_mut().for_each(|entry| entry.gone = Some(entry.gone.unwrap_or(now)));
    }

    /// Forgets what is gone for long.
    pub fn forget(&mut self, now: Duration) {
        let is_recent = |gone: Option<Duration>| gone.is_none_or(|gone| gone + REMEMBERED > now);
        self.entries.retain(|entry| is_recent(entry.gone));
    }

    /// Entries of a file that others had at some time of a window.
    fn others(&self, owner: Owner, file: usize, window: Window) -> impl Iterator<Item = &Entry> {
        let of_file = self.entries.iter().filter(move |entry| entry.file == file && entry.owner != owner);
        of_file.filter(move |entry| {
            let heard = self.heard.get(&entry.owner.incarnation).copied().unwrap_or_default();
            entry.gone.unwrap_or(Duration::MAX).min(heard + LEASE + SLACK) >= window.sent
        })
    }

    /// Whether opens of others may have denied a share.
    pub fn denies(&self, owner: Owner, file: usize, share: Share, window: Window) -> bool {
        self.others(owner, file, window).any(|entry| entry.share.conflicts_with(share))
    }

    /// Whether locks of others may have denied a lock.
    pub fn locks_out(&self, owner: Owner, file: usize, locks: &Locks, window: Window) -> bool {
        let conflict = |entry: &Entry| entry.locks.iter().zip(locks).any(|(other, lock)| other.conflicts_with(*lock));
        self.others(owner, file, window).any(conflict)
    }
}
