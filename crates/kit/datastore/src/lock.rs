//! Locks. A lock names the heartbeat slot of its owner and the slot's generation, so the locks of a
//! dead host become void with its heartbeat.

use crate::datastore::{Datastore, REPORT_AFTER};
use crate::error::DatastoreError;
use crate::format::Lock;
use crate::sector::Loaded;
use data_mover::{Device, DeviceError};
use std::time::Duration;
use zerocopy::FromZeros;

/// Time to wait for a lock that another host holds: longer than it takes to find a dead host's
/// heartbeat stale.
pub const LOCK_PATIENCE: Duration = Duration::from_secs(25);
/// Pause between two reads of a held lock: the first, and the longest.
const PAUSE: std::ops::Range<Duration> = Duration::from_millis(1)..Duration::from_millis(500);

/// A lock that this host holds.
#[derive(Debug)]
pub(crate) struct Held {
    loaded: Loaded<Lock>,
    /// The lock was a dead host's: its unfinished operation has to be finished.
    pub(crate) taken_over: bool,
}

impl Held {
    /// Version of the lock: incremented each time it is taken or released.
    pub(crate) fn version(&self) -> u64 {
        self.loaded.version
    }
}

impl<D: Device> Datastore<D> {
    /// Takes a lock; waits for `patience` if a living host holds it. `name` is for the error.
    pub(crate) async fn acquire(&self, lba: u64, name: &str, patience: Duration) -> Result<Held, DatastoreError> {
        let store = &self.store;
        let deadline = store.now() + patience;
        let mut pause = PAUSE.start;
        let mut report_at = Some(store.now() + REPORT_AFTER);
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
                    if report_at.take_if(|at| store.now() >= *at).is_some()
                        && let Some(callback) = &*self.contended_lock.borrow()
                    {
                        callback(name, &host);
                    }
                    store.sleep(pause).await;
                    pause = (pause * 2).min(PAUSE.end);
                }
            }
        }
    }

    /// Releases a lock. An error needs no action: the lock becomes void when this host unmounts.
    pub(crate) async fn release(&self, mut held: Held) -> Result<(), DatastoreError> {
        let store = &self.store;
        match store.swap(&mut held.loaded, Lock::new_zeroed()).await? {
            true => Ok(()),
            // Possible only after another host considered this one dead.
            false => {
                store.lease.evicted.set(true);
                Err(DatastoreError::Evicted)
            }
        }
    }
}
