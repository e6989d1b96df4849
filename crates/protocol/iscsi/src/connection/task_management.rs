//! Task management at the target, RFC 7143 §11.5 and §11.6, and the end of tasks by other sessions.

use super::numbering::{Held, Turn};
use super::tasks::TaskState;
use super::{Connection, Directory, Event, MissingTaskResponse, TaskHandle, TaskManagement, TaskManagementHandle};
use crate::framing::Pdu;
use crate::pdu::{
    self, Opcode, RejectReason, TaskManagementFunction, TaskManagementRequest, TaskManagementResponse,
    TaskManagementResponseHeader,
};

/// Prefix of the names of VMware's initiators.
const VMWARE_PREFIX: &str = "iqn.1998-01.com.vmware";

/// Functions that the shell has not answered yet.
#[derive(Debug, Default)]
pub(super) struct Functions {
    pending: Vec<PendingFunction>,
    next: u64,
}

#[derive(Debug)]
struct PendingFunction {
    handle: TaskManagementHandle,
    initiator_task_tag: u32,
    tasks: Vec<TaskHandle>,
}

impl Functions {
    fn len(&self) -> usize {
        self.pending.len()
    }

    pub fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    fn insert(&mut self, initiator_task_tag: u32, tasks: Vec<TaskHandle>) -> TaskManagementHandle {
        let handle = TaskManagementHandle(self.next);
        self.next += 1;
        self.pending.push(PendingFunction { handle, initiator_task_tag, tasks });
        handle
    }

    fn remove(&mut self, handle: TaskManagementHandle) -> Option<PendingFunction> {
        let position = self.pending.iter().position(|function| function.handle == handle)?;
        Some(self.pending.swap_remove(position))
    }

    /// Drops all of them: the connection has ended.
    pub fn clear(&mut self) {
        self.pending = Vec::new();
    }
}

impl Connection {
    /// Ends a task without a response, for example when a reset through another connection aborted
    /// it. False for an old handle.
    pub fn discard(&mut self, task: TaskHandle) -> bool {
        let Some(entry) = self.tasks.get(task) else {
            return false;
        };
        if entry.aborted {
            return false;
        }
        self.remove_task(task);
        self.open_window();
        self.deliver_ready();
        true
    }

    /// Ends the tasks of some logical units whose data is still arriving and that the shell has not
    /// received, because of a reset by another session: no response is sent, and the rest of their
    /// data is dropped. Returns whether there were any. For tasks that the shell has received there
    /// is [`Self::discard`].
    pub fn discard_receiving(&mut self, concerned: impl Fn(u64) -> bool) -> bool {
        let mut receiving = self.tasks.handles();
        receiving.retain(|handle| {
            self.tasks.get(*handle).is_some_and(|task| {
                matches!(task.state, TaskState::Receiving | TaskState::Ready)
                    && task.arrival.logical_unit.is_some_and(&concerned)
            })
        });
        // In reverse order: the end of one task must not let a task continue that also ends.
        for handle in receiving.iter().rev() {
            self.remove_task(*handle);
        }
        self.open_window();
        !receiving.is_empty()
    }

    /// Answers a task management function, and removes the tasks that it named.
    pub fn respond_task_management(&mut self, handle: TaskManagementHandle, response: TaskManagementResponse) {
        self.respond_task_management_with(handle, response, [0; 3]);
    }

    /// Like [`Self::respond_task_management`], with additional response information for QUERY
    /// ASYNCHRONOUS EVENT.
    pub fn respond_task_management_with(
        &mut self,
        handle: TaskManagementHandle,
        response: TaskManagementResponse,
        additional: [u8; 3],
    ) {
        let Some(function) = self.functions.remove(handle) else {
            return;
        };
        for task in function.tasks {
            self.remove_task(task);
        }
        self.open_window();
        self.send_task_management_response(function.initiator_task_tag, response, additional);
        self.deliver_ready();
    }

    fn send_task_management_response(
        &mut self,
        initiator_task_tag: u32,
        response: TaskManagementResponse,
        additional: [u8; 3],
    ) {
        let mut header = TaskManagementResponseHeader::from_wire(&pdu::blank(
            Opcode::TASK_MANAGEMENT_RESPONSE.0,
            pdu::FINAL,
            initiator_task_tag,
        ));
        header.response = response.0;
        header.additional_response_information = additional;
        header.stat_sn = self.outbound.advance_stat_sn().into();
        header.exp_cmd_sn = self.window.exp_cmd_sn().into();
        header.max_cmd_sn = self.window.max_cmd_sn().into();
        self.outbound.push_header(header.to_wire());
    }

