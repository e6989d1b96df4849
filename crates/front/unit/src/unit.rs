//! Volume state that all clients share, whatever protocol they use.

use crate::extents::ExtentLocks;
use crate::in_flight::InFlight;
use crate::offload::VolumeOffload;
use crate::reservations::{ReservationReport, Reservations};
use crate::sanitize::{Begun, Sanitize, SanitizeError};
use crate::statistics::{Statistics, UsedUnits};
use crate::store::{PersistedSanitize, UnitStore};
use block::{BlockDevice, LOGICAL_BLOCK_BYTES, VolumeId};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

/// State of one volume that its clients share. There is one for each volume, however many adapters
/// serve it.
#[derive(Debug)]
pub struct Unit<D> {
    volume: VolumeId,
    name: RefCell<Arc<str>>,
    device: RefCell<Rc<D>>,
    content_generation: Cell<u64>,
    /// Extent locks of commands.
    pub extents: ExtentLocks,
    /// Commands in flight that may change the medium.
    pub writes: InFlight,
    /// Registrations and reservation.
    pub reservations: Reservations,
    /// Sanitize operation.
    pub sanitize: Sanitize,
    /// Counters.
    pub statistics: Statistics,
}

impl<D> Unit<D> {
    /// The volume.
    pub fn volume(&self) -> VolumeId {
        self.volume
    }

    /// The volume's name, for counters and the log of refusals.
    pub fn name(&self) -> Arc<str> {
        Arc::clone(&self.name.borrow())
    }

    /// Changes the name.
    pub(crate) fn rename(&self, name: &str) {
        self.name.replace(Arc::from(name));
    }

    /// Content generation: raised when all of the content is replaced at once, by a roll-back or a sanitize
    /// operation. Data of a command that began under an older generation is not stored.
    pub fn content_generation(&self) -> u64 {
        self.content_generation.get()
    }

    /// Raises the content generation.
    pub fn renew_content(&self) {
        self.content_generation.set(self.content_generation.get() + 1);
    }

    /// Offload counters, a row for each primitive that was used. `deleted`: the volume was deleted.
    pub fn offload(&self, deleted: bool) -> Vec<VolumeOffload> {
        self.statistics.offload_rows(&self.name(), deleted)
    }

    /// Registrations and reservations, for display.
    pub fn reservation_report(&self) -> ReservationReport {
        self.reservations.report(self.statistics.io().reservation_conflicts)
    }

    /// The device that holds the blocks.
    pub fn device(&self) -> Rc<D> {
        Rc::clone(&self.device.borrow())
    }
}

impl<D: BlockDevice> Unit<D> {
    /// Begins a sanitize operation. On error nothing has happened. Called by
    /// [`Units`](crate::Units), which notifies the adapters.
    pub(crate) async fn begin_sanitize(
        &self,
        store: &dyn UnitStore,
        operation: PersistedSanitize,
    ) -> Result<Begun, SanitizeError> {
        let begun = self.sanitize.begin(self.volume, store, operation).await?;
        self.renew_content();
        store.start_sanitize(self.volume);
        Ok(begun)
    }

    /// Progress of the sanitize operation: bytes done and bytes in total. `None` without an
    /// operation.
    pub fn sanitize_progress(&self) -> Option<(u64, u64)> {
        let done = self.sanitize.done_blocks()?;
        let bytes = |blocks: u64| blocks.saturating_mul(u64::from(LOGICAL_BLOCK_BYTES));
        let blocks = self.block_count();
        Some((bytes(done.min(blocks)), bytes(blocks)))
    }

    /// Runs one step of the sanitize operation; see [`Sanitize::step`].
    pub(crate) async fn sanitize_step(&self, store: &dyn UnitStore) -> Option<u64> {
        self.sanitize.step(&*self.device(), &self.writes, store).await
    }

    /// Creates a unit over `device`, with the device's [`VolumeId`]. It is named in `used` when its counters or
    /// reservations change.
    pub(crate) fn new(device: D, name: &str, used: UsedUnits) -> Self {
        let volume = device.volume();
        Self {
            volume,
            name: RefCell::new(Arc::from(name)),
            device: RefCell::new(Rc::new(device)),
            content_generation: Cell::new(0),
            extents: ExtentLocks::default(),
            writes: InFlight::default(),
            reservations: Reservations::default(),
            sanitize: Sanitize::default(),
            statistics: Statistics::new(volume, used),
        }
    }

    /// Replaces the device after a roll-back, and raises the content generation.
    pub(crate) fn replace_device(&self, device: D) {
        self.device.replace(Rc::new(device));
        self.renew_content();
    }

    /// Size in logical blocks.
    pub fn block_count(&self) -> u64 {
        self.device.borrow().block_count()
    }

    /// True when the device refuses writes.
    pub fn read_only(&self) -> bool {
        self.device.borrow().read_only()
    }

    /// True when the device's write cache is on.
    pub fn write_cache(&self) -> bool {
        self.device.borrow().write_cache()
    }
}
