//! Sectors and blocks on the logical unit: loads, and atomic updates, none of which run without a
//! heartbeat.

use crate::error::DatastoreError;
use crate::format::Heartbeat;
use crate::geometry::Geometry;
use crate::sector::{self, Loaded, Payload, SECTOR_BYTES};
use bytes::Bytes;
use data_mover::{DataMover, Device, DeviceError, Extent, Gate, Patient, Permit};
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

/// Lease of a heartbeat: a host that could not renew for this long, counted from when the last
/// renewal was sent, stops writing. Shorter than the time after which other hosts consider it dead,
/// by the time that a command may be in flight.
pub(crate) const LEASE: Duration = Duration::from_secs(12);

/// Sectors per READ.
const READ_SECTORS: u64 = 128;

/// Whether this host may write.
#[derive(Debug, Default)]
pub(crate) struct Lease {
    pub(crate) until: Cell<Duration>,
    pub(crate) evicted: Cell<bool>,
    /// The slot was released, or the datastore was dropped: later commands of this host have
    /// nothing to do with the datastore.
    pub(crate) released: Cell<bool>,
}

impl Lease {
    fn check(&self, now: Duration) -> Result<(), DeviceError> {
        if self.evicted.get() {
            return Err(DeviceError::Withdrawn(None));
        }
        match now.checked_sub(self.until.get()) {
            Some(late) if !late.is_zero() => Err(DeviceError::Withdrawn(Some((late + LEASE).as_secs()))),
            _ => Ok(()),
        }
    }
}

/// The logical unit under a datastore.
pub(crate) struct Store<D> {
    /// Device for everything but the heartbeat; it sends nothing without a lease.
    pub(crate) device: Patient<D>,
    /// The same device without that limit, for the heartbeat itself, which must be renewed even
    /// when it is late.
    heartbeat: Patient<D>,
    pub(crate) mover: Rc<DataMover>,
    pub(crate) geometry: Geometry,
    pub(crate) lease: Rc<Lease>,
}

impl<D: Device> Store<D> {
    /// Creates a store that has no heartbeat yet.
    pub(crate) fn new(device: Patient<D>, mover: Rc<DataMover>, geometry: Geometry) -> Self {
        let lease = Rc::<Lease>::default();
        let (asked, of_host) = (lease.clone(), mover.clone());
        let permit: Permit = Rc::new(move || asked.check(of_host.clock().now()));
        Self { device: device.permitted(permit), heartbeat: device, mover, geometry, lease }
    }

    /// Gate that is open while this host has its heartbeat, and after it has released the slot.
    pub(crate) fn gate(&self) -> Gate {
        let (lease, mover) = (self.lease.clone(), self.mover.clone());
        Rc::new(move || lease.released.get() || lease.check(mover.clock().now()).is_ok())
    }

    pub(crate) fn now(&self) -> Duration {
        self.mover.clock().now()
    }

    pub(crate) async fn sleep(&self, time: Duration) {
        self.mover.clock().sleep(time).await;
    }

    /// Errors unless this host still has its heartbeat.
    pub(crate) fn alive(&self) -> Result<(), DatastoreError> {
        Ok(self.lease.check(self.now())?)
    }

    /// Reads and decodes a sector.
    pub(crate) async fn load<T: Payload>(&self, lba: u64) -> Result<Loaded<T>, DatastoreError> {
        sector::decode(lba, self.device.read(Extent { lba, blocks: 1 }).await?)
    }

    /// Reads a table of sectors of one kind: the intact ones with their numbers, and the first
    /// error of the damaged ones.
    pub(crate) async fn load_readable<T: Payload>(
        &self,
        lba: u64,
        count: u64,
    ) -> Result<(Vec<Loaded<T>>, Option<DatastoreError>), DatastoreError> {
        let (mut loaded, mut damaged) = (Vec::new(), None);
        for (number, (lba, data)) in (0..).zip(self.read_run(lba, count).await?) {
            match sector::decode(lba, data) {
                Ok(sector) => loaded.push(Loaded { number, ..sector }),
                Err(error) => damaged = damaged.or(Some(error)),
            }
        }
        Ok((loaded, damaged))
    }

    /// Reads a run of sectors of one kind. Errors if any is damaged.
    pub(crate) async fn load_run<T: Payload>(&self, lba: u64, count: u64) -> Result<Vec<Loaded<T>>, DatastoreError> {
        let mut loaded = Vec::new();
        for (lba, data) in self.read_run(lba, count).await? {
            loaded.push(sector::decode(lba, data)?);
        }
        Ok(loaded)
    }

    /// Reads a run of sectors; returns each with its LBA.
    pub(crate) async fn read_run(&self, lba: u64, count: u64) -> Result<Vec<(u64, Bytes)>, DatastoreError> {
        let mut sectors = Vec::new();
        let mut at = lba;
        while at < lba + count {
            let blocks = READ_SECTORS.min(lba + count - at);
            let data = self.device.read(Extent { lba: at, blocks }).await?;
            for (number, start) in (at..at + blocks).zip((0..data.len()).step_by(SECTOR_BYTES)) {
                sectors.push((number, data.slice(start..data.len().min(start + SECTOR_BYTES))));
            }
            at += blocks;
        }
        Ok(sectors)
    }

    /// Updates a sector atomically. Returns false, and leaves `loaded`, if the sector on the unit
    /// no longer matches it. After success `loaded` holds the new content.
    pub(crate) async fn swap<T: Payload>(&self, loaded: &mut Loaded<T>, value: T) -> Result<bool, DatastoreError> {
        self.alive()?;
        let image = sector::encode(loaded.version + 1, &value);
        let written = self.mover.update(&self.device, loaded.lba, &loaded.image, &image).await?;
        loaded.changed(written, image, value);
        Ok(written)
    }

    /// Like [`Self::swap`] for the heartbeat itself: allowed without a lease, and sent before
    /// commands that can wait.
    pub(crate) async fn swap_heartbeat(
        &self,
        loaded: &mut Loaded<Heartbeat>,
        value: Heartbeat,
    ) -> Result<bool, DatastoreError> {
        let image = sector::encode(loaded.version + 1, &value);
        let written = self.mover.update_urgently(&self.heartbeat, loaded.lba, &loaded.image, &image).await?;
        loaded.changed(written, image, value);
        Ok(written)
    }

    /// Extent of `sectors` sectors of a block, from sector `from` on.
    pub(crate) fn extent(&self, block: u32, from: u64, sectors: u64) -> Extent {
        Extent { lba: self.geometry.block_lba(block) + from, blocks: sectors }
    }

    pub(crate) async fn read(&self, extent: Extent) -> Result<Bytes, DatastoreError> {
        Ok(self.device.read(extent).await?)
    }

    pub(crate) async fn write(&self, lba: u64, data: Bytes) -> Result<(), DatastoreError> {
        Ok(self.device.write(lba, data).await?)
    }

    pub(crate) async fn zero(&self, extent: Extent, unmap: bool, progress: &dyn Fn(u64)) -> Result<(), DatastoreError> {
        self.mover.zero(&self.device, extent, unmap, progress).await?;
        Ok(())
    }
}
