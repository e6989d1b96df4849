//! Trash: deleted volumes, shares and snapshots, which can be restored.

use crate::Warning;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

/// Kind of an object in the trash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TrashKind {
    /// A volume.
    Volume,
    /// A share.
    Share,
    /// A snapshot that was deleted alone.
    Snapshot,
}

/// A volume, share or snapshot in the trash. No host sees it, and its name is free.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Trashed {
    /// Identity, which it keeps.
    pub id: Uuid,
    /// Kind.
    pub kind: TrashKind,
    /// Name at its deletion: `volume`, `share`, `volume@snapshot` or `share@snapshot`.
    pub name: String,
    /// NAA designator of a volume, which it keeps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub naa: Option<String>,
    /// Size that hosts saw; absent for a share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    /// Number of snapshots that were deleted with it, and return with it.
    pub snapshots: u64,
    /// Number of grants that a volume had.
    pub grants: u64,
    /// Bytes that deleting it for good, with all its snapshots in the trash, would free; `null` until counted.
    pub holds_bytes: Option<u64>,
    /// Time of the deletion.
    #[schema(value_type = String, format = DateTime)]
    pub deleted: Timestamp,
    /// Time from which on it is deleted for good; earlier if hosts need its space and no lock keeps it.
    #[schema(value_type = String, format = DateTime)]
    pub until: Timestamp,
    /// End of the lock that keeps it, or a snapshot that goes with it: until then nobody deletes it for good. It may
    /// be over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub locked_until: Option<Timestamp>,
}

/// Options for deleting a snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct SnapshotDelete {
    /// Delete it for good, instead of to the trash; needs the role admin.
    #[serde(default)]
    pub now: bool,
}

/// Request to restore an object from the trash.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TrashRestore {
    /// Only an object of this kind: a volume and a share in the trash may have one name. Any if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<TrashKind>,
    /// New name, of a snapshot without its volume; the one that it had if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Grant a volume to those who had it. What cannot be granted again is in `warnings`.
    #[serde(default)]
    pub grants: bool,
}

/// An object that was restored from the trash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Restored {
    /// Identity.
    pub id: Uuid,
    /// Kind.
    pub kind: TrashKind,
    /// Present full name.
    pub name: String,
    /// Number of snapshots that returned with it.
    pub snapshots: u64,
    /// Number of grants that it has again.
    pub grants: u64,
    /// Warnings about grants that could not be made again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
}

/// Objects that were deleted for good.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TrashEmptied {
    /// Their full names.
    pub deleted: Vec<String>,
}
