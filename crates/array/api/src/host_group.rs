//! Host groups: several hosts that see the same volumes as the same logical unit numbers.

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
    /// Names of its hosts, in order.
    pub hosts: Vec<String>,
    /// Volumes granted to it, by logical unit number.
    pub luns: Vec<HostLun>,
    /// When it was created.
    #[schema(value_type = String, format = DateTime)]
    pub created: Timestamp,
}

/// A new host group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct HostGroupCreate {
    /// Unique name.
    pub name: String,
    /// Hosts, by name or id.
    #[serde(default)]
    pub hosts: Vec<String>,
}

/// A change of a host group; absent fields stay.
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
