//! Locks. A lock names the heartbeat slot of its owner and the slot's generation, so that those of a dead host fall with its heartbeat.

use crate::datastore::{Datastore, TOLD_AFTER};
use crate::error::DatastoreError;
use crate::format::Lock;
use crate::sector::Loaded;
use data_mover::{Device, DeviceError};
use std::time::Duration;
use zerocopy::FromZeros;

/// How long a lock that another host holds is waited for: longer than a dead host's heartbeat takes to be found stale.
pub const LOCK_PATIENCE: Duration = Duration::from_secs(25);
/// Between two looks at a lock that is held: at first, and at most.
const PAUSE: std::ops::Range<Duration> = Duration::from_millis(1)..Duration::from_millis(500);

/// A lock that this host holds.
#[derive(Debug)]
pub(crate) struct Held {
    loaded: Loaded<Lock>,
    /// It was a dead host's: what that one was about has to be finished.
    pub(crate) taken_over: bool,
}

impl Held {
    /// Counts the times that the lock was taken or given back.
    pub(crate) fn version(&self) -> u64 {
        self.loaded.version
    }
}

impl<D: Device> Datastore<D> {
    /// Takes a lock; `name` is for the error.
    pub(crate) async fn acquire(&self, lba: u64, name: &str, patience: Duration) -> Result<Held, DatastoreError> {
        let store = &self.store;
        let deadline = store.now() + patience;
        let mut pause = PAUSE.start;
        let mut tell_at = Some(store.now() + TOLD_AFTER);
        loop {
            let mut loaded = store.load::<Lock>(lba).await?;
            let owner = loaded.value.owner();
            let holder = match owner {
                None => Ok(()),
                Some(owner) if owner == self.owner => Err(self.host.name.clone()),
                Some(owner) => store.is_dead(owner, &self.observed).await?,
            };
            match holder {
                Ok(()) => {
                    let value = Lock::held(self.owner, store.mover.clock().unix_seconds());
                    if store.swap(&mut loaded, value).await? {
                        return Ok(Held { loaded, taken_over: owner.is_some() });
                    }
                }
                Err(host) => {
                    if store.mover.is_interrupted() {
                        return Err(DeviceError::Interrupted.into());
                    }
                    if store.now() >= deadline {
                        return Err(DatastoreError::Locked { name: name.into(), host });
                    }
                    if tell_at.take_if(|at| store.now() >= *at).is_some()
                        && let Some(told) = &*self.told.borrow()
                    {
                        told(name, &host);
                    }
                    store.sleep(pause).await;
                    pause = (pause * 2).min(PAUSE.end);
                }
            }
        }
    }

    /// Gives a lock back. Nothing to be done about an error: the lock falls when this host unmounts.
    pub(crate) async fn release(&self, mut held: Held) -> Result<(), DatastoreError> {
        let store = &self.store;
        match store.swap(&mut held.loaded, Lock::new_zeroed()).await? {
            true => Ok(()),
            // Only after this host was taken for dead.
            false => {
                store.lease.evicted.set(true);
                Err(DatastoreError::Evicted)
            }
        }
    }
}
