//! Updates of a sector that several hosts share: by COMPARE AND WRITE, or by reading and writing
//! while the whole logical unit is reserved, as older hosts did. Both compare, so that an update
//! based on stale data is never written.

use crate::device::{Compared, Device, DeviceError, Extent};
use crate::mover::DataMover;
use crate::patient;
use crate::range_lock::RangeGuard;
use bytes::Bytes;
use std::time::Duration;
use thiserror::Error;

/// Method of updating a sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Locking {
    /// COMPARE AND WRITE.
    CompareAndWrite,
    /// RESERVE, READ, WRITE, RELEASE.
    Reservation,
}

/// Reason why a sector was not updated.
#[derive(Debug, Error)]
pub enum UpdateError {
    /// The logical unit failed a command.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// Other hosts held a reservation at every try.
    #[error("the logical unit was reserved by another host {0} times in a row")]
    Reserved(u32),
}

/// Time for which RESERVE is tried.
const RESERVE_TIME: Duration = Duration::from_secs(20);
/// Age of a reservation after which this host writes nothing under it.
const MAX_HOLD: Duration = Duration::from_secs(4);
/// Age after which a reservation counts as that of a hanging host, and is broken. Other hosts'
/// heartbeats wait meanwhile.
const BREAK_AFTER: Duration = Duration::from_secs(6);
/// Time before that limit in which RESERVE is tried almost without pauses: hosts that take turns
/// leave gaps.
const WATCH: Duration = Duration::from_secs(2);
const WATCH_PAUSE: Duration = Duration::from_micros(200);
/// Time between two conflicts above which the reservation may have ended in between.
const MAX_GAP: Duration = Duration::from_millis(500);
/// Number of resets after which a returning reservation no longer counts as that of a hanging host.
const MAX_RESETS: u32 = 2;

/// A reservation of another host, as met by consecutive tries.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StandingReservation {
    since: Duration,
    last: Duration,
}

impl DataMover {
    /// Method for this device: COMPARE AND WRITE if the switches allow it and the unit has it, else
    /// reservation.
    pub fn locking<D: Device>(&self, device: &D) -> Locking {
        match self.settings().hardware_accelerated_locking && device.identity().limits.compare_and_write > 0 {
            true => Locking::CompareAndWrite,
            false => Locking::Reservation,
        }
    }

    /// Replaces `expected` by `new` in one step that no other host can interrupt. Returns false
    /// when the sector holds other data.
    ///
    /// Errors: after one that [`DeviceError::is_lost`], it is unknown whether `new` was written.
    pub async fn update<D: Device>(
        &self,
        device: &D,
        lba: u64,
        expected: &Bytes,
        new: &Bytes,
    ) -> Result<bool, UpdateError> {
        self.update_in_turn(device, lba, (expected, new), false).await
    }

    /// Like [`Self::update`], for urgent updates such as a heartbeat. Under reservations it
    /// precedes all waiting updates of this host. It waits for at most one of them and a short
    /// pause between two tries to reserve, but never for the patience of earlier updates with other
    /// hosts.
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
                let until = self.clock().now() + RESERVE_TIME;
                let updated = loop {
                    let reserved = self.reserve(device, &turn, until).await?;
                    let updated = self.update_reserved(device, lba, (expected, new), reserved).await;
                    // The reservation is released whatever the result is.
                    let released = device.release().await;
                    match updated {
                        // The reservation ended meanwhile: nothing was written, and other hosts may
                        // have written.
                        Err(DeviceError::ReservationConflict) if self.clock().now() < until => {}
                        updated => {
                            let updated = updated?;
                            released?;
                            break updated;
                        }
                    }
                };
                if updated {
                    self.tally.borrow_mut().reserved_updates += 1;
                }
                Ok(updated)
            }
        }
    }

    /// Reserves the unit; returns the time at which the command was sent. Between two tries this
    /// host holds nothing, so that urgent updates can go first. The reservation of a host that
    /// hangs (stopped, or off the network with its connection still open) is broken by LOGICAL UNIT
    /// RESET; that host gets a unit attention before it can write.
    async fn reserve<D: Device>(
        &self,
        device: &D,
        turn: &RangeGuard<'_>,
        until: Duration,
    ) -> Result<Duration, UpdateError> {
        let of = device.reserves();
        let (mut tries, mut resets) = (0, 0);
        loop {
            let sent = self.clock().now();
            match device.reserve().await {
                Ok(()) => {
                    self.standing.borrow_mut().remove(&of);
                    return Ok(sent);
                }
                Err(DeviceError::ReservationConflict) => self.tally.borrow_mut().reservation_conflicts += 1,
                Err(error) => return Err(error.into()),
            }
            tries += 1;
            let now = self.clock().now();
            if now >= until {
                return Err(UpdateError::Reserved(tries));
            }
            let stood = self.standing_time(of, now);
            if stood >= BREAK_AFTER && resets < MAX_RESETS {
                resets += 1;
                self.standing.borrow_mut().remove(&of);
                match device.reset().await {
                    Ok(()) => self.tally.borrow_mut().reservations_broken += 1,
                    Err(DeviceError::NotSupported(_)) => resets = MAX_RESETS,
                    Err(error) => return Err(error.into()),
                }
                continue;
            }
            let watched = stood + WATCH >= BREAK_AFTER && resets < MAX_RESETS;
            self.clock().sleep(if watched { WATCH_PAUSE } else { patient::pause(tries) }).await;
            turn.yield_to_urgent().await;
        }
    }

    /// Time for which another host's reservation has stood without a gap.
    fn standing_time(&self, of: Option<[u8; 16]>, now: Duration) -> Duration {
        let mut standing = self.standing.borrow_mut();
        let met = standing.entry(of).or_insert(StandingReservation { since: now, last: now });
        if now.saturating_sub(met.last) > MAX_GAP {
            met.since = now;
        }
        met.last = now;
        now.saturating_sub(met.since)
    }

    /// Errors: [`DeviceError::ReservationConflict`] when the reservation has ended, or is so old
    /// that another host may have broken it.
    async fn update_reserved<D: Device>(
        &self,
        device: &D,
        lba: u64,
        (expected, new): (&Bytes, &Bytes),
        reserved: Duration,
    ) -> Result<bool, DeviceError> {
        let blocks = expected.len() as u64 / u64::from(device.identity().block_bytes);
        if device.read_reserved(Extent { lba, blocks }).await? != expected {
            return Ok(false);
        }
        if self.clock().now().saturating_sub(reserved) >= MAX_HOLD {
            return Err(DeviceError::ReservationConflict);
        }
        device.write_reserved(lba, new.clone()).await?;
        Ok(true)
    }
}
