//! One iSCSI connection at the target, without I/O (RFC 7143). A session has one connection, so
//! this is the session too.
//!
//! The shell owns socket and clock, and has four duties:
//!
//! * Pass received bytes to [`Connection::handle_input`], and pass the remainder again after every
//!   batch of responses or output (input is held back while too much data is queued for output).
//! * Take [`Event`]s from [`Connection::poll_event`] and answer them with the commands below.
//! * Write the chunks of [`Connection::poll_output`].
//! * Call [`Connection::handle_timeout`] at [`Connection::poll_timeout`].
//!
//! After [`Event::Closed`] it writes the rest of the output and closes the transport.
//!
//! [`Config`] bounds the memory of a connection: tasks, Data-Out being assembled, queued Data-In,
//! login and text negotiation. Write data shares the receive buffer in which it arrived, so one write
//! of 4 KiB may keep a whole buffer alive: [`DataOutMemory`] limits how many do.

mod budget;
mod commands;
mod config;
mod data_out;
mod delivery;
mod directory;
mod events;
mod full_feature;
mod login;
mod numbering;
mod outbound;
mod respond;
mod suspended;
mod tags;
mod task_management;
mod tasks;
mod text_phase;
mod timers;
mod transfer;

use std::collections::VecDeque;
use std::time::Instant;

use bytes::{Bytes, BytesMut};

pub use budget::{DataOutMemory, HeldDataOut};
pub use config::{Config, MAX_TRANSFER_BYTES, MissingTaskResponse};
pub use directory::{Admission, Arrival, Authentication, Directory, Refusal, TargetRecord};
pub use events::{
    CloseReason, Command, Counters, Event, Response, SessionIdentity, SessionType, TaskManagement, TaskManagementHandle,
};
pub use suspended::Suspended;
pub use tasks::TaskHandle;

use crate::framing::{self, Digests, FramingError, Pdu};
use crate::parameters::Parameters;
use crate::pdu::{
    self, AsyncEvent, AsyncMessage, BasicHeader, LoginRequest, LoginResponse, LoginStatus, LogoutReason,
    LogoutResponse, LogoutResponseCode, Opcode, RESERVED_TAG, RawHeader, Reject, RejectReason,
};
use budget::DataOutBudget;
use delivery::Delivery;
use login::{Login, LoginFailure, Reply, Step};
use numbering::CommandWindow;
use outbound::Outbound;
use tags::Tags;
use task_management::Functions;
use tasks::TaskTable;
use text_phase::TextPhase;
use timers::Timers;

/// MaxRecvDataSegmentLength during login (RFC 7143 §13.12).
const LOGIN_DATA_SEGMENT_BYTES: u32 = 8192;

#[derive(Debug)]
enum Phase {
    Login(Box<Login>),
    /// Waiting for `accept_session`, with the final Login Response.
    Opening(Reply),
    FullFeature,
    /// Waiting for `finish_logout`, with the Initiator Task Tag of the request.
    LoggingOut(u32),
    Closed,
}

/// One connection at the target; see the module documentation.
#[derive(Debug)]
pub struct Connection {
    config: Config,
    phase: Phase,
    identity: Option<SessionIdentity>,
    login_constants: login::Constants,
    parameters: Parameters,
    max_recv_data_segment_length: u32,
    outbound: Outbound,
    events: VecDeque<Event>,
    counters: Counters,
    window: CommandWindow,
    tasks: TaskTable,
    delivery: Delivery,
    functions: Functions,
    tags: Tags,
    data_out: DataOutBudget,
    text: TextPhase,
    timers: Timers,
}

impl Connection {
    /// Creates the state of a new connection. `seed`: 32 unpredictable bytes, new for each
    /// connection, from which CHAP challenges are derived.
    pub fn new(now: Instant, config: Config, seed: [u8; 32]) -> Self {
        let login = Login::new(config.limits.clone(), seed);
        Self {
            login_constants: login.constants(),
            timers: Timers::new(now, &config),
            phase: Phase::Login(Box::new(login)),
            identity: None,
            parameters: Parameters::default(),
            max_recv_data_segment_length: LOGIN_DATA_SEGMENT_BYTES,
            outbound: Outbound::default(),
            events: VecDeque::new(),
            counters: Counters::default(),
            window: CommandWindow::default(),
            tasks: TaskTable::default(),
            delivery: Delivery::default(),
            functions: Functions::default(),
            tags: Tags::default(),
            data_out: DataOutBudget::new(config.max_data_out_bytes),
            text: TextPhase::default(),
            config,
        }
    }

