//! Documents of portals and target port groups.

use crate::record::Document;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use unit::{AccessState, StateOrigin};

/// Present or former portal of the configuration: a target port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PortalRecord {
    /// Relative target port identifier, and target portal group tag.
    pub identifier: u16,
    /// Configured listening address.
    pub listen: SocketAddr,
    /// Index among the portals with this address: 0 unless several have port 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub place: u16,
    /// Target port group, if set by command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<u16>,
    /// Redirection of logins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redirect: Option<RedirectRecord>,
    /// Time at which it was first seen.
    pub created: Timestamp,
}

impl Document for PortalRecord {
    const PREFIX: &'static str = "portal/";
    fn key(&self) -> String {
        format!("{}{}", Self::PREFIX, self.identifier)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it")]
fn is_zero(place: &u16) -> bool {
    *place == 0
}

/// Redirection of logins (RFC 7143 §11.13.5).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RedirectRecord {
    /// `ADDRESS:PORT` that initiators get.
    pub address: String,
    /// True if permanent (0102h), false if temporary (0101h).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub permanently: bool,
}

/// Target port group with a stored state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PortGroupRecord {
    /// Number of the group, from 1.
    pub identifier: u16,
    /// State.
    pub state: AccessState,
    /// True if hosts should prefer it to others in the same state.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub preferred: bool,
    /// Cause of the state.
    #[serde(default)]
    pub origin: StateOrigin,
}

impl PortGroupRecord {
    /// Record of a group with default settings.
    pub(crate) fn new(identifier: u16) -> Self {
        Self { identifier, state: AccessState::default(), preferred: false, origin: StateOrigin::default() }
    }
}

impl Document for PortGroupRecord {
    const PREFIX: &'static str = "port-group/";
    fn key(&self) -> String {
        format!("{}{}", Self::PREFIX, self.identifier)
    }
}
