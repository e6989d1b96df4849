//! Volumes: block devices with a name, a size and a name that never changes on the SCSI side.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

/// A volume.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Volume {
    /// Identity; accepted wherever the name is.
    pub id: Uuid,
    /// Unique name.
    pub name: String,
    /// NAA-6 designator of the logical unit, 32 hexadecimal digits (VPD page 83h). Never changes, never used again.
    pub naa: String,
    /// Unit serial number (VPD page 80h).
    pub serial: String,
    /// What the host sees.
    pub size_bytes: u64,
    /// Written by the host and not unmapped.
    pub mapped_bytes: u64,
    /// What deleting the volume would free: blocks that no snapshot, clone or copied range refers to. For a volume with very much of
    /// its own the count takes time: then this is the last count, seconds to a few minutes old, and `null` until the first is finished.
    pub unique_bytes: Option<u64>,
    /// Mapped, and also referred to by a snapshot, a clone or a copied range: `mapped = unique + shared`. `null` as long as `unique_bytes` is.
    #[serde(default)]
    pub shared_bytes: Option<u64>,
    /// What deleting all snapshots of this volume together would free; counted like `unique_bytes`.
    #[serde(default)]
    pub snapshot_bytes: Option<u64>,
    /// Snapshots of this volume.
    pub snapshots: u64,
    /// `thick`: writes never fail for want of space. `thin`: they take what there is.
    #[serde(default)]
    pub reserve: Reserve,
    /// Of what snapshots and clones share with a thick volume, the share in percent for which space is kept free, so that it can be
    /// overwritten.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overwrite_reserve_percent: Option<u8>,
    /// Bytes of the pool kept free for this volume.
    #[serde(default)]
    pub promised_bytes: u64,
    /// Blocks of zeros in written data are not stored.
    #[serde(default)]
    pub zero_detection: bool,
    /// An event is raised when this share of the size is mapped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warn_percent: Option<u8>,
    /// An event of severity critical is raised when this share of the size is mapped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub critical_percent: Option<u8>,
    /// True when writes are acknowledged before they are durable (WCE=1).
    pub write_cache: bool,
    /// What the volume was cloned from.
    pub source: Option<Source>,
    /// When it was made.
    #[schema(value_type = String, format = DateTime)]
    pub created: Timestamp,
    /// Where hosts find it.
    pub luns: Vec<VolumeLun>,
}

/// Whether space is kept free for a volume.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Reserve {
    /// Its writes never fail for want of space.
    Thick,
    /// It takes what is there.
    #[default]
    Thin,
}

/// What a volume was cloned from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Source {
    /// Volume or snapshot.
    pub kind: SourceKind,
    /// Identity of the source.
    pub id: Uuid,
    /// Its name now (`volume@snapshot` for a snapshot); absent once it is deleted.
    pub name: Option<String>,
}

/// The kinds of source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SourceKind {
    /// A volume, as it was at that instant.
    Volume,
    /// A snapshot.
    Snapshot,
}

/// A place where a host finds a volume.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct VolumeLun {
    /// The host's name, or `any`.
    pub host: String,
    /// Logical unit number.
    pub lun: u16,
    /// `iscsi://ADDRESS:PORT/TARGET/LUN` at the first portal.
    pub iscsi_url: String,
}

/// Makes a volume: an empty one, or a clone when `source` is given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct VolumeCreate {
    /// Unique name.
    pub name: String,
    /// A multiple of 512 up to 16 TiB. May be left out of a clone, which then has its source's size, and not be smaller than it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    /// Volume (`name` or id) or snapshot (`volume@name` or id) to clone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Acknowledge writes before they are durable. Off unless asked for.
    #[serde(default)]
    pub write_cache: bool,
    /// Thin unless asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserve: Option<Reserve>,
    /// For a thick volume, 0 to 100; 100 unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overwrite_reserve_percent: Option<u8>,
    /// On unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zero_detection: Option<bool>,
}

/// Changes a volume. What is left out stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct VolumeSet {
    /// New name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// New size; not smaller than the present one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    /// Write cache on or off; off makes everything acknowledged durable first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_cache: Option<bool>,
    /// Thick or thin. A thick volume needs the space that it may still have to take to be free and promised to nobody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserve: Option<Reserve>,
    /// For a thick volume, 0 to 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overwrite_reserve_percent: Option<u8>,
    /// Detection of zeros on or off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zero_detection: Option<bool>,
    /// Raise an event when this share of the size is mapped, 1 to 100; 0: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warn_percent: Option<u8>,
    /// Raise an event of severity critical when this share of the size is mapped, 1 to 100 and above `warn_percent`; 0: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub critical_percent: Option<u8>,
}

/// Gives a volume the content and size of one of its snapshots.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct VolumeRollback {
    /// Name of one of the volume's snapshots, or its id.
    pub snapshot: String,
    /// Also while sessions see the volume. They are told that its capacity may have changed; what they have cached is wrong.
    #[serde(default)]
    pub force: bool,
    /// Keep what the volume has now as a snapshot of this name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep: Option<String>,
}

/// Where the space of a volume is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct VolumeSpace {
    /// The volume's name.
    pub volume: String,
    /// What the host sees.
    pub provisioned_bytes: u64,
    /// Written by the host and not unmapped: `unique + shared`.
    pub mapped_bytes: u64,
    /// What deleting the volume would free.
    pub unique_bytes: Option<u64>,
    /// Also referred to by a snapshot, a clone or a copied range.
    pub shared_bytes: Option<u64>,
    /// What deleting all its snapshots together would free.
    pub snapshot_bytes: Option<u64>,
    /// Kept free for it.
    pub promised_bytes: u64,
    /// Where what hosts unmapped went since the array started.
    pub unmapped: Unmapped,
}

/// Where unmapped bytes went.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Unmapped {
    /// UNMAP commands done.
    pub commands: u64,
    /// Bytes they were about.
    pub requested_bytes: u64,
    /// Deallocated: free, unless a snapshot keeps it.
    pub deallocated_bytes: u64,
    /// At the edges of what was unmapped: reads as zeros and stays allocated.
    pub unaligned_bytes: u64,
    /// Commands whose range lay below the unit of allocation.
    pub below_grain_commands: u64,
    /// What each snapshot alone keeps, the largest first.
    pub kept: Vec<KeptBySnapshot>,
}

/// What a snapshot alone keeps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct KeptBySnapshot {
    /// `volume@name`.
    pub snapshot: String,
    /// What deleting it would free; `null` until it is counted.
    pub unique_bytes: Option<u64>,
}

/// How to delete a volume.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct VolumeDelete {
    /// Delete its snapshots too. Without it a volume that has snapshots stays.
    #[serde(default)]
    pub with_snapshots: bool,
}
