//! Refusals of offload commands: reasons, counts, and the bounded log of the latest ones.
//!
//! A refusal is never silent: every command of a primitive that reaches its volume or share, and is
//! answered without completing, leaves an entry with its reason in the log. So does a command that
//! completes without the benefit (a copy that had to move data, an UNMAP below the mapping unit). A
//! miscompare of COMPARE AND WRITE is ordinary contention and is only counted. A pending unit attention
//! that is reported in place of a command says nothing about the command, and is not counted.
//!
//! Equal commands that come soon after each other are one entry with their number, so that a host that repeats a
//! command does not push out what others did.

use crate::primitive::Primitive;
use crate::reservations::ReservationHolder;
use block::VolumeId;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;

/// Reason why an offload command was refused, or had no benefit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// A field of the CDB is not supported.
    InvalidField,
    /// A descriptor of the parameter list is malformed or not supported.
    BadDescriptor,
    /// The parameter list or the Data-Out has the wrong length.
    BadLength,
    /// A count is above the announced limit.
    OverLimit,
    /// A segment does not start or end on a block.
    Misaligned,
    /// All ranges were below the mapping unit: nothing could be deallocated.
    BelowGrain,
    /// Blocks beyond the end of a volume.
    OutOfRange,
    /// A copy names a volume that the initiator may not see, or that does not exist.
    NotGranted,
    /// Another I_T nexus holds a reservation.
    ReservedByAnother,
    /// The volume is write protected.
    WriteProtected,
    /// The medium is ejected.
    MediumNotPresent,
    /// A sanitize operation is in progress or has failed.
    Sanitizing,
    /// The access state of the target port does not permit the command.
    NotAccessible,
    /// A copy with the same list identifier is running.
    ListIdInUse,
    /// The pool is full.
    NoSpace,
    /// The volume was deleted.
    VolumeGone,
    /// A ROD token is forged, expired, cancelled, deleted, or belongs to another initiator.
    InvalidToken,
    /// Another command aborted this one.
    Aborted,
    /// The content of the volume changed after the command arrived: by a roll-back or a sanitize operation.
    Cleared,
    /// A range does not lie in the file.
    BeyondEnd,
    /// Source and destination overlap.
    Overlap,
    /// Source and destination are in different shares.
    CrossShare,
    /// The share, or the client's access to it, is read-only.
    ReadOnly,
    /// The user may not do this to the file.
    PermissionDenied,
    /// The pool cannot promise the space.
    NoSpaceForReservation,
    /// The share has used its quota.
    Quota,
    /// The file would become larger than a file can be.
    FileTooLarge,
    /// The file has too many allocations that do not touch.
    TooManyAllocations,
    /// The file is not open for this.
    OpenMode,
    /// The stateid names no open, lock or copy.
    BadStateid,
    /// Another client has locked the range, or denies the access.
    Locked,
    /// The operation needs a regular file.
    WrongType,
    /// The file or its share no longer exists.
    StaleHandle,
    /// Not at present: after a restart, or while another change is in progress.
    TryLater,
    /// The server does not support it.
    Unsupported,
    /// Stored data could not be read.
    MediaError,
    /// The pool stopped.
    PoolStopped,
    /// The engine could not carry out the command, although the pool works.
    InternalError,
}

impl Reason {
    /// Number of reasons.
    pub const COUNT: usize = 38;
    /// All reasons, in declaration order.
    pub const ALL: [Self; Self::COUNT] = [
        Self::InvalidField,
        Self::BadDescriptor,
        Self::BadLength,
        Self::OverLimit,
        Self::Misaligned,
        Self::BelowGrain,
        Self::OutOfRange,
        Self::NotGranted,
        Self::ReservedByAnother,
        Self::WriteProtected,
        Self::MediumNotPresent,
        Self::Sanitizing,
        Self::NotAccessible,
        Self::ListIdInUse,
        Self::NoSpace,
        Self::VolumeGone,
        Self::InvalidToken,
        Self::Aborted,
        Self::Cleared,
        Self::BeyondEnd,
        Self::Overlap,
        Self::CrossShare,
        Self::ReadOnly,
        Self::PermissionDenied,
        Self::NoSpaceForReservation,
        Self::Quota,
        Self::FileTooLarge,
        Self::TooManyAllocations,
        Self::OpenMode,
        Self::BadStateid,
        Self::Locked,
        Self::WrongType,
        Self::StaleHandle,
        Self::TryLater,
        Self::Unsupported,
        Self::MediaError,
        Self::PoolStopped,
        Self::InternalError,
    ];

