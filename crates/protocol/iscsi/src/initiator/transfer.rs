//! SCSI commands at the initiator: the command PDU with its immediate data, unsolicited and
//! solicited Data-Out, reassembly of Data-In, and the response (RFC 7143 §11.3, §11.4, §11.7,
//! §11.8).

use bytes::{Buf, Bytes, BytesMut};

use super::{Completion, Event, Initiator, Request, TransferRequest};
use crate::framing::Pdu;
use crate::pdu::{self, DataIn, DataOut, Opcode, R2t, RESERVED_TAG, ScsiCommand, ScsiResponse};

/// Outstanding command.
#[derive(Debug)]
pub(super) struct Transfer {
    request: Request,
    /// CmdSN; `None` until sent.
    pub cmd_sn: Option<u32>,
    next_data_sn: u32,
    /// Bytes of Data-Out that R2Ts have requested so far.
    solicited_bytes: u64,
    data_in: DataInBuffer,
}

#[derive(Debug)]
enum DataInBuffer {
    Empty,
    Whole(Bytes),
    Partial(BytesMut),
}

impl DataInBuffer {
    fn len(&self) -> usize {
        match self {
            Self::Empty => 0,
            Self::Whole(data) => data.len(),
            Self::Partial(data) => data.len(),
        }
    }

    /// Appends data. `room`: bytes of the whole transfer, allocated once if there is more than one
    /// piece.
    fn append(&mut self, piece: &Bytes, room: usize) {
        *self = match std::mem::replace(self, Self::Empty) {
            Self::Empty => Self::Whole(piece.clone()),
            Self::Whole(first) => {
                let mut both = BytesMut::with_capacity(room.max(first.len() + piece.len()));
                both.extend_from_slice(&first);
                both.extend_from_slice(piece);
                Self::Partial(both)
            }
            Self::Partial(mut all) => {
                all.extend_from_slice(piece);
                Self::Partial(all)
            }
        };
    }

    fn into_bytes(self) -> Bytes {
        match self {
            Self::Empty => Bytes::new(),
            Self::Whole(data) => data,
            Self::Partial(data) => data.freeze(),
        }
    }
}

impl Transfer {
    pub fn new(request: Request) -> Self {
        Self { request, cmd_sn: None, next_data_sn: 0, solicited_bytes: 0, data_in: DataInBuffer::Empty }
    }

    fn expected(&self) -> u32 {
        match &self.request.transfer {
            TransferRequest::None => 0,
            TransferRequest::In(length) => *length,
            TransferRequest::Out(data) => u32::try_from(data.len()).unwrap_or(u32::MAX),
        }
    }
}

impl Initiator {
    /// Sends the command, with as much unsolicited data as permitted.
    pub(super) fn start_transfer(&mut self, tag: u32) {
        let next_cmd_sn = self.cmd_sn;
        let Some(transfer) = self.transfers.get_mut(&tag) else {
            return;
        };
        let request = &transfer.request;
        let mut opcode = Opcode::SCSI_COMMAND.0;
        if request.immediate {
            opcode |= pdu::IMMEDIATE;
        } else {
            self.cmd_sn = next_cmd_sn.wrapping_add(1);
        }
        let max_pdu = self.parameters.target_max_recv_data_segment_length as usize;
        let first_burst = self.parameters.first_burst_length as usize;
        let mut flags = request.attribute.0 & 7;
        let mut immediate_data = Bytes::new();
        let mut unsolicited = Bytes::new();
        match &request.transfer {
            TransferRequest::None => {}
            TransferRequest::In(_) => flags |= pdu::READ,
            TransferRequest::Out(data) => {
                flags |= pdu::WRITE;
                let first = data.slice(..data.len().min(first_burst));
                if self.parameters.immediate_data {
                    immediate_data = first.slice(..first.len().min(max_pdu));
                }
                if !self.parameters.initial_r2t {
                    unsolicited = first.slice(immediate_data.len()..);
                }
            }
        }
        if unsolicited.is_empty() {
            flags |= pdu::FINAL;
        }
        let mut header = ScsiCommand::from_wire(&pdu::blank(opcode, flags, tag));
        header.lun = request.lun;
        header.cdb = request.cdb;
        header.expected_data_transfer_length = transfer.expected().into();
        header.cmd_sn = next_cmd_sn.into();
        header.exp_stat_sn = self.exp_stat_sn.into();
        transfer.cmd_sn = Some(next_cmd_sn);
        let offset = u32::try_from(immediate_data.len()).unwrap_or(u32::MAX);
        self.output.push_bytes(header.to_wire(), immediate_data, self.digests);
        if !unsolicited.is_empty() {
            self.send_data_out(tag, [0; 8], RESERVED_TAG, offset, unsolicited);
        }
    }

