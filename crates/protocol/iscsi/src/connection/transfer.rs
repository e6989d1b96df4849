//! Data-Out of one task: announced and solicited data, in order, and the buffer that collects it.

use crate::pdu::{self, DataOut, RESERVED_TAG};
use bytes::{Bytes, BytesMut};
use std::collections::VecDeque;

/// Defect of a Data-Out PDU.
pub(super) enum Fault {
    /// DataSN or Buffer Offset shows that earlier data is missing or was repeated.
    OutOfSequence,
    /// The data was neither solicited nor announced.
    Unexpected(&'static str),
}

/// Data-Out received so far, limited to the length that the device server wants.
#[derive(Debug)]
pub(super) enum DataOutBuffer {
    /// No data.
    Empty,
    /// All of the data, shared with the receive buffer.
    Whole(Bytes),
    /// Part of the data, copied together.
    Partial(BytesMut),
}

/// R2T whose data has not arrived completely.
#[derive(Clone, Copy, Debug)]
struct OutstandingR2t {
    target_transfer_tag: u32,
    end: u32,
    next_data_sn: u32,
}

/// Fields of the next R2T of a task.
pub(super) struct NextR2t {
    pub r2t_sn: u32,
    pub offset: u32,
    pub length: u32,
}

/// Data-Out of one task.
#[derive(Debug)]
pub(super) struct Transfer {
    /// Bytes that the device server wants.
    wanted: u32,
    /// Bytes of the transfer that have arrived in order, wanted or not.
    received: u32,
    /// The initiator has announced more unsolicited data.
    unsolicited: bool,
    /// DataSN of the next unsolicited PDU.
    unsolicited_data_sn: u32,
    r2ts: VecDeque<OutstandingR2t>,
    next_r2t_sn: u32,
    /// Offset of the first byte not requested by an R2T.
    next_r2t_offset: u32,
    /// Data was lost: the task ends with CHECK CONDITION after the last announced or solicited
    /// data.
    lost: bool,
    /// Data was dropped for lack of memory: the task ends like one that lost data, but with BUSY.
    refused: bool,
    buffer: DataOutBuffer,
    memory: Memory,
}

/// Memory that a transfer holds of the connection's budget.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Memory {
    /// Bytes held.
    pub charge: usize,
    /// Part of them granted for solicited data; the rest is for unsolicited data.
    pub granted: usize,
    /// The task is in the queue for memory.
    pub waits: bool,
    /// The command has the shared part of it.
    pub handed_over: bool,
    /// The data is short and in a receive buffer.
    pub in_place: bool,
}

impl Transfer {
    /// `wanted`: bytes that the device server wants. `received`: length of the immediate data.
    /// `unsolicited`: more data follows without an R2T.
    pub fn new(wanted: u32, received: u32, unsolicited: bool) -> Self {
        Self {
            wanted,
            received,
            unsolicited,
            unsolicited_data_sn: 0,
            r2ts: VecDeque::new(),
            next_r2t_sn: 0,
            next_r2t_offset: received,
            lost: false,
            refused: false,
            buffer: DataOutBuffer::Empty,
            memory: Memory::default(),
        }
    }

    pub fn wanted(&self) -> u32 {
        self.wanted
    }

    /// Whether no more data will arrive.
    pub fn is_complete(&self) -> bool {
        !self.awaits_data() && self.received >= self.wanted
    }

    /// Whether the initiator has to send announced or solicited data.
    pub fn awaits_data(&self) -> bool {
        self.unsolicited || !self.r2ts.is_empty()
    }

    /// Whether more unsolicited data is announced.
    pub fn awaits_unsolicited(&self) -> bool {
        self.unsolicited
    }

    pub fn memory(&self) -> Memory {
        self.memory
    }

    pub fn memory_mut(&mut self) -> &mut Memory {
        &mut self.memory
    }

    /// Marks data as lost.
    pub fn lose(&mut self) {
        self.lost = true;
    }

    /// Marks data as dropped for lack of memory.
    pub fn refuse(&mut self) {
        self.lost = true;
        self.refused = true;
    }

    pub fn is_lost(&self) -> bool {
        self.lost
    }

    pub fn is_refused(&self) -> bool {
        self.refused
    }

    pub fn buffer(&self) -> &DataOutBuffer {
        &self.buffer
    }

    /// Takes the collected data out, and leaves none.
    pub fn take_buffer(&mut self) -> DataOutBuffer {
        std::mem::replace(&mut self.buffer, DataOutBuffer::Empty)
    }

