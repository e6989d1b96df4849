//! Sanitize operations (SBC-4 §4.11): make the whole content of a volume unreadable, in the
//! background, and continue until done whatever happens.
//!
//! Once an operation has begun, adapters execute only commands that report about the unit, and
//! answer all others with its progress ([`Sanitize::check`]). The operation survives resets, lost
//! clients and a power loss: [`UnitStore`] stores it before the first block
//! changes, and it starts again at the next start. The owner of the units calls
//! [`Units::sanitize_step`](crate::Units::sanitize_step) until the operation has ended, at its own pace.
//!
//! The *block erase* method deallocates all blocks, which then read as zeros. The *overwrite*
//! method writes its pattern over mapped blocks, in pieces small enough that the engine overwrites
//! unshared blocks in place, and lets unmapped blocks share blocks that hold the pattern: a thin
//! volume stays thin. Neither method changes other volumes: snapshots and clones keep the blocks
//! that they share with the volume. There is no cryptographic erase, because content is not
//! encrypted.

use crate::abort::AbortFlag;
use crate::in_flight::InFlight;
use crate::store::{PersistedSanitize, SanitizeMethod, StoreError, UnitStore};
use crate::wait::WaitQueue;
use block::{BlockDevice, BlockError, Durability, Extent, LOGICAL_BLOCK_BYTES, Lba, ProvisioningExtent, VolumeId};
use bytes::Bytes;
use futures_util::future::try_join_all;
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;
use thiserror::Error;

/// Logical blocks of one step of an overwrite: 1 MiB.
const STEP_BLOCKS: u64 = 2048;
/// Logical blocks of one write: 32 KiB, which the engine overwrites in place.
const WRITE_BLOCKS: u64 = 64;
/// Steps that may share the blocks of one pattern: no block gets more references than the engine
/// counts.
const SHARING_STEPS: u64 = 16_384;
/// Most runs of mapped and unmapped blocks in one step.
const RUNS: usize = 256;

/// Reason why a command is refused because of a sanitize operation.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum SanitizeError {
    /// An operation is in progress.
    #[error("a sanitize operation is in progress")]
    InProgress {
        /// Progress, in 1/65 536.
        progress: u16,
    },
    /// The last operation failed.
    #[error("a sanitize operation has failed")]
    Failed,
    /// The last operation failed in restricted completion mode, which the command would leave.
    #[error("a failed sanitize operation restricts the command")]
    ExitRestricted,
    /// The operation could not be stored; the state in effect has not changed.
    #[error("the sanitize operation could not be stored: {0}")]
    NotStored(StoreError),
    /// The end of a failure could not be stored; the state in effect has not changed.
    #[error("the end of the sanitize failure could not be stored: {0}")]
    ExitNotStored(StoreError),
}

/// Sanitize state of a volume.
#[derive(Clone, Debug, Default)]
enum State {
    /// No operation.
    #[default]
    Idle,
    /// An operation is in progress.
    Running(Rc<Running>),
    /// The last operation failed.
    Failed { unrestricted_exit: bool },
}

/// Operation in progress.
#[derive(Debug)]
pub(crate) struct Running {
    method: SanitizeMethod,
    unrestricted_exit: bool,
    /// Writes that were admitted before it have ended.
    alone: Cell<bool>,
    /// First logical block that is not done.
    next: Cell<u64>,
    progress: Cell<u16>,
    /// Result, once it has ended: whether it succeeded.
    ended: Cell<Option<bool>>,
    waiting: WaitQueue,
}

impl Running {
    fn new(operation: PersistedSanitize) -> Self {
        Self {
            method: operation.method,
            unrestricted_exit: operation.unrestricted_exit,
            alone: Cell::new(false),
            next: Cell::new(0),
            progress: Cell::new(0),
            ended: Cell::new(None),
            waiting: WaitQueue::default(),
        }
    }

    fn persisted(&self, failed: Option<String>) -> PersistedSanitize {
        PersistedSanitize {
            method: self.method.clone(),
            unrestricted_exit: self.unrestricted_exit,
            failed,
            client: None,
        }
    }

    fn end(&self, succeeded: bool) {
        self.ended.set(Some(succeeded));
        self.waiting.wake_all();
    }
}

/// Sanitize state of a volume.
#[derive(Debug, Default)]
pub struct Sanitize(RefCell<State>);

impl Sanitize {
    /// Refuses a command that may not run while an operation is in progress or has failed.
    pub fn check(&self) -> Result<(), SanitizeError> {
        match &*self.0.borrow() {
            State::Idle => Ok(()),
            State::Running(running) => Err(SanitizeError::InProgress { progress: running.progress.get() }),
            State::Failed { .. } => Err(SanitizeError::Failed),
        }
    }

