//! Hosts: machines, their initiator names, addresses and their authentication.
//!
//! Clients send secrets to the array, which does not return them. The one exception is a secret
//! that the array generated: only the response to that request carries it.

use crate::HostWarning;
use crate::QosHeld;
use crate::redacted::redacted_debug;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

/// A host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Host {
    /// Identity.
    pub id: Uuid,
    /// Unique name.
    pub name: String,
    /// iSCSI initiator names of the host, in lower case.
    pub iqns: Vec<String>,
    /// IP addresses of the host, from which it uses shares.
    #[serde(default)]
    #[schema(value_type = Vec<String>)]
    pub addresses: Vec<IpAddr>,
    /// CHAP names; absent when the host need not authenticate.
    pub chap: Option<Chap>,
    /// Number of its present iSCSI sessions.
    pub sessions: u64,
    /// `ats`, `xcopy`, `zero` and `unmap`, as its present sessions used them.
    #[serde(default)]
    pub primitives: Vec<HostPrimitive>,
    /// Volumes granted to this host by name; grants to any host are not listed.
    pub luns: Vec<HostLun>,
    /// Name of its QoS policy; absent: it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub qos_policy: Option<String>,
    /// Delays by the limits of its QoS policy, and costs of its commands; absent without a policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub qos_held: Option<QosHeld>,
    /// Warnings about its paths, logins and authentication.
    #[serde(default)]
    pub warnings: Vec<HostWarning>,
    /// Time of creation.
    #[schema(value_type = String, format = DateTime)]
    pub created: Timestamp,
    /// Secrets that the array generated for this request; returned only once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generated: Option<GeneratedSecrets>,
}

/// Primitive of volumes with a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HostPrimitive {
    /// `ats`, `xcopy`, `zero` or `unmap`.
    pub name: String,
    /// As VMware hosts show it.
    pub status: PrimitiveStatus,
    /// True if the host has read the page that announces it.
    pub announced: bool,
    /// Last command that succeeded.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last_ok: Option<Timestamp>,
    /// Last command that was refused, if its sessions have not used it with success since.
    pub last_refusal: Option<HostRefusal>,
}

/// Status of a primitive with a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PrimitiveStatus {
    /// Its last command succeeded.
    Supported,
    /// Its last command was refused.
    NotSupported,
    /// No command of it came.
    Unknown,
}

/// Refused command of a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HostRefusal {
    /// Stable name of the reason.
    pub reason_code: String,
    /// Text of the reason.
    pub reason: String,
    /// Time of the command.
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
}

/// CHAP names of a host; the secrets are never returned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Chap {
    /// Name that the host presents.
    pub user: String,
    /// Name that the array presents to the host; present with mutual authentication.
    pub mutual_user: Option<String>,
}

/// Secrets that the array generated.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GeneratedSecrets {
    /// Secret of the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chap_secret: Option<String>,
    /// Secret of the array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mutual_chap_secret: Option<String>,
}

/// A volume as a host sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HostLun {
    /// Name of the volume.
    pub volume: String,
    /// Logical unit number.
    pub lun: u16,
    /// `iscsi://ADDRESS:PORT/TARGET/LUN` at the first portal.
    pub iscsi_url: String,
}

/// Request to create a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct HostCreate {
    /// Unique name.
    pub name: String,
    /// Initiator names (`iqn.`, `eui.` or `naa.`). A host has at least one of them, or an address.
    #[serde(default)]
    pub iqns: Vec<String>,
    /// IP addresses from which the host uses shares. No other host has them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<String>)]
    pub addresses: Vec<IpAddr>,
    /// Require CHAP with these credentials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chap: Option<ChapSet>,
}

/// CHAP credentials of a host. An omitted secret is the present one; the array generates it, and
/// returns it once, if there is none or `generate` is set.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChapSet {
    /// Name that the host presents.
    pub user: String,
    /// Secret: 12 to 255 printable ASCII characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// Generate a secret, also if there is one. Excludes `secret`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub generate: bool,
    /// Credentials with which the array authenticates to the host as well; omitted: it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mutual: Option<MutualChapSet>,
}

/// Credentials with which the array authenticates to a host.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MutualChapSet {
    /// Name that the array presents.
    pub user: String,
    /// Secret: 12 to 255 printable ASCII characters, different from the secret of the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// Generate a secret, also if there is one. Excludes `secret`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub generate: bool,
}

/// Request to change a host. Omitted fields stay unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct HostSet {
    /// New name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Initiator names; replace all present ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iqns: Option<Vec<String>>,
    /// IP addresses; replace all present ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<String>>)]
    pub addresses: Option<Vec<IpAddr>>,
    /// Require CHAP with these credentials from the next login on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chap: Option<ChapSet>,
    /// Stop requiring CHAP. Excludes `chap`.
    #[serde(default)]
    pub remove_chap: bool,
    /// QoS policy, by name or id; empty: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub qos_policy: Option<String>,
}

redacted_debug!(GeneratedSecrets {} hides { chap_secret, mutual_chap_secret });
redacted_debug!(ChapSet { user, generate, mutual } hides { secret });
redacted_debug!(MutualChapSet { user, generate } hides { secret });

/// Filter of the list of hosts: those that match every parameter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct HostFilter {
    /// Only hosts of this group, by name or id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Only hosts with this property.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(inline)]
    pub has: Option<HostHas>,
}

/// Property of hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HostHas {
    /// It has sessions.
    Session,
    /// It has no session.
    NoSession,
    /// No volume is granted to it or to a group of it.
    NoVolume,
    /// It need not authenticate.
    NoChap,
}

#[cfg(test)]
mod tests {
    use super::{ChapSet, GeneratedSecrets, MutualChapSet};

    #[test]
    fn secrets_do_not_reach_debug_output() {
        let hidden = "correct-horse-battery";
        let mutual = Some(MutualChapSet { user: "array".into(), secret: Some(hidden.into()), generate: false });
        let set = ChapSet { user: "esx01".into(), secret: Some(hidden.into()), generate: false, mutual };
        let generated = GeneratedSecrets { chap_secret: Some(hidden.into()), mutual_chap_secret: Some(hidden.into()) };
        let text = format!("{set:?} {generated:?}");
        assert!(!text.contains(hidden) && text.contains("esx01"), "{text}");
    }
}
