//! Snapshots: read-only copies of a volume or share at one instant.

use crate::SourceKind;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

/// A snapshot. Its full name is `volume@name` or `share@name`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Snapshot {
    /// Identity.
    pub id: Uuid,
    /// Name, unique among the snapshots of its volume or share.
    pub name: String,
    /// Name of the volume or share.
    pub volume: String,
    /// Identity of the volume or share.
    pub volume_id: Uuid,
    /// True for the snapshot of a share.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub of_share: bool,
    /// Size of the volume at the instant of the snapshot; 0 for a share, which has none.
    pub size_bytes: u64,
    /// Bytes with stored content.
    pub mapped_bytes: u64,
    /// Bytes that deleting the snapshot would free; counted as for volumes.
    pub unique_bytes: Option<u64>,
    /// Time of creation.
    #[schema(value_type = String, format = DateTime)]
    pub created: Timestamp,
    /// Existing volumes or shares that were cloned from the snapshot. They do not depend on it.
    pub dependents: Vec<String>,
    /// Identity that all snapshots of one snapshot group share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group_id: Option<Uuid>,
    /// Name of the schedule that took it; absent if none did, or it is deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<String>,
    /// True if the rules of its schedule leave it alone.
    #[serde(default)]
    pub pinned: bool,
    /// End of its lock, which cannot be shortened. Time for which the array is off makes it
    /// later. Absent if it was never locked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub locked_until: Option<Timestamp>,
}

/// Request to create snapshots of several volumes and shares at one instant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SnapshotGroupCreate {
    /// Volumes and shares, by name or id; at most 256.
    pub volumes: Vec<String>,
    /// Name of each of the snapshots.
    pub name: String,
}

/// A volume, share or snapshot in a tree. The list has each node after its parent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TreeNode {
    /// Number of steps from the requested volume or share.
    pub depth: u64,
    /// Kind of the node.
    pub kind: SourceKind,
    /// Identity.
    pub id: Uuid,
    /// Identity of the parent: a snapshot's volume or share, or a clone's source. Absent for the
    /// requested one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<Uuid>,
    /// Name of the volume or share; with `@name` for a snapshot.
    pub name: String,
    /// Size of the volume or snapshot; 0 for a share, which has none.
    pub size_bytes: u64,
    /// Bytes with stored content.
    pub mapped_bytes: u64,
    /// Bytes that deleting this node alone would free; `null` until counted.
    pub unique_bytes: Option<u64>,
    /// Number of volumes, shares and snapshots whose parent this node is.
    pub dependents: u64,
    /// Time of creation.
    #[schema(value_type = String, format = DateTime)]
    pub created: Timestamp,
}

/// Request to create a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SnapshotCreate {
    /// Name, unique among the snapshots of its volume.
    pub name: String,
}

/// Filter of the list of snapshots: those that match every parameter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct SnapshotFilter {
    /// Only snapshots of this volume or share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume: Option<String>,
    /// Only snapshots taken before this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<String>, format = DateTime)]
    pub older_than: Option<Timestamp>,
}

/// Filter of the list of snapshots of one volume or share.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct OwnSnapshotFilter {
    /// Only snapshots taken before this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<String>, format = DateTime)]
    pub older_than: Option<Timestamp>,
}
