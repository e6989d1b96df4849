//! PDUs of the full feature phase at the target, RFC 7143 §4.2.

use bytes::{Buf, Bytes};

use super::Directory;
use super::tasks::{DataOutBuffer, Task, TaskState};
use super::{
    Command, Connection, Event, MissingTaskResponse, Phase, Response, SessionType, TaskHandle, TaskManagement,
    TaskManagementHandle,
};
use crate::framing::Pdu;
use crate::pdu::{
    self, BasicHeader, DataIn, LogoutReason, LogoutRequest, NopIn, NopOut, Opcode, RESERVED_TAG, RejectReason,
    ScsiCommand, ScsiResponse, TaskAttribute, TaskManagementFunction, TaskManagementRequest, TaskManagementResponse,
    TaskManagementResponseHeader, TextRequest,
};

/// Longest sense data sent, in bytes (SPC-4 §4.5.1).
const MAX_SENSE_BYTES: usize = 252;
/// Initiator Task Tags remembered for late Data-Out.
const DISCARDED_TAGS: usize = 1024;
/// Prefix of the names of VMware's initiators.
const VMWARE_PREFIX: &str = "iqn.1998-01.com.vmware";

/// A command that came before its turn.
#[derive(Debug)]
pub(super) enum Held {
    /// A SCSI command, in the task table already.
    Task(TaskHandle),
    /// Any other.
    Pdu(Pdu),
    /// A command aborted before it arrived.
    Aborted,
}

/// A task management function the shell has not answered.
#[derive(Debug)]
pub(super) struct PendingFunction {
    pub handle: TaskManagementHandle,
    pub initiator_task_tag: u32,
    pub tasks: Vec<TaskHandle>,
}

/// Where a CmdSN lies.
enum Turn {
    Now,
    /// This far after ExpCmdSN.
    Later(usize),
    Never,
}

impl Connection {
    /// Answers a command. False when there is nothing to answer: the task was aborted, or the handle is old.
    pub fn respond(&mut self, task: TaskHandle, response: Response<'_>) -> bool {
        let Some(entry) = self.tasks.get(task) else {
            return false;
        };
        if entry.aborted {
            // The function that aborted it is still to be answered and removes the task then.
            return false;
        }
        let initiator_task_tag = entry.initiator_task_tag;
        let (read, write) = (entry.read, entry.write);
        let (expected, expected_data_in) = (entry.expected, entry.expected_data_in);
        self.remove_task(task);
        self.open_window();

        // What cannot go the way that the command wants was not transferred: Data-In without the R bit, and anything without R and W.
        let against = write && !read && !response.data_in.is_empty();
        let expected = if read || write { u64::from(expected) } else { 0 };
        let (residual_flags, residual) = residual(expected, if against { 0 } else { response.transfer_bytes });
        let mut data = response.data_in;
        data.truncate(expected_data_in as usize);
        let collapse = read && !write && !data.is_empty() && response.status == 0 && response.sense.is_empty();
        let pdus = self.send_data_in(initiator_task_tag, data, collapse.then_some((residual_flags, residual)));
        if !collapse {
            let mut header = ScsiResponse::from_wire(&pdu::blank(
                Opcode::SCSI_RESPONSE.0,
                pdu::FINAL | residual_flags,
                initiator_task_tag,
            ));
            header.status = response.status;
            header.stat_sn = self.advance_stat_sn().into();
            header.exp_cmd_sn = self.exp_cmd_sn.into();
            header.max_cmd_sn = self.max_cmd_sn.into();
            header.exp_data_sn = pdus.into();
            header.residual_count = residual.into();
            if read && write && expected_data_in > 0 {
                // A bidirectional command: `transfer_bytes` tells of Data-Out only; no Data-In was returned.
                header.flags |= pdu::BIDIRECTIONAL_UNDERFLOW;
                header.bidirectional_residual_count = expected_data_in.into();
            }
            self.send_response(header, response.sense);
        }
        self.deliver_ready();
        true
    }

