//! Data-Out seen from the target, RFC 7143 §11.7 and §11.8: unsolicited data, R2T, and the memory to put it in.
//!
//! DataPDUInOrder and DataSequenceInOrder are always Yes, so data arrives in order and is appended. Data that comes in one PDU stays in
//! the receive buffer; data in several PDUs is copied into one buffer of the final size. A connection may hold so many bytes; a task
//! that finds no room waits before its first R2T, behind the tasks that waited before it. At least one task always gets all it
//! wants, so that waiting ends.
//!
//! Data out of sequence means that data before it was lost (RFC 7143 §7.9). Its task ends alone, with CHECK CONDITION, once the initiator
//! has sent all it announced (§7.8); only Data-Out that nobody asked for ends the connection.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};

use super::tasks::{DataOutBuffer, OutstandingR2t, Task, TaskHandle, TaskState};
use super::{Connection, Response};
use crate::framing::Pdu;
use crate::pdu::{self, DataOut, Opcode, R2t, RESERVED_TAG, RejectReason};

/// CHECK CONDITION, SAM-5 §5.3.1.
const CHECK_CONDITION: u8 = 0x02;
/// ABORTED COMMAND, 47h 05h: the iSCSI condition "protocol service CRC error" (RFC 7143 §11.4.7.2), in fixed format.
const DATA_LOST: [u8; 18] = [0x70, 0, 0x0B, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0x47, 0x05, 0, 0, 0, 0];

/// What is wrong with a Data-Out.
enum Fault {
    /// DataSN or Buffer Offset says that data before it is missing, or came twice.
    OutOfSequence,
    /// Nobody asked for it.
    Unexpected(&'static str),
}

/// The Data-Out memory of a connection.
#[derive(Debug)]
pub(super) struct DataOutBudget {
    limit: usize,
    reserved: usize,
    /// Tasks that hold all they want.
    satisfied: u32,
    waiting: VecDeque<TaskHandle>,
}

impl DataOutBudget {
    pub fn new(limit: usize) -> Self {
        Self { limit, reserved: 0, satisfied: 0, waiting: VecDeque::new() }
    }

    fn charge(&mut self, task: &mut Task, bytes: usize) {
        self.reserved += bytes.saturating_sub(task.data_out_charge);
        task.data_out_charge = task.data_out_charge.max(bytes);
        if task.data_out_charge == task.wanted as usize {
            self.satisfied += 1;
        }
    }

    /// Books all the task wants, if there is room or nobody else to wait for.
    fn satisfy(&mut self, task: &mut Task) -> bool {
        let wanted = task.wanted as usize;
        if task.data_out_charge >= wanted {
            return true;
        }
        if self.satisfied > 0 && self.reserved - task.data_out_charge + wanted > self.limit {
            return false;
        }
        self.charge(task, wanted);
        true
    }

    /// Gives back what the task holds. True when a waiting task may find room now.
    pub fn release(&mut self, task: &mut Task) -> bool {
        let held = std::mem::take(&mut task.data_out_charge);
        if held == 0 {
            return false;
        }
        self.reserved -= held;
        if held == task.wanted as usize {
            self.satisfied -= 1;
        }
        !self.waiting.is_empty()
    }

