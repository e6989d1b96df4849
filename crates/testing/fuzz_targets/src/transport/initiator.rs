//! Initiator against a malicious target: any Login Responses, with correct and wrong answers to its
//! challenge; then any PDUs. Required: its output is bounded by its requests, and a target that did
//! not authenticate is not accepted.

use super::text::KEYS;
use super::wire;
use crate::array::{INITIATOR, TARGET};
use crate::input::{Reader, Writer};
use bytes::{Bytes, BytesMut};
use iscsi::chap::{Algorithm, Credentials};
use iscsi::framing::Digests;
use iscsi::initiator::{Chap, Config, Event, Initiator, Request, TransferRequest};
use iscsi::pdu::{self, LogoutReason, Opcode, TaskAttribute, TaskManagementFunction};
use iscsi::text;

const USER: (&str, &str) = ("user", "a-secret-secret");
const TARGET_USER: (&str, &str) = ("array", "another-secret-1");
const WRITE_BYTES: usize = 40_000;

struct Rig {
    initiator: Initiator,
    buffer: BytesMut,
    heard: BytesMut,
    stat_sn: u32,
    sent_bytes: usize,
    /// CHAP_I and CHAP_C of the initiator, for mutual authentication.
    challenge: Option<(u8, Vec<u8>)>,
    algorithm: Algorithm,
    mutual: bool,
    proven: bool,
    tags: Vec<u32>,
    data_out_bytes: usize,
    received_bytes: usize,
}

impl Rig {
    fn new(flags: u8) -> Self {
        let mut config = if flags & 64 != 0 { Config::discovery(INITIATOR) } else { Config::new(INITIATOR, TARGET) };
        let mutual = flags & 3 == 3;
        if flags & 1 != 0 {
            config.chap = Some(Chap {
                own: Credentials::new(USER.0, USER.1),
                target: mutual.then(|| Credentials::new(TARGET_USER.0, TARGET_USER.1)),
                algorithms: Algorithm::ALL.to_vec(),
            });
        }
        config.initial_r2t = flags & 4 != 0;
        config.immediate_data = flags & 8 == 0;
        if flags & 16 != 0 {
            config.header_digest = "CRC32C,None".into();
        }
        if flags & 32 != 0 {
            config.data_digest = "CRC32C,None".into();
        }
        config.max_recv_data_segment_length = 8192;
        Self {
            initiator: Initiator::new(config, [6; 32]),
            buffer: BytesMut::new(),
            heard: BytesMut::new(),
            stat_sn: 1,
            sent_bytes: 0,
            challenge: None,
            algorithm: Algorithm::Sha256,
            mutual,
            proven: false,
            tags: Vec::new(),
            data_out_bytes: 0,
            received_bytes: 0,
        }
    }

    fn digests(&self) -> Digests {
        let parameters = self.initiator.parameters();
        let on = self.initiator.is_full_feature();
        Digests { header: on && parameters.header_digest, data: on && parameters.data_digest }
    }

    /// Reads the initiator's output.
    fn hear(&mut self) {
        while let Some(chunk) = self.initiator.poll_output() {
            self.sent_bytes += chunk.len();
            self.heard.extend_from_slice(&chunk);
        }
        if !self.initiator.is_full_feature() {
            // Its own challenge is in a Login Request, never split over two PDUs.
            let text = self.heard.split().freeze();
            let pairs = text.get(48..).map(|text| text.split(|byte| *byte == 0)).into_iter().flatten();
            let mut identifier = None;
            for pair in pairs.filter_map(|pair| std::str::from_utf8(pair).ok()) {
                match pair.split_once('=') {
                    Some(("CHAP_I", value)) => identifier = value.parse().ok(),
                    Some(("CHAP_C", value)) => {
                        self.challenge = identifier.zip(text::binary(value, 1024));
                    }
                    _ => {}
                }
            }
        }
        self.heard.clear();
        while let Some(event) = self.initiator.poll_event() {
            match event {
                Event::LoggedIn { .. } => {
                    assert!(!self.mutual || self.proven, "a target was believed that proved nothing");
                }
                Event::Completed(completion) => {
                    assert!(completion.data_in.len() <= 40_000);
                    self.tags.retain(|tag| *tag != completion.initiator_task_tag);
                }
                _ => {}
            }
        }
        // Requested data, answers to pings and logins, and headers.
        let bound = 2 * self.data_out_bytes + 200 * self.received_bytes + 100_000;
        assert!(self.sent_bytes <= bound, "{} bytes were sent", self.sent_bytes);
    }

