//! Requests other than SCSI commands, and their responses: task management, pings of both sides,
//! SendTargets, logout (RFC 7143 §11.5, §11.6, §11.10, §11.11, §11.14, §11.15, §11.18, §11.19).
//!
//! Unsolicited responses are not kept, because a target may send them without end. A response to an
//! unknown ping or task management function is ignored, like that to an abandoned SCSI command; an
//! unknown Text or Logout Response is a protocol violation.

use bytes::Bytes;

use super::{Event, Initiator, Waiting, login};
use crate::connection::TargetRecord;
use crate::framing::Pdu;
use crate::pdu::{
    self, BasicHeader, LogoutReason, LogoutRequest, LogoutResponse, LogoutResponseCode, NopIn, NopOut, Opcode,
    RESERVED_TAG, RawHeader, TaskManagementFunction, TaskManagementRequest, TaskManagementResponse,
    TaskManagementResponseHeader, TextRequest, TextResponse,
};
use crate::text;

/// Most text accepted in one SendTargets response, in bytes.
const MAX_TARGETS_TEXT_BYTES: usize = 4 << 20;

/// Most Text Responses accepted for one SendTargets: twice the number of pieces of the smallest
/// MaxRecvDataSegmentLength in the text above.
const MAX_TARGETS_RESPONSES: u32 = 16_384;

/// Most answers to the target's pings that are queued because the target does not read.
const MAX_PINGS: usize = 256;

/// Kind of an unanswered request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Asked {
    Ping,
    TaskManagement,
    Text,
    Logout,
}

impl Asked {
    /// Kind of request of a PDU; `None` for other PDUs.
    fn by(opcode: Opcode) -> Option<Self> {
        match opcode {
            Opcode::NOP_OUT => Some(Self::Ping),
            Opcode::TASK_MANAGEMENT_REQUEST => Some(Self::TaskManagement),
            Opcode::TEXT_REQUEST => Some(Self::Text),
            Opcode::LOGOUT_REQUEST => Some(Self::Logout),
            _ => None,
        }
    }
}

impl Initiator {
    /// Sends a task management function as an immediate command. `referenced`: tag of the task for
    /// ABORT TASK.
    pub fn task_management(&mut self, function: TaskManagementFunction, lun: [u8; 8], referenced: Option<u32>) -> u32 {
        let tag = self.new_tag();
        let opcode = Opcode::TASK_MANAGEMENT_REQUEST.0 | pdu::IMMEDIATE;
        let mut header = TaskManagementRequest::from_wire(&pdu::blank(opcode, pdu::FINAL | function.0, tag));
        header.lun = lun;
        header.referenced_task_tag = referenced.unwrap_or(RESERVED_TAG).into();
        header.ref_cmd_sn = referenced.and_then(|tag| self.cmd_sn_of(tag)).unwrap_or(0).into();
        header.cmd_sn = self.cmd_sn.into();
        header.exp_stat_sn = self.exp_stat_sn.into();
        self.send(header.to_wire(), Bytes::new());
        tag
    }

    /// Sends a ping as an immediate command.
    pub fn nop_out(&mut self, data: Bytes) -> u32 {
        let tag = self.new_tag();
        let opcode = Opcode::NOP_OUT.0 | pdu::IMMEDIATE;
        let mut header = NopOut::from_wire(&pdu::blank(opcode, pdu::FINAL, tag));
        header.target_transfer_tag = RESERVED_TAG.into();
        header.cmd_sn = self.cmd_sn.into();
        header.exp_stat_sn = self.exp_stat_sn.into();
        self.send(header.to_wire(), data);
        tag
    }

    /// Requests the list of targets: `All`, a name, or empty. The response is [`Event::Targets`].
    pub fn send_targets(&mut self, value: &str) {
        let tag = self.new_tag();
        let mut request = Vec::new();
        text::push(&mut request, "SendTargets", value);
        self.targets_text.clear();
        self.targets_responses = 0;
        self.waiting.push_back(Waiting::Text {
            initiator_task_tag: tag,
            target_transfer_tag: RESERVED_TAG,
            text: request,
        });
        self.send_waiting();
    }

    /// Sends a Logout Request as an immediate command.
    pub fn logout(&mut self, reason: LogoutReason) {
        let tag = self.new_tag();
        let opcode = Opcode::LOGOUT_REQUEST.0 | pdu::IMMEDIATE;
        let mut header = LogoutRequest::from_wire(&pdu::blank(opcode, pdu::FINAL | reason.0, tag));
        header.cid = login::CID.into();
        header.cmd_sn = self.cmd_sn.into();
        header.exp_stat_sn = self.exp_stat_sn.into();
        self.send(header.to_wire(), Bytes::new());
    }

    /// Sends a PDU, and records the request in it.
    pub(super) fn send(&mut self, header: RawHeader, data: Bytes) {
        let basic = BasicHeader::from_wire(&header);
        let tag = basic.initiator_task_tag.get();
        if let Some(asked) = Asked::by(basic.opcode()).filter(|_| tag != RESERVED_TAG) {
            // Tags of PDUs that the caller builds need not be unique.
            *self.asked.entry((tag, asked)).or_insert(0) += 1;
        }
        self.output.push_bytes(header, data, self.digests);
    }

