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
//! login and text negotiation. The shell has to account for one more effect: write data shares the
//! receive buffer in which it arrived, so one 4 KiB write may keep a receive buffer of 256 KiB
//! alive.

mod data_out;
mod directory;
mod full_feature;
mod login;
mod tasks;
mod text_phase;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};

pub use data_out::DataOutMemory;
pub use directory::{Admission, Arrival, Authentication, Directory, Refusal, TargetRecord};
pub use tasks::TaskHandle;

use crate::framing::{self, Digests, FramingError, Output, Pdu};
use crate::parameters::{Limits, Parameters};
use crate::pdu::{
    self, AsyncEvent, AsyncMessage, BasicHeader, LoginRequest, LoginResponse, LoginStatus, LogoutReason,
    LogoutResponse, LogoutResponseCode, NopIn, Opcode, RESERVED_TAG, RawHeader, Reject, RejectReason, TaskAttribute,
    TaskManagementFunction,
};
use data_out::DataOutBudget;
use login::{Login, LoginFailure, Reply, Step};
use tasks::TaskTable;
use text_phase::TextPhase;

/// MaxRecvDataSegmentLength during login (RFC 7143 §13.12).
const LOGIN_DATA_SEGMENT_BYTES: u32 = 8192;

/// What ABORT TASK answers for a task that is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingTaskResponse {
    /// "Function complete" for initiators named `iqn.1998-01.com.vmware…`, which take "task does not exist" for a broken target,
    /// and "task does not exist" for all others.
    ByInitiatorName,
    /// "Task does not exist", RFC 7143 §11.6.1.
    TaskDoesNotExist,
    /// "Function complete".
    FunctionComplete,
}

/// Settings of a connection.
#[derive(Clone, Debug)]
pub struct Config {
    /// What to agree to in negotiation.
    pub limits: Limits,
    /// Width of the CmdSN window while there is room for tasks. At least 1; hosts expect 128.
    pub command_window: u32,
    /// Tasks at once. The window closes as they approach this. Also the most task management functions at once.
    pub max_tasks: u32,
    /// Immediate SCSI commands at once; more are rejected.
    pub max_immediate_tasks: u32,
    /// Data-Out being assembled or in use by tasks, in bytes; above it R2Ts wait. The most one command can send.
    pub max_data_out_bytes: usize,
    /// Data-In being read or waiting to be sent, in bytes; above it SCSI commands wait. Everything else is taken and answered.
    pub max_data_in_bytes: usize,
    /// Output of any kind not yet taken, in bytes, above which no input is taken: what the initiator does not read, answers to pings too,
    /// it has to read before it asks for more. Also the most data of PDUs, SCSI commands aside, that came before their turn.
    pub max_output_bytes: usize,
    /// The most Data-In one command can return, in bytes: what a command is taken to need of `max_data_in_bytes`.
    pub max_transfer_bytes: u32,
    /// Time from connection to full feature phase.
    pub login_timeout: Duration,
    /// Silence after which the initiator is pinged; zero for never.
    pub keepalive_interval: Duration,
    /// Time for any sign of life after a ping.
    pub keepalive_timeout: Duration,
    /// See [`MissingTaskResponse`].
    pub missing_task_response: MissingTaskResponse,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            command_window: 128,
            max_tasks: 512,
            max_immediate_tasks: 32,
            max_data_out_bytes: 64 << 20,
            max_data_in_bytes: 64 << 20,
            max_output_bytes: 1 << 20,
            max_transfer_bytes: 16 << 20,
            login_timeout: Duration::from_secs(15),
            keepalive_interval: Duration::from_secs(30),
            keepalive_timeout: Duration::from_secs(30),
            missing_task_response: MissingTaskResponse::ByInitiatorName,
        }
    }
}

impl Config {
    /// Commands that may come when there are `tasks` already.
    fn window_width(&self, tasks: usize) -> u32 {
        let room = (self.max_tasks.max(1) as usize).saturating_sub(tasks);
        u32::try_from(room).unwrap_or(u32::MAX).min(self.command_window.max(1))
    }
}

/// Kind of a session, RFC 7143 §4.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionType {
    /// Text only, to find targets.
    Discovery,
    /// Full operation on one target.
    Normal,
}

/// Who logged in to what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionIdentity {
    /// InitiatorName, normalized.
    pub initiator_name: Arc<str>,
    /// InitiatorAlias.
    pub initiator_alias: Option<String>,
    /// ISID. With the initiator name it is the initiator port.
    pub isid: [u8; 6],
    /// TSIH of the login request; not 0 asks for a connection of an existing session.
    pub requested_tsih: u16,
    /// TSIH of this session; 0 before [`Connection::accept_session`].
    pub tsih: u16,
    /// CID.
    pub cid: u16,
    /// Discovery or normal.
    pub session_type: SessionType,
    /// TargetName, normalized; `None` in discovery sessions.
    pub target_name: Option<Arc<str>>,
    /// Target Portal Group Tag. With the target name it is the target port.
    pub target_portal_group_tag: u16,
    /// CHAP_N, when the initiator authenticated.
    pub authenticated_as: Option<String>,
}

