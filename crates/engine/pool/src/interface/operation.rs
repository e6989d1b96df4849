//! Operations of the pool, and their results.

use crate::interface::difference::{DifferenceId, DifferenceStep};
use crate::interface::range::{BlockNumber, BlockRange, ByteRange};
use crate::interface::{BlockId, CatalogChange, CheckStep, Growth, ObjectId, Place, PoolError, ReshareStep, ScanStep};
use block::{BlockError, CompareOutcome, ProvisioningExtent};
use bytes::Bytes;
use thiserror::Error;

/// Identifier of a submitted operation.
pub type OperationId = u64;

/// Size of the largest volume: 256 TiB.
pub const MAX_VOLUME_BYTES: u64 = 1 << 48;

/// Size of an address space, an object that is no volume: a user of the pool lays out many contents of
/// their own in it, far from one another. The only size above [`MAX_VOLUME_BYTES`].
pub const ADDRESS_SPACE_BYTES: u64 = 1 << 60;

/// Unit of ceilings in bytes.
pub const CEILING_UNIT_BYTES: u64 = 1 << 20;
/// Largest ceiling in bytes: the object table has 32 bits for it.
pub const MAX_CEILING_BYTES: u64 = (u32::MAX as u64) * CEILING_UNIT_BYTES;

/// True for a ceiling that an address space may have.
pub(crate) const fn is_ceiling(bytes: u64) -> bool {
    bytes > 0 && bytes <= MAX_CEILING_BYTES && bytes.is_multiple_of(CEILING_UNIT_BYTES)
}

/// True for a size that an object may have, apart from its unit.
pub(crate) const fn is_size(size_bytes: u64) -> bool {
    size_bytes <= MAX_VOLUME_BYTES || size_bytes == ADDRESS_SPACE_BYTES
}

/// Size of the largest document.
pub const MAX_DOCUMENT_BYTES: usize = 64 << 10;

/// Size of the largest single write.
pub const MAX_WRITE_BYTES: usize = 64 << 20;

/// Size of the largest single compare-and-write in bytes.
pub const MAX_COMPARE_BYTES: usize = 256 << 10;

/// Blocks of checkpoints and destaging in a turn by default: 512 KiB. To copy them and to write
/// them to memory takes about 100 µs; a disk gets the next ones in the next turn, at once.
const TURN_BLOCKS: usize = 128;

/// Memory of the pool, identity of a run, and options.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Memory for map pages, counts and data blocks together.
    pub memory_bytes: usize,
    /// Random number that no other run of this pool has used.
    pub incarnation: u64,
    /// Number of blocks destaged at once.
    pub destage_batch: usize,
    /// Discards long runs of freed blocks in the file system or device below. Reusing such a block
    /// costs its allocation there.
    pub discard: bool,
    /// Keeps storing documents as a list in a pool that has one, as releases before the index did,
    /// so that they can read it. For tests.
    pub list_documents: bool,
    /// Number of blocks of checkpoints and destaging that one turn hands to the medium. Hosts are
    /// served between turns.
    pub turn_blocks: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            memory_bytes: 256 << 20,
            incarnation: 0,
            destage_batch: 256,
            discard: false,
            list_documents: false,
            turn_blocks: TURN_BLOCKS,
        }
    }
}

