//! The core: one single-threaded, deterministic state machine that owns the pool.
//!
//! Callers [`submit`](Core::submit) operations and take results with [`poll_finished`](Core::poll_finished); [`pump`](Core::pump) moves everything
//! forward: completions of the medium, operations that waited for them, log frames, destaging, checkpoints, reclaim. There is no clock, thread or
//! lock here. An operation is planned first (which may find that map pages, counts or data have to be read, and then waits without
//! having changed anything) and then executed in one step, so every operation takes effect at one instant.

use crate::blocks::{Blocks, Data};
use crate::checkpoint::Frozen;
use crate::interface::{
    CatalogChange, CheckStep, Growth, Incident, ObjectId, ObjectInfo, ObjectKind, Place, PoolError, PoolSpace,
    Reservation, ScanStep,
};
use crate::log::Log;
use crate::page::{PAGE_BYTES, Page};
use crate::space::SpaceMap;
use block::{BlockError, CompareOutcome, CopyOutcome, ProvisioningExtent};
use bytes::Bytes;
use media::{BLOCK_BYTES, BlockAddress, Buffer, Completion, Done, Fence, Media, MediaError, Ticket};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

/// Set in the ids of operations that the pool gives itself.
const INTERNAL: OperationId = 1 << 63;
/// Names a submitted operation.
pub type OperationId = u64;

/// Largest volume: 16 TiB.
pub const MAX_VOLUME_BYTES: u64 = 1 << 44;
/// Largest document.
pub const MAX_DOCUMENT_BYTES: usize = 64 << 10;
/// Largest single write.
pub const MAX_WRITE_BYTES: usize = 64 << 20;
/// An operation that has waited so often for the medium probably needs more at once than memory holds.
const MANY_WAITS: u16 = 32;
/// Writes up to this many bytes carry their data in the log.
pub(crate) const INLINE_BYTES: usize = 32 << 10;

pub(crate) const OBJECT_TABLE: u64 = 1;
pub(crate) const DOCUMENTS: u64 = 2;
pub(crate) const DROP_QUEUE: u64 = 3;
pub(crate) const FIRST_OBJECT: u64 = 16;

/// How the pool uses memory and identifies a run.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Memory for map pages, counts and data blocks together.
    pub memory_bytes: usize,
    /// A random number that no other run of this pool has used.
    pub incarnation: u64,
    /// Blocks destaged at once.
    pub destage_batch: usize,
    /// Give long runs of freed blocks back to the file system or device below. A block that is used again after that costs its allocation there.
    pub discard: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { memory_bytes: 256 << 20, incarnation: 0, destage_batch: 256, discard: false }
    }
}

/// An operation. Offsets and lengths are bytes, multiples of 512.
#[derive(Debug)]
pub enum Operation {
    /// Reads.
    Read {
        /// Object.
        object: u64,
        /// Start.
        offset: u64,
        /// Length.
        length: usize,
    },
    /// Writes.
    Write {
        /// Object.
        object: u64,
        /// Start.
        offset: u64,
        /// Content.
        data: Bytes,
        /// Durable before the reply even when the write cache is on.
        forced: bool,
    },
    /// Makes ranges read as zeros and deallocates what they cover.
    Zero {
        /// Object.
        object: u64,
        /// Start and length of each range.
        ranges: Vec<(u64, u64)>,
        /// As for a write.
        forced: bool,
    },
    /// Shares a range; the two offsets agree modulo 4 096.
    Clone {
        /// Source object.
        source: u64,
        /// Start in the source.
        source_offset: u64,
        /// Destination object.
        destination: u64,
        /// Start in the destination.
        destination_offset: u64,
        /// Length.
        length: u64,
    },
    /// Compares, and writes when equal.
    CompareAndWrite {
        /// Object.
        object: u64,
        /// Start.
        offset: u64,
        /// Expected content.
        compare: Bytes,
        /// New content.
        data: Bytes,
        /// As for a write.
        forced: bool,
    },
    /// Completes when everything executed before it is durable.
    Flush,
    /// Provisioning status.
    Provisioning {
        /// Object.
        object: u64,
        /// Start.
        offset: u64,
        /// Most runs to return.
        limit: usize,
    },
    /// Changes the catalog.
    Catalog(Vec<CatalogChange>),
    /// Counts the blocks that only these objects use: what deleting all of them frees.
    Unique {
        /// Objects.
        objects: Vec<u64>,
    },
    /// Deallocates stored blocks of zeros: one step.
    ReclaimZeros {
        /// Object.
        object: u64,
        /// Where the step begins.
        offset: u64,
    },
    /// Reads and verifies stored content: one step.
    Verify {
        /// Object.
        object: u64,
        /// Where the step begins.
        offset: u64,
        /// Forget which shared pages were verified.
        anew: bool,
    },
    /// Finds every place that is stored in one of these blocks.
    PlacesOf(Vec<u64>),
    /// One step of a check of the whole pool.
    CheckStep,
    /// Counts how much of a reserved volume is shared.
    Recount {
        /// Object.
        object: u64,
    },
    /// Makes the pool larger.
    Grow(Growth),
}

/// What a finished operation returns.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// Nothing.
    Done,
    /// Content read.
    Data(Bytes),
    /// Result of a compare-and-write.
    Compared(CompareOutcome),
    /// What a clone shared and copied.
    Copied(CopyOutcome),
    /// Provisioning runs.
    Provisioning(Vec<ProvisioningExtent>),
    /// A number of bytes.
    Bytes(u64),
    /// A step of a scan.
    Scanned(Box<ScanStep>),
    /// Places.
    Places(Vec<Place>),
    /// A step of a check.
    Check(Box<CheckStep>),
}

/// Why an operation failed. Nothing was changed.
#[derive(Clone, Debug, PartialEq)]
pub enum Failure {
    /// As the block device contract says.
    Block(BlockError),
    /// As the catalog contract says.
    Pool(PoolError),
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

#[derive(Clone, Debug)]
pub(crate) struct Object {
    pub id: u64,
    pub kind: ObjectKind,
    pub parent: u64,
    pub size_bytes: u64,
    pub root: u64,
    pub root_crc: u32,
    pub level: u8,
    pub mapped: u64,
    pub write_cache: bool,
    pub zero_detection: bool,
    pub reservation: Option<Reservation>,
    /// Mapped blocks that somebody else may use too, at most; kept while `tracked`.
    pub shared: u64,
    /// Map pages that may have to be allocated to write all of the object, at most; kept while `tracked`.
    pub pages_due: u64,
    /// Reserved, or counted for a reservation to come.
    pub tracked: bool,
}

/// A detached sub-tree whose references are still to be given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dropped {
    pub address: u64,
    pub level: u8,
    pub crc: u32,
    /// Blocks mapped below.
    pub mapped: u64,
}