    fn say(&mut self, bytes: &[u8]) {
        self.received_bytes += bytes.len();
        self.buffer.extend_from_slice(bytes);
        self.initiator.handle_input(&mut self.buffer);
        self.hear();
        assert!(self.buffer.capacity() <= 1 << 20, "too much room was made");
    }

    fn login_response(&mut self, reader: &mut Reader<'_>) {
        let flags = match reader.u8() {
            flags @ 0..=7 => [0x87, 0x81, 0x00, 0x04, 0x40, 0x44, 0x83, 0x87][usize::from(flags)],
            other => other,
        };
        let mut header = pdu::blank(Opcode::LOGIN_RESPONSE.0, flags, 0);
        let status = reader.u8();
        if status & 0x80 != 0 {
            (header[36], header[37]) = (status & 7, reader.u8());
        }
        let mut bytes = Vec::new();
        for _ in 0..reader.u8() % 12 {
            match reader.u8() {
                0..=31 => bytes.extend_from_slice(reader.short()),
                32..=79 => {
                    let (key, value) = reader.choose(KEYS);
                    text::push(&mut bytes, key, value);
                }
                80..=127 => {
                    let (key, _) = reader.choose(KEYS);
                    text::push(&mut bytes, key, &String::from_utf8_lossy(reader.short()));
                }
                128..=159 => text::push(&mut bytes, "AuthMethod", reader.choose(&["CHAP", "None", "Reject"])),
                160..=191 => {
                    self.algorithm = reader.choose(&Algorithm::ALL);
                    text::push(&mut bytes, "CHAP_A", &self.algorithm.number().to_string());
                    text::push(&mut bytes, "CHAP_I", &reader.u8().to_string());
                    text::push(&mut bytes, "CHAP_C", &text::binary_text(&[reader.u8(); 16]));
                }
                _ => {
                    let (identifier, challenge) = self.challenge.clone().unwrap_or_default();
                    let (name, secret) = reader.choose(&[TARGET_USER, USER, ("array", "another-secret-2")]);
                    let response = self.algorithm.response(identifier, secret.as_bytes(), &challenge);
                    self.proven |= (name, secret) == TARGET_USER;
                    text::push(&mut bytes, "CHAP_N", name);
                    text::push(&mut bytes, "CHAP_R", &text::binary_text(&response));
                }
            }
        }
        self.number(&mut header, true);
        self.say(&wire::pdu(header, &[], &bytes, Digests::default()));
    }

    fn number(&mut self, header: &mut [u8; 48], status: bool) {
        header[24..28].copy_from_slice(&self.stat_sn.to_be_bytes());
        self.stat_sn = self.stat_sn.wrapping_add(u32::from(status));
        let cmd_sn = self.initiator.cmd_sn();
        header[28..32].copy_from_slice(&cmd_sn.to_be_bytes());
        header[32..36].copy_from_slice(&cmd_sn.wrapping_add(7).to_be_bytes());
    }

    fn act(&mut self, reader: &mut Reader<'_>) {
        if !self.initiator.is_full_feature() {
            return;
        }
        let length = usize::from(reader.u16()) % WRITE_BYTES;
        let kind = reader.u8();
        match kind % 10 {
            0..=2 => {
                let tag = self.command(TransferRequest::Out(Bytes::from(vec![kind; length])), kind);
                self.data_out_bytes += length;
                self.tags.push(tag);
            }
            3..=5 => {
                let tag = self.command(TransferRequest::In(u32::try_from(length).unwrap_or(0)), kind);
                self.tags.push(tag);
            }
            6 => {
                let last = self.tags.last().copied();
                let _tag = self.initiator.task_management(TaskManagementFunction(1 + kind % 8), [0; 8], last);
            }
            7 => {
                self.data_out_bytes += length.min(8192);
                let _tag = self.initiator.nop_out(Bytes::from(vec![1; length.min(8192)]));
            }
            8 => self.initiator.send_targets("All"),
            _ => self.initiator.logout(LogoutReason(kind % 3)),
        }
        self.hear();
    }

    fn command(&mut self, transfer: TransferRequest, kind: u8) -> u32 {
        self.initiator.command(Request {
            lun: [0; 8],
            cdb: [kind; 16],
            attribute: TaskAttribute(kind % 5),
            immediate: kind & 0x80 != 0,
            transfer,
        })
    }

