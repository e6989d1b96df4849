//! Operations in progress: which may continue, what the others wait for, and the finished results.
//!
//! The schedule does not know what operations do: their progress is a `P` of its user.

mod offer;
pub(crate) mod step;

use crate::interface::operation::{Failure, Operation, OperationId, Output};
use crate::map::need::Need;
use media::BlockAddress;
use offer::Offer;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, VecDeque};

/// Bit that is set in the ids of the pool's own operations.
const INTERNAL: OperationId = 1 << 63;

/// True for one of the pool's own operations.
pub(crate) const fn is_internal(id: OperationId) -> bool {
    id & INTERNAL != 0
}

/// Data that an operation waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Key {
    Page(BlockAddress),
    Segment(u32),
    Block(BlockAddress),
}

/// Operation that has not finished.
pub(crate) struct Pending<P> {
    pub operation: Operation,
    pub progress: P,
    /// Number of keys that it waits for.
    waiting: u32,
    /// Failure for its next attempt.
    failed: Option<Failure>,
    /// Its place among those that wait for the log. It keeps the place until it gets on, whatever else it waits for
    /// meanwhile.
    log_place: Option<u64>,
}

impl<P> Pending<P> {
    fn new(operation: Operation, progress: P) -> Self {
        Self { operation, progress, waiting: 0, failed: None, log_place: None }
    }
}

impl<P> Pending<P> {
    /// Makes the operation fail at its next attempt; the first failure counts.
    pub fn fail(&mut self, failure: Failure) {
        self.failed.get_or_insert(failure);
    }

    /// True if it fails at its next attempt.
    pub fn is_failing(&self) -> bool {
        self.failed.is_some()
    }

    /// Takes the failure of the operation.
    #[inline]
    pub fn take_failure(&mut self) -> Option<Failure> {
        self.failed.take()
    }
}

/// Operation that waits for the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LogWaiter {
    id: OperationId,
    /// True if its submitter has been asked for the next attempt.
    is_due: bool,
}

/// Operations in progress.
pub(crate) struct Schedule<P> {
    operations: FxHashMap<OperationId, Pending<P>>,
    next: OperationId,
    ready: VecDeque<OperationId>,
    /// Operations that want another turn after all others had one.
    later: Vec<OperationId>,
    /// Operations whose submitters make the next attempt, since the last report of them.
    due: VecDeque<OperationId>,
    waiters: FxHashMap<Key, Vec<OperationId>>,
    space_waiters: VecDeque<OperationId>,
    /// Operations that wait for the log, by place.
    log_waiters: BTreeMap<u64, LogWaiter>,
    /// Operations that took effect, each with the log record that has to become durable first.
    durable_waiters: VecDeque<(u64, OperationId, Output)>,
    /// Operation whose pages keep being evicted. While set, eviction is off so that it can finish.
    eviction_held_by: Option<OperationId>,
    /// Data that only the pool itself requested and that could not be read, with the reason; it is
    /// not requested again before the next checkpoint.
    unreadable: FxHashMap<Key, String>,
    finished: VecDeque<(OperationId, Result<Output, Failure>)>,
    /// Space that the owner offers to free.
    offer: Offer,
    /// Number of operations that hosts have submitted.
    host_operations: u64,
    effects: Option<Vec<(OperationId, u64)>>,
}

impl<P> Default for Schedule<P> {
    fn default() -> Self {
        Self {
            operations: FxHashMap::default(),
            next: 1,
            ready: VecDeque::new(),
            later: Vec::new(),
            due: VecDeque::new(),
            waiters: FxHashMap::default(),
            space_waiters: VecDeque::new(),
            log_waiters: BTreeMap::new(),
            durable_waiters: VecDeque::new(),
            eviction_held_by: None,
            unreadable: FxHashMap::default(),
            finished: VecDeque::new(),
            offer: Offer::default(),
            host_operations: 0,
            effects: None,
        }
    }
}

impl<P: Default> Schedule<P> {
    /// Gives an operation its id. It is attempted before it is stored here.
    #[inline]
    pub fn admit(&mut self, operation: Operation, progress: P) -> (OperationId, Pending<P>) {
        let id = self.next_number() - 1;
        self.host_operations += u64::from(operation.is_of_a_host());
        (id, Pending::new(operation, progress))
    }

    /// Stores one of the pool's own operations until its turn.
    pub fn admit_internal(&mut self, operation: Operation) {
        let id = (self.next_number() - 1) | INTERNAL;
        self.operations.insert(id, Pending::new(operation, P::default()));
        self.later.push(id);
    }
}

