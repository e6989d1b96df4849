//! Interface to the engine below: an [`Engine`] runs transactions; through its [`View`] a transaction reads objects and
//! names its changes.

use bytes::Bytes;
use smallvec::SmallVec;
use std::ops::Range;
use thiserror::Error;
use vfs::{Payload, Segment};

/// Bytes of a block: what is mapped, shared and freed as a whole.
pub const BLOCK_BYTES: u64 = 4096;

/// Content of a block.
pub type Block = [u8; BLOCK_BYTES as usize];

/// Object of the engine: an address space of 2⁴⁸ blocks, zero where nothing is mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Object(pub u64);

/// Blocks of one entry of the map when blocks are shared: a block, or a sub-tree that begins at the same place in its
/// page in source and destination.
pub(crate) const fn shared_span(from: u64, to: u64) -> u64 {
    let level = (from ^ to).trailing_zeros() / SPAN_BITS;
    1 << (SPAN_BITS * if level < SHARED_LEVELS { level } else { SHARED_LEVELS })
}

/// An entry of the map spans 2⁸ times the blocks of one a level below.
const SPAN_BITS: u32 = 8;
/// Highest level whose entries are shared.
const SHARED_LEVELS: u32 = 4;

/// Reason why a look finds nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// The block or count is not in memory. The engine loads it and runs the attempt again.
    Wait,
    /// The medium cannot read the block, or its checksum does not match.
    Damaged,
}

/// End of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome<T> {
    /// The named changes happen, all in one step and one unit of recovery.
    Commit(T),
    /// Nothing happens, whatever was named.
    Nothing(T),
}

/// When a transaction is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// After its execution.
    Unstable,
    /// When it is durable. All transactions before it are durable then.
    Durable,
}

/// Reason why a transaction did not happen. After [`Self::Stopped`] it may have happened.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum EngineError {
    /// The pool has no space for the changes, or for the promises that they imply.
    #[error("the pool has no space")]
    NoSpace,
    /// The object would use more than its ceiling.
    #[error("the object would exceed its ceiling")]
    Ceiling,
    /// The object was deleted.
    #[error("the object no longer exists")]
    Gone,
    /// The object is a replica, which only replication changes.
    #[error("the object is read-only")]
    ReadOnly,
    /// A block that a change needs cannot be read.
    #[error("block {block} of object {} cannot be read", object.0)]
    Damaged {
        /// Its object.
        object: Object,
        /// The block.
        block: u64,
    },
    /// The engine cannot carry out the transaction although its pool works.
    #[error("the engine cannot carry out the transaction: {reason}")]
    Internal {
        /// Cause, for the log.
        reason: String,
    },
    /// The pool stopped.
    #[error("the pool stopped: {reason}")]
    Stopped {
        /// Cause, for the log.
        reason: String,
    },
}

/// Blocks of the pool, as one object sees them: with its ceiling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Blocks that there are.
    pub total_blocks: u64,
    /// Blocks that are neither mapped nor promised.
    pub free_blocks: u64,
    /// Blocks that count against the ceiling of the object: those that it maps, and those promised to it.
    pub used_blocks: u64,
}

/// Objects as a transaction reads them, and the changes that it names.
///
/// **Looks** show the state before the transaction, and its own edits. A block that was named by [`Self::write`],
/// [`Self::zero`], [`Self::share`] or [`Self::replace`] must not be looked at or edited after that.
///
/// **Execution.** Edits and changes happen in the order in which they were named. A source of [`Self::share`] or
/// [`Self::replace`] must not be edited after that.
///
/// A change that lacks something, as a write of a part of a block does, ends the attempt as a look would.
pub trait View {
    /// A block; zeros if it is not mapped.
    fn block(&mut self, object: Object, block: u64) -> Result<&Block, Missing>;

    /// Bytes of a block to change. `bytes` lies inside the block.
    fn edit(&mut self, object: Object, block: u64, bytes: Range<usize>) -> Result<&mut [u8], Missing>;

    /// Content of a range of bytes, at most 1 MiB: data without a copy, and holes, none behind another.
    fn read(&mut self, object: Object, bytes: Range<u64>) -> Result<SmallVec<[Segment; 4]>, Missing>;

    /// Number of mapped blocks in a range.
    fn mapped(&mut self, object: Object, blocks: Range<u64>) -> Result<u64, Missing>;

    /// First mapped block of a range, or its end.
    fn next_mapped(&mut self, object: Object, blocks: Range<u64>) -> Result<u64, Missing>;