    /// Stable code for counters and API.
    pub const fn code(self) -> &'static str {
        match self {
            Self::InvalidField => "invalid-field",
            Self::BadDescriptor => "bad-descriptor",
            Self::BadLength => "bad-length",
            Self::OverLimit => "over-limit",
            Self::Misaligned => "misaligned",
            Self::BelowGrain => "below-grain",
            Self::OutOfRange => "out-of-range",
            Self::NotGranted => "not-granted",
            Self::ReservedByAnother => "reserved-by-another",
            Self::WriteProtected => "write-protected",
            Self::MediumNotPresent => "medium-not-present",
            Self::Sanitizing => "sanitizing",
            Self::NotAccessible => "not-accessible",
            Self::ListIdInUse => "list-id-in-use",
            Self::NoSpace => "no-space",
            Self::VolumeGone => "volume-gone",
            Self::InvalidToken => "invalid-token",
            Self::Aborted => "aborted",
            Self::Cleared => "cleared",
            Self::BeyondEnd => "beyond-end",
            Self::Overlap => "overlap",
            Self::CrossShare => "cross-share",
            Self::ReadOnly => "read-only",
            Self::PermissionDenied => "permission-denied",
            Self::NoSpaceForReservation => "no-space-for-reservation",
            Self::Quota => "quota",
            Self::FileTooLarge => "file-too-large",
            Self::TooManyAllocations => "too-many-allocations",
            Self::OpenMode => "open-mode",
            Self::BadStateid => "bad-stateid",
            Self::Locked => "locked",
            Self::WrongType => "wrong-type",
            Self::StaleHandle => "stale-handle",
            Self::TryLater => "try-later",
            Self::Unsupported => "unsupported",
            Self::MediaError => "media-error",
            Self::PoolStopped => "pool-stopped",
            Self::InternalError => "internal-error",
        }
    }
}

impl Reason {
    /// Description for users.
    pub const fn words(self) -> &'static str {
        match self {
            Self::InvalidField => "a field of the command is not supported",
            Self::BadDescriptor => "a descriptor is malformed or not supported",
            Self::BadLength => "the parameter list or data has the wrong length",
            Self::OverLimit => "above the announced limit",
            Self::Misaligned => "not aligned",
            Self::BelowGrain => "smaller than the 4 KiB mapping unit",
            Self::OutOfRange => "beyond the end of the volume",
            Self::NotGranted => "the volume is not granted to this initiator",
            Self::ReservedByAnother => "reserved by another initiator",
            Self::WriteProtected => "the volume is write protected",
            Self::MediumNotPresent => "the medium is ejected",
            Self::Sanitizing => "the volume is being sanitized, or a sanitize operation has failed",
            Self::NotAccessible => "the state of the target port does not permit it",
            Self::ListIdInUse => "the copy list identifier is in use",
            Self::NoSpace => "the pool is full",
            Self::VolumeGone => "the volume no longer exists",
            Self::InvalidToken => "the token cannot be used",
            Self::Aborted => "another command aborted it",
            Self::Cleared => "the volume was rolled back or sanitized meanwhile",
            Self::BeyondEnd => "the range does not lie in the file",
            Self::Overlap => "source and destination overlap",
            Self::CrossShare => "source and destination are in different shares",
            Self::ReadOnly => "the share, or the access to it, is read-only",
            Self::PermissionDenied => "the user has no permission",
            Self::NoSpaceForReservation => "the pool cannot promise the space",
            Self::Quota => "the share has used its quota",
            Self::FileTooLarge => "larger than a file can be",
            Self::TooManyAllocations => "too many separate reservations in one file",
            Self::OpenMode => "the file is not open for this",
            Self::BadStateid => "the stateid names no open, lock or copy",
            Self::Locked => "locked by another client",
            Self::WrongType => "not a regular file",
            Self::StaleHandle => "the file or the share no longer exists",
            Self::TryLater => "not at present; the client tries again",
            Self::Unsupported => "not supported",
            Self::MediaError => "stored data could not be read",
            Self::PoolStopped => "the pool stopped",
            Self::InternalError => "the engine could not carry it out",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.words())
    }
}

