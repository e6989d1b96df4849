//! Waist between the protocols above and the engine below: the contract of a block device.
//!
//! This crate knows no protocol and no disk format. Adapters (`scsi_target`) call the
//! [`BlockDevice`] trait; engines (`pool`) implement it. Every method is atomic against every other
//! method on overlapping blocks, from any caller: an engine executes each operation at one instant.
//! The one exception is a step of [`BlockDevice::copy_from`] that moves data. All futures are
//! polled on the thread that owns the device.
#![forbid(unsafe_code)]

#[cfg(feature = "testing")]
pub mod contract;
mod copy;
#[cfg(feature = "testing")]
pub mod memory;

pub use copy::{CopyStep, Limits, RemainingCopy, copy_all};

use bytes::Bytes;
use thiserror::Error;

/// Bytes in one logical block. The array serves 512-byte logical blocks only, which is what VMFS needs.
pub const LOGICAL_BLOCK_BYTES: u32 = 512;

/// Address of a logical block, counted from the start of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lba(pub u64);

/// Run of logical blocks. `count` may be 0: no block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Extent {
    /// First logical block.
    pub lba: Lba,
    /// Number of logical blocks.
    pub count: u64,
}

impl Extent {
    /// Creates an extent of `count` logical blocks from `lba`.
    pub const fn new(lba: u64, count: u64) -> Self {
        Self { lba: Lba(lba), count }
    }

    /// Length in bytes; `None` when it does not fit 64 bits.
    pub const fn bytes(&self) -> Option<u64> {
        self.count.checked_mul(LOGICAL_BLOCK_BYTES as u64)
    }

    /// First logical block after the extent; `None` when it does not fit 64 bits.
    pub const fn end(&self) -> Option<u64> {
        self.lba.0.checked_add(self.count)
    }
}

/// Identity of a volume inside the array. Never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VolumeId(pub u64);

/// Whether a write may be acknowledged before it is durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Depends on the volume's write cache: durable before the response when it is off (the
    /// default), volatile when it is on.
    AsConfigured,
    /// Durable before the response, whatever the write cache setting (Force Unit Access).
    Forced,
}

/// Result of a compare-and-write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompareOutcome {
    /// The medium matched and the new data is stored.
    Written,
    /// Nothing was written; the first difference is this many bytes from the start of the extent.
    Miscompare {
        /// Offset in bytes of the first differing byte.
        offset_bytes: u32,
    },
}

/// Logical block provisioning status of a run of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProvisioningExtent {
    /// The run.
    pub extent: Extent,
    /// True when mapped, false when deallocated.
    pub mapped: bool,
}

/// Space that a device uses in its pool, and that it could still use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MappingResources {
    /// Bytes available for new content of the device. Other devices may use them too.
    pub available_bytes: u64,
    /// Bytes of the device that are mapped.
    pub used_bytes: u64,
}

/// Reason why an operation failed. After [`Self::PoolStopped`] its change may have taken effect, and
/// may be there after a restart. With any other reason nothing was changed.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum BlockError {
    /// The extent does not lie inside the device.
    #[error("blocks {lba}+{count} are beyond the end of the device ({device_blocks} blocks)")]
    OutOfRange {
        /// First block requested.
        lba: u64,
        /// Number of blocks requested.
        count: u64,
        /// Size of the device in blocks.
        device_blocks: u64,
    },
    /// The extent is longer than the device takes in one call ([`Limits`]).
    #[error("{count} blocks in one call, and the device takes {limit}")]
    TooLong {
        /// Number of blocks requested.
        count: u64,
        /// Most blocks of one call.
        limit: u64,
    },
    /// The pool has no space for the new blocks this operation needs.
    #[error("the pool is full")]
    PoolFull,
    /// The device is read-only (a snapshot).
    #[error("the volume is read-only")]
    ReadOnly,
    /// Stored data of the device cannot be trusted: a read failed or a checksum does not match.
    #[error("unrecovered read error at block {lba}")]
    ReadFailed {
        /// First logical block known to be unreadable; where the engine knows none, the first block
        /// of the call.
        lba: u64,
    },
    /// Like [`Self::ReadFailed`], for the source of a copy.
    #[error("unrecovered read error at block {lba} of the source")]
    SourceReadFailed {
        /// Block of the source.
        lba: u64,
    },
    /// The engine cannot carry out the call although its pool works: the call has data of another
    /// length than its extent, or exceeds a limit of this pool.
    #[error("the engine cannot carry out the call: {reason}")]
    Internal {
        /// Cause, for the log.
        reason: String,
    },
    /// The pool stopped after an error of its medium or in its map, or was closed; nothing more is
    /// acknowledged.
    #[error("the pool stopped: {reason}")]
    PoolStopped {
        /// Cause, for the log.
        reason: String,
    },
    /// The volume was deleted.
    #[error("the volume no longer exists")]
    Gone,
    /// The source of a copy belongs to another engine. Such a copy has to read and write.
    #[error("the source of the copy belongs to another pool")]
    ForeignSource,
}

impl BlockError {
    /// Error of a read from the source of a copy, as the copy's error.
    #[must_use]
    pub fn at_source(self) -> Self {
        match self {
            Self::ReadFailed { lba } => Self::SourceReadFailed { lba },
            error => error,
        }
    }

    /// [`Self::TooLong`] for an extent of more than `limit` blocks.
    pub fn check_length(extent: Extent, limit: u64) -> Result<(), Self> {
        if extent.count > limit { Err(Self::TooLong { count: extent.count, limit }) } else { Ok(()) }
    }

