//! One iSCSI connection at the initiator, without I/O (RFC 7143): login with CHAP and digests,
//! SendTargets, SCSI commands with immediate, unsolicited and solicited data, task management, NOP,
//! logout; and raw PDUs, for tests.
//!
//! The shell writes [`Initiator::poll_output`], passes received bytes to
//! [`Initiator::handle_input`] and takes [`Event`]s. Commands beyond the CmdSN window are queued
//! here. Queues hold only requests of the shell and the results of one piece of input: a target
//! cannot make them longer. The shell should therefore take events after each piece, and take
//! output no faster than it writes it.

mod login;
mod requests;
mod transfer;

use std::collections::{BTreeMap, VecDeque};

use bytes::{Bytes, BytesMut};

use crate::chap::{Algorithm, Credentials};
use crate::connection::{SessionType, TargetRecord};
use crate::framing::{self, Digests, FramingError, Output, Pdu};
use crate::parameters::Parameters;
use crate::pdu::{
    self, AsyncEvent, AsyncMessage, BasicHeader, LoginStatus, LogoutResponseCode, NopIn, Opcode, RESERVED_TAG,
    RawHeader, Reject, RejectReason, TaskAttribute, TaskManagementResponse,
};
use login::Login;
use requests::Asked;
use transfer::Transfer;

/// CHAP settings of an initiator.
#[derive(Clone, Debug)]
pub struct Chap {
    /// Our credentials.
    pub own: Credentials,
    /// Credentials expected of the target, for mutual authentication.
    pub target: Option<Credentials>,
    /// Hash functions to offer, best first.
    pub algorithms: Vec<Algorithm>,
}

/// Settings of a connection.
#[derive(Clone, Debug)]
pub struct Config {
    /// InitiatorName.
    pub initiator_name: String,
    /// ISID.
    pub isid: [u8; 6],
    /// TargetName; not used for discovery.
    pub target_name: String,
    /// Normal or discovery.
    pub session_type: SessionType,
    /// Authentication, if configured.
    pub chap: Option<Chap>,
    /// Value of HeaderDigest to offer: `None`, `CRC32C`, or both with a comma.
    pub header_digest: String,
    /// Value of DataDigest to offer.
    pub data_digest: String,
    /// InitialR2T to offer.
    pub initial_r2t: bool,
    /// ImmediateData to offer.
    pub immediate_data: bool,
    /// MaxBurstLength to offer, in bytes.
    pub max_burst_length: u32,
    /// FirstBurstLength to offer, in bytes.
    pub first_burst_length: u32,
    /// MaxOutstandingR2T to offer.
    pub max_outstanding_r2t: u16,
    /// MaxRecvDataSegmentLength to declare, in bytes.
    pub max_recv_data_segment_length: u32,
    /// Additional `key=value` pairs for the operational stage.
    pub more_keys: Vec<(String, String)>,
}

impl Config {
    /// Creates settings of a normal session, with the values that hosts commonly use.
    pub fn new(initiator_name: impl Into<String>, target_name: impl Into<String>) -> Self {
        Self {
            initiator_name: initiator_name.into(),
            isid: [0x00, 0x02, 0x3D, 0, 0, 1],
            target_name: target_name.into(),
            session_type: SessionType::Normal,
            chap: None,
            header_digest: "None".into(),
            data_digest: "None".into(),
            initial_r2t: false,
            immediate_data: true,
            max_burst_length: 262_144,
            first_burst_length: 262_144,
            max_outstanding_r2t: 1,
            max_recv_data_segment_length: 262_144,
            more_keys: Vec::new(),
        }
    }

    /// Creates settings of a discovery session.
    pub fn discovery(initiator_name: impl Into<String>) -> Self {
        Self { session_type: SessionType::Discovery, ..Self::new(initiator_name, "") }
    }
}

/// A SCSI command to send.
#[derive(Clone, Debug)]
pub struct Request {
    /// LUN.
    pub lun: [u8; 8],
    /// CDB, padded with zeros.
    pub cdb: [u8; 16],
    /// Task attribute.
    pub attribute: TaskAttribute,
    /// Whether to send it as an immediate command.
    pub immediate: bool,
    /// Direction and length of the data.
    pub transfer: TransferRequest,
}