impl Reason {
    /// True when the array could not do what it should have: a failure and no refusal.
    pub const fn is_failure(self) -> bool {
        matches!(self, Self::MediaError | Self::PoolStopped | Self::InternalError)
    }

    /// Ending of a command that did not complete for this reason.
    pub const fn ending(self) -> Ending {
        if self.is_failure() { Ending::Failed } else { Ending::Refused }
    }
}

/// Ending of a command of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ending {
    /// Command refused: the initiator may not have what it asked for, or not now.
    Refused,
    /// Command failed inside the array.
    Failed,
    /// Command completed without the benefit of the offload.
    Ineffective,
}

impl Ending {
    /// The name in log and API.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Failed => "failed",
            Self::Ineffective => "ineffective",
        }
    }
}

/// Count of each reason since the volume or share was added. Unlike the log it is not bounded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReasonCounts(BTreeMap<Reason, u64>);

impl ReasonCounts {
    /// Adds one refusal.
    pub fn add(&mut self, reason: Reason) {
        *self.0.entry(reason).or_default() += 1;
    }

    /// Adds the counts of another.
    pub fn merge(&mut self, other: &Self) {
        for (reason, count) in other.given() {
            *self.0.entry(reason).or_default() += count;
        }
    }

    /// Number of one reason.
    pub fn of(&self, reason: Reason) -> u64 {
        self.0.get(&reason).copied().unwrap_or(0)
    }

    /// Reasons with a count above 0, with their counts, the most frequent first.
    pub fn most_frequent(&self) -> Vec<(Reason, u64)> {
        let mut given: Vec<_> = self.given().collect();
        given.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        given
    }

    /// Reasons with a count above 0, with their counts.
    pub fn given(&self) -> impl Iterator<Item = (Reason, u64)> {
        self.0.iter().map(|(reason, count)| (*reason, *count))
    }
}

/// An entry of the refusal log: one command, or several equal ones that came soon after each other. The log sets the
/// number, the count and the time of the first command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// Sequence number, from 0 without gaps.
    pub sequence: u64,
    /// Commands of the entry.
    pub count: u64,
    /// Time of the first command in milliseconds since 1970 (UTC).
    pub first_unix_ms: u64,
    /// Time of the last command in milliseconds since 1970 (UTC).
    pub unix_ms: u64,
    /// Volume or share that received the command.
    pub volume: VolumeId,
    /// Name of the volume or share at that time.
    pub volume_name: String,
    /// Name of the snapshot, if the command was to one of a share.
    pub snapshot: Option<String>,
    /// Name of the initiator; for shares, the [`OffloadClient`](crate::OffloadClient).
    pub initiator: String,
    /// Offload primitive.
    pub primitive: Primitive,
    /// Name of the command in the standard.
    pub command: &'static str,
    /// Ending of the command.
    pub ending: Ending,
    /// Reason of the refusal.
    pub reason: Reason,
    /// Holder of the reservation that refused the commands, if one did.
    pub holder: Option<ReservationHolder>,
    /// Bytes of the volume or share that the commands processed; 0 if they were refused.
    pub bytes: u64,
    /// Details of the last command as text.
    pub detail: String,
}

impl LogEntry {
    /// Time after the first command of an entry in which it takes equal ones.
    pub const TAKES_FOR_MS: u64 = 60_000;

    /// Whether another command belongs to the entry. A command from before the first one does not: the clock was set.
    fn takes(&self, other: &Self) -> bool {
        let age_ms = other.unix_ms.checked_sub(self.first_unix_ms);
        age_ms.is_some_and(|age_ms| age_ms < Self::TAKES_FOR_MS) && self.subject() == other.subject()
    }

