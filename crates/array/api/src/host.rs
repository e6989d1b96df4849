//! Hosts: machines with initiator names, and how they prove who they are.
//!
//! Secrets travel towards the array only. The one exception is a secret that the array made up: the response to that very request
//! carries it, and no later one does.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

/// A host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Host {
    /// Identity.
    pub id: Uuid,
    /// Unique name.
    pub name: String,
    /// Its iSCSI initiator names, in lower case.
    pub iqns: Vec<String>,
    /// How it authenticates; absent when it need not.
    pub chap: Option<Chap>,
    /// iSCSI sessions it has now.
    pub sessions: u64,
    /// Volumes granted to this very host; those granted to any host are not listed.
    pub luns: Vec<HostLun>,
    /// When it was made.
    #[schema(value_type = String, format = DateTime)]
    pub created: Timestamp,
    /// Secrets the array made for this request, shown this once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generated: Option<GeneratedSecrets>,
}

/// CHAP names of a host; the secrets are never returned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Chap {
    /// Name the host presents.
    pub user: String,
    /// Name the array presents to the host, when authentication is mutual.
    pub mutual_user: Option<String>,
}

/// Secrets made by the array.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GeneratedSecrets {
    /// The host's secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chap_secret: Option<String>,
    /// The array's secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mutual_chap_secret: Option<String>,
}

/// A volume as a host sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HostLun {
    /// The volume's name.
    pub volume: String,
    /// Logical unit number.
    pub lun: u16,
    /// `iscsi://ADDRESS:PORT/TARGET/LUN` at the first portal.
    pub iscsi_url: String,
}

/// Makes a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct HostCreate {
    /// Unique name.
    pub name: String,
    /// Initiator names (`iqn.`, `eui.` or `naa.`); at least one.
    pub iqns: Vec<String>,
    /// Demand CHAP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chap: Option<ChapSet>,
}

/// CHAP for a host. A secret that is left out is made by the array and returned once.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChapSet {
    /// Name the host presents.
    pub user: String,
    /// 12 to 255 printable ASCII characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// The array authenticates to the host too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mutual: Option<MutualChapSet>,
}

/// How the array authenticates to a host.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MutualChapSet {
    /// Name the array presents.
    pub user: String,
    /// 12 to 255 printable ASCII characters, different from the host's secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
}

/// Changes a host. What is left out stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct HostSet {
    /// New name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// All initiator names; replaces those it had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iqns: Option<Vec<String>>,
    /// Demand CHAP with these credentials from the next login on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chap: Option<ChapSet>,
    /// No longer demand CHAP. Excludes `chap`.
    #[serde(default)]
    pub remove_chap: bool,
}

/// Debug output names what is there and never a secret.
macro_rules! redacted_debug {
    ($type:ident { $($plain:ident),* } hides { $($secret:ident),* }) => {
        impl std::fmt::Debug for $type {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.debug_struct(stringify!($type))
                    $(.field(stringify!($plain), &self.$plain))*
                    $(.field(stringify!($secret), &self.$secret.as_ref().map(|_| "(secret)")))*
                    .finish()
            }
        }
    };
}
redacted_debug!(GeneratedSecrets {} hides { chap_secret, mutual_chap_secret });
redacted_debug!(ChapSet { user, mutual } hides { secret });
redacted_debug!(MutualChapSet { user } hides { secret });

#[cfg(test)]
mod tests {
    use super::{ChapSet, GeneratedSecrets, MutualChapSet};

    #[test]
    fn secrets_do_not_reach_debug_output() {
        let hidden = "correct-horse-battery";
        let mutual = Some(MutualChapSet { user: "array".into(), secret: Some(hidden.into()) });
        let set = ChapSet { user: "esx01".into(), secret: Some(hidden.into()), mutual };
        let generated = GeneratedSecrets { chap_secret: Some(hidden.into()), mutual_chap_secret: Some(hidden.into()) };
        let text = format!("{set:?} {generated:?}");
        assert!(!text.contains(hidden) && text.contains("esx01"), "{text}");
    }
}
