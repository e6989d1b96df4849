//! The units of the array: one for each volume, whatever protocols serve it.
//!
//! Changes of a volume (renamed, rolled back, deleted) are made here once. Adapters hold the
//! [`Unit`]s that they serve, and learn from the table what clients of other protocols cause
//! ([`Adapter`]). The table also has the things that all commands of the array share: working
//! memory, the log of refusals, the clock and the [`UnitStore`].

use crate::adapter::Adapter;
use crate::clock::Clock;
use crate::offload::{DeletedOffload, VolumeOffload};
use crate::refusal_log::{LogEntry, RefusalLog};
use crate::registrant::Registrant;
use crate::reservations::Notice;
use crate::sanitize::{Begun, SanitizeError};
use crate::statistics::UsedUnits;
use crate::store::{PersistedReservations, PersistedSanitize, StoreError, StoreFuture, UnitStore};
use crate::unit::Unit;
use crate::working_memory::WorkingMemory;
use block::{BlockDevice, VolumeId};
use futures_util::future::join_all;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::{Rc, Weak};

/// Parameters of [`Units::new`].
pub struct UnitsOptions {
    /// Services of the rest of the array.
    pub store: Rc<dyn UnitStore>,
    /// Time.
    pub clock: Rc<dyn Clock>,
    /// Limit of the working memory of all commands in bytes.
    pub working_bytes: u64,
    /// Entries that the log of refusals keeps.
    pub refusal_log_entries: usize,
}

/// Table of units over devices of type `D`.
pub struct Units<D> {
    units: RefCell<BTreeMap<VolumeId, Rc<Unit<D>>>>,
    adapters: RefCell<Vec<Weak<dyn Adapter>>>,
    store: Rc<dyn UnitStore>,
    clock: Rc<dyn Clock>,
    working_memory: WorkingMemory,
    log: RefCell<RefusalLog>,
    /// Offload counters of volumes that were deleted, the oldest first.
    deleted: RefCell<DeletedOffload>,
    used: UsedUnits,
}

impl<D> Units<D> {
    /// Creates an empty table.
    pub fn new(options: UnitsOptions) -> Self {
        Self {
            units: RefCell::default(),
            adapters: RefCell::default(),
            store: options.store,
            clock: options.clock,
            working_memory: WorkingMemory::new(options.working_bytes),
            log: RefCell::new(RefusalLog::new(options.refusal_log_entries)),
            deleted: RefCell::default(),
            used: UsedUnits::default(),
        }
    }

    /// The unit of a volume.
    pub fn get(&self, volume: VolumeId) -> Option<Rc<Unit<D>>> {
        self.units.borrow().get(&volume).cloned()
    }

    fn all(&self) -> Vec<Rc<Unit<D>>> {
        self.units.borrow().values().cloned().collect()
    }

    /// Services of the rest of the array.
    pub fn store(&self) -> &dyn UnitStore {
        &*self.store
    }

    /// Time.
    pub fn clock(&self) -> &dyn Clock {
        &*self.clock
    }

    /// Working memory of all commands.
    pub fn working_memory(&self) -> &WorkingMemory {
        &self.working_memory
    }

    // Changes of a volume.

    /// Deletes the unit of a volume: ends the wait for its sanitize operation, and keeps its offload
    /// counters for a while. Commands in flight keep the unit until they are done. False when there
    /// is no such unit.
    pub fn remove(&self, volume: VolumeId) -> bool {
        let removed = self.units.borrow_mut().remove(&volume);
        let Some(unit) = removed else { return false };
        unit.sanitize.abandon();
        self.deleted.borrow_mut().keep(unit.offload(true));
        true
    }

    /// Renames the volume in counters and log.
    pub fn rename(&self, volume: VolumeId, name: &str) {
        if let Some(unit) = self.get(volume) {
            unit.rename(name);
        }
    }

    /// Ends commands that change a volume in several steps or still wait for their data, and waits
    /// for the other writes. Called before the volume's content is replaced.
    pub async fn clear_commands(&self, volume: VolumeId) {
        if let Some(unit) = self.get(volume) {
            unit.renew_content();
            unit.writes.drained().await;
        }
    }

    /// Waits until every write on a volume that was admitted before the first poll has ended.
    /// Commands forbidden before the call have no effect after it.
    pub async fn writes_done(&self, volume: VolumeId) {
        if let Some(unit) = self.get(volume) {
            unit.writes.drained().await;
        }
    }

    // State that survives a power loss.

    /// Restores stored reservations, before the unit's first command. False when there is no such
    /// unit or the reservations are inconsistent; then nothing has changed.
    #[must_use]
    pub fn restore_reservations(&self, volume: VolumeId, persisted: &PersistedReservations) -> bool {
        self.get(volume).is_some_and(|unit| unit.reservations.restore(persisted))
    }

    /// Restores a stored sanitize operation, before the unit's first command. An operation that was
    /// in progress starts again and has to be run. False when there is no such unit.
    #[must_use]
    pub fn restore_sanitize(&self, volume: VolumeId, operation: PersistedSanitize) -> bool {
        let Some(unit) = self.get(volume) else { return false };
        unit.sanitize.restore(operation);
        true
    }

    // Adapters.

