//! SCSI's side of reservations (SPC-4 §5.9): names of I_T nexuses as registrants, unit attentions
//! for notices, and the ports that a change refers to. [`unit::reservations`] holds the rules.

use super::ScsiTarget;
use crate::nexus::Nexus;
use crate::nexus_id::NexusId;
use block::{BlockDevice, VolumeId};
use scsi::AdditionalSense;
use scsi::persistent_reservation::InitiatorPort;
use std::collections::BTreeSet;
use std::rc::Rc;
use unit::Registrant;
use unit::reservations::Notice;

/// Registrant of an I_T nexus: initiator port `NAME,i,0xISID` through a target port. `None` when
/// the initiator port has no name by which it could be found again.
pub fn registrant(initiator_port: &str, target_port: u16) -> Option<Registrant> {
    InitiatorPort::parse(initiator_port).map(|port| registrant_of(&port, target_port))
}

/// Initiator port of a registrant, `NAME,i,0xISID`; `None` for a registrant of another protocol.
pub fn initiator_port(registrant: &Registrant) -> Option<String> {
    port_of(registrant).map(|port| port.to_string())
}

/// Registrant of an iSCSI initiator port.
pub(crate) fn registrant_of(port: &InitiatorPort, target_port: u16) -> Registrant {
    Registrant { target_port, name: port.name().to_owned(), instance: u128::from(port.isid()) }
}

/// Initiator port of a registrant; `None` for a registrant of another protocol.
pub(crate) fn port_of(registrant: &Registrant) -> Option<InitiatorPort> {
    InitiatorPort::new(&registrant.name, u64::try_from(registrant.instance).ok()?)
}

/// Unit attention for a notice.
fn attention(notice: Notice) -> AdditionalSense {
    match notice {
        Notice::RegistrationPreempted => AdditionalSense::REGISTRATIONS_PREEMPTED,
        Notice::ReservationPreempted => AdditionalSense::RESERVATIONS_PREEMPTED,
        Notice::ReservationReleased => AdditionalSense::RESERVATIONS_RELEASED,
    }
}

/// Ports of the target device and of the initiators that are logged in.
#[derive(Clone, Debug)]
pub(crate) struct Ports {
    /// Relative identifiers of the target ports.
    pub target: Vec<u16>,
    /// Initiator ports that are logged in.
    pub initiator: Vec<InitiatorPort>,
}

impl<D> ScsiTarget<D> {
    pub(crate) fn reservation_ports(&self) -> Ports {
        let nexuses = self.nexuses.borrow().all();
        let initiator: BTreeSet<_> =
            nexuses.iter().filter_map(|nexus| nexus.registrant.as_ref()).filter_map(port_of).collect();
        Ports {
            target: self.identity.borrow().ports.iter().map(|port| port.relative_identifier).collect(),
            initiator: initiator.into_iter().collect(),
        }
    }

    /// Attached I_T nexuses of these registrants.
    pub fn nexuses_of(&self, registrants: &[Registrant]) -> Vec<NexusId> {
        let wanted = |nexus: &Rc<Nexus<D>>| nexus.registrant.as_ref().is_some_and(|name| registrants.contains(name));
        self.nexuses.borrow().all().iter().filter(|nexus| wanted(nexus)).map(|nexus| nexus.id).collect()
    }
}

impl<D: BlockDevice> ScsiTarget<D> {
    /// Queues the unit attention for a notice on the attached nexuses of a registrant that see the
    /// volume.
    pub fn notify(&self, volume: VolumeId, registrant: &Registrant, notice: Notice) {
        let attached = self.nexuses_of(std::slice::from_ref(registrant));
        self.raise_where(volume, attention(notice), |nexus| attached.contains(&nexus));
    }
}
