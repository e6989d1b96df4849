//! iSCSI sessions.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// One iSCSI session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Session {
    /// Number of the session, unique since the array started.
    pub id: u64,
    /// Name of the initiator.
    pub initiator: String,
    /// Host of the initiator, if it is known.
    pub host: Option<String>,
    /// Address and port of the array's network portal.
    pub portal: String,
    /// Address and port of the initiator.
    pub peer_address: String,
    /// Time of the login.
    #[schema(value_type = String, format = DateTime)]
    pub since: Timestamp,
    /// Time of arrival of the last command.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last_io: Option<Timestamp>,
    /// Number of commands received.
    pub commands: u64,
    /// Bytes sent to the initiator.
    pub read_bytes: u64,
    /// Bytes received from the initiator.
    pub written_bytes: u64,
}
