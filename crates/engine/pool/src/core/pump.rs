//! The pump: submits and attempts operations, takes completions, starts frames, checkpoints and
//! discards.

use crate::core::Core;
use crate::core::damage::unknown_place;
use crate::core::progress::{Origin, Progress};
use crate::core::waiting::MANY_WAITS;
use crate::geometry::PATH_PAGES;
use crate::interface::operation::{Failure, Operation, OperationId, Output};
use crate::interface::{Incident, PoolError};
use crate::map::page::PAGE_BYTES;
use crate::schedule::Pending;
use crate::schedule::is_internal;
use crate::schedule::step::Step;
use block::BlockError;
use media::{BLOCK_BYTES, Media};

/// Part of the memory of the pool that lets one more object stay in use. An object in use takes far
/// less; an object at rest comes into use again in less than a microsecond.
const MEMORY_PER_OBJECT: usize = 64 << 10;
/// Attempts of a read that finishes without a pump: map pages of each level, then content.
const READ_STEPS: usize = PATH_PAGES + 1;
/// Answers of the medium to such reads after which a pump is due.
const UNPUMPED: usize = 64;
/// Most operations that their submitters are asked to attempt while others wait for the log behind them.
const MOST_DUE: usize = 32;
/// Pages of detached sub-trees that a turn gives back while hosts wait for their space.
const RECLAIMED: usize = 64;
/// Memory of a segment's counts and of its table entry, in bytes.
const SEGMENT_MEMORY: usize = 5000;
/// Memory of a map page and of its table entry, in bytes.
const PAGE_MEMORY: usize = PAGE_BYTES + 128;
/// Memory of a cached block and of its table entries, in bytes.
const BLOCK_MEMORY: usize = BLOCK_BYTES + 160;

impl<M: Media> Core<M> {
    /// Submits an operation and attempts it at once. [`Core::poll_finished`] returns its result,
    /// perhaps immediately.
    pub fn submit(&mut self, operation: Operation) -> OperationId {
        self.submit_with(operation, Progress::default())
    }

    /// Submits an operation of the replication group of the object that it changes, which may be a replica.
    pub fn submit_as_group(&mut self, operation: Operation) -> OperationId {
        self.submit_with(operation, Progress { origin: Origin::Group, ..Progress::default() })
    }

    /// Submits an operation with its first progress.
    #[inline]
    pub(super) fn submit_with(&mut self, operation: Operation, progress: Progress) -> OperationId {
        let (id, pending) = self.schedule.admit(operation, progress);
        if crate::mutations::stops_now() {
            self.stop("the map contradicts itself (as the simulation wants)");
        }
        let reads = matches!(pending.operation, Operation::Read { .. });
        self.attempt(id, pending);
        if reads && self.schedule.contains(id) {
            self.read_at_once();
        }
        id
    }

    /// Takes what a medium in memory has answered already, after the submission of a read: the read then finishes
    /// without a pump, and need not wait for those that others have made due.
    pub(super) fn read_at_once(&mut self) {
        if !self.medium.answers_at_once() {
            return;
        }
        for _ in 0..READ_STEPS {
            while let Some(completion) = self.medium.poll() {
                self.turn.note_unpumped();
                self.complete(completion);
            }
            let Some((id, pending)) = self.schedule.next_ready() else { return };
            self.attempt(id, pending);
        }
    }

    /// True if reads that finished without a pump make one due, which keeps memory within its bound.
    #[inline]
    pub(crate) fn owes_eviction(&self) -> bool {
        self.turn.unpumped() >= UNPUMPED
    }

    /// True if operations wait for the log: a pump resumes them.
    #[inline]
    pub(crate) fn waits_for_log(&self) -> bool {
        self.schedule.waits_for_log()
    }

    /// Advances everything without blocking, as far as one turn suffices: [`Core::wants_turn`] tells
    /// whether work is left. `background` is the amount of background work, as for
    /// [`Core::background`].
    pub fn pump(&mut self, background: usize) {
        self.background(background);
        self.advance();
        self.evict();
    }

    /// Part of a pump: everything but background work and eviction, which must follow.
    pub fn advance(&mut self) {
        self.turn.begin();
        self.probe_parked();
        self.advance_all();
    }

    /// Does background work: gives back up to `pages` pages of detached sub-trees, and lets every
    /// scan process as many. The next pump submits the requests that they need.
    pub fn background(&mut self, pages: usize) {
        if pages == 0 || self.stopped.is_some() {
            return;
        }
        self.scan_pages = pages;
        self.reclaim(pages);
        self.recount_if_due();
        for id in self.schedule.take_later() {
            if let Some(pending) = self.schedule.take(id) {
                self.attempt(id, pending);
            }
        }
    }

