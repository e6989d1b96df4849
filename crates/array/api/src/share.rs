//! Shares: files that hosts use over NFS, and the hosts that may use them.

use crate::{KeptBySnapshot, Latency, Source, Warning};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

/// A share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Share {
    /// Identity; accepted wherever the name is.
    pub id: Uuid,
    /// Name, unique among shares and volumes.
    pub name: String,
    /// Name of its pool.
    pub pool: String,
    /// Path that hosts mount.
    pub path: String,
    /// Bytes of stored files and their metadata.
    pub mapped_bytes: u64,
    /// Bytes that deleting the share would free; counted as for volumes.
    pub unique_bytes: Option<u64>,
    /// Mapped bytes that a snapshot, a clone or a copied range also refers to: `mapped = unique +
    /// shared`. `null` if `unique_bytes` is.
    pub shared_bytes: Option<u64>,
    /// Bytes that deleting all snapshots of this share together would free; counted like
    /// `unique_bytes`.
    pub snapshot_bytes: Option<u64>,
    /// Number of snapshots of this share.
    pub snapshots: u64,
    /// Bytes of the pool kept free for this share.
    pub promised_bytes: u64,
    /// Largest space of the share: `mapped_bytes` and `promised_bytes` together do not grow beyond it. `null`: the
    /// pool is the limit.
    #[serde(default)]
    pub quota_bytes: Option<u64>,
    /// Versions of NFS that serve the share.
    pub protocols: Vec<NfsVersion>,
    /// Copy policy.
    pub copy: CopyPolicy,
    /// Owner with which the root directory was created.
    pub owner_uid: u32,
    /// Group with which the root directory was created.
    pub owner_gid: u32,
    /// Permission bits with which the root directory was created, in octal digits.
    pub mode: String,
    /// First half of the file system identifier, 16 hexadecimal digits.
    pub fsid: String,
    /// Epoch of the filehandles: those of an earlier one are stale.
    pub epoch: u32,
    /// Share or snapshot that the share was cloned from.
    pub source: Option<Source>,
    /// Time of creation.
    #[schema(value_type = String, format = DateTime)]
    pub created: Timestamp,
    /// Export rules, the most exact first: hosts that may use the share.
    pub exports: Vec<Export>,
    /// Addresses of the NFS server as hosts see them, `ADDRESS:PORT`. Empty: the array does not serve NFS.
    #[serde(default)]
    pub portals: Vec<String>,
    /// Warnings about the change that this is the reply to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
}

/// Whether a host may use a share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ShareHost {
    /// Name of the share.
    pub share: String,
    /// Name of the host.
    pub host: String,
    /// Each address of the host.
    pub addresses: Vec<ShareHostAddress>,
}

/// Address of a host, with the rule of a share that decides about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ShareHostAddress {
    /// Address.
    #[schema(value_type = String)]
    pub address: IpAddr,
    /// The rule that decides; `null`: no rule is about the address, which may not use the share.
    pub rule: Option<Export>,
}

/// Space used by a share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ShareSpace {
    /// Name of the share.
    pub share: String,
    /// Bytes of stored files and their metadata: `unique + shared`.
    pub mapped_bytes: u64,
    /// Bytes that deleting the share would free.
    pub unique_bytes: Option<u64>,
    /// Mapped bytes that a snapshot, a clone or a copied range also refers to.
    pub shared_bytes: Option<u64>,
    /// Bytes that deleting all snapshots of the share together would free.
    pub snapshot_bytes: Option<u64>,
    /// Bytes of the pool kept free for the share.
    pub promised_bytes: u64,
    /// Statistics of DEALLOCATE operations since the array started.
    pub deallocated: Deallocated,
    /// Bytes that each snapshot alone keeps, the largest first.
    pub kept: Vec<KeptBySnapshot>,
}

/// Statistics of DEALLOCATE operations.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Deallocated {
    /// Number of completed operations.
    pub operations: u64,
    /// Bytes inside files that they were about.
    pub requested_bytes: u64,
    /// Deallocated bytes; they are free unless a snapshot or clone keeps them.
    pub deallocated_bytes: u64,
    /// Bytes at the edges; they read as zeros and may stay allocated.
    pub unaligned_bytes: u64,
    /// Number of operations whose range was smaller than the allocation unit.
    pub below_grain_operations: u64,
}

/// Reads and writes of a share since the array started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ShareIo {
    /// Name of the share.
    pub share: String,
    /// Completed reads: READ and READ_PLUS.
    pub reads: u64,
    /// Bytes that they returned, without holes.
    pub read_bytes: u64,
    /// Completed writes.
    pub writes: u64,
    /// Bytes that they stored.
    pub written_bytes: u64,
    /// Latency of reads.
    pub read_latency: Latency,
    /// Latency of writes.
    pub write_latency: Latency,
}

