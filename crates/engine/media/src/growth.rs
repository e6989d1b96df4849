//! Making a pool larger while it is in use: what is asked for, what a disk gives, and why it may be refused.

use std::path::PathBuf;

use thiserror::Error;

use crate::{BLOCK_BYTES, OpenError};

/// How a pool gets larger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Growth {
    /// The last file or device of the pool has this many bytes from now on. A file is made longer, a device must have grown already.
    Size(u64),
    /// One more blank file or block device, of at least 8 MiB, is added at the end.
    Device(PathBuf),
}

/// One file or device of a pool that has several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// Identity of the member. The first one has that of the pool.
    pub uuid: [u8; 16],
    /// Blocks of the pool that it holds, its label not counted.
    pub blocks: u64,
}

/// Most members of a pool: what the superblock has room for.
pub const MAX_MEMBERS: usize = 16;
/// Smallest file or device that can be added: 8 MiB, a segment.
pub const MIN_MEMBER_BLOCKS: u64 = 2048;
/// Largest pool that grows, in blocks: 512 TiB, what the root's space index has room for.
pub const MAX_GROWN_BLOCKS: u64 = 1 << 37;

/// What a disk has to know of the pool on it before it grows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrowthTerms {
    /// Identity of the pool.
    pub pool: [u8; 16],
    /// Blocks of the pool now. The disk may be larger already.
    pub block_count: u64,
    /// Most blocks that it may have afterwards.
    pub most_blocks: u64,
}

/// A disk that has grown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extended {
    /// Blocks that the pool may have now.
    pub block_count: u64,
    /// Its members, when there is more than one; otherwise empty.
    pub members: Vec<Member>,
}

/// What a back end offers after it has grown. In force with the next swap of the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grown {
    /// Size of the device in blocks.
    pub block_count: u64,
    /// First block after the data area.
    pub data_end: u64,
}

/// Why a pool cannot grow as asked. Nothing that the pool uses was changed.
#[derive(Debug, Error)]
pub enum GrowthError {
    /// Smaller than the pool is, or as large.
    #[error("the last file or device of the pool has {now_bytes} bytes: {wanted_bytes} is not larger")]
    NotLarger {
        /// Its size, as far as the pool uses it.
        now_bytes: u64,
        /// Size asked for.
        wanted_bytes: u64,
    },
    /// Above the limit.
    #[error("a pool has at most {most_bytes} bytes, and {wanted_bytes} were asked for")]
    TooLarge {
        /// The limit.
        most_bytes: u64,
        /// Size that it would have.
        wanted_bytes: u64,
    },
    /// The device under the pool has not grown that much.
    #[error("{path} has {bytes} bytes and would need {needed_bytes}: make the device larger first")]
    DeviceNotGrown {
        /// The last device of the pool.
        path: String,
        /// Its size.
        bytes: u64,
        /// Size needed.
        needed_bytes: u64,
    },
    /// Too small to be worth adding.
    #[error("{path} has {bytes} bytes: a device to add has at least {least_bytes}")]
    DeviceTooSmall {
        /// Path as given.
        path: String,
        /// Its size.
        bytes: u64,
        /// Smallest size.
        least_bytes: u64,
    },
    /// Something is on it.
    #[error(
        "{path} is not blank: it holds data at block {block}, which the pool would destroy; wipe it first (wipefs, blkdiscard)"
    )]
    NotBlank {
        /// Path as given.
        path: String,
        /// First block found that is not zeros.
        block: u64,
    },
    /// Part of the pool already.
    #[error("{path} is part of this pool already")]
    Member {
        /// Path as given.
        path: String,
    },
    /// As many members as there can be.
    #[error("the pool has {MAX_MEMBERS} files and devices, and cannot have more")]
    TooManyMembers,
    /// One is memory, the other is not.
    #[error("{path}: files in memory and others cannot be mixed in one pool")]
    Mixed {
        /// Path as given.
        path: String,
    },
    /// The path cannot be kept in the pool.
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
        /// What was being done.
        operation: &'static str,
        /// The operating system's words.
        reason: std::io::Error,
    },
    /// This back end cannot.
    #[error("{0} cannot grow like that")]
    Unsupported(&'static str),
}

/// Blocks of a pool whose last file or device gets `bytes` bytes; or why not. `before` blocks lie on those before it, and the pool's part of
/// it begins at its block `skip`.
pub(crate) fn wanted_blocks(bytes: u64, terms: &GrowthTerms, before: u64, skip: u64) -> Result<u64, GrowthError> {
    let block_bytes = BLOCK_BYTES as u64;
    let blocks = (bytes / block_bytes).saturating_sub(skip).saturating_add(before);
    if blocks <= terms.block_count {
        let now_bytes = (terms.block_count.saturating_sub(before) + skip) * block_bytes;
        return Err(GrowthError::NotLarger { now_bytes, wanted_bytes: bytes });
    }
    within_limit(blocks, terms)
}

/// `blocks`, when a pool may have so many.
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
