//! Transactions: an attempt looks and names changes, all of them are planned, and they are executed and
//! logged in one step, which makes their records part of one frame.
//!
//! Whatever is missing ends the attempt before it has changed anything. What it has seen is pinned then,
//! so that attempts need not race against eviction.

mod allotments;
mod ceiling;
mod commit;
mod in_place;
mod pins;
mod plan;

use super::placed::Place;
use crate::catalog::object::Object;
use crate::content::data::Data;
use crate::core::Core;
use crate::core::progress::{InTransaction, Progress};
use crate::core::state::{Below, space_of};
use crate::geometry::FANOUT;
use crate::interface::operation::{Failure, MAX_WRITE_BYTES, Operation, OperationId, Output, TransactionMark};
use crate::interface::range::{BlockNumber, BlockRange};
use crate::interface::{ObjectId, ObjectKind};
use crate::map::Map;
use crate::mutations::{Mutation, leaves_out};
use crate::schedule::step::Step;
use crate::transaction::changes::{Changes, RangeChange};
use crate::transaction::view::{Named, Present, Room, View};
use crate::transaction::{Answer, Attempt, Missing, Outcome, Stability, Transaction, answering};
use block::BlockError;
use bytes::Bytes;
use media::{BLOCK_BYTES, Media};
use rustc_hash::FxHashMap;

/// Largest payload in blocks that goes through the log where there is no space beside it.
const MOST_THROUGH_LOG: usize = FANOUT;

/// Largest number of times that a transaction sends its payload to a place.
const MOST_PLACEMENTS: u32 = 64;

/// Content that earlier attempts have seen, for the mutant that relies on it.
pub(crate) type Remembered = FxHashMap<(ObjectId, BlockNumber), Option<Data>>;

/// The pool as an attempt finds it.
struct Looking<'a> {
    map: &'a mut Map,
    below: Below,
    remembered: Option<&'a mut Remembered>,
}

impl Present for Looking<'_> {
    fn object(&self, id: ObjectId) -> Option<Named> {
        let named = |object: &Object| Named {
            id,
            size_bytes: object.size_bytes,
            is_capture: object.kind == ObjectKind::Capture,
            takes_changes: object.takes_hosts(),
        };
        self.map.objects().read(id, named).filter(|_| crate::catalog::is_user_object(id))
    }

    fn content(&mut self, object: ObjectId, block: BlockNumber) -> Option<Option<Data>> {
        if let Some(content) = self.remembered.as_ref().and_then(|seen| seen.get(&(object, block))) {
            return Some(content.clone());
        }
        let entry = self.map.lookup_known(object, block)?;
        let content = if entry.is_empty() { None } else { Some(self.map.content_of(&entry)?) };
        if let Some(remembered) = &mut self.remembered {
            remembered.insert((object, block), content.clone());
        }
        Some(content)
    }

    fn copy_of(&mut self, content: &[u8; BLOCK_BYTES]) -> Data {
        self.map.copy_of(content)
    }

    fn detects_zeros(&self, object: ObjectId) -> bool {
        self.map.objects().read(object, |object| object.zero_detection).unwrap_or(true)
    }

    fn room(&self, object: ObjectId) -> Room {
        let space = space_of(self.map, self.below);
        let promised = self.map.objects().read(object, |object| object.promised()).unwrap_or(0);
        let block = BLOCK_BYTES as u64;
        let (total_blocks, free_blocks) = (space.size_bytes / block, space.available_bytes(promised * block) / block);
        let used_blocks = self.map.used_blocks(object);
        match self.map.ceiling_blocks(object) {
            Some(ceiling) => Room {
                total_blocks: total_blocks.min(ceiling),
                free_blocks: free_blocks.min(ceiling.saturating_sub(used_blocks)),
                used_blocks,
            },
            None => Room { total_blocks, free_blocks, used_blocks },
        }
    }

    fn mapped(&mut self, object: ObjectId, blocks: BlockRange) -> Option<u64> {
        self.map.mapped_in(object, blocks)
    }

    fn next(&mut self, object: ObjectId, from: BlockNumber, mapped: bool) -> Result<BlockNumber, BlockNumber> {
        self.map.search_block(object, from, mapped)
    }

    fn allotted(&self, object: ObjectId, blocks: BlockRange) -> Vec<BlockRange> {
        self.map.allotted_in(object, blocks)
    }

    fn promised(&mut self, object: ObjectId, blocks: BlockRange) -> Option<u64> {
        self.map.promised_in(object, blocks)
    }
}