    /// What equal commands have in common; their values (`detail`) may differ.
    fn subject(&self) -> impl PartialEq {
        (
            (self.volume, self.primitive, self.command, self.ending, self.reason),
            (&self.initiator, &self.snapshot, &self.volume_name, &self.holder),
        )
    }
}

/// Latest entries.
#[derive(Debug)]
pub struct RefusalLog {
    entries: VecDeque<LogEntry>,
    capacity: usize,
    /// Entries ever written.
    total: u64,
    /// Number of the first entry that was written or grew since [`Self::take_changed`].
    first_changed: Option<u64>,
}

impl RefusalLog {
    /// Newest entries that may take a further command: as many kinds of repeated commands may alternate. Older entries
    /// do not change any more.
    pub const OPEN: usize = 16;

    /// Creates an empty log that keeps `capacity` entries.
    pub fn new(capacity: usize) -> Self {
        Self { entries: VecDeque::new(), capacity, total: 0, first_changed: None }
    }

    /// Adds a command to the open entry of equal ones, or appends an entry and sets its number. Drops the oldest entry
    /// when the log is full. The cost does not depend on the length of the log.
    pub fn push(&mut self, mut entry: LogEntry) {
        let mut open = self.entries.iter_mut().rev().take(Self::OPEN);
        let sequence = if let Some(same) = open.find(|open| open.takes(&entry)) {
            same.count += 1;
            same.unix_ms = same.unix_ms.max(entry.unix_ms);
            same.bytes = same.bytes.saturating_add(entry.bytes);
            same.detail = entry.detail;
            same.sequence
        } else {
            let sequence = self.total;
            (entry.sequence, entry.count, entry.first_unix_ms) = (sequence, 1, entry.unix_ms);
            self.total += 1;
            self.entries.push_back(entry);
            while self.entries.len() > self.capacity {
                self.entries.pop_front();
            }
            sequence
        };
        self.first_changed = Some(self.first_changed.map_or(sequence, |first| first.min(sequence)));
    }

    /// Entries from the first one on that was written or grew since this last returned some. They replace all that the
    /// caller has from that number on.
    pub fn take_changed(&mut self) -> Option<Vec<LogEntry>> {
        self.first_changed.take().map(|first| self.since(first))
    }

