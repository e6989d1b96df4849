//! Byte-range locks: LOCK, LOCKT, LOCKU.

use std::num::NonZeroU32;

use xdr::{Failure, Reader, Writer, Xdr, XdrError, types};

use super::{HasStatus, StateOwner, Stateid, Status};

types! {
    /// Kind of a lock: `nfs_lock_type4` (§3.2).
    enum LockType {
        /// Shared.
        Read = 1,
        /// Exclusive.
        Write = 2,
        /// Shared, and the client waits for it.
        ReadWaiting = 3,
        /// Exclusive, and the client waits for it.
        WriteWaiting = 4,
    }

    /// `open_to_lock_owner4` (§18.10).
    struct OpenToLockOwner {
        /// Not used in NFSv4.1.
        open_seqid: u32,
        /// Open.
        open_stateid: Stateid,
        /// Not used in NFSv4.1.
        lock_seqid: u32,
        /// Owner of the lock.
        owner: StateOwner,
    }

    /// `exist_lock_owner4` (§18.10).
    struct ExistingLockOwner {
        /// Lock.
        stateid: Stateid,
        /// Not used in NFSv4.1.
        seqid: u32,
    }

    /// Who locks: `locker4` (§18.10).
    union Locker {
        /// An owner that has locks of this open.
        0 => Existing(owner: ExistingLockOwner),
        /// An owner that has none.
        1 => New(owner: OpenToLockOwner),
    }

    /// `LOCK4args` (§18.10).
    struct LockArguments {
        /// Kind.
        kind: LockType,
        /// Whether the client had the lock before a restart of the server.
        reclaim: bool,
        /// First byte.
        offset_bytes: u64,
        /// Length; 2^64 - 1 stands for all up to the end.
        length_bytes: u64,
        /// Who locks.
        locker: Locker,
    }

    /// Lock that stands in the way: `LOCK4denied` (§18.10).
    struct LockDenied {
        /// First byte.
        offset_bytes: u64,
        /// Length.
        length_bytes: u64,
        /// Kind.
        kind: LockType,
        /// Owner.
        owner: StateOwner,
    }

    /// `LOCKT4args` (§18.11).
    struct LockTestArguments {
        /// Kind.
        kind: LockType,
        /// First byte.
        offset_bytes: u64,
        /// Length.
        length_bytes: u64,
        /// Owner.
        owner: StateOwner,
    }

    /// `LOCKU4args` (§18.12).
    struct UnlockArguments {
        /// Not used.
        kind: LockType,
        /// Not used in NFSv4.1.
        seqid: u32,
        /// Lock.
        stateid: Stateid,
        /// First byte.
        offset_bytes: u64,
        /// Length.
        length_bytes: u64,
    }
}

/// Why a lock was not granted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LockFailure {
    /// `DENIED`: another lock stands in the way.
    Denied(LockDenied),
    /// Any other status.
    Other(Status),
}

impl Failure for LockFailure {
    fn code(&self) -> NonZeroU32 {
        match self {
            Self::Denied(_) => Status::DENIED.code(),
            Self::Other(status) => status.code(),
        }
    }
    fn encode_details(&self, writer: &mut Writer) {
        if let Self::Denied(lock) = self {
            lock.encode(writer);
        }
    }
    fn decode_details(code: NonZeroU32, reader: &mut Reader) -> Result<Self, XdrError> {
        match Status::decode_details(code, reader)? {
            Status::DENIED => LockDenied::decode(reader).map(Self::Denied),
            status => Ok(Self::Other(status)),
        }
    }
}

impl HasStatus for LockFailure {
    fn status(&self) -> Result<(), Status> {
        match self {
            Self::Denied(_) => Err(Status::DENIED),
            Self::Other(status) => Err(*status),
        }
    }
    fn failed(status: Status) -> Self {
        Self::Other(status)
    }
}

#[cfg(any(test, feature = "testing"))]
impl xdr::Sample for LockFailure {
    fn sample(random: &xdr::Random) -> Self {
        match Status::sample(random) {
            Status::DENIED => Self::Denied(xdr::Sample::sample(random)),
            _ if random.chance(50) => Self::Denied(xdr::Sample::sample(random)),
            status => Self::Other(status),
        }
    }
}