/// A SCSI command whose data has arrived.
#[derive(Clone, Debug)]
pub struct Command {
    /// To answer with [`Connection::respond`].
    pub task: TaskHandle,
    /// LUN in its canonical form ([`Directory::canonical_lun`]).
    pub lun: [u8; 8],
    /// What stood there when the command came.
    pub arrival: Arrival,
    /// CDB, or its first 16 bytes.
    pub cdb: [u8; 16],
    /// Task attribute.
    pub attribute: TaskAttribute,
    /// The I bit.
    pub immediate: bool,
    /// The R bit.
    pub read: bool,
    /// The W bit.
    pub write: bool,
    /// Expected Data Transfer Length: of Data-Out with `write`, else of Data-In.
    pub expected_data_transfer_length: u32,
    /// Bytes of Data-In the initiator has room for.
    pub expected_data_in: u32,
    /// Data-Out: as many bytes as [`Directory::data_out_bytes`] said, fewer when the initiator expected fewer.
    pub data_out: Bytes,
}

/// Result of a SCSI command.
#[derive(Clone, Debug, Default)]
pub struct Response<'a> {
    /// SCSI status.
    pub status: u8,
    /// Sense data, empty for none; at most 252 bytes are sent.
    pub sense: &'a [u8],
    /// Data-In; what the initiator has no room for is cut off.
    pub data_in: Bytes,
    /// Bytes the device server wanted to transfer (Data-In it had, Data-Out it asked for), whatever the initiator had room for.
    /// The residual is the difference to the Expected Data Transfer Length.
    pub transfer_bytes: u64,
}

/// A task management function request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskManagement {
    /// To answer with [`Connection::respond_task_management`].
    pub handle: TaskManagementHandle,
    /// The function; never QUERY TASK, TASK REASSIGN or one that the session does not carry, which are answered here.
    pub function: TaskManagementFunction,
    /// LUN in its canonical form; without meaning for resets of target and nexus.
    pub lun: [u8; 8],
    /// Whether the task set has tasks of this connection at the LUN: what QUERY TASK SET asks for.
    pub present: bool,
    /// Tasks of this connection that the function ends and that the shell has seen, in CmdSN order. No response will be sent for
    /// them. Answer when they can have no effect any more.
    pub tasks: Vec<TaskHandle>,
}

/// Names a task management function request of one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TaskManagementHandle(u64);

/// Why a connection ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CloseReason {
    /// The initiator logged out.
    LoggedOut,
    /// The login failed with this status.
    LoginFailed(LoginStatus, &'static str),
    /// No full feature phase in time.
    LoginTimeout,
    /// No answer to a ping.
    KeepaliveTimeout,
    /// No logout in the time given by an asynchronous message.
    LogoutTimeout,
    /// The initiator broke the protocol in a way that session recovery has to mend.
    ProtocolError(&'static str),
    /// A digest does not match.
    DigestError,
    /// [`Connection::close`].
    Requested,
}

/// What the shell has to deal with.
#[derive(Clone, Debug)]
pub enum Event {
    /// Login is complete but for the session. The shell ends an old session of the same initiator port and target port (session
    /// reinstatement, RFC 7143 §6.3.5), waits until none of its tasks can have an effect, then calls
    /// [`Connection::accept_session`] or [`Connection::reject_login`].
    ///
    /// With `requested_tsih` not 0 the right answer is [`LoginStatus::SESSION_DOES_NOT_EXIST`], or
    /// [`LoginStatus::TOO_MANY_CONNECTIONS`] when the session exists.
    SessionOpening(SessionIdentity),
    /// A command for the device server, in CmdSN order as far as task attributes ask for it. To be answered with
    /// [`Connection::respond`], or ended by a task management function or [`Connection::discard`].
    Command(Command),
    /// A function for the task manager.
    TaskManagement(TaskManagement),
    /// The initiator logs out. The shell ends the tasks, then calls [`Connection::finish_logout`].
    Logout,
    /// The last event. Tasks not answered are gone.
    Closed(CloseReason),
}

/// Numbers for metrics; all count from the start of the connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// PDUs received.
    pub pdus_received: u64,
    /// Reject PDUs sent.
    pub rejects: u64,
    /// Commands dropped because their CmdSN was outside the window or came twice.
    pub commands_dropped: u64,
    /// Tasks that ended because Data-Out came out of sequence.
    pub data_out_sequence_errors: u64,
    /// Data-Out bytes received.
    pub data_out_bytes: u64,
    /// Data-In bytes sent.
    pub data_in_bytes: u64,
}

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
    digests: Digests,
    max_recv_data_segment_length: u32,
    output: Output,
    events: VecDeque<Event>,
    counters: Counters,

    stat_sn: u32,
    exp_cmd_sn: u32,
    max_cmd_sn: u32,
    tasks: TaskTable,
    next_sequence: u64,
    immediate_tasks: u32,
    /// Commands that came before their turn; index 0 stands for ExpCmdSN and is empty.
    held: VecDeque<Option<full_feature::Held>>,
    /// Undelivered ORDERED tasks; while there are none, tasks are delivered as their data completes.
    ordered_undelivered: u32,
    functions: Vec<full_feature::PendingFunction>,
    next_function: u64,
    /// Initiator Task Tags whose late Data-Out is dropped without a word.
    discarded_tags: VecDeque<u32>,
    next_target_transfer_tag: u32,
    data_out: DataOutBudget,
    /// Of tasks that the shell was given.
    data_in_reserved: usize,
    /// Tasks that wait for others' Data-In to go, oldest first; those that have ended are skipped.
    ready: VecDeque<TaskHandle>,
    text: TextPhase,

    login_deadline: Option<Instant>,
    last_received: Instant,
    ping: Option<Ping>,
    logout_deadline: Option<Instant>,
}