    // Getters.

    /// Identity of the session, from [`Event::SessionOpening`] on.
    pub fn identity(&self) -> Option<&SessionIdentity> {
        self.identity.as_ref()
    }

    /// Negotiated parameters; defaults before the end of login.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// Counters for metrics.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Whether the connection is in full feature phase.
    pub fn is_full_feature(&self) -> bool {
        matches!(self.phase, Phase::FullFeature)
    }

    /// Whether [`Event::Closed`] was queued: the transport has to be closed once the output is
    /// written.
    pub fn is_closed(&self) -> bool {
        matches!(self.phase, Phase::Closed)
    }

    /// Whether [`Self::handle_input`] would take no input now: the shell need not read from the
    /// transport.
    pub fn is_input_held_back(&self) -> bool {
        match self.phase {
            Phase::Login(_) | Phase::FullFeature => {
                self.outbound.queued_bytes() >= self.config.max_output_bytes.min(self.config.max_data_in_bytes)
            }
            Phase::Opening(_) | Phase::LoggingOut(_) | Phase::Closed => true,
        }
    }

    /// Tasks that the shell has and that have not ended, with their LUNs, in CmdSN order.
    pub fn outstanding_tasks(&self) -> Vec<(TaskHandle, [u8; 8])> {
        self.tasks
            .handles()
            .into_iter()
            .filter_map(|handle| {
                let task = self.tasks.get(handle)?;
                (task.state == tasks::TaskState::Delivered && !task.aborted).then_some((handle, task.lun))
            })
            .collect()
    }

    /// Bytes of queued output.
    pub fn output_bytes(&self) -> usize {
        self.outbound.queued_bytes()
    }

    // Input.

    /// Takes all complete PDUs from `input`, unless input is held back, and reserves room in it for
    /// the rest of the next one.
    pub fn handle_input(&mut self, now: Instant, input: &mut BytesMut, directory: &dyn Directory) {
        while !self.is_input_held_back() {
            match framing::take_pdu(input, self.outbound.digests(), self.max_recv_data_segment_length) {
                Ok(None) => return,
                Ok(Some(pdu)) => {
                    self.timers.received(now);
                    self.counters.pdus_received += 1;
                    self.handle_pdu(pdu, directory);
                }
                Err(FramingError::DataSegmentTooLong { header, .. }) => {
                    self.fatal(RejectReason::PROTOCOL_ERROR, &header, "data segment longer than declared");
                }
                Err(FramingError::HeaderDigest) => self.end(CloseReason::DigestError),
                Err(FramingError::DataDigest { header }) => {
                    self.reject(RejectReason::DATA_DIGEST_ERROR, &header);
                    self.end(CloseReason::DigestError);
                }
            }
        }
    }

    // Commands from above.

    /// Answers [`Event::SessionOpening`]: the session is open. `tsih` is not 0, and no other
    /// session uses it.
    ///
    /// False when the connection ended meanwhile; then there is no session.
    pub fn accept_session(&mut self, tsih: u16) -> bool {
        let Phase::Opening(reply) = &mut self.phase else {
            return false;
        };
        let reply = Reply { flags: reply.flags, text: std::mem::take(&mut reply.text) };
        self.phase = Phase::FullFeature;
        if let Some(identity) = &mut self.identity {
            identity.tsih = tsih;
        }
        self.login_response(LoginStatus::SUCCESS, reply.flags, &reply.text, tsih);
        let digests = Digests { header: self.parameters.header_digest, data: self.parameters.data_digest };
        self.outbound.set_digests(digests);
        self.max_recv_data_segment_length = self.parameters.target_max_recv_data_segment_length;
        self.timers.login_ended();
        true
    }

