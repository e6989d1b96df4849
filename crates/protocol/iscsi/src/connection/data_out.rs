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

use std::collections::VecDeque;
use std::rc::Rc;

use bytes::{Bytes, BytesMut};

use super::tasks::{DataOutBuffer, OutstandingR2t, Task, TaskHandle, TaskState};
use super::{Connection, Response};
use crate::framing::Pdu;
use crate::pdu::{self, DataOut, Opcode, R2t, RESERVED_TAG, RejectReason};

/// CHECK CONDITION, SAM-5 §5.3.1.
const CHECK_CONDITION: u8 = 0x02;
/// BUSY, SAM-5 §5.3.1: the initiator retries.
const BUSY: u8 = 0x08;
/// ABORTED COMMAND, 47h 05h: the iSCSI condition "protocol service CRC error" (RFC 7143 §11.4.7.2), in fixed format.
const DATA_LOST: [u8; 18] = [0x70, 0, 0x0B, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0x47, 0x05, 0, 0, 0, 0];

/// What is wrong with a Data-Out.
enum Fault {
    /// DataSN or Buffer Offset says that data before it is missing, or came twice.
    OutOfSequence,
    /// Nobody asked for it.
    Unexpected(&'static str),
}

/// Memory for Data-Out that connections share. Bytes are counted, not handed out.
pub trait DataOutMemory: std::fmt::Debug {
    /// Books bytes that were waited for. When false the connection is remembered: the shell calls
    /// [`Connection::data_out_memory_available`] when its turn may have come. `oldest`: everything else of the connection may have to
    /// wait for this task, which depends on no other, so that what it takes comes back.
    fn take(&self, bytes: usize, oldest: bool) -> bool;
    /// Books bytes of data that came without being asked for. When false they have to be dropped.
    fn take_unasked(&self, bytes: usize) -> bool;
    /// Gives back bytes booked with [`Self::take`] and with [`Self::take_unasked`].
    fn give_back(&self, granted_bytes: usize, unasked_bytes: usize);
    /// The connection waits no more.
    fn withdraw(&self);
}

/// The Data-Out memory of a connection.
#[derive(Debug)]
pub(super) struct DataOutBudget {
    limit: usize,
    reserved: usize,
    /// Tasks that wait for memory with their place in CmdSN order, by which they are sorted.
    waiting: VecDeque<(u64, TaskHandle)>,
    shared: Option<Rc<dyn DataOutMemory>>,
    /// Booked of `shared`: waited for, and unasked.
    booked: (usize, usize),
}

impl DataOutBudget {
    pub fn new(limit: usize) -> Self {
        Self { limit, reserved: 0, waiting: VecDeque::new(), shared: None, booked: (0, 0) }
    }

    pub fn share(&mut self, shared: Rc<dyn DataOutMemory>) {
        self.shared = Some(shared);
    }

    /// Gives everything back: the tasks are gone.
    pub fn clear(&mut self) {
        if let Some(shared) = &self.shared {
            shared.give_back(self.booked.0, self.booked.1);
            shared.withdraw();
        }
        *self = Self { shared: self.shared.take(), ..Self::new(self.limit) };
    }

    fn charge(&mut self, task: &mut Task, bytes: usize) {
        self.reserved += bytes.saturating_sub(task.data_out_charge);
        task.data_out_charge = task.data_out_charge.max(bytes);
    }

    /// Charges data that is there already. False when the shared memory has no room for it.
    fn charge_unasked(&mut self, task: &mut Task, bytes: usize) -> bool {
        let more = bytes.saturating_sub(task.data_out_charge);
        if more > 0 {
            if self.shared.as_ref().is_some_and(|shared| !shared.take_unasked(more)) {
                return false;
            }
            self.booked.1 += more;
            self.charge(task, bytes);
        }
        true
    }

    /// Books all the task wants, if there is room. `oldest`: of those that are not delivered; `alone`: and no delivered one will give
    /// anything back.
    fn satisfy(&mut self, task: &mut Task, oldest: bool, alone: bool) -> bool {
        let wanted = task.wanted as usize;
        let more = wanted.saturating_sub(task.data_out_charge);
        if more == 0 {
            return true;
        }
        if self.reserved + more > self.limit && !(oldest && alone) {
            return false;
        }
        if self.shared.as_ref().is_some_and(|shared| !shared.take(more, oldest)) {
            return false;
        }
        self.booked.0 += more;
        task.data_out_granted += more;
        self.charge(task, wanted);
        true
    }

    /// Gives back what the task holds.
    pub fn release(&mut self, task: &mut Task) {
        task.data_out = DataOutBuffer::Empty;
        let held = std::mem::take(&mut task.data_out_charge);
        if held == 0 {
            return;
        }
        let granted = std::mem::take(&mut task.data_out_granted);
        self.booked.0 -= granted;
        self.booked.1 -= held - granted;
        if let Some(shared) = &self.shared {
            shared.give_back(granted, held - granted);
        }
        self.reserved -= held;
    }

