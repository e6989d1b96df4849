//! Changing one sector that several hosts change: by COMPARE AND WRITE, or by reading and writing while the whole logical unit is reserved, as
//! hosts did before. Both compare, so that an update based on something old is never written.

use crate::device::{Compared, Device, DeviceError, Extent};
use crate::mover::DataMover;
use crate::patient;
use crate::range_lock::RangeGuard;
use bytes::Bytes;
use thiserror::Error;

/// How a sector is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Locking {
    /// COMPARE AND WRITE.
    CompareAndWrite,
    /// RESERVE, READ, WRITE, RELEASE.
    Reservation,
}

/// Why a sector was not changed.
#[derive(Debug, Error)]
pub enum UpdateError {
    /// The logical unit did not carry it out.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// Other hosts had the logical unit reserved each time.
    #[error("the logical unit was reserved by another host {0} times in a row")]
    Reserved(u32),
}

/// Most times that a RESERVE is tried.
const MAX_TRIES: u32 = 1000;

impl DataMover {
    /// How sectors of this device are changed: as the switches say, and by reservation where the unit has no COMPARE AND WRITE.
    pub fn locking<D: Device>(&self, device: &D) -> Locking {
        match self.settings().hardware_accelerated_locking && device.identity().limits.compare_and_write > 0 {
            true => Locking::CompareAndWrite,
            false => Locking::Reservation,
        }
    }

    /// Writes `new` where `expected` is, in one step that no other host can come between. False when something else is there.
    ///
    /// Errors: after one that [`DeviceError::is_lost`] it is not known whether `new` was written.
    pub async fn update<D: Device>(
        &self,
        device: &D,
        lba: u64,
        expected: &Bytes,
        new: &Bytes,
    ) -> Result<bool, UpdateError> {
        self.update_in_turn(device, lba, (expected, new), false).await
    }

    /// The same for what must not be late, such as a heartbeat. Under reservations it goes before all other updates of this host that wait: it waits
    /// for one of them at most, and a short pause between two tries to reserve; never for the patience with other hosts of those before it.
    pub async fn update_urgently<D: Device>(
        &self,
        device: &D,
        lba: u64,
        expected: &Bytes,
        new: &Bytes,
    ) -> Result<bool, UpdateError> {
        self.update_in_turn(device, lba, (expected, new), true).await
    }

    async fn update_in_turn<D: Device>(
        &self,
        device: &D,
        lba: u64,
        (expected, new): (&Bytes, &Bytes),
        urgent: bool,
    ) -> Result<bool, UpdateError> {
        match self.locking(device) {
            Locking::CompareAndWrite => {
                let compared = device.compare_and_write(lba, expected.clone(), new.clone()).await?;
                let mut tally = self.tally.borrow_mut();
                match compared {
                    Compared::Written => tally.atomic_updates += 1,
                    Compared::Miscompare => tally.miscompares += 1,
                }
                Ok(compared == Compared::Written)
            }
            Locking::Reservation => {
                let turns = self.turns(device);
                let turn = if urgent { turns.lock_urgently(0..1).await } else { turns.lock(0..1).await };
                self.reserve(device, &turn).await?;
                let updated = update_reserved(device, lba, expected, new).await;
                // The reservation must not stay, whatever happened under it.
                let released = device.release().await;
                let updated = updated?;
                released?;
                if updated {
                    self.tally.borrow_mut().reserved_updates += 1;
                }
                Ok(updated)
            }
        }
    }

    /// Reserves the unit. Between two tries nothing is held, so that what is urgent may go first.
    async fn reserve<D: Device>(&self, device: &D, turn: &RangeGuard<'_>) -> Result<(), UpdateError> {
        for tries in 0..MAX_TRIES {
            match device.reserve().await {
                Ok(()) => return Ok(()),
                Err(DeviceError::ReservationConflict) => self.tally.borrow_mut().reservation_conflicts += 1,
                Err(error) => return Err(error.into()),
            }
            self.clock().sleep(patient::pause(tries)).await;
            turn.make_way().await;
        }
        Err(UpdateError::Reserved(MAX_TRIES))
    }
}

async fn update_reserved<D: Device>(device: &D, lba: u64, expected: &Bytes, new: &Bytes) -> Result<bool, DeviceError> {
    let blocks = expected.len() as u64 / u64::from(device.identity().block_bytes);
    if device.read(Extent { lba, blocks }).await? != expected {
        return Ok(false);
    }
    device.write(lba, new.clone()).await?;
    Ok(true)
}