    /// Answers [`Event::SessionOpening`]: the login fails.
    pub fn reject_login(&mut self, status: LoginStatus) {
        if matches!(self.phase, Phase::Opening(_)) {
            self.fail_login(LoginFailure { status, text: Vec::new(), reason: "refused by the array" });
        }
    }

    /// Answers [`Event::Logout`]: the tasks have ended.
    pub fn finish_logout(&mut self) {
        if let Phase::LoggingOut(initiator_task_tag) = self.phase {
            self.logout_response(initiator_task_tag, LogoutResponseCode::CLOSED);
            self.end(CloseReason::LoggedOut);
        }
    }

    /// Asks the initiator to log out within `seconds` (asynchronous message 1); closes if it has
    /// not by then.
    pub fn request_logout(&mut self, now: Instant, seconds: u16) {
        match self.phase {
            Phase::FullFeature => {
                let mut header =
                    AsyncMessage::from_wire(&pdu::blank(Opcode::ASYNC_MESSAGE.0, pdu::FINAL, RESERVED_TAG));
                header.async_event = AsyncEvent::LOGOUT_REQUESTED.0;
                header.parameter3 = seconds.into();
                header.stat_sn = self.outbound.advance_stat_sn().into();
                header.exp_cmd_sn = self.window.exp_cmd_sn().into();
                header.max_cmd_sn = self.window.max_cmd_sn().into();
                self.outbound.push_header(header.to_wire());
                self.timers.set_logout_deadline(now, seconds);
            }
            Phase::LoggingOut(_) => {
                self.timers.set_logout_deadline(now, seconds);
            }
            Phase::Login(_) | Phase::Opening(_) => {
                self.fail_login(LoginFailure {
                    status: LoginStatus::SERVICE_UNAVAILABLE,
                    text: Vec::new(),
                    reason: "shutting down",
                });
            }
            Phase::Closed => {}
        }
    }

    /// Ends the connection without notice to the initiator.
    pub fn close(&mut self) {
        self.end(CloseReason::Requested);
    }

    // Output.

    /// Next event, in the order of occurrence.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// True if [`Connection::poll_event`] has an event.
    #[inline]
    pub fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    /// Next chunk to write. Headers and short data share chunks; long data is a chunk of its own.
    pub fn poll_output(&mut self) -> Option<Bytes> {
        let chunk = self.outbound.next_chunk();
        self.deliver_ready();
        chunk
    }

    // Helpers of all phases.

    fn handle_pdu(&mut self, pdu: Pdu, directory: &dyn Directory) {
        if matches!(self.phase, Phase::FullFeature) {
            self.handle_full_feature(pdu, directory);
        } else {
            self.handle_login(&pdu, directory);
        }
    }

    fn handle_login(&mut self, pdu: &Pdu, directory: &dyn Directory) {
        let Phase::Login(login) = &mut self.phase else {
            return;
        };
        if BasicHeader::from_wire(&pdu.header).opcode() != Opcode::LOGIN_REQUEST {
            return self.fail_login(LoginFailure {
                status: LoginStatus::INVALID_DURING_LOGIN,
                text: Vec::new(),
                reason: "a PDU other than a login request during login",
            });
        }
        let header = LoginRequest::from_wire(&pdu.header);
        if login.constants().initiator_task_tag == RESERVED_TAG {
            self.window.start(header.cmd_sn.get(), self.config.window_width(0));
            self.outbound.start(header.exp_stat_sn.get());
        }
        let step = login.handle(&header, &pdu.data, directory);
        self.login_constants = login.constants();
        match step {
            Step::Reply(reply) => self.login_response(LoginStatus::SUCCESS, reply.flags, &reply.text, 0),
            Step::Complete(reply) => {
                self.parameters = login.parameters().clone();
                let identity = login.identity();
                self.identity = Some(identity.clone());
                self.phase = Phase::Opening(reply);
                self.events.push_back(Event::SessionOpening(identity));
            }
            Step::Fail(failure) => self.fail_login(failure),
        }
    }

    fn fail_login(&mut self, failure: LoginFailure) {
        self.login_response(failure.status, 0, &failure.text, 0);
        self.end(CloseReason::LoginFailed(failure.status, failure.reason));
    }