    /// Appends data in order, as far as it is wanted. False when there is no memory for data that nobody asked for: it is dropped,
    /// and the task cannot be executed.
    pub fn append(&mut self, task: &mut Task, data: &Bytes) -> bool {
        let wanted = task.wanted as usize;
        let buffered = match &task.data_out {
            DataOutBuffer::Empty => 0,
            DataOutBuffer::Whole(_) => wanted,
            DataOutBuffer::Partial(buffer) => buffer.len(),
        };
        let piece = data.get(..wanted - buffered).unwrap_or(data);
        if piece.is_empty() {
            return true;
        }
        if piece.len() == wanted {
            let room = self.charge_unasked(task, wanted);
            if room {
                task.data_out = DataOutBuffer::Whole(data.slice(..wanted));
            }
            return room;
        }
        let needed = buffered + piece.len();
        if needed > task.data_out_charge {
            // At least twice as much each time, so that little is copied again.
            let grown = needed.max(2 * task.data_out_charge).min(wanted);
            if !self.charge_unasked(task, grown) {
                return false;
            }
        }
        let mut buffer = match std::mem::replace(&mut task.data_out, DataOutBuffer::Empty) {
            DataOutBuffer::Partial(buffer) if buffer.capacity() >= needed => buffer,
            DataOutBuffer::Partial(buffer) => {
                let mut grown = BytesMut::with_capacity(task.data_out_charge);
                grown.extend_from_slice(&buffer);
                grown
            }
            DataOutBuffer::Empty | DataOutBuffer::Whole(_) => BytesMut::with_capacity(task.data_out_charge),
        };
        buffer.extend_from_slice(piece);
        task.data_out = DataOutBuffer::Partial(buffer);
        true
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
                if !self.data_out.append(task, &pdu.data) {
                    task.data_lost = true;
                    task.data_refused = true;
                    self.data_out.release(task);
                }
            }
            Err(Fault::OutOfSequence) => {
                if !task.data_lost {
                    self.counters.data_out_sequence_errors += 1;
                    task.data_lost = true;
                    self.data_out.release(task);
                }
                if let Err(what) = pass_over(task, &header) {
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
        let refused = self.tasks.get(handle).is_some_and(|task| task.data_refused);
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
        if task.unsolicited || task.waits_for_memory {
            return;
        }
        if task.data_out_charge >= task.wanted as usize {
            return self.send_r2ts(handle);
        }
        task.waits_for_memory = true;
        let waiting = &mut self.data_out.waiting;
        let place = waiting.partition_point(|(sequence, _)| *sequence < task.sequence);
        waiting.insert(place, (task.sequence, handle));
        self.serve_waiting();
    }

    /// Takes memory for Data-Out from a pool that connections share. To be called before any input.
    pub fn share_data_out_memory(&mut self, memory: Rc<dyn DataOutMemory>) {
        self.data_out.share(memory);
    }

    /// Whether tasks wait for memory for their Data-Out.
    pub fn waits_for_data_out_memory(&self) -> bool {
        let waits = |task: &Task| task.waits_for_memory && !task.aborted;
        self.data_out.waiting.iter().any(|(_, handle)| self.tasks.get(*handle).is_some_and(waits))
    }

    /// Whether the initiator has to send something before its tasks can continue: solicited or
    /// announced Data-Out, or a command whose CmdSN is missing.
    pub fn awaits_data_out(&self) -> bool {
        let awaits = |task: &Task| task.unsolicited || !task.r2ts.is_empty();
        self.held.iter().any(Option::is_some) || self.tasks.iter().any(awaits)
    }

    /// Called when there may be memory for tasks that wait for it.
    pub fn data_out_memory_available(&mut self) {
        self.serve_waiting();
    }

    /// Lets waiting tasks continue, the oldest first, as long as there is memory.
    pub(super) fn serve_waiting(&mut self) {
        while let Some(&(sequence, handle)) = self.data_out.waiting.front() {
            let undelivered = |task: &&Task| task.state == TaskState::Receiving && !task.aborted;
            let oldest = self.tasks.iter().filter(undelivered).all(|task| task.sequence >= sequence);
            let given_back = |task: &Task| task.state == TaskState::Delivered && task.data_out_charge > 0;
            let alone = !self.tasks.iter().any(given_back);
            if let Some(task) = self.tasks.get_mut(handle).filter(|task| !task.aborted) {
                if !self.data_out.satisfy(task, oldest, alone) {
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
    if matches!(task.state, TaskState::Ready | TaskState::Delivered) {
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