impl<P> Schedule<P> {
    /// Returns a number that is unique in this run.
    #[inline]
    pub fn next_number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// Number of operations that hosts have submitted.
    pub fn host_operations(&self) -> u64 {
        self.host_operations
    }

    /// Returns an operation in progress.
    pub fn get_mut(&mut self, id: OperationId) -> Option<&mut Pending<P>> {
        self.operations.get_mut(&id)
    }

    /// True while the operation is in progress.
    pub fn contains(&self, id: OperationId) -> bool {
        self.operations.contains_key(&id)
    }

    /// Takes an operation out, to attempt it.
    pub fn take(&mut self, id: OperationId) -> Option<Pending<P>> {
        self.operations.remove(&id)
    }

    /// Stores an operation that waits for its own requests.
    pub fn keep(&mut self, id: OperationId, pending: Pending<P>) {
        self.operations.insert(id, pending);
    }

    // Turns.

    /// Marks an operation as ready for an attempt.
    pub fn make_ready(&mut self, id: OperationId) {
        self.ready.push_back(id);
    }

    /// Stores an operation that wants another turn at once.
    pub fn keep_ready(&mut self, id: OperationId, pending: Pending<P>) {
        self.keep(id, pending);
        self.make_ready(id);
    }

    /// Stores an operation that wants another turn after all others had one.
    pub fn keep_for_later(&mut self, id: OperationId, pending: Pending<P>) {
        self.keep(id, pending);
        self.later.push(id);
    }

    /// Takes the next operation that is ready for an attempt.
    pub fn next_ready(&mut self) -> Option<(OperationId, Pending<P>)> {
        while let Some(id) = self.ready.pop_front() {
            if let Some(pending) = self.operations.remove(&id) {
                return Some((id, pending));
            }
        }
        None
    }

    /// Takes the operations that wait for a background turn.
    pub fn take_later(&mut self) -> Vec<OperationId> {
        std::mem::take(&mut self.later)
    }

    /// Stores an operation until its submitter makes the next attempt.
    pub fn keep_for_submitter(&mut self, id: OperationId, pending: Pending<P>) {
        if let Some(waiter) = pending.log_place.and_then(|place| self.log_waiters.get_mut(&place)) {
            waiter.is_due = true;
        }
        self.keep(id, pending);
        self.due.push_back(id);
    }

    /// Takes the next operation whose submitter has to make an attempt.
    #[inline]
    pub fn next_due(&mut self) -> Option<OperationId> {
        self.due.pop_front()
    }

    /// Makes an operation fail at once, or when what it waits for has come. Without effect on one that has taken
    /// effect.
    pub fn give_up(&mut self, id: OperationId, failure: Failure) {
        if let Some(pending) = self.operations.get_mut(&id) {
            pending.fail(failure);
            self.ready.push_back(id);
        }
    }

    /// True if no operation is in progress.
    #[cfg(test)]
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    /// True if an operation is ready for an attempt.
    pub fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// True if an operation waits for a background turn.
    pub fn has_later(&self) -> bool {
        !self.later.is_empty()
    }

    // Waiting for reads.

    /// Registers a wait for `key`. True if it is the first, so that the data has to be requested.
    pub fn first_to_wait(&mut self, key: Key) -> bool {
        let first = !self.waiters.contains_key(&key);
        self.waiters.entry(key).or_default();
        first
    }

