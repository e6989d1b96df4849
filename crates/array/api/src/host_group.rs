//! Host groups: several hosts that see the same volumes at the same logical unit numbers.

use crate::HostLun;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

/// A host group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HostGroup {
    /// Identity.
    pub id: Uuid,
    /// Unique name.
    pub name: String,
    /// Names of the member hosts, in order.
    pub hosts: Vec<String>,
    /// Volumes granted to the group, by logical unit number.
    pub luns: Vec<HostLun>,
    /// Time of creation.
    #[schema(value_type = String, format = DateTime)]
    pub created: Timestamp,
}

/// Request to create a host group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct HostGroupCreate {
    /// Unique name.
    pub name: String,
    /// Hosts, by name or id.
    #[serde(default)]
    pub hosts: Vec<String>,
}

/// Request to change a host group. Omitted fields stay unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct HostGroupSet {
    /// New name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Hosts that join, by name or id.
    #[serde(default)]
    pub add: Vec<String>,
    /// Hosts that leave, by name or id.
    #[serde(default)]
    pub remove: Vec<String>,
}
