//! Access: which volume a host sees, and as which logical unit number.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

/// One grant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Access {
    /// The volume's name.
    pub volume: String,
    /// The volume's identity.
    pub volume_id: Uuid,
    /// The host's name, `any`, or `group:NAME`.
    pub host: String,
    /// The host's identity; absent for `any` and for a group.
    pub host_id: Option<Uuid>,
    /// The host group's identity; absent for anything else.
    pub group_id: Option<Uuid>,
    /// Logical unit number.
    pub lun: u16,
    /// `iscsi://ADDRESS:PORT/TARGET/LUN` at the first portal.
    pub iscsi_url: String,
    /// When it was granted.
    #[schema(value_type = String, format = DateTime)]
    pub created: Timestamp,
}

/// Grants a volume to a host, or to every initiator that can reach a portal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AccessGrant {
    /// Volume, by name or id.
    pub volume: String,
    /// Host, by name or id. Exactly one of this, `group` and `any`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Host group, by name or id: every member sees the volume as the same number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Every host, known or not, without authentication of those that are not known.
    #[serde(default)]
    pub any: bool,
    /// 0 to 16383; the lowest free number when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lun: Option<u16>,
}

/// Which grants to list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct AccessList {
    /// Only those of this volume.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume: Option<String>,
    /// Only those of this host, `any`, or `group:NAME`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
}