    fn response(&mut self, reader: &mut Reader<'_>) {
        let opcode = reader.choose(&[0x21, 0x25, 0x31, 0x25, 0x31, 0x20, 0x22, 0x24, 0x26, 0x32, 0x3F, 0x23]);
        let flags = reader.u8();
        let which = reader.u8();
        let tag = match self.tags.get(usize::from(which) % (self.tags.len() + 1)) {
            Some(tag) if which < 200 => *tag,
            _ if which < 220 => 0xFFFF_FFFF,
            _ => u32::from(which),
        };
        let mut header = pdu::blank(opcode, flags, tag);
        self.number(&mut header, true);
        // Offsets, lengths, residuals and tags, in PDUs that have them.
        for at in [2, 20, 36, 40, 44] {
            match reader.u8() {
                0 => {}
                small @ 1..=100 => header[at + 3] = small,
                101..=200 => header[at + 2..at + 4].copy_from_slice(&reader.bytes::<2>()),
                _ => header[at..at + 4].copy_from_slice(&reader.bytes::<4>()),
            }
        }
        if reader.u8() & 0x80 != 0 {
            header[24..36].copy_from_slice(&reader.bytes::<12>());
        }
        let data = match reader.u8() {
            blocks @ 0..=17 => vec![blocks; usize::from(blocks) * 512],
            18..=40 => vec![7; usize::from(reader.u16()) % 10_000],
            _ => reader.short().to_vec(),
        };
        let bytes = wire::pdu(header, &[], &data, self.digests());
        self.say(&bytes);
    }
}

/// Input: a byte that selects the negotiation, then steps.
pub(crate) fn run(input: &[u8]) {
    let mut reader = Reader::new(input);
    let mut rig = Rig::new(reader.u8());
    rig.hear();
    let mut steps = 0;
    while !reader.is_empty() && steps < 300 {
        steps += 1;
        match reader.u8() {
            0..=79 => rig.login_response(&mut reader),
            80..=149 => rig.act(&mut reader),
            150..=229 => rig.response(&mut reader),
            230..=244 => rig.say(reader.short()),
            _ => {
                let header: [u8; 48] = reader.bytes();
                let bytes = wire::pdu(header, &[], reader.short(), rig.digests());
                rig.say(&bytes);
            }
        }
    }
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let login =
        |flags: u8| Writer::default().u8(flags).u8(0).u8(0).u8(0).u8(3).u8(32).u8(15).u8(32).u8(31).u8(32).u8(16);
    let numbers = |writer: Writer, values: [u8; 5]| writer.raw(&values).u8(0);
    // A write: its R2T, its response. A read: two Data-In, the second with status.
    let write = login(4 + 8).u8(80).u16(2048).u8(0);
    let write = numbers(write.u8(150).u8(2).u8(0x80).u8(0), [0, 9, 0, 0, 0]).u8(0);
    let write = numbers(write.u8(150).u8(0).u8(0x80).u8(0), [0, 0, 0, 0, 0]).u8(0);
    let solicited = login(4 + 8).u8(80).u16(2048).u8(0).u8(150).u8(2).u8(0x80).u8(0);
    let solicited = solicited.u8(0).u8(9).u8(0).u8(0).u8(101).u16(2048).u8(0).u8(0);
    let read = login(0).u8(80).u16(1024).u8(3);
    let read = numbers(read.u8(150).u8(1).u8(0x00).u8(0), [0, 0, 0, 0, 0]).u8(1);
    let read = read.u8(150).u8(1).u8(0x81).u8(0).u8(0).u8(0).u8(1).u8(101).u16(512).u8(0).u8(0).u8(1);
    let chap = |flags: u8| {
        let writer = Writer::default().u8(flags).u8(0).u8(2).u8(0).u8(1).u8(128).u8(0);
        let writer = writer.u8(0).u8(2).u8(0).u8(1).u8(160).u8(1).u8(9).u8(7);
        let writer = writer.u8(0).u8(1).u8(0).u8(1).u8(192).u8(0);
        writer.u8(0).u8(0).u8(0).u8(0)
    };
    let targets = login(64).u8(80).u16(0).u8(8);
    let text = b"TargetName=iqn.2026-01.org.example:t0\0TargetAddress=192.0.2.1:3260,1\0";
    let targets = numbers(targets.u8(150).u8(7).u8(0x80).u8(201), [0, 0, 0, 0, 0]).u8(255).short(text);
    let ping = login(0).u8(80).u16(64).u8(7);
    let ping = numbers(ping.u8(150).u8(5).u8(0x80).u8(201), [0, 9, 0, 0, 0]).u8(255).short(b"data");
    [login(0), login(48), write, solicited, read, chap(1), chap(3), targets, ping].map(|writer| writer.0).to_vec()
}
