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
    /// Snapshots of this volume.
    pub snapshots: u64,
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
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
