//! Background operations, which continue after their command was answered: IMMED of EXTENDED COPY
//! (LID4), POPULATE TOKEN and WRITE USING TOKEN.
//!
//! The target has no runtime: its owner polls [`ScsiTarget::run_background`] beside the commands.

use super::{Invocation, Request, ScsiTarget};
use crate::command::Command;
use crate::copies::Running;
use crate::logical_unit::LogicalUnit;
use crate::nexus::Nexus;
use crate::nexus_id::NexusId;
use crate::sense::Fault;
use crate::task_set::TaskAttribute;
use block::{BlockDevice, VolumeId};
use futures_util::future::LocalBoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use scsi::Cdb;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, VecDeque};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;
use unit::{AbortFlag, OffloadWork, WaitQueue};

/// Operation that can continue in the background.
pub(crate) trait Work<D> {
    /// Executes the operation. True: its results are kept for the application client.
    fn execute<'a>(
        self: Box<Self>,
        call: &'a Invocation<'a, D>,
        running: &'a Running,
    ) -> LocalBoxFuture<'a, (bool, Result<OffloadWork, Fault>)>
    where
        D: 'a,
        Self: 'a;
}

/// Queued operation with its context.
struct Job<D> {
    nexus: Rc<Nexus<D>>,
    unit: Rc<LogicalUnit<D>>,
    command: &'static Command,
    cdb: Cdb,
    abort: AbortFlag,
    content_generation: u64,
    running: Running,
    work: Box<dyn Work<D>>,
}

/// Queue of background operations.
pub(crate) struct Background<D> {
    queue: RefCell<VecDeque<Job<D>>>,
    /// Operations queued or running.
    count: Cell<usize>,
    waiting: WaitQueue,
}

impl<D> Default for Background<D> {
    fn default() -> Self {
        Self { queue: RefCell::default(), count: Cell::new(0), waiting: WaitQueue::default() }
    }
}

impl<D: BlockDevice + 'static> ScsiTarget<D> {
    /// Queues an operation for [`Self::run_background`].
    pub(crate) fn leave_to_background(
        &self,
        call: &Invocation<'_, D>,
        running: Running,
        work: Box<dyn Work<D>>,
    ) -> Result<(), Fault> {
        let limit = usize::from(self.limits.copy.total_concurrent_copies);
        if self.background.count.get() >= limit {
            return Err(Fault::InsufficientResources);
        }
        let nexus = self.nexuses.borrow().get(call.nexus.id).ok_or(Fault::LogicalUnitNotSupported)?;
        let path = nexus.find(|unit| std::ptr::eq(unit, call.logical_unit)).ok_or(Fault::LogicalUnitNotSupported)?;
        let unit = Rc::clone(&path.logical_unit);
        running.mark_background();
        let (command, cdb, abort) = (call.command, call.cdb, call.request.abort.clone());
        let job = Job { nexus, unit, command, cdb, abort, content_generation: call.content_generation, running, work };
        self.background.count.set(self.background.count.get() + 1);
        self.background.queue.borrow_mut().push_back(job);
        self.background.waiting.wake_all();
        Ok(())
    }

    /// Executes the queued operations. Never returns; to be polled on the thread that owns the
    /// target.
    pub async fn run_background(&self) {
        let mut at_work = FuturesUnordered::new();
        poll_fn(|context| {
            loop {
                while let Some(job) = self.background.queue.borrow_mut().pop_front() {
                    at_work.push(self.work(job));
                }
                match at_work.poll_next_unpin(context) {
                    Poll::Ready(Some(())) => self.background.count.set(self.background.count.get().saturating_sub(1)),
                    Poll::Ready(None) | Poll::Pending => break,
                }
            }
            self.background.waiting.register(context.waker());
            Poll::<()>::Pending
        })
        .await;
    }

    async fn work(&self, job: Job<D>) {
        let Job { nexus, unit, command, cdb, abort, content_generation, running, work } = job;
        let request = Request {
            cdb: cdb.0,
            data_out: Default::default(),
            expected_data_in: 0,
            expected_data_out: 0,
            attribute: TaskAttribute::Simple,
            abort,
        };
        // The command has been answered: it is no longer in the task set.
        let call = Invocation::new(self, &nexus, &unit, command, request, content_generation, None);
        let (keep, result) = work.execute(&call, &running).await;
        self.account_background(&call, result.as_ref());
        running.finish(keep, result.as_ref().map(|_| ()));
    }

    /// Aborts the background operations of an I_T nexus and waits until they can have no further
    /// effect. To be called before [`Self::detach_nexus`] and when the tasks of the nexus are
    /// aborted.
    pub async fn stop_background_of(&self, nexus: NexusId) {
        let ending = self.nexuses.borrow().get(nexus).map(|nexus| nexus.copies.abort_background(None));
        if let Some(ending) = ending {
            ending.ended().await;
        }
    }

    /// Aborts the background operations that these logical units received, from these nexuses or
    /// (`None`: a reset) from all, and waits as [`Self::stop_background_of`] does. Copies that
    /// another logical unit received continue, even if they read or write one of these.
    pub async fn stop_background_on(&self, volumes: &BTreeSet<VolumeId>, of: Option<&[NexusId]>) {
        let nexuses = self.nexuses.borrow().all();
        let concerned = nexuses.iter().filter(|nexus| of.is_none_or(|of| of.contains(&nexus.id)));
        let ending: Vec<_> = concerned.map(|nexus| nexus.copies.abort_background(Some(volumes))).collect();
        for ending in ending {
            ending.ended().await;
        }
    }

    /// Ends the ROD tokens that have expired, and the oldest while all tokens hold more space than
    /// the pool has free. To be called about once a second.
    pub fn expire_tokens(&self) {
        self.tokens.expire(self.now_ns());
        self.tokens.cancel_oldest_above_free_space();
    }

    /// Number of live ROD tokens.
    #[cfg(test)]
    pub fn token_count(&self) -> usize {
        self.tokens.count()
    }
}
