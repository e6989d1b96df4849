//! Events of a connection, and the values that they and their answers carry.

use super::{Arrival, HeldDataOut, TaskHandle};
use crate::pdu::{LoginStatus, TaskAttribute, TaskManagementFunction};
use bytes::Bytes;
use std::rc::Rc;
use std::sync::Arc;

/// Kind of a session, RFC 7143 §4.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionType {
    /// Text requests only, to find targets.
    Discovery,
    /// Full operation on one target.
    Normal,
}

/// Identity of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionIdentity {
    /// InitiatorName, normalized.
    pub initiator_name: Arc<str>,
    /// InitiatorAlias.
    pub initiator_alias: Option<String>,
    /// ISID. With the initiator name it is the initiator port.
    pub isid: [u8; 6],
    /// TSIH of the login request; other than 0 it requests a connection in an existing session.
    pub requested_tsih: u16,
    /// TSIH of this session; 0 before
    /// [`Connection::accept_session`](super::Connection::accept_session).
    pub tsih: u16,
    /// CID.
    pub cid: u16,
    /// Session type.
    pub session_type: SessionType,
    /// TargetName, normalized; `None` in discovery sessions.
    pub target_name: Option<Arc<str>>,
    /// Target Portal Group Tag. With the target name it is the target port.
    pub target_portal_group_tag: u16,
    /// CHAP_N, when the initiator authenticated.
    pub authenticated_as: Option<String>,
}

/// SCSI command whose data has arrived.
#[derive(Clone, Debug)]
pub struct Command {
    /// Handle for [`Connection::respond`](super::Connection::respond).
    pub task: TaskHandle,
    /// LUN in its canonical form ([`Directory::canonical_lun`](super::Directory::canonical_lun)).
    pub lun: [u8; 8],
    /// Logical unit at the LUN when the command arrived.
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
    /// Expected Data Transfer Length: of Data-Out if `write`, else of Data-In.
    pub expected_data_transfer_length: u32,
    /// Bytes of Data-In that the initiator has room for.
    pub expected_data_in: u32,
    /// Data-Out: as many bytes as [`Directory::data_out_bytes`](super::Directory::data_out_bytes)
    /// returned, or fewer if the initiator
    /// expected fewer.
    pub data_out: Bytes,
    /// Shared memory of `data_out`; to be dropped with the data.
    pub data_out_memory: Option<Rc<HeldDataOut>>,
}

/// Result of a SCSI command.
#[derive(Clone, Debug, Default)]
pub struct Response<'a> {
    /// SCSI status.
    pub status: u8,
    /// Sense data, empty for none; at most 252 bytes are sent.
    pub sense: &'a [u8],
    /// Data-In; truncated to the room of the initiator.
    pub data_in: Bytes,
    /// Bytes that the device server wanted to transfer (available Data-In, requested Data-Out),
    /// whatever room the initiator had. The residual is the difference from the Expected Data
    /// Transfer Length.
    pub transfer_bytes: u64,
}

/// A task management function request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskManagement {
    /// Handle for
    /// [`Connection::respond_task_management`](super::Connection::respond_task_management).
    pub handle: TaskManagementHandle,
    /// Function; never QUERY TASK, TASK REASSIGN or one that the session does not carry, which are
    /// answered here.
    pub function: TaskManagementFunction,
    /// LUN in its canonical form; without meaning for resets of target and nexus.
    pub lun: [u8; 8],
    /// Whether the task set has tasks of this connection at the LUN: the answer to QUERY TASK SET.
    pub present: bool,
    /// Tasks of this connection that the function ends and that the shell has seen, in CmdSN order.
    /// No response will be sent for them. Answer when they can have no further effect.
    pub tasks: Vec<TaskHandle>,
}

/// Identifier of a task management function request of one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TaskManagementHandle(pub(super) u64);

/// Reason why a connection ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CloseReason {
    /// The initiator logged out.
    LoggedOut,
    /// The login failed with this status.
    LoginFailed(LoginStatus, &'static str),
    /// Full feature phase was not reached in time.
    LoginTimeout,
    /// A ping was not answered.
    KeepaliveTimeout,
    /// The initiator did not log out in the time given by an asynchronous message.
    LogoutTimeout,
    /// The initiator violated the protocol in a way that requires session recovery.
    ProtocolError(&'static str),
    /// A digest did not match.
    DigestError,
    /// [`Connection::close`](super::Connection::close) was called.
    Requested,
}

/// Event that the shell has to handle.
#[derive(Clone, Debug)]
pub enum Event {
    /// The login is complete except for the session. The shell ends an old session of the same
    /// initiator port and target port (session reinstatement, RFC 7143 §6.3.5), waits until none of
    /// its tasks can have an effect, then calls
    /// [`Connection::accept_session`](super::Connection::accept_session) or
    /// [`Connection::reject_login`](super::Connection::reject_login).
    ///
    /// With `requested_tsih` other than 0 the correct answer is
    /// [`LoginStatus::SESSION_DOES_NOT_EXIST`], or [`LoginStatus::TOO_MANY_CONNECTIONS`] if the
    /// session exists.
    SessionOpening(SessionIdentity),
    /// A command for the device server, in CmdSN order as far as task attributes require. To be
    /// answered with [`Connection::respond`](super::Connection::respond), or ended by a task
    /// management function or
    /// [`Connection::discard`](super::Connection::discard).
    Command(Command),
    /// A function for the task manager.
    TaskManagement(TaskManagement),
    /// The initiator logs out. The shell ends the tasks, then calls
    /// [`Connection::finish_logout`](super::Connection::finish_logout).
    Logout,
    /// The connection has ended; this is the last event. Unanswered tasks have been removed.
    Closed(CloseReason),
}

/// Counters for metrics, from the start of the connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// PDUs received.
    pub pdus_received: u64,
    /// Reject PDUs sent.
    pub rejects: u64,
    /// Commands dropped because their CmdSN was outside the window or repeated.
    pub commands_dropped: u64,
    /// Tasks that ended because Data-Out came out of sequence.
    pub data_out_sequence_errors: u64,
    /// Data-Out bytes received.
    pub data_out_bytes: u64,
    /// Data-In bytes sent.
    pub data_in_bytes: u64,
}
