//! `reservation clear`: an administrator removes what hosts that are gone have left.

use super::{ReservationShow, ReservationView};
use crate::control::Control;
use crate::effect::{BrokenKind, Rehearsal, Rehearsed};
use crate::error::ControlError;
use crate::events::Draft;
use crate::pools::error::PoolRefusal;
use crate::request::Request;
use pool::PoolError;
use unit::StoreError;

/// Removes the reservation of a volume and all registrations with it. Their hosts learn it with their next command.
/// The reply is the name of the volume, and how many registrations and reservations there were.
#[derive(Clone, Debug)]
pub struct ReservationClear {
    /// Name or id of the volume.
    pub volume: String,
}

impl Request for ReservationClear {
    type Reply = (String, usize);
    const NAME: &'static str = "reservation-clear";

    /// What is stored of them is deleted under the lock of changes, which the target takes by itself.
    async fn run(&self, control: &Control) -> Result<(String, usize), ControlError> {
        let volume = control.directory().volume(&self.volume)?.clone();
        match control.live().clear_reservations(volume.object).await {
            Ok(removed) => Ok((volume.name, removed)),
            Err(StoreError::NoRoom) => {
                let available_bytes = control.catalog().space().free_bytes;
                Err(PoolRefusal::NoSpace { available_bytes }.into())
            }
            Err(StoreError::Failed) => {
                let reason = control.live().pool_stopped().unwrap_or_else(|| "the change was not stored".to_owned());
                Err(control.pool_error(PoolError::Stopped(reason)))
            }
        }
    }

    fn event(&self, (name, removed): &(String, usize)) -> Option<Draft> {
        let message =
            format!("reservations of volume {name} cleared: {removed} registrations and reservations removed");
        (*removed > 0).then(|| Draft::info("reservations-cleared", name, message))
    }
}

impl Rehearsed for ReservationClear {
    fn rehearse(&self, control: &Control) -> Result<Rehearsal, ControlError> {
        let show = ReservationShow { volume: self.volume.clone() };
        let rows = control.see(|facts| crate::read::Read::answer(&show, facts))?.rows();
        Ok(rows.fold(Rehearsal::default(), |all, row: ReservationView| {
            let holds = row.is_reserve || row.registration.registration.holder;
            let why = match holds {
                true => "it loses its reservation: others can write to the volume at once",
                false => "it loses its registration, and learns it with its next command",
            };
            let name = row.registration.host.unwrap_or(row.registration.registration.initiator);
            all.breaks(BrokenKind::Registration, name, why)
        }))
    }
}