fn internal(reason: &str) -> Step {
    Step::Fail(BlockError::Internal { reason: reason.into() }.into())
}

/// True while content of the operation is still on the way to its place.
fn is_on_the_way(progress: &Progress) -> bool {
    progress.placed.as_ref().is_some_and(|placed| !placed.flushed)
}

impl<M: Media> Core<M> {
    /// Submits a transaction and attempts it at once. The operation finishes with [`Output::Done`]; the
    /// output of the transaction is then in the [`Answer`].
    pub fn transact<T: Transaction + 'static>(
        &mut self,
        transaction: T,
        stability: Stability,
    ) -> (OperationId, Answer<T::Output>) {
        self.transact_then(transaction, stability, |_, output| output)
    }

    /// [`Self::transact`], and `after` in the same step. The output is that of `after`.
    pub fn transact_then<T: Transaction + 'static, U: 'static>(
        &mut self,
        transaction: T,
        stability: Stability,
        after: impl FnOnce(&mut View<'_>, T::Output) -> U + 'static,
    ) -> (OperationId, Answer<U>) {
        let (body, answer) = answering(transaction, after);
        let operation = Operation::Transaction(TransactionMark::new(stability == Stability::Durable));
        let progress = Progress { transaction: Some(Box::new(InTransaction::new(Some(body)))), ..Progress::default() };
        (self.submit_with(operation, progress), answer)
    }

    /// Calls `look` with a view of the pool as it is now. `None` if something that it needs is not in
    /// memory; a transaction with the same look reads it.
    pub fn try_view<T>(
        &mut self,
        look: impl FnOnce(&mut View<'_>) -> Result<T, Missing>,
    ) -> Option<Result<T, BlockError>> {
        if let Some(reason) = &self.stopped {
            return Some(Err(BlockError::PoolStopped { reason: reason.clone() }));
        }
        self.map.forget_need();
        let mut changes = Changes::default();
        let below = self.below();
        let mut looking = Looking { map: &mut self.map, below, remembered: None };
        let mut view = View::read_only(&mut looking, &mut changes);
        let found = look(&mut view);
        let refusal = view.into_refusal();
        let complete = self.map.need().is_empty();
        self.map.forget_need();
        match (refusal, found) {
            (Some(error), _) => Some(Err(error)),
            (None, Ok(found)) if complete => Some(Ok(found)),
            (None, _) => None,
        }
    }

    pub(in crate::core) fn transaction_step(
        &mut self,
        id: OperationId,
        mark: TransactionMark,
        progress: &mut Progress,
    ) -> Step {
        let Some(mut running) = progress.transaction.take() else {
            return internal("a transaction is submitted by `transact`");
        };
        let Some(mut body) = running.body.take() else {
            progress.transaction = Some(running);
            return if is_on_the_way(progress) { Step::Io } else { Step::Submitter };
        };
        let step = self.attempt_transaction(id, mark, (&mut running, &mut *body), progress);
        running.body = Some(body);
        if self.keeps_transaction(&step, &mut running) {
            progress.transaction = Some(running);
        }
        step
    }

    /// Makes an attempt, and carries out what it decides.
    pub(in crate::core) fn attempt_transaction(
        &mut self,
        id: OperationId,
        mark: TransactionMark,
        (running, body): (&mut InTransaction, &mut dyn Attempt),
        progress: &mut Progress,
    ) -> Step {
        if is_on_the_way(progress) {
            return Step::Io;
        }
        match self.look(running, body) {
            Ok(outcome) => self.decided(id, mark, outcome, (running, body), progress),
            Err(step) => step,
        }
    }

    /// True if a transaction has not ended and has to be kept. Pins what it waits for.
    pub(in crate::core) fn keeps_transaction(&mut self, step: &Step, running: &mut InTransaction) -> bool {
        match step {
            Step::Done(_) | Step::Durable(_) => {
                self.unpin(running);
                return false;
            }
            Step::Wait => self.pin(running),
            _ => {}
        }
        true
    }

    /// Carries out what the attempt that was made in this step has decided.
    pub(in crate::core) fn decided(
        &mut self,
        id: OperationId,
        mark: TransactionMark,
        outcome: Outcome<()>,
        (running, body): (&mut InTransaction, &mut dyn Attempt),
        progress: &mut Progress,
    ) -> Step {
        if outcome == Outcome::Nothing(()) || running.changes.is_empty() {
            self.give_back_placed(progress);
            self.conclude(body);
            let durable = mark.is_durable() && outcome == Outcome::Commit(());
            return super::acknowledged(durable, Output::Done);
        }
        if progress.is_behind {
            return Step::LogFull;
        }
        match self.overwrite_in_place(&running.changes) {
            Some(false) => {}
            Some(true) => {
                self.give_back_placed(progress);
                self.conclude(body);
                return super::acknowledged(mark.is_durable(), Output::Done);
            }
            None => {
                self.stop("the map contradicts itself (blocks to be replaced)");
                return super::broken();
            }
        }
        if let Err(step) = self.takes_allotments(&running.changes) {
            return step;
        }
        let plan = self.plan_transaction(&running.changes);
        if !self.map.need().is_empty() {
            return Step::Wait;
        }
        let Some(plan) = plan else {
            self.stop("the map contradicts itself (plan of a transaction)");
            return super::broken();
        };
        let limits = match self.stays_below_ceilings(&running.changes, &plan.raises) {
            Ok(limits) => limits,
            Err(step) => return step,
        };
        if let Err(step) = self.place_payload(id, running, progress) {
            return step;
        }
        if let Err(step) = self.room(plan.ask, progress) {
            return step;
        }
        let bytes = Self::transaction_bytes(&running.changes);
        if !self.log.could_fit(bytes) {
            // There is no space beside the log for the payload, and it does not fit into it with the blocks that later
            // changes copied.
            if running.changes.inline {
                return Step::Fail(BlockError::PoolFull.into());
            }
            return internal("the log is too small for this transaction");
        }
        if !self.log_takes(bytes) {
            return Step::LogFull;
        }
        let placed = progress.placed.take();
        if let Some(placed) = &placed {
            self.no_longer_in_flight(placed);
        }
        let available = self.map.space().available();
        if self.commit_transaction(&running.changes, &plan.runs, placed.as_ref()).is_none() {
            self.stop("the map contradicts itself (transaction)");
            return super::broken();
        }
        self.note_taken(available, plan.ask);
        self.note_limits(&limits);
        self.conclude(body);
        super::acknowledged(mark.is_durable(), Output::Done)
    }

    /// Lets the transaction look at the state after it.
    pub(in crate::core) fn conclude(&mut self, body: &mut dyn Attempt) {
        let below = self.below();
        let mut changes = Changes::default();
        let mut looking = Looking { map: &mut self.map, below, remembered: None };
        body.conclude(&mut View::read_only(&mut looking, &mut changes));
        self.map.forget_need();
    }

    /// Lets the transaction look and decide. `Err`: what to do instead.
    pub(in crate::core) fn look(
        &mut self,
        running: &mut InTransaction,
        body: &mut dyn Attempt,
    ) -> Result<Outcome<()>, Step> {
        let InTransaction { changes, seen, remembered, .. } = running;
        changes.clear();
        seen.clear();
        let remembered = leaves_out(Mutation::FreshLook).then_some(remembered);
        let below = self.below();
        let mut looking = Looking { map: &mut self.map, below, remembered };
        let mut view = View::new(&mut looking, changes, seen);
        let outcome = body.attempt(&mut view);
        if let Some(error) = view.into_refusal() {
            return Err(Step::Fail(error.into()));
        }
        if !self.map.need().is_empty() {
            return Err(Step::Wait);
        }
        outcome.map_err(|_| internal("a transaction gave up although nothing is missing"))
    }

    /// Sends a payload straight to its place, unless it is there. `Err`: what to do first.
    fn place_payload(
        &mut self,
        id: OperationId,
        running: &mut InTransaction,
        progress: &mut Progress,
    ) -> Result<(), Step> {
        let Some((object, first, data)) = running.changes.payload() else {
            self.give_back_placed(progress);
            return Ok(());
        };
        if data.len() > MAX_WRITE_BYTES {
            return Err(Step::Fail(super::write::too_long(data.len(), MAX_WRITE_BYTES)));
        }
        // At another attempt the payload may go to another object, or begin at another place of a block.
        let same = |(of, placed): &(ObjectId, Bytes)| {
            let one = placed.as_ptr() == data.as_ptr() && placed.len() == data.len();
            *of == object && (one || placed == data)
        };
        if progress.placed.is_some() && running.payload.as_ref().is_some_and(same) {
            return Ok(());
        }
        let data = data.clone();
        self.give_back_placed(progress);
        running.payload = Some((object, data.clone()));
        running.placements += 1;
        if running.placements > MOST_PLACEMENTS {
            return Err(internal("the payload of a transaction differs at each attempt"));
        }
        let blocks = first..first + (data.len() / BLOCK_BYTES) as u64;
        match self.place(id, Place { object, blocks, data, alone: true }, progress) {
            Ok(()) if progress.placed.as_ref().is_some_and(|placed| placed.flushed) => Ok(()),
            Ok(()) => Err(Step::Io),
            // Mapped and unshared blocks are overwritten in place, so that it works in a full pool.
            Err(Step::Space) if self.fits_through_log(running) => {
                running.changes.inline = true;
                Err(Step::Again)
            }
            Err(step) => Err(step),
        }
    }

    /// True if the payload may go through the log instead.
    fn fits_through_log(&self, running: &InTransaction) -> bool {
        let blocks = running.payload_blocks();
        let bytes = Self::transaction_bytes(&running.changes) + Self::inline_record_bytes(blocks as u64 + 2);
        blocks <= MOST_THROUGH_LOG && self.log.could_fit(bytes)
    }

    /// Failure of a transaction by damage of a map page: the first block whose place is not known, of
    /// those that it looked at or changes; if all of those are known, the first of them.
    pub(in crate::core) fn damage_of_transaction(&mut self, running: &InTransaction, reason: String) -> Failure {
        let Changes { ranges, contents, allotments, .. } = &running.changes;
        let sources = ranges.iter().filter_map(RangeChange::source);
        let changed = ranges.iter().map(|range| (range.changed().0, range.changed().1));
        let seen = running.seen.iter().chain(contents.places()).copied();
        let allotted = allotments.iter().flat_map(|change| {
            let (object, range) = change.place();
            [(object, range.first), (object, range.first + range.count.saturating_sub(1))]
        });
        let mut first = None;
        for (object, block) in seen.chain(sources).chain(changed).chain(allotted) {
            self.map.forget_need();
            let known = self.map.has_path(object, block);
            self.map.forget_need();
            first.get_or_insert((object, block));
            if !known {
                first = Some((object, block));
                break;
            }
        }
        match first {
            Some((object, block)) => Failure::Unreadable { object, block },
            None => BlockError::Internal { reason }.into(),
        }
    }
}
