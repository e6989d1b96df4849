//! The server of NFSv4: what is exported, and the state of clients.

use super::copies::Copies;
use super::releases::Releases;
use super::sent_calls::Sent;
use crate::counts::{Counts, OperationCount};
use crate::handle::{HandleKey, Target};
use crate::shares::{Share, Shares};
use crate::statistics::Statistics;
use nfs::v4::operations::{OPERATIONS, UNSERVED};
use nfs_state::{FileKey, RecordChange, State};
use std::cell::{Cell, RefCell, RefMut};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;
use vfs::{FileId, FileSystem, FsError, pause};

/// Server of NFSv4.
///
/// Its owner calls [`Self::advance`] at least once a second, stores the changes of [`Self::take_record_change`] after
/// each call and each advance, and sends no reply before those that were taken until then are durable. A call is polled
/// to its end, even if its connection is gone: until then its slot is in use.
///
/// Beside the calls it polls [`Self::copy_piece`] again and again, with the pauses that other work needs, or
/// [`Self::copy_ended`]. It sends what [`Self::next_callback`] has, after each call, advance and end of a copy, and
/// gives the replies to [`Self::callback_answered`].
pub struct Server<F> {
    handle_key: HandleKey,
    shares: Rc<RefCell<Shares<F>>>,
    state: RefCell<State>,
    /// Number that cannot be guessed, for the id of a session.
    random: Box<dyn Fn() -> u32>,
    uptime: Cell<Duration>,
    /// Published shares of which the files without a name of earlier runs were deleted, by object.
    swept: RefCell<BTreeSet<u64>>,
    releases: Releases,
    copies: Copies,
    callbacks: Sent,
    executed: Counts,
    statistics: Option<Rc<Statistics>>,
}

/// Reason why a handle names nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HandleError {
    /// The server has not made it.
    Bad,
    /// Its share is gone, or has new handles.
    Stale,
}

/// What a handle leads to.
pub(crate) enum Found<F> {
    /// The pseudo root.
    PseudoRoot,
    /// File of a share; it may no longer exist.
    File(Rc<Share<F>>, FileId),
}

impl<F: FileSystem> Server<F> {
    /// Creates the server. `random` gives numbers that clients cannot guess.
    pub fn new(
        handle_key: HandleKey,
        shares: Rc<RefCell<Shares<F>>>,
        state: State,
        random: Box<dyn Fn() -> u32>,
    ) -> Self {
        Self {
            handle_key,
            shares,
            state: RefCell::new(state),
            random,
            uptime: Cell::default(),
            swept: RefCell::default(),
            releases: Releases::default(),
            copies: Copies::default(),
            callbacks: Sent::default(),
            executed: Counts::default(),
            statistics: None,
        }
    }

    /// Keeps statistics of the operations.
    #[must_use]
    pub fn with_statistics(self, statistics: Rc<Statistics>) -> Self {
        Self { statistics: Some(statistics), ..self }
    }

