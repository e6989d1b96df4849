//! iSCSI sessions.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// One iSCSI session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Session {
    /// Number of the session, unique since the array started.
    pub id: u64,
    /// The initiator's name.
    pub initiator: String,
    /// The host it belongs to, when it is known.
    pub host: Option<String>,
    /// Network portal of the array.
    pub portal: String,
    /// Address and port of the initiator.
    pub peer_address: String,
    /// When it logged in.
    #[schema(value_type = String, format = DateTime)]
    pub since: Timestamp,
    /// When its last command arrived.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last_io: Option<Timestamp>,
    /// Commands received.
    pub commands: u64,
    /// Bytes sent to the initiator.
    pub read_bytes: u64,
    /// Bytes received from it.
    pub written_bytes: u64,
}
