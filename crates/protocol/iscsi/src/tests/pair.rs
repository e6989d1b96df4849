//! Initiator and target connected in memory, with a small medium behind the target.

use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};

use crate::chap::{Algorithm, Credentials};
use crate::connection::{
    self, Admission, Arrival, Authentication, CloseReason, Command, Connection, Directory, Refusal, Response,
    SessionIdentity, TargetRecord, TaskManagement,
};
use crate::framing::{self, Digests, Pdu};
use crate::initiator::{self, Completion, Initiator, Request, TransferRequest};
use crate::pdu::{BasicHeader, LoginStatus, Opcode, TaskAttribute, TaskManagementResponse};

pub(super) const INITIATOR: &str = "iqn.1994-05.com.example:host1";
pub(super) const TARGET: &str = "iqn.2026-01.org.example:t0";
pub(super) const LUN: [u8; 8] = [0; 8];
pub(super) const MEDIUM_BYTES: usize = 4 << 20;

pub(super) struct TestDirectory {
    pub authentication: Authentication,
    pub targets: Vec<TargetRecord>,
}

impl Default for TestDirectory {
    fn default() -> Self {
        let target = |name: &str| TargetRecord {
            name: name.to_owned(),
            addresses: vec!["192.0.2.1:3260,1".to_owned(), "[2001:db8::1]:3260,2".to_owned()],
        };
        Self {
            authentication: Authentication::None,
            targets: vec![target(TARGET), target("iqn.2026-01.org.example:t1")],
        }
    }
}

impl TestDirectory {
    pub fn chap(accepted: &[(&str, &str)], own: Option<(&str, &str)>) -> Self {
        let credentials = |&(name, secret): &(&str, &str)| Credentials::new(name, secret);
        let authentication = Authentication::Chap {
            accepted: accepted.iter().map(credentials).collect(),
            own: own.as_ref().map(credentials),
            algorithms: Algorithm::ALL.to_vec(),
        };
        Self { authentication, ..Self::default() }
    }
}

impl Directory for TestDirectory {
    fn targets(&self, _initiator_name: &str) -> Vec<TargetRecord> {
        self.targets.clone()
    }

    fn admit(&self, initiator_name: &str, target_name: Option<&str>) -> Result<Admission, Refusal> {
        if initiator_name.ends_with(":stranger") {
            return Err(Refusal::Status(LoginStatus::AUTHORIZATION_FAILURE));
        }
        match target_name {
            Some(name) if name.ends_with(":moved") => {
                return Err(Refusal::Moved { address: "192.0.2.9:3260".into(), permanently: false });
            }
            Some(name) if !self.targets.iter().any(|target| target.name == name) => {
                return Err(Refusal::Status(LoginStatus::TARGET_NOT_FOUND));
            }
            _ => {}
        }
        Ok(Admission {
            authentication: self.authentication.clone(),
            target_portal_group_tag: 1,
            target_alias: Some("test target".into()),
        })
    }

    fn canonical_lun(&self, lun: [u8; 8]) -> [u8; 8] {
        // Flat space addressing as peripheral device addressing.
        let [first, rest @ ..] = lun;
        let [a, b, c, d, e, f, g] = rest;
        [first & 0x3f, a, b, c, d, e, f, g]
    }

    fn arrival(&self, _lun: [u8; 8]) -> Arrival {
        Arrival { logical_unit: Some(Pair::LOGICAL_UNIT), content_generation: 0 }
    }

    fn data_out_bytes(&self, _lun: [u8; 8], cdb: &[u8; 16], expected: u32) -> u32 {
        if cdb[0] == 0x2A { transfer_bytes(cdb).min(expected) } else { 0 }
    }
}

/// Length in bytes of the transfer of a READ(10) or WRITE(10).
pub(super) fn transfer_bytes(cdb: &[u8; 16]) -> u32 {
    u32::from(u16::from_be_bytes([cdb[7], cdb[8]])) * 512
}

