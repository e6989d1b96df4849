//! Connecting hosts: what an administrator enters on a host, and how far the host is.

use crate::{AccessState, HostPrimitive, Login, SessionParameters};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// System of hosts for which there are plans.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConnectSystem {
    /// Name: `esxi`, `linux`, `proxmox`, `windows`, `libvirt` or `kubernetes`.
    pub system: String,
    /// Name for people.
    pub title: String,
    /// Versions that the commands are for.
    pub versions: String,
    /// True if there are plans for shares, too.
    pub shares: bool,
    /// Parameters of a plan beside host and volume.
    pub fields: Vec<String>,
}

/// Host, system, and the volume or share that the host is to use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ConnectQuery {
    /// System of the host.
    pub system: String,
    /// Host, by name or id.
    pub host: String,
    /// Volume, by name or id. Either this or `share` is needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume: Option<String>,
    /// Share, by name or id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<String>,
    /// iSCSI adapter of an ESXi host, such as `vmhba64`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adapter: Option<String>,
    /// Of a share: address of the array's NFS server, `ADDRESS` or `ADDRESS:PORT`; default: its first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// Of a share: directory to mount it on; default: `/mnt/NAME`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
}

/// What an administrator enters on a host. Values in commands are quoted for their shell; placeholders stand for
/// secrets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConnectPlan {
    /// System of the host.
    pub system: String,
    /// Facts that the commands name.
    pub facts: ConnectFacts,
    /// What prevents the host from using the volume or share, with the command of the array that helps.
    pub warnings: Vec<String>,
    /// Placeholders in the commands, which the administrator replaces.
    pub placeholders: Vec<ConnectPlaceholder>,
    /// Steps, in order.
    pub steps: Vec<ConnectStep>,
    /// Commands that undo the steps for this volume or share alone, in order. Other volumes of the host stay.
    pub undo: Vec<ConnectCommand>,
    /// What follows the commands of `undo`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo_note: Option<String>,
    /// Commands that undo the steps which are once for each host, in order: they take the host off the array.
    pub undo_host: Vec<ConnectCommand>,
    /// What the commands of `undo_host` do to other volumes of the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo_host_warning: Option<String>,
}

/// Facts that the commands of a plan name. A plan for a share has none of those of a volume.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConnectFacts {
    /// Name of the target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Addresses and ports that take logins, as the array announces them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub portals: Vec<String>,
    /// LUN of the volume for the host; absent if it is not granted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lun: Option<u16>,
    /// NAA-6 designator of the volume.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub naa: Option<String>,
    /// Name that the host presents with CHAP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chap_user: Option<String>,
}

/// Placeholder in the commands of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConnectPlaceholder {
    /// Its text.
    pub text: String,
    /// What it stands for.
    pub meaning: String,
}

/// Step of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConnectStep {
    /// Name, unique in the plan.
    pub id: String,
    /// Title.
    pub title: String,
    /// Reason for the step.
    pub why: String,
    /// Where its commands are entered.
    pub place: String,
    /// True if the volume or share can be used without it.
    pub optional: bool,
    /// True if all volumes or shares that the host uses share it: it is entered once, and its undo affects them all.
    pub once_per_host: bool,
    /// Commands, in order.
    pub commands: Vec<ConnectCommand>,
    /// Commands that undo it, in order.
    pub undo: Vec<ConnectCommand>,
}

/// Command, or content of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConnectCommand {
    /// Text, of one line or several.
    pub text: String,
    /// What reads it: `esxi`, `sh`, `powershell`, `xml` or `yaml`.
    pub shell: String,
    /// Name of the file that has this content; absent for a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

/// Host, and the volume that it is to use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ConnectStateQuery {
    /// Host, by name or id.
    pub host: String,
    /// Volume, by name or id; default: any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume: Option<String>,
}

/// How far a host is in using a volume. It is known from what the host sends; it ends with its sessions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConnectState {
    /// Name of the host.
    pub host: String,
    /// Name of the volume.
    pub volume: Option<String>,
    /// LUN of the volume for the host.
    pub lun: Option<u16>,
    /// The last time that the host asked for targets.
    pub discovery: Option<Login>,
    /// Its last login attempts, newest first.
    pub logins: Vec<Login>,
    /// Its sessions.
    pub paths: Vec<ConnectPath>,
    /// Portals that take logins, through which it has no session.
    pub missing_portals: Vec<String>,
    /// What it has asked about the volume.
    pub asked: ConnectAsked,
    /// Primitives.
    pub primitives: Vec<HostPrimitive>,
    /// Time of the first read or write of the sessions that use the volume.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub first_io: Option<Timestamp>,
    /// True if nothing is missing: the host can use the volume.
    pub ready: bool,
    /// What is missing.
    pub missing: Vec<ConnectMissing>,
    /// What is doubtful about the host and its paths.
    #[serde(default)]
    pub warnings: Vec<HostWarning>,
}

/// Doubtful state of a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HostWarning {
    /// `one-path`, `one-path-used`, `unequal-mss`, `logins-refused`, `no-chap`, `silent` or `lun-above-255`.
    pub code: String,
    /// Text, with what helps.
    pub text: String,
}

/// Session of a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConnectPath {
    /// Number of the session.
    pub session: u64,
    /// Address and port of the portal, as the array announces it.
    pub portal: String,
    /// Target port group of the portal.
    pub group: u16,
    /// State of the group.
    pub state: AccessState,
    /// Time of the login.
    #[schema(value_type = String, format = DateTime)]
    pub since: Timestamp,
    /// Address and port of the host.
    pub from: String,
    /// As in `Session`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mss_bytes: Option<u32>,
    /// As in `Session`.
    #[serde(default)]
    pub parameters: SessionParameters,
}

/// Times at which a host last asked about a volume.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConnectAsked {
    /// READ CAPACITY.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub capacity: Option<Timestamp>,
    /// VPD page B0h: block limits.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub b0: Option<Timestamp>,
    /// VPD page B2h: logical block provisioning.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub b2: Option<Timestamp>,
    /// VPD page 8Fh: third-party copy.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub x8f: Option<Timestamp>,
}

/// Something that is missing until a host can use a volume.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConnectMissing {
    /// `initiator`, `grant`, `login`, `capacity`, or the name of a primitive that was refused.
    pub code: String,
    /// Text, with what helps.
    pub text: String,
}