    /// Entries with a sequence number of at least `sequence`, oldest first.
    pub fn since(&self, sequence: u64) -> Vec<LogEntry> {
        let first = self.entries.partition_point(|entry| entry.sequence < sequence);
        self.entries.range(first..).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_its_own_count() {
        let mut counts = ReasonCounts::default();
        for (times, reason) in (1u64..).zip(Reason::ALL) {
            (0..times).for_each(|_| counts.add(reason));
        }
        let given: Vec<_> = counts.given().collect();
        assert_eq!(given, Reason::ALL.into_iter().zip(1..).collect::<Vec<_>>());
        assert!(counts.most_frequent().into_iter().eq(given.into_iter().rev()));
        assert_eq!(counts.of(Reason::ALL[1]), 2);
    }

    fn entry(initiator: &str, unix_ms: u64) -> LogEntry {
        LogEntry {
            sequence: 0,
            count: 0,
            first_unix_ms: 0,
            unix_ms,
            volume: VolumeId(1),
            volume_name: "v1".to_owned(),
            snapshot: None,
            initiator: initiator.to_owned(),
            primitive: Primitive::Unmap,
            command: "UNMAP",
            ending: Ending::Refused,
            reason: Reason::OverLimit,
            holder: None,
            bytes: 512,
            detail: unix_ms.to_string(),
        }
    }

    fn holder(initiator: &str) -> Option<ReservationHolder> {
        Some(ReservationHolder { initiator: initiator.to_owned(), registration: None })
    }

    #[test]
    fn the_log_keeps_the_newest_and_numbers_all() {
        let mut log = RefusalLog::new(2);
        for initiator in ["a", "b", "c"] {
            log.push(entry(initiator, 0));
        }
        let kept: Vec<_> = log.since(0).into_iter().map(|entry| (entry.sequence, entry.initiator)).collect();
        assert_eq!(kept, [(1, "b".to_owned()), (2, "c".to_owned())]);
        assert_eq!((log.since(2).len(), log.since(3).len()), (1, 0));
    }

    /// Regression: dozens of equal entries of one second pushed all others out of the log.
    #[test]
    fn equal_commands_are_one_entry() {
        let mut log = RefusalLog::new(3);
        log.push(entry("quiet", 0));
        for at in 0..1000 {
            // Two hosts alternate, and neither pushes anything out.
            log.push(entry("noisy", 10 + at));
            log.push(entry("loud", 10 + at));
        }
        let kept: Vec<_> = log.since(0);
        let counts: Vec<_> = kept.iter().map(|entry| (entry.sequence, &*entry.initiator, entry.count)).collect();
        assert_eq!(counts, [(0, "quiet", 1), (1, "noisy", 1000), (2, "loud", 1000)]);
        let noisy = &kept[1];
        assert_eq!((noisy.first_unix_ms, noisy.unix_ms, noisy.bytes), (10, 1009, 512_000));
        assert_eq!(noisy.detail, "1009", "the values of the last one");
    }

    #[test]
    fn different_commands_are_entries_of_their_own() {
        let all = || entry("a", 1000);
        let others = [
            LogEntry { volume: VolumeId(2), ..all() },
            LogEntry { volume_name: "renamed".to_owned(), ..all() },
            LogEntry { snapshot: Some("s1".to_owned()), ..all() },
            LogEntry { initiator: "b".to_owned(), ..all() },
            LogEntry { primitive: Primitive::Zero, ..all() },
            LogEntry { command: "WRITE SAME (16)", ..all() },
            LogEntry { ending: Ending::Ineffective, ..all() },
            LogEntry { reason: Reason::OutOfRange, ..all() },
            LogEntry { holder: holder("b"), ..all() },
            LogEntry { holder: holder("c"), ..all() },
            LogEntry { unix_ms: 1000 + LogEntry::TAKES_FOR_MS, ..all() },
            LogEntry { unix_ms: 999, ..all() },
        ];
        let mut log = RefusalLog::new(64);
        log.push(all());
        for other in others.clone() {
            log.push(other);
        }
        assert!(log.since(0).iter().all(|entry| entry.count == 1));
        assert_eq!(log.since(0).len(), 1 + others.len());
        // Each of them takes its like.
        log.push(LogEntry { unix_ms: 1000 + LogEntry::TAKES_FOR_MS - 1, ..all() });
        log.push(LogEntry { holder: holder("c"), ..all() });
        let grown: Vec<_> = log.since(0).iter().filter(|entry| entry.count == 2).map(|entry| entry.sequence).collect();
        assert_eq!(grown, [0, 10]);
    }

    #[test]
    fn an_entry_behind_many_others_takes_nothing_more() {
        let mut log = RefusalLog::new(64);
        log.push(entry("a", 0));
        for other in 0..RefusalLog::OPEN {
            log.push(entry(&format!("other-{other}"), 0));
        }
        log.push(entry("a", 0));
        log.push(entry("other-1", 0));
        let counts: Vec<_> = log.since(0).into_iter().map(|entry| entry.count).collect();
        assert_eq!(counts.iter().sum::<u64>(), RefusalLog::OPEN as u64 + 3, "no command is lost");
        assert_eq!((counts.len(), counts[0], counts[2]), (RefusalLog::OPEN + 2, 1, 2));
    }

    #[test]
    fn what_changed_is_taken_once() {
        let mut log = RefusalLog::new(64);
        assert_eq!(log.take_changed(), None);
        for initiator in ["a", "b", "c"] {
            log.push(entry(initiator, 0));
        }
        assert_eq!(log.take_changed(), Some(log.since(0)));
        assert_eq!(log.take_changed(), None);
        log.push(entry("d", 0));
        log.push(entry("b", 0));
        log.push(entry("c", 0));
        let changed: Vec<_> =
            log.take_changed().into_iter().flatten().map(|entry| (entry.sequence, entry.count)).collect();
        assert_eq!(changed, [(1, 2), (2, 2), (3, 1)]);
    }
}