/// Operation. Offsets and lengths are bytes, multiples of 512.
#[derive(Debug)]
pub enum Operation {
    /// Reads a range.
    Read {
        /// Object to read.
        object: ObjectId,
        /// Start of the range.
        offset: u64,
        /// Length of the range.
        length: usize,
    },
    /// Writes data.
    Write {
        /// Object to write.
        object: ObjectId,
        /// Start of the range.
        offset: u64,
        /// Content to write.
        data: Bytes,
        /// True: durable before the reply even if the write cache is on.
        forced: bool,
    },
    /// Makes ranges read as zeros and deallocates their whole blocks.
    Zero {
        /// Object to change.
        object: ObjectId,
        /// Ranges; they may overlap.
        ranges: Vec<ByteRange>,
        /// As for a write.
        forced: bool,
    },
    /// Shares a range; the two offsets agree modulo 4 096.
    Clone {
        /// Source object.
        source: ObjectId,
        /// Start in the source.
        source_offset: u64,
        /// Destination object.
        destination: ObjectId,
        /// Start in the destination.
        destination_offset: u64,
        /// Length.
        length: u64,
    },
    /// Shares ranges of an object with the same places of a capture, all as they are at one instant.
    Capture {
        /// Source object.
        source: ObjectId,
        /// Capture to fill.
        capture: ObjectId,
        /// Ranges; they may overlap. The last block of an object may be short.
        ranges: Vec<BlockRange>,
    },
    /// Compares, and writes if equal.
    CompareAndWrite {
        /// Object to change.
        object: ObjectId,
        /// Start of the range.
        offset: u64,
        /// Expected content.
        compare: Bytes,
        /// New content.
        data: Bytes,
        /// As for a write.
        forced: bool,
    },
    /// Completes when every operation executed before it is durable.
    Flush,
    /// Returns the provisioning status.
    Provisioning {
        /// Object to query.
        object: ObjectId,
        /// Start of the query.
        offset: u64,
        /// Maximum number of runs to return.
        limit: usize,
    },
    /// Counts the mapped blocks of a range.
    Mapped {
        /// Object to query.
        object: ObjectId,
        /// Range; the last block of an object may be short.
        range: BlockRange,
    },
    /// Changes the catalog.
    Catalog(Vec<CatalogChange>),
    /// Counts the blocks that only these objects use, which deleting all of them frees.
    Unique {
        /// Objects to count.
        objects: Vec<ObjectId>,
    },
    /// Counts the mapped blocks of a range that nothing outside of it maps.
    UniqueIn {
        /// Object to count.
        object: ObjectId,
        /// Range; the last block of an object may be short.
        range: BlockRange,
    },
    /// Deallocates stored blocks of zeros: one step.
    ReclaimZeros {
        /// Object to scan.
        object: ObjectId,
        /// Start of the step.
        offset: u64,
    },
    /// Shares equal blocks of a volume with another object: one step.
    Reshare(Reshare),
    /// Reads and verifies stored content: one step.
    Verify {
        /// Object to verify.
        object: ObjectId,
        /// Start of the step.
        offset: u64,
        /// True: forget which shared pages were verified.
        anew: bool,
    },
    /// Finds every place that is stored in one of these blocks.
    PlacesOf(Vec<BlockId>),
    /// Compares two objects: one step of a difference.
    DifferenceStep {
        /// Difference that [`crate::Core::begin_difference`] began.
        difference: DifferenceId,
        /// Start of the step.
        from: BlockNumber,
    },
    /// Executes one step of a check of the whole pool.
    CheckStep,
    /// Counts the shared blocks of a reserved volume.
    Recount {
        /// Volume to count.
        object: ObjectId,
    },
    /// Enlarges the pool.
    Grow(Growth),
    /// Changes several ranges of several objects in one step. Submitted by [`crate::Core::transact`].
    Transaction(TransactionMark),
}

/// What the schedule knows of a transaction.
#[derive(Clone, Copy, Debug)]
pub struct TransactionMark {
    durable: bool,
}

impl TransactionMark {
    /// Marks a transaction. `durable`: durable before the reply.
    pub(crate) const fn new(durable: bool) -> Self {
        Self { durable }
    }

    /// True: durable before the reply.
    pub(crate) const fn is_durable(self) -> bool {
        self.durable
    }
}

/// Step that shares equal blocks of a volume with another object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reshare {
    /// Volume whose blocks give up their places.
    pub object: ObjectId,
    /// Volume or snapshot whose places they share then; the same object only with a shift.
    pub with: ObjectId,
    /// Start of the step in the volume, in bytes.
    pub offset: u64,
    /// Bytes from a place of the volume to the corresponding place of the other object, a multiple of 4 096; negative
    /// if that one is nearer to the start.
    pub shift_bytes: i64,
    /// True: compares, and changes nothing.
    pub compare_only: bool,
}

/// Result of sharing a range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CopyOutcome {
    /// Bytes that now share storage with the source: metadata only.
    pub cloned_bytes: u64,
    /// Bytes at the edges that had to be copied.
    pub copied_bytes: u64,
}

/// Output of a finished operation.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// No output.
    Done,
    /// Content that was read.
    Data(Bytes),
    /// The content that a look named could not be read as it was then.
    Superseded,
    /// Result of a compare-and-write.
    Compared(CompareOutcome),
    /// Bytes shared and copied by a clone.
    Copied(CopyOutcome),
    /// Provisioning runs.
    Provisioning(Vec<ProvisioningExtent>),
    /// Number of bytes.
    Bytes(u64),
    /// Result of one step of a scan.
    Scanned(Box<ScanStep>),
    /// Result of one step that shares equal blocks.
    Reshared(Box<ReshareStep>),
    /// Places found.
    Places(Vec<Place>),
    /// Result of one step of a difference.
    Difference(Box<DifferenceStep>),
    /// Result of one step of a check.
    Check(Box<CheckStep>),
}

/// Reason for the failure of an operation. Nothing was changed.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum Failure {
    /// Error of the block device contract.
    #[error(transparent)]
    Block(BlockError),
    /// Error of the catalog contract.
    #[error(transparent)]
    Pool(PoolError),
    /// A block that a transaction needs cannot be read, or no page of the map leads to it.
    #[error("unrecovered read error at block {block} of object {object}")]
    Unreadable {
        /// Object of the block.
        object: ObjectId,
        /// The block.
        block: BlockNumber,
    },
}

impl From<BlockError> for Failure {
    fn from(e: BlockError) -> Self {
        Self::Block(e)
    }
}

impl From<PoolError> for Failure {
    fn from(e: PoolError) -> Self {
        Self::Pool(e)
    }
}

impl Operation {
    /// True for operations of hosts, false for administration and scans.
    pub(crate) fn is_of_a_host(&self) -> bool {
        matches!(self, Self::Read { .. } | Self::Flush) || self.is_change_of_a_host()
    }