impl Operation {
    /// True for what hosts ask for, false for administration and scans.
    fn is_of_a_host(&self) -> bool {
        matches!(
            self,
            Self::Read { .. }
                | Self::Write { .. }
                | Self::Zero { .. }
                | Self::Clone { .. }
                | Self::CompareAndWrite { .. }
                | Self::Flush
        )
    }
}

impl Object {
    /// An empty volume.
    pub fn new(id: u64, size_bytes: u64) -> Self {
        Self {
            id,
            kind: ObjectKind::Volume,
            parent: 0,
            size_bytes,
            root: 0,
            root_crc: 0,
            level: crate::page::level_for(crate::assign::blocks_for(size_bytes)),
            mapped: 0,
            write_cache: false,
            zero_detection: true,
            reservation: None,
            shared: 0,
            pages_due: 0,
            tracked: false,
        }
    }

    /// Map pages of the object when all of it is mapped.
    pub fn all_pages(&self) -> u64 {
        let blocks = crate::assign::blocks_for(self.size_bytes);
        let top = self.level.max(crate::page::level_for(blocks));
        (0..=top).map(|level| blocks.div_ceil(crate::page::page_span(level))).sum()
    }

    /// Up to so many more blocks and pages are shared with others.
    pub fn share(&mut self, blocks: u64, pages: u64) {
        self.shared = self.shared.saturating_add(blocks).min(self.mapped);
        self.pages_due = self.pages_due.saturating_add(pages).min(self.all_pages());
    }

    /// Changes the size, and with it the pages that may be needed.
    pub fn resize(&mut self, size_bytes: u64) {
        let before = self.all_pages();
        self.size_bytes = size_bytes;
        let after = self.all_pages();
        self.pages_due = (self.pages_due + after.saturating_sub(before)).min(after);
    }

    /// Blocks that must be kept free for the reservation: one for each block that is not mapped, a share of those that are shared, and the map.
    pub fn promised(&self) -> u64 {
        let Some(reservation) = self.reservation else { return 0 };
        let blocks = crate::assign::blocks_for(self.size_bytes);
        let shared = (self.shared * u64::from(reservation.overwrite_percent)).div_ceil(100);
        blocks.saturating_sub(self.mapped) + shared + self.pages_due
    }
}

pub(crate) struct Cached {
    pub page: Rc<Page>,
    pub referenced: bool,
}

/// Things an operation waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Key {
    Page(u64),
    Segment(u32),
    Block(u64),
}

/// What planning found missing.
#[derive(Default)]
pub(crate) struct Need {
    pub pages: Vec<(u64, u8, u32)>,
    pub segments: Vec<u32>,
    pub blocks: Vec<(u64, u32)>,
    /// Pages that will be allocated.
    pub allocations: u64,
    /// Those among them that take the place of a page which comes back at the next checkpoint.
    pub passing: u64,
    /// Entries to be written that map nothing yet.
    pub fresh: u64,
    /// Count a page once although several pieces need it. Only for changes that never allocate what they gave back.
    pub once: bool,
    /// Object and number of the page counted last at each level, for `once`.
    pub counted: [(u64, u64); 4],
    /// A contradiction in the stored map.
    pub damaged: Option<String>,
}

impl Need {
    pub fn clear(&mut self) {
        self.pages.clear();
        self.segments.clear();
        self.blocks.clear();
        self.allocations = 0;
        self.passing = 0;
        self.fresh = 0;
        self.counted = Default::default();
        self.damaged = None;
    }
    pub fn is_empty(&self) -> bool {
        self.pages.is_empty() && self.segments.is_empty() && self.blocks.is_empty() && self.damaged.is_none()
    }
}

/// How far an operation got.
pub(crate) enum Step {
    /// Finished.
    Done(Output),
    /// Took effect; finished when everything logged so far is durable.
    Durable(Output),
    /// `need` says what has to be read first.
    Wait,
    /// No free blocks now; a checkpoint or reclaim may bring some.
    Space,
    /// The log is full until the next checkpoint.
    LogFull,
    /// Waits for I/O of its own.
    Io,
    /// Made progress and wants another turn at once.
    Again,
    /// Made progress and wants another turn after others had theirs.
    Later,
    /// Failed.
    Fail(Failure),
}

/// State of a large write whose data goes straight to its place.
pub(crate) struct Placed {
    /// Per aligned block: address or 0 for zeros, and CRC.
    pub blocks: Vec<(u64, u32)>,
    pub writes: u32,
    pub flushed: bool,
}

/// State of a read that waits for the medium.
pub(crate) struct ReadState {
    pub out: Vec<u8>,
    pub outstanding: u32,
    /// The first block, counted from the start of the read, that did not match its checksum or could not be read.
    pub bad: Option<(usize, u64)>,
    pub tries: u8,
}

#[derive(Default)]
pub(crate) struct Progress {
    pub placed: Option<Placed>,
    pub read: Option<ReadState>,
    pub scan: Option<Box<crate::scan::Scan>>,
    pub space_tries: u8,
    /// How often it had to wait for something to be read.
    pub waits: u16,
    /// What the operation found no room for.
    pub refused: Option<crate::admission::Refused>,
    pub flush_sequence: Option<u64>,
    /// A block that could not be read, as it was mapped then.
    pub bad_block: Option<(u64, u32)>,
}

pub(crate) struct Pending {
    pub operation: Operation,
    pub progress: Progress,
    pub waiting: u32,
    pub failed: Option<Failure>,
}

