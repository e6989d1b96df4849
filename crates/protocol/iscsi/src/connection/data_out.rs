//! Data-Out at the target, RFC 7143 §11.7 and §11.8: unsolicited data, R2T, and the memory for the
//! data.
//!
//! DataPDUInOrder and DataSequenceInOrder are always Yes, so data arrives in order and is appended.
//! Data in one PDU stays in the receive buffer. Data in several PDUs is copied into one buffer,
//! which grows with unsolicited data and has its final size for solicited data. Only memory that
//! holds data, or was granted for it, is booked. A connection may hold
//! [`super::Config::max_data_out_bytes`]; a task without room waits before its first R2T, and the
//! oldest task is served first.
//!
//! The memory of a connection may be held by complete tasks that are behind a waiting one (ORDERED
//! tasks). The oldest task that is not delivered therefore gets the memory that it needs even above
//! the limit, one task at a time: its delivery then depends on the initiator only.
//!
//! Data out of sequence means that earlier data was lost (RFC 7143 §7.9). Only its task ends, with
//! CHECK CONDITION, once the initiator has sent all announced data (§7.8). Data-Out that was
//! neither solicited nor announced ends the connection.

use std::rc::Rc;

use super::budget::DataOutMemory;
use super::tasks::{Task, TaskHandle, TaskState};
use super::transfer::Fault;
use super::{Connection, Response};
use crate::framing::Pdu;
use crate::pdu::{self, DataOut, Opcode, R2t, RejectReason};

/// CHECK CONDITION, SAM-5 §5.3.1.
const CHECK_CONDITION: u8 = 0x02;
/// BUSY, SAM-5 §5.3.1: the initiator retries.
const BUSY: u8 = 0x08;
/// ABORTED COMMAND, 47h 05h: the iSCSI condition "protocol service CRC error" (RFC 7143 §11.4.7.2), in fixed format.
const DATA_LOST: [u8; 18] = [0x70, 0, 0x0B, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0x47, 0x05, 0, 0, 0, 0];

impl Connection {
    pub(super) fn handle_data_out(&mut self, pdu: &Pdu) {
        let header = DataOut::from_wire(&pdu.header);
        let initiator_task_tag = header.initiator_task_tag.get();
        let Some(handle) = self.tasks.find(initiator_task_tag) else {
            if !self.tags.is_discarded(initiator_task_tag) {
                self.reject(RejectReason::PROTOCOL_ERROR, &pdu.header);
            }
            return;
        };
        let Some(task) = self.tasks.get_mut(handle) else {
            return;
        };
        if task.aborted {
            return;
        }
        let length = u32::try_from(pdu.data.len()).unwrap_or(u32::MAX);
        let first_burst = self.parameters.first_burst_length;
        let receiving = matches!(task.state, TaskState::Held | TaskState::Receiving);
        let expected = task.expected;
        let transfer = &mut task.transfer;
        let taken = if transfer.is_lost() {
            Err(Fault::OutOfSequence)
        } else {
            transfer.take(&header, length, receiving, first_burst, expected)
        };
        match taken {
            Ok(()) => {
                self.counters.data_out_bytes += u64::from(length);
                if !self.data_out.append(transfer, &pdu.data) {
                    transfer.refuse();
                    self.data_out.release(transfer);
                }
            }
            Err(Fault::OutOfSequence) => {
                if !transfer.is_lost() {
                    self.counters.data_out_sequence_errors += 1;
                    transfer.lose();
                    self.data_out.release(transfer);
                }
                if let Err(what) = transfer.skip(&header, receiving) {
                    return self.fatal(RejectReason::PROTOCOL_ERROR, &pdu.header, what);
                }
            }
            Err(Fault::Unexpected(what)) => return self.fatal(RejectReason::PROTOCOL_ERROR, &pdu.header, what),
        }
        self.continue_task(handle);
        self.serve_waiting();
    }

