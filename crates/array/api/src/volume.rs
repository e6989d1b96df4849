//! Volumes: block devices with a name, a size and a permanent SCSI identifier.

use crate::{QosHeld, Warning};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

/// A volume.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Volume {
    /// Identity; accepted wherever the name is.
    pub id: Uuid,
    /// Unique name.
    pub name: String,
    /// Name of its pool.
    #[serde(default)]
    pub pool: String,
    /// NAA-6 designator of the logical unit, 32 hexadecimal digits (VPD page 83h). It never changes
    /// and is never reused.
    pub naa: String,
    /// Unit serial number (VPD page 80h).
    pub serial: String,
    /// Capacity that hosts see.
    pub size_bytes: u64,
    /// Bytes that hosts have written and not unmapped.
    pub mapped_bytes: u64,
    /// Bytes that deleting the volume would free: blocks that no snapshot, clone or copied range
    /// refers to. For a volume with many blocks of its own the count takes time: the value is then
    /// the last count, seconds to a few minutes old, and `null` until the first one is finished.
    pub unique_bytes: Option<u64>,
    /// Mapped bytes that a snapshot, a clone or a copied range also refers to: `mapped = unique +
    /// shared`. `null` if `unique_bytes` is.
    #[serde(default)]
    pub shared_bytes: Option<u64>,
    /// Bytes that deleting all snapshots of this volume together would free; counted like
    /// `unique_bytes`.
    #[serde(default)]
    pub snapshot_bytes: Option<u64>,
    /// Number of snapshots of this volume.
    pub snapshots: u64,
    /// `thick`: writes never fail for lack of space. `thin`: writes fail if the pool is full.
    #[serde(default)]
    pub reserve: Reserve,
    /// Percentage of the blocks that a thick volume shares with snapshots and clones for which
    /// space is kept free, so that they can be overwritten.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overwrite_reserve_percent: Option<u8>,
    /// Bytes of the pool kept free for this volume.
    #[serde(default)]
    pub promised_bytes: u64,
    /// True if blocks of zeros in written data are not stored.
    #[serde(default)]
    pub zero_detection: bool,
    /// Threshold in percent: the array raises an event when this share of the size is mapped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warn_percent: Option<u8>,
    /// Threshold in percent: the array raises an event of severity critical when this share of the
    /// size is mapped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub critical_percent: Option<u8>,
    /// True if writes are acknowledged before they are durable (WCE=1).
    pub write_cache: bool,
    /// Source that the volume was cloned from.
    pub source: Option<Source>,
    /// Labels.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Time of creation.
    #[schema(value_type = String, format = DateTime)]
    pub created: Timestamp,
    /// Grants of the volume: where hosts find it.
    pub luns: Vec<VolumeLun>,
    /// Name of its QoS policy; absent: it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub qos_policy: Option<String>,
    /// Delays by the limits of its QoS policy, and costs of its commands; absent without a policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub qos_held: Option<QosHeld>,
    /// Warnings about the change that this is the reply to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
}

/// Whether the pool keeps space free for a volume.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Reserve {
    /// Writes never fail for lack of space.
    Thick,
    /// Writes fail if the pool is full.
    #[default]
    Thin,
}

/// Source that a volume was cloned from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Source {
    /// Kind of the source.
    pub kind: SourceKind,
    /// Identity of the source.
    pub id: Uuid,
    /// Present name of the source (`volume@snapshot` for a snapshot); absent after its deletion.
    pub name: Option<String>,
}

/// Kinds of source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SourceKind {
    /// A volume, as it was at the instant of the clone.
    Volume,
    /// A snapshot.
    Snapshot,
    /// A share, as it was at the instant of the clone; of a volume: one of its files.
    Share,
}

/// Logical unit as which a host sees a volume.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct VolumeLun {
    /// Name of the host, or `any`.
    pub host: String,
    /// Logical unit number.
    pub lun: u16,
    /// `iscsi://ADDRESS:PORT/TARGET/LUN` at the first portal.
    pub iscsi_url: String,
}

/// Request to create a volume: an empty one, or a clone if `source` is given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct VolumeCreate {
    /// Unique name.
    pub name: String,
    /// Size, a multiple of 512 up to 256 TiB. Default for a clone: the size of its source, which is
    /// also the minimum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    /// Volume (`name` or id) or snapshot of a volume (`volume@name` or id) to clone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// File whose content the volume shares: `share/path` or `share@snapshot/path`. Excludes `source`. The size is
    /// rounded up to 4 096 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_file: Option<String>,
    /// Pool of the volume, by name; a clone is in the pool of its source. Default: the array's
    /// default pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<String>,
    /// Acknowledge writes before they are durable. Default: false.
    #[serde(default)]
    pub write_cache: bool,
    /// Thick or thin. Default: thin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserve: Option<Reserve>,
    /// Overwrite reserve of a thick volume in percent, 0 to 100. Default: 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(maximum = 100)]
    pub overwrite_reserve_percent: Option<u8>,
    /// Do not store blocks of zeros. Default: true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zero_detection: Option<bool>,
    /// Labels, at most 16, by which schedules find their members.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
}

