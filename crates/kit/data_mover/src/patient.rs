//! A device that retries commands while another host has the logical unit reserved, as a host's
//! storage stack does.
//!
//! With a permit, each try of a command that changes the medium asks for permission: an operation
//! takes many commands, and each may wait long.

use crate::device::{Compared, CopyDescriptor, Device, DeviceError, Extent, Gate, Identity, LbaStatus};
use crate::mover::DataMover;
use bytes::Bytes;
use std::fmt;
use std::rc::Rc;
use std::time::Duration;

/// Longest pause between two tries.
const LONGEST_PAUSE: Duration = Duration::from_millis(20);

/// Pause after this many tries that met a reservation.
pub(crate) fn pause(tries: u32) -> Duration {
    (Duration::from_micros(200) * 2_u32.saturating_pow(tries.min(16))).min(LONGEST_PAUSE)
}

/// Callback that permits a command which changes the medium, or returns [`DeviceError::Withdrawn`].
pub type Permit = Rc<dyn Fn() -> Result<(), DeviceError>>;

/// A device that retries commands. Conflicts are counted in the tally of the mover.
pub struct Patient<D> {
    device: Rc<D>,
    mover: Rc<DataMover>,
    patience: Duration,
    permit: Option<Permit>,
}

impl<D: fmt::Debug> fmt::Debug for Patient<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Patient")
            .field("device", &self.device)
            .field("patience", &self.patience)
            .field("permit", &self.permit.is_some())
            .finish_non_exhaustive()
    }
}

impl<D: Device> Patient<D> {
    /// Creates a device that waits for at most `patience` for another host's reservation to end.
    pub fn new(device: Rc<D>, mover: Rc<DataMover>, patience: Duration) -> Self {
        Self { device, mover, patience, permit: None }
    }

    /// Returns the same device with a permit, which is asked for at each try of a command that
    /// changes the medium.
    #[must_use]
    pub fn permitted(&self, permit: Permit) -> Self {
        let (device, mover) = (self.device.clone(), self.mover.clone());
        Self { device, mover, patience: self.patience, permit: Some(permit) }
    }

    /// Wrapped device.
    pub fn inner(&self) -> &Rc<D> {
        &self.device
    }

    async fn retry<T>(&self, mut command: impl AsyncFnMut() -> Result<T, DeviceError>) -> Result<T, DeviceError> {
        let clock = self.mover.clock();
        let deadline = clock.now() + self.patience;
        let mut tries = 0;
        loop {
            match command().await {
                Err(DeviceError::ReservationConflict) if clock.now() < deadline => {}
                result => return result,
            }
            self.mover.tally.borrow_mut().reservation_conflicts += 1;
            clock.sleep(pause(tries)).await;
            tries += 1;
        }
    }

    /// Like [`Self::retry`], for commands that change the medium.
    async fn retry_permitted<T>(
        &self,
        mut command: impl AsyncFnMut() -> Result<T, DeviceError>,
    ) -> Result<T, DeviceError> {
        let permitted = async || {
            self.permit.as_ref().map_or(Ok(()), |permit| permit())?;
            command().await
        };
        self.retry(permitted).await
    }
}

impl<D: Device> Device for Patient<D> {
    fn identity(&self) -> &Identity {
        self.device.identity()
    }

    async fn read(&self, extent: Extent) -> Result<Bytes, DeviceError> {
        self.retry(async || self.device.read(extent).await).await
    }

    async fn write(&self, lba: u64, data: Bytes) -> Result<(), DeviceError> {
        self.retry_permitted(async || self.device.write(lba, data.clone()).await).await
    }

    async fn compare_and_write(&self, lba: u64, expected: Bytes, new: Bytes) -> Result<Compared, DeviceError> {
        self.retry_permitted(async || self.device.compare_and_write(lba, expected.clone(), new.clone()).await).await
    }

    async fn write_zeros(&self, extent: Extent, unmap: bool) -> Result<(), DeviceError> {
        self.retry_permitted(async || self.device.write_zeros(extent, unmap).await).await
    }

    async fn unmap(&self, extents: &[Extent]) -> Result<(), DeviceError> {
        self.retry_permitted(async || self.device.unmap(extents).await).await
    }

    async fn extended_copy(&self, source: &[u8; 16], segments: &[CopyDescriptor]) -> Result<(), DeviceError> {
        self.retry_permitted(async || self.device.extended_copy(source, segments).await).await
    }

    async fn lba_status(&self, lba: u64) -> Result<Vec<LbaStatus>, DeviceError> {
        self.retry(async || self.device.lba_status(lba).await).await
    }

    fn reserves(&self) -> Option<[u8; 16]> {
        self.device.reserves()
    }

    /// Tried once: the caller has its own patience.
    async fn reserve(&self) -> Result<(), DeviceError> {
        self.device.reserve().await
    }

    async fn release(&self) -> Result<(), DeviceError> {
        self.device.release().await
    }

    async fn read_reserved(&self, extent: Extent) -> Result<Bytes, DeviceError> {
        self.device.read_reserved(extent).await
    }

    async fn write_reserved(&self, lba: u64, data: Bytes) -> Result<(), DeviceError> {
        self.permit.as_ref().map_or(Ok(()), |permit| permit())?;
        self.device.write_reserved(lba, data).await
    }

    async fn reset(&self) -> Result<(), DeviceError> {
        self.permit.as_ref().map_or(Ok(()), |permit| permit())?;
        self.device.reset().await
    }

    fn only_while(&self, gate: Gate) {
        self.device.only_while(gate);
    }
}
