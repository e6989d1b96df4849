//! Sanitize operations (SBC-4 §4.11): a logical unit's content made unreadable as a whole, in the background, until it is done whatever happens.
//!
//! A SANITIZE command begins the operation; from then on the device server executes nothing but what tells about itself, and answers everything else
//! with how far the operation is. It goes on through resets, lost nexuses, and a loss of power: what has begun is kept by [`SanitizeSupport`] before the
//! first block changes, and begins anew at the next start. Whoever runs the target calls [`ScsiTarget::sanitize_step`] until it has ended, at the
//! pace that it sees fit.
//!
//! The *block erase* method deallocates everything: all blocks read as zeros. The *overwrite* method writes its pattern over what is mapped, in pieces
//! small enough that the engine overwrites blocks in place where nothing shares them, and makes what is not mapped share blocks that hold
//! the pattern: a thin volume stays thin. Neither reaches what belongs to others: snapshots and clones keep what they share with the volume.
//! There is no cryptographic erase, because content is not encrypted.

use crate::logical_unit::LogicalUnit;
use crate::sense::Fault;
use crate::target::ScsiTarget;
use block::{BlockDevice, BlockError, Durability, Extent, LOGICAL_BLOCK_BYTES, Lba, ProvisioningExtent, VolumeId};
use bytes::Bytes;
use futures_util::future::try_join_all;
use scsi::sanitize::Overwrite;
use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Poll, Waker};
use unit::AbortFlag;
use unit::StoreError;

/// Logical blocks of a step of an overwrite: 1 MiB.
const STEP_BLOCKS: u64 = 2048;
/// Logical blocks written at once: 32 KiB, which the engine overwrites in place.
const WRITE_BLOCKS: u64 = 64;
/// Steps whose blocks may be shared with one another: no block gets more references than the engine counts.
const SHARING_STEPS: u64 = 16_384;
/// Runs of mapped and unmapped blocks looked at in one step.
const RUNS: usize = 256;

/// How content is made unreadable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SanitizeMethod {
    /// Everything is deallocated.
    BlockErase,
    /// A pattern is written over it.
    Overwrite {
        /// Write passes, 1 to 31.
        count: u8,
        /// The pattern is inverted from pass to pass.
        invert: bool,
        /// Repeated in each logical block; at most one of them.
        pattern: Vec<u8>,
    },
}

/// A sanitize operation, as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PersistedSanitize {
    /// How.
    pub method: SanitizeMethod,
    /// AUSE: EXIT FAILURE MODE ends what a failure leaves behind. Otherwise only another sanitize operation that succeeds does.
    pub unrestricted_exit: bool,
    /// It has failed, for this reason. Otherwise it has to be done anew from the start.
    pub failed: Option<String>,
}

/// What sanitize operations need of others.
pub trait SanitizeSupport {
    /// Keeps this in place of what was kept for the logical unit; `None` keeps nothing. Durable when the future is ready with `Ok`; with an error,
    /// nothing has changed. Never called for a logical unit while a call before it is at work.
    fn store(
        &self,
        volume: VolumeId,
        operation: Option<PersistedSanitize>,
    ) -> Pin<Box<dyn Future<Output = Result<(), StoreError>>>>;

    /// An operation has begun: [`ScsiTarget::sanitize_step`] has to be called for it until it returns `None`.
    fn start(&self, volume: VolumeId);
}

/// What a logical unit is about.
#[derive(Clone, Debug, Default)]
enum State {
    /// Nothing.
    #[default]
    Idle,
    /// An operation is in progress.
    Running(Rc<Running>),
    /// The last operation failed.
    Failed { unrestricted_exit: bool },
}

/// An operation in progress.
#[derive(Debug)]
struct Running {
    method: SanitizeMethod,
    unrestricted_exit: bool,
    /// Commands that began before are done.
    alone: Cell<bool>,
    /// The first logical block that is not done.
    next: Cell<u64>,
    progress: Cell<u16>,
    /// Set at the end: whether it succeeded.
    ended: Cell<Option<bool>>,
    waiting: RefCell<Vec<Waker>>,
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
            waiting: RefCell::default(),
        }
    }

    fn persisted(&self, failed: Option<String>) -> PersistedSanitize {
        PersistedSanitize { method: self.method.clone(), unrestricted_exit: self.unrestricted_exit, failed }
    }

    fn wake(&self) {
        for waker in self.waiting.take() {
            waker.wake();
        }
    }

    fn end(&self, succeeded: bool) {
        self.ended.set(Some(succeeded));
        self.wake();
    }
}

/// The sanitize state of a logical unit.
#[derive(Debug, Default)]
pub(crate) struct Sanitize(RefCell<State>);

impl Sanitize {
    /// Refuses what is not executed while an operation is in progress or has failed.
    pub fn check(&self) -> Result<(), Fault> {
        match &*self.0.borrow() {
            State::Idle => Ok(()),
            State::Running(running) => Err(Fault::SanitizeInProgress { progress: running.progress.get() }),
            State::Failed { .. } => Err(Fault::SanitizeFailed),
        }
    }