/// Data of a command.
#[derive(Clone, Debug)]
pub enum TransferRequest {
    /// None.
    None,
    /// Data-In, with room for this many bytes.
    In(u32),
    /// Data-Out; the length is the Expected Data Transfer Length.
    Out(Bytes),
}

/// Finished SCSI command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Initiator Task Tag that [`Initiator::command`] returned.
    pub initiator_task_tag: u32,
    /// iSCSI service response; 0 when the command completed at the target.
    pub response: u8,
    /// SCSI status.
    pub status: u8,
    /// Sense data.
    pub sense: Bytes,
    /// Data-In.
    pub data_in: Bytes,
    /// Residual in bytes: positive for underflow, negative for overflow.
    pub residual: i64,
}

/// Event for the shell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Full feature phase was reached.
    LoggedIn {
        /// TSIH of the session.
        tsih: u16,
        /// TargetPortalGroupTag, when the target sent it.
        target_portal_group_tag: Option<u16>,
    },
    /// The login failed.
    LoginFailed {
        /// Status from the target.
        status: LoginStatus,
        /// TargetAddress of a redirection.
        target_address: Option<String>,
    },
    /// A SCSI command finished.
    Completed(Completion),
    /// A task management function was answered.
    TaskManagement {
        /// Initiator Task Tag that [`Initiator::task_management`] returned.
        initiator_task_tag: u32,
        /// Response.
        response: TaskManagementResponse,
    },
    /// A ping was answered.
    Pong {
        /// Initiator Task Tag that [`Initiator::nop_out`] returned.
        initiator_task_tag: u32,
        /// Returned ping data.
        data: Bytes,
    },
    /// Answer to [`Initiator::send_targets`].
    Targets(Vec<TargetRecord>),
    /// The target rejected a PDU.
    Rejected {
        /// Reason.
        reason: RejectReason,
        /// Rejected header.
        header: RawHeader,
    },
    /// An asynchronous message.
    Async {
        /// Event code.
        event: AsyncEvent,
        /// Parameter3.
        parameter3: u16,
        /// Sense and event data.
        data: Bytes,
    },
    /// The target answered a logout; with code `CLOSED` it closes the connection.
    LoggedOut(LogoutResponseCode),
    /// The target violated the protocol; the connection is unusable.
    ProtocolError(&'static str),
}

#[derive(Debug)]
enum Phase {
    Login(Box<Login>),
    FullFeature,
    Closed,
}

/// Command that waits for the CmdSN window.
#[derive(Debug)]
enum Waiting {
    Command(u32),
    Text { initiator_task_tag: u32, target_transfer_tag: u32, text: Vec<u8> },
}

/// One connection at the initiator; see the module documentation.
#[derive(Debug)]
pub struct Initiator {
    config: Config,
    phase: Phase,
    parameters: Parameters,
    digests: Digests,
    output: Output,
    events: VecDeque<Event>,
    cmd_sn: u32,
    max_cmd_sn: u32,
    exp_stat_sn: u32,
    next_tag: u32,
    transfers: BTreeMap<u32, Transfer>,
    waiting: VecDeque<Waiting>,
    /// Unanswered requests other than SCSI commands: count by tag and kind.
    asked: BTreeMap<(u32, Asked), u32>,
    /// Output positions at which the answers to the target's pings end.
    pings: VecDeque<u64>,
    handed_out_bytes: u64,
    targets_text: Vec<u8>,
    targets_responses: u32,
}

impl Initiator {
    /// Creates the state of a new connection; the first Login Request is queued. `seed`:
    /// unpredictable, if mutual CHAP is used.
    pub fn new(config: Config, seed: [u8; 32]) -> Self {
        let mut initiator = Self {
            phase: Phase::Closed,
            parameters: Parameters::default(),
            digests: Digests::default(),
            output: Output::default(),
            events: VecDeque::new(),
            cmd_sn: 1,
            max_cmd_sn: 1,
            exp_stat_sn: 0,
            next_tag: 1,
            transfers: BTreeMap::new(),
            waiting: VecDeque::new(),
            asked: BTreeMap::new(),
            pings: VecDeque::new(),
            handed_out_bytes: 0,
            targets_text: Vec::new(),
            targets_responses: 0,
            config,
        };
        let mut login = Login::new(&initiator.config, seed);
        login.begin(&initiator.config, initiator.cmd_sn, &mut initiator.output);
        initiator.phase = Phase::Login(Box::new(login));
        initiator
    }

