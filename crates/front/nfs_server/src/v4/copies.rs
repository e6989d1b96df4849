//! Physical copies that go on after the reply to COPY (RFC 7862 §4, §15.2): a job for each.
//!
//! [`Server::copy_piece`](super::server::Server::copy_piece) runs them, a piece at a time, in turns. Its owner may
//! call it several times at once: then pieces of different copies go on side by side. A job is known until its callback
//! is answered or given up, the client cancels it, or the client is gone.

mod run;

pub(super) use run::GivenUp;

use crate::connection::{CallFacts, Connection, Moment};
use nfs::v4::{Filehandle, Stateid, Status};
use nfs_state::Referring;
use onc_rpc::auth::Credential;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use unit::WaitQueue;
use vfs::{FileId, Right};

/// Source or destination of a copy.
#[derive(Clone, Copy, Debug)]
pub(super) struct End {
    /// Object of its share.
    pub object: u64,
    /// Epoch of the handles.
    pub epoch: u32,
    /// File.
    pub file: FileId,
    /// First byte.
    pub offset_bytes: u64,
    /// Right that the stateid gave.
    pub right: Right,
}

/// What a copy does, and for whom.
#[derive(Debug)]
pub(super) struct Order {
    /// Name of the copy.
    pub stateid: Stateid,
    pub from: End,
    pub to: End,
    pub length_bytes: u64,
    /// Handle of the destination, for the callback.
    pub handle: Filehandle,
    /// Connection and user that sent the COPY.
    pub connection: Connection,
    pub credential: Credential,
    /// The COPY, for the callback.
    pub referring: Referring,
}

/// A copy.
#[derive(Debug)]
pub(super) struct Job {
    pub order: Order,
    done_bytes: Cell<u64>,
    outcome: Cell<Option<Result<(), Status>>>,
    /// True if no further piece begins.
    stopped: Cell<bool>,
    /// True while a piece is copied.
    busy: Cell<bool>,
    /// Time at which it began, by the clock of the statistics.
    begun_ns: u64,
    /// Waits for the end of the piece.
    waiting: WaitQueue,
}

impl Job {
    /// Facts of the COPY at another time.
    pub fn facts(&self, moment: Moment) -> CallFacts<'_> {
        let Order { connection, credential, .. } = &self.order;
        CallFacts { connection, credential, moment, record_bytes: 0 }
    }

    /// Bytes copied in order from the start. All of them are durable.
    pub fn done_bytes(&self) -> u64 {
        self.done_bytes.get()
    }

    /// Outcome, if the copy has ended.
    pub fn outcome(&self) -> Option<Result<(), Status>> {
        self.outcome.get()
    }

    /// Ready when no piece is copied, and none will be. Afterwards the copy does not change the destination.
    pub async fn stop(&self) {
        self.stopped.set(true);
        self.piece_ended().await;
    }

    /// Ready when no piece is copied.
    async fn piece_ended(&self) {
        self.waiting.until(|| (!self.busy.get()).then_some(())).await;
    }

    fn runs(&self) -> bool {
        !self.stopped.get() && self.outcome.get().is_none()
    }
}

/// Piece in progress. Its end wakes the futures that wait for it, and those that wait for a piece to copy.
struct Piece<'a> {
    job: &'a Job,
    copies: &'a Copies,
}

impl Drop for Piece<'_> {
    fn drop(&mut self) {
        self.job.busy.set(false);
        self.job.waiting.wake_all();
        self.copies.wake();
    }
}

/// All jobs. Their number is limited by the state of clients.
#[derive(Debug, Default)]
pub(super) struct Copies {
    /// The next piece is one of the first that runs and has none in progress.
    jobs: RefCell<VecDeque<Rc<Job>>>,
    /// Waits for a piece to copy.
    runners: WaitQueue,
}

impl Copies {
    /// Adds a job that begins at `begun_ns`.
    pub fn begin(&self, order: Order, begun_ns: u64) {
        self.jobs.borrow_mut().push_back(Rc::new(Job {
            order,
            done_bytes: Cell::default(),
            outcome: Cell::default(),
            stopped: Cell::default(),
            busy: Cell::default(),
            begun_ns,
            waiting: WaitQueue::default(),
        }));
        self.wake();
    }

    /// Job with that stateid.
    pub fn find(&self, stateid: &Stateid) -> Option<Rc<Job>> {
        self.jobs.borrow().iter().find(|job| job.order.stateid == *stateid).cloned()
    }

    /// Forgets jobs.
    pub fn retain(&self, keep: impl FnMut(&Rc<Job>) -> bool) {
        self.jobs.borrow_mut().retain(keep);
    }

    /// Removes a job. False if it was removed before.
    fn remove(&self, job: &Rc<Job>) -> bool {
        let mut jobs = self.jobs.borrow_mut();
        let before = jobs.len();
        jobs.retain(|other| !Rc::ptr_eq(other, job));
        jobs.len() < before
    }

    /// Jobs of which a piece is copied.
    fn busy(&self) -> Vec<Rc<Job>> {
        self.jobs.borrow().iter().filter(|job| job.busy.get()).cloned().collect()
    }

    /// Jobs that run and have an end in a share.
    fn of_share(&self, object: u64) -> Vec<Rc<Job>> {
        let in_share =
            |job: &&Rc<Job>| job.runs() && [job.order.from, job.order.to].iter().any(|end| end.object == object);
        self.jobs.borrow().iter().filter(in_share).cloned().collect()
    }

    /// The next job of which a piece may be copied, in turns. Waits while there is none.
    async fn next(&self) -> Rc<Job> {
        self.runners.until(|| self.turn()).await
    }

    fn turn(&self) -> Option<Rc<Job>> {
        let mut jobs = self.jobs.borrow_mut();
        let index = jobs.iter().position(|job| job.runs() && !job.busy.get())?;
        let job = jobs.remove(index)?;
        jobs.push_back(Rc::clone(&job));
        Some(job)
    }

    fn begin_piece<'a>(&'a self, job: &'a Job) -> Piece<'a> {
        job.busy.set(true);
        Piece { job, copies: self }
    }

    fn wake(&self) {
        self.runners.wake_all();
    }
}

#[cfg(test)]
mod tests {
    use super::Copies;
    use std::future::Future;
    use std::pin::pin;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::task::{Context, Wake, Waker};

    #[derive(Default)]
    struct Count(AtomicU32);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Regression: each poll of a server without copies kept a waker, so that its memory grew for ever.
    #[test]
    fn a_runner_that_waits_is_known_once() {
        let copies = Copies::default();
        let count = Arc::new(Count::default());
        let waker = Waker::from(Arc::clone(&count));
        let mut next = pin!(copies.next());
        for round in 1..=2 {
            for _ in 0..1000 {
                assert!(next.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
            }
            copies.wake();
            copies.wake();
            assert_eq!(count.0.load(Ordering::Relaxed), round);
        }
    }
}
