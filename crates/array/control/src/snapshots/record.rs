//! Documents of snapshots.

use crate::record::{Document, object_id};
use jiff::Timestamp;
use pool::ObjectId;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// A snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SnapshotRecord {
    /// Id.
    pub id: Uuid,
    /// Object in the pool.
    #[serde(with = "object_id")]
    pub object: ObjectId,
    /// Name, unique among the snapshots of its source.
    pub name: String,
    /// The volume or share.
    pub volume: Uuid,
    /// Creation time.
    pub created: Timestamp,
    /// Group id, shared by all snapshots taken at one instant; absent for a single one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<Uuid>,
}

impl Document for SnapshotRecord {
    const PREFIX: &'static str = "snapshot/";
    fn key(&self) -> String {
        format!("{}{}", Self::PREFIX, self.id)
    }
}
