//! SCSI Command PDUs at the target, RFC 7143 §11.3: their checks, and the tasks that they begin.

use super::numbering::{Held, Turn};
use super::tasks::{Task, TaskState};
use super::transfer::Transfer;
use super::{Connection, Directory};
use crate::framing::Pdu;
use crate::pdu::{self, RESERVED_TAG, RejectReason, ScsiCommand, TaskAttribute};
use bytes::Buf;

impl Connection {
    pub(super) fn handle_command(&mut self, pdu: Pdu, directory: &dyn Directory) {
        let header = ScsiCommand::from_wire(&pdu.header);
        let immediate = header.opcode & pdu::IMMEDIATE != 0;
        let turn = self.window.turn(immediate, header.cmd_sn.get());
        if matches!(turn, Turn::Never) {
            self.counters.commands_dropped += 1;
            self.tags.discard(header.initiator_task_tag.get());
            return;
        }
        let task = match self.new_task(&header, &pdu, directory) {
            Ok(task) => {
                self.delivery.arrived(&task);
                Some(self.tasks.insert(task))
            }
            Err(reason) => {
                self.reject(reason, &pdu.header);
                if reason != RejectReason::TASK_IN_PROGRESS {
                    self.tags.discard(header.initiator_task_tag.get());
                }
                None
            }
        };
        match (turn, task) {
            (Turn::Later(distance), task) => self.window.hold(distance, task.map_or(Held::Aborted, Held::Task)),
            (_, task) => {
                if !immediate {
                    self.advance_cmd_sn();
                }
                if let Some(task) = task {
                    self.begin_task(task);
                }
                if !immediate && self.window.holds_any() {
                    self.drain_held(directory);
                }
            }
        }
    }

    fn new_task(&mut self, header: &ScsiCommand, pdu: &Pdu, directory: &dyn Directory) -> Result<Task, RejectReason> {
        let data_bytes = u32::try_from(pdu.data.len()).unwrap_or(u32::MAX);
        self.check_command(header, data_bytes)?;
        let read = header.flags & pdu::READ != 0;
        let write = header.flags & pdu::WRITE != 0;
        let expected = header.expected_data_transfer_length.get();
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
        let more_unsolicited = write && header.flags & pdu::FINAL == 0;
        let mut task = Task {
            initiator_task_tag: header.initiator_task_tag.get(),
            lun: directory.canonical_lun(header.lun),
            arrival: directory.arrival(header.lun),
            cdb: header.cdb,
            attribute: TaskAttribute(header.flags & 7),
            immediate: header.opcode & pdu::IMMEDIATE != 0,
            read,
            write,
            expected,
            expected_data_in,
            sequence: u64::MAX,
            state: TaskState::Held,
            aborted: false,
            transfer: Transfer::new(wanted, data_bytes, more_unsolicited),
            data_in_charge: 0,
        };
        if !self.data_out.append(&mut task.transfer, &pdu.data) {
            task.transfer.refuse();
        }
        Ok(task)
    }

    /// Checks the fields of a SCSI Command PDU with this length of immediate data.
    fn check_command(&self, header: &ScsiCommand, data_bytes: u32) -> Result<(), RejectReason> {
        let immediate = header.opcode & pdu::IMMEDIATE != 0;
        let write = header.flags & pdu::WRITE != 0;
        let more_unsolicited = write && header.flags & pdu::FINAL == 0;
        let initiator_task_tag = header.initiator_task_tag.get();
        if initiator_task_tag == RESERVED_TAG {
            return Err(RejectReason::INVALID_PDU_FIELD);
        }
        if self.tasks.find(initiator_task_tag).is_some() {
            return Err(RejectReason::TASK_IN_PROGRESS);
        }
        if immediate && self.delivery.immediate_tasks() >= self.config.max_immediate_tasks {
            return Err(RejectReason::IMMEDIATE_COMMAND_REJECT);
        }
        if data_bytes > 0 && (!write || !self.parameters.immediate_data) {
            return Err(RejectReason::PROTOCOL_ERROR);
        }
        let expected = header.expected_data_transfer_length.get();
        if data_bytes > expected || data_bytes > self.parameters.first_burst_length {
            return Err(RejectReason::PROTOCOL_ERROR);
        }
        if more_unsolicited && self.parameters.initial_r2t {
            return Err(RejectReason::PROTOCOL_ERROR);
        }
        Ok(())
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
