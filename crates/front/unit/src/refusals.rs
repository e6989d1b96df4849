//! Refusals of offload commands: their reasons, and how often each occurred.

use std::collections::BTreeMap;
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
}