    // Getters.

    /// Negotiated parameters.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// Whether the connection is in full feature phase.
    pub fn is_full_feature(&self) -> bool {
        matches!(self.phase, Phase::FullFeature)
    }

    /// Number of commands that are sent or waiting and not finished.
    pub fn outstanding(&self) -> usize {
        self.transfers.len()
    }

    /// CmdSN of the next command.
    pub fn cmd_sn(&self) -> u32 {
        self.cmd_sn
    }

    /// Last MaxCmdSN received.
    pub fn max_cmd_sn(&self) -> u32 {
        self.max_cmd_sn
    }

    /// ExpStatSN for PDUs that the caller builds.
    pub fn exp_stat_sn(&self) -> u32 {
        self.exp_stat_sn
    }

    /// CmdSN of an outstanding command, once it is sent.
    pub fn cmd_sn_of(&self, initiator_task_tag: u32) -> Option<u32> {
        self.transfers.get(&initiator_task_tag).and_then(|transfer| transfer.cmd_sn)
    }

    // Commands.

    /// Sends a SCSI command, or queues it until the window opens. Returns its Initiator Task Tag.
    /// To be called in full feature phase.
    pub fn command(&mut self, request: Request) -> u32 {
        let tag = self.new_tag();
        let immediate = request.immediate;
        self.transfers.insert(tag, Transfer::new(request));
        if immediate || (self.waiting.is_empty() && self.window_is_open()) {
            self.start_transfer(tag);
        } else {
            self.waiting.push_back(Waiting::Command(tag));
        }
        tag
    }

    /// Removes a command, for example after its ABORT TASK succeeded.
    pub fn forget(&mut self, initiator_task_tag: u32) -> bool {
        self.waiting.retain(|waiting| !matches!(waiting, Waiting::Command(tag) if *tag == initiator_task_tag));
        self.transfers.remove(&initiator_task_tag).is_some()
    }

    /// Sends a PDU that the caller has built: lengths and digests are filled in, other fields stay
    /// unchanged.
    pub fn send_pdu(&mut self, header: RawHeader, data: Bytes) {
        self.send(header, data);
    }

    /// Sends raw bytes.
    pub fn send_raw(&mut self, bytes: Bytes) {
        self.output.push_raw(bytes);
    }

    /// Returns a CmdSN for a command that the caller builds.
    pub fn take_cmd_sn(&mut self) -> u32 {
        let cmd_sn = self.cmd_sn;
        self.cmd_sn = cmd_sn.wrapping_add(1);
        cmd_sn
    }

    // Input and output.

    /// Takes all complete PDUs from `input`, and reserves room for the rest of the next one.
    pub fn handle_input(&mut self, input: &mut BytesMut) {
        loop {
            let limit = match self.phase {
                Phase::Login(_) => 8192,
                Phase::FullFeature => self.config.max_recv_data_segment_length,
                Phase::Closed => return,
            };
            match framing::take_pdu(input, self.digests, limit) {
                Ok(None) => return,
                Ok(Some(pdu)) => self.handle_pdu(&pdu),
                Err(FramingError::DataSegmentTooLong { .. }) => {
                    self.protocol_error("data segment longer than declared")
                }
                Err(FramingError::HeaderDigest) => self.protocol_error("header digest error"),
                Err(FramingError::DataDigest { .. }) => self.protocol_error("data digest error"),
            }
        }
    }

    /// Next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Next chunk to write.
    pub fn poll_output(&mut self) -> Option<Bytes> {
        let chunk = self.output.next_chunk()?;
        self.handed_out_bytes = self.handed_out_bytes.saturating_add(chunk.len() as u64);
        while self.pings.front().is_some_and(|end| *end <= self.handed_out_bytes) {
            self.pings.pop_front();
        }
        Some(chunk)
    }

    // Private helpers.

    fn new_tag(&mut self) -> u32 {
        loop {
            let tag = self.next_tag;
            self.next_tag = tag.wrapping_add(1);
            if tag != RESERVED_TAG && !self.transfers.contains_key(&tag) {
                return tag;
            }
        }
    }

    fn window_is_open(&self) -> bool {
        !pdu::sn_before(self.max_cmd_sn, self.cmd_sn)
    }

