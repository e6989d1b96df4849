//! Task management functions across the array: tasks of other connections are ended by orders to
//! these connections.

use super::Iscsi;
use super::registry::{Order, Registry};
use block::VolumeId;
use iscsi::pdu::{TaskManagementFunction, TaskManagementResponse};
use media::Media;
use scsi_target::NexusId;
use tokio::sync::oneshot;

/// Result of a task management function.
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
            let affected = abort_others(&iscsi.registry, member, volume).await;
            match target.clear_task_set(nexus, lun, &affected) {
                Ok(_) => TaskManagementResponse::COMPLETE,
                Err(_) => missing,
            }
        }
        TaskManagementFunction::LOGICAL_UNIT_RESET => {
            let Some(volume) = target.volume_at(nexus, lun) else { return missing.into() };
            abort_others(&iscsi.registry, member, volume).await;
            target.stop_background_on(volume, None).await;
            match target.logical_unit_reset(nexus, lun) {
                Ok(_) => TaskManagementResponse::COMPLETE,
                Err(_) => missing,
            }
        }
        TaskManagementFunction::TARGET_WARM_RESET | TaskManagementFunction::TARGET_COLD_RESET => {
            // The reset covers only the volumes that the initiator may see.
            for volume in target.volumes_of(nexus) {
                abort_others(&iscsi.registry, member, volume).await;
                target.stop_background_on(volume, None).await;
            }
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

/// Ends the tasks of all other connections on a volume. Returns the nexuses that lost tasks.
async fn abort_others(registry: &Registry, but: u64, volume: VolumeId) -> Vec<NexusId> {
    let mut asked = Vec::new();
    for member in registry.members() {
        if let Some(nexus) = member.nexus.get().filter(|_| member.id != but) {
            let (done, answer) = oneshot::channel();
            member.order(Order::Abort(volume, done));
            asked.push((nexus, answer));
        }
    }
    let mut affected = Vec::new();
    for (nexus, answer) in asked {
        if answer.await.unwrap_or(false) {
            affected.push(nexus);
        }
    }
    affected
}
