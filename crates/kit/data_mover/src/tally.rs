//! Bytes moved by the array and by the host, with the reason for the host's work.

use crate::device::{DeviceError, Sense};
use std::collections::BTreeMap;
use std::fmt;

/// Reason why the host did the work itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// The primitive is switched off on the host.
    SwitchedOff,
    /// The logical unit does not support it.
    NotSupported,
    /// Source and destination are on different arrays.
    DifferentArray,
    /// A logical unit has no NAA designator to name it by.
    NoDesignator,
    /// The logical units have blocks of different lengths.
    DifferentBlockLength,
    /// The array refused with this sense.
    Refused(Sense),
    /// Another host had the logical unit reserved.
    ReservationConflict,
    /// The array had no space, or was busy.
    NotNow,
    /// The disk is based on another one, and has no block of its own for the zeros.
    BasedOnAnother,
}

impl Reason {
    /// Reason that follows from a failed offload; `None` when the host must not do the work either.
    pub(crate) fn of(error: &DeviceError) -> Option<Self> {
        match error {
            DeviceError::NotSupported(_) => Some(Self::NotSupported),
            // COPY TARGET DEVICE NOT REACHABLE: the array does not know the other unit.
            DeviceError::Refused { sense: Sense { key: 0xa, code: 0x0d, qualifier: 2 }, .. } => {
                Some(Self::DifferentArray)
            }
            DeviceError::Refused { sense, .. } => Some(Self::Refused(*sense)),
            DeviceError::ReservationConflict => Some(Self::ReservationConflict),
            DeviceError::Full
            | DeviceError::Status { .. }
            | DeviceError::Lost(_)
            | DeviceError::TimedOut(_)
            | DeviceError::Interrupted
            | DeviceError::Withdrawn(_) => None,
        }
    }

    /// Reason why a hint was refused; `None` when no further command can be sent.
    pub(crate) fn of_advice(error: &DeviceError) -> Option<Self> {
        match error {
            DeviceError::Full | DeviceError::Status { .. } => Some(Self::NotNow),
            error => Self::of(error),
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SwitchedOff => f.write_str("switched off on this host"),
            Self::NotSupported => f.write_str("not supported by the logical unit"),
            Self::DifferentArray => f.write_str("source and destination are on different arrays"),
            Self::NoDesignator => f.write_str("a logical unit has no NAA designator"),
            Self::DifferentBlockLength => f.write_str("logical blocks of different lengths"),
            Self::Refused(sense) => write!(f, "refused with sense {sense}"),
            Self::ReservationConflict => f.write_str("reserved by another host"),
            Self::NotNow => f.write_str("the array was full or busy"),
            Self::BasedOnAnother => f.write_str("the disk is based on another one"),
        }
    }
}

/// Bytes of one operation, or of many.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// Bytes that the array copied, zeroed or freed.
    pub offloaded_bytes: u64,
    /// Bytes that the host moved, by reason.
    pub by_host: BTreeMap<Reason, u64>,
}

impl Moved {
    /// Bytes that the host moved.
    pub fn host_bytes(&self) -> u64 {
        self.by_host.values().sum()
    }

    pub(crate) fn host(&mut self, reason: Reason, bytes: u64) {
        *self.by_host.entry(reason).or_default() += bytes;
    }

    /// Adds the bytes of another operation.
    pub fn add(&mut self, other: &Self) {
        self.offloaded_bytes += other.offloaded_bytes;
        for (reason, bytes) in &other.by_host {
            self.host(*reason, *bytes);
        }
    }
}

impl fmt::Display for Moved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes by the array", self.offloaded_bytes)?;
        for (reason, bytes) in &self.by_host {
            write!(f, ", {bytes} bytes by the host ({reason})")?;
        }
        Ok(())
    }
}

/// Totals of a host's work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Bytes copied.
    pub copied: Moved,
    /// Bytes zeroed.
    pub zeroed: Moved,
    /// Bytes freed by UNMAP.
    pub unmapped_bytes: u64,
    /// Bytes that UNMAP did not free, by reason.
    pub not_unmapped: BTreeMap<Reason, u64>,
    /// Sector updates by COMPARE AND WRITE.
    pub atomic_updates: u64,
    /// Sector updates under a reservation.
    pub reserved_updates: u64,
    /// COMPARE AND WRITE commands that miscompared.
    pub miscompares: u64,
    /// RESERVE commands that met another host's reservation.
    pub reservation_conflicts: u64,
    /// Reservations of hanging hosts that were broken by LOGICAL UNIT RESET.
    pub reservations_broken: u64,
}