    /// Ends a task that lost data. The initiator may reuse its tag at once: no PDU of the old task
    /// is in flight.
    pub(super) fn end_with_data_lost(&mut self, handle: TaskHandle) {
        let refused = self.tasks.get(handle).is_some_and(|task| task.transfer.is_refused());
        let response = if refused {
            Response { status: BUSY, ..Response::default() }
        } else {
            Response { status: CHECK_CONDITION, sense: &DATA_LOST, ..Response::default() }
        };
        self.respond(handle, response);
    }

    /// Sends the R2Ts that the task may have outstanding, once its unsolicited data has arrived and
    /// there is memory.
    pub(super) fn request_data(&mut self, handle: TaskHandle) {
        let Some(task) = self.tasks.get_mut(handle) else {
            return;
        };
        let memory = task.transfer.memory();
        if task.transfer.awaits_unsolicited() || memory.waits {
            return;
        }
        if memory.charge >= task.transfer.wanted() as usize {
            return self.send_r2ts(handle);
        }
        task.transfer.memory_mut().waits = true;
        self.data_out.queue(task.sequence, handle);
        self.serve_waiting();
    }

    /// Takes memory for Data-Out from a pool that connections share. To be called before any input.
    pub fn share_data_out_memory(&mut self, memory: Rc<dyn DataOutMemory>) {
        self.data_out.share(memory);
    }

    /// Whether tasks wait for memory for their Data-Out.
    pub fn waits_for_data_out_memory(&self) -> bool {
        let waits = |task: &Task| task.transfer.memory().waits && !task.aborted;
        self.data_out.waiting().any(|handle| self.tasks.get(handle).is_some_and(waits))
    }

    /// Whether the initiator has to send something before its tasks can continue: solicited or
    /// announced Data-Out, or a command whose CmdSN is missing.
    pub fn awaits_data_out(&self) -> bool {
        let awaits = |task: &Task| task.transfer.awaits_data();
        self.window.holds_any() || self.tasks.iter().any(awaits)
    }

    /// Called when there may be memory for tasks that wait for it.
    pub fn data_out_memory_available(&mut self) {
        self.serve_waiting();
    }

    /// Lets waiting tasks continue, the oldest first, as long as there is memory.
    pub(super) fn serve_waiting(&mut self) {
        while let Some((sequence, handle)) = self.data_out.first_waiting() {
            let undelivered = |task: &&Task| task.state == TaskState::Receiving && !task.aborted;
            let oldest = self.tasks.iter().filter(undelivered).all(|task| task.sequence >= sequence);
            let given_back = |task: &Task| task.state == TaskState::Delivered && task.transfer.memory().charge > 0;
            let alone = !self.tasks.iter().any(given_back);
            if let Some(task) = self.tasks.get_mut(handle).filter(|task| !task.aborted) {
                if !self.data_out.satisfy(&mut task.transfer, oldest, alone) {
                    return;
                }
                task.transfer.memory_mut().waits = false;
            }
            self.data_out.remove_first_waiting();
            self.send_r2ts(handle);
        }
    }

    fn send_r2ts(&mut self, handle: TaskHandle) {
        let allowed = usize::from(self.parameters.max_outstanding_r2t);
        loop {
            let target_transfer_tag = self.tags.new_target_transfer_tag();
            let Some(task) = self.tasks.get_mut(handle) else {
                return;
            };
            let most = self.parameters.max_burst_length;
            let Some(next) = task.transfer.next_r2t(target_transfer_tag, allowed, most) else {
                return;
            };
            let mut header = R2t::from_wire(&pdu::blank(Opcode::R2T.0, pdu::FINAL, task.initiator_task_tag));
            header.lun = task.lun;
            header.target_transfer_tag = target_transfer_tag.into();
            header.stat_sn = self.outbound.stat_sn().into();
            header.exp_cmd_sn = self.window.exp_cmd_sn().into();
            header.max_cmd_sn = self.window.max_cmd_sn().into();
            header.r2t_sn = next.r2t_sn.into();
            header.buffer_offset = next.offset.into();
            header.desired_data_transfer_length = next.length.into();
            self.outbound.push_header(header.to_wire());
        }
    }
}
