//! Failures of a client.

use nfs::v4::Status;
use onc_rpc::CallError;
use onc_rpc::message::ReplyBody;
use std::time::Duration;
use thiserror::Error;
use xdr::XdrError;

/// Reason why a call has no result.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ClientError {
    /// The TCP connection failed.
    #[error("cannot connect to {server}: {reason}")]
    Connect {
        /// Host and port.
        server: String,
        /// Error of the operating system.
        reason: String,
    },
    /// The connection broke, or the server violated the protocol. The effect of calls in flight is
    /// unknown.
    #[error("the connection to {server} is lost: {reason}")]
    Lost {
        /// Host and port.
        server: String,
        /// Reason of the loss.
        reason: String,
    },
    /// No reply came in time.
    #[error("no answer from {server} within {} s", .limit.as_secs_f64())]
    Timeout {
        /// Host and port.
        server: String,
        /// Time limit.
        limit: Duration,
    },
    /// The server did not execute the call.
    #[error("the server did not execute the call: {0:?}")]
    Rpc(ReplyBody),
    /// The results are not those of the call.
    #[error("the server's reply is malformed: {0}")]
    Malformed(String),
    /// An operation failed.
    #[error("{operation}: {status}")]
    Status {
        /// Name of the operation.
        operation: &'static str,
        /// Its status.
        status: Status,
    },
    /// The server has lost the session, and with it opens and locks.
    #[error("the server has lost the session: {0}")]
    SessionLost(Status),
}

impl ClientError {
    /// Status of the operation that failed, if that is the reason.
    pub fn status(&self) -> Option<Status> {
        match self {
            Self::Status { status, .. } | Self::SessionLost(status) => Some(*status),
            _ => None,
        }
    }

    /// Whether the call may succeed on another connection.
    pub(crate) fn is_of_the_connection(&self) -> bool {
        matches!(self, Self::Connect { .. } | Self::Lost { .. } | Self::Timeout { .. })
    }
}

impl From<XdrError> for ClientError {
    fn from(error: XdrError) -> Self {
        Self::Malformed(error.to_string())
    }
}

impl From<CallError> for ClientError {
    fn from(error: CallError) -> Self {
        Self::Malformed(format!("{error:?}"))
    }
}