    fn protocol_error(&mut self, what: &'static str) {
        self.phase = Phase::Closed;
        self.events.push_back(Event::ProtocolError(what));
    }

    /// Records the numbers that every target PDU carries. `status`: the PDU has a StatSN of its
    /// own.
    fn take_numbers(&mut self, header: &RawHeader, status: bool) {
        // Every target PDU has StatSN, ExpCmdSN and MaxCmdSN in the same place.
        let numbers = NopIn::from_wire(header);
        let (exp_cmd_sn, max_cmd_sn) = (numbers.exp_cmd_sn.get(), numbers.max_cmd_sn.get());
        if !pdu::sn_before(max_cmd_sn, exp_cmd_sn.wrapping_sub(1)) && pdu::sn_before(self.max_cmd_sn, max_cmd_sn) {
            self.max_cmd_sn = max_cmd_sn;
        }
        if status {
            self.exp_stat_sn = numbers.stat_sn.get().wrapping_add(1);
        }
    }

    fn handle_pdu(&mut self, pdu: &Pdu) {
        let opcode = BasicHeader::from_wire(&pdu.header).opcode();
        if let Phase::Login(login) = &mut self.phase {
            if opcode != Opcode::LOGIN_RESPONSE {
                return self.protocol_error("a PDU other than a login response during login");
            }
            let step = login.handle(&self.config, pdu, self.cmd_sn, &mut self.parameters, &mut self.output);
            return self.finish_login_step(pdu, step);
        }
        match opcode {
            Opcode::SCSI_RESPONSE => self.handle_scsi_response(pdu),
            Opcode::DATA_IN => self.handle_data_in(pdu),
            Opcode::R2T => self.handle_r2t(pdu),
            Opcode::TASK_MANAGEMENT_RESPONSE => self.handle_task_management(pdu),
            Opcode::NOP_IN => self.handle_nop_in(pdu),
            Opcode::TEXT_RESPONSE => self.handle_text(pdu),
            Opcode::LOGOUT_RESPONSE => self.handle_logout(pdu),
            Opcode::REJECT => {
                self.take_numbers(&pdu.header, true);
                let mut header = [0; pdu::HEADER_BYTES];
                if let Some(bad) = pdu.data.get(..pdu::HEADER_BYTES) {
                    header.copy_from_slice(bad);
                    self.forget_rejected(&header);
                }
                let reason = RejectReason(Reject::from_wire(&pdu.header).reason);
                self.events.push_back(Event::Rejected { reason, header });
            }
            Opcode::ASYNC_MESSAGE => {
                self.take_numbers(&pdu.header, true);
                let header = AsyncMessage::from_wire(&pdu.header);
                self.events.push_back(Event::Async {
                    event: AsyncEvent(header.async_event),
                    parameter3: header.parameter3.get(),
                    data: pdu.data.clone(),
                });
            }
            _ => self.protocol_error("a PDU that a target does not send"),
        }
        self.send_waiting();
    }

    fn finish_login_step(&mut self, pdu: &Pdu, step: login::Step) {
        match step {
            login::Step::Continue => {}
            login::Step::Done { tsih, target_portal_group_tag } => {
                self.parameters.declare_initiator_segment(self.config.max_recv_data_segment_length);
                self.digests = Digests { header: self.parameters.header_digest, data: self.parameters.data_digest };
                self.phase = Phase::FullFeature;
                self.max_cmd_sn = NopIn::from_wire(&pdu.header).max_cmd_sn.get();
                self.take_numbers(&pdu.header, true);
                self.events.push_back(Event::LoggedIn { tsih, target_portal_group_tag });
            }
            login::Step::Failed { status, target_address } => {
                self.phase = Phase::Closed;
                self.events.push_back(Event::LoginFailed { status, target_address });
            }
            login::Step::ProtocolError(what) => self.protocol_error(what),
        }
    }

    fn send_waiting(&mut self) {
        while self.is_full_feature() && self.window_is_open() {
            match self.waiting.pop_front() {
                None => return,
                Some(Waiting::Command(tag)) => self.start_transfer(tag),
                Some(Waiting::Text { initiator_task_tag, target_transfer_tag, text }) => {
                    self.send_text(initiator_task_tag, target_transfer_tag, text);
                }
            }
        }
    }
}
