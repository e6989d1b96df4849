//! iSCSI sessions.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use utoipa::{IntoParams, ToSchema};

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
    /// Largest TCP segment of its leading connection at the login; absent if the system does not say. Paths with
    /// different values have jumbo frames on one side only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mss_bytes: Option<u32>,
    /// What initiator and array have agreed on.
    #[serde(default)]
    pub parameters: SessionParameters,
}

/// What the login of a session has negotiated (RFC 7143 §13).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SessionParameters {
    /// HeaderDigest is CRC32C.
    pub header_digest: bool,
    /// DataDigest is CRC32C.
    pub data_digest: bool,
    /// InitialR2T: the initiator sends no data that the array has not asked for.
    pub initial_r2t: bool,
    /// ImmediateData: commands carry the first data.
    pub immediate_data: bool,
    /// MaxRecvDataSegmentLength of the initiator, in bytes.
    pub initiator_segment_bytes: u32,
    /// MaxRecvDataSegmentLength of the array, in bytes.
    pub target_segment_bytes: u32,
    /// MaxBurstLength in bytes.
    pub max_burst_bytes: u32,
    /// FirstBurstLength in bytes.
    pub first_burst_bytes: u32,
    /// MaxOutstandingR2T.
    pub max_outstanding_r2t: u16,
}

/// Filter of the list of sessions: those that match every parameter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct SessionFilter {
    /// Only sessions of this host, by name or id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Only sessions over this portal of the array, `ADDRESS:PORT`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<String>)]
    pub portal: Option<SocketAddr>,
}
