//! Text Requests in full feature phase, RFC 7143 §11.10: SendTargets (Appendix C) and other text
//! keys of this phase. One text negotiation at a time; both directions may take several PDUs.

use super::{Connection, Directory, SessionType};
use crate::framing::Pdu;
use crate::names;
use crate::pdu::{self, Opcode, RESERVED_TAG, RejectReason, TextRequest, TextResponse};
use crate::text;

/// State of the text negotiation in progress.
#[derive(Debug, Default)]
pub(super) struct TextPhase {
    /// Target Transfer Tag that the next request has to carry.
    expected_tag: Option<u32>,
    inbound: Vec<u8>,
    outbound: Vec<u8>,
    sent: usize,
}

impl Connection {
    pub(super) fn handle_text(&mut self, header: &TextRequest, pdu: &Pdu, directory: &dyn Directory) {
        let tag = header.target_transfer_tag.get();
        let last = header.flags & pdu::FINAL != 0;
        let continued = header.flags & pdu::CONTINUE != 0;
        if last && continued {
            return self.reject(RejectReason::INVALID_PDU_FIELD, &pdu.header);
        }
        if tag == RESERVED_TAG {
            self.text = TextPhase::default(); // a new negotiation ends the old one
        } else if self.text.expected_tag != Some(tag) {
            return self.reject(RejectReason::INVALID_PDU_FIELD, &pdu.header);
        }
        if self.text.inbound.len() + pdu.data.len() > text::MAX_TEXT_BYTES {
            self.text = TextPhase::default();
            return self.reject(RejectReason::PROTOCOL_ERROR, &pdu.header);
        }
        self.text.inbound.extend_from_slice(&pdu.data);
        if continued {
            return self.text_response(header.initiator_task_tag.get(), Vec::new(), false, false);
        }
        if self.text.sent >= self.text.outbound.len() {
            let inbound = std::mem::take(&mut self.text.inbound);
            let mut outbound = Vec::new();
            if self.answer_text(&inbound, &mut outbound, directory).is_err() {
                self.text = TextPhase::default();
                return self.reject(RejectReason::PROTOCOL_ERROR, &pdu.header);
            }
            self.text.outbound = outbound;
            self.text.sent = 0;
        } else if !self.text.inbound.is_empty() {
            self.text = TextPhase::default();
            return self.reject(RejectReason::PROTOCOL_ERROR, &pdu.header);
        }
        let limit = self.parameters.initiator_max_recv_data_segment_length as usize;
        let rest = self.text.outbound.get(self.text.sent..).unwrap_or_default();
        let piece = rest.get(..limit).unwrap_or(rest).to_vec();
        self.text.sent += piece.len();
        let more = self.text.sent < self.text.outbound.len();
        self.text_response(header.initiator_task_tag.get(), piece, last && !more, more);
    }

    fn text_response(&mut self, initiator_task_tag: u32, text: Vec<u8>, last: bool, more: bool) {
        let mut flags = 0;
        let mut tag = RESERVED_TAG;
        if last {
            flags |= pdu::FINAL;
            self.text = TextPhase::default();
        } else {
            tag = self.tags.new_target_transfer_tag();
            self.text.expected_tag = Some(tag);
        }
        if more {
            flags |= pdu::CONTINUE;
        }
        let mut header = TextResponse::from_wire(&pdu::blank(Opcode::TEXT_RESPONSE.0, flags, initiator_task_tag));
        header.target_transfer_tag = tag.into();
        header.stat_sn = self.outbound.advance_stat_sn().into();
        header.exp_cmd_sn = self.window.exp_cmd_sn().into();
        header.max_cmd_sn = self.window.max_cmd_sn().into();
        self.outbound.push_slice(header.to_wire(), &text);
    }

    fn answer_text(
        &mut self,
        inbound: &[u8],
        outbound: &mut Vec<u8>,
        directory: &dyn Directory,
    ) -> Result<(), text::TextError> {
        for (key, value) in text::parse(inbound)? {
            match key {
                "SendTargets" => self.send_targets(value, outbound, directory),
                "MaxRecvDataSegmentLength" => {
                    let limits = self.config.limits.clone();
                    if self.parameters.answer(&limits, key, value) == crate::parameters::Answer::Reject {
                        text::push(outbound, key, "Reject");
                    }
                }
                "HeaderDigest"
                | "DataDigest"
                | "InitialR2T"
                | "ImmediateData"
                | "MaxBurstLength"
                | "FirstBurstLength"
                | "MaxOutstandingR2T"
                | "DefaultTime2Wait"
                | "DefaultTime2Retain"
                | "MaxConnections"
                | "IFMarker"
                | "ErrorRecoveryLevel"
                | "TaskReporting"
                | "DataPDUInOrder"
                | "DataSequenceInOrder"
                | "AuthMethod"
                | "iSCSIProtocolLevel"
                | "OFMarker"
                | "IFMarkInt"
                | "OFMarkInt" => text::push(outbound, key, "Reject"),
                "InitiatorAlias" => {}
                _ => text::push(outbound, key, "NotUnderstood"),
            }
        }
        Ok(())
    }

    /// SendTargets, RFC 7143 Appendix C: `All`, in discovery sessions only; a name; or empty, for
    /// the target of this session.
    fn send_targets(&self, value: &str, outbound: &mut Vec<u8>, directory: &dyn Directory) {
        let Some(identity) = &self.identity else {
            return;
        };
        let discovery = identity.session_type == SessionType::Discovery;
        let own = identity.target_name.as_deref();
        let wanted = match value {
            "All" if discovery => None,
            "" if !discovery => own.map(str::to_owned),
            "All" | "" => return text::push(outbound, "SendTargets", "Reject"),
            name => match names::normalize(name) {
                Ok(name) if discovery || own == Some(&name) => Some(name),
                Ok(_) => return,
                Err(_) => return text::push(outbound, "SendTargets", "Reject"),
            },
        };
        for target in directory.targets(&identity.initiator_name) {
            if wanted.as_ref().is_some_and(|wanted| *wanted != target.name) {
                continue;
            }
            text::push(outbound, "TargetName", &target.name);
            for address in &target.addresses {
                text::push(outbound, "TargetAddress", address);
            }
        }
    }
}