/// What a request to the medium was for.
pub(crate) enum Io {
    Page {
        address: u64,
        level: u8,
        crc: u32,
        retried: bool,
    },
    Segment {
        segment: u32,
        retried: bool,
    },
    Block {
        address: u64,
        crc: u32,
        retried: bool,
    },
    /// Blocks of an operation's read: (block within the object, CRC) for each block of the buffer.
    Read {
        operation: OperationId,
        blocks: Vec<(u64, u32)>,
        address: u64,
    },
    /// A read of the check under way.
    Check {
        generation: u64,
        read: crate::online_check::CheckRead,
    },
    /// Blocks of an operation that verifies: block of the object, address, CRC.
    Verify {
        operation: OperationId,
        blocks: Vec<(u64, u64, u32)>,
    },
    Placed {
        operation: OperationId,
    },
    PlacedFlush {
        operations: Vec<OperationId>,
    },
    Frame {
        position: u64,
    },
    Destage {
        addresses: Vec<u64>,
        data: Vec<(u64, Data)>,
        retried: bool,
    },
    Checkpoint {
        blocks: usize,
        rewrite: crate::starved::Rewrite,
    },
    CheckpointFlush,
    Swap,
    Discard {
        address: u64,
        blocks: u64,
    },
}

/// Counters of what the core did since it was opened.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counters {
    /// Log frames written.
    pub frames: u64,
    /// Log bytes written.
    pub log_bytes: u64,
    /// Blocks destaged.
    pub destaged: u64,
    /// Checkpoints completed.
    pub checkpoints: u64,
    /// Map pages written by checkpoints.
    pub pages_written: u64,
    /// Bytes written by checkpoints: map pages, counts and indexes, the pool's own streams.
    pub checkpoint_bytes: u64,
    /// Map pages and blocks given back by the drop queue.
    pub reclaimed: u64,
    /// Blocks given back to what is below the pool.
    pub discarded: u64,
    /// Reads whose checksum did not match at first.
    pub mismatches: u64,
}

/// The pool.
pub struct Core<M: Media> {
    pub(crate) media: M,
    pub(crate) fence: Fence,
    pub(crate) options: Options,
    pub(crate) uuid: [u8; 16],
    pub(crate) root_version: u64,
    pub(crate) epoch: u64,
    pub(crate) committed_epoch: u64,
    pub(crate) pages: FxHashMap<u64, Cached>,
    pub(crate) page_clock: VecDeque<u64>,
    pub(crate) dirty_pages: Vec<(u8, u64)>,
    /// Paths to leaves that this epoch owns already, by object and number of the leaf. Emptied by whatever shares, detaches or freezes pages.
    pub(crate) owned: FxHashMap<(u64, u64), crate::tree::Path>,
    pub(crate) space: SpaceMap,
    pub(crate) blocks: Blocks,
    pub(crate) objects: FxHashMap<u64, Object>,
    pub(crate) dirty_objects: std::collections::BTreeSet<u64>,
    pub(crate) next_object: u64,
    pub(crate) documents: BTreeMap<String, Bytes>,
    pub(crate) documents_dirty: bool,
    /// Length of the drop queue and of the documents in the last checkpoint.
    pub(crate) stored_bytes: u64,
    /// Length of the stored form of `documents`.
    pub(crate) documents_bytes: u64,
    pub(crate) drops: Vec<Dropped>,
    pub(crate) drops_changed: bool,
    /// Detached sub-trees that cannot be walked, because a page or counts cannot be read: their space stays in use until it is repaired.
    pub(crate) parked: Vec<Dropped>,
    /// Blocks mapped below the detached sub-trees.
    pub(crate) droppable_blocks: u64,
    /// Blocks kept free for reserved volumes.
    pub(crate) promised: u64,
    /// Reserved volumes whose shared blocks are being counted, and how many more, and how many more pages, may have
    /// become shared meanwhile.
    pub(crate) recounts: FxHashMap<u64, (u64, u64)>,
    /// Shared pages that the pass of `Verify` under way has seen.
    pub(crate) verified: FxHashMap<u64, Box<[u64; crate::scan::VERIFIED_WORDS]>>,
    pub(crate) incidents: VecDeque<Incident>,
    pub(crate) growing: Option<crate::grow::Growing>,
    pub(crate) starved: crate::starved::Starved,
    pub(crate) discards_in_flight: usize,
    /// A checkpoint is flushed, and flips when the flush of large writes has ended well too.
    flip_waits: bool,
    pub(crate) online_check: Option<Box<crate::online_check::OnlineCheck>>,
    /// Something was given back since what reserved volumes share was counted.
    pub(crate) recount_due: bool,
    /// Operations that want another turn, but not before others had one.
    later: Vec<OperationId>,
    /// Pages that a scan may look at in one turn.
    pub(crate) scan_pages: usize,
    /// Operations of hosts submitted so far.
    host_operations: u64,
    pub(crate) metadata_blocks: u64,
    pub(crate) log: Log,
    pub(crate) frozen: Option<Frozen>,
    pub(crate) checkpoint_wanted: bool,
    pub(crate) destage_in_flight: usize,
    pub(crate) replaying: Option<crate::recovery::ReplayPoint>,
    pub(crate) stopped: Option<String>,
    pub(crate) operations: FxHashMap<OperationId, Pending>,
    next_operation: OperationId,
    pub(crate) ready: VecDeque<OperationId>,
    waiters: FxHashMap<Key, Vec<OperationId>>,
    /// An operation that what others need keeps pushing out of memory: until it ends, nothing is dropped.
    starving: Option<OperationId>,
    /// What could not be read although only the pool itself wanted it, and why; until the next checkpoint it is not asked for again.
    pub(crate) unreadable: FxHashMap<Key, String>,
    /// How often a checkpoint could not start since something had to be read first.
    pub(crate) freeze_waits: u16,
    pub(crate) space_waiters: VecDeque<OperationId>,
    pub(crate) log_waiters: VecDeque<OperationId>,
    durable_waiters: VecDeque<(u64, OperationId, Output)>,
    placed_unflushed: Vec<OperationId>,
    placed_flush_in_flight: bool,
    pub(crate) io: FxHashMap<Ticket, Io>,
    next_ticket: Ticket,
    finished: VecDeque<(OperationId, Result<Output, Failure>)>,
    pub(crate) need: Need,
    pub(crate) counters: Counters,
    effects: Option<Vec<(OperationId, u64)>>,
}