pub(super) struct Pair {
    pub now: Instant,
    pub target: Connection,
    pub initiator: Initiator,
    pub directory: TestDirectory,
    pub medium: Vec<u8>,
    /// Whether commands are answered at once; otherwise they accumulate in `commands`.
    pub serve: bool,
    pub accept: bool,
    pub commands: Vec<Command>,
    pub functions: Vec<TaskManagement>,
    pub opened: Option<SessionIdentity>,
    pub logout: bool,
    pub closed: Option<CloseReason>,
    pub events: Vec<initiator::Event>,
    /// All PDUs that the target has sent; recorded only while digests are off.
    pub sent: Vec<Pdu>,
    /// Bytes transferred in one step.
    pub step: usize,
    pub to_target: BytesMut,
    to_initiator: BytesMut,
    target_input: BytesMut,
    initiator_input: BytesMut,
    wire_log: BytesMut,
}

impl Pair {
    /// Logical unit at every LUN.
    pub const LOGICAL_UNIT: u64 = 7;

    pub fn with(config: initiator::Config, target_config: connection::Config, directory: TestDirectory) -> Self {
        let now = Instant::now();
        Self {
            now,
            target: Connection::new(now, target_config, [1; 32]),
            initiator: Initiator::new(config, [2; 32]),
            directory,
            medium: vec![0; MEDIUM_BYTES],
            serve: true,
            accept: true,
            commands: Vec::new(),
            functions: Vec::new(),
            opened: None,
            logout: false,
            closed: None,
            events: Vec::new(),
            sent: Vec::new(),
            step: usize::MAX,
            to_target: BytesMut::new(),
            to_initiator: BytesMut::new(),
            target_input: BytesMut::new(),
            initiator_input: BytesMut::new(),
            wire_log: BytesMut::new(),
        }
    }

    /// Creates a pair that is logged in with `config`.
    pub fn logged_in_with(config: initiator::Config, target_config: connection::Config) -> Self {
        let mut pair = Self::with(config, target_config, TestDirectory::default());
        pair.drive();
        assert!(matches!(pair.events.as_slice(), [initiator::Event::LoggedIn { .. }]), "{:?}", pair.events);
        pair.events.clear();
        pair.sent.clear();
        pair
    }

    pub fn logged_in() -> Self {
        Self::logged_in_with(initiator::Config::new(INITIATOR, TARGET), connection::Config::default())
    }

    /// Transfers bytes and handles events until both ends are idle.
    pub fn drive(&mut self) {
        loop {
            let mut moved = false;
            while let Some(chunk) = self.initiator.poll_output() {
                self.to_target.extend_from_slice(&chunk);
            }
            while !self.to_target.is_empty() {
                let length = self.step.min(self.to_target.len());
                let piece = self.to_target.split_to(length);
                self.target_input.extend_from_slice(&piece);
                self.target.handle_input(self.now, &mut self.target_input, &self.directory);
                self.target_events();
                moved = true;
            }
            self.target.handle_input(self.now, &mut self.target_input, &self.directory);
            moved |= self.target_events();
            while let Some(chunk) = self.target.poll_output() {
                self.to_initiator.extend_from_slice(&chunk);
                self.log(&chunk);
            }
            while !self.to_initiator.is_empty() {
                let length = self.step.min(self.to_initiator.len());
                let piece = self.to_initiator.split_to(length);
                self.initiator_input.extend_from_slice(&piece);
                self.initiator.handle_input(&mut self.initiator_input);
                moved = true;
            }
            while let Some(event) = self.initiator.poll_event() {
                self.events.push(event);
                moved = true;
            }
            if !moved {
                return;
            }
        }
    }

    fn log(&mut self, chunk: &[u8]) {
        if self.target.parameters().header_digest || self.target.parameters().data_digest {
            return;
        }
        self.wire_log.extend_from_slice(chunk);
        while let Some(pdu) = framing::take_pdu(&mut self.wire_log, Digests::default(), 0x00FF_FFFF).unwrap() {
            self.sent.push(pdu);
        }
    }

