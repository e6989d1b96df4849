//! Snapshots: read-only points in time of a volume.

use crate::SourceKind;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

/// A snapshot. Its full name is `volume@name`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Snapshot {
    /// Identity.
    pub id: Uuid,
    /// Name, unique among the snapshots of its volume.
    pub name: String,
    /// The volume's name.
    pub volume: String,
    /// The volume's identity.
    pub volume_id: Uuid,
    /// Size of the volume at that time.
    pub size_bytes: u64,
    /// Bytes with stored content.
    pub mapped_bytes: u64,
    /// What deleting the snapshot would free; counted as for volumes.
    pub unique_bytes: Option<u64>,
    /// When it was taken.
    #[schema(value_type = String, format = DateTime)]
    pub created: Timestamp,
    /// Volumes that were cloned from it and still exist. They do not depend on it.
    pub dependents: Vec<String>,
    /// The same for all snapshots that were taken at one instant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group_id: Option<Uuid>,
}

/// Takes snapshots of several volumes at one instant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SnapshotGroupCreate {
    /// The volumes, by name or id; at most 256.
    pub volumes: Vec<String>,
    /// Name that each of the snapshots has.
    pub name: String,
}

/// A volume or snapshot in a tree. The list has each after what it comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TreeNode {
    /// Steps from the volume that was asked for.
    pub depth: u64,
    /// Volume or snapshot.
    pub kind: SourceKind,
    /// Identity.
    pub id: Uuid,
    /// What it comes from: a snapshot's volume, a clone's source. Absent for the volume that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<Uuid>,
    /// Name; `volume@name` for a snapshot.
    pub name: String,
    /// Its size.
    pub size_bytes: u64,
    /// Bytes with stored content.
    pub mapped_bytes: u64,
    /// What deleting it alone would free; `null` until it is counted.
    pub unique_bytes: Option<u64>,
    /// How many volumes and snapshots come directly from it.
    pub dependents: u64,
    /// When it was made.
    #[schema(value_type = String, format = DateTime)]
    pub created: Timestamp,
}

/// Takes a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SnapshotCreate {
    /// Name, unique among the snapshots of its volume.
    pub name: String,
}
