//! Medium of the pool engine: a segment store, a log and a root, all accessed by asynchronous
//! requests and completions.
//!
//! The three traits are the complete interface between an engine and its medium. No method blocks
//! (except where noted) and none calls back: a request carries a [`Ticket`], and [`Media::poll`]
//! returns its [`Completion`] later. In the serving process, this is the only crate besides `daemon`
//! that touches the operating system; it is the only one with `unsafe`.
//!
//! The local back end is [`LocalMedia`] over a [`Disk`]: a [`Span`] of one or more [`FileDisk`]s on
//! a machine; in tests a [`SimDisk`], with crashes and faults.
#![deny(unsafe_code)] // allowed where the operating system requires it, each time with its reason

mod address;
#[cfg(feature = "testing")]
mod allocator;
mod backing;
mod buffer;
#[cfg(any(test, feature = "testing"))]
pub mod contract;
mod disk;
mod engine;
mod file;
mod growth;
mod holes;
mod inline;
mod local;
mod member;
mod overlay;
mod sim;
mod span;
mod superblock;
mod threads;
mod uring;

pub use address::BlockAddress;
#[cfg(feature = "testing")]
pub use allocator::CountingAllocator;
pub use backing::OpenError;
pub use buffer::{BLOCK_BYTES, Block, Buffer};
pub use disk::Disk;
pub use file::{EngineChoice, FileDisk, OpenOptions};
pub use growth::{
    Extended, Grown, Growth, GrowthError, GrowthTerms, MAX_GROWN_BLOCKS, MAX_MEMBERS, MIN_MEMBER_BLOCKS, Member,
};
pub use local::{CopyFields, DamagedCopy, FormatOptions, FoundCopy, LocalMedia, Statistics, default_log_bytes};
pub use overlay::Overlay;
pub use sim::{
    DiscardOutcome, Event, Fate, Fault, FaultEffect, FaultOperation, PendingWrite, SimCounters, SimDisk, SimOptions,
};
pub use span::Span;
pub use superblock::{
    FEATURE_ALLOTMENTS, FEATURE_CEILING, FEATURE_INDEX, FEATURE_LOCKS, FEATURE_PATCHES, FEATURE_REPLICAS,
    FEATURE_UNCONFIRMED, FEATURE_WIDE,
};

use std::os::fd::BorrowedFd;

use thiserror::Error;

/// Identifier of a request, chosen by the caller and returned with the completion.
pub type Ticket = u64;

/// Write permission. A back end refuses calls with an older epoch than the newest it has seen
/// ([`MediaError::Fenced`]), so that a gateway that was replaced writes nothing more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fence {
    /// Ownership epoch: larger is newer.
    pub epoch: u64,
}

/// Reason why a request failed.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum MediaError {
    /// The device reported an error.
    #[error("{operation} of {blocks} blocks at block {address} failed: {reason}")]
    Io {
        /// `read`, `write`, `flush`, `discard`.
        operation: &'static str,
        /// First 4 KiB block.
        address: u64,
        /// Number of blocks.
        blocks: u64,
        /// Error of the operating system.
        reason: String,
    },
    /// The file system under a sparse file is full. The blocks of the request are undefined.
    #[error("{operation} of {blocks} blocks at block {address} failed: the file system under the file is full")]
    NoSpace {
        /// `write`, `discard`, ...
        operation: &'static str,
        /// First 4 KiB block.
        address: u64,
        /// Number of blocks.
        blocks: u64,
    },
    /// Another owner has taken over the pool; this instance must stop.
    #[error("another instance owns this pool now")]
    Fenced,
    /// Another instance changed the root after it was loaded.
    #[error("the pool's root is at version {found}, expected {expected}")]
    RootConflict {
        /// Version that the caller expected.
        expected: u64,
        /// Version found.
        found: u64,
    },
    /// No valid root: not a pool, or damaged beyond its copies.
    #[error("{0}")]
    BadRoot(String),
}

/// Result of a completed request.
#[derive(Debug)]
pub enum Done {
    /// A read of segments or log: the buffer that was passed in, filled.
    Read(Buffer),
    /// A write, append, flush, discard or compare-and-swap. A write returns its buffer for reuse.
    Written(Option<Buffer>),
    /// A root load: the root and its version.
    Root(Vec<u8>, u64),
}

/// A finished request.
#[derive(Debug)]
pub struct Completion {
    /// The request's ticket.
    pub ticket: Ticket,
    /// Result.
    pub result: Result<Done, MediaError>,
}

/// Guarantees and requirements of a back end.
#[derive(Clone, Copy, Debug)]
pub struct Capabilities {
    /// A write that was in flight at a crash may be partly applied.
    pub torn_writes: bool,
    /// Segment writes are durable only after a flush.
    pub needs_flush: bool,
    /// Most bytes of a data request that are handled as one. A longer request is allowed, and may be
    /// split.
    pub max_request_bytes: usize,
    /// The medium is memory: requests complete inside the submitting call.
    pub immediate: bool,
}

