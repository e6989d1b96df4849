//! Third-party copy operations of an I_T nexus: list identifiers in use, progress, results, and the
//! records for RECEIVE COPY RESULTS (SPC-4 §5.16.4). List identifiers of one byte and of four name
//! the same operations.

use crate::sense::{self, Fault};
use block::VolumeId;
use scsi::rod_token::TOKEN_BYTES;
use scsi::third_party_copy::{CopyStatus, OperationInformation, OperationStatus, TransferCountUnits};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;
use unit::{AbortFlag, WaitQueue};

/// Ended operations that are kept for each nexus; the oldest is removed first.
const KEPT: usize = 64;
/// Operations whose held data is kept for each nexus; the oldest is discarded first.
const HOLDING: usize = 4;

/// Progress of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Running { background: bool },
    Completed,
    Failed,
    Terminated,
}

/// Data held for the application client.
#[derive(Debug, Default)]
struct Held {
    data: Vec<u8>,
    discarded: bool,
}

/// Constant facts of an operation.
#[derive(Debug)]
pub(crate) struct Operation {
    /// Service action of its command.
    pub service_action: u8,
    pub units: TransferCountUnits,
    /// Logical unit that received the command; its reset ends the operation.
    pub received_on: VolumeId,
    /// Abort flag shared with the command: aborting one aborts the other.
    pub abort: AbortFlag,
}

/// One operation with its progress.
#[derive(Debug)]
pub(crate) struct CopyRecord {
    operation: Operation,
    state: Cell<State>,
    segments: Cell<u16>,
    transferred: Cell<u64>,
    operations: Cell<u16>,
    /// Status code and sense data of the command, if it failed.
    failure: RefCell<Option<(u8, Vec<u8>)>>,
    held: RefCell<Held>,
    token: RefCell<Option<Box<[u8; TOKEN_BYTES]>>>,
    waiting: WaitQueue,
}

impl CopyRecord {
    fn is_running(&self) -> bool {
        matches!(self.state.get(), State::Running { .. })
    }

    /// RECEIVE COPY STATUS (LID1) parameter data.
    pub fn status_lid1(&self) -> Vec<u8> {
        let status = match self.state.get() {
            State::Running { .. } => CopyStatus::InProgress,
            State::Completed => CopyStatus::Completed,
            State::Failed | State::Terminated => CopyStatus::Failed,
        };
        let blocks = self.operation.units == TransferCountUnits::LogicalBlocks;
        let bytes =
            self.transferred.get().saturating_mul(if blocks { u64::from(block::LOGICAL_BLOCK_BYTES) } else { 1 });
        scsi::third_party_copy::copy_status(status, self.held.borrow().discarded, self.segments.get(), bytes)
    }

    /// Parameter data of the LID4 commands and RECEIVE ROD TOKEN INFORMATION; `tail` follows the sense data.
    pub fn information(&self, tail: &[u8]) -> Vec<u8> {
        let failure = self.failure.borrow();
        let (completion_status, sense) = failure.as_ref().map_or((0, &[][..]), |(status, sense)| (*status, sense));
        let information = OperationInformation {
            service_action: self.operation.service_action,
            status: match self.state.get() {
                State::Running { background: false } => OperationStatus::InForeground,
                State::Running { background: true } => OperationStatus::InBackground,
                State::Completed => OperationStatus::Completed,
                State::Failed => OperationStatus::Failed,
                State::Terminated => OperationStatus::Terminated,
            },
            held_data_discarded: self.held.borrow().discarded,
            operations: self.operations.get(),
            completion_status,
            sense,
            units: self.operation.units,
            transfer_count: self.transferred.get(),
            segments: self.segments.get(),
        };
        information.encode(tail)
    }

    /// Status code and sense data of a command that failed.
    pub fn failure(&self) -> Option<(u8, Vec<u8>)> {
        self.failure.borrow().clone()
    }

    /// Token that the operation created; `None` unless it has completed.
    pub fn token(&self) -> Option<[u8; TOKEN_BYTES]> {
        let token = self.token.borrow();
        token.as_deref().copied().filter(|_| self.state.get() == State::Completed)
    }