#[derive(Clone, Copy, Debug)]
struct Ping {
    target_transfer_tag: u32,
    sent: Instant,
}

impl Connection {
    /// Creates the state of a new connection. `seed`: 32 unpredictable bytes, new for each
    /// connection, from which CHAP challenges are derived.
    pub fn new(now: Instant, config: Config, seed: [u8; 32]) -> Self {
        let login = Login::new(config.limits.clone(), seed);
        Self {
            login_constants: login.constants(),
            login_deadline: now.checked_add(config.login_timeout),
            phase: Phase::Login(Box::new(login)),
            identity: None,
            parameters: Parameters::default(),
            digests: Digests::default(),
            max_recv_data_segment_length: LOGIN_DATA_SEGMENT_BYTES,
            output: Output::default(),
            events: VecDeque::new(),
            counters: Counters::default(),
            stat_sn: 0,
            exp_cmd_sn: 0,
            max_cmd_sn: 0,
            tasks: TaskTable::default(),
            next_sequence: 0,
            immediate_tasks: 0,
            held: VecDeque::new(),
            ordered_undelivered: 0,
            functions: Vec::new(),
            next_function: 0,
            discarded_tags: VecDeque::new(),
            next_target_transfer_tag: 0,
            data_out: DataOutBudget::new(config.max_data_out_bytes),
            data_in_reserved: 0,
            ready: VecDeque::new(),
            text: TextPhase::default(),
            last_received: now,
            ping: None,
            logout_deadline: None,
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
                self.output.queued_bytes() >= self.config.max_output_bytes.min(self.config.max_data_in_bytes)
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
        self.output.queued_bytes()
    }

    // Input.

    /// Takes all complete PDUs from `input`, unless input is held back, and reserves room in it for
    /// the rest of the next one.
    pub fn handle_input(&mut self, now: Instant, input: &mut BytesMut, directory: &dyn Directory) {
        while !self.is_input_held_back() {
            match framing::take_pdu(input, self.digests, self.max_recv_data_segment_length) {
                Ok(None) => return,
                Ok(Some(pdu)) => {
                    self.last_received = now;
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

    /// Does what is due at `now`.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.is_closed() {
            return;
        }
        if self.login_deadline.is_some_and(|deadline| now >= deadline) {
            return match self.phase {
                // It is not the initiator that is late: the session before this one has not ended yet.
                Phase::Opening(_) => self.reject_login(LoginStatus::SERVICE_UNAVAILABLE),
                _ => self.end(CloseReason::LoginTimeout),
            };
        }
        if self.logout_deadline.is_some_and(|deadline| now >= deadline) {
            return self.end(CloseReason::LogoutTimeout);
        }
        if self.keepalive_due().is_none_or(|due| now < due) {
            return;
        }
        if self.is_input_held_back() {
            // Signs of life may wait in the transport; whether output still flows is for the transport to find out.
            self.last_received = now;
            return;
        }
        if self.ping.is_some_and(|ping| self.last_received < ping.sent) {
            return self.end(CloseReason::KeepaliveTimeout);
        }
        let target_transfer_tag = self.new_target_transfer_tag();
        self.ping = Some(Ping { target_transfer_tag, sent: now });
        let mut header = NopIn::from_wire(&pdu::blank(Opcode::NOP_IN.0, pdu::FINAL, RESERVED_TAG));
        header.target_transfer_tag = target_transfer_tag.into();
        header.stat_sn = self.stat_sn.into();
        header.exp_cmd_sn = self.exp_cmd_sn.into();
        header.max_cmd_sn = self.max_cmd_sn.into();
        self.output.push_header(header.to_wire(), self.digests);
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
        self.digests = Digests { header: self.parameters.header_digest, data: self.parameters.data_digest };
        self.max_recv_data_segment_length = self.parameters.target_max_recv_data_segment_length;
        self.login_deadline = None;
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
                header.stat_sn = self.advance_stat_sn().into();
                header.exp_cmd_sn = self.exp_cmd_sn.into();
                header.max_cmd_sn = self.max_cmd_sn.into();
                self.output.push_header(header.to_wire(), self.digests);
                self.logout_deadline = now.checked_add(Duration::from_secs(u64::from(seconds)));
            }
            Phase::LoggingOut(_) => {
                self.logout_deadline = now.checked_add(Duration::from_secs(u64::from(seconds)));
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

    /// Next chunk to write. Headers and short data share chunks; long data is a chunk of its own.
    pub fn poll_output(&mut self) -> Option<Bytes> {
        let chunk = self.output.next_chunk();
        self.deliver_ready();
        chunk
    }

    /// When [`Self::handle_timeout`] has something to do. Changes with every call of the other methods.
    pub fn poll_timeout(&self) -> Option<Instant> {
        if self.is_closed() {
            return None;
        }
        [self.login_deadline, self.logout_deadline, self.keepalive_due()].into_iter().flatten().min()
    }

    // Below: what the phases share.

    fn keepalive_due(&self) -> Option<Instant> {
        if !self.is_full_feature() || self.config.keepalive_interval.is_zero() {
            return None;
        }
        match self.ping {
            Some(ping) if self.last_received < ping.sent => ping.sent.checked_add(self.config.keepalive_timeout),
            _ => self.last_received.checked_add(self.config.keepalive_interval),
        }
    }

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
            self.exp_cmd_sn = header.cmd_sn.get();
            self.max_cmd_sn = self.exp_cmd_sn.wrapping_add(self.config.window_width(0)).wrapping_sub(1);
            self.stat_sn = header.exp_stat_sn.get();
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
            header.stat_sn = self.advance_stat_sn().into();
        }
        header.exp_cmd_sn = self.exp_cmd_sn.into();
        header.max_cmd_sn = self.max_cmd_sn.into();
        self.output.push_slice(header.to_wire(), text, Digests::default());
    }

    fn logout_response(&mut self, initiator_task_tag: u32, response: LogoutResponseCode) {
        let mut header =
            LogoutResponse::from_wire(&pdu::blank(Opcode::LOGOUT_RESPONSE.0, pdu::FINAL, initiator_task_tag));
        header.response = response.0;
        header.stat_sn = self.advance_stat_sn().into();
        header.exp_cmd_sn = self.exp_cmd_sn.into();
        header.max_cmd_sn = self.max_cmd_sn.into();
        header.time2wait = self.parameters.default_time2wait.into();
        header.time2retain = self.parameters.default_time2retain.into();
        self.output.push_header(header.to_wire(), self.digests);
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
        reject.stat_sn = self.advance_stat_sn().into();
        reject.exp_cmd_sn = self.exp_cmd_sn.into();
        reject.max_cmd_sn = self.max_cmd_sn.into();
        self.output.push_slice(reject.to_wire(), header, self.digests);
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
        self.login_deadline = None;
        self.logout_deadline = None;
        self.tasks = TaskTable::default();
        self.held = VecDeque::new();
        self.functions = Vec::new();
        self.data_out.clear();
        self.data_in_reserved = 0;
        self.ready = VecDeque::new();
        self.text = TextPhase::default();
        // Other events of a closed connection would only start work whose results are not used.
        self.events.retain(|event| matches!(event, Event::Closed(_)));
        self.events.push_back(Event::Closed(reason));
    }

    fn advance_stat_sn(&mut self) -> u32 {
        let stat_sn = self.stat_sn;
        self.stat_sn = stat_sn.wrapping_add(1);
        stat_sn
    }

    fn new_target_transfer_tag(&mut self) -> u32 {
        self.next_target_transfer_tag = self.next_target_transfer_tag.wrapping_add(1);
        if self.next_target_transfer_tag == RESERVED_TAG {
            self.next_target_transfer_tag = 0;
        }
        self.next_target_transfer_tag
    }
}