    /// Refuses another SANITIZE command while one is in progress, and one that would lift the restriction of one that failed.
    pub fn check_begin(&self, unrestricted_exit: bool) -> Result<(), Fault> {
        match &*self.0.borrow() {
            State::Running(running) => Err(Fault::SanitizeInProgress { progress: running.progress.get() }),
            State::Failed { unrestricted_exit: false } if unrestricted_exit => Err(Fault::SanitizeExitRestricted),
            State::Idle | State::Failed { .. } => Ok(()),
        }
    }

    fn running(&self) -> Option<Rc<Running>> {
        match &*self.0.borrow() {
            State::Running(running) => Some(Rc::clone(running)),
            State::Idle | State::Failed { .. } => None,
        }
    }

    /// The logical unit is gone: nobody waits for it any more.
    pub fn abandon(&self) {
        if let State::Running(running) = self.0.take() {
            running.end(false);
        }
    }
}

/// An operation that has begun: for the command that wants to know how it ends.
pub(crate) struct Begun(Rc<Running>);

impl Begun {
    /// Waits for the end, or until the command was aborted, which the operation does not care about.
    pub async fn ended(&self, abort: &AbortFlag) -> Result<(), Fault> {
        poll_fn(|context| match self.0.ended.get() {
            Some(true) => Poll::Ready(Ok(())),
            Some(false) => Poll::Ready(Err(Fault::SanitizeFailed)),
            None if abort.is_set_or_wakes(context.waker()) => {
                Poll::Ready(Err(Fault::SanitizeInProgress { progress: self.0.progress.get() }))
            }
            None => {
                let mut waiting = self.0.waiting.borrow_mut();
                if !waiting.iter().any(|waker| waker.will_wake(context.waker())) {
                    waiting.push(context.waker().clone());
                }
                Poll::Pending
            }
        })
        .await
    }
}

impl<D: BlockDevice> ScsiTarget<D> {
    /// Lets logical units be sanitized. Without it SANITIZE is refused.
    pub fn set_sanitize_support(&self, support: Rc<dyn SanitizeSupport>) {
        self.sanitize_support.replace(Some(support));
    }

    /// Puts back what a [`SanitizeSupport`] has kept, before the logical unit's first command. An operation that was in progress begins anew: it
    /// has to be run. False when there is no such logical unit.
    #[must_use]
    pub fn restore_sanitize(&self, volume: VolumeId, operation: PersistedSanitize) -> bool {
        let Some(unit) = self.unit(volume) else { return false };
        let state = if operation.failed.is_some() {
            State::Failed { unrestricted_exit: operation.unrestricted_exit }
        } else {
            State::Running(Rc::new(Running::new(operation)))
        };
        unit.sanitize.0.replace(state);
        true
    }

    /// Begins an operation: nothing but the answers about it is executed from now on. When it cannot be kept, nothing has happened.
    pub(crate) async fn begin_sanitize(
        &self,
        unit: &LogicalUnit<D>,
        operation: PersistedSanitize,
    ) -> Result<Begun, Fault> {
        let support = self.sanitize_support.borrow().clone();
        let support = support.ok_or(Fault::ReservationsNotStored(StoreError::Failed))?;
        let running = Rc::new(Running::new(operation));
        let before = unit.sanitize.0.replace(State::Running(Rc::clone(&running)));
        if let Err(error) = support.store(unit.volume, Some(running.persisted(None))).await {
            unit.sanitize.0.replace(before);
            running.end(false);
            return Err(match error {
                StoreError::NoRoom => Fault::Block(BlockError::PoolFull),
                StoreError::Failed => Fault::ReservationsNotStored(error),
            });
        }
        unit.renew();
        // What tokens hold of the unit is not to outlive this.
        self.tokens.cancel_of(unit.volume);
        support.start(unit.volume);
        Ok(Begun(running))
    }

    /// EXIT FAILURE MODE: goes on as if the operation that failed had succeeded. Without one, nothing is to be done.
    pub(crate) async fn exit_sanitize_failure(&self, unit: &LogicalUnit<D>) -> Result<(), Fault> {
        match &*unit.sanitize.0.borrow() {
            State::Idle => return Ok(()),
            State::Running(running) => return Err(Fault::SanitizeInProgress { progress: running.progress.get() }),
            State::Failed { unrestricted_exit: false } => return Err(Fault::SanitizeExitRestricted),
            State::Failed { unrestricted_exit: true } => {}
        }
        let support = self.sanitize_support.borrow().clone();
        let support = support.ok_or(Fault::ReservationsNotStored(StoreError::Failed))?;
        support.store(unit.volume, None).await.map_err(Fault::ReservationsNotStored)?;
        // Unless another operation has begun meanwhile.
        if matches!(&*unit.sanitize.0.borrow(), State::Failed { .. }) {
            unit.sanitize.0.replace(State::Idle);
        }
        Ok(())
    }

