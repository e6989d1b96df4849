//! Heartbeats: how hosts find out which host is alive. A host renews the sector of its slot every
//! three seconds. A slot that does not change for sixteen seconds *by the observer's own clock*
//! belongs to a host that is dead or cut off. A host that wants a lock of that host takes the slot
//! away first, by an atomic update. The owner's next renewal then fails to match, and the owner
//! learns that it must stop.

use crate::error::DatastoreError;
use crate::format::{Heartbeat, Owner, label, text};
use crate::sector::Loaded;
use crate::store::{LEASE, Store};
use data_mover::Device;
use std::cell::RefCell;
use std::collections::HashMap;
use std::time::Duration;
use zerocopy::FromZeros;

/// Time between two renewals.
pub(crate) const PERIOD: Duration = Duration::from_secs(3);
/// Time without a change after which a heartbeat is that of a dead host.
pub(crate) const STALE: Duration = Duration::from_secs(16);

/// Version of each slot, and the time when this host first saw that version.
pub(crate) type Observed = RefCell<HashMap<u32, (u64, Duration)>>;

impl<D: Device> Store<D> {
    /// Takes a free heartbeat slot. If there is none, waits until one proves to be stale.
    pub(crate) async fn take_slot(
        &self,
        host: &str,
        observed: &Observed,
    ) -> Result<(Owner, Loaded<Heartbeat>), DatastoreError> {
        let deadline = self.now() + STALE + PERIOD;
        loop {
            // The owner of a damaged slot is unknown: the slot is left alone.
            let (lba, hosts) = (self.geometry.heartbeat(0), self.geometry.hosts);
            let (slots, damaged) = self.load_readable::<Heartbeat>(lba, hosts.into()).await?;
            for mut loaded in slots {
                let slot = loaded.number;
                if loaded.value.live != 0 && !self.is_stale(slot, &loaded, observed) {
                    continue;
                }
                let generation = loaded.value.generation.get().wrapping_add(1);
                let sent = self.now();
                let value = self.beat(host, generation, 1);
                if self.swap_heartbeat(&mut loaded, value).await? {
                    self.lease.until.set(sent + LEASE);
                    return Ok((Owner { slot, generation }, loaded));
                }
            }
            if self.now() > deadline {
                return Err(damaged.unwrap_or(DatastoreError::TooManyHosts(hosts)));
            }
            self.sleep(PERIOD).await;
        }
    }

    fn beat(&self, host: &str, generation: u32, beat: u64) -> Heartbeat {
        let mut value = Heartbeat::new_zeroed();
        value.live = 1;
        value.generation = generation.into();
        value.beat = beat.into();
        value.host = label(host);
        value.renewed = self.mover.clock().unix_seconds().into();
        value
    }

    /// Renews the heartbeat once.
    pub(crate) async fn renew(&self, mine: &mut Loaded<Heartbeat>) -> Result<(), DatastoreError> {
        let sent = self.now();
        let old = mine.value;
        let value = self.beat(&text(&old.host), old.generation.get(), old.beat.get() + 1);
        if self.swap_heartbeat(mine, value).await? {
            self.lease.until.set(sent + LEASE);
            return Ok(());
        }
        // An earlier renewal may have been written although its answer was lost.
        let found = self.load::<Heartbeat>(mine.lba).await?;
        let (now, old) = (found.value, mine.value);
        if now.live == 1 && now.generation == old.generation && now.host == old.host {
            *mine = found;
            return Ok(());
        }
        self.lease.evicted.set(true);
        Err(DatastoreError::Evicted)
    }

    fn is_stale(&self, slot: u32, loaded: &Loaded<Heartbeat>, observed: &Observed) -> bool {
        let now = self.now();
        let mut observed = observed.borrow_mut();
        let (version, since) = *observed.entry(slot).or_insert((loaded.version, now));
        if version != loaded.version {
            observed.insert(slot, (loaded.version, now));
            return false;
        }
        now.saturating_sub(since) >= STALE
    }

    /// `Ok(Ok(()))` when the owner of a lock is dead: its slot is free, has gone to another host,
    /// or did not change for too long; in that case it is taken away now. Else `Ok(Err(name))` with
    /// the name of the host.
    pub(crate) async fn is_dead(
        &self,
        owner: Owner,
        observed: &Observed,
    ) -> Result<Result<(), String>, DatastoreError> {
        let lba = self.geometry.heartbeat(owner.slot);
        let mut loaded = self.load::<Heartbeat>(lba).await?;
        let slot = loaded.value;
        if slot.live == 0 || slot.generation.get() != owner.generation {
            return Ok(Ok(()));
        }
        if self.is_stale(owner.slot, &loaded, observed) {
            let mut free = slot;
            free.live = 0;
            if self.swap(&mut loaded, free).await? {
                observed.borrow_mut().remove(&owner.slot);
                return Ok(Ok(()));
            }
        }
        Ok(Err(text(&slot.host)))
    }
}
