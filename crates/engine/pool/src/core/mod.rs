//! The core: one single-threaded, deterministic state machine that owns the pool.
//!
//! Callers [`submit`](Core::submit) operations and take results with [`poll_finished`](Core::poll_finished); [`pump`](Core::pump) moves everything
//! forward: completions of the medium, operations that waited for them, log frames, destaging, checkpoints, reclaim. There is no clock, thread or
//! lock here. An operation is planned first (which may find that map pages, counts or data have to be read, and then waits without
//! having changed anything) and then executed in one step, so every operation takes effect at one instant.

pub(crate) mod admission;
pub(crate) mod checkpoint;
pub(crate) mod completion;
mod discard;
pub(crate) mod grow;
#[cfg(test)]
mod large_tests;
pub(crate) mod offline;
pub(crate) mod operation;
pub(crate) mod recovery;
pub(crate) mod scan;
pub(crate) mod starved;

use crate::catalog::documents::Documents;
use crate::catalog::object::Dropped;
use crate::catalog::objects::Objects;
use crate::content::blocks::Blocks;
use crate::content::stock::Stock;
use crate::core::checkpoint::Frozen;
use crate::core::completion::Io;
use crate::interface::operation::{Failure, Operation, OperationId, Options, Output, operation_lba};
use crate::interface::{Incident, ObjectId, ObjectInfo, PoolError, PoolSpace};
use crate::log::Log;
use crate::map::page::{PAGE_BYTES, Page};
use crate::schedule::step::{Key, Need, Pending, Progress, Step};
use crate::space::SpaceMap;
use block::BlockError;
use bytes::Bytes;
use media::{BLOCK_BYTES, Fence, Media, Ticket};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

/// Set in the ids of operations that the pool gives itself.
const INTERNAL: OperationId = 1 << 63;

/// An operation that has waited so often for the medium probably needs more at once than memory holds.
const MANY_WAITS: u16 = 32;
/// Writes up to this many bytes carry their data in the log.
pub(crate) const INLINE_BYTES: usize = 32 << 10;

