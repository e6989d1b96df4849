//! A change of registrations and reservation while it is worked out, and what it tells whom.

use super::state::{NexusName, State};
use crate::sense::Fault;
use scsi::AdditionalSense;
use scsi::persistent_reservation::InitiatorPort;

/// What a service action needs to know of the target device.
#[derive(Clone, Debug)]
pub(crate) struct Surroundings {
    /// Relative identifiers of the target ports.
    pub target_ports: Vec<u16>,
    /// Initiator ports that are logged in.
    pub initiator_ports: Vec<InitiatorPort>,
    /// Registrations that a logical unit can have.
    pub limit: usize,
}

/// A change that has not taken effect.
#[derive(Debug)]
pub(crate) struct Transition<'a> {
    /// Who sent the command.
    pub actor: &'a NexusName,
    /// What will be.
    pub state: State,
    /// Unit attentions; never for the actor.
    pub attentions: Vec<(NexusName, AdditionalSense)>,
    /// Other nexuses whose registration the actor has taken away.
    pub preempted: Vec<NexusName>,
}

impl<'a> Transition<'a> {
    pub fn new(state: &State, actor: &'a NexusName) -> Self {
        Self { actor, state: state.clone(), attentions: Vec::new(), preempted: Vec::new() }
    }

    /// Refuses an actor that is not registered with this key (SPC-4 §5.9).
    pub fn authorise(&self, key: u64) -> Result<(), Fault> {
        if self.state.key(self.actor) == Some(key) { Ok(()) } else { Err(Fault::ReservationConflict) }
    }

    /// Counts a change of the registrations in PRGENERATION.
    pub fn count(&mut self) {
        self.state.generation = self.state.generation.wrapping_add(1);
    }

    /// Queues a unit attention, unless it is for the actor itself.
    pub fn tell(&mut self, nexus: NexusName, attention: AdditionalSense) {
        if nexus != *self.actor {
            self.attentions.push((nexus, attention));
        }
    }

    /// The same for everybody who is registered now.
    pub fn tell_registered(&mut self, attention: AdditionalSense) {
        for nexus in self.state.keys.keys().cloned().collect::<Vec<_>>() {
            self.tell(nexus, attention);
        }
    }

    /// Registers a nexus or changes its key.
    pub fn register(&mut self, nexus: NexusName, key: u64, surroundings: &Surroundings) -> Result<(), Fault> {
        if self.state.keys.insert(nexus, key).is_none() && self.state.keys.len() > surroundings.limit {
            return Err(Fault::InsufficientRegistrationResources);
        }
        Ok(())
    }

    /// Ends a registration that its own initiator gives up (SPC-4 §5.9). The reservation goes with its holder, or with the last
    /// registration; those who were let in by it learn that it is gone.
    pub fn unregister(&mut self, nexus: &NexusName) {
        self.state.keys.remove(nexus);
        let Some(reservation) = &self.state.reservation else { return };
        let kind = reservation.kind;
        let gone = if kind.is_all_registrants() { self.state.keys.is_empty() } else { reservation.holder == *nexus };
        if gone {
            self.state.reservation = None;
            if kind.admits_registrants() {
                self.tell_registered(AdditionalSense::RESERVATIONS_RELEASED);
            }
        }
    }
}