    pub(super) fn handle_task_management(&mut self, pdu: &Pdu, directory: &dyn Directory) {
        let header = TaskManagementRequest::from_wire(&pdu.header);
        let function = TaskManagementFunction(header.flags & 0x7F);
        let initiator_task_tag = header.initiator_task_tag.get();
        if self.functions.len() >= self.config.max_tasks as usize {
            return self.reject(RejectReason::IMMEDIATE_COMMAND_REJECT, &pdu.header);
        }
        let lun = directory.canonical_lun(header.lun);
        let answer =
            |this: &mut Self, response| this.send_task_management_response(initiator_task_tag, response, [0; 3]);
        let query_functions = self.parameters.carries_query_functions();
        let affected = match function {
            TaskManagementFunction::ABORT_TASK => match self.tasks.find(header.referenced_task_tag.get()) {
                Some(task) => vec![task],
                None => {
                    let (missing, own) = (header.ref_cmd_sn.get(), header.cmd_sn.get());
                    return self.abort_missing_task(initiator_task_tag, missing, own, directory);
                }
            },
            TaskManagementFunction::ABORT_TASK_SET
            | TaskManagementFunction::CLEAR_TASK_SET
            | TaskManagementFunction::LOGICAL_UNIT_RESET => self.tasks_of(Some(lun)),
            TaskManagementFunction::TARGET_WARM_RESET | TaskManagementFunction::TARGET_COLD_RESET => {
                self.tasks_of(None)
            }
            TaskManagementFunction::I_T_NEXUS_RESET if query_functions => self.tasks_of(None),
            TaskManagementFunction::CLEAR_ACA => Vec::new(),
            TaskManagementFunction::QUERY_TASK if query_functions => {
                let present = self.tasks.find(header.referenced_task_tag.get()).is_some_and(|task| {
                    self.tasks.get(task).is_some_and(|task| task.state != TaskState::Held && !task.aborted)
                });
                let response =
                    if present { TaskManagementResponse::SUCCEEDED } else { TaskManagementResponse::COMPLETE };
                return answer(self, response);
            }
            TaskManagementFunction::QUERY_TASK_SET | TaskManagementFunction::QUERY_ASYNCHRONOUS_EVENT
                if query_functions =>
            {
                Vec::new()
            }
            TaskManagementFunction::TASK_REASSIGN => {
                return answer(self, TaskManagementResponse::REASSIGN_NOT_SUPPORTED);
            }
            _ => return answer(self, TaskManagementResponse::NOT_SUPPORTED),
        };
        let present = !self.tasks_of(Some(lun)).is_empty();
        let tasks = self.abort_tasks(&affected);
        let handle = self.functions.insert(initiator_task_tag, tasks.clone());
        let event = TaskManagement { handle, function, lun, present, tasks };
        self.events.push_back(Event::TaskManagement(event));
    }

    fn tasks_of(&self, lun: Option<[u8; 8]>) -> Vec<TaskHandle> {
        let mut handles = self.tasks.handles();
        handles.retain(|handle| {
            self.tasks.get(*handle).is_some_and(|task| {
                // A held command is after the function in CmdSN order.
                task.state != TaskState::Held && !task.aborted && lun.is_none_or(|lun| lun == task.lun)
            })
        });
        handles
    }

    /// Ends the tasks that the shell has not seen; marks the others as aborted and returns them.
    fn abort_tasks(&mut self, tasks: &[TaskHandle]) -> Vec<TaskHandle> {
        let mut queued = Vec::new();
        self.events.retain(|event| match event {
            Event::Command(command) if tasks.contains(&command.task) => {
                queued.push(command.task);
                false
            }
            _ => true,
        });
        let mut seen = Vec::new();
        // In reverse order: the end of one task must not let a task continue that also ends.
        for &handle in tasks.iter().rev() {
            match self.tasks.get_mut(handle) {
                Some(task) if task.state == TaskState::Delivered && !queued.contains(&handle) => {
                    task.aborted = true;
                    seen.push(handle);
                }
                Some(_) => self.remove_task(handle),
                None => {}
            }
        }
        self.open_window();
        seen.reverse();
        seen
    }

    /// Handles ABORT TASK for a tag that is not in use. A command that was sent before the function
    /// and has not arrived counts as received (RFC 7143 §11.6.1); if it is the next one, later
    /// commands no longer wait for it.
    fn abort_missing_task(
        &mut self,
        initiator_task_tag: u32,
        ref_cmd_sn: u32,
        own_cmd_sn: u32,
        directory: &dyn Directory,
    ) {
        let turn =
            if pdu::sn_before(ref_cmd_sn, own_cmd_sn) { self.window.turn(false, ref_cmd_sn) } else { Turn::Never };
        let response = match turn {
            Turn::Now | Turn::Later(_) => TaskManagementResponse::COMPLETE,
            Turn::Never => self.missing_task_response(),
        };
        if let Turn::Later(distance) = turn {
            self.window.hold(distance, Held::Aborted);
        }
        if matches!(turn, Turn::Now) {
            self.advance_cmd_sn();
        }
        self.send_task_management_response(initiator_task_tag, response, [0; 3]);
        if matches!(turn, Turn::Now) {
            self.drain_held(directory);
        }
    }

    fn missing_task_response(&self) -> TaskManagementResponse {
        let vmware = self.identity.as_ref().is_some_and(|id| id.initiator_name.starts_with(VMWARE_PREFIX));
        match self.config.missing_task_response {
            MissingTaskResponse::ByInitiatorName if vmware => TaskManagementResponse::COMPLETE,
            MissingTaskResponse::FunctionComplete => TaskManagementResponse::COMPLETE,
            MissingTaskResponse::ByInitiatorName | MissingTaskResponse::TaskDoesNotExist => {
                TaskManagementResponse::TASK_DOES_NOT_EXIST
            }
        }
    }
}