/// Random access to the blocks of the pool. Reads and writes are whole 4 KiB blocks.
///
/// Overlapping writes in flight have no order. A write is durable after a flush that was submitted after the write
/// completed.
pub trait SegmentStore {
    /// Fills `buffer` (a non-zero number of blocks) from `address` on.
    fn read(&mut self, ticket: Ticket, address: BlockAddress, buffer: Buffer);
    /// Writes `buffer` at `address`.
    fn write(&mut self, fence: &Fence, ticket: Ticket, address: BlockAddress, buffer: Buffer);
    /// Like [`SegmentStore::write`], and durable on completion, without a flush.
    fn write_durable(&mut self, fence: &Fence, ticket: Ticket, address: BlockAddress, buffer: Buffer);
    /// Whether these blocks are known to have their place below the pool: a write to them needs no
    /// new space, and a durable one costs no commit of a file system's journal.
    fn has_room(&mut self, address: BlockAddress, blocks: u64) -> bool;
    /// Makes every write that completed before this call durable.
    fn flush(&mut self, fence: &Fence, ticket: Ticket);
    /// Declares that the blocks hold no data. Advisory; their content is undefined afterwards.
    fn discard(&mut self, fence: &Fence, ticket: Ticket, address: BlockAddress, blocks: u64);
    /// Guarantees of this store.
    fn capabilities(&self) -> Capabilities;
    /// Size of the pool in 4 KiB blocks, as its superblock has it; the device may be larger.
    fn block_count(&self) -> u64;
    /// First block of the data area; a multiple of 2 048. Root and log lie below it.
    fn data_start(&self) -> BlockAddress;
    /// First block after the data area.
    fn data_end(&self) -> BlockAddress;
}

/// Write-ahead log: a ring of 4 KiB blocks. The engine lays out its frames.
pub trait LogStore {
    /// Size of the ring in bytes; a multiple of 4 096.
    fn log_bytes(&self) -> u64;
    /// Writes `frame` at `offset_bytes` of the ring (both multiples of 4 096; it does not wrap).
    /// Durable on completion. Several appends may be in flight; they complete in any order, and
    /// after a crash any subset of them may be present, or torn.
    fn append(&mut self, fence: &Fence, ticket: Ticket, offset_bytes: u64, frame: Buffer);
    /// Fills `buffer` from `offset_bytes` of the ring (it does not wrap). A run that is about to write
    /// calls `seal` before, so that what it reads is final.
    fn read_log(&mut self, ticket: Ticket, offset_bytes: u64, buffer: Buffer);
    /// Forbids appends with an older fence. A local log has one owner, ensured by the lock on its
    /// file, and completes this at once.
    fn seal(&mut self, fence: &Fence, ticket: Ticket);
}

/// Root of the pool: one small blob, replaced atomically. The store keeps it in copies.
pub trait RootStore {
    /// Reads the newest valid root.
    fn load_root(&mut self, ticket: Ticket);
    /// Marks the pool as one that uses these incompatible features, so that a program that does
    /// not know them refuses it. In force from the next `swap_root` on, in the same atomic step.
    fn require_features(&mut self, incompatible: u64);
    /// Incompatible features that the pool is marked with.
    fn features(&self) -> u64;
    /// Replaces the root if its version is still `version`; the new version is `version` + 1.
    /// Durable on completion. `root` has at most [`MAX_ROOT_BYTES`] bytes. After
    /// [`MediaError::NoSpace`] the caller repeats the call with the same root; until it succeeds,
    /// either root may be in force after a crash. After another error of the disk the root is unknown.
    fn swap_root(&mut self, fence: &Fence, ticket: Ticket, version: u64, root: &[u8]);
}

/// Largest root blob in bytes.
pub const MAX_ROOT_BYTES: usize = 3072;

/// Complete back end.
pub trait Media: SegmentStore + LogStore + RootStore {
    /// Submits all queued requests to the device. Requests may also start earlier.
    fn submit(&mut self);
    /// Next completion, or `None` if there is none yet. Never blocks.
    fn poll(&mut self) -> Option<Completion>;
    /// Submits, then blocks until `poll` has a completion or nothing is outstanding. For tools and
    /// recovery; a reactor never calls it.
    fn wait(&mut self);
    /// Grows the medium while it is in use. Blocks briefly; requests may be in flight. The new size
    /// is in force with the next `swap_root`; until then, and after a crash before, the pool has
    /// its old size.
    fn extend(&mut self, growth: &Growth) -> Result<Grown, GrowthError> {
        let _ = growth;
        Err(GrowthError::Unsupported("this back end"))
    }
    /// Descriptor that becomes readable when a request completes after the last `poll` returned
    /// `None`; `None` when requests complete inside the submitting call. Each completion creates a
    /// new edge, so an edge-triggered waiter never has to call `clear_wake`.
    fn wake_descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }
    /// Makes the wake descriptor unreadable again, for a level-triggered waiter: call this, then
    /// poll until `None`.
    fn clear_wake(&mut self) {}
}