/// Request to change a volume. Omitted fields stay unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct VolumeSet {
    /// New name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// New size; not smaller than the present one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    /// Switch the write cache on or off; switching it off first makes all acknowledged writes
    /// durable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_cache: Option<bool>,
    /// Thick or thin. A volume becomes thick only if the space that it may still need is free and
    /// not promised to other volumes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserve: Option<Reserve>,
    /// Overwrite reserve of a thick volume in percent, 0 to 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(maximum = 100)]
    pub overwrite_reserve_percent: Option<u8>,
    /// Switch zero detection on or off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zero_detection: Option<bool>,
    /// Threshold in percent for an event: share of the size that is mapped, 1 to 100; 0: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(maximum = 100)]
    pub warn_percent: Option<u8>,
    /// Threshold in percent for an event of severity critical: share of the size that is mapped, 1
    /// to 100 and above `warn_percent`; 0: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(maximum = 100)]
    pub critical_percent: Option<u8>,
    /// Labels to set; `null` removes one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, Option<String>>,
    /// QoS policy, by name or id; empty: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub qos_policy: Option<String>,
}

/// Request to return a volume to the content and size of one of its snapshots.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct VolumeRollback {
    /// Name or id of one of the volume's snapshots.
    pub snapshot: String,
    /// Roll back even while sessions see the volume. Hosts are notified that its capacity may have
    /// changed; their cached data is wrong.
    #[serde(default)]
    pub force: bool,
    /// First create a snapshot with this name of the present content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep: Option<String>,
}

/// Space used by a volume.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct VolumeSpace {
    /// Name of the volume.
    pub volume: String,
    /// Capacity that hosts see.
    pub provisioned_bytes: u64,
    /// Bytes that hosts have written and not unmapped: `unique + shared`.
    pub mapped_bytes: u64,
    /// Bytes that deleting the volume would free.
    pub unique_bytes: Option<u64>,
    /// Mapped bytes that a snapshot, a clone or a copied range also refers to.
    pub shared_bytes: Option<u64>,
    /// Bytes that deleting all snapshots of the volume together would free.
    pub snapshot_bytes: Option<u64>,
    /// Bytes of the pool kept free for the volume.
    pub promised_bytes: u64,
    /// Statistics of UNMAP commands since the array started.
    pub unmapped: Unmapped,
}

/// Statistics of UNMAP commands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Unmapped {
    /// Number of completed UNMAP commands.
    pub commands: u64,
    /// Bytes that the commands requested to unmap.
    pub requested_bytes: u64,
    /// Deallocated bytes; they are free unless a snapshot keeps them.
    pub deallocated_bytes: u64,
    /// Bytes at the edges of unmapped ranges; they read as zeros and stay allocated.
    pub unaligned_bytes: u64,
    /// Number of commands whose range was smaller than the allocation unit.
    pub below_grain_commands: u64,
    /// Bytes that each snapshot alone keeps, the largest first.
    pub kept: Vec<KeptBySnapshot>,
}

/// Bytes that one snapshot alone keeps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct KeptBySnapshot {
    /// Name of the snapshot: `volume@name`.
    pub snapshot: String,
    /// Bytes that deleting the snapshot would free; `null` until counted.
    pub unique_bytes: Option<u64>,
}

/// Options for deleting a volume.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct VolumeDelete {
    /// Delete its snapshots too. Without this option, a volume that has snapshots is not deleted.
    #[serde(default)]
    pub with_snapshots: bool,
    /// Revoke its grants too. Without this option, a volume that is granted to a host is not deleted.
    #[serde(default)]
    pub revoke: bool,
    /// Delete it for good, instead of to the trash; needs the role admin.
    #[serde(default)]
    pub now: bool,
}

/// Filter of the list of volumes: those that match every parameter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct VolumeFilter {
    /// Only volumes that this host sees: granted to it, to a group of it, or to any host. `any`: only
    /// volumes granted to any host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Only volumes granted to this host group. Excludes `host`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Only volumes with this reserve.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(inline)]
    pub reserve: Option<Reserve>,
    /// Only clones of this volume, share or snapshot, by name or id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Only volumes of at least this size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_size_bytes: Option<u64>,
    /// Only volumes with this property.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(inline)]
    pub has: Option<VolumeHas>,
}

/// Property of volumes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum VolumeHas {
    /// An active alert is about it.
    Alert,
    /// It is granted to nobody.
    NoHost,
    /// It is granted to any host.
    OpenAccess,
    /// It has snapshots.
    Snapshots,
}