    /// Held data of an operation that has ended; `None` while it runs.
    pub fn held(&self) -> Option<Vec<u8>> {
        if self.is_running() {
            return None;
        }
        Some(self.held.borrow().data.clone())
    }

    /// Discards the held data: it was returned.
    pub fn discard_held(&self) {
        self.held.borrow_mut().data = Vec::new();
    }

    /// Waits until the operation has ended.
    async fn ended(&self) {
        self.waiting.until(|| (!self.is_running()).then_some(())).await;
    }

    fn end(&self, state: State) {
        self.state.set(state);
        self.waiting.wake_all();
    }
}

#[derive(Debug, Default)]
struct Records {
    by_id: BTreeMap<u32, Rc<CopyRecord>>,
    /// Ended operations, oldest first.
    ended: VecDeque<u32>,
    /// Operations that hold data, oldest first.
    holding: VecDeque<u32>,
}

impl Records {
    fn remove(&mut self, list_id: u32) {
        self.by_id.remove(&list_id);
        self.ended.retain(|id| *id != list_id);
        self.holding.retain(|id| *id != list_id);
    }
}

/// Operations of one I_T nexus.
#[derive(Debug, Default)]
pub(crate) struct Copies(Rc<RefCell<Records>>);

/// Operation in progress. Dropped without [`Running::finish`], it leaves no record.
#[derive(Debug)]
pub(crate) struct Running {
    records: Rc<RefCell<Records>>,
    list_id: u32,
    record: Rc<CopyRecord>,
    finished: bool,
}

impl Copies {
    /// Starts an operation; at most `limit` run at once.
    pub fn start(&self, list_id: u32, operation: Operation, limit: usize) -> Result<Running, Fault> {
        let mut records = self.0.borrow_mut();
        if records.by_id.get(&list_id).is_some_and(|record| record.is_running()) {
            return Err(Fault::ListIdInUse { list_id });
        }
        if records.by_id.len() - records.ended.len() >= limit {
            return Err(Fault::InsufficientResources);
        }
        records.remove(list_id);
        let record = Rc::new(CopyRecord {
            operation,
            state: Cell::new(State::Running { background: false }),
            segments: Cell::new(0),
            transferred: Cell::new(0),
            operations: Cell::new(1),
            failure: RefCell::new(None),
            held: RefCell::default(),
            token: RefCell::new(None),
            waiting: WaitQueue::default(),
        });
        records.by_id.insert(list_id, Rc::clone(&record));
        Ok(Running { records: Rc::clone(&self.0), list_id, record, finished: false })
    }

    /// Returns the operation with a list identifier.
    pub fn get(&self, list_id: u32) -> Option<Rc<CopyRecord>> {
        self.0.borrow().by_id.get(&list_id).cloned()
    }

    /// Removes the record of an operation that has ended.
    pub fn discard(&self, list_id: u32) {
        let mut records = self.0.borrow_mut();
        if records.by_id.get(&list_id).is_some_and(|record| !record.is_running()) {
            records.remove(list_id);
        }
    }

    /// Removes the records of all operations that have ended: a reset.
    pub fn clear(&self) {
        let mut records = self.0.borrow_mut();
        records.by_id.retain(|_, record| record.is_running());
        records.ended.clear();
        records.holding.clear();
    }

    /// Aborts a running operation and waits until it has ended; false when there is none.
    pub async fn abort(&self, list_id: u32) -> bool {
        let Some(record) = self.get(list_id).filter(|record| record.is_running()) else { return false };
        record.operation.abort.abort();
        record.ended().await;
        true
    }

    /// Aborts the background operations that these logical units received (`None`: all); each ends
    /// at its next step.
    pub fn abort_background(&self, received_on: Option<&BTreeSet<VolumeId>>) -> Ending {
        let concerned = |record: &&Rc<CopyRecord>| {
            record.state.get() == State::Running { background: true }
                && received_on.is_none_or(|volumes| volumes.contains(&record.operation.received_on))
        };
        let records: Vec<_> = self.0.borrow().by_id.values().filter(concerned).cloned().collect();
        for record in &records {
            record.operation.abort.abort();
        }
        Ending(records)
    }
}