    fn target_events(&mut self) -> bool {
        let mut any = false;
        while let Some(event) = self.target.poll_event() {
            any = true;
            match event {
                connection::Event::SessionOpening(identity) => {
                    self.opened = Some(identity);
                    if self.accept {
                        assert!(self.target.accept_session(7));
                    }
                }
                connection::Event::Command(command) if self.serve => drop(self.answer(&command)),
                connection::Event::Command(command) => self.commands.push(command),
                connection::Event::TaskManagement(function) => {
                    if self.serve {
                        self.target.respond_task_management(function.handle, TaskManagementResponse::COMPLETE);
                    }
                    self.functions.push(function);
                }
                connection::Event::Logout => {
                    self.logout = true;
                    self.target.finish_logout();
                }
                connection::Event::Closed(reason) => self.closed = Some(reason),
            }
        }
        any
    }

    /// Device server with READ(10), WRITE(10) and a 36-byte INQUIRY.
    pub fn answer(&mut self, command: &Command) -> bool {
        let cdb = &command.cdb;
        let start = u32::from_be_bytes([cdb[2], cdb[3], cdb[4], cdb[5]]) as usize * 512;
        let bytes = transfer_bytes(cdb) as usize;
        let data = match cdb[0] {
            0x28 => Bytes::copy_from_slice(&self.medium[start..start + bytes]),
            0x2A => {
                self.medium[start..start + command.data_out.len()].copy_from_slice(&command.data_out);
                Bytes::new()
            }
            0x12 => Bytes::from_static(&[0x5A; 36]),
            0x00 => Bytes::new(),
            _ => {
                let sense = [0x70, 0, 5, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0x20, 0, 0, 0, 0, 0];
                let response = Response { status: 2, sense: &sense, ..Response::default() };
                return self.target.respond(command.task, response);
            }
        };
        let transfer_bytes = if cdb[0] == 0x2A { bytes as u64 } else { data.len() as u64 };
        self.target.respond(command.task, Response { status: 0, sense: &[], data_in: data, transfer_bytes })
    }

    pub fn advance(&mut self, by: Duration) {
        self.now += by;
        self.target.handle_timeout(self.now);
        self.drive();
    }

    pub fn command(&mut self, cdb: &[u8], transfer: TransferRequest) -> u32 {
        self.initiator.command(request(cdb, transfer))
    }

    pub fn run(&mut self, cdb: &[u8], transfer: TransferRequest) -> Completion {
        let tag = self.command(cdb, transfer);
        self.drive();
        self.completion(tag).unwrap_or_else(|| panic!("no answer: {:?} {:?}", self.events, self.closed))
    }

    pub fn completion(&mut self, tag: u32) -> Option<Completion> {
        let of_tag = |event: &initiator::Event| match event {
            initiator::Event::Completed(completion) => completion.initiator_task_tag == tag,
            _ => false,
        };
        let position = self.events.iter().position(of_tag)?;
        match self.events.remove(position) {
            initiator::Event::Completed(completion) => Some(completion),
            _ => None,
        }
    }

    pub fn sent_opcodes(&self) -> Vec<Opcode> {
        self.sent.iter().map(|pdu| BasicHeader::from_wire(&pdu.header).opcode()).collect()
    }
}

pub(super) fn request(cdb: &[u8], transfer: TransferRequest) -> Request {
    let mut padded = [0; 16];
    padded[..cdb.len()].copy_from_slice(cdb);
    Request { lun: LUN, cdb: padded, attribute: TaskAttribute::SIMPLE, immediate: false, transfer }
}

pub(super) fn read10(lba: u32, blocks: u16) -> [u8; 10] {
    let [a, b, c, d] = lba.to_be_bytes();
    let [e, f] = blocks.to_be_bytes();
    [0x28, 0, a, b, c, d, 0, e, f, 0]
}

pub(super) fn write10(lba: u32, blocks: u16) -> [u8; 10] {
    let mut cdb = read10(lba, blocks);
    cdb[0] = 0x2A;
    cdb
}

pub(super) fn pattern(length: usize) -> Bytes {
    (0..length).map(|i| (i ^ (i >> 8) ^ (i >> 16)) as u8).collect()
}