    /// Refuses an operation while another one is in progress, and one that would lift the
    /// restriction of a failed one.
    pub fn check_begin(&self, unrestricted_exit: bool) -> Result<(), SanitizeError> {
        match &*self.0.borrow() {
            State::Running(running) => Err(SanitizeError::InProgress { progress: running.progress.get() }),
            State::Failed { unrestricted_exit: false } if unrestricted_exit => Err(SanitizeError::ExitRestricted),
            State::Idle | State::Failed { .. } => Ok(()),
        }
    }

    /// Restores a stored operation, before the volume's first command. One that was in progress
    /// starts again and has to be run.
    pub fn restore(&self, operation: PersistedSanitize) {
        let state = if operation.failed.is_some() {
            State::Failed { unrestricted_exit: operation.unrestricted_exit }
        } else {
            State::Running(Rc::new(Running::new(operation)))
        };
        self.0.replace(state);
    }

    /// Ends the wait of every command: the volume was deleted.
    pub fn abandon(&self) {
        if let State::Running(running) = self.0.take() {
            running.end(false);
        }
    }

    fn running(&self) -> Option<Rc<Running>> {
        match &*self.0.borrow() {
            State::Running(running) => Some(Rc::clone(running)),
            State::Idle | State::Failed { .. } => None,
        }
    }
}

/// Operation that has begun, for the command that waits for its end.
pub struct Begun(Rc<Running>);

impl Begun {
    /// Waits for the end of the operation. The wait ends early when the command is aborted; the
    /// operation continues.
    pub async fn ended(&self, abort: &AbortFlag) -> Result<(), SanitizeError> {
        poll_fn(|context| match self.0.ended.get() {
            Some(true) => Poll::Ready(Ok(())),
            Some(false) => Poll::Ready(Err(SanitizeError::Failed)),
            None if abort.is_set_or_wakes(context.waker()) => {
                Poll::Ready(Err(SanitizeError::InProgress { progress: self.0.progress.get() }))
            }
            None => {
                self.0.waiting.register(context.waker());
                Poll::Pending
            }
        })
        .await
    }
}

impl Sanitize {
    /// Begins an operation: from now on only commands that report about it are executed. On error
    /// nothing has happened.
    pub(crate) async fn begin(
        &self,
        volume: VolumeId,
        store: &dyn UnitStore,
        operation: PersistedSanitize,
    ) -> Result<Begun, SanitizeError> {
        let client = operation.client.clone();
        let running = Rc::new(Running::new(operation));
        let before = self.0.replace(State::Running(Rc::clone(&running)));
        let begun = PersistedSanitize { client, ..running.persisted(None) };
        if let Err(error) = store.store_sanitize(volume, Some(begun)).await {
            self.0.replace(before);
            running.end(false);
            return Err(SanitizeError::NotStored(error));
        }
        Ok(Begun(running))
    }

    /// Clears the failure of an operation as if it had succeeded (EXIT FAILURE MODE). Without a
    /// failure, does nothing.
    pub async fn exit_failure(&self, volume: VolumeId, store: &dyn UnitStore) -> Result<(), SanitizeError> {
        match &*self.0.borrow() {
            State::Idle => return Ok(()),
            State::Running(running) => return Err(SanitizeError::InProgress { progress: running.progress.get() }),
            State::Failed { unrestricted_exit: false } => return Err(SanitizeError::ExitRestricted),
            State::Failed { unrestricted_exit: true } => {}
        }
        store.store_sanitize(volume, None).await.map_err(SanitizeError::ExitNotStored)?;
        // Unless another operation has begun meanwhile.
        if matches!(&*self.0.borrow(), State::Failed { .. }) {
            self.0.replace(State::Idle);
        }
        Ok(())
    }

    /// Logical blocks that the operation has processed; `None` without an operation.
    pub(crate) fn done_blocks(&self) -> Option<u64> {
        self.running().map(|running| running.next.get())
    }

    /// Runs one step of the operation on `device` and returns the bytes of content that it
    /// processed; `None` at the end or without an operation. `writes`: commands that may change the
    /// medium.
    pub(crate) async fn step<D: BlockDevice>(
        &self,
        device: &D,
        writes: &InFlight,
        store: &dyn UnitStore,
    ) -> Option<u64> {
        let running = self.running()?;
        if !running.alone.replace(true) {
            // Writes that were admitted before must not land on erased blocks.
            writes.drained().await;
        }
        let step = match &running.method {
            SanitizeMethod::BlockErase => erase(device).await,
            SanitizeMethod::Overwrite { count, .. } => overwrite_step(device, *count, &running).await,
        };
        match step {
            Ok(Some(bytes)) => return Some(bytes),
            Ok(None) => self.end(device.volume(), store, &running, Ok(())).await,
            Err(error) => self.end(device.volume(), store, &running, Err(error)).await,
        }
        None
    }