/// Operations that were aborted and have not ended yet.
pub(crate) struct Ending(Vec<Rc<CopyRecord>>);

impl Ending {
    /// Waits until the operations have ended: they have no further effect.
    pub async fn ended(self) {
        for record in self.0 {
            record.ended().await;
        }
    }
}

impl Running {
    /// Marks the operation as background: its command has been answered.
    pub fn mark_background(&self) {
        self.record.state.set(State::Running { background: true });
    }

    /// Adds to the transferred count, in the operation's units.
    pub fn transferred(&self, count: u64) {
        self.record.transferred.set(self.record.transferred.get().saturating_add(count));
    }

    /// Adds one finished segment.
    pub fn segment_done(&self) {
        self.record.segments.set(self.record.segments.get().saturating_add(1));
    }

    /// Bytes held so far.
    pub fn held_bytes(&self) -> usize {
        self.record.held.borrow().data.len()
    }

    /// Holds data for the application client.
    pub fn hold(&self, data: &[u8]) {
        self.record.held.borrow_mut().data.extend_from_slice(data);
    }

    /// Records the token that was created.
    pub fn made(&self, token: [u8; TOKEN_BYTES]) {
        self.record.token.replace(Some(Box::new(token)));
    }

    /// Ends the operation. `keep`: keeps the record for RECEIVE COPY RESULTS.
    pub fn finish(mut self, keep: bool, result: Result<(), &Fault>) {
        self.finished = true;
        let failure = result.err().map(|fault| {
            let outcome = sense::outcome(fault);
            (outcome.status.0, outcome.sense_bytes())
        });
        self.record.failure.replace(failure);
        let mut records = self.records.borrow_mut();
        if keep {
            records.ended.push_back(self.list_id);
            if !self.record.held.borrow().data.is_empty() {
                records.holding.push_back(self.list_id);
            }
            if records.holding.len() > HOLDING
                && let Some(oldest) = records.holding.pop_front()
                && let Some(record) = records.by_id.get(&oldest)
            {
                record.held.replace(Held { data: Vec::new(), discarded: true });
            }
            if records.ended.len() > KEPT
                && let Some(oldest) = records.ended.front().copied()
            {
                records.remove(oldest);
            }
        } else {
            records.remove(self.list_id);
        }
        drop(records);
        self.record.end(match result {
            Ok(()) => State::Completed,
            Err(Fault::TaskAborted) => State::Terminated,
            Err(_) => State::Failed,
        });
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.finished {
            self.records.borrow_mut().remove(self.list_id);
            self.record.end(State::Terminated);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begin(copies: &Copies, list_id: u32, limit: usize) -> Result<Running, Fault> {
        let operation = Operation {
            service_action: 0,
            units: TransferCountUnits::Bytes,
            received_on: VolumeId(1),
            abort: AbortFlag::default(),
        };
        copies.start(list_id, operation, limit)
    }

    fn start(copies: &Copies, list_id: u32) -> Running {
        begin(copies, list_id, 10).expect("there is room")
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let copies = Copies::default();
        for list_id in 0..100 {
            let running = start(&copies, list_id);
            running.hold(&[1; 10]);
            running.finish(true, Ok(()));
        }
        assert!(copies.get(35).is_none() && copies.get(36).is_some());
        let held: Vec<_> = (36..100).filter_map(|id| copies.get(id)?.held()).filter(|data| data.len() == 10).collect();
        assert_eq!(held.len(), HOLDING);
        assert!(copies.get(36).is_some_and(|record| record.held.borrow().discarded));
        let running: Vec<_> = (0..10).map(|list_id| start(&copies, list_id)).collect();
        assert!(matches!(begin(&copies, 50, 10), Err(Fault::InsufficientResources)));
        assert!(matches!(begin(&copies, 5, 99), Err(Fault::ListIdInUse { list_id: 5 })));
        drop(running);
        assert!(copies.get(5).is_none());
    }
}
