//! Snapshots: read-only points in time of a volume.

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
}

/// Takes a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SnapshotCreate {
    /// Name, unique among the snapshots of its volume.
    pub name: String,
}