    /// [`Self::Internal`] for data of another length than its extent.
    pub fn check_data(extent: Extent, data: &[u8]) -> Result<(), Self> {
        if extent.bytes() == u64::try_from(data.len()).ok() {
            return Ok(());
        }
        Err(Self::Internal { reason: format!("{} bytes of data for {} blocks", data.len(), extent.count) })
    }
}

/// A device of 512-byte logical blocks.
///
/// * Callers may pass any extent; the device validates it and returns [`BlockError::OutOfRange`], or
///   [`BlockError::TooLong`] for a write or compare-and-write longer than its [`Limits`] say.
///   An empty extent inside or at the end of the device is a success that does nothing; a device
///   that is read-only refuses it as it refuses every change.
/// * Each call takes effect at one instant between call and return. Exception: a step of
///   [`Self::copy_from`] that moves data reads at one instant and writes at a later one. A read
///   of any length sees all of another call's effect or nothing of it; `compare_and_write` compares
///   and writes at the same instant.
/// * When a mutating call returns, its effect is durable if the write cache is off or
///   [`Durability::Forced`] was passed. Otherwise it is durable after the next `flush`; `unmap` and
///   `copy_from`, which take no [`Durability`], too. Mutating calls become durable in the order in
///   which they took effect. A capture ends with the engine's run and is never durable.
/// * The effect of a call is visible before it is durable: `read`, the miscompare of
///   `compare_and_write`, and the source of `copy_from` may have content of a call that has not
///   returned, and that a crash undoes. A later mutating call becomes durable after it, so a caller
///   that acts on such content never gets an acknowledgement that outlives it.
/// * Dropping a future does not undo a call that took effect.
pub trait BlockDevice {
    /// Identity of the volume.
    fn volume(&self) -> VolumeId;

    /// Current size in logical blocks; it changes when the volume is resized.
    fn block_count(&self) -> u64;

    /// True when the write cache is on: `AsConfigured` writes are acknowledged before they are durable.
    fn write_cache(&self) -> bool;

    /// True when writes are refused.
    fn read_only(&self) -> bool;

    /// Space that the device uses in its pool now, and that it could still use.
    fn mapping_resources(&self) -> MappingResources;

    /// Reads the extent, of any length: the caller limits the memory. The result has exactly
    /// `extent.count` × 512 bytes; deallocated blocks read as zeros.
    async fn read(&self, extent: Extent) -> Result<Bytes, BlockError>;

    /// Writes the extent. Blocks of zeros may be deallocated instead of stored.
    /// [`BlockError::Internal`]: `data` has not exactly `extent.count` × 512 bytes.
    async fn write(&self, extent: Extent, data: Bytes, durability: Durability) -> Result<(), BlockError>;

    /// Compares the extent with `compare` and, when equal, writes `data`. [`BlockError::Internal`]:
    /// one of them has not exactly `extent.count` × 512 bytes.
    async fn compare_and_write(
        &self,
        extent: Extent,
        compare: Bytes,
        data: Bytes,
        durability: Durability,
    ) -> Result<CompareOutcome, BlockError>;

    /// Makes the extent read as zeros and deallocates what it can. The cost does not depend on the
    /// length.
    async fn zero(&self, extent: Extent, durability: Durability) -> Result<(), BlockError>;

    /// Deallocates the extents, which then read as zeros. All of them are validated before the first is touched.
    async fn unmap(&self, extents: &[Extent]) -> Result<(), BlockError>;

    /// Units and step lengths of the device. They must not change while it is open.
    fn limits(&self) -> Limits;

    /// Executes one step of a copy of `extent` of `source` to `destination` of this device. The
    /// ranges may overlap.
    ///
    /// * The step covers at least one block of a non-empty extent, and at most
    ///   [`Limits::copy_step_blocks`]. The caller loops, see [`RemainingCopy`], and may stop
    ///   between two steps.
    /// * The step covers the start of the extent. If the destination lies above the source in the
    ///   same device, it covers the end, so that an overlapping source is read before it is
    ///   overwritten.
    /// * `extent` and its whole destination are validated before anything is changed.
    /// * [`BlockError::SourceReadFailed`]: the source is damaged. [`BlockError::ReadFailed`]: this
    ///   device is.
    /// * [`BlockError::ForeignSource`]: the source belongs to another engine; nothing was changed.
    async fn copy_from(&self, source: &Self, extent: Extent, destination: Lba) -> Result<CopyStep, BlockError>;

    /// Captures the content of the extents at one instant as a device of its own: read-only, of the
    /// same size, the extents at their own addresses and everything else deallocated (a mapping
    /// unit that an extent covers in part may be captured whole). Only metadata is written: the
    /// cost does not depend on the length. The new device does not outlive the engine's run; its
    /// owner ends it earlier with [`Self::discard`].
    async fn capture(&self, extents: &[Extent]) -> Result<Self, BlockError>
    where
        Self: Sized;

    /// Deletes a device that came from [`Self::capture`], and has no effect on any other. It is gone
    /// a little later ([`BlockError::Gone`]; only `flush` still succeeds), and its space is freed in
    /// the background; at the latest the engine's next run deletes it.
    fn discard(&self);

    /// Makes every acknowledged write durable.
    async fn flush(&self) -> Result<(), BlockError>;

    /// Returns the provisioning status from `lba` on: consecutive runs that start at `lba`, at least
    /// one and at most `limit` (≥ 1) of them. The last run may be cut short: a device may stop anywhere
    /// behind the first block.
    async fn provisioning(&self, lba: Lba, limit: usize) -> Result<Vec<ProvisioningExtent>, BlockError>;
}
