//! Task management functions across the array: tasks of other connections are ended by orders to
//! these connections.

use super::Iscsi;
use super::registry::{Member, Order, Registry};
use block::VolumeId;
use iscsi::pdu::{TaskManagementFunction, TaskManagementResponse};
use media::Media;
use scsi_target::NexusId;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;
use tokio::sync::oneshot;

/// Result of a task management function.
#[derive(Debug)]
pub(super) struct Managed {
    pub(super) response: TaskManagementResponse,
    /// Additional response information (RFC 7144 §6.3).
    pub(super) additional: [u8; 3],
    /// True if the sender's connection ends after the response.
    pub(super) ends_session: bool,
}

impl From<TaskManagementResponse> for Managed {
    fn from(response: TaskManagementResponse) -> Self {
        Self { response, additional: [0; 3], ends_session: false }
    }
}

/// Executes a task management function whose tasks on its own connection are done. `present`: tasks
/// exist that QUERY TASK SET asks for.
pub(super) async fn manage<M: Media + 'static>(
    iscsi: &Iscsi<M>,
    member: u64,
    nexus: NexusId,
    function: TaskManagementFunction,
    lun: [u8; 8],
    present: bool,
) -> Managed {
    let target = &iscsi.target;
    let missing = TaskManagementResponse::LUN_DOES_NOT_EXIST;
    let response = match function {
        TaskManagementFunction::QUERY_TASK_SET => match target.volume_at(nexus, lun) {
            Some(_) if present => TaskManagementResponse::SUCCEEDED,
            Some(_) => TaskManagementResponse::COMPLETE,
            None => missing,
        },
        TaskManagementFunction::QUERY_ASYNCHRONOUS_EVENT => match target.query_asynchronous_event(nexus, lun) {
            Ok(Some(additional)) => {
                return Managed { additional, ..TaskManagementResponse::SUCCEEDED.into() };
            }
            Ok(None) => TaskManagementResponse::COMPLETE,
            Err(_) => missing,
        },
        TaskManagementFunction::I_T_NEXUS_RESET => {
            target.stop_background_of(nexus).await;
            target.nexus_reset(nexus);
            TaskManagementResponse::COMPLETE
        }
        TaskManagementFunction::ABORT_TASK => TaskManagementResponse::COMPLETE,
        TaskManagementFunction::ABORT_TASK_SET => match target.abort_task_set(nexus, lun) {
            Ok(_) => TaskManagementResponse::COMPLETE,
            Err(_) => missing,
        },
        TaskManagementFunction::CLEAR_TASK_SET => {
            let Some(volume) = target.volume_at(nexus, lun) else { return missing.into() };
            let affected = abort_others(&iscsi.registry, member, Arc::new([volume].into())).await;
            match target.clear_task_set(nexus, lun, &affected) {
                Ok(_) => TaskManagementResponse::COMPLETE,
                Err(_) => missing,
            }
        }
        TaskManagementFunction::LOGICAL_UNIT_RESET => {
            let Some(volume) = target.volume_at(nexus, lun) else { return missing.into() };
            let volumes = Arc::new(BTreeSet::from([volume]));
            abort_others(&iscsi.registry, member, Arc::clone(&volumes)).await;
            target.stop_background_on(&volumes, None).await;
            match target.logical_unit_reset(nexus, lun) {
                Ok(_) => TaskManagementResponse::COMPLETE,
                Err(_) => missing,
            }
        }
        TaskManagementFunction::TARGET_WARM_RESET | TaskManagementFunction::TARGET_COLD_RESET => {
            // The reset covers only the volumes that the initiator may see.
            let volumes = Arc::new(target.volumes_of(nexus));
            abort_others(&iscsi.registry, member, Arc::clone(&volumes)).await;
            target.stop_background_on(&volumes, None).await;
            target.target_reset(nexus);
            if function == TaskManagementFunction::TARGET_COLD_RESET {
                // A cold reset is also a power-on event (RFC 7143 §11.5.1). It does not end the
                // sessions of other hosts: a unit attention reports it to them.
                return Managed { ends_session: true, ..TaskManagementResponse::COMPLETE.into() };
            }
            TaskManagementResponse::COMPLETE
        }
        _ => TaskManagementResponse::NOT_SUPPORTED,
    };
    response.into()
}

/// Ends the tasks of all other connections on the volumes. Returns the nexuses that lost tasks.
async fn abort_others(registry: &Registry, but: u64, volumes: Arc<BTreeSet<VolumeId>>) -> Vec<NexusId> {
    let members = registry.members().into_iter().filter(|member| member.id != but);
    abort_all(members.filter_map(|member| Some((member.nexus.get()?, member))), &volumes).await
}

/// Ends the tasks of connections on the volumes, by one order to each connection. Returns the names
/// of those that lost tasks.
async fn abort_all<T>(members: impl Iterator<Item = (T, Rc<Member>)>, volumes: &Arc<BTreeSet<VolumeId>>) -> Vec<T> {
    let asked = members.map(|(name, member)| {
        let (done, answer) = oneshot::channel();
        member.order(Order::Abort(Arc::clone(volumes), done));
        (name, answer)
    });
    let asked: Vec<_> = asked.collect();
    let mut affected = Vec::new();
    for (name, answer) in asked {
        if answer.await.unwrap_or(false) {
            affected.push(name);
        }
    }
    affected
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;
    use std::net::SocketAddr;

    /// A target reset sent an order for each volume to each session: 700 000 for one PDU of a host
    /// that sees 1000 volumes.
    #[test]
    fn a_reset_of_many_volumes_is_one_order_to_each_session() {
        let registry = Registry::default();
        let address = SocketAddr::from(([127, 0, 0, 1], 3260));
        let members: Vec<_> = (0..3).map(|_| registry.join(address, address)).collect();
        let volumes: Arc<BTreeSet<_>> = Arc::new((0..1000).map(VolumeId).collect());
        let mut aborting = Box::pin(abort_all(members.iter().cloned().enumerate(), &volumes));
        assert!((&mut aborting).now_or_never().is_none());
        for (number, member) in members.iter().enumerate() {
            let orders = member.orders.take();
            assert_eq!(orders.len(), 1);
            for order in orders {
                let Order::Abort(concerned, done) = order else { panic!("{order:?}") };
                assert_eq!(concerned, volumes);
                assert!(done.send(number == 1).is_ok());
            }
        }
        assert_eq!(aborting.now_or_never(), Some(vec![1]));
    }
}
