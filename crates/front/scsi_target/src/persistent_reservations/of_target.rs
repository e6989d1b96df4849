//! What the target device contributes to persistent reservations: who keeps them, who is attached, what is restored at the start.

use super::{NexusName, PersistedReservations, ReservationStore, State, Surroundings, TaskAborter};
use crate::nexus::{Nexus, NexusId};
use crate::target::ScsiTarget;
use block::{BlockDevice, VolumeId};
use scsi::AdditionalSense;
use std::collections::BTreeSet;
use std::rc::Rc;

impl<D> ScsiTarget<D> {
    /// Lets persistent reservations be kept over a loss of power. Without it APTPL = 1 is refused and PTPL_C is 0.
    pub fn set_reservation_store(&self, store: Rc<dyn ReservationStore>) {
        self.reservation_store.replace(Some(store));
    }

    /// Lets PREEMPT AND ABORT end tasks. Without it, it waits until they are done.
    pub fn set_task_aborter(&self, aborter: Rc<dyn TaskAborter>) {
        self.task_aborter.replace(Some(aborter));
    }

    pub(crate) fn reservation_store(&self) -> Option<Rc<dyn ReservationStore>> {
        self.reservation_store.borrow().clone()
    }

    pub(crate) fn can_persist_reservations(&self) -> bool {
        self.reservation_store.borrow().is_some()
    }

    pub(crate) fn task_aborter(&self) -> Option<Rc<dyn TaskAborter>> {
        self.task_aborter.borrow().clone()
    }

    /// Puts back what a [`ReservationStore`] has kept, before the logical unit's first command. False when there is no such logical
    /// unit or what was kept contradicts itself; then nothing has changed.
    #[must_use]
    pub fn restore_reservations(&self, volume: VolumeId, persisted: &PersistedReservations) -> bool {
        let unit = self.units.borrow().get(&volume).cloned();
        match (unit, State::restored(persisted)) {
            (Some(unit), Some(state)) => {
                unit.persistent.set_state(state);
                true
            }
            _ => false,
        }
    }

    pub(crate) fn surroundings(&self) -> Surroundings {
        let nexuses = self.nexuses.borrow().all();
        let names = nexuses.iter().filter_map(|nexus| nexus.name.as_ref());
        let initiator_ports: BTreeSet<_> = names.map(|name| name.initiator_port.clone()).collect();
        Surroundings {
            target_ports: self.identity.borrow().ports.iter().map(|port| port.relative_identifier).collect(),
            initiator_ports: initiator_ports.into_iter().collect(),
            limit: self.limits.registrations,
        }
    }

    /// Those of the nexuses that are attached now.
    pub(crate) fn attached(&self, names: &[NexusName]) -> Vec<NexusId> {
        let wanted = |nexus: &Rc<Nexus<D>>| nexus.name.as_ref().is_some_and(|name| names.contains(name));
        self.nexuses.borrow().all().iter().filter(|nexus| wanted(nexus)).map(|nexus| nexus.id).collect()
    }
}

impl<D: BlockDevice> ScsiTarget<D> {
    /// Queues a unit attention for a nexus by name, where it is attached and sees the volume.
    pub(crate) fn raise_at(&self, volume: VolumeId, attention: AdditionalSense, name: &NexusName) {
        let attached = self.attached(std::slice::from_ref(name));
        self.raise_where(volume, attention, |nexus| attached.contains(&nexus));
    }
}