    /// Sends a request for targets, or for the rest of the list.
    pub(super) fn send_text(&mut self, initiator_task_tag: u32, target_transfer_tag: u32, text: Vec<u8>) {
        let mut header = TextRequest::from_wire(&pdu::blank(Opcode::TEXT_REQUEST.0, pdu::FINAL, initiator_task_tag));
        header.target_transfer_tag = target_transfer_tag.into();
        header.cmd_sn = self.take_cmd_sn().into();
        header.exp_stat_sn = self.exp_stat_sn.into();
        self.send(header.to_wire(), text.into());
    }

    /// Whether such a request with this tag is unanswered; marks it as answered.
    fn answers(&mut self, tag: u32, asked: Asked) -> bool {
        let Some(count) = self.asked.get_mut(&(tag, asked)) else { return false };
        *count -= 1;
        if *count == 0 {
            self.asked.remove(&(tag, asked));
        }
        true
    }

    /// Forgets a request that was rejected: no response will arrive.
    pub(super) fn forget_rejected(&mut self, header: &RawHeader) {
        let basic = BasicHeader::from_wire(header);
        if let Some(asked) = Asked::by(basic.opcode()) {
            self.answers(basic.initiator_task_tag.get(), asked);
        }
    }

    pub(super) fn handle_task_management(&mut self, pdu: &Pdu) {
        self.take_numbers(&pdu.header, true);
        let header = TaskManagementResponseHeader::from_wire(&pdu.header);
        let initiator_task_tag = header.initiator_task_tag.get();
        if self.answers(initiator_task_tag, Asked::TaskManagement) {
            let response = TaskManagementResponse(header.response);
            self.events.push_back(Event::TaskManagement { initiator_task_tag, response });
        }
    }

    pub(super) fn handle_logout(&mut self, pdu: &Pdu) {
        self.take_numbers(&pdu.header, true);
        let header = LogoutResponse::from_wire(&pdu.header);
        if !self.answers(header.initiator_task_tag.get(), Asked::Logout) {
            return self.protocol_error("an unsolicited logout response");
        }
        let response = LogoutResponseCode(header.response);
        self.events.push_back(Event::LoggedOut(response));
        if response == LogoutResponseCode::CLOSED {
            self.phase = super::Phase::Closed;
        }
    }

    pub(super) fn handle_nop_in(&mut self, pdu: &Pdu) {
        let header = NopIn::from_wire(&pdu.header);
        let tag = header.initiator_task_tag.get();
        self.take_numbers(&pdu.header, tag != RESERVED_TAG);
        if self.answers(tag, Asked::Ping) {
            self.events.push_back(Event::Pong { initiator_task_tag: tag, data: pdu.data.clone() });
        }
        if header.target_transfer_tag.get() != RESERVED_TAG {
            if self.pings.len() >= MAX_PINGS {
                return self.protocol_error("too many pings whose answers are not read");
            }
            let opcode = Opcode::NOP_OUT.0 | pdu::IMMEDIATE;
            let mut answer = NopOut::from_wire(&pdu::blank(opcode, pdu::FINAL, RESERVED_TAG));
            answer.lun = header.lun;
            answer.target_transfer_tag = header.target_transfer_tag;
            answer.cmd_sn = self.cmd_sn.into();
            answer.exp_stat_sn = self.exp_stat_sn.into();
            self.output.push_header(answer.to_wire(), self.digests);
            self.pings.push_back(self.handed_out_bytes.saturating_add(self.output.queued_bytes() as u64));
        }
    }

    pub(super) fn handle_text(&mut self, pdu: &Pdu) {
        self.take_numbers(&pdu.header, true);
        let header = TextResponse::from_wire(&pdu.header);
        if !self.answers(header.initiator_task_tag.get(), Asked::Text) {
            return self.protocol_error("an unsolicited text response");
        }
        self.targets_responses += 1;
        if self.targets_text.len() + pdu.data.len() > MAX_TARGETS_TEXT_BYTES
            || self.targets_responses > MAX_TARGETS_RESPONSES
        {
            return self.protocol_error("the list of targets is too long");
        }
        self.targets_text.extend_from_slice(&pdu.data);
        if header.flags & pdu::FINAL == 0 {
            let target_transfer_tag = header.target_transfer_tag.get();
            if target_transfer_tag == RESERVED_TAG {
                return self.protocol_error("a text response that is neither final nor to be continued");
            }
            self.waiting.push_back(Waiting::Text {
                initiator_task_tag: header.initiator_task_tag.get(),
                target_transfer_tag,
                text: Vec::new(),
            });
            return;
        }
        match parse_targets(&std::mem::take(&mut self.targets_text)) {
            Some(targets) => self.events.push_back(Event::Targets(targets)),
            None => self.protocol_error("malformed list of targets"),
        }
    }
}

/// Parses the list of targets. It may be longer than other text, so [`text::parse`] is not used.
fn parse_targets(list: &[u8]) -> Option<Vec<TargetRecord>> {
    let mut targets: Vec<TargetRecord> = Vec::new();
    for pair in list.split(|&byte| byte == 0).filter(|pair| !pair.is_empty()) {
        let (key, value) = str::from_utf8(pair).ok()?.split_once('=')?;
        match key {
            "TargetName" => targets.push(TargetRecord { name: value.to_owned(), addresses: Vec::new() }),
            "TargetAddress" => targets.last_mut()?.addresses.push(value.to_owned()),
            _ => {}
        }
    }
    Some(targets)
}
