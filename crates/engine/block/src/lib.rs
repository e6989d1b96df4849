//! The waist between the protocols above and the engine below: a block device as a contract.
//!
//! Nothing here knows a protocol or a disk format. Adapters (`scsi_target`) call the [`BlockDevice`] trait; engines (`pool`)
//! implement it. Every method is atomic against every other method on overlapping blocks, from any caller: an engine
//! executes each operation at one instant. All futures are polled on the thread that owns the device.
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

/// A run of logical blocks. `count` may be 0, which names no block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Extent {
    /// First logical block.
    pub lba: Lba,
    /// Number of logical blocks.
    pub count: u64,
}

impl Extent {
    /// An extent of `count` logical blocks from `lba`.
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
    /// As the volume's write cache says: durable before the reply when it is off (the default), volatile when it is on.
    AsConfigured,
    /// Durable before the reply, whatever the write cache says (Force Unit Access).
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

/// What a device takes of its pool, and could still take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MappingResources {
    /// Bytes that new content of the device can use. Other devices may use them too.
    pub available_bytes: u64,
    /// Bytes of the device that are mapped.
    pub used_bytes: u64,
}

/// Why an operation failed. Nothing was changed unless a variant says otherwise.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum BlockError {
    /// The extent does not lie inside the device.
    #[error("blocks {lba}+{count} are beyond the end of the device ({device_blocks} blocks)")]
    OutOfRange {
        /// First block asked for.
        lba: u64,
        /// Blocks asked for.
        count: u64,
        /// Size of the device in blocks.
        device_blocks: u64,
    },
    /// The pool has no space for the new blocks this operation needs.
    #[error("the pool is full")]
    PoolFull,
    /// The device is read-only (a snapshot).
    #[error("the volume is read-only")]
    ReadOnly,
    /// The stored data cannot be vouched for: a read failed or a checksum does not match.
    #[error("unrecovered read error at block {lba}")]
    ReadFailed {
        /// First logical block that could not be read.
        lba: u64,
    },
    /// The pool stopped after an error of its medium; nothing more is acknowledged.
    #[error("the pool stopped after a media error: {reason}")]
    PoolStopped {
        /// What happened, for the log.
        reason: String,
    },
    /// The volume was deleted.
    #[error("the volume no longer exists")]
    Gone,
    /// The source of a copy belongs to another engine. It can be copied by reading and writing.
    #[error("the source of the copy belongs to another pool")]
    ForeignSource,
}

/// A device of 512-byte logical blocks.
///
/// * Callers may pass any extent; the device validates it and answers [`BlockError::OutOfRange`]. An empty extent inside or at the
///   end of the device is a success that does nothing.
/// * Each call takes effect at one instant between call and return, but for a step of [`Self::copy_from`] that moves data, which reads at
///   one instant and writes at a later one. A read never sees part of a concurrent call's effect on one block;
///   `compare_and_write` compares and writes at the same instant.
/// * On return of a mutating call its effect is durable, unless the write cache is on and `Durability::AsConfigured` was asked for;
///   then it is durable after the next `flush`. Mutating calls become durable in the order in which they took effect.
/// * A dropped future does not undo a call that took effect.
pub trait BlockDevice {
    /// Which volume this is.
    fn volume(&self) -> VolumeId;

    /// Size in logical blocks, as of now; it changes when the volume is resized.
    fn block_count(&self) -> u64;

    /// True when the write cache is on: `AsConfigured` writes are acknowledged before they are durable.
    fn write_cache(&self) -> bool;

    /// True when writes are refused.
    fn read_only(&self) -> bool;

    /// What the device takes of its pool, and could still take, as of now.
    fn mapping_resources(&self) -> MappingResources;

    /// Reads the extent. The result has exactly `extent.count` × 512 bytes; deallocated blocks read as zeros.
    async fn read(&self, extent: Extent) -> Result<Bytes, BlockError>;

    /// Writes the extent; `data` has exactly `extent.count` × 512 bytes. Blocks of zeros may be deallocated instead of stored.
    async fn write(&self, extent: Extent, data: Bytes, durability: Durability) -> Result<(), BlockError>;

    /// Compares the extent with `compare` and, when equal, writes `data`; both have `extent.count` × 512 bytes.
    async fn compare_and_write(
        &self,
        extent: Extent,
        compare: Bytes,
        data: Bytes,
        durability: Durability,
    ) -> Result<CompareOutcome, BlockError>;

    /// Makes the extent read as zeros, deallocating what can be deallocated. The cost does not depend on the length.
    async fn zero(&self, extent: Extent, durability: Durability) -> Result<(), BlockError>;

    /// Deallocates the extents, which then read as zeros. All of them are validated before the first is touched.
    async fn unmap(&self, extents: &[Extent]) -> Result<(), BlockError>;

    /// Units and step lengths of the device. They do not change while it is open.
    fn limits(&self) -> Limits;

    /// One step of a copy of `extent` of `source` to `destination` of this device. The ranges may overlap.
    ///
    /// * The step covers at least one block of an extent that is not empty, and at most [`Limits::copy_step_blocks`]. The caller loops, see
    ///   [`RemainingCopy`], and may stop between two steps.
    /// * It covers the start of the extent; its end, when the destination lies above the source in the same device, so that an overlapping source
    ///   is read before it is overwritten.
    /// * All of `extent` and its destination are validated before anything is changed.
    /// * [`BlockError::ForeignSource`]: the source belongs to another engine; nothing was changed.
    async fn copy_from(&self, source: &Self, extent: Extent, destination: Lba) -> Result<CopyStep, BlockError>;

    /// Keeps what the extents hold at one instant, as a device of its own: read-only, of the same size, the extents at their own addresses and
    /// everything else deallocated (a mapping unit that an extent covers in part may be there whole). Metadata only: the cost does not depend
    /// on the length. The new device does not outlive the engine's run; until then whoever asked for it ends it with [`Self::discard`].
    async fn capture(&self, extents: &[Extent]) -> Result<Self, BlockError>
    where
        Self: Sized;

    /// Ends a device that came from [`Self::capture`]: calls on it fail with [`BlockError::Gone`] from then on, and its space comes back in the
    /// background.
    fn discard(&self);

    /// Makes every acknowledged write durable.
    async fn flush(&self) -> Result<(), BlockError>;

    /// Provisioning status from `lba` on: consecutive runs that start at `lba`, at most `limit` of them, adjacent runs of equal status
    /// merged. Covers at least one block.
    async fn provisioning(&self, lba: Lba, limit: usize) -> Result<Vec<ProvisioningExtent>, BlockError>;
}