    /// Ends a task without a response, as for tasks that a reset through another connection aborted. False for an old handle.
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

    /// Ends the tasks for a logical unit that the shell has not been given because their data are still arriving, for somebody else's reset: no response
    /// will be sent, and what arrives of their data is dropped. Says whether there were any. For those that it was given there is [`Self::discard`].
    pub fn discard_receiving(&mut self, logical_unit: u64) -> bool {
        let mut receiving = self.tasks.handles();
        receiving.retain(|handle| {
            self.tasks.get(*handle).is_some_and(|task| {
                matches!(task.state, TaskState::Receiving | TaskState::Ready)
                    && task.arrival.logical_unit == Some(logical_unit)
            })
        });
        // The last first: the end of one must not let another one go on that ends, too.
        for handle in receiving.iter().rev() {
            self.remove_task(*handle);
        }
        self.open_window();
        !receiving.is_empty()
    }

    /// Answers a task management function; the tasks it names are gone from here on.
    pub fn respond_task_management(&mut self, handle: TaskManagementHandle, response: TaskManagementResponse) {
        self.respond_task_management_with(handle, response, [0; 3]);
    }

    /// The same with additional response information, which QUERY ASYNCHRONOUS EVENT has.
    pub fn respond_task_management_with(
        &mut self,
        handle: TaskManagementHandle,
        response: TaskManagementResponse,
        additional: [u8; 3],
    ) {
        let Some(position) = self.functions.iter().position(|function| function.handle == handle) else {
            return;
        };
        let function = self.functions.swap_remove(position);
        for task in function.tasks {
            self.remove_task(task);
        }
        self.open_window();
        self.send_task_management_response(function.initiator_task_tag, response, additional);
        self.deliver_ready();
    }

    pub(super) fn handle_full_feature(&mut self, pdu: Pdu, directory: &dyn Directory) {
        let basic = BasicHeader::from_wire(&pdu.header);
        let opcode = basic.opcode();
        let discovery = self.identity.as_ref().is_some_and(|id| id.session_type == SessionType::Discovery);
        match opcode {
            Opcode::SCSI_COMMAND | Opcode::DATA_OUT | Opcode::TASK_MANAGEMENT_REQUEST | Opcode::SNACK_REQUEST
                if discovery =>
            {
                self.fatal(RejectReason::PROTOCOL_ERROR, &pdu.header, "a SCSI PDU in a discovery session");
            }
            Opcode::DATA_OUT => self.handle_data_out(&pdu),
            Opcode::SCSI_COMMAND => self.handle_command(pdu, directory),
            Opcode::NOP_OUT | Opcode::TASK_MANAGEMENT_REQUEST | Opcode::TEXT_REQUEST | Opcode::LOGOUT_REQUEST => {
                self.handle_numbered(pdu, directory);
            }
            Opcode::LOGIN_REQUEST => {
                self.fatal(RejectReason::PROTOCOL_ERROR, &pdu.header, "a login request in full feature phase");
            }
            Opcode::SNACK_REQUEST => self.reject(RejectReason::SNACK_REJECT, &pdu.header),
            _ => self.reject(RejectReason::COMMAND_NOT_SUPPORTED, &pdu.header),
        }
    }

    // Command numbering, RFC 7143 §4.2.2.1.

    fn turn(&mut self, immediate: bool, cmd_sn: u32) -> Turn {
        if immediate {
            return Turn::Now;
        }
        let distance = cmd_sn.wrapping_sub(self.exp_cmd_sn);
        let window = self.max_cmd_sn.wrapping_sub(self.exp_cmd_sn).wrapping_add(1);
        if distance >= window {
            return Turn::Never;
        }
        let taken = |slot: &Option<Held>| slot.is_some();
        if distance == 0 {
            Turn::Now
        } else if self.held.get(distance as usize).is_some_and(taken) {
            Turn::Never
        } else {
            Turn::Later(distance as usize)
        }
    }

