//! Access: the volumes that each host sees, and their logical unit numbers.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

/// One grant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Access {
    /// Name of the volume.
    pub volume: String,
    /// Identity of the volume.
    pub volume_id: Uuid,
    /// Name of the host, `any`, or `group:NAME`.
    pub host: String,
    /// Identity of the host; absent for `any` and for a group.
    pub host_id: Option<Uuid>,
    /// Identity of the host group; absent for other grants.
    pub group_id: Option<Uuid>,
    /// Logical unit number.
    pub lun: u16,
    /// `iscsi://ADDRESS:PORT/TARGET/LUN` at the first portal.
    pub iscsi_url: String,
    /// Time of the grant.
    #[schema(value_type = String, format = DateTime)]
    pub created: Timestamp,
}

/// Grants a volume to a host, or to every initiator that can reach a portal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AccessGrant {
    /// Volume, by name or id.
    pub volume: String,
    /// Host, by name or id. Exactly one of `host`, `group` and `any` is required.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Host group, by name or id: every member sees the volume at the same logical unit number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Every host, known or not; unknown hosts do not authenticate.
    #[serde(default)]
    pub any: bool,
    /// Logical unit number, 0 to 16383; default: the lowest free number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(maximum = 16383)]
    pub lun: Option<u16>,
}

/// Filter of the list of grants.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct AccessFilter {
    /// Only grants of this volume.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume: Option<String>,
    /// Only grants to this host, `any`, or `group:NAME`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
}
