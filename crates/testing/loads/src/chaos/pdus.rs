//! PDUs of an initiator as bytes. Nothing here waits for an answer, so numbers that a target
//! chooses are guessed: a target does not check ExpStatSN before it is acknowledged, and Target
//! Transfer Tags are small numbers in practice.

use bytes::{Bytes, BytesMut};
use iscsi::framing::{Digests, Output};
use iscsi::pdu::{self, Opcode, RawHeader};
use iscsi::text;

use super::script::Facts;

/// Output of one end of a conversation, PDU by PDU.
#[derive(Clone, Debug)]
pub(super) struct PduSequence {
    /// PDUs as bytes.
    pub pdus: Vec<Vec<u8>>,
    pub digests: Digests,
    pub cmd_sn: u32,
    pub exp_stat_sn: u32,
    next_tag: u32,
}

/// Parameters of a login.
#[derive(Clone, Debug)]
pub(super) struct LoginParameters {
    /// Last part of InitiatorName.
    pub name: String,
    /// Last bytes of the ISID.
    pub qualifier: u16,
    pub digests: Digests,
    pub initial_r2t: bool,
    pub discovery: bool,
}

impl LoginParameters {
    pub fn new(name: impl Into<String>, qualifier: u16) -> Self {
        Self { name: name.into(), qualifier, digests: Digests::default(), initial_r2t: false, discovery: false }
    }
}

/// Encodes a PDU with correct lengths and digests.
pub(super) fn bytes(header: RawHeader, data: &[u8], digests: Digests) -> Vec<u8> {
    let mut output = Output::default();
    output.push_bytes(header, Bytes::copy_from_slice(data), digests);
    let mut all = BytesMut::new();
    while let Some(chunk) = output.next_chunk() {
        all.extend_from_slice(&chunk);
    }
    all.to_vec()
}

/// Stores a number in a header.
pub(super) fn put(header: &mut RawHeader, at: usize, value: u32) {
    if let Some(field) = header.get_mut(at..at + 4) {
        field.copy_from_slice(&value.to_be_bytes());
    }
}

impl PduSequence {
    pub fn new() -> Self {
        Self { pdus: Vec::new(), digests: Digests::default(), cmd_sn: 1, exp_stat_sn: 0, next_tag: 1 }
    }

    /// Begins with a login that reaches the full feature phase, if nothing goes wrong.
    pub fn opened(facts: &Facts, opening: &LoginParameters) -> Self {
        let mut sequence = Self::new();
        let mut keys = Vec::new();
        text::push(&mut keys, "InitiatorName", &format!("iqn.2026-01.org.example:{}", opening.name));
        if opening.discovery {
            text::push(&mut keys, "SessionType", "Discovery");
        } else {
            text::push(&mut keys, "SessionType", "Normal");
            text::push(&mut keys, "TargetName", &facts.target);
        }
        let digest = |on| if on { "CRC32C" } else { "None" };
        text::push(&mut keys, "HeaderDigest", digest(opening.digests.header));
        text::push(&mut keys, "DataDigest", digest(opening.digests.data));
        text::push(&mut keys, "InitialR2T", text::boolean_word(opening.initial_r2t));
        text::push(&mut keys, "ImmediateData", "Yes");
        text::push(&mut keys, "MaxRecvDataSegmentLength", "65536");
        text::push(&mut keys, "FirstBurstLength", "65536");
        text::push(&mut keys, "MaxBurstLength", "262144");
        let mut header = pdu::blank(Opcode::LOGIN_REQUEST.0 | pdu::IMMEDIATE, 0x87, 0);
        let [high, low] = opening.qualifier.to_be_bytes();
        if let Some(isid) = header.get_mut(8..14) {
            isid.copy_from_slice(&[0x80, 0, 0, 0, high, low]);
        }
        put(&mut header, 24, sequence.cmd_sn);
        sequence.pdus.push(bytes(header, &keys, Digests::default()));
        sequence.digests = opening.digests;
        sequence.exp_stat_sn = 1;
        sequence
    }

    pub fn tag(&mut self) -> u32 {
        self.next_tag += 1;
        self.next_tag
    }

    fn numbered(&mut self, header: &mut RawHeader, immediate: bool) {
        put(header, 24, self.cmd_sn);
        put(header, 28, self.exp_stat_sn);
        if immediate {
            header[0] |= pdu::IMMEDIATE;
        } else {
            self.cmd_sn = self.cmd_sn.wrapping_add(1);
        }
    }

    /// Adds a PDU.
    pub fn push(&mut self, header: RawHeader, data: &[u8]) {
        self.pdus.push(bytes(header, data, self.digests));
    }

    /// Adds a SCSI Command with `immediate` data; `expected` bytes, of Data-Out when `flags` has W.
    /// Returns its tag.
    pub fn command(&mut self, lun: [u8; 8], cdb: &[u8], flags: u8, expected: u32, immediate: &[u8]) -> u32 {
        let tag = self.tag();
        let mut header = pdu::blank(Opcode::SCSI_COMMAND.0, flags, tag);
        header[8..16].copy_from_slice(&lun);
        put(&mut header, 20, expected);
        for (to, from) in header.iter_mut().skip(32).zip(cdb) {
            *to = *from;
        }
        self.numbered(&mut header, false);
        self.push(header, immediate);
        tag
    }

    /// Adds a Data-Out PDU.
    pub fn data_out(&mut self, tag: u32, transfer_tag: u32, data_sn: u32, offset: u32, last: bool, data: &[u8]) {
        let flags = if last { pdu::FINAL } else { 0 };
        let mut header = pdu::blank(Opcode::DATA_OUT.0, flags, tag);
        put(&mut header, 20, transfer_tag);
        put(&mut header, 28, self.exp_stat_sn);
        put(&mut header, 36, data_sn);
        put(&mut header, 40, offset);
        self.push(header, data);
    }

    /// Adds any other request that is numbered as a command. `word` is stored in the place of its
    /// Target Transfer Tag, Referenced Task Tag or reason.
    pub fn request(&mut self, opcode: Opcode, flags: u8, word: u32, immediate: bool, data: &[u8]) -> u32 {
        let tag = self.tag();
        let mut header = pdu::blank(opcode.0, flags, tag);
        put(&mut header, 20, word);
        self.numbered(&mut header, immediate);
        self.push(header, data);
        tag
    }

    /// Adds a ping as an immediate command.
    pub fn ping(&mut self, data: &[u8]) {
        self.request(Opcode::NOP_OUT, pdu::FINAL, pdu::RESERVED_TAG, true, data);
    }

    /// Adds a Logout Request for the session.
    pub fn logout(&mut self) {
        self.request(Opcode::LOGOUT_REQUEST, pdu::FINAL, 0, true, &[]);
    }

    /// All PDUs in one piece.
    pub fn stream(&self) -> Vec<u8> {
        self.pdus.concat()
    }
}