pub(crate) struct Cached {
    pub page: Rc<Page>,
    pub referenced: bool,
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
    pub(crate) owned: FxHashMap<(u64, u64), crate::map::tree::Path>,
    pub(crate) space: SpaceMap,
    pub(crate) blocks: Blocks,
    pub(crate) objects: Objects,
    pub(crate) documents: Documents,
    /// Length of the drop queue and of the documents in the last checkpoint.
    pub(crate) stored_bytes: u64,
    pub(crate) drops: Vec<Dropped>,
    pub(crate) drops_changed: bool,
    /// Something was given back since the last checkpoint began.
    pub(crate) given_back: bool,
    /// Detached sub-trees that cannot be walked, because a page or counts cannot be read: their space stays in use until it is repaired.
    pub(crate) parked: Vec<Dropped>,
    /// Blocks mapped below the detached sub-trees.
    pub(crate) droppable_blocks: u64,
    /// Large writes whose blocks are taken and that have not taken effect.
    pub(crate) placed: usize,
    /// Shared pages that the pass of `Verify` under way has seen.
    pub(crate) verified: FxHashMap<u64, Box<[u64; crate::core::scan::VERIFIED_WORDS]>>,
    pub(crate) incidents: VecDeque<Incident>,
    pub(crate) growing: Option<crate::core::grow::Growing>,
    pub(crate) starved: crate::core::starved::Starved,
    pub(crate) discards_in_flight: usize,
    /// A checkpoint is flushed, and flips when the flush of large writes has ended well too.
    pub(crate) flip_waits: bool,
    pub(crate) online_check: Option<Box<crate::core::scan::online_check::OnlineCheck>>,
    /// Operations that want another turn, but not before others had one.
    later: Vec<OperationId>,
    /// Pages that a scan may look at in one turn.
    pub(crate) scan_pages: usize,
    /// Operations of hosts submitted so far.
    host_operations: u64,
    pub(crate) metadata_blocks: u64,
    pub(crate) stock: Stock,
    pub(crate) log: Log,
    pub(crate) frozen: Option<Frozen>,
    pub(crate) checkpoint_wanted: bool,
    pub(crate) destage_in_flight: usize,
    pub(crate) replaying: Option<crate::core::recovery::ReplayPoint>,
    /// The page that the last blocking load found damaged.
    pub(crate) damaged_page: Option<crate::core::recovery::lost::DamagedPage>,
    pub(crate) stopped: Option<String>,
    pub(crate) operations: FxHashMap<OperationId, Pending>,
    next_operation: OperationId,
    pub(crate) ready: VecDeque<OperationId>,
    pub(crate) waiters: FxHashMap<Key, Vec<OperationId>>,
    /// An operation that what others need keeps pushing out of memory: until it ends, nothing is dropped.
    starving: Option<OperationId>,
    /// What could not be read although only the pool itself wanted it, and why; until the next checkpoint it is not asked for again.
    pub(crate) unreadable: FxHashMap<Key, String>,
    /// How often a checkpoint could not start since something had to be read first.
    pub(crate) freeze_waits: u16,
    pub(crate) space_waiters: VecDeque<OperationId>,
    pub(crate) log_waiters: VecDeque<OperationId>,
    durable_waiters: VecDeque<(u64, OperationId, Output)>,
    pub(crate) placed_unflushed: Vec<OperationId>,
    pub(crate) placed_flush_in_flight: bool,
    pub(crate) io: FxHashMap<Ticket, Io>,
    pub(crate) next_ticket: Ticket,
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
            objects: Objects::new(),
            documents: Documents::default(),
            stored_bytes: 0,
            drops: Vec::new(),
            drops_changed: false,
            given_back: false,
            parked: Vec::new(),
            droppable_blocks: 0,
            placed: 0,
            verified: FxHashMap::default(),
            incidents: VecDeque::new(),
            growing: None,
            starved: Default::default(),
            discards_in_flight: 0,
            flip_waits: false,
            online_check: None,
            later: Vec::new(),
            scan_pages: 16,
            host_operations: 0,
            metadata_blocks: 0,
            stock: Stock::default(),
            log,
            frozen: None,
            checkpoint_wanted: false,
            destage_in_flight: 0,
            replaying: None,
            damaged_page: None,
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
        if !self.objects.recount_due() || !self.drops.is_empty() || self.replaying.is_some() {
            return;
        }
        for object in self.objects.take_due_recounts() {
            let id = self.next_operation | INTERNAL;
            self.next_operation += 1;
            let operation = Operation::Recount { object };
            self.operations.insert(id, Pending { operation, progress: Progress::default(), waiting: 0, failed: None });
            self.later.push(id);
        }
    }

    /// Reports a result to whoever submitted the operation.
    #[inline]
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
        if crate::mutations::stops_now() {
            self.stop("the map contradicts itself (as the simulation wants)");
        }
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
        let free = self.space.available().saturating_sub(self.objects.promises().promised);
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
        if self.log.calls_for_checkpoint()
            || self.dirty_page_bytes() > self.options.memory_bytes / 4
            || self.space.dirty_segments() * 5000 > self.options.memory_bytes / 8
            || (!self.log_waiters.is_empty() && self.frozen.is_none() && !self.memory_is_full())
            || (!self.space_waiters.is_empty() && self.space.pinned() > 0)
            || self.much_given_back()
        {
            self.checkpoint_wanted = true;
        }
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
            let failure = match failure {
                Failure::Pool(PoolError::Damaged(reason)) => {
                    self.damage_of(&pending.operation, pending.progress.bad_page, reason)
                }
                failure => failure,
            };
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
            Step::Space | Step::LogFull if self.starved() && id & INTERNAL == 0 => {
                let failure = Self::starved_failure(&pending.operation);
                self.abandon(&mut pending);
                self.finish(id, Err(failure));
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
        if let Operation::Recount { object } = &pending.operation {
            self.objects.end_count(*object);
        }
        if let Some(placed) = pending.progress.placed.take() {
            self.no_longer_in_flight(&placed);
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
            let failure = self.damage_of(&pending.operation, None, reason);
            self.finish(id, Err(failure));
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

    pub(crate) fn make_ready(&mut self, id: OperationId) {
        self.ready.push_back(id);
    }

    pub(crate) fn pending_mut(&mut self, id: OperationId) -> Option<&mut Pending> {
        self.operations.get_mut(&id)
    }

    pub(crate) fn acknowledge(&mut self) {
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
        let o = self.objects.user(id)?;
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
        self.objects.users().map(|object| object.id).collect()
    }

    /// A fresh object id.
    pub fn new_object_id(&mut self) -> u64 {
        self.objects.take_id()
    }

    /// The documents.
    pub fn documents(&self) -> &BTreeMap<String, Bytes> {
        self.documents.all()
    }

    /// Space of the pool. Blocks freed but not yet released, and detached sub-trees already walked, count as free.
    pub fn space(&self) -> PoolSpace {
        let block = BLOCK_BYTES as u64;
        let size = self.media.block_count() * block;
        // What is kept back for freeing space, for checkpoints and for work in a full pool is not for new data.
        let fixed = size - self.space.usable().saturating_sub(self.reserve_blocks() + self.working_blocks()) * block;
        let used = (fixed + self.space.allocated() * block).min(size);
        PoolSpace {
            size_bytes: size,
            used_bytes: used,
            free_bytes: size - used,
            metadata_bytes: fixed + self.metadata_blocks * block,
            promised_bytes: self.objects.promises().promised * block,
            reclaimable_bytes: (self.space.pinned() + self.droppable_blocks) * block,
            starved: self.starved(),
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