    fn hold(&mut self, distance: usize, held: Held) {
        while self.held.len() <= distance {
            self.held.push_back(None);
        }
        if let Some(slot) = self.held.get_mut(distance) {
            *slot = Some(held);
        }
    }

    /// Data of the PDUs held, SCSI commands aside: those are charged as tasks.
    fn held_bytes(&self) -> usize {
        let bytes = |held: &Option<Held>| match held {
            Some(Held::Pdu(pdu)) => pdu.data.len(),
            Some(Held::Task(_) | Held::Aborted) | None => 0,
        };
        self.held.iter().map(bytes).sum()
    }

    /// ExpCmdSN was received.
    fn advance_cmd_sn(&mut self) {
        self.exp_cmd_sn = self.exp_cmd_sn.wrapping_add(1);
        self.held.pop_front();
        self.open_window();
    }

    /// Takes the commands whose turn has come.
    fn drain_held(&mut self, directory: &dyn Directory) {
        while matches!(self.phase, Phase::FullFeature) && matches!(self.held.front(), Some(Some(_))) {
            let held = self.held.front_mut().and_then(Option::take);
            self.advance_cmd_sn();
            match held {
                Some(Held::Task(task)) => self.begin_task(task),
                Some(Held::Pdu(pdu)) => self.execute(pdu, directory),
                Some(Held::Aborted) | None => {}
            }
        }
    }

    /// MaxCmdSN as far as there is room for tasks; it never goes back.
    pub(super) fn open_window(&mut self) {
        let candidate = self.exp_cmd_sn.wrapping_add(self.config.window_width(self.tasks.len())).wrapping_sub(1);
        if pdu::sn_before(self.max_cmd_sn, candidate) {
            self.max_cmd_sn = candidate;
        }
    }

    /// NOP-Out, task management, text, logout.
    fn handle_numbered(&mut self, pdu: Pdu, directory: &dyn Directory) {
        // CmdSN is in the same place in all of them.
        let header = NopOut::from_wire(&pdu.header);
        let immediate = header.opcode & pdu::IMMEDIATE != 0;
        match self.turn(immediate, header.cmd_sn.get()) {
            Turn::Never => self.counters.commands_dropped += 1,
            Turn::Later(_) if self.held_bytes() + pdu.data.len() > self.config.max_output_bytes => {
                self.fatal(RejectReason::PROTOCOL_ERROR, &pdu.header, "too much data ahead of its turn");
            }
            Turn::Later(distance) => self.hold(distance, Held::Pdu(pdu)),
            Turn::Now => {
                if !immediate {
                    self.advance_cmd_sn();
                }
                self.execute(pdu, directory);
                if !immediate {
                    self.drain_held(directory);
                }
            }
        }
    }

    fn execute(&mut self, pdu: Pdu, directory: &dyn Directory) {
        match BasicHeader::from_wire(&pdu.header).opcode() {
            Opcode::NOP_OUT => self.handle_nop_out(&pdu),
            Opcode::TASK_MANAGEMENT_REQUEST => self.handle_task_management(&pdu, directory),
            Opcode::TEXT_REQUEST => self.handle_text(&TextRequest::from_wire(&pdu.header), &pdu, directory),
            _ => {
                let header = LogoutRequest::from_wire(&pdu.header);
                let reason = LogoutReason(header.flags & 0x7F);
                self.begin_logout(header.initiator_task_tag.get(), reason, header.cid.get());
            }
        }
    }

    fn handle_nop_out(&mut self, pdu: &Pdu) {
        let header = NopOut::from_wire(&pdu.header);
        if self.ping.is_some_and(|ping| ping.target_transfer_tag == header.target_transfer_tag.get()) {
            self.ping = None;
        }
        let initiator_task_tag = header.initiator_task_tag.get();
        if initiator_task_tag == RESERVED_TAG {
            return;
        }
        let most = self.parameters.initiator_max_recv_data_segment_length as usize;
        let data = pdu.data.get(..most).unwrap_or(&pdu.data);
        let mut answer = NopIn::from_wire(&pdu::blank(Opcode::NOP_IN.0, pdu::FINAL, initiator_task_tag));
        answer.target_transfer_tag = RESERVED_TAG.into();
        answer.lun = header.lun;
        answer.stat_sn = self.advance_stat_sn().into();
        answer.exp_cmd_sn = self.exp_cmd_sn.into();
        answer.max_cmd_sn = self.max_cmd_sn.into();
        // Copied, so that what is counted is what is kept: the receive buffer is larger than the ping.
        self.output.push_slice(answer.to_wire(), data, self.digests);
    }