    /// How far the operation in progress on a logical unit is: bytes of it that are done, of all. `None` when there is none (any more).
    #[must_use]
    pub fn sanitize_progress(&self, volume: VolumeId) -> Option<(u64, u64)> {
        let unit = self.unit(volume)?;
        let running = unit.sanitize.running()?;
        let bytes = |blocks: u64| blocks.saturating_mul(u64::from(LOGICAL_BLOCK_BYTES));
        let blocks = unit.device().block_count();
        Some((bytes(running.next.get().min(blocks)), bytes(blocks)))
    }

    /// One step of the operation in progress on a logical unit: the bytes of content that it worked on. `None` when there is none (any more).
    pub async fn sanitize_step(&self, volume: VolumeId) -> Option<u64> {
        let unit = self.unit(volume)?;
        let running = unit.sanitize.running()?;
        if !running.alone.replace(true) {
            // What was admitted before must not land on what was erased.
            unit.writes.drained().await;
        }
        let step = match &running.method {
            SanitizeMethod::BlockErase => erase(&unit).await,
            SanitizeMethod::Overwrite { count, invert, pattern } => {
                let overwrite = Overwrite { count: *count, invert: *invert, pattern: pattern.clone() };
                overwrite_step(&unit, &overwrite, &running).await
            }
        };
        match step {
            Ok(Some(bytes)) => return Some(bytes),
            Ok(None) => self.end_sanitize(&unit, &running, Ok(())).await,
            Err(error) => self.end_sanitize(&unit, &running, Err(error)).await,
        }
        None
    }

    async fn end_sanitize(&self, unit: &LogicalUnit<D>, running: &Rc<Running>, ended: Result<(), BlockError>) {
        let support = self.sanitize_support.borrow().clone();
        let succeeded = ended.is_ok();
        let kept = ended.err().map(|error| running.persisted(Some(error.to_string())));
        let stored = match support {
            Some(support) => support.store(unit.volume, kept).await.is_ok(),
            None => false,
        };
        // One that was being made when the operation began.
        self.tokens.cancel_of(unit.volume);
        // As long as it is kept as unfinished, the next start would erase what is written from now on.
        let succeeded = succeeded && stored;
        let is_this = unit.sanitize.running().is_some_and(|other| Rc::ptr_eq(&other, running));
        if is_this {
            let failed = State::Failed { unrestricted_exit: running.unrestricted_exit };
            unit.sanitize.0.replace(if succeeded { State::Idle } else { failed });
        }
        running.end(succeeded);
    }
}

/// The whole block erase: the engine deallocates any number of blocks at once.
async fn erase<D: BlockDevice>(unit: &LogicalUnit<D>) -> Result<Option<u64>, BlockError> {
    let device = unit.device();
    device.zero(Extent::new(0, device.block_count()), Durability::Forced).await?;
    device.flush().await?;
    Ok(None)
}

/// The next mebibyte of an overwrite; `None` at the end.
async fn overwrite_step<D: BlockDevice>(
    unit: &LogicalUnit<D>,
    overwrite: &Overwrite,
    running: &Running,
) -> Result<Option<u64>, BlockError> {
    let device = unit.device();
    let device_blocks = device.block_count();
    let first = running.next.get();
    if first >= device_blocks {
        device.flush().await?;
        return Ok(None);
    }
    let end = device_blocks.min(first - first % STEP_BLOCKS + STEP_BLOCKS);
    // What others share their pattern with.
    let source = first - first % (SHARING_STEPS * STEP_BLOCKS);
    let last_pass = overwrite.count.saturating_sub(1);
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
                write_pattern(&*device, run, overwrite, pass).await?;
            }
            bytes += run.count * u64::from(LOGICAL_BLOCK_BYTES);
        } else if overwrite.pattern.iter().all(|byte| *byte == 0) {
            // It reads as that already.
        } else if is_source {
            write_pattern(&*device, run, overwrite, last_pass).await?;
            bytes += run.count * u64::from(LOGICAL_BLOCK_BYTES);
        } else {
            let like = Extent::new(source + from % STEP_BLOCKS, run.count);
            device.copy_from(&device, like, run.lba).await?;
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
    overwrite: &Overwrite,
    pass: u8,
) -> Result<(), BlockError> {
    const BLOCK: usize = LOGICAL_BLOCK_BYTES as usize;
    let content = Bytes::from(overwrite.content(pass, WRITE_BLOCKS as usize * BLOCK, BLOCK));
    let end = run.lba.0 + run.count;
    let mut writes = Vec::new();
    let mut at = run.lba.0;
    while at < end {
        // Whole pieces of the device, so that blocks of the engine are written whole.
        let next = end.min(at - at % WRITE_BLOCKS + WRITE_BLOCKS);
        let piece = Extent::new(at, next - at);
        let length = usize::try_from(piece.count).unwrap_or(0) * BLOCK;
        writes.push(device.write(piece, content.slice(..length), Durability::AsConfigured));
        at = next;
    }
    try_join_all(writes).await.map(drop)
}
