//! Changes of the durable records of clients: taken from the state of the server, and stored in the pool before
//! any reply that they may have caused is sent (RFC 8881 §8.4.2.1).
//!
//! A record that the full pool has no space for is tried again, and holds up no reply: its client can only not
//! reclaim after a restart. A record that must go holds up all replies: what its client could reclaim may belong to
//! another one.

use super::super::clock;
use crate::notice::Notice;
use bytes::Bytes;
use control::{ControlError, NfsClientChange, NfsClientRecord, PoolRefusal};
use futures_util::future::LocalBoxFuture;
use nfs_state::{Record, RecordChange};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::sync::Notify;

/// Pause after changes could not be stored.
const PAUSE: Duration = Duration::from_secs(1);

/// Stores changes, all of them or none.
pub(super) type Store = Box<dyn Fn(Vec<NfsClientChange>) -> LocalBoxFuture<'static, Result<(), ControlError>>>;

/// Changes on their way to the pool.
pub(super) struct Records {
    store: Store,
    /// Changes that are not stored, by owner.
    pending: RefCell<BTreeMap<Bytes, NfsClientChange>>,
    /// Number of changes taken.
    taken: Cell<u64>,
    /// Number of changes that no reply has to wait for any more.
    settled: Cell<u64>,
    /// Notified when there are changes to store.
    work: Notify,
    /// Notified when changes were settled.
    progress: Notify,
    failed: Notice,
}

impl Records {
    pub fn new(store: Store) -> Self {
        Self {
            store,
            pending: RefCell::default(),
            taken: Cell::default(),
            settled: Cell::default(),
            work: Notify::new(),
            progress: Notify::new(),
            failed: Notice::default(),
        }
    }

    /// Takes changes, until `next` has none.
    pub fn take(&self, next: impl Fn() -> Option<RecordChange>) {
        while let Some(change) = next() {
            let (owner, change) = match change {
                RecordChange::Write(Record { owner, boot, denies }) => {
                    (owner.clone(), NfsClientChange::Write(NfsClientRecord { owner, boot, denies }))
                }
                RecordChange::Remove { owner } => (owner.clone(), NfsClientChange::Remove { owner }),
            };
            self.pending.borrow_mut().insert(owner, change);
            self.taken.set(self.taken.get() + 1);
            self.work.notify_one();
        }
    }

    /// Ready when a reply may be sent that the changes taken so far have caused.
    pub async fn settled(&self) {
        let taken = self.taken.get();
        while self.settled.get() < taken {
            let progress = self.progress.notified();
            if self.settled.get() < taken {
                progress.await;
            }
        }
    }

    /// Stores changes until it is dropped.
    pub async fn run(&self) {
        loop {
            while !self.pending.borrow().is_empty() {
                if let Err(error) = self.store_pending().await {
                    if let Some(count) = self.failed.count(clock::now()) {
                        tracing::error!(%error, count, "records of NFS clients could not be stored");
                    }
                    // A newer change may succeed: one that removes a record needs no space.
                    tokio::select! {
                        () = self.work.notified() => {}
                        () = tokio::time::sleep(PAUSE) => {}
                    }
                }
            }
            self.work.notified().await;
        }
    }

    /// Stores all that is pending.
    async fn store_pending(&self) -> Result<(), ControlError> {
        let (taken, changes) = (self.taken.get(), self.pending.take());
        let stored = (self.store)(changes.values().cloned().collect()).await;
        let Err(error) = stored else {
            self.settle(taken);
            return Ok(());
        };
        let (removed, written): (BTreeMap<_, _>, BTreeMap<_, _>) =
            changes.into_iter().partition(|(_, change)| matches!(change, NfsClientChange::Remove { .. }));
        self.put_back(written);
        if !is_without_space(&error) {
            self.put_back(removed);
            return Err(error);
        }
        // A change to less may succeed where one to more does not.
        if !removed.is_empty()
            && let Err(error) = (self.store)(removed.values().cloned().collect()).await
        {
            self.put_back(removed);
            return Err(error);
        }
        self.settle(taken);
        Err(error)
    }

    fn settle(&self, taken: u64) {
        self.settled.set(taken);
        self.progress.notify_waiters();
    }

