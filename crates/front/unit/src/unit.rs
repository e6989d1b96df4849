//! Volume state that all clients share, whatever protocol they use.

use crate::extents::ExtentLocks;
use crate::in_flight::InFlight;
use crate::reservations::Reservations;
use crate::sanitize::Sanitize;
use crate::statistics::Statistics;
use block::{BlockDevice, VolumeId};
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
    pub fn rename(&self, name: &str) {
        self.name.replace(Arc::from(name));
    }

    /// Content generation: raised when all of the content is replaced at once, by a roll-back or a sanitize operation. Data of a command
    /// that began under an older generation is not stored.
    pub fn content_generation(&self) -> u64 {
        self.content_generation.get()
    }

    /// Raises the content generation.
    pub fn renew_content(&self) {
        self.content_generation.set(self.content_generation.get() + 1);
    }

    /// The device that holds the blocks.
    pub fn device(&self) -> Rc<D> {
        Rc::clone(&self.device.borrow())
    }
}

impl<D: BlockDevice> Unit<D> {
    /// A unit over `device`, whose [`VolumeId`] it has.
    pub fn new(device: D, name: &str) -> Self {
        Self {
            volume: device.volume(),
            name: RefCell::new(Arc::from(name)),
            device: RefCell::new(Rc::new(device)),
            content_generation: Cell::new(0),
            extents: ExtentLocks::default(),
            writes: InFlight::default(),
            reservations: Reservations::default(),
            sanitize: Sanitize::default(),
            statistics: Statistics::default(),
        }
    }

    /// Puts another device in place, after a roll-back: its content is other content.
    pub fn replace_device(&self, device: D) {
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
