//! Tidying up after dead hosts at once, instead of when a file is needed: heartbeat slots that are
//! not renewed, locks, files half created or half deleted, blocks claimed and not pointed to.

use crate::datastore::Datastore;
use crate::error::DatastoreError;
use crate::format::{Heartbeat, Lock, Owner, state};
use crate::geometry::DIRECTORY_LOCK;
use crate::heartbeat::{PERIOD, STALE};
use data_mover::Device;
use std::collections::BTreeMap;
use std::time::Duration;

/// Number of leftovers finished.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tidied {
    /// Heartbeat slots taken away from hosts that were silent for too long.
    pub hosts: u64,
    /// Locks of dead hosts.
    pub locks: u64,
    /// Files half created or half deleted.
    pub files: u64,
    /// Unused blocks freed, of files that no host has open.
    pub blocks: u64,
}

impl<D: Device> Datastore<D> {
    /// Waits until every host has shown that it is alive, takes away the slots of the rest, and
    /// finishes their operations. Takes about 20 s when there is such a slot; otherwise ends when
    /// every host has renewed. [`Self::keep_alive`] has to run meanwhile.
    pub async fn tidy(&self) -> Result<Tidied, DatastoreError> {
        let mut tidied = Tidied { hosts: self.evict_silent_hosts().await?, ..Tidied::default() };
        let geometry = self.store.geometry;
        // Damaged entries are skipped.
        let (locks, _) = self.store.load_readable::<Lock>(geometry.lock(0), geometry.files.into()).await?;
        let records = self.readable_records().await?;
        for (record, lock) in locks.iter().filter_map(|lock| Some((records.get(lock.number)?, lock))) {
            if self.open.borrow().contains(&record.number) {
                continue;
            }
            let dead = self.is_dead_now(lock.value.owner()).await?;
            let garbage = matches!(record.value.state, state::CREATING | state::DELETING);
            let abandoned = garbage && lock.value.owner().is_none();
            if !(dead || abandoned) {
                continue;
            }
            tidied.locks += u64::from(dead);
            tidied.files += u64::from(garbage);
            match record.value.state {
                state::LIVE | state::PARTIAL => self.finish_file(record.number, &record.value.name()).await?,
                _ => {
                    match self.lock_free_record(record.number).await {
                        Ok(Some(file)) => self.unlock(file).await?,
                        Ok(None) => {}
                        // The other files come first; the check reports the damage.
                        Err(error) if error.is_of_one_file() => tidied.files = tidied.files.saturating_sub(1),
                        Err(error) => return Err(error),
                    }
                }
            }
        }
        tidied.blocks = self.finish_all_closed().await?;
        let directory = self.store.load::<Lock>(DIRECTORY_LOCK).await?;
        if self.is_dead_now(directory.value.owner()).await? {
            let held = self.acquire(DIRECTORY_LOCK, "the directory", Duration::ZERO).await?;
            self.release(held).await?;
            tidied.locks += 1;
        }
        Ok(tidied)
    }

    /// Finishes files that a host released with leftovers. Returns the number of blocks freed.
    async fn finish_all_closed(&self) -> Result<u64, DatastoreError> {
        let geometry = self.store.geometry;
        let mut claimed: BTreeMap<(u32, u16), Vec<(u32, u32)>> = BTreeMap::new();
        for (block, allocation) in self.allocations().await? {
            let of = (allocation.record, allocation.generation);
            claimed.entry(of).or_default().push((allocation.index, block));
        }
        let (locks, _) = self.store.load_readable::<Lock>(geometry.lock(0), geometry.files.into()).await?;
        let records = self.readable_records().await?;
        let mut blocks = 0;
        for (record, lock) in locks.iter().filter_map(|lock| Some((records.get(lock.number)?, lock))) {
            let there = matches!(record.value.state, state::LIVE | state::PARTIAL);
            let of = (record.number, (record.value.generation.get() & 0xffff) as u16);
            if let Some(claimed) = claimed.get(&of).filter(|_| there && lock.value.owner().is_none())
                && !self.open.borrow().contains(&record.number)
            {
                blocks += self.finish_closed(record.number, claimed).await?;
            }
        }
        Ok(blocks)
    }

    async fn is_dead_now(&self, owner: Option<Owner>) -> Result<bool, DatastoreError> {
        match owner {
            Some(owner) if owner != self.owner => match self.store.is_dead(owner, &self.observed).await {
                Ok(dead) => Ok(dead.is_ok()),
                // A host with a damaged slot counts as alive.
                Err(DatastoreError::Damaged { .. }) => Ok(false),
                Err(error) => Err(error),
            },
            _ => Ok(false),
        }
    }

    /// Reads all slots until each has changed, is free, or was silent for too long and has been
    /// taken away. Returns the number taken away.
    async fn evict_silent_hosts(&self) -> Result<u64, DatastoreError> {
        let store = &self.store;
        let deadline = store.now() + STALE + PERIOD * 2;
        let geometry = store.geometry;
        let load = async || store.load_readable::<Heartbeat>(geometry.heartbeat(0), geometry.hosts.into()).await;
        let first: BTreeMap<u32, u64> = load().await?.0.iter().map(|slot| (slot.number, slot.version)).collect();
        let mut evicted = 0;
        loop {
            let mut silent = 0;
            for slot in load().await?.0 {
                let owner = Owner { slot: slot.number, generation: slot.value.generation.get() };
                if slot.value.live == 0 || owner == self.owner || first.get(&slot.number) != Some(&slot.version) {
                    continue;
                }
                match store.is_dead(owner, &self.observed).await? {
                    Ok(()) => evicted += 1,
                    Err(_) => silent += 1,
                }
            }
            if silent == 0 || store.now() > deadline {
                return Ok(evicted);
            }
            store.sleep(Duration::from_secs(1)).await;
        }
    }
}