impl<M: Media> Core<M> {
    pub(crate) fn empty(media: M, options: Options, uuid: [u8; 16], space: SpaceMap, log: Log) -> Self {
        Self {
            media,
            fence: Fence { shard: 0, epoch: 1 },
            options,
            uuid,
            root_version: 0,
            epoch: 1,
            committed_epoch: 0,
            pages: FxHashMap::default(),
            page_clock: VecDeque::new(),
            dirty_pages: Vec::new(),
            owned: FxHashMap::default(),
            space,
            blocks: Blocks::default(),
            objects: FxHashMap::default(),
            dirty_objects: std::collections::BTreeSet::new(),
            next_object: FIRST_OBJECT,
            documents: BTreeMap::new(),
            documents_dirty: false,
            documents_bytes: 0,
            stored_bytes: 0,
            drops: Vec::new(),
            drops_changed: false,
            parked: Vec::new(),
            droppable_blocks: 0,
            promised: 0,
            recounts: FxHashMap::default(),
            verified: FxHashMap::default(),
            incidents: VecDeque::new(),
            growing: None,
            starved: Default::default(),
            discards_in_flight: 0,
            flip_waits: false,
            online_check: None,
            recount_due: false,
            later: Vec::new(),
            scan_pages: 16,
            host_operations: 0,
            metadata_blocks: 0,
            log,
            frozen: None,
            checkpoint_wanted: false,
            destage_in_flight: 0,
            replaying: None,
            stopped: None,
            operations: FxHashMap::default(),
            next_operation: 1,
            ready: VecDeque::new(),
            waiters: FxHashMap::default(),
            space_waiters: VecDeque::new(),
            starving: None,
            unreadable: FxHashMap::default(),
            freeze_waits: 0,
            log_waiters: VecDeque::new(),
            durable_waiters: VecDeque::new(),
            placed_unflushed: Vec::new(),
            placed_flush_in_flight: false,
            io: FxHashMap::default(),
            next_ticket: 1,
            finished: VecDeque::new(),
            need: Need::default(),
            counters: Counters::default(),
            effects: None,
        }
    }

    /// The medium, for its descriptor and statistics.
    pub fn media(&self) -> &M {
        &self.media
    }

    /// Ends the core and gives the medium back.
    pub fn into_media(self) -> M {
        self.media
    }

    /// Why the pool stopped, if it did.
    pub fn stopped(&self) -> Option<&str> {
        self.stopped.as_deref()
    }

    /// Counters since the pool was opened.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Records from now on which operations took effect, for [`Core::take_effects`].
    pub fn record_effects(&mut self) {
        self.effects = Some(Vec::new());
    }