    // SCSI commands.

    fn handle_command(&mut self, pdu: Pdu, directory: &dyn Directory) {
        let header = ScsiCommand::from_wire(&pdu.header);
        let immediate = header.opcode & pdu::IMMEDIATE != 0;
        let turn = self.turn(immediate, header.cmd_sn.get());
        if matches!(turn, Turn::Never) {
            self.counters.commands_dropped += 1;
            self.remember_discarded(header.initiator_task_tag.get());
            return;
        }
        let task = match self.new_task(&header, &pdu, directory) {
            Ok(task) => {
                let handle = self.tasks.insert(task);
                if immediate {
                    self.immediate_tasks += 1;
                }
                Some(handle)
            }
            Err(reason) => {
                self.reject(reason, &pdu.header);
                if reason != RejectReason::TASK_IN_PROGRESS {
                    self.remember_discarded(header.initiator_task_tag.get());
                }
                None
            }
        };
        match (turn, task) {
            (Turn::Later(distance), task) => self.hold(distance, task.map_or(Held::Aborted, Held::Task)),
            (_, task) => {
                if !immediate {
                    self.advance_cmd_sn();
                }
                if let Some(task) = task {
                    self.begin_task(task);
                }
                if !immediate && !self.held.is_empty() {
                    self.drain_held(directory);
                }
            }
        }
    }

    fn new_task(&mut self, header: &ScsiCommand, pdu: &Pdu, directory: &dyn Directory) -> Result<Task, RejectReason> {
        let initiator_task_tag = header.initiator_task_tag.get();
        let immediate = header.opcode & pdu::IMMEDIATE != 0;
        let read = header.flags & pdu::READ != 0;
        let write = header.flags & pdu::WRITE != 0;
        let more_unsolicited = write && header.flags & pdu::FINAL == 0;
        let expected = header.expected_data_transfer_length.get();
        let data_bytes = u32::try_from(pdu.data.len()).unwrap_or(u32::MAX);
        if initiator_task_tag == RESERVED_TAG {
            return Err(RejectReason::INVALID_PDU_FIELD);
        }
        if self.tasks.find(initiator_task_tag).is_some() {
            return Err(RejectReason::TASK_IN_PROGRESS);
        }
        if immediate && self.immediate_tasks >= self.config.max_immediate_tasks {
            return Err(RejectReason::IMMEDIATE_COMMAND_REJECT);
        }
        if data_bytes > 0 && (!write || !self.parameters.immediate_data) {
            return Err(RejectReason::PROTOCOL_ERROR);
        }
        if data_bytes > expected || data_bytes > self.parameters.first_burst_length {
            return Err(RejectReason::PROTOCOL_ERROR);
        }
        if more_unsolicited && self.parameters.initial_r2t {
            return Err(RejectReason::PROTOCOL_ERROR);
        }
        let expected_data_in = match (read, write) {
            (true, false) => expected,
            (true, true) => bidirectional_read_length(&pdu.additional),
            _ => 0,
        };
        let wanted = if write && expected > 0 {
            let cap = u32::try_from(self.config.max_data_out_bytes).unwrap_or(u32::MAX);
            directory.data_out_bytes(header.lun, &header.cdb, expected).min(expected).min(cap)
        } else {
            0
        };
        self.counters.data_out_bytes += u64::from(data_bytes);
        let mut task = Task {
            initiator_task_tag,
            lun: directory.canonical_lun(header.lun),
            arrival: directory.arrival(header.lun),
            cdb: header.cdb,
            attribute: TaskAttribute(header.flags & 7),
            immediate,
            read,
            write,
            expected,
            expected_data_in,
            sequence: u64::MAX,
            state: TaskState::Held,
            aborted: false,
            wanted,
            received: data_bytes,
            unsolicited: more_unsolicited,
            unsolicited_data_sn: 0,
            r2ts: std::collections::VecDeque::new(),
            next_r2t_sn: 0,
            next_r2t_offset: data_bytes,
            waits_for_memory: false,
            data_lost: false,
            data_refused: false,
            data_out: DataOutBuffer::Empty,
            data_out_charge: 0,
            data_out_granted: 0,
            data_in_charge: 0,
        };
        if !self.data_out.append(&mut task, &pdu.data) {
            task.data_lost = true;
            task.data_refused = true;
        }
        Ok(task)
    }