    /// The state of clients, for administration and callbacks. It must not be borrowed while a call is polled.
    pub fn state(&self) -> RefMut<'_, State> {
        self.state.borrow_mut()
    }

    /// Change of the durable records of clients, if there is one that was not taken.
    pub fn take_record_change(&self) -> Option<RecordChange> {
        self.state().take_record_change()
    }

    /// Does what is due: see [`State::advance`]. It releases the files that no client has open any more, and
    /// after the grace period it deletes the files without a name that were open in an earlier run and were not
    /// reclaimed. It deletes what calls that were dropped have left. Returns the first error; a release or
    /// deletion that has failed is tried again at the next advance.
    pub async fn advance(&self, uptime: Duration) -> Result<(), FsError> {
        self.set_uptime(uptime);
        self.state().advance(uptime);
        self.forget_copies();
        let released = self.release_files().await.and(self.delete_abandoned().await);
        if self.state().totals(uptime).grace > Duration::ZERO {
            return released;
        }
        released.and(self.sweep().await)
    }

    /// The content of a share was replaced or deleted, and its opens were revoked before. Ends the copies from and
    /// to it, and deletes the files without a name that a roll-back has brought back, at the next advance after the
    /// grace period.
    pub fn content_replaced(&self, object: u64) {
        self.stop_copies(object);
        self.swept.borrow_mut().remove(&object);
    }

    /// Deletes the files that have neither a name nor a hold, of each share that was published since the last time or
    /// failed then. Returns the first error.
    async fn sweep(&self) -> Result<(), FsError> {
        let shares: Vec<_> = self.shares.borrow().iter().cloned().collect();
        self.swept.borrow_mut().retain(|object| shares.iter().any(|share| share.object == *object));
        let mut result = Ok(());
        for share in shares.iter().filter(|share| !share.file_system.read_only()) {
            // Marked before, so that a roll-back meanwhile counts.
            if !self.swept.borrow_mut().insert(share.object) {
                continue;
            }
            if let Err(error) = share.file_system.drop_unheld().await {
                self.swept.borrow_mut().remove(&share.object);
                result = result.and(Err(error));
            }
        }
        result
    }

    /// Deletes the files that calls have left in shares. Returns the first error.
    async fn delete_abandoned(&self) -> Result<(), FsError> {
        let shares: Vec<_> = self.shares.borrow().iter().cloned().collect();
        let mut result = Ok(());
        for share in shares {
            result = result.and(share.file_system.delete_abandoned().await.map(drop));
        }
        result
    }

    /// Ends the holds of all files that no client has open any more. Returns the first error.
    async fn release_files(&self) -> Result<(), FsError> {
        let mut result = self.releases.retry(async |file| self.try_release(file).await).await;
        while let Some(file) = self.take_released() {
            let released = self.release(file).await;
            result = result.and(released);
            pause().await;
        }
        result
    }

    /// Ends the holds of as many files as a call has closed. They may be files of other clients, so that an error does
    /// not concern the call.
    pub(super) async fn release_closed(&self, closed: usize) {
        for _ in 0..closed {
            let Some(file) = self.take_released() else { return };
            // The next advance tries it again, and reports the error.
            let _kept = self.release(file).await;
        }
    }

    /// Next file that no client has open any more.
    fn take_released(&self) -> Option<FileKey> {
        if self.releases.has_room() { self.state().take_released() } else { None }
    }

    /// Ends a hold of a file. After an error it is tried again at the next advance.
    pub(super) async fn release(&self, file: FileKey) -> Result<(), FsError> {
        let released = self.try_release(file).await;
        self.releases.note(file, released)
    }

    async fn try_release(&self, FileKey { share, file }: FileKey) -> Result<(), FsError> {
        let share = self.shares.borrow().by_object(share).cloned();
        let Some(share) = share else { return Ok(()) };
        share.file_system.release(FileId(file)).await
    }

    /// Numbers of executed operations, those that were executed at all.
    pub fn operations(&self) -> Vec<OperationCount> {
        let served = OPERATIONS.iter().map(|row| (row.code, row.name));
        let others = UNSERVED.iter().map(|row| (row.code, row.name));
        self.executed.named([(0, "ILLEGAL")].into_iter().chain(served).chain(others))
    }

    pub(super) fn statistics(&self) -> Option<&Statistics> {
        self.statistics.as_deref()
    }

    pub(super) const fn copies(&self) -> &Copies {
        &self.copies
    }

    pub(super) const fn callbacks(&self) -> &Sent {
        &self.callbacks
    }

    pub(super) const fn executed(&self) -> &Counts {
        &self.executed
    }

    pub(crate) fn shares(&self) -> &RefCell<Shares<F>> {
        &self.shares
    }

    pub(crate) const fn handle_key(&self) -> &HandleKey {
        &self.handle_key
    }

    pub(crate) fn random(&self) -> u32 {
        (self.random)()
    }

    /// Latest time since the start that a call or an advance had.
    pub(crate) const fn uptime(&self) -> Duration {
        self.uptime.get()
    }

    pub(crate) fn set_uptime(&self, uptime: Duration) {
        self.uptime.set(self.uptime.get().max(uptime));
    }

    /// What a handle leads to.
    pub(crate) fn resolve(&self, handle: &[u8]) -> Result<Found<F>, HandleError> {
        match self.handle_key.open(handle).ok_or(HandleError::Bad)? {
            Target::PseudoRoot => Ok(Found::PseudoRoot),
            Target::File { object, epoch, file } => {
                let shares = self.shares.borrow();
                let share = shares.by_object(object).filter(|share| share.epoch == epoch);
                share.map(|share| Found::File(Rc::clone(share), file)).ok_or(HandleError::Stale)
            }
        }
    }
}