    /// Sends one sequence of Data-Out PDUs.
    fn send_data_out(&mut self, tag: u32, lun: [u8; 8], target_transfer_tag: u32, mut offset: u32, mut data: Bytes) {
        let max_pdu = self.parameters.target_max_recv_data_segment_length as usize;
        let mut data_sn = 0_u32;
        while !data.is_empty() {
            let piece = data.split_to(data.len().min(max_pdu));
            let flags = if data.is_empty() { pdu::FINAL } else { 0 };
            let mut header = DataOut::from_wire(&pdu::blank(Opcode::DATA_OUT.0, flags, tag));
            header.lun = lun;
            header.target_transfer_tag = target_transfer_tag.into();
            header.exp_stat_sn = self.exp_stat_sn.into();
            header.data_sn = data_sn.into();
            header.buffer_offset = offset.into();
            offset = offset.wrapping_add(u32::try_from(piece.len()).unwrap_or(u32::MAX));
            data_sn = data_sn.wrapping_add(1);
            self.output.push_bytes(header.to_wire(), piece, self.digests);
        }
    }

    pub(super) fn handle_r2t(&mut self, pdu: &Pdu) {
        self.take_numbers(&pdu.header, false);
        let header = R2t::from_wire(&pdu.header);
        let tag = header.initiator_task_tag.get();
        let Some(transfer) = self.transfers.get_mut(&tag) else {
            return; // answered or aborted meanwhile
        };
        let TransferRequest::Out(data) = &transfer.request.transfer else {
            return self.protocol_error("R2T for a command without Data-Out");
        };
        let offset = header.buffer_offset.get();
        let length = header.desired_data_transfer_length.get();
        let start = offset as usize;
        let Some(end) = start.checked_add(length as usize).filter(|end| *end <= data.len()) else {
            return self.protocol_error("R2T beyond the transfer");
        };
        if length == 0 || length > self.parameters.max_burst_length {
            return self.protocol_error("R2T for nothing or for more than MaxBurstLength");
        }
        // At ErrorRecoveryLevel 0 no data is requested twice; a target that does so could make us
        // send without end.
        transfer.solicited_bytes += u64::from(length);
        if transfer.solicited_bytes > data.len() as u64 {
            return self.protocol_error("R2Ts for more than the transfer");
        }
        let piece = data.slice(start..end);
        self.send_data_out(tag, header.lun, header.target_transfer_tag.get(), offset, piece);
    }

    pub(super) fn handle_data_in(&mut self, pdu: &Pdu) {
        let header = DataIn::from_wire(&pdu.header);
        let has_status = header.flags & pdu::STATUS != 0;
        self.take_numbers(&pdu.header, has_status);
        let tag = header.initiator_task_tag.get();
        let Some(transfer) = self.transfers.get_mut(&tag) else {
            return; // aborted meanwhile
        };
        let TransferRequest::In(room) = transfer.request.transfer else {
            return self.protocol_error("Data-In for a command without Data-In");
        };
        let received = transfer.data_in.len();
        if header.buffer_offset.get() as usize != received || header.data_sn.get() != transfer.next_data_sn {
            return self.protocol_error("Data-In out of order");
        }
        if received + pdu.data.len() > room as usize {
            return self.protocol_error("Data-In beyond the transfer");
        }
        transfer.next_data_sn = transfer.next_data_sn.wrapping_add(1);
        transfer.data_in.append(&pdu.data, room as usize);
        if has_status {
            let residual = residual(header.flags, header.residual_count.get());
            self.complete(tag, 0, header.status, Bytes::new(), residual);
        }
    }

    pub(super) fn handle_scsi_response(&mut self, pdu: &Pdu) {
        self.take_numbers(&pdu.header, true);
        let header = ScsiResponse::from_wire(&pdu.header);
        let mut data = pdu.data.clone();
        let mut sense = Bytes::new();
        if data.len() >= 2 {
            let length = usize::from(data.get_u16());
            sense = data.slice(..length.min(data.len()));
        }
        let residual = residual(header.flags, header.residual_count.get());
        self.complete(header.initiator_task_tag.get(), header.response, header.status, sense, residual);
    }

    fn complete(&mut self, tag: u32, response: u8, status: u8, sense: Bytes, residual: i64) {
        let Some(transfer) = self.transfers.remove(&tag) else {
            return; // aborted meanwhile
        };
        let data_in = transfer.data_in.into_bytes();
        let completion = Completion { initiator_task_tag: tag, response, status, sense, data_in, residual };
        self.events.push_back(Event::Completed(completion));
    }
}

fn residual(flags: u8, count: u32) -> i64 {
    if flags & pdu::UNDERFLOW != 0 {
        i64::from(count)
    } else if flags & pdu::OVERFLOW != 0 {
        -i64::from(count)
    } else {
        0
    }
}