    /// The turn of the task has come: CmdSN is in order.
    fn begin_task(&mut self, handle: TaskHandle) {
        let Some(task) = self.tasks.get_mut(handle) else {
            return;
        };
        task.state = TaskState::Receiving;
        task.sequence = self.next_sequence;
        self.next_sequence += 1;
        if task.attribute == TaskAttribute::ORDERED && !task.immediate {
            self.ordered_undelivered += 1;
        }
        self.continue_task(handle);
    }

    /// Asks for more data, or delivers the task when it has all.
    pub(super) fn continue_task(&mut self, handle: TaskHandle) {
        let Some(task) = self.tasks.get(handle) else {
            return;
        };
        if task.state != TaskState::Receiving {
            return;
        }
        if task.data_lost {
            if !task.unsolicited && task.r2ts.is_empty() {
                self.end_with_data_lost(handle);
            }
        } else if !task.data_complete() || task.received < task.wanted {
            self.request_data(handle);
        } else {
            if self.ordered_undelivered == 0 {
                self.deliver(handle);
            } else {
                self.deliver_in_order();
            }
            // Another one may be the oldest now.
            self.serve_waiting();
        }
    }

    /// Delivers what may be delivered while there are ORDERED tasks: an ORDERED one only as the oldest, no other past it.
    fn deliver_in_order(&mut self) {
        let mut older_undelivered = false;
        for handle in self.tasks.handles() {
            let Some(task) = self.tasks.get(handle) else {
                continue;
            };
            if matches!(task.state, TaskState::Ready | TaskState::Delivered) || task.aborted {
                continue;
            }
            let ready = task.state == TaskState::Receiving && task.data_complete();
            let jumps = task.immediate || task.attribute == TaskAttribute::HEAD_OF_QUEUE;
            let ordered = task.attribute == TaskAttribute::ORDERED && !task.immediate;
            if ready && (jumps || !ordered || !older_undelivered) {
                self.deliver(handle);
            } else if ordered {
                return;
            } else {
                older_undelivered |= !jumps;
            }
        }
    }

    fn deliver(&mut self, handle: TaskHandle) {
        let Some(task) = self.tasks.get_mut(handle) else {
            return;
        };
        task.state = TaskState::Ready;
        if task.attribute == TaskAttribute::ORDERED && !task.immediate {
            self.ordered_undelivered = self.ordered_undelivered.saturating_sub(1);
        }
        self.ready.push_back(handle);
        self.deliver_ready();
    }

    /// Gives the shell what is ready, in turn, as far as there is room for Data-In.
    pub(super) fn deliver_ready(&mut self) {
        while self.is_full_feature()
            && self.output.queued_bytes() + self.data_in_reserved < self.config.max_data_in_bytes
            && let Some(handle) = self.ready.pop_front()
        {
            self.give(handle);
        }
    }