    /// Adds a protocol that serves the units, for as long as it exists.
    pub fn serve_by(&self, adapter: Weak<dyn Adapter>) {
        self.adapters.borrow_mut().push(adapter);
    }

    fn adapters(&self) -> Vec<Rc<dyn Adapter>> {
        self.adapters.borrow().iter().filter_map(Weak::upgrade).collect()
    }

    /// Reports changes of a volume's reservations to registrants of every protocol.
    pub fn notify(&self, volume: VolumeId, notices: Vec<(Registrant, Notice)>) {
        let adapters = self.adapters();
        for (registrant, notice) in notices {
            for adapter in &adapters {
                adapter.notify(volume, &registrant, notice);
            }
        }
    }

    /// Removes the reservation and all registrations of a volume, and the reservation of its whole unit, for an
    /// administrator. Its registrants learn it. Returns how many there were, with the holder of the whole unit.
    /// `None`: there is no such volume. On error nothing has changed, unless the store failed.
    pub async fn clear_reservations(&self, volume: VolumeId) -> Option<Result<usize, StoreError>> {
        let unit = self.get(volume)?;
        let _changes = unit.reservations.lock().await;
        let (state, notices) = unit.reservations.state().cleared();
        let removed = notices.len() + usize::from(unit.reservations.whole().is_some());
        if removed > 0 {
            if let Err(error) = unit.reservations.commit(volume, self.store(), state).await {
                return Some(Err(error));
            }
            unit.reservations.set_whole(None);
            unit.statistics.note_use();
            self.notify(volume, notices);
        }
        Some(Ok(removed))
    }

    /// Aborts all commands of these registrants on a volume, without a response. Resolves when none
    /// of them can have any further effect.
    pub fn abort_commands(&self, volume: VolumeId, registrants: &[Registrant]) -> StoreFuture<()> {
        let aborted: Vec<_> = self.adapters().iter().map(|adapter| adapter.abort(volume, registrants)).collect();
        Box::pin(async move {
            join_all(aborted).await;
        })
    }

    fn content_discarded(&self, volume: VolumeId) {
        for adapter in self.adapters() {
            adapter.content_discarded(volume);
        }
    }

    // Counters and the log of refusals.

    /// At most `most` volumes whose counters or reservations changed since they were last returned
    /// here.
    pub fn take_used(&self, most: usize) -> Vec<VolumeId> {
        let used = self.used.take(most);
        for unit in used.iter().filter_map(|volume| self.get(*volume)) {
            unit.statistics.reported();
        }
        used
    }

    /// Offload counters of every volume and each primitive used there, by volume; then those of volumes deleted
    /// lately, the oldest first.
    pub fn offload(&self) -> Vec<VolumeOffload> {
        let present = self.all().into_iter().flat_map(|unit| unit.offload(false));
        present.chain(self.deleted_offload()).collect()
    }

    /// Offload counters of volumes deleted lately, the oldest first.
    pub fn deleted_offload(&self) -> Vec<VolumeOffload> {
        self.deleted.borrow().rows()
    }

    /// Adds a command to the log of refusals, which numbers, counts and dates it.
    pub fn log_refusal(&self, mut entry: LogEntry) {
        entry.unix_ms = self.clock.unix_ms();
        self.log.borrow_mut().push(entry);
    }

    /// Entries of the log of refusals with a sequence number of at least `since`, oldest first.
    pub fn refusals(&self, since: u64) -> Vec<LogEntry> {
        self.log.borrow().since(since)
    }

    /// Entries of the log of refusals that are new or have grown, as of [`RefusalLog::take_changed`].
    pub fn take_changed_refusals(&self) -> Vec<LogEntry> {
        self.log.borrow_mut().take_changed()
    }
}

impl<D: BlockDevice> Units<D> {
    /// Adds the unit of a device, in place of an earlier one of the same volume.
    pub fn add(&self, device: D, name: &str) -> Rc<Unit<D>> {
        let unit = Rc::new(Unit::new(device, name, self.used.clone()));
        let before = self.units.borrow_mut().insert(unit.volume(), Rc::clone(&unit));
        if let Some(before) = before {
            before.sanitize.abandon();
        }
        unit
    }

    /// Replaces the device of a unit after a roll-back. Reservations stay. False when there is no
    /// such unit.
    pub fn replace_device(&self, volume: VolumeId, device: D) -> bool {
        let Some(unit) = self.get(volume) else { return false };
        unit.replace_device(device);
        true
    }

    /// Begins a sanitize operation, after which no adapter gives access to the earlier content. On
    /// error nothing has happened.
    pub async fn begin_sanitize(&self, unit: &Unit<D>, operation: PersistedSanitize) -> Result<Begun, SanitizeError> {
        let begun = unit.begin_sanitize(self.store(), operation).await?;
        self.content_discarded(unit.volume());
        Ok(begun)
    }

    /// Runs one step of the sanitize operation of a volume. Returns the bytes of content that it
    /// processed; `None` at the end or without an operation.
    pub async fn sanitize_step(&self, volume: VolumeId) -> Option<u64> {
        let unit = self.get(volume)?;
        unit.sanitize_progress()?;
        let worked = unit.sanitize_step(self.store()).await;
        if worked.is_none() {
            // A command that captured content may have been in progress when the operation began.
            self.content_discarded(volume);
        }
        worked
    }
}

#[cfg(test)]
mod tests;