    /// Appends data in order, as far as it is wanted. `first_burst` bounds what can come without being asked for.
    pub fn append(&mut self, task: &mut Task, data: &Bytes, first_burst: u32) {
        let wanted = task.wanted as usize;
        let buffered = match &task.data_out {
            DataOutBuffer::Empty => 0,
            DataOutBuffer::Whole(_) => wanted,
            DataOutBuffer::Partial(buffer) => buffer.len(),
        };
        let piece = data.get(..wanted - buffered).unwrap_or(data);
        if piece.is_empty() {
            return;
        }
        if piece.len() == wanted {
            if task.data_out_charge < wanted {
                self.charge(task, wanted);
            }
            task.data_out = DataOutBuffer::Whole(data.slice(..wanted));
            return;
        }
        if let DataOutBuffer::Empty = task.data_out {
            let capacity = if self.satisfy(task) { wanted } else { wanted.min(first_burst as usize).max(piece.len()) };
            if task.data_out_charge < capacity {
                self.charge(task, capacity);
            }
            task.data_out = DataOutBuffer::Partial(BytesMut::with_capacity(capacity));
        }
        if let DataOutBuffer::Partial(buffer) = &mut task.data_out {
            if buffer.capacity() - buffer.len() < piece.len() {
                buffer.reserve(wanted - buffer.len());
            }
            buffer.extend_from_slice(piece);
        }
    }
}

impl Connection {
    pub(super) fn handle_data_out(&mut self, pdu: &Pdu) {
        let header = DataOut::from_wire(&pdu.header);
        let initiator_task_tag = header.initiator_task_tag.get();
        let Some(handle) = self.tasks.find(initiator_task_tag) else {
            if !self.discarded_tags.contains(&initiator_task_tag) {
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
        let taken = if task.data_lost { Err(Fault::OutOfSequence) } else { take(task, &header, length, first_burst) };
        match taken {
            Ok(()) => {
                self.counters.data_out_bytes += u64::from(length);
                self.data_out.append(task, &pdu.data, first_burst);
            }
            Err(Fault::OutOfSequence) => {
                if !task.data_lost {
                    self.counters.data_out_sequence_errors += 1;
                    task.data_lost = true;
                    task.data_out = DataOutBuffer::Empty;
                }
                if let Err(what) = pass_over(task, &header) {
                    return self.fatal(RejectReason::PROTOCOL_ERROR, &pdu.header, what);
                }
            }
            Err(Fault::Unexpected(what)) => return self.fatal(RejectReason::PROTOCOL_ERROR, &pdu.header, what),
        }
        self.continue_task(handle);
    }

    /// Ends a task that lost data. The initiator may use its tag again at once: nothing of the old task is on its way.
    pub(super) fn end_with_data_lost(&mut self, handle: TaskHandle) {
        self.respond(handle, Response { status: CHECK_CONDITION, sense: &DATA_LOST, ..Response::default() });
    }

    /// Sends the R2Ts the task may have outstanding, when its unsolicited data is in and there is memory.
    pub(super) fn request_data(&mut self, handle: TaskHandle) {
        let Some(task) = self.tasks.get_mut(handle) else {
            return;
        };
        if task.unsolicited || task.waits_for_memory {
            return;
        }
        let must_queue = !self.data_out.waiting.is_empty() && task.data_out_charge < task.wanted as usize;
        if must_queue || !self.data_out.satisfy(task) {
            task.waits_for_memory = true;
            self.data_out.waiting.push_back(handle);
            return;
        }
        self.send_r2ts(handle);
    }

    /// Lets waiting tasks go on, in turn, as far as there is memory.
    pub(super) fn serve_waiting(&mut self) {
        while let Some(&handle) = self.data_out.waiting.front() {
            if let Some(task) = self.tasks.get_mut(handle) {
                if !self.data_out.satisfy(task) {
                    return;
                }
                task.waits_for_memory = false;
            }
            self.data_out.waiting.pop_front();
            self.send_r2ts(handle);
        }
    }

    fn send_r2ts(&mut self, handle: TaskHandle) {
        let allowed = usize::from(self.parameters.max_outstanding_r2t);
        loop {
            let target_transfer_tag = self.new_target_transfer_tag();
            let Some(task) = self.tasks.get_mut(handle) else {
                return;
            };
            if task.next_r2t_sn == 0 {
                task.next_r2t_offset = task.received;
            }
            if task.r2ts.len() >= allowed || task.next_r2t_offset >= task.wanted {
                return;
            }
            let length = (task.wanted - task.next_r2t_offset).min(self.parameters.max_burst_length);
            let mut header = R2t::from_wire(&pdu::blank(Opcode::R2T.0, pdu::FINAL, task.initiator_task_tag));
            header.lun = task.lun;
            header.target_transfer_tag = target_transfer_tag.into();
            header.stat_sn = self.stat_sn.into();
            header.exp_cmd_sn = self.exp_cmd_sn.into();
            header.max_cmd_sn = self.max_cmd_sn.into();
            header.r2t_sn = task.next_r2t_sn.into();
            header.buffer_offset = task.next_r2t_offset.into();
            header.desired_data_transfer_length = length.into();
            task.next_r2t_sn = task.next_r2t_sn.wrapping_add(1);
            task.next_r2t_offset += length;
            let end = task.next_r2t_offset;
            task.r2ts.push_back(OutstandingR2t { target_transfer_tag, end, next_data_sn: 0 });
            self.output.push_header(header.to_wire(), self.digests);
        }
    }
}

/// Checks a Data-Out against what is expected of the task, and counts it.
fn take(task: &mut Task, header: &DataOut, length: u32, first_burst: u32) -> Result<(), Fault> {
    let last = header.flags & pdu::FINAL != 0;
    let tag = header.target_transfer_tag.get();
    let data_sn = header.data_sn.get();
    let end =
        header.buffer_offset.get().checked_add(length).ok_or(Fault::Unexpected("Data-Out beyond the transfer"))?;
    let in_sequence = header.buffer_offset.get() == task.received;
    if tag == RESERVED_TAG {
        expect_unsolicited(task).map_err(Fault::Unexpected)?;
        if end > first_burst || end > task.expected {
            return Err(Fault::Unexpected("unsolicited Data-Out beyond FirstBurstLength or the transfer"));
        }
        if !in_sequence || data_sn != task.unsolicited_data_sn {
            return Err(Fault::OutOfSequence);
        }
        task.unsolicited_data_sn = data_sn.wrapping_add(1);
        task.unsolicited = !last;
    } else {
        let r2t = expect_solicited(task, tag).map_err(Fault::Unexpected)?;
        if end > r2t.end {
            return Err(Fault::Unexpected("Data-Out beyond what the R2T asked for"));
        }
        if !in_sequence || data_sn != r2t.next_data_sn {
            return Err(Fault::OutOfSequence);
        }
        r2t.next_data_sn = data_sn.wrapping_add(1);
        if end == r2t.end {
            task.r2ts.pop_front();
        } else if last {
            return Err(Fault::Unexpected("a Data-Out sequence shorter than the R2T asked for"));
        }
    }
    task.received = end;
    Ok(())
}

/// Follows the sequences of a task that lost data: only their ends matter.
fn pass_over(task: &mut Task, header: &DataOut) -> Result<(), &'static str> {
    let last = header.flags & pdu::FINAL != 0;
    let tag = header.target_transfer_tag.get();
    if tag == RESERVED_TAG {
        expect_unsolicited(task)?;
        task.unsolicited = !last;
    } else {
        expect_solicited(task, tag)?;
        if last {
            task.r2ts.pop_front();
        }
    }
    Ok(())
}

fn expect_unsolicited(task: &Task) -> Result<(), &'static str> {
    if task.state == TaskState::Delivered {
        return Err("Data-Out for a command that has all its data");
    }
    if !task.unsolicited {
        return Err("unsolicited Data-Out that was not announced");
    }
    Ok(())
}

fn expect_solicited(task: &mut Task, target_transfer_tag: u32) -> Result<&mut OutstandingR2t, &'static str> {
    let oldest = task.r2ts.front_mut().filter(|r2t| r2t.target_transfer_tag == target_transfer_tag);
    oldest.ok_or("Data-Out with an unknown Target Transfer Tag")
}