    /// First unmapped block of a range, or its end.
    fn next_unmapped(&mut self, object: Object, blocks: Range<u64>) -> Result<u64, Missing>;

    /// Allotted parts of a range, ascending; none touches the next.
    fn allotted(&mut self, object: Object, blocks: Range<u64>) -> Vec<Range<u64>>;

    /// Blocks that the allotments inside a range still promise: those that are unmapped or shared.
    fn promised(&mut self, object: Object, blocks: Range<u64>) -> Result<u64, Missing>;

    /// Space of the pool.
    fn room(&mut self, object: Object) -> Result<Room, Missing>;

    /// Says that the transaction serves to free space: the few blocks that it needs for that are admitted above a
    /// ceiling.
    fn frees_space(&mut self);

    /// Writes bytes at any offset.
    fn write(&mut self, object: Object, offset_bytes: u64, data: Payload);

    /// Makes a range of bytes zero, and unmaps its whole blocks. Allotments stay.
    fn zero(&mut self, object: Object, bytes: Range<u64>);

    /// Maps `blocks` blocks of the destination as those of the source, holes too. It is one step, whose time grows with
    /// the entries of the map that the range has, so that callers limit it.
    fn share(&mut self, from: (Object, u64), to: (Object, u64), blocks: u64);

    /// Gives an object all of the content of another one. Its allotments end.
    fn replace(&mut self, object: Object, by: Object);

    /// Promises space for a range of blocks.
    fn allot(&mut self, object: Object, blocks: Range<u64>);

    /// Ends the promises in a range of blocks.
    fn release(&mut self, object: Object, blocks: Range<u64>);
}

/// Result of a look, and the range of bytes of an object that it wants to be read.
pub type Named<T> = (T, Option<(Object, Range<u64>)>);

/// Attempt of a transaction. It runs again from the start whenever something it looked at was not in memory, so
/// it has no effect but through the view.
pub trait Attempt<T>: FnMut(&mut dyn View) -> Result<Outcome<T>, Missing> {}

impl<T, A: FnMut(&mut dyn View) -> Result<Outcome<T>, Missing>> Attempt<T> for A {}

/// The engine below. Clones are handles of one engine.
pub trait Engine: Clone + 'static {
    /// Runs a transaction.
    ///
    /// * The last attempt, its execution and `after` are one step: nothing happens between them.
    /// * `after` runs for both outcomes, over the state after the transaction. Its looks find in memory the blocks that
    ///   the attempt looked at or edited, and the numbers of mapped blocks of the ranges that it asked for. Other looks
    ///   may return [`Missing::Wait`].
    /// * If everything is in memory and nothing has to become durable, it is ready at its first poll.
    /// * If the future is dropped before the execution, nothing happens.
    async fn run<T, U>(
        &self,
        durability: Durability,
        attempt: impl Attempt<T>,
        after: impl FnOnce(&mut dyn View, T) -> U,
    ) -> Result<U, EngineError>;

    /// Calls `look` at once, with the present state. `None` if something that it looks at is not in memory; a
    /// transaction with the same look reads it.
    fn try_look<T>(&self, look: impl FnOnce(&mut dyn View) -> Result<T, Missing>) -> Option<Result<T, EngineError>>;

    /// Calls `look` as [`Self::try_look`] does, and reads the range of bytes that it names, at most 1 MiB, as it is at
    /// the look: without the cache, and in one piece.
    ///
    /// `None` also if a part of the range is not mapped, or the content cannot be had in this way. A transaction that
    /// reads the range through its view finds out.
    async fn look_and_read<T>(
        &self,
        look: impl FnOnce(&mut dyn View) -> Result<Named<T>, Missing>,
    ) -> Option<Result<(T, Option<Bytes>), EngineError>>;

    /// Number of mapped blocks in a range that nothing outside of it maps. Takes time in proportion to the blocks, so
    /// that it is no part of a transaction: it is exact if nothing changes meanwhile.
    async fn unique(&self, object: Object, blocks: Range<u64>) -> Result<u64, EngineError>;

    /// Makes all transactions durable that were executed.
    async fn flush(&self) -> Result<(), EngineError>;

    /// Number of this run of the engine: another after each start.
    fn incarnation(&self) -> u64;

    /// Unpredictable random bytes, for keys.
    fn random(&self) -> [u8; 16];

    /// True if both are one engine.
    fn is(&self, other: &Self) -> bool;
}