    /// Changes are to be stored later, unless newer ones of the same owners are.
    fn put_back(&self, changes: BTreeMap<Bytes, NfsClientChange>) {
        let mut pending = self.pending.borrow_mut();
        for (owner, change) in changes {
            pending.entry(owner).or_insert(change);
        }
    }
}

fn is_without_space(error: &ControlError) -> bool {
    matches!(error, ControlError::Pool(PoolRefusal::NoSpace { .. } | PoolRefusal::BelowFull))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

    use super::*;
    use futures_util::FutureExt;
    use std::rc::Rc;

    const FULL: ControlError = ControlError::Pool(PoolRefusal::NoSpace { available_bytes: 0 });

    /// Records over a store that answers as `outcome` does, and what it was given.
    fn records(
        outcome: impl Fn(&[NfsClientChange]) -> Result<(), ControlError> + 'static,
    ) -> (Records, Rc<RefCell<Vec<Vec<NfsClientChange>>>>) {
        let stored = Rc::new(RefCell::new(Vec::new()));
        let log = Rc::clone(&stored);
        let store: Store = Box::new(move |changes| {
            let result = outcome(&changes);
            log.borrow_mut().push(changes);
            Box::pin(async move {
                tokio::task::yield_now().await;
                result
            })
        });
        (Records::new(store), stored)
    }

    fn write(owner: &'static str) -> RecordChange {
        RecordChange::Write(Record { owner: Bytes::from_static(owner.as_bytes()), boot: 3, denies: false })
    }

    fn remove(owner: &'static str) -> RecordChange {
        RecordChange::Remove { owner: Bytes::from_static(owner.as_bytes()) }
    }

    fn take(records: &Records, changes: impl IntoIterator<Item = RecordChange>) {
        let changes = RefCell::new(changes.into_iter().collect::<std::collections::VecDeque<_>>());
        records.take(|| changes.borrow_mut().pop_front());
    }

    async fn run_for<T>(records: &Records, time: Duration, until: impl Future<Output = T>) -> Option<T> {
        let running = async {
            tokio::select! {
                biased;
                done = until => Some(done),
                () = records.run() => None,
            }
        };
        tokio::time::timeout(time, running).await.ok().flatten()
    }

    fn paused() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap()
    }

    #[test]
    fn a_reply_waits_until_the_changes_before_it_are_stored() {
        paused().block_on(async {
            let (records, stored) = records(|_| Ok(()));
            assert!(records.settled().now_or_never().is_some(), "without changes there is no wait");
            take(&records, [write("a"), remove("b")]);
            assert!(records.settled().now_or_never().is_none());
            assert!(run_for(&records, PAUSE, records.settled()).await.is_some());
            assert_eq!(stored.borrow().len(), 1, "changes of one instant are stored together");
        });
    }

    #[test]
    fn a_record_without_space_holds_up_no_reply_and_is_stored_later() {
        paused().block_on(async {
            let full = Rc::new(Cell::new(true));
            let is_full = Rc::clone(&full);
            let (records, stored) = records(move |changes| {
                let grows = changes.iter().any(|change| matches!(change, NfsClientChange::Write(_)));
                if grows && is_full.get() { Err(FULL) } else { Ok(()) }
            });
            take(&records, [write("a"), remove("b")]);
            assert!(run_for(&records, PAUSE / 2, records.settled()).await.is_some());
            full.set(false);
            run_for(&records, 3 * PAUSE, std::future::pending::<()>()).await;
            assert!(
                matches!(&stored.borrow()[..], [_, removed, .., written] if removed.len() == 1 && written.len() == 1)
            );
            assert!(records.pending.borrow().is_empty());
        });
    }

    #[test]
    fn a_record_that_must_go_holds_up_replies() {
        paused().block_on(async {
            let (records, _stored) = records(|_| Err(FULL));
            take(&records, [remove("b")]);
            assert!(run_for(&records, 10 * PAUSE, records.settled()).await.is_none());
        });
    }

    #[test]
    fn a_stopped_pool_acknowledges_nothing() {
        paused().block_on(async {
            let stopped = || ControlError::Pool(PoolRefusal::Stopped { reason: "test".to_owned() });
            let (records, _stored) = records(move |_| Err(stopped()));
            take(&records, [write("a")]);
            assert!(run_for(&records, 10 * PAUSE, records.settled()).await.is_none());
        });
    }
}
