//! The state of notification with its store, and tests of channels.

use super::shown::{Shown, failing, notes};
use super::store::Store;
use crate::management_store::ManagementStore;
use crate::people::Unavailable;
use control::StatusShow;
use jiff::Timestamp;
use notification::{Change, Message, Notices, Sender};
use reactor::ArrayHandle;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{Notify, OwnedMutexGuard, Semaphore};
use uuid::Uuid;

/// Largest number of tests of channels at the same time; further ones wait.
const TESTS: usize = 4;

/// Store, and whether it has all that is known.
pub(super) struct Shelf {
    store: Store,
    /// True: records could not be written, and the next write replaces all.
    is_incomplete: bool,
}

/// Channels, conditions and messages, with their store.
pub(crate) struct Desk {
    notices: Arc<Mutex<Notices>>,
    /// Held while a change is planned, stored and applied: changes do not overlap.
    shelf: Arc<tokio::sync::Mutex<Result<Shelf, Unavailable>>>,
    /// What the array shows of it.
    shown: tokio::sync::Mutex<Shown>,
    tests: Semaphore,
    wake: Notify,
}

impl Desk {
    /// Reads the store. If it cannot be used, no message is sent.
    pub(crate) fn open(store: &Result<ManagementStore, Unavailable>) -> Self {
        let mut notices = Notices::default();
        let opened = store.clone().and_then(|store| {
            Store::open(store).map_err(|error| {
                let reason = format!("{error:#}");
                tracing::error!(error = reason, "channels cannot be used: no alert is sent");
                Unavailable(reason)
            })
        });
        let shelf = opened.map(|(store, records)| {
            records.into_iter().for_each(|record| notices.apply(record));
            Shelf { store, is_incomplete: false }
        });
        Self {
            notices: Arc::new(Mutex::new(notices)),
            shelf: Arc::new(tokio::sync::Mutex::new(shelf)),
            shown: tokio::sync::Mutex::default(),
            tests: Semaphore::new(TESTS),
            wake: Notify::new(),
        }
    }

    fn notices(&self) -> MutexGuard<'_, Notices> {
        self.notices.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at channels and conditions.
    pub(crate) fn see<T>(&self, look: impl FnOnce(&Notices) -> T) -> T {
        look(&self.notices())
    }

    /// Takes messages out that are to be sent.
    pub(super) fn take_due(&self, now: Timestamp) -> Vec<notification::Dispatch> {
        self.notices().take_due(now)
    }

    /// Reason for which channels cannot be used.
    pub(crate) async fn trouble(&self) -> Option<Unavailable> {
        self.shelf.lock().await.as_ref().err().cloned()
    }

    /// Shows at the array what has changed.
    pub(crate) async fn show(&self, array: &ArrayHandle) {
        let mut shown = self.shown.lock().await;
        let trouble = self.trouble().await.map(|trouble| format!("channels cannot be used: {}", trouble.0));
        shown.update(self.see(notes), self.see(failing), trouble, array).await;
    }

    /// Completes when a change may have made something due.
    pub(super) async fn woken(&self) {
        self.wake.notified().await;
    }

    /// Makes a change for an administrator. It is durable on return; after an error nothing has changed. What is
    /// stored is also applied if the caller is dropped meanwhile.
    pub(crate) async fn change<E: From<Unavailable>>(
        &self,
        plan: impl FnOnce(&Notices) -> Result<Vec<Change>, E>,
    ) -> Result<(), E> {
        let shelf = Arc::clone(&self.shelf).lock_owned().await;
        if let Err(trouble) = &*shelf {
            return Err(trouble.clone().into());
        }
        let changes = self.see(plan)?;
        let stored = self.store(shelf, changes, false).await;
        self.wake.notify_one();
        stored.map_err(E::from)
    }

    /// Notes what has happened. If it cannot be stored, it still takes effect: an alert is sent rather than kept.
    pub(super) async fn note(&self, plan: impl FnOnce(&mut Notices) -> Vec<Change>) {
        let shelf = Arc::clone(&self.shelf).lock_owned().await;
        if shelf.is_err() {
            return;
        }
        let changes = plan(&mut self.notices());
        if let Err(Unavailable(reason)) = self.store(shelf, changes, true).await {
            tracing::warn!(error = reason, "what channels were told could not be stored");
        }
    }

    /// Stores changes, off this thread, and applies them. `in_any_case`: also if they cannot be stored.
    async fn store(
        &self,
        mut shelf: OwnedMutexGuard<Result<Shelf, Unavailable>>,
        changes: Vec<Change>,
        in_any_case: bool,
    ) -> Result<(), Unavailable> {
        let notices = Arc::clone(&self.notices);
        let make = move || -> Result<(), Unavailable> {
            let shelf = shelf.as_mut().map_err(|trouble| trouble.clone())?;
            if changes.is_empty() && !shelf.is_incomplete {
                return Ok(());
            }
            let see = || notices.lock().unwrap_or_else(PoisonError::into_inner);
            let stored = if shelf.is_incomplete {
                let mut all = see().records();
                all.extend(changes.iter().cloned());
                shelf.store.write(&all, true)
            } else {
                shelf.store.write(&changes, false)
            };
            let is_stored = stored.is_ok();
            if is_stored || in_any_case {
                let mut notices = see();
                changes.into_iter().for_each(|change| notices.apply(change));
                shelf.is_incomplete = !is_stored;
            }
            stored.map_err(|error| Unavailable(format!("{error:#}")))
        };
        let made = tokio::task::spawn_blocking(make).await;
        made.unwrap_or_else(|error| Err(Unavailable(error.to_string())))
    }

    /// Sends a test to a channel, and notes its result. Absent: the channel is gone.
    pub(crate) async fn test(&self, channel: Uuid, array: &ArrayHandle) -> Option<Result<String, String>> {
        let _turn = self.tests.acquire().await.ok()?;
        let record = self.see(|notices| notices.channel_of(channel).cloned())?;
        let now = Timestamp::now();
        let message = Message { id: Uuid::new_v4(), time: now, is_test: true, notices: Vec::new(), left_out: 0 };
        let result = notification::send(&record, &message, &sender(array).await).await;
        self.note(|notices| notices.tested(channel, &result, Timestamp::now())).await;
        self.wake.notify_one();
        Some(result)
    }
}

/// The array as messages name it.
pub(super) async fn sender(array: &ArrayHandle) -> Sender {
    let mirror = array.mirror().await.ok();
    let status = mirror.and_then(|mirror| mirror.read(&StatusShow).ok());
    Sender {
        machine: rustix::system::uname().nodename().to_string_lossy().into_owned(),
        array: status.map(|status| status.target).unwrap_or_default(),
        version: crate::VERSION.to_owned(),
        process: std::process::id(),
    }
}
