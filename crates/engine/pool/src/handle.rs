//! Interface of the pool for the rest of the array: a handle that volumes and the catalog share,
//! and futures over the core's operations.
//!
//! The handle lives on one thread. The owner of that thread calls [`Pool::pump`] after each batch
//! of work and when the medium's wake descriptor becomes readable. The callback of
//! [`Pool::on_work`] is called when a submitted operation needs a pump to finish. Each operation in
//! flight has a oneshot channel, which carries its result and wakes its future; a dropped future
//! leaves its operation running.

mod capture;
mod catalog;
mod difference;
mod lent;
mod look;
mod look_and_read;
#[cfg(test)]
mod tests;

pub use capture::NewCapture;
pub use difference::Difference;

use crate::core::{Core, Counters};
use crate::interface::operation::{Failure, Operation, OperationId, Output};
use crate::interface::range::BlockRange;
use crate::interface::{CatalogChange, ObjectId};

use crate::mutations::{Mutation, leaves_out};
use crate::request::Request;
use block::BlockError;
use futures_channel::oneshot;
use media::{BLOCK_BYTES, Media};
use rustc_hash::FxHashMap;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Result that the core reports for an operation.
type Outcome = Result<Output, Failure>;

struct Inner<M: Media> {
    core: RefCell<Core<M>>,
    /// Operations with a waiting future. Results reach a future only through this channel: sending
    /// wakes the future.
    awaited: RefCell<FxHashMap<OperationId, oneshot::Sender<Outcome>>>,
    /// Captures whose creation is in progress, and which nothing wants any more.
    unwanted: RefCell<FxHashMap<OperationId, ObjectId>>,
    /// Captures to be deleted.
    discarded: RefCell<Vec<ObjectId>>,
    /// Transactions whose futures make the attempts. They get a result, or `None` when an attempt is due.
    lent: RefCell<FxHashMap<OperationId, oneshot::Sender<Option<Outcome>>>>,
    on_work: RefCell<Option<Box<dyn Fn()>>>,
    needs_pump: Cell<bool>,
}

/// Submitted operation.
enum Submitted {
    /// Finished at once, with this result.
    Finished(Outcome),
    /// In flight; the result arrives on this channel.
    InFlight(OperationId, oneshot::Receiver<Outcome>),
}

impl Submitted {
    /// Waits for the result.
    async fn outcome(self) -> Outcome {
        match self {
            Self::Finished(outcome) => outcome,
            Self::InFlight(_, receiver) => receiver.await.unwrap_or_else(|_| Err(closed())),
        }
    }
}

/// Shared handle to a pool.
pub struct Pool<M: Media>(Rc<Inner<M>>);

impl<M: Media> Clone for Pool<M> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<M: Media> std::fmt::Debug for Pool<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Pool")
    }
}

impl<M: Media> Pool<M> {
    /// Creates a handle to an opened core.
    pub fn new(core: Core<M>) -> Self {
        Self(Rc::new(Inner {
            core: RefCell::new(core),
            awaited: RefCell::default(),
            unwanted: RefCell::default(),
            discarded: RefCell::default(),
            lent: RefCell::default(),
            on_work: RefCell::default(),
            needs_pump: Cell::new(false),
        }))
    }

    /// Sets the callback for "the pool needs a pump", called at most once between pumps.
    pub fn on_work(&self, notify: impl Fn() + 'static) {
        *self.0.on_work.borrow_mut() = Some(Box::new(notify));
    }

    /// Advances the core and wakes the futures of finished operations. `background` as in
    /// [`Core::pump`]. Returns true if background work is left for another pump.
    pub fn pump(&self, background: usize) -> bool {
        self.0.needs_pump.set(false);
        let mut core = self.0.core.borrow_mut();
        self.delete_discarded(&mut core);
        core.pump(background);
        self.collect(&mut core);
        core.wants_turn()
    }

    /// First part of [`Pool::pump`] without background work.
    pub fn advance(&self) {
        self.0.needs_pump.set(false);
        let mut core = self.0.core.borrow_mut();
        self.delete_discarded(&mut core);
        core.advance();
        self.collect(&mut core);
    }

    /// Second part of [`Pool::pump`]: keeps memory within its bound.
    pub fn evict(&self) -> bool {
        let mut core = self.0.core.borrow_mut();
        core.evict();
        core.wants_turn()
    }

    /// Does background work as [`Core::background`] does; the caller must pump afterwards.
    pub fn background(&self, pages: usize) {
        let mut core = self.0.core.borrow_mut();
        core.background(pages);
        self.collect(&mut core);
    }

    /// Calls `f` with the core: for requests of the program that hosts it, tools and statistics. The caller
    /// pumps afterwards if `f` has changed something.
    pub fn with_core<T>(&self, f: impl FnOnce(&mut Core<M>) -> T) -> T {
        f(&mut self.0.core.borrow_mut())
    }