/// Version of NFS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NfsVersion {
    /// NFSv3.
    V3,
    /// NFSv4.1 and 4.2.
    V4,
}

/// Copy policy: what the array does when a host asks it to copy a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CopyPolicy {
    /// Source and copy share blocks. Each gets a block of its own when the block changes.
    Share,
    /// The copy gets blocks of its own. A long copy goes on after the reply to COPY, if the host permits that.
    Physical,
}

/// Request to create a share: an empty one, or a clone if `source` is given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ShareCreate {
    /// Name, unique among shares and volumes.
    pub name: String,
    /// Share (`name` or id) or snapshot of a share (`share@name` or id) to clone. Excludes all other
    /// fields except `name`: a clone is like its source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Pool of the share, by name. Default: the array's default pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<String>,
    /// Owner of the root directory. Default: 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner_uid: Option<u32>,
    /// Group of the root directory. Default: 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner_gid: Option<u32>,
    /// Permission bits of the root directory in octal digits. Default: `0755`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// Versions of NFS that serve the share. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocols: Option<Vec<NfsVersion>>,
    /// Copy policy. Default: `share`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy: Option<CopyPolicy>,
    /// Largest space of the share, a multiple of 1 MiB; 0: none. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota_bytes: Option<u64>,
}

/// Request to change a share. Omitted fields stay unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ShareSet {
    /// New name, and with it a new path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Versions of NFS that serve the share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocols: Option<Vec<NfsVersion>>,
    /// Copy policy, for copies that begin from then on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy: Option<CopyPolicy>,
    /// Largest space of the share, a multiple of 1 MiB; 0: none. A quota below what is used refuses growth, and
    /// nothing else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota_bytes: Option<u64>,
    /// Make the filehandles of all clients stale.
    #[serde(default)]
    pub new_handles: bool,
}

/// Request to return a share to the content of one of its snapshots.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ShareRollback {
    /// Name or id of one of the share's snapshots.
    pub snapshot: String,
    /// First create a snapshot with this name of the present content. It stays if the roll-back
    /// fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep: Option<String>,
}

/// Options for deleting a share.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ShareDelete {
    /// Delete its snapshots too. Without this option, a share that has snapshots is not deleted.
    #[serde(default)]
    pub with_snapshots: bool,
    /// Delete it for good, instead of to the trash; needs the role admin.
    #[serde(default)]
    pub now: bool,
}

/// Export rule: access of hosts to a share. The most exact rule about a host decides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Export {
    /// Name of the share.
    pub share: String,
    /// Identity of the share.
    pub share_id: Uuid,
    /// Name of the host, `group:NAME`, `ADDRESS/PREFIX`, or `any`.
    pub host: String,
    /// Identity of the host; absent for other rules.
    pub host_id: Option<Uuid>,
    /// Identity of the host group; absent for other rules.
    pub group_id: Option<Uuid>,
    /// True if every change is refused.
    pub read_only: bool,
    /// Users that become the anonymous user.
    pub squash: Squash,
    /// Anonymous user.
    pub anonymous_uid: u32,
    /// Anonymous group.
    pub anonymous_gid: u32,
    /// True if calls have to come from a port below 1024.
    pub privileged_port: bool,
    /// Time of the grant.
    #[schema(value_type = String, format = DateTime)]
    pub created: Timestamp,
}

/// Users that become the anonymous user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Squash {
    /// No user.
    None,
    /// User 0.
    Root,
    /// All users.
    All,
}

/// Grants a share to hosts. It replaces the rule about the same hosts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ExportGrant {
    /// Host, by name or id. Exactly one of `host`, `group`, `network` and `any` is required.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Host group, by name or id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Network, as `ADDRESS/PREFIX`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<String>,
    /// All hosts.
    #[serde(default)]
    pub any: bool,
    /// Refuse every change.
    #[serde(default)]
    pub read_only: bool,
    /// Users that become the anonymous user. Default: none for a host or group, `root` otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub squash: Option<Squash>,
    /// Anonymous user. Default: 65534.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anonymous_uid: Option<u32>,
    /// Anonymous group. Default: 65534.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anonymous_gid: Option<u32>,
    /// Accept calls only from ports below 1024.
    #[serde(default)]
    pub privileged_port: bool,
}

/// Filter of the list of export rules.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ExportFilter {
    /// Only rules of this share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<String>,
    /// Only the rule about this host, `group:NAME`, `ADDRESS/PREFIX`, or `any`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
}

/// Filter of the list of shares: those that match every parameter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ShareFilter {
    /// Only shares with an export rule about this host or about a group of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Only shares with this property.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(inline)]
    pub has: Option<ShareHas>,
}

/// Property of shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ShareHas {
    /// An active alert is about it.
    Alert,
    /// It has no export rule.
    NoHost,
    /// An export rule is about every host.
    OpenAccess,
    /// It has snapshots.
    Snapshots,
}