    async fn end(&self, volume: VolumeId, store: &dyn UnitStore, running: &Rc<Running>, ended: Result<(), BlockError>) {
        let succeeded = ended.is_ok();
        let kept = ended.err().map(|error| running.persisted(Some(error.to_string())));
        let stored = store.store_sanitize(volume, kept).await.is_ok();
        // Without a stored end, the next start would erase blocks written after this.
        let succeeded = succeeded && stored;
        let is_this = self.running().is_some_and(|other| Rc::ptr_eq(&other, running));
        if is_this {
            let failed = State::Failed { unrestricted_exit: running.unrestricted_exit };
            self.0.replace(if succeeded { State::Idle } else { failed });
        }
        running.end(succeeded);
    }
}

/// Executes a block erase in one step: the engine deallocates any number of blocks at once.
async fn erase<D: BlockDevice>(device: &D) -> Result<Option<u64>, BlockError> {
    device.zero(Extent::new(0, device.block_count()), Durability::Forced).await?;
    device.flush().await?;
    Ok(None)
}

/// Overwrites the next mebibyte; `None` at the end.
async fn overwrite_step<D: BlockDevice>(device: &D, count: u8, running: &Running) -> Result<Option<u64>, BlockError> {
    let device_blocks = device.block_count();
    let first = running.next.get();
    if first >= device_blocks {
        device.flush().await?;
        return Ok(None);
    }
    let end = device_blocks.min(first - first % STEP_BLOCKS + STEP_BLOCKS);
    // Step whose blocks the following steps share.
    let source = first - first % (SHARING_STEPS * STEP_BLOCKS);
    let last_pass = count.saturating_sub(1);
    let zeros = running.method.content(last_pass, LOGICAL_BLOCK_BYTES as usize).iter().all(|byte| *byte == 0);
    let mut at = first;
    let mut bytes = 0;
    for ProvisioningExtent { extent, mapped } in device.provisioning(Lba(first), RUNS).await? {
        let from = extent.lba.0.max(at);
        let to = extent.end().unwrap_or(end).min(end);
        if from >= to {
            break;
        }
        let run = Extent::new(from, to - from);
        let is_source = from < source + STEP_BLOCKS;
        if mapped {
            for pass in 0..=last_pass {
                write_pattern(device, run, &running.method, pass).await?;
            }
            bytes += run.count * u64::from(LOGICAL_BLOCK_BYTES);
        } else if zeros {
            // Unmapped blocks read as zeros already.
        } else if is_source {
            write_pattern(device, run, &running.method, last_pass).await?;
            bytes += run.count * u64::from(LOGICAL_BLOCK_BYTES);
        } else {
            let like = Extent::new(source + from % STEP_BLOCKS, run.count);
            block::copy_all(device, like, device, run.lba).await?;
        }
        at = to;
    }
    running.next.set(at.max(first + 1));
    let share = u128::from(at) * 65_536 / u128::from(device_blocks.max(1));
    running.progress.set(u16::try_from(share).unwrap_or(u16::MAX));
    Ok(Some(bytes))
}

async fn write_pattern<D: BlockDevice>(
    device: &D,
    run: Extent,
    method: &SanitizeMethod,
    pass: u8,
) -> Result<(), BlockError> {
    const BLOCK: usize = LOGICAL_BLOCK_BYTES as usize;
    let content = Bytes::from(method.content(pass, WRITE_BLOCKS as usize * BLOCK));
    let end = run.lba.0 + run.count;
    let mut writes = Vec::new();
    let mut at = run.lba.0;
    while at < end {
        // Pieces aligned to WRITE_BLOCKS, so that the engine writes whole blocks.
        let next = end.min(at - at % WRITE_BLOCKS + WRITE_BLOCKS);
        let piece = Extent::new(at, next - at);
        let length = usize::try_from(piece.count).unwrap_or(0) * BLOCK;
        writes.push(device.write(piece, content.slice(..length), Durability::AsConfigured));
        at = next;
    }
    try_join_all(writes).await.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each block begins with the first byte of the pattern, and the last pass is not inverted, for
    /// any number of passes.
    #[test]
    fn the_last_pass_writes_the_pattern_as_it_is() {
        let first = |count, invert, pass| {
            let content = SanitizeMethod::Overwrite { count, invert, pattern: vec![1, 2, 3] }.content(pass, 1024);
            assert_eq!(content.get(..512), content.get(512..));
            content.get(..4).map(<[u8]>::to_vec)
        };
        assert_eq!(first(1, false, 0), Some(vec![1, 2, 3, 1]));
        assert_eq!(first(2, true, 0), Some(vec![0xfe, 0xfd, 0xfc, 0xfe]));
        assert_eq!(first(2, true, 1), Some(vec![1, 2, 3, 1]));
        assert_eq!(first(3, true, 0), Some(vec![1, 2, 3, 1]));
    }
}