    fn give(&mut self, handle: TaskHandle) {
        let Some(task) = self.tasks.get_mut(handle) else {
            return;
        };
        task.state = TaskState::Delivered;
        task.data_in_charge = task.expected_data_in.min(self.config.max_transfer_bytes) as usize;
        self.data_in_reserved += task.data_in_charge;
        let data_out = match std::mem::replace(&mut task.data_out, DataOutBuffer::Empty) {
            DataOutBuffer::Empty => Bytes::new(),
            DataOutBuffer::Whole(data) => data,
            DataOutBuffer::Partial(data) => data.freeze(),
        };
        let command = Command {
            task: handle,
            lun: task.lun,
            arrival: task.arrival,
            cdb: task.cdb,
            attribute: task.attribute,
            immediate: task.immediate,
            read: task.read,
            write: task.write,
            expected_data_transfer_length: task.expected,
            expected_data_in: task.expected_data_in,
            data_out,
        };
        self.events.push_back(Event::Command(command));
    }

    /// Ends a task and gives back what it held.
    pub(super) fn remove_task(&mut self, handle: TaskHandle) {
        let data_out = &mut self.data_out;
        let facts = self.tasks.remove(handle, |task| {
            let waiting_ordered = task.attribute == TaskAttribute::ORDERED
                && !task.immediate
                && task.state == TaskState::Receiving
                && !task.aborted;
            let unfinished = task.write && matches!(task.state, TaskState::Held | TaskState::Receiving);
            data_out.release(task);
            (task.data_in_charge, task.immediate, waiting_ordered, unfinished.then_some(task.initiator_task_tag))
        });
        let Some((data_in, immediate, waiting_ordered, late_data)) = facts else {
            return;
        };
        self.data_in_reserved -= data_in;
        if immediate {
            self.immediate_tasks = self.immediate_tasks.saturating_sub(1);
        }
        if let Some(tag) = late_data {
            self.remember_discarded(tag);
        }
        if waiting_ordered {
            self.ordered_undelivered = self.ordered_undelivered.saturating_sub(1);
            self.deliver_in_order();
        }
        self.serve_waiting();
    }

    pub(super) fn remember_discarded(&mut self, initiator_task_tag: u32) {
        if self.discarded_tags.len() >= DISCARDED_TAGS {
            self.discarded_tags.pop_front();
        }
        self.discarded_tags.push_back(initiator_task_tag);
    }

    // Responses.

    /// Sends Data-In in pieces; the last one carries status GOOD and the residual when `status` is given. Returns the number of PDUs.
    fn send_data_in(&mut self, initiator_task_tag: u32, mut data: Bytes, status: Option<(u8, u32)>) -> u32 {
        let max_pdu = self.parameters.initiator_max_recv_data_segment_length as usize;
        let max_burst = self.parameters.max_burst_length as usize;
        self.counters.data_in_bytes += data.len() as u64;
        let mut data_sn = 0_u32;
        let mut offset = 0_u32;
        let mut burst_left = max_burst;
        while !data.is_empty() {
            let length = data.len().min(max_pdu).min(burst_left);
            let piece = data.split_to(length);
            burst_left -= length;
            let mut flags = 0;
            if data.is_empty() || burst_left == 0 {
                flags |= pdu::FINAL;
                burst_left = max_burst;
            }
            let mut header = DataIn::from_wire(&pdu::blank(Opcode::DATA_IN.0, 0, initiator_task_tag));
            if let Some((residual_flags, residual)) = status.filter(|_| data.is_empty()) {
                flags |= pdu::STATUS | residual_flags;
                header.stat_sn = self.advance_stat_sn().into();
                header.residual_count = residual.into();
            }
            header.flags = flags;
            header.target_transfer_tag = RESERVED_TAG.into();
            header.exp_cmd_sn = self.exp_cmd_sn.into();
            header.max_cmd_sn = self.max_cmd_sn.into();
            header.data_sn = data_sn.into();
            header.buffer_offset = offset.into();
            self.output.push_bytes(header.to_wire(), piece, self.digests);
            data_sn = data_sn.wrapping_add(1);
            offset = offset.wrapping_add(u32::try_from(length).unwrap_or(0));
        }
        data_sn
    }

