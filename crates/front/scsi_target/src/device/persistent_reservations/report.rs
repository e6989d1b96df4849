//! Registrations and reservations of a logical unit, for people.

use crate::device::ScsiTarget;
use block::{BlockDevice, VolumeId};
use unit::{Registrant, ReservationType};

/// Who is registered with a logical unit, and who has reserved it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReservationReport {
    /// I_T nexuses that are registered (PERSISTENT RESERVE OUT), whether they are logged in or not.
    pub registrations: Vec<RegistrationInfo>,
    /// TYPE of the persistent reservation; `None` when there is none.
    pub reservation_type: Option<ReservationType>,
    /// APTPL of the last registration: all this outlives a loss of power.
    pub persists: bool,
    /// PRGENERATION.
    pub generation: u32,
    /// The I_T nexus that has reserved the logical unit with RESERVE (6), which excludes all of the above; its key is 0.
    pub reserved_by: Option<RegistrationInfo>,
    /// Commands refused with RESERVATION CONFLICT since the start.
    pub conflicts: u64,
}

/// A registration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegistrationInfo {
    /// Initiator name.
    pub initiator: String,
    /// ISID.
    pub isid: u64,
    /// Relative target port identifier.
    pub relative_target_port: u16,
    /// Reservation key.
    pub key: u64,
    /// It holds the reservation.
    pub holder: bool,
}

impl<D: BlockDevice> ScsiTarget<D> {
    /// What there is of reservations at a logical unit; `None` when there is no such logical unit.
    #[must_use]
    pub fn reservation_report(&self, volume: VolumeId) -> Option<ReservationReport> {
        let unit = self.unit(volume)?;
        let state = unit.reservations.state();
        let registration = |registrant: &Registrant, key, holder| RegistrationInfo {
            initiator: registrant.name.clone(),
            isid: u64::try_from(registrant.instance).unwrap_or_default(),
            relative_target_port: registrant.target_port,
            key,
            holder,
        };
        let registrations = state.keys.iter().map(|(nexus, key)| registration(nexus, *key, state.holds(nexus)));
        let reserved_by = unit.reserved_by().and_then(|holder| self.nexuses.borrow().get(holder)).map(|nexus| {
            match &nexus.registrant {
                Some(name) => registration(name, 0, true),
                // A nexus of a transport without names of ports.
                None => RegistrationInfo {
                    initiator: nexus.initiator.to_string(),
                    isid: 0,
                    relative_target_port: nexus.relative_target_port,
                    key: 0,
                    holder: true,
                },
            }
        });
        Some(ReservationReport {
            registrations: registrations.collect(),
            reservation_type: state.reservation.as_ref().map(|reservation| reservation.kind),
            persists: state.persists,
            generation: state.generation,
            reserved_by,
            conflicts: unit.statistics.io().reservation_conflicts,
        })
    }
}