    /// Stores an operation until the data of all `keys` has arrived.
    pub fn keep_waiting(&mut self, id: OperationId, mut pending: Pending<P>, mut keys: Vec<Key>) {
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

    /// Wakes the operations that wait for `key`: the data has arrived, or is unreadable.
    pub fn wake(&mut self, key: Key, failure: Option<Failure>) {
        let waiters = self.waiters.remove(&key).unwrap_or_default();
        if let (Some(failure), true) = (&failure, waiters.is_empty()) {
            self.unreadable.insert(key, failure.to_string());
        }
        for id in waiters {
            self.wake_one(id, failure.clone());
        }
    }

    /// Like `wake`; but operations that `survive` a failure continue.
    pub fn wake_surviving(&mut self, key: Key, failure: Failure, mut survive: impl FnMut(&mut Pending<P>) -> bool) {
        let mut failing = Vec::new();
        for id in self.waiters.remove(&key).unwrap_or_default() {
            match self.operations.get_mut(&id).is_some_and(&mut survive) {
                true => self.wake_one(id, None),
                false => failing.push(id),
            }
        }
        self.waiters.insert(key, failing);
        self.wake(key, Some(failure));
    }

    fn wake_one(&mut self, id: OperationId, failure: Option<Failure>) {
        let Some(pending) = self.operations.get_mut(&id) else { return };
        pending.waiting = pending.waiting.saturating_sub(1);
        if let Some(failure) = failure {
            pending.fail(failure);
        }
        if pending.waiting == 0 {
            self.ready.push_back(id);
        }
    }

    /// True if no operation waits for `key`: the pool itself requested it.
    pub fn is_unawaited(&self, key: Key) -> bool {
        self.waiters.get(&key).is_none_or(Vec::is_empty)
    }

    /// Calls `f` with each operation that waits for `key`.
    pub fn for_waiters(&mut self, key: Key, mut f: impl FnMut(&mut Pending<P>)) {
        for id in self.waiters.get(&key).into_iter().flatten() {
            if let Some(pending) = self.operations.get_mut(id) {
                f(pending);
            }
        }
    }

    /// True if some data in `need` was unreadable when the pool itself requested it.
    pub fn is_unreadable(&self, need: &Need) -> bool {
        keys_of(need).any(|key| self.unreadable.contains_key(&key))
    }

    /// Reason why no data in `need` is readable, if that is so.
    pub fn why_unreadable(&self, need: &Need) -> Option<&String> {
        let mut reasons = keys_of(need).map(|key| self.unreadable.get(&key));
        let first = reasons.next().flatten()?;
        reasons.all(|reason| reason.is_some()).then_some(first)
    }

    /// Why one of the blocks in `need` cannot be read, if that is so.
    pub fn why_block_unreadable(&self, need: &Need) -> Option<&String> {
        need.blocks.iter().find_map(|(address, _)| self.unreadable.get(&Key::Block(*address)))
    }

    /// Allows further requests for unreadable data.
    pub fn forget_unreadable(&mut self) {
        self.unreadable.clear();
    }

    /// Disables eviction until the operation ends.
    pub fn hold_eviction(&mut self, id: OperationId) {
        self.eviction_held_by.get_or_insert(id);
    }

    /// Allows eviction again if it was disabled for this operation, which continues.
    #[inline]
    pub fn resume_eviction(&mut self, id: OperationId) {
        if self.eviction_held_by == Some(id) {
            self.eviction_held_by = None;
        }
    }

    /// True while an operation needs all data that is in memory.
    pub fn holds_eviction(&self) -> bool {
        self.eviction_held_by.is_some_and(|id| self.operations.contains_key(&id))
    }

    // Waiting for space and for the log.

    /// Stores an operation until space becomes free.
    pub fn keep_for_space(&mut self, id: OperationId, pending: Pending<P>) {
        self.keep(id, pending);
        self.space_waiters.push_back(id);
    }

    /// True if operations wait for space.
    pub fn waits_for_space(&self) -> bool {
        !self.space_waiters.is_empty()
    }

    /// Number of operations waiting for space for which `which` is true.
    pub fn count_space_waiters(&self, which: impl Fn(&Pending<P>) -> bool) -> usize {
        self.space_waiters.iter().filter(|id| self.operations.get(id).is_some_and(&which)).count()
    }

    /// Retries the operations that wait for space and for which `f` is true. True if there is one.
    pub fn retry_space(&mut self, mut f: impl FnMut(&mut Pending<P>) -> bool) -> bool {
        let before = self.ready.len();
        for id in std::mem::take(&mut self.space_waiters) {
            let Some(pending) = self.operations.get_mut(&id) else { continue };
            if f(pending) {
                self.ready.push_back(id);
            } else {
                self.space_waiters.push_back(id);
            }
        }
        self.ready.len() > before
    }

    /// Space that the owner offers to free.
    pub fn offer(&self) -> Offer {
        self.offer
    }

    /// Space that the owner offers to free, to change.
    pub fn offer_mut(&mut self) -> &mut Offer {
        &mut self.offer
    }

    /// Stores an operation until the log has room, behind those that wait for it already. One that has waited before
    /// has its place again.
    pub fn keep_for_log(&mut self, id: OperationId, mut pending: Pending<P>) {
        let place = pending.log_place.unwrap_or_else(|| self.next_number());
        pending.log_place = Some(place);
        self.log_waiters.insert(place, LogWaiter { id, is_due: false });
        self.keep(id, pending);
    }

    /// Notes that an operation has stopped to wait for the log. `keeps_place`: it may come back to its place.
    #[inline]
    pub fn leave_log(&mut self, pending: &mut Pending<P>, keeps_place: bool) {
        if let Some(place) = pending.log_place {
            self.log_waiters.remove(&place);
            if !keeps_place {
                pending.log_place = None;
            }
        }
    }

    /// True if the operation has to wait behind others that wait for the log.
    #[inline]
    pub fn is_behind_log_waiters(&self, pending: &Pending<P>) -> bool {
        let first = self.log_waiters.first_key_value();
        first.is_some_and(|(first, _)| pending.log_place.is_none_or(|place| *first < place))
            && pending.operation.enters_log()
    }

    /// True if operations wait for the log.
    #[inline]
    pub fn waits_for_log(&self) -> bool {
        !self.log_waiters.is_empty()
    }

    /// Number of operations that wait for the log.
    #[cfg(test)]
    pub fn log_waiters(&self) -> usize {
        self.log_waiters.len()
    }

    /// Takes the operation that waits for the log at the first place from `from` on, with its place: to attempt it.
    /// Those whose submitters have been asked for an attempt are passed over and counted in `due`. It stays in the
    /// queue until [`Self::leave_log`].
    pub fn next_log_waiter(&mut self, from: u64, due: &mut usize) -> Option<(u64, OperationId, Pending<P>)> {
        loop {
            let (place, waiter) = self.log_waiters.range(from..).find(|(_, waiter)| !waiter.is_due)?;
            let (place, id) = (*place, waiter.id);
            *due += self.log_waiters.range(from..place).count();
            match self.operations.remove(&id) {
                Some(pending) => return Some((place, id, pending)),
                // It was given up.
                None => self.log_waiters.remove(&place),
            };
        }
    }

    /// True if the operation at this place waits for room. False if its submitter has been asked for an attempt, and if
    /// it waits for the log no more.
    pub fn is_log_waiter(&self, place: u64) -> bool {
        self.log_waiters.get(&place).is_some_and(|waiter| !waiter.is_due)
    }

    /// Retries the operations that wait for log or space.
    pub fn retry_all(&mut self) {
        self.ready.extend(std::mem::take(&mut self.log_waiters).into_values().map(|waiter| waiter.id));
        self.ready.extend(std::mem::take(&mut self.space_waiters));
    }

    // Results.

    /// Reports a result to the submitter of the operation.
    #[inline]
    pub fn finish(&mut self, id: OperationId, result: Result<Output, Failure>) {
        if !is_internal(id) {
            self.finished.push_back((id, result));
        }
    }

    /// Stores the result of an operation that took effect until the records below `sequence` are
    /// durable.
    pub fn finish_when_durable(&mut self, sequence: u64, id: OperationId, output: Output) {
        self.durable_waiters.push_back((sequence, id, output));
    }

    /// Reports results whose records are durable, those below `durable`.
    pub fn acknowledge(&mut self, durable: u64) {
        while self.durable_waiters.front().is_some_and(|(sequence, ..)| *sequence <= durable) {
            if let Some((_, id, output)) = self.durable_waiters.pop_front() {
                self.finish(id, Ok(output));
            }
        }
    }

    /// Takes the next result.
    pub fn next_finished(&mut self) -> Option<(OperationId, Result<Output, Failure>)> {
        self.finished.pop_front()
    }

    /// Takes the result of one operation, if it is available.
    pub fn take_finished(&mut self, id: OperationId) -> Option<Result<Output, Failure>> {
        let at = self.finished.iter().position(|(found, _)| *found == id)?;
        self.finished.remove(at).map(|(_, result)| result)
    }

    /// Makes every operation fail, first those that took effect, in order.
    pub fn fail_all(&mut self, failure: &Failure) {
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
        self.due.clear();
        self.waiters.clear();
        self.space_waiters.clear();
        self.log_waiters.clear();
    }

    // Effects, for tests.

    /// Starts to record the operations that take effect.
    pub fn record_effects(&mut self) {
        self.effects = Some(Vec::new());
    }

    /// Takes the effects since the last call.
    pub fn take_effects(&mut self) -> Vec<(OperationId, u64)> {
        self.effects.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Notes that an operation takes effect now; `sequence` is the number of the next record.
    #[inline]
    pub fn took_effect(&mut self, id: OperationId, sequence: u64) {
        if let Some(effects) = &mut self.effects {
            effects.push((id, sequence));
        }
    }
}

fn keys_of(need: &Need) -> impl Iterator<Item = Key> {
    let pages = need.pages.iter().map(|page| Key::Page(page.address));
    let blocks = need.blocks.iter().map(|block| Key::Block(block.0));
    pages.chain(need.segments.iter().map(|segment| Key::Segment(*segment))).chain(blocks)
}