    /// Operations in the order in which they took effect since the last call, each with the sequence number of the next record: the
    /// effect is part of every state recovered at or beyond it. A read is listed when it took its picture of the map, once more for each time
    /// that it had to take another; what it returns is the content as of the last one.
    pub fn take_effects(&mut self) -> Vec<(OperationId, u64)> {
        self.effects.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Sequence number of the next log record.
    pub fn next_sequence(&self) -> u64 {
        self.log.next_sequence()
    }

    /// Counts anew what reserved volumes share, once what was given back has been walked: their promises may have become smaller.
    fn recount_if_due(&mut self) {
        if !self.recount_due || !self.drops.is_empty() || self.replaying.is_some() {
            return;
        }
        self.recount_due = false;
        let reserved = self.objects.values().filter(|o| o.reservation.is_some() && o.shared > 0).map(|o| o.id);
        let mut reserved: Vec<u64> = reserved.filter(|id| !self.recounts.contains_key(id)).collect();
        reserved.sort_unstable();
        for object in reserved {
            let id = self.next_operation | INTERNAL;
            self.next_operation += 1;
            let operation = Operation::Recount { object };
            self.operations.insert(id, Pending { operation, progress: Progress::default(), waiting: 0, failed: None });
            self.later.push(id);
        }
    }

    /// Reports a result to whoever submitted the operation.
    pub(crate) fn finish(&mut self, id: OperationId, result: Result<Output, Failure>) {
        if id & INTERNAL == 0 {
            self.finished.push_back((id, result));
        }
    }

    /// Submits an operation and tries it at once. Its result, perhaps already there, comes from [`Core::poll_finished`].
    pub fn submit(&mut self, operation: Operation) -> OperationId {
        let id = self.next_operation;
        self.next_operation += 1;
        self.host_operations += u64::from(operation.is_of_a_host());
        let pending = Pending { operation, progress: Progress::default(), waiting: 0, failed: None };
        self.attempt(id, pending);
        id
    }

    /// The next result.
    pub fn poll_finished(&mut self) -> Option<(OperationId, Result<Output, Failure>)> {
        self.finished.pop_front()
    }

    /// The result of one operation, if it is there.
    pub(crate) fn take_finished(&mut self, id: OperationId) -> Option<Result<Output, Failure>> {
        let at = self.finished.iter().position(|(found, _)| *found == id)?;
        self.finished.remove(at).map(|(_, result)| result)
    }

    /// True when something can be done without waiting for the medium.
    pub fn busy(&self) -> bool {
        !self.ready.is_empty() || !self.later.is_empty() || self.log.has_work() || !self.drops.is_empty()
    }

    /// Operations of hosts submitted since the pool was opened.
    pub fn host_operations(&self) -> u64 {
        self.host_operations
    }

    /// How much background work matters to hosts now, from 0 to 256: as much as they wait for space that it would bring, or soon will.
    pub fn urgency(&self) -> u16 {
        if self.drops.is_empty() {
            return 0;
        }
        // From a tenth of the pool down to a fiftieth.
        let (from, to) = (self.space.usable() / 10, self.space.usable() / 50);
        let free = self.space.available().saturating_sub(self.promised);
        let missing = from.saturating_sub(free).min(from - to);
        (missing * 256 / (from - to).max(1)) as u16
    }

    /// True when background work cannot go on before the medium has answered.
    pub fn waits_for_medium(&self) -> bool {
        self.later.is_empty() && !self.io.is_empty()
    }

    /// True when there is background work that the next pump goes on with.
    pub fn wants_turn(&self) -> bool {
        !self.later.is_empty() || !self.drops.is_empty()
    }

    /// True when no request is with the medium and nothing waits for one.
    pub fn idle(&self) -> bool {
        self.io.is_empty() && self.ready.is_empty() && !self.log.has_work() && self.frozen.is_none()
    }

    /// Blocks until the medium has something to report or nothing is with it. For tools; a reactor waits for the medium's descriptor.
    pub fn wait(&mut self) {
        self.media.wait();
    }

    /// Moves everything forward as far as possible without blocking. `background` is how much background work is done with it, as for
    /// [`Core::background`].
    pub fn pump(&mut self, background: usize) {
        self.background(background);
        self.probe_parked();
        self.advance();
        self.evict();
    }

    /// Does background work: gives back up to `pages` pages of detached sub-trees, and lets every scan look at as many. What they ask of the
    /// medium goes to it with the next pump.
    pub fn background(&mut self, pages: usize) {
        if pages == 0 || self.stopped.is_some() {
            return;
        }
        self.scan_pages = pages;
        self.reclaim(pages);
        self.recount_if_due();
        for id in std::mem::take(&mut self.later) {
            if let Some(pending) = self.operations.remove(&id) {
                self.attempt(id, pending);
            }
        }
    }

    fn advance(&mut self) {
        loop {
            let mut progress = false;
            let before = self.next_ticket;
            while let Some(completion) = self.media.poll() {
                self.complete(completion);
                progress = true;
            }
            while let Some(id) = self.ready.pop_front() {
                if let Some(pending) = self.operations.remove(&id) {
                    self.attempt(id, pending);
                    progress = true;
                }
            }
            if self.stopped.is_some() {
                break;
            }
            self.retry_paced();
            self.flush_placed();
            progress |= self.write_frames();
            self.step_growth();
            self.step_discard();
            self.want_checkpoint();
            self.step_checkpoint();
            self.destage();
            self.media.submit();
            progress |= self.next_ticket != before;
            if !progress && !self.retry_space() {
                break;
            }
        }
    }

    /// Asks for a checkpoint soon.
    pub fn request_checkpoint(&mut self) {
        self.checkpoint_wanted = true;
    }

    fn want_checkpoint(&mut self) {
        if self.replaying.is_some() {
            // Recovery asks for its checkpoints itself, between frames.
            return;
        }
        let pages = self.dirty_pages.len() * PAGE_BYTES;
        if self.log.half_full()
            || pages > self.options.memory_bytes / 8
            || self.space.dirty_segments() * 5000 > self.options.memory_bytes / 8
            || (!self.log_waiters.is_empty() && self.frozen.is_none())
            || (!self.space_waiters.is_empty() && self.space.pinned() > 0)
        {
            self.checkpoint_wanted = true;
        }
    }

    pub(crate) fn ticket(&mut self, io: Io) -> Ticket {
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        self.io.insert(ticket, io);
        ticket
    }

    /// A number that nothing else has in this run.
    pub(crate) fn next_generation(&mut self) -> u64 {
        self.next_operation += 1;
        self.next_operation
    }

    /// The pool can no longer vouch for anything new: every operation from now on fails.
    pub(crate) fn stop(&mut self, reason: impl Into<String>) {
        if self.stopped.is_some() {
            return;
        }
        let reason = reason.into();
        self.stopped = Some(reason.clone());
        let failure = Failure::Block(BlockError::PoolStopped { reason });
        for (_, id, _) in std::mem::take(&mut self.durable_waiters) {
            self.finish(id, Err(failure.clone()));
        }
        let mut ids: Vec<_> = self.operations.keys().copied().collect();
        ids.sort_unstable();
        for id in ids {
            self.operations.remove(&id);
            self.finish(id, Err(failure.clone()));
        }
        self.ready.clear();
        self.later.clear();
        self.waiters.clear();
        self.space_waiters.clear();
        self.log_waiters.clear();
    }

    pub(crate) fn attempt(&mut self, id: OperationId, mut pending: Pending) {
        if let Some(reason) = &self.stopped {
            let failure = Failure::Block(BlockError::PoolStopped { reason: reason.clone() });
            self.finish(id, Err(failure));
            return;
        }
        if let Some(failure) = pending.failed.take() {
            self.abandon(&mut pending);
            self.finish(id, Err(failure));
            return;
        }
        self.need.clear();
        let step = self.execute(id, &pending.operation, &mut pending.progress);
        // A read has told so itself, when it took its picture of the map.
        if matches!(step, Step::Done(_) | Step::Durable(_)) && !matches!(pending.operation, Operation::Read { .. }) {
            self.took_effect(id);
        }
        if self.starving == Some(id) && !matches!(step, Step::Wait) {
            self.starving = None;
        }
        match step {
            Step::Done(output) => self.finish(id, Ok(output)),
            Step::Durable(output) => {
                let sequence = pending.progress.flush_sequence.unwrap_or(self.log.next_sequence());
                if self.log.durable_sequence() >= sequence {
                    self.finish(id, Ok(output));
                } else {
                    self.durable_waiters.push_back((sequence, id, output));
                }
            }
            Step::Wait => {
                if let Some(bad) = pending.progress.bad_block
                    && self.need.blocks.contains(&bad)
                {
                    let failure = match self.place_needed(&pending.operation, bad.0) {
                        Some((object, block)) => self.bad_block(object, block, bad.0),
                        None => BlockError::ReadFailed { lba: operation_lba(&pending.operation) }.into(),
                    };
                    self.abandon(&mut pending);
                    self.finish(id, Err(failure));
                } else {
                    self.wait_for_need(id, pending);
                }
            }
            Step::Space | Step::LogFull if self.starved() => {
                let failure = Self::starved_failure(&pending.operation);
                self.abandon(&mut pending);
                self.finished.push_back((id, Err(failure)));
            }
            Step::Space => {
                self.operations.insert(id, pending);
                self.space_waiters.push_back(id);
            }
            Step::LogFull => {
                self.operations.insert(id, pending);
                self.log_waiters.push_back(id);
            }
            Step::Io => {
                self.operations.insert(id, pending);
            }
            Step::Again => {
                self.operations.insert(id, pending);
                self.ready.push_back(id);
            }
            Step::Later => {
                self.operations.insert(id, pending);
                self.later.push(id);
            }
            Step::Fail(failure) => {
                self.abandon(&mut pending);
                self.finish(id, Err(failure));
            }
        }
    }

    /// Notes that an operation takes effect now.
    pub(crate) fn took_effect(&mut self, id: OperationId) {
        if let Some(effects) = &mut self.effects {
            effects.push((id, self.log.next_sequence()));
        }
    }

    /// Gives back what a failed operation had set aside.
    fn abandon(&mut self, pending: &mut Pending) {
        if let Some(placed) = pending.progress.placed.take() {
            for (address, _) in placed.blocks {
                if address != 0 {
                    self.space.unreserve(address, true);
                }
            }
        }
    }

    fn wait_for_need(&mut self, id: OperationId, mut pending: Pending) {
        if let Some(reason) = self.need.damaged.take() {
            self.abandon(&mut pending);
            self.finish(id, Err(Failure::Pool(PoolError::Damaged(reason))));
            return;
        }
        // A walk keeps what it has done; all others need everything in memory at one moment.
        if pending.progress.scan.is_none() {
            pending.progress.waits = pending.progress.waits.saturating_add(1);
            if pending.progress.waits > MANY_WAITS {
                self.starving.get_or_insert(id);
            }
        }
        let mut keys = self.issue_need();
        keys.sort_unstable();
        keys.dedup();
        pending.waiting = keys.len() as u32;
        if keys.is_empty() {
            self.ready.push_back(id);
        }
        for key in keys {
            self.waiters.entry(key).or_default().push(id);
        }
        self.operations.insert(id, pending);
    }

    /// Requests everything in `need` that is not on its way already; returns what to wait for.
    pub(crate) fn issue_need(&mut self) -> Vec<Key> {
        let mut keys = Vec::new();
        let need = std::mem::take(&mut self.need);
        for &(address, level, crc) in &need.pages {
            let key = Key::Page(address);
            if self.first_to_wait(key) {
                let ticket = self.ticket(Io::Page { address, level, crc, retried: false });
                self.media.read(ticket, BlockAddress(address), Buffer::zeroed(1));
            }
            keys.push(key);
        }
        for &segment in &need.segments {
            let key = Key::Segment(segment);
            let Some((address, _)) = self.space.source(segment) else { continue };
            if self.first_to_wait(key) {
                let ticket = self.ticket(Io::Segment { segment, retried: false });
                self.media.read(ticket, BlockAddress(address), Buffer::zeroed(1));
            }
            keys.push(key);
        }
        for &(address, crc) in &need.blocks {
            let key = Key::Block(address);
            if self.first_to_wait(key) {
                let ticket = self.ticket(Io::Block { address, crc, retried: false });
                self.media.read(ticket, BlockAddress(address), Buffer::zeroed(1));
            }
            keys.push(key);
        }
        self.need = need;
        self.need.clear();
        keys
    }

    /// True when nobody waits for `key` yet, so that it has to be requested.
    fn first_to_wait(&mut self, key: Key) -> bool {
        let first = !self.waiters.contains_key(&key);
        self.waiters.entry(key).or_default();
        first
    }

    /// True when something in `need` could not be read when the pool itself asked for it.
    pub(crate) fn need_is_unreadable(&self) -> bool {
        self.need_keys().any(|key| self.unreadable.contains_key(&key))
    }

    fn need_keys(&self) -> impl Iterator<Item = Key> {
        let pages = self.need.pages.iter().map(|page| Key::Page(page.0));
        pages.chain(self.need.segments.iter().map(|segment| Key::Segment(*segment)))
    }

    /// Requests what the pool itself needs. It stops when nothing of that can be read: without, it cannot go on.
    pub(crate) fn issue_need_or_stop(&mut self) {
        let mut reasons = self.need_keys().map(|key| self.unreadable.get(&key).cloned());
        match reasons.next().flatten() {
            Some(reason) if reasons.all(|reason| reason.is_some()) => {
                drop(reasons);
                self.stop(reason);
            }
            _ => {
                drop(reasons);
                self.issue_need();
            }
        }
    }

    fn wake(&mut self, key: Key, failure: Option<Failure>) {
        let waiters = self.waiters.remove(&key).unwrap_or_default();
        if let (Some(failure), true) = (&failure, waiters.is_empty()) {
            let reason = match failure {
                Failure::Block(error) => error.to_string(),
                Failure::Pool(error) => error.to_string(),
            };
            self.unreadable.insert(key, reason);
        }
        for id in waiters {
            let Some(pending) = self.operations.get_mut(&id) else { continue };
            pending.waiting = pending.waiting.saturating_sub(1);
            if let Some(failure) = &failure {
                pending.failed.get_or_insert_with(|| failure.clone());
            }
            if pending.waiting == 0 {
                self.ready.push_back(id);
            }
        }
    }

    /// A map page cannot be read. Operations that need it fail; scans go around it.
    fn page_failed(&mut self, address: u64, reason: String) {
        let key = Key::Page(address);
        self.note_incident(Incident::Metadata(reason.clone()));
        self.park_drops(|dropped| dropped.address == address);
        let mut failing = Vec::new();
        for id in self.waiters.remove(&key).unwrap_or_default() {
            match self.operations.get_mut(&id) {
                Some(pending) if pending.operation.survives_bad_pages() => {
                    if let Some(scan) = &mut pending.progress.scan {
                        scan.bad_pages.push((address, reason.clone()));
                    }
                    pending.waiting = pending.waiting.saturating_sub(1);
                    if pending.waiting == 0 {
                        self.ready.push_back(id);
                    }
                }
                _ => failing.push(id),
            }
        }
        self.waiters.insert(key, failing);
        self.wake(key, Some(PoolError::Damaged(reason).into()));
    }

    fn complete(&mut self, completion: Completion) {
        let Some(io) = self.io.remove(&completion.ticket) else { return };
        self.note_probe(completion.ticket, completion.result.is_ok());
        let fenced = matches!(completion.result, Err(MediaError::Fenced | MediaError::RootConflict { .. }));
        if let (true, Err(error)) = (fenced, &completion.result) {
            let reason = error.to_string();
            self.stop(reason);
            return;
        }
        if self.stopped.is_some() {
            // What failed may have taken with it what a checkpoint in flight relies on.
            return;
        }
        match io {
            Io::Page { address, level, crc, retried } => {
                let parsed = read_result(completion.result).and_then(|b| Page::parse(&b, address, level, crc));
                match parsed {
                    Ok(page) => {
                        if !self.pages.contains_key(&address) {
                            self.insert_page(address, Rc::new(page));
                        }
                        self.wake(Key::Page(address), None);
                    }
                    Err(_) if !retried => {
                        self.counters.mismatches += 1;
                        let ticket = self.ticket(Io::Page { address, level, crc, retried: true });
                        self.media.read(ticket, BlockAddress(address), Buffer::zeroed(1));
                    }
                    Err(reason) => self.page_failed(address, reason),
                }
            }
            Io::Segment { segment, retried } => {
                let loaded = read_result(completion.result).and_then(|b| self.space.load(segment, &b));
                match loaded {
                    Ok(()) => self.wake(Key::Segment(segment), None),
                    Err(reason) => {
                        if let (false, Some((address, _))) = (retried, self.space.source(segment)) {
                            let ticket = self.ticket(Io::Segment { segment, retried: true });
                            self.media.read(ticket, BlockAddress(address), Buffer::zeroed(1));
                        } else {
                            self.note_incident(Incident::Metadata(reason.clone()));
                            self.space.lose(segment, &reason);
                            self.wake(Key::Segment(segment), Some(PoolError::Damaged(reason).into()));
                        }
                    }
                }
            }
            Io::Block { address, crc, retried } => self.block_read(address, crc, retried, completion.result),
            Io::Read { operation, blocks, address } => self.read_arrived(operation, blocks, address, completion.result),
            Io::Check { generation, read } => self.check_arrived(generation, read, completion.result),
            Io::Verify { operation, blocks } => self.verified(operation, blocks, completion.result),
            Io::Placed { operation } => {
                // Nothing refers to the blocks yet, so that they could not be written harms only this operation.
                let failure = match completion.result {
                    Ok(_) => None,
                    Err(MediaError::NoSpace { .. }) => Some(BlockError::PoolFull),
                    Err(error) => return self.stop(format!("a data write failed: {error}")),
                };
                let Some(pending) = self.operations.get_mut(&operation) else { return };
                let Some(placed) = &mut pending.progress.placed else { return };
                placed.writes -= 1;
                let last = placed.writes == 0;
                if let Some(failure) = failure {
                    pending.failed.get_or_insert(failure.into());
                }
                match (last, pending.failed.is_some()) {
                    (false, _) => {}
                    (true, false) => self.placed_unflushed.push(operation),
                    (true, true) => self.ready.push_back(operation),
                }
            }
            Io::PlacedFlush { operations } => {
                self.placed_flush_in_flight = false;
                match completion.result {
                    Ok(_) => {
                        if std::mem::take(&mut self.flip_waits) {
                            self.checkpoint_flushed();
                        }
                        for id in operations {
                            self.placed_ready(id);
                        }
                    }
                    Err(error) => self.stop(format!("a flush failed: {error}")),
                }
            }
            Io::Frame { position } => match completion.result {
                Ok(done) => {
                    if let Done::Written(Some(buffer)) = done {
                        self.log.recycle(buffer);
                    }
                    self.log.frame_durable(position);
                    self.acknowledge();
                }
                Err(error) => self.stop(format!("a log write failed: {error}")),
            },
            Io::Destage { addresses, data, retried } => match completion.result {
                Ok(_) => {
                    let frozen_at = self.frozen.as_ref().map(|f| f.sequence);
                    if let Some(frozen) = &mut self.frozen {
                        frozen.pace.progress(addresses.len());
                    }
                    for address in addresses {
                        self.destage_in_flight -= 1;
                        self.counters.destaged += 1;
                        self.blocks.end_destage(address, true, frozen_at);
                    }
                }
                Err(MediaError::NoSpace { .. }) if self.replaying.is_none() => {
                    self.park(Io::Destage { addresses, data, retried });
                }
                Err(_) if !retried => self.write_destage(data, true),
                Err(error) => self.stop(format!("a destage write failed: {error}")),
            },
            Io::Checkpoint { blocks, rewrite } => match completion.result {
                Ok(_) => self.checkpoint_written(blocks),
                Err(MediaError::NoSpace { .. }) if self.replaying.is_none() => {
                    self.park(Io::Checkpoint { blocks, rewrite });
                }
                Err(error) => self.stop(format!("a checkpoint write failed: {error}")),
            },
            Io::Discard { address, blocks } => self.discarded(address, blocks, &completion.result),
            Io::CheckpointFlush => match completion.result {
                // Of two flushes at once only one may tell that writes were lost.
                Ok(_) if self.placed_flush_in_flight => self.flip_waits = true,
                Ok(_) => self.checkpoint_flushed(),
                Err(error) => self.stop(format!("a flush failed: {error}")),
            },
            Io::Swap => match completion.result {
                Ok(_) => self.checkpoint_done(),
                Err(error) => self.stop(format!("the superblock could not be written: {error}")),
            },
        }
    }

    fn block_read(&mut self, address: u64, crc: u32, retried: bool, result: Result<Done, MediaError>) {
        let key = Key::Block(address);
        if self.blocks.get(address, crc).is_some() {
            // Written while the read was on its way.
            self.wake(key, None);
            return;
        }
        match read_result(result) {
            Ok(buffer) if crate::page::crc32c(&buffer) == crc => {
                let mut data = [0; BLOCK_BYTES];
                data.copy_from_slice(&buffer);
                self.blocks.cache(address, Rc::new(data), crc);
                self.wake(key, None);
            }
            _ if !retried => {
                self.counters.mismatches += 1;
                let ticket = self.ticket(Io::Block { address, crc, retried: true });
                self.media.read(ticket, BlockAddress(address), Buffer::zeroed(1));
            }
            // The operations plan again, since the block may have been overwritten meanwhile; one that still needs it fails.
            Ok(_) | Err(_) => {
                for id in self.waiters.get(&key).cloned().unwrap_or_default() {
                    if let Some(pending) = self.operations.get_mut(&id) {
                        pending.progress.bad_block = Some((address, crc));
                    }
                }
                self.wake(key, None);
            }
        }
    }

    fn flush_placed(&mut self) {
        if self.placed_unflushed.is_empty() || self.placed_flush_in_flight {
            return;
        }
        let operations = std::mem::take(&mut self.placed_unflushed);
        if self.media.capabilities().needs_flush {
            self.placed_flush_in_flight = true;
            let ticket = self.ticket(Io::PlacedFlush { operations });
            self.media.flush(&self.fence, ticket);
        } else {
            for id in operations {
                self.placed_ready(id);
            }
        }
    }

    fn placed_ready(&mut self, id: OperationId) {
        if let Some(pending) = self.operations.get_mut(&id) {
            if let Some(placed) = &mut pending.progress.placed {
                placed.flushed = true;
            }
            self.ready.push_back(id);
        }
    }

    pub(crate) fn make_ready(&mut self, id: OperationId) {
        self.ready.push_back(id);
    }

    pub(crate) fn pending_mut(&mut self, id: OperationId) -> Option<&mut Pending> {
        self.operations.get_mut(&id)
    }

    fn acknowledge(&mut self) {
        let durable = self.log.durable_sequence();
        while let Some((sequence, _, _)) = self.durable_waiters.front() {
            if *sequence > durable {
                break;
            }
            if let Some((_, id, output)) = self.durable_waiters.pop_front() {
                self.finish(id, Ok(output));
            }
        }
    }

    fn write_frames(&mut self) -> bool {
        let mut progress = false;
        while let Some((position, offset, frame)) =
            self.log.next_frame(&self.uuid, self.options.incarnation, self.epoch)
        {
            self.counters.frames += 1;
            self.counters.log_bytes += frame.len() as u64;
            let ticket = self.ticket(Io::Frame { position });
            self.media.append(&self.fence, ticket, offset, frame);
            progress = true;
        }
        progress
    }

    /// What waits for log or space tries again.
    pub(crate) fn wake_waiting(&mut self) {
        self.ready.extend(std::mem::take(&mut self.log_waiters));
        self.ready.extend(std::mem::take(&mut self.space_waiters));
    }

    /// A checkpoint ended: what waited for log space goes on.
    pub(crate) fn retry_log(&mut self) {
        self.ready.extend(std::mem::take(&mut self.log_waiters));
    }

    fn evict(&mut self) {
        // The same for a checkpoint, or the dirty pages that it would clean leave no room for what it needs.
        if self.starving.is_some_and(|id| self.operations.contains_key(&id)) || self.freeze_waits > MANY_WAITS {
            return;
        }
        let memory = self.options.memory_bytes;
        self.evict_pages(memory * 3 / 8 / PAGE_BYTES);
        self.space.evict((memory / 4 / 5000).max(16));
        self.blocks.evict((memory / 8 / BLOCK_BYTES).max(64));
    }

    /// What is known of an object.
    pub fn object(&self, id: u64) -> Option<ObjectInfo> {
        let o = self.objects.get(&id).filter(|o| o.id >= FIRST_OBJECT)?;
        Some(ObjectInfo {
            id: ObjectId(o.id),
            kind: o.kind,
            parent: (o.parent != 0).then_some(ObjectId(o.parent)),
            size_bytes: o.size_bytes,
            mapped_bytes: o.mapped * BLOCK_BYTES as u64,
            write_cache: o.write_cache,
            zero_detection: o.zero_detection,
            reservation: o.reservation,
            promised_bytes: o.promised() * BLOCK_BYTES as u64,
        })
    }

    /// Whether a block (4 KiB, counted from the start of the object) is mapped. `None` when a map page has to be read first, and for an
    /// object that does not exist.
    pub fn is_mapped(&mut self, object: u64, block: u64) -> Option<bool> {
        let entry = self.lookup(object, block);
        self.need.clear();
        entry.map(|entry| !entry.is_empty())
    }

    /// Ids of every object, sorted.
    pub fn object_ids(&self) -> Vec<u64> {
        let mut ids: Vec<_> = self.objects.keys().copied().filter(|id| *id >= FIRST_OBJECT).collect();
        ids.sort_unstable();
        ids
    }

    /// A fresh object id.
    pub fn new_object_id(&mut self) -> u64 {
        let id = self.next_object;
        self.next_object += 1;
        id
    }

    /// The documents.
    pub fn documents(&self) -> &BTreeMap<String, Bytes> {
        &self.documents
    }

    /// Space of the pool. Blocks freed but not yet released, and detached sub-trees already walked, count as free.
    pub fn space(&self) -> PoolSpace {
        let block = BLOCK_BYTES as u64;
        let size = self.media.block_count() * block;
        // What is kept back for freeing space and for checkpoints is not for data.
        let fixed = size - (self.space.usable() - self.reserve_blocks()) * block;
        let used = (fixed + self.space.allocated() * block).min(size);
        PoolSpace {
            size_bytes: size,
            used_bytes: used,
            free_bytes: size - used,
            metadata_bytes: fixed + self.metadata_blocks * block,
            promised_bytes: self.promised * block,
            reclaimable_bytes: (self.space.pinned() + self.droppable_blocks) * block,
        }
    }

    /// Detached sub-trees that wait to be given back.
    pub fn droppable(&self) -> usize {
        self.drops.len()
    }

    /// Bytes of the log in use.
    pub fn log_used_bytes(&self) -> u64 {
        self.log.used()
    }
}

impl<M: Media> Core<M> {
    /// The object and block through which an operation needs the old content at `address`.
    fn place_needed(&mut self, operation: &Operation, address: u64) -> Option<(u64, u64)> {
        let block = BLOCK_BYTES as u64;
        let ends = |offset: u64, length: u64| [offset / block, (offset + length.max(1) - 1) / block];
        let mut candidates: Vec<(u64, u64)> = Vec::new();
        match operation {
            Operation::Write { object, offset, data, .. } => {
                candidates.extend(ends(*offset, data.len() as u64).map(|at| (*object, at)));
            }
            Operation::CompareAndWrite { object, offset, data, .. } => {
                let [first, last] = ends(*offset, data.len() as u64);
                candidates.extend((first..=last).map(|at| (*object, at)));
            }
            Operation::Zero { object, ranges, .. } => {
                let ends = ranges.iter().flat_map(|(offset, length)| ends(*offset, *length));
                candidates.extend(ends.map(|at| (*object, at)));
            }
            Operation::Clone { source, source_offset, destination, destination_offset, length } => {
                candidates.extend(ends(*source_offset, *length).map(|at| (*source, at)));
                candidates.extend(ends(*destination_offset, *length).map(|at| (*destination, at)));
            }
            _ => {}
        }
        let found = candidates
            .into_iter()
            .find(|&(object, at)| self.lookup(object, at).is_some_and(|entry| entry.address() == address));
        self.need.clear();
        found
    }
}

fn operation_lba(operation: &Operation) -> u64 {
    let offset = match operation {
        Operation::Read { offset, .. }
        | Operation::Write { offset, .. }
        | Operation::CompareAndWrite { offset, .. }
        | Operation::Provisioning { offset, .. } => *offset,
        Operation::Zero { ranges, .. } => ranges.first().map_or(0, |r| r.0),
        Operation::Clone { source_offset, .. } => *source_offset,
        Operation::ReclaimZeros { offset, .. } | Operation::Verify { offset, .. } => *offset,
        Operation::Flush
        | Operation::Catalog(_)
        | Operation::Unique { .. }
        | Operation::PlacesOf(_)
        | Operation::CheckStep
        | Operation::Recount { .. }
        | Operation::Grow(_) => 0,
    };
    offset / 512
}

pub(crate) fn read_result(result: Result<Done, MediaError>) -> Result<Buffer, String> {
    match result {
        Ok(Done::Read(buffer)) => Ok(buffer),
        Ok(_) => Err("the medium answered a read with something else".into()),
        Err(error) => Err(error.to_string()),
    }
}
