//! What the pool engine stands on: a segment store, a log and a root, all reached by submission and completion.
//!
//! The three traits are the whole of what an engine may ask of its medium. None of them blocks and none calls back: a request
//! carries a [`Ticket`], and its [`Completion`] is taken later with [`Media::poll`]. Three back ends implement them: a file or block
//! device, a simulated disk with crashes and faults, and (later) RADOS. This is the only crate besides `daemon` that touches the
//! operating system, and the only one with `unsafe`.
//!
//! The local back end is [`LocalMedia`] over a [`Disk`]: a [`Span`] of one or more [`FileDisk`]s on a machine, a [`SimDisk`] in tests.
#![deny(unsafe_code)] // allowed where the operating system asks for it, each time with its reason

mod allocator;
mod backing;
mod buffer;
mod disk;
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

pub use allocator::return_free_memory;
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

use std::os::fd::BorrowedFd;

use thiserror::Error;

/// Names a request; chosen by the caller, returned with its completion.
pub type Ticket = u64;

/// Who may write. A back end that several gateways share refuses calls with an old epoch; a local one has a constant fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fence {
    /// Part of the pool.
    pub shard: u64,
    /// Ownership epoch: larger is newer.
    pub epoch: u64,
}

/// Address of a 4 KiB block of the pool, counted from the start of the device. Block 0 holds a superblock, so 0 never names data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockAddress(pub u64);

/// Why a request failed.
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
        /// The operating system's words.
        reason: String,
    },
    /// The file system under a sparse file is full. Nothing of the request can be relied on.
    #[error("{operation} of {blocks} blocks at block {address} failed: the file system under the file is full")]
    NoSpace {
        /// `write`, `discard`...
        operation: &'static str,
        /// First 4 KiB block.
        address: u64,
        /// Number of blocks.
        blocks: u64,
    },
    /// Another owner has taken over; this instance must stop.
    #[error("another instance owns this pool now")]
    Fenced,
    /// The root was changed by someone else since it was loaded.
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

/// What a completed request returns.
#[derive(Debug)]
pub enum Done {
    /// A read of segments or log: the buffer that was passed in, filled.
    Read(Buffer),
    /// A write, append, flush, discard or compare-and-swap. The buffer of a write comes back for reuse.
    Written(Option<Buffer>),
    /// A root load: the blob and its version.
    Root(Vec<u8>, u64),
}

/// A finished request.
#[derive(Debug)]
pub struct Completion {
    /// The request's ticket.
    pub ticket: Ticket,
    /// What it returned.
    pub result: Result<Done, MediaError>,
}

/// What a back end promises and needs.
#[derive(Clone, Copy, Debug)]
pub struct Capabilities {
    /// A write that was in flight at a crash may be found partly applied.
    pub torn_writes: bool,
    /// Segment writes are durable only after a flush.
    pub needs_flush: bool,
    /// Largest request in bytes.
    pub max_request_bytes: usize,
    /// The medium is memory: requests complete at once, inside the submitting call.
    pub immediate: bool,
}

/// Random access to the blocks of the pool. Reads and writes are whole 4 KiB blocks.
///
/// Overlapping writes in flight have no order. A write is durable after a flush that was submitted after the write completed.
pub trait SegmentStore {
    /// Fills `buffer` (a non-zero number of blocks) from `address` on.
    fn read(&mut self, ticket: Ticket, address: BlockAddress, buffer: Buffer);
    /// Writes `buffer` at `address`.
    fn write(&mut self, fence: &Fence, ticket: Ticket, address: BlockAddress, buffer: Buffer);
    /// Makes every write that completed before this call durable.
    fn flush(&mut self, fence: &Fence, ticket: Ticket);
    /// Tells that the blocks hold nothing of value. Advisory; their content is undefined afterwards.
    fn discard(&mut self, fence: &Fence, ticket: Ticket, address: BlockAddress, blocks: u64);
    /// What this store promises.
    fn capabilities(&self) -> Capabilities;
    /// Size of the device in 4 KiB blocks.
    fn block_count(&self) -> u64;
    /// First block of the data area; a multiple of 2 048. Everything below belongs to root and log.
    fn data_start(&self) -> BlockAddress;
    /// First block after the data area.
    fn data_end(&self) -> BlockAddress;
}

/// The write-ahead log: a ring of 4 KiB blocks whose frames the engine lays out.
pub trait LogStore {
    /// Size of the ring in bytes; a multiple of 4 096.
    fn log_bytes(&self) -> u64;
    /// Writes `frame` at `offset_bytes` of the ring (both multiples of 4 096; it does not wrap). Durable on completion. Several may be
    /// in flight; they complete in any order, and after a crash any subset of those in flight may be there, or torn.
    fn append(&mut self, fence: &Fence, ticket: Ticket, offset_bytes: u64, frame: Buffer);
    /// Fills `buffer` from `offset_bytes` of the ring (it does not wrap). Used by recovery only, after `seal`.
    fn read_log(&mut self, ticket: Ticket, offset_bytes: u64, buffer: Buffer);
    /// Forbids appends with an older fence. A local log has one owner by the lock on its file, and completes this at once.
    fn seal(&mut self, fence: &Fence, ticket: Ticket);
}

/// The pool's root: one small blob, replaced atomically. How it is kept in copies is the store's business.
pub trait RootStore {
    /// Reads the newest valid root.
    fn load_root(&mut self, ticket: Ticket);
    /// Replaces the root when its version is still `version`; the new version is `version` + 1. Durable on completion.
    /// `root` has at most [`MAX_ROOT_BYTES`] bytes.
    fn swap_root(&mut self, fence: &Fence, ticket: Ticket, version: u64, root: &[u8]);
}

/// Largest root blob in bytes.
pub const MAX_ROOT_BYTES: usize = 3072;

/// A complete back end.
pub trait Media: SegmentStore + LogStore + RootStore {
    /// Hands everything queued to the device. Requests may also start earlier.
    fn submit(&mut self);
    /// The next completion, or `None` when nothing has completed yet. Never blocks.
    fn poll(&mut self) -> Option<Completion>;
    /// Submits, then blocks until `poll` has something to return or nothing is outstanding. For tools and recovery; a reactor never calls it.
    fn wait(&mut self);
    /// Makes the medium larger while it is in use. Blocks for a moment; requests may be in flight. What it returns is in force with the next
    /// `swap_root`; until then, and after a crash before, the pool has its old size.
    fn extend(&mut self, growth: &Growth) -> Result<Grown, GrowthError> {
        let _ = growth;
        Err(GrowthError::Unsupported("this back end"))
    }
    /// A descriptor that becomes readable when something completes after the last `poll` returned `None`; `None` when requests complete
    /// inside the submitting call. Each completion makes a new edge, so an edge-triggered waiter never has to call `clear_wake`.
    fn wake_descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }
    /// Makes the wake descriptor unreadable again, for a level-triggered waiter: call it, then poll until `None`.
    fn clear_wake(&mut self) {}
}