    pub fn set_buffer(&mut self, buffer: DataOutBuffer) {
        self.buffer = buffer;
    }

    /// Takes the complete data out.
    pub fn take_data(&mut self) -> Bytes {
        match self.take_buffer() {
            DataOutBuffer::Empty => Bytes::new(),
            DataOutBuffer::Whole(data) => data,
            DataOutBuffer::Partial(data) => data.freeze(),
        }
    }

    /// Requests the next data with this tag, unless all is requested or `allowed` R2Ts are
    /// outstanding. `max_burst_length`: most bytes of one R2T.
    pub fn next_r2t(&mut self, target_transfer_tag: u32, allowed: usize, max_burst_length: u32) -> Option<NextR2t> {
        if self.next_r2t_sn == 0 {
            self.next_r2t_offset = self.received;
        }
        if self.r2ts.len() >= allowed || self.next_r2t_offset >= self.wanted {
            return None;
        }
        let length = (self.wanted - self.next_r2t_offset).min(max_burst_length);
        let next = NextR2t { r2t_sn: self.next_r2t_sn, offset: self.next_r2t_offset, length };
        self.next_r2t_sn = self.next_r2t_sn.wrapping_add(1);
        self.next_r2t_offset += length;
        self.r2ts.push_back(OutstandingR2t { target_transfer_tag, end: self.next_r2t_offset, next_data_sn: 0 });
        Some(next)
    }

    /// Checks a Data-Out PDU of `length` bytes, and counts it. `receiving`: the task does not have
    /// all of its data. `expected`: Expected Data Transfer Length.
    pub fn take(
        &mut self,
        header: &DataOut,
        length: u32,
        receiving: bool,
        first_burst: u32,
        expected: u32,
    ) -> Result<(), Fault> {
        let last = header.flags & pdu::FINAL != 0;
        let tag = header.target_transfer_tag.get();
        let data_sn = header.data_sn.get();
        let end =
            header.buffer_offset.get().checked_add(length).ok_or(Fault::Unexpected("Data-Out beyond the transfer"))?;
        let in_sequence = header.buffer_offset.get() == self.received;
        if tag == RESERVED_TAG {
            self.expect_unsolicited(receiving).map_err(Fault::Unexpected)?;
            if end > first_burst || end > expected {
                return Err(Fault::Unexpected("unsolicited Data-Out beyond FirstBurstLength or the transfer"));
            }
            if !in_sequence || data_sn != self.unsolicited_data_sn {
                return Err(Fault::OutOfSequence);
            }
            self.unsolicited_data_sn = data_sn.wrapping_add(1);
            self.unsolicited = !last;
        } else {
            let r2t = self.expect_solicited(tag).map_err(Fault::Unexpected)?;
            if end > r2t.end {
                return Err(Fault::Unexpected("Data-Out beyond the range of the R2T"));
            }
            if !in_sequence || data_sn != r2t.next_data_sn {
                return Err(Fault::OutOfSequence);
            }
            r2t.next_data_sn = data_sn.wrapping_add(1);
            if end == r2t.end {
                self.r2ts.pop_front();
            } else if last {
                return Err(Fault::Unexpected("a Data-Out sequence shorter than its R2T"));
            }
        }
        self.received = end;
        Ok(())
    }

    /// Tracks the sequences of a transfer that lost data: only their ends matter.
    pub fn skip(&mut self, header: &DataOut, receiving: bool) -> Result<(), &'static str> {
        let last = header.flags & pdu::FINAL != 0;
        let tag = header.target_transfer_tag.get();
        if tag == RESERVED_TAG {
            self.expect_unsolicited(receiving)?;
            self.unsolicited = !last;
        } else {
            self.expect_solicited(tag)?;
            if last {
                self.r2ts.pop_front();
            }
        }
        Ok(())
    }

    fn expect_unsolicited(&self, receiving: bool) -> Result<(), &'static str> {
        if !receiving {
            return Err("Data-Out for a command that has all its data");
        }
        if !self.unsolicited {
            return Err("unsolicited Data-Out that was not announced");
        }
        Ok(())
    }

    fn expect_solicited(&mut self, target_transfer_tag: u32) -> Result<&mut OutstandingR2t, &'static str> {
        let oldest = self.r2ts.front_mut().filter(|r2t| r2t.target_transfer_tag == target_transfer_tag);
        oldest.ok_or("Data-Out with an unknown Target Transfer Tag")
    }
}
