//! Responses to SCSI commands (RFC 7143 §11.4 and §11.7): Data-In, status, residual counts, sense
//! data.

use super::{Connection, Response, TaskHandle};
use crate::pdu::{self, DataIn, Opcode, RESERVED_TAG, ScsiResponse};
use bytes::Bytes;

/// Longest sense data sent, in bytes (SPC-4 §4.5.1).
const MAX_SENSE_BYTES: usize = 252;

impl Connection {
    /// Responds to a command. False when there is no task to respond to: it was aborted, or the
    /// handle is old.
    pub fn respond(&mut self, task: TaskHandle, response: Response<'_>) -> bool {
        let Some(entry) = self.tasks.get(task) else {
            return false;
        };
        if entry.aborted {
            // The response to the function that aborted it removes the task.
            return false;
        }
        let initiator_task_tag = entry.initiator_task_tag;
        let (read, write) = (entry.read, entry.write);
        let (expected, expected_data_in) = (entry.expected, entry.expected_data_in);
        self.remove_task(task);
        self.open_window();

        // Data in a direction that the command does not have counts as not transferred: Data-In
        // without the R bit, and any data without R and W.
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
            header.stat_sn = self.outbound.advance_stat_sn().into();
            header.exp_cmd_sn = self.window.exp_cmd_sn().into();
            header.max_cmd_sn = self.window.max_cmd_sn().into();
            header.exp_data_sn = pdus.into();
            header.residual_count = residual.into();
            if read && write && expected_data_in > 0 {
                // Bidirectional command: `transfer_bytes` covers Data-Out only; no Data-In was
                // returned.
                header.flags |= pdu::BIDIRECTIONAL_UNDERFLOW;
                header.bidirectional_residual_count = expected_data_in.into();
            }
            self.send_response(header, response.sense);
        }
        self.deliver_ready();
        true
    }

    /// Sends Data-In in pieces; with `status`, the last one carries status GOOD and the residual.
    /// Returns the number of PDUs.
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
                header.stat_sn = self.outbound.advance_stat_sn().into();
                header.residual_count = residual.into();
            }
            header.flags = flags;
            header.target_transfer_tag = RESERVED_TAG.into();
            header.exp_cmd_sn = self.window.exp_cmd_sn().into();
            header.max_cmd_sn = self.window.max_cmd_sn().into();
            header.data_sn = data_sn.into();
            header.buffer_offset = offset.into();
            self.outbound.push_bytes(header.to_wire(), piece);
            data_sn = data_sn.wrapping_add(1);
            offset = offset.wrapping_add(u32::try_from(length).unwrap_or(0));
        }
        data_sn
    }

    fn send_response(&mut self, header: ScsiResponse, sense: &[u8]) {
        if sense.is_empty() {
            return self.outbound.push_header(header.to_wire());
        }
        let sense = sense.get(..MAX_SENSE_BYTES).unwrap_or(sense);
        let length = u16::try_from(sense.len()).unwrap_or(u16::MAX);
        let mut data = [0; 2 + MAX_SENSE_BYTES];
        let used = 2 + sense.len();
        data[..2].copy_from_slice(&length.to_be_bytes());
        data[2..used].copy_from_slice(sense);
        self.outbound.push_slice(header.to_wire(), &data[..used]);
    }
}

/// Residual flags and count: expected length against the length that the device server wanted to
/// transfer.
fn residual(expected: u64, transfer: u64) -> (u8, u32) {
    let count = |difference: u64| u32::try_from(difference).unwrap_or(u32::MAX);
    match transfer.cmp(&expected) {
        std::cmp::Ordering::Equal => (0, 0),
        std::cmp::Ordering::Greater => (pdu::OVERFLOW, count(transfer - expected)),
        std::cmp::Ordering::Less => (pdu::UNDERFLOW, count(expected - transfer)),
    }
}
