//! What the SCSI target asks of the rest of the array for persistent reservations: `control` keeps them in the pool, connections end the
//! tasks of preempted I_T nexuses.

use super::super::Reactor;
use super::super::iscsi::registry::Order;
use block::VolumeId;
use control::{Control, ControlError, RegistrationRecord};
use pool::ObjectId;
use scsi_target::{NexusId, PersistedReservation, PersistedReservations, ReservationStore, TaskAborter};
use std::future::Future;
use std::pin::Pin;
use std::rc::{Rc, Weak};
use tokio::sync::oneshot;
use unit::StoreError;

/// Keeps reservations as documents of the pool. It does not keep `control` alive: at shutdown, nothing is stored any more.
struct Store(Weak<Control>);

/// Orders connections to end tasks.
struct Aborter(Weak<Reactor>);

/// Lets the target store and abort, and puts back what was kept. To be called when every logical unit is there and before the first
/// initiator is let in.
pub(crate) fn load(reactor: &Rc<Reactor>, control: &Rc<Control>) -> Result<(), ControlError> {
    for (object, record) in control.reservations()? {
        let registrations = record.registrations.into_iter().map(|registration| PersistedReservation {
            initiator_port: registration.initiator_port,
            relative_target_port: registration.relative_target_port,
            key: registration.key,
            holder: registration.holder,
        });
        let kept =
            PersistedReservations { registrations: registrations.collect(), reservation_type: record.reservation_type };
        if !reactor.target.restore_reservations(VolumeId(object.0), &kept) {
            let reason = format!("the reservations of object {} contradict themselves", object.0);
            return Err(ControlError::Damaged { reason });
        }
    }
    reactor.target.set_reservation_store(Rc::new(Store(Rc::downgrade(control))));
    reactor.target.set_task_aborter(Rc::new(Aborter(Rc::downgrade(reactor))));
    Ok(())
}

impl ReservationStore for Store {
    fn store(
        &self,
        volume: VolumeId,
        reservations: Option<PersistedReservations>,
    ) -> Pin<Box<dyn Future<Output = Result<(), StoreError>>>> {
        let control = self.0.upgrade();
        Box::pin(async move {
            let Some(control) = control else { return Err(StoreError::Failed) };
            let (kept, reservation_type) =
                reservations.map_or((Vec::new(), None), |kept| (kept.registrations, kept.reservation_type));
            let registrations = kept.into_iter().map(|registration| RegistrationRecord {
                initiator_port: registration.initiator_port,
                relative_target_port: registration.relative_target_port,
                key: registration.key,
                holder: registration.holder,
            });
            let stored =
                control.store_reservations(ObjectId(volume.0), registrations.collect(), reservation_type).await;
            stored.map_err(|error| match error {
                ControlError::NoSpace { .. } => StoreError::NoRoom,
                error => {
                    tracing::error!(volume = volume.0, %error, "persistent reservations could not be stored");
                    StoreError::Failed
                }
            })
        })
    }
}

impl TaskAborter for Aborter {
    fn abort(&self, volume: VolumeId, nexuses: Vec<NexusId>) -> Pin<Box<dyn Future<Output = ()>>> {
        let reactor = self.0.upgrade();
        let members = reactor.as_ref().map(|reactor| reactor.registry.members()).unwrap_or_default();
        let concerned = members.into_iter().filter(|member| member.nexus.get().is_some_and(|id| nexuses.contains(&id)));
        let asked: Vec<_> = concerned
            .map(|member| {
                let (done, answer) = oneshot::channel();
                member.order(Order::Abort(volume, done));
                answer
            })
            .collect();
        Box::pin(async move {
            for answer in asked {
                // A connection that is gone has no tasks.
                let _any = answer.await;
            }
            // What they have begun and was answered at once must not write any more either.
            if let Some(reactor) = &reactor {
                reactor.target.stop_background_on(volume, Some(&nexuses)).await;
            }
        })
    }
}