    fn send_response(&mut self, header: ScsiResponse, sense: &[u8]) {
        if sense.is_empty() {
            return self.output.push_header(header.to_wire(), self.digests);
        }
        let sense = sense.get(..MAX_SENSE_BYTES).unwrap_or(sense);
        let length = u16::try_from(sense.len()).unwrap_or(u16::MAX);
        let mut data = [0; 2 + MAX_SENSE_BYTES];
        let used = 2 + sense.len();
        data[..2].copy_from_slice(&length.to_be_bytes());
        data[2..used].copy_from_slice(sense);
        self.output.push_slice(header.to_wire(), &data[..used], self.digests);
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
        header.stat_sn = self.advance_stat_sn().into();
        header.exp_cmd_sn = self.exp_cmd_sn.into();
        header.max_cmd_sn = self.max_cmd_sn.into();
        self.output.push_header(header.to_wire(), self.digests);
    }

    // Task management, RFC 7143 §11.5.

    fn handle_task_management(&mut self, pdu: &Pdu, directory: &dyn Directory) {
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
        let handle = TaskManagementHandle(self.next_function);
        self.next_function += 1;
        self.functions.push(PendingFunction { handle, initiator_task_tag, tasks: tasks.clone() });
        let event = TaskManagement { handle, function, lun, present, tasks };
        self.events.push_back(Event::TaskManagement(event));
    }

    fn tasks_of(&self, lun: Option<[u8; 8]>) -> Vec<TaskHandle> {
        let mut handles = self.tasks.handles();
        handles.retain(|handle| {
            self.tasks.get(*handle).is_some_and(|task| {
                // A held command comes after the function in CmdSN order.
                task.state != TaskState::Held && !task.aborted && lun.is_none_or(|lun| lun == task.lun)
            })
        });
        handles
    }

    /// Ends the tasks the shell has not seen, marks the others and returns them.
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
        // The last first: the end of one must not let another one go on that ends, too.
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

    /// ABORT TASK for a tag that is not in use. A command that was sent before the function and has not arrived counts as received (RFC 7143
    /// §11.6.1); nobody waits for it any more, should it be the next one.
    fn abort_missing_task(
        &mut self,
        initiator_task_tag: u32,
        ref_cmd_sn: u32,
        own_cmd_sn: u32,
        directory: &dyn Directory,
    ) {
        let turn = if pdu::sn_before(ref_cmd_sn, own_cmd_sn) { self.turn(false, ref_cmd_sn) } else { Turn::Never };
        let response = match turn {
            Turn::Now | Turn::Later(_) => TaskManagementResponse::COMPLETE,
            Turn::Never => self.missing_task_response(),
        };
        if let Turn::Later(distance) = turn {
            self.hold(distance, Held::Aborted);
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

/// Residual flags and count: what the initiator expected against what the device server wanted to transfer.
fn residual(expected: u64, transfer: u64) -> (u8, u32) {
    let count = |difference: u64| u32::try_from(difference).unwrap_or(u32::MAX);
    match transfer.cmp(&expected) {
        std::cmp::Ordering::Equal => (0, 0),
        std::cmp::Ordering::Greater => (pdu::OVERFLOW, count(transfer - expected)),
        std::cmp::Ordering::Less => (pdu::UNDERFLOW, count(expected - transfer)),
    }
}

/// Expected Bidirectional Read Data Length of the additional header segments, RFC 7143 §11.2.2.4; 0 when there is none.
fn bidirectional_read_length(mut additional: &[u8]) -> u32 {
    while additional.len() >= 4 {
        let length = usize::from(additional.get_u16());
        let kind = additional.get_u8() & 0x3F;
        let Some((value, rest)) = additional.split_at_checked(length) else {
            return 0;
        };
        if let (2, [_, a, b, c, d, ..]) = (kind, value) {
            return u32::from_be_bytes([*a, *b, *c, *d]);
        }
        // Length and type together take 3 bytes; segments are padded to 4.
        additional = rest.get((3 + length).wrapping_neg() & 3..).unwrap_or_default();
    }
    0
}