    fn login_response(&mut self, status: LoginStatus, flags: u8, text: &[u8], tsih: u16) {
        let constants = self.login_constants;
        let mut header =
            LoginResponse::from_wire(&pdu::blank(Opcode::LOGIN_RESPONSE.0, flags, constants.initiator_task_tag));
        header.isid = constants.isid;
        header.tsih = if tsih == 0 { constants.tsih } else { tsih }.into();
        header.status_class = status.class();
        header.status_detail = status.detail();
        if status == LoginStatus::SUCCESS {
            header.stat_sn = self.outbound.advance_stat_sn().into();
        }
        header.exp_cmd_sn = self.window.exp_cmd_sn().into();
        header.max_cmd_sn = self.window.max_cmd_sn().into();
        // The digests of the session apply from the next PDU on.
        self.outbound.push_slice(header.to_wire(), text);
    }

    fn logout_response(&mut self, initiator_task_tag: u32, response: LogoutResponseCode) {
        let mut header =
            LogoutResponse::from_wire(&pdu::blank(Opcode::LOGOUT_RESPONSE.0, pdu::FINAL, initiator_task_tag));
        header.response = response.0;
        header.stat_sn = self.outbound.advance_stat_sn().into();
        header.exp_cmd_sn = self.window.exp_cmd_sn().into();
        header.max_cmd_sn = self.window.max_cmd_sn().into();
        header.time2wait = self.parameters.default_time2wait.into();
        header.time2retain = self.parameters.default_time2retain.into();
        self.outbound.push_header(header.to_wire());
    }

    fn begin_logout(&mut self, initiator_task_tag: u32, reason: LogoutReason, cid: u16) {
        let own_cid = self.identity.as_ref().map_or(0, |identity| identity.cid);
        match reason {
            LogoutReason::CLOSE_CONNECTION if cid != own_cid => {
                self.logout_response(initiator_task_tag, LogoutResponseCode::CID_NOT_FOUND);
            }
            LogoutReason::CLOSE_SESSION | LogoutReason::CLOSE_CONNECTION => {
                self.phase = Phase::LoggingOut(initiator_task_tag);
                self.events.push_back(Event::Logout);
            }
            _ => self.logout_response(initiator_task_tag, LogoutResponseCode::RECOVERY_NOT_SUPPORTED),
        }
    }

    /// Sends a Reject with the faulty header.
    fn reject(&mut self, reason: RejectReason, header: &RawHeader) {
        self.counters.rejects += 1;
        let mut reject = Reject::from_wire(&pdu::blank(Opcode::REJECT.0, pdu::FINAL, RESERVED_TAG));
        reject.reason = reason.0;
        reject.stat_sn = self.outbound.advance_stat_sn().into();
        reject.exp_cmd_sn = self.window.exp_cmd_sn().into();
        reject.max_cmd_sn = self.window.max_cmd_sn().into();
        self.outbound.push_slice(reject.to_wire(), header);
    }

    /// Sends a Reject and ends the connection: at ErrorRecoveryLevel 0 only session recovery helps
    /// (RFC 7143 §7.1.4.1).
    fn fatal(&mut self, reason: RejectReason, header: &RawHeader, what: &'static str) {
        if matches!(self.phase, Phase::Login(_)) {
            return self.fail_login(LoginFailure {
                status: LoginStatus::INITIATOR_ERROR,
                text: Vec::new(),
                reason: what,
            });
        }
        self.reject(reason, header);
        self.end(CloseReason::ProtocolError(what));
    }

    fn end(&mut self, reason: CloseReason) {
        if self.is_closed() {
            return;
        }
        self.phase = Phase::Closed;
        self.timers.clear();
        self.tasks = TaskTable::default();
        self.window.clear();
        self.functions.clear();
        self.data_out.clear();
        self.delivery.clear();
        self.text = TextPhase::default();
        // Other events of a closed connection would only start work whose results are not used.
        self.events.retain(|event| matches!(event, Event::Closed(_)));
        self.events.push_back(Event::Closed(reason));
    }
}