    /// Number of this run of the pool, which no other run has.
    pub fn incarnation(&self) -> u64 {
        self.0.core.borrow().incarnation()
    }

    /// Makes everything durable that was executed.
    pub async fn flush(&self) -> Result<(), Failure> {
        self.run(Request::flush()).await
    }

    /// Number of mapped blocks in a range of an object that nothing outside of it maps: walks the parts of the map
    /// that it does not share, in the background. Exact if nothing changes meanwhile, and the range consists of whole
    /// pages of one level or lies in one leaf; else a lower bound.
    pub async fn unique_blocks(&self, object: ObjectId, range: BlockRange) -> Result<u64, Failure> {
        Ok(self.run(Request::unique_in(object, range)).await? / BLOCK_BYTES as u64)
    }

    /// Counters since the pool was opened.
    pub fn counters(&self) -> Counters {
        self.0.core.borrow().counters()
    }

    /// Delivers every result of the core to its future.
    fn collect(&self, core: &mut Core<M>) {
        while let Some((id, result)) = core.poll_finished() {
            self.deliver(id, result);
        }
        while let Some(id) = core.poll_due() {
            if let Some(sender) = self.0.lent.borrow_mut().remove(&id) {
                // An error means that the future was dropped, which has given the transaction up.
                let _ = sender.send(None);
            }
        }
    }

    /// True if both are handles of one pool.
    pub fn is(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }

    fn deliver(&self, id: OperationId, result: Outcome) {
        if let Some(sender) = self.0.awaited.borrow_mut().remove(&id) {
            // An error means that the future was dropped: the operation took effect, and its result
            // is not needed.
            if let Err(result) = sender.send(result)
                && let Some(capture) = self.0.unwanted.borrow_mut().remove(&id)
                && result.is_ok()
            {
                self.0.discarded.borrow_mut().push(capture);
                self.ask_for_pump();
            }
        } else if let Some(sender) = self.0.lent.borrow_mut().remove(&id) {
            let _ = sender.send(Some(result));
        }
    }

    /// Deletes captures that nothing wants. A stopped pool keeps them until it is opened again.
    fn delete_discarded(&self, core: &mut Core<M>) {
        for id in self.0.discarded.take() {
            core.submit(Request::catalog(vec![CatalogChange::DeleteObject { id }]).into_parts().0);
        }
    }

    /// Submits an operation. Delivers the results of other operations that this finishes.
    fn submit(&self, operation: Operation) -> Submitted {
        let id = self.0.core.borrow_mut().submit(operation);
        self.submitted(id)
    }

    /// Like [`Self::submit`], as the replication group of the object that the operation changes.
    fn submit_as_group(&self, operation: Operation) -> Submitted {
        let id = self.0.core.borrow_mut().submit_as_group(operation);
        self.submitted(id)
    }

    /// Like [`Self::submit`], for an operation that has just been submitted.
    fn submitted(&self, id: OperationId) -> Submitted {
        let mut core = self.0.core.borrow_mut();
        let mut own = None;
        let mut others = 0;
        while let Some((found, result)) = core.poll_finished() {
            if found == id {
                own = Some(result);
            } else if others == 0 && leaves_out(Mutation::WakeEach) {
                // Forgotten without dropping it, so that its future gets neither the result nor an
                // end.
                std::mem::forget(self.0.awaited.borrow_mut().remove(&found));
                others += 1;
            } else {
                self.deliver(found, result);
                others += 1;
            }
        }
        let owes_eviction = core.owes_eviction();
        drop(core);
        if let Some(result) = own {
            if owes_eviction {
                self.ask_for_pump();
            }
            return Submitted::Finished(result);
        }
        let (sender, receiver) = oneshot::channel();
        self.0.awaited.borrow_mut().insert(id, sender);
        self.ask_for_pump();
        Submitted::InFlight(id, receiver)
    }

    fn ask_for_pump(&self) {
        if !self.0.needs_pump.replace(true)
            && let Some(notify) = &*self.0.on_work.borrow()
        {
            notify();
        }
    }

    /// Runs a request to its end.
    pub(crate) async fn run<T>(&self, request: Request<T>) -> Result<T, Failure> {
        let (operation, reply) = request.into_parts();
        let output = self.submit(operation).outcome().await?;
        Request::reply(reply, output)
    }

    /// Runs a request of the replication group of the object that it changes.
    pub(crate) async fn run_as_group<T>(&self, request: Request<T>) -> Result<T, Failure> {
        let (operation, reply) = request.into_parts();
        let output = self.submit_as_group(operation).outcome().await?;
        Request::reply(reply, output)
    }

    /// Submits a request whose result is not needed.
    pub(crate) fn run_detached(&self, request: Request<()>) {
        // Dropping the receiver is sufficient.
        drop(self.submit(request.into_parts().0));
    }
}

/// Failure of an operation whose pool was dropped.
fn closed() -> Failure {
    Failure::Block(BlockError::PoolStopped { reason: "the pool was closed".into() })
}