    /// True for operations of hosts that change content.
    pub(crate) const fn is_change_of_a_host(&self) -> bool {
        matches!(
            self,
            Self::Write { .. }
                | Self::Zero { .. }
                | Self::Clone { .. }
                | Self::Capture { .. }
                | Self::CompareAndWrite { .. }
                | Self::Transaction(_)
        )
    }

    /// True for an operation that makes log records, except for scans.
    pub(crate) fn enters_log(&self) -> bool {
        matches!(self, Self::Catalog(_)) || self.is_change_of_a_host()
    }

    /// True for an operation that reports unreadable pages instead of failing.
    pub(crate) fn survives_bad_pages(&self) -> bool {
        matches!(self, Self::Verify { .. } | Self::PlacesOf(_) | Self::Reshare(_) | Self::DifferenceStep { .. })
    }
}

impl Operation {
    /// True if a failure is reported with a logical block address.
    pub(crate) fn has_an_lba(&self) -> bool {
        (self.is_of_a_host() && !matches!(self, Self::Flush | Self::Transaction(_)))
            || matches!(self, Self::Provisioning { .. } | Self::Mapped { .. })
    }

    /// Ranges that the operation accesses. Sources come first.
    pub(crate) fn spans(&self) -> Vec<(ObjectId, ByteRange)> {
        match self {
            Self::Read { object, offset, length } => vec![(*object, ByteRange::new(*offset, *length as u64))],
            Self::Write { object, offset, data, .. } | Self::CompareAndWrite { object, offset, data, .. } => {
                vec![(*object, ByteRange::new(*offset, data.len() as u64))]
            }
            Self::Zero { object, ranges, .. } => ranges.iter().map(|range| (*object, *range)).collect(),
            Self::Clone { source, source_offset, destination, destination_offset, length } => {
                vec![
                    (*source, ByteRange::new(*source_offset, *length)),
                    (*destination, ByteRange::new(*destination_offset, *length)),
                ]
            }
            Self::Capture { source, ranges, .. } => ranges.iter().map(|range| (*source, range.bytes())).collect(),
            // The query may visit everything from its start on.
            Self::Provisioning { object, offset, .. } => {
                vec![(*object, ByteRange::new(*offset, ADDRESS_SPACE_BYTES.saturating_sub(*offset)))]
            }
            Self::Mapped { object, range } => vec![(*object, range.bytes())],
            Self::Flush
            | Self::Catalog(_)
            | Self::Unique { .. }
            | Self::UniqueIn { .. }
            | Self::ReclaimZeros { .. }
            | Self::Reshare(_)
            | Self::Verify { .. }
            | Self::PlacesOf(_)
            | Self::DifferenceStep { .. }
            | Self::CheckStep
            | Self::Recount { .. }
            | Self::Grow(_)
            | Self::Transaction(_) => Vec::new(),
        }
    }
}

pub(crate) fn operation_lba(operation: &Operation) -> u64 {
    let offset = match operation {
        Operation::Read { offset, .. }
        | Operation::Write { offset, .. }
        | Operation::CompareAndWrite { offset, .. }
        | Operation::Provisioning { offset, .. } => *offset,
        Operation::Zero { ranges, .. } => ranges.first().map_or(0, |range| range.offset),
        Operation::Clone { source_offset, .. } => *source_offset,
        Operation::Capture { ranges, .. } => ranges.first().map_or(0, |range| range.bytes().offset),
        Operation::Mapped { range, .. } => range.bytes().offset,
        Operation::ReclaimZeros { offset, .. }
        | Operation::Verify { offset, .. }
        | Operation::Reshare(Reshare { offset, .. }) => *offset,
        Operation::Flush
        | Operation::Catalog(_)
        | Operation::Unique { .. }
        | Operation::UniqueIn { .. }
        | Operation::PlacesOf(_)
        | Operation::DifferenceStep { .. }
        | Operation::CheckStep
        | Operation::Recount { .. }
        | Operation::Grow(_)
        | Operation::Transaction(_) => 0,
    };
    offset / 512
}

pub(crate) fn pool_error(failure: Failure) -> PoolError {
    match failure {
        Failure::Pool(error) => error,
        Failure::Block(BlockError::PoolFull) => PoolError::PoolFull,
        Failure::Block(BlockError::PoolStopped { reason }) => PoolError::Stopped(reason),
        Failure::Block(error) => PoolError::Stopped(error.to_string()),
        failure @ Failure::Unreadable { .. } => PoolError::Damaged(failure.to_string()),
    }
}

/// Failure of an operation as an error of the block device contract.
pub(crate) fn block_error(failure: Failure) -> BlockError {
    match failure {
        Failure::Block(error) => error,
        Failure::Pool(PoolError::PoolFull) => BlockError::PoolFull,
        Failure::Pool(PoolError::NoSuchObject(_)) => BlockError::Gone,
        Failure::Pool(PoolError::Stopped(reason)) => BlockError::PoolStopped { reason },
        Failure::Pool(error) => BlockError::Internal { reason: error.to_string() },
        Failure::Unreadable { block, .. } => BlockError::ReadFailed { lba: block.offset() / 512 },
    }
}
