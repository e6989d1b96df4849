//! Documents of hosts.

use super::Initiator;
use crate::environment::Secret;
use crate::record::Document;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use uuid::Uuid;

/// A host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostRecord {
    /// Id.
    pub id: Uuid,
    /// Unique name.
    pub name: String,
    /// Initiators of the host; no other host has them.
    #[serde(rename = "iqns")]
    pub initiators: Vec<Initiator>,
    /// IP addresses of the host, from which it uses shares; no other host has them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<IpAddr>,
    /// Credentials if CHAP is required.
    pub chap: Option<Chap>,
    /// QoS policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Uuid>,
    /// Creation time.
    pub created: Timestamp,
}

impl Document for HostRecord {
    const PREFIX: &'static str = "host/";
    fn key(&self) -> String {
        format!("{}{}", Self::PREFIX, self.id)
    }
}

/// CHAP credentials of a host. CHAP needs the plain secret (RFC 1994 §4.1), so it is stored
/// unencrypted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chap {
    /// Name that the host presents.
    pub user: String,
    /// Secret of the host.
    pub secret: Secret,
    /// Credentials of the array, if it authenticates too.
    pub mutual: Option<MutualChap>,
}

/// CHAP credentials of the array towards a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MutualChap {
    /// Name that the array presents.
    pub user: String,
    /// Secret of the array.
    pub secret: Secret,
}