    /// Recounts the shared blocks of reserved volumes once all detached sub-trees have been given
    /// back: their promises may have become smaller.
    fn recount_if_due(&mut self) {
        if self.map.objects().recount_due() && self.map.drops().queue().is_empty() && self.replaying.is_none() {
            for object in self.map.take_due_recounts() {
                self.schedule.admit_internal(Operation::Recount { object });
            }
        }
    }

    fn advance_all(&mut self) {
        loop {
            let mut progress = false;
            let before = self.medium.issued();
            while !self.turn.is_over()
                && let Some(completion) = self.medium.poll()
            {
                self.turn.step();
                self.complete(completion);
                progress = true;
            }
            while !self.turn.is_over()
                && let Some((id, pending)) = self.schedule.next_ready()
            {
                self.turn.step();
                self.attempt(id, pending);
                progress = true;
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
            self.medium.submit();
            progress |= self.medium.issued() != before;
            if self.turn.is_over() {
                self.turn.cut();
                break;
            }
            // A checkpoint that has ended meanwhile makes room in the log.
            if !progress && !self.retry_space() && !self.retry_paced() {
                break;
            }
        }
    }

    fn want_checkpoint(&mut self) {
        if self.replaying.is_some() {
            // Recovery requests its checkpoints itself, between frames.
            return;
        }
        if self.log.calls_for_checkpoint()
            || self.map_calls_for_checkpoint()
            || (self.schedule.waits_for_log() && !self.checkpoints.in_flight() && !self.memory_is_full())
            || (self.schedule.waits_for_space() && self.map.space().pinned() > 0)
            || self.enough_freed()
        {
            self.checkpoints.request();
        }
    }

    /// True if map pages or counts that only a checkpoint can clean take more than their part of the memory: a quarter
    /// and an eighth. Eviction leaves pages three eighths, and counts a quarter.
    pub(super) fn map_calls_for_checkpoint(&self) -> bool {
        let memory = self.options.memory_bytes;
        self.map.pages().dirty_bytes() > memory / 4 || self.map.space().dirty_segments() * SEGMENT_MEMORY > memory / 8
    }

    fn attempt(&mut self, id: OperationId, mut pending: Pending<Progress>) {
        if let Some(reason) = &self.stopped {
            let failure = Failure::Block(BlockError::PoolStopped { reason: reason.clone() });
            self.schedule.leave_log(&mut pending, false);
            self.schedule.finish(id, Err(failure));
            return;
        }
        if let Some(failure) = pending.take_failure() {
            let failure = match failure {
                Failure::Pool(PoolError::Damaged(reason)) => match &pending.progress.transaction {
                    Some(transaction) => self.damage_of_transaction(transaction, reason),
                    None => self.damage_of(&pending.operation, pending.progress.bad_page, reason),
                },
                failure => failure,
            };
            return self.fail(id, pending, failure);
        }
        pending.progress.is_behind = self.waits_behind(&pending);
        // A transaction finds out first whether it changes anything.
        if pending.progress.is_behind && !matches!(pending.operation, Operation::Transaction(_)) {
            self.schedule.resume_eviction(id);
            return self.schedule.keep_for_log(id, pending);
        }
        self.map.forget_need();
        let step = self.execute(id, &pending.operation, &mut pending.progress);
        self.settle(id, pending, step);
    }

    /// True if an operation has to wait for the log because others do. A short record would always find room in
    /// it before a long one.
    #[inline]
    pub(super) fn waits_behind(&self, pending: &Pending<Progress>) -> bool {
        self.schedule.is_behind_log_waiters(pending) && !self.has_parked_writes()
    }

    /// Does what the step of an operation asks for.
    #[inline]
    pub(super) fn settle(&mut self, id: OperationId, mut pending: Pending<Progress>, step: Step) {
        // A read notes its effect itself, when it captures the state of the map.
        if matches!(step, Step::Done(_) | Step::Durable(_)) && !matches!(pending.operation, Operation::Read { .. }) {
            self.took_effect(id);
        }
        if !matches!(step, Step::Wait | Step::Submitter) {
            self.schedule.resume_eviction(id);
        }
        if !matches!(step, Step::LogFull | Step::Submitter) {
            self.schedule.leave_log(&mut pending, matches!(step, Step::Wait | Step::Space));
        }
        match step {
            Step::Done(output) => self.schedule.finish(id, Ok(output)),
            Step::Durable(output) => {
                let sequence = pending.progress.flush_sequence.unwrap_or(self.log.next_sequence());
                if self.log.durable_sequence() >= sequence {
                    self.schedule.finish(id, Ok(output));
                } else {
                    self.schedule.finish_when_durable(sequence, id, output);
                }
            }
            Step::Wait => self.wait_for_need(id, pending),
            Step::Space | Step::LogFull if self.has_parked_writes() && !is_internal(id) => {
                let failure = Self::full_below_failure(&pending.operation);
                self.fail(id, pending, failure);
            }
            Step::Space => self.schedule.keep_for_space(id, pending),
            Step::LogFull => self.schedule.keep_for_log(id, pending),
            Step::Io => self.schedule.keep(id, pending),
            Step::Again => self.schedule.keep_ready(id, pending),
            Step::Later => self.schedule.keep_for_later(id, pending),
            Step::Submitter => self.schedule.keep_for_submitter(id, pending),
            Step::Fail(failure) => self.fail(id, pending, failure),
        }
    }

    /// Executes one step of an operation.
    fn execute(&mut self, id: OperationId, operation: &Operation, progress: &mut Progress) -> Step {
        match operation {
            Operation::Read { object, offset, length } => self.read_step(id, *object, *offset, *length, progress),
            Operation::Write { object, offset, data, forced } => {
                self.write_step(id, *object, *offset, data, *forced, progress)
            }
            Operation::Zero { object, ranges, forced } => self.zero_step(*object, ranges, *forced, progress),
            Operation::Clone { source, source_offset, destination, destination_offset, length } => {
                self.clone_step(*source, *source_offset, *destination, *destination_offset, *length, progress)
            }
            Operation::Capture { source, capture, ranges } => self.capture_step(*source, *capture, ranges, progress),
            Operation::CompareAndWrite { object, offset, compare, data, forced } => {
                self.compare_step(*object, *offset, compare, data, *forced, progress)
            }
            Operation::Flush => {
                progress.flush_sequence = Some(self.log.next_sequence());
                Step::Durable(Output::Done)
            }
            Operation::Provisioning { object, offset, limit } => self.provisioning_step(*object, *offset, *limit),
            Operation::Mapped { object, range } => self.mapped_step(*object, *range),
            Operation::Catalog(changes) => self.catalog_step(changes, progress),
            Operation::Unique { objects } => self.unique_step(objects, progress),
            Operation::UniqueIn { object, range } => self.unique_in_step(*object, *range, progress),
            Operation::ReclaimZeros { object, offset } => self.zeros_step(*object, *offset, progress),
            Operation::Reshare(reshare) => self.reshare_step(reshare, progress),
            Operation::Verify { object, offset, anew } => self.verify_step(id, *object, *offset, *anew, progress),
            Operation::PlacesOf(blocks) => self.places_step(blocks, progress),
            Operation::DifferenceStep { difference, from } => self.difference_step(*difference, *from, progress),
            Operation::CheckStep => self.check_step(id),
            Operation::Recount { object } => self.recount_step(*object, progress),
            Operation::Grow(growth) => self.grow_step(id, growth),
            Operation::Transaction(mark) => self.transaction_step(id, *mark, progress),
        }
    }

    /// Ends an operation without effect; gives back the blocks that it has reserved.
    fn fail(&mut self, id: OperationId, mut pending: Pending<Progress>, failure: Failure) {
        if let Operation::Recount { object } = &pending.operation {
            self.map.end_count(*object);
        }
        self.schedule.leave_log(&mut pending, false);
        if pending.progress.placed.as_ref().is_some_and(|placed| placed.writes > 0) {
            // Its blocks may not be used for anything else before the writes to them have ended.
            pending.fail(failure);
            return self.schedule.keep(id, pending);
        }
        self.give_back_placed(&mut pending.progress);
        if let Some(transaction) = &mut pending.progress.transaction {
            self.unpin(transaction);
        }
        self.schedule.finish(id, Err(failure));
    }

    /// Keeps an operation until the data that it needs has been read. It fails if the same read
    /// failed before.
    fn wait_for_need(&mut self, id: OperationId, mut pending: Pending<Progress>) {
        if let Some(bad) = pending.progress.bad_block
            && self.map.need().blocks.contains(&bad)
        {
            let seen = pending.progress.transaction.as_ref().map(|transaction| &transaction.seen[..]);
            let failure = match (self.place_needed(&pending.operation, seen.unwrap_or_default(), bad.0), seen) {
                (Some((_, object, block)), Some(_)) => {
                    self.bad_block(object, block, bad.0);
                    Failure::Unreadable { object, block }
                }
                (Some((side, object, block)), None) => side.fault(self.bad_block(object, block, bad.0)),
                (None, _) => unknown_place(&pending.operation).into(),
            };
            return self.fail(id, pending, failure);
        }
        if let Some(reason) = self.map.take_damage() {
            self.incidents.note(Incident::Metadata(reason.clone()));
            let failure = match &pending.progress.transaction {
                Some(transaction) => self.damage_of_transaction(transaction, reason),
                None => self.damage_of(&pending.operation, None, reason),
            };
            return self.fail(id, pending, failure);
        }
        // A scan keeps its progress; every other operation, and one that compares blocks, needs all its data in memory
        // at once.
        if pending.progress.scan.is_none() || matches!(pending.operation, Operation::Reshare(_)) {
            pending.progress.waits = pending.progress.waits.saturating_add(1);
            if pending.progress.transaction.is_some() {
                self.counters.most_waits = self.counters.most_waits.max(pending.progress.waits);
            }
            if pending.progress.waits > MANY_WAITS {
                self.schedule.hold_eviction(id);
            }
        }
        let keys = self.issue_need();
        self.schedule.keep_waiting(id, pending, keys);
    }

    fn write_frames(&mut self) -> bool {
        let mut progress = false;
        let epoch = self.map.pages().epoch();
        while let Some((position, offset, frame)) = self.log.next_frame(&self.uuid, self.options.incarnation, epoch) {
            self.append_frame(position, offset, frame);
            progress = true;
        }
        progress
    }

    /// Resumes operations that wait for log space, in order, as far as it suffices. True if one got on.
    fn retry_paced(&mut self) -> bool {
        if !self.schedule.waits_for_log() || !self.log_takes(1) {
            return false;
        }
        let (mut from, mut due, mut resumed) = (0, 0, false);
        while due < MOST_DUE {
            if self.turn.is_over() {
                self.turn.cut();
                break;
            }
            let Some((place, id, pending)) = self.schedule.next_log_waiter(from, &mut due) else { break };
            self.turn.step();
            self.attempt(id, pending);
            if self.schedule.is_log_waiter(place) {
                // No room for this operation yet: those behind it wait their turn.
                break;
            }
            (from, resumed) = (place, true);
        }
        resumed
    }

    /// Retries operations that found no space if some has come back, and fails them if none can.
    /// True if there is work to do now.
    fn retry_space(&mut self) -> bool {
        if !self.schedule.waits_for_space() {
            return false;
        }
        if !self.map.drops().queue().is_empty() && self.turn.may_reclaim() {
            let before = self.counters.reclaimed;
            self.reclaim(RECLAIMED);
            if self.counters.reclaimed > before && !self.map.drops().queue().is_empty() {
                // Hosts wait for this space: it is no background work.
                self.turn.cut();
            }
        }
        self.release_held_space();
        if self.space_is_coming() && self.stopped.is_none() {
            // A checkpoint in flight ends by itself, and one that cannot start waits for a read.
            return !self.checkpoints.in_flight() && self.checkpoints.request();
        }
        if self.placed_can_continue() && self.stopped.is_none() {
            return false;
        }
        self.fail_or_retry_space(false)
    }

    /// Part of a pump: keeps memory within its bound.
    pub fn evict(&mut self) {
        self.turn.evicted();
        self.map.rest_objects(self.options.memory_bytes / MEMORY_PER_OBJECT);
        // Eviction also stops while a checkpoint cannot start: the dirty pages that it would clean
        // leave no room for the pages that it needs.
        if self.schedule.holds_eviction() || self.checkpoints.freeze_waits() > MANY_WAITS {
            return;
        }
        let memory = self.options.memory_bytes;
        let segments = (memory / 4 / SEGMENT_MEMORY).max(16);
        let walked = self.map.evict(memory * 3 / 8 / PAGE_BYTES, segments, self.cached_blocks());
        self.turn.note_walked(walked);
    }

    /// Number of clean blocks that may be in memory now: pages, counts and blocks share three
    /// quarters of the memory, and blocks have what pages and counts do not use, but at least an
    /// eighth of the memory. Above a medium in memory they have just that: more would only displace
    /// other things from the processor's caches.
    pub(super) fn cached_blocks(&self) -> usize {
        let memory = self.options.memory_bytes;
        let left = if self.medium.answers_at_once() {
            0
        } else {
            let pages = self.map.pages().count() * PAGE_MEMORY;
            let counts = self.map.space().resident_segments() * SEGMENT_MEMORY;
            (memory / 4 * 3).saturating_sub(pages + counts)
        };
        (left.max(memory / 8) / BLOCK_MEMORY).max(64)
    }
}
