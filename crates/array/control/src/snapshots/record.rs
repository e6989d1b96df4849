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
    /// Schedule that took it, which may be deleted now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<Uuid>,
    /// True if the rules of its schedule leave it alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pinned: bool,
    /// End of its lock, by trusted time: a full hour, but for locks of a release before objects could be locked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locked_until: Option<Timestamp>,
}

impl SnapshotRecord {
    /// Snapshot that no schedule has taken.
    pub(crate) const fn new(id: Uuid, object: ObjectId, name: String, volume: Uuid, created: Timestamp) -> Self {
        let (group, schedule, pinned, locked_until) = (None, None, false, None);
        Self { id, object, name, volume, created, group, schedule, pinned, locked_until }
    }

    /// True if nobody may delete it at this trusted time.
    pub(crate) fn is_locked(&self, now: Timestamp) -> bool {
        self.lock(now).is_some()
    }

    /// End of its lock; absent if it has none at this trusted time.
    pub(crate) fn lock(&self, now: Timestamp) -> Option<Timestamp> {
        self.locked_until.filter(|until| *until > now)
    }
}

impl Document for SnapshotRecord {
    const PREFIX: &'static str = "snapshot/";
    fn key(&self) -> String {
        format!("{}{}", Self::PREFIX, self.id)
    }
}
