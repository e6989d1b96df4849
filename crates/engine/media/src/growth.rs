//! Growth of a pool in use: requests, results of a disk, and reasons for refusal.

use std::path::PathBuf;

use text::size::exact;
use thiserror::Error;

use crate::{BLOCK_BYTES, OpenError};

/// Request to grow a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Growth {
    /// New size in bytes of the last file or device of the pool. A file is extended; a device must
    /// have grown already.
    Size(u64),
    /// Path of one more blank file or block device, of at least 8 MiB, added at the end.
    Device(PathBuf),
}

/// One file or device of a pool with several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// Identity of the member. The first member has the identity of the pool.
    pub uuid: [u8; 16],
    /// Blocks of the pool on this member, without its label.
    pub blocks: u64,
}

/// Most members of a pool: the superblock has no room for more.
pub const MAX_MEMBERS: usize = 16;
/// Smallest file or device that can be added: 8 MiB, a segment.
pub const MIN_MEMBER_BLOCKS: u64 = 2048;
/// Largest size to which a pool can grow, in blocks: 512 TiB, the limit of the root's space index.
pub const MAX_GROWN_BLOCKS: u64 = 1 << 37;

/// Facts of the pool that a disk needs to grow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrowthTerms {
    /// Identity of the pool.
    pub pool: [u8; 16],
    /// Current blocks of the pool. The disk may already be larger.
    pub block_count: u64,
    /// Most blocks that the pool may have afterwards.
    pub most_blocks: u64,
}

/// Result of a disk that has grown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extended {
    /// Blocks that the pool may have now.
    pub block_count: u64,
    /// Members of the disk, if there is more than one; otherwise empty.
    pub members: Vec<Member>,
}

/// Size that a back end offers after growth. In force with the next swap of the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grown {
    /// Size of the device in blocks.
    pub block_count: u64,
    /// First block after the data area.
    pub data_end: u64,
}

/// Reason why a pool cannot grow as requested. Nothing that the pool uses was changed, except by
/// [`GrowthError::FlushFailed`].
#[derive(Debug, Error)]
pub enum GrowthError {
    /// The requested size is not larger than the present one.
    #[error(
        "the last file or device of the pool has {}: {} is not larger",
        exact(*now_bytes),
        exact(*wanted_bytes)
    )]
    NotLarger {
        /// Present size, as far as the pool uses it.
        now_bytes: u64,
        /// Requested size.
        wanted_bytes: u64,
    },
    /// The new size would be above the limit.
    #[error("a pool has at most {}, and {} were asked for", exact(*most_bytes), exact(*wanted_bytes))]
    TooLarge {
        /// Limit.
        most_bytes: u64,
        /// Size that the pool would have.
        wanted_bytes: u64,
    },
    /// The device under the pool has not grown far enough.
    #[error("{path} has {} and would need {}: enlarge the device first", exact(*bytes), exact(*needed_bytes))]
    DeviceNotGrown {
        /// Path of the last device of the pool.
        path: String,
        /// Size of the device.
        bytes: u64,
        /// Required size.
        needed_bytes: u64,
    },
    /// The device to add is too small.
    #[error("{path} has {}: a device to add has at least {}", exact(*bytes), exact(*least_bytes))]
    DeviceTooSmall {
        /// Path as given.
        path: String,
        /// Size of the device.
        bytes: u64,
        /// Minimum size.
        least_bytes: u64,
    },
    /// The device to add holds data.
    #[error(
        "{path} is not blank: it holds data at block {block}, which the pool would destroy; wipe it first (wipefs, blkdiscard)"
    )]
    NotBlank {
        /// Path as given.
        path: String,
        /// First block found with content other than zeros.
        block: u64,
    },
    /// The device is already part of the pool.
    #[error("{path} is part of this pool already")]
    Member {
        /// Path as given.
        path: String,
    },
    /// The pool has the maximum number of members.
    #[error("the pool has {MAX_MEMBERS} files and devices, and cannot have more")]
    TooManyMembers,
    /// Either the pool or the new file is on a memory file system, but not both.
    #[error("{path}: a pool cannot mix files on memory file systems with other files")]
    Mixed {
        /// Path as given.
        path: String,
    },
    /// The path is too long for the table of members.
    #[error("{path}: the path is too long to be kept in the pool")]
    PathTooLong {
        /// Path as given.
        path: String,
    },
    /// The file or device cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The operating system refused.
    #[error("{path}: {operation} failed: {reason}")]
    System {
        /// Path of the file or device.
        path: String,
        /// Operation that failed.
        operation: &'static str,
        /// Error of the operating system.
        reason: std::io::Error,
    },
    /// The flush of a file or device in use failed: earlier writes that were completed but not flushed
    /// may be lost, and a later flush does not mention them. The pool must stop.
    #[error("{path}: the flush of a growth failed: {reason}")]
    FlushFailed {
        /// Path of the file or device.
        path: String,
        /// Error of the operating system.
        reason: std::io::Error,
    },
    /// The back end does not support this growth.
    #[error("{0} cannot grow like that")]
    Unsupported(&'static str),
}

/// Blocks of a pool whose last file or device gets `bytes` bytes. `before`: blocks on the members
/// before it. `skip`: its first block that belongs to the pool.
pub(crate) fn wanted_blocks(bytes: u64, terms: &GrowthTerms, before: u64, skip: u64) -> Result<u64, GrowthError> {
    let block_bytes = BLOCK_BYTES as u64;
    let blocks = (bytes / block_bytes).saturating_sub(skip).saturating_add(before);
    if blocks <= terms.block_count {
        let now_bytes = (terms.block_count.saturating_sub(before) + skip) * block_bytes;
        return Err(GrowthError::NotLarger { now_bytes, wanted_bytes: bytes });
    }
    within_limit(blocks, terms)
}

/// Returns `blocks` if the pool may have that many.
pub(crate) fn within_limit(blocks: u64, terms: &GrowthTerms) -> Result<u64, GrowthError> {
    let block_bytes = BLOCK_BYTES as u64;
    if blocks > terms.most_blocks {
        return Err(GrowthError::TooLarge {
            most_bytes: terms.most_blocks.saturating_mul(block_bytes),
            wanted_bytes: blocks.saturating_mul(block_bytes),
        });
    }
    Ok(blocks)
}
