//! Documents of the trash.

use crate::access::record::AccessRecord;
use crate::condition::Noun;
use crate::record::Document;
use crate::shares::record::ShareRecord;
use crate::snapshots::record::SnapshotRecord;
use crate::volumes::record::{SourceRecord, VolumeRecord};
use jiff::{SignedDuration, Timestamp};
use pool::ObjectId;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Time for which the trash keeps what is deleted, unless the pool has another setting.
pub(crate) const DEFAULT_AGE: SignedDuration = SignedDuration::from_hours(24);
/// Longest time for which the trash keeps what is deleted.
pub(crate) const MAX_AGE: SignedDuration = SignedDuration::from_hours(30 * 24);

/// Deleted volume, share or snapshot whose object the pool still has. It replaces the object's own
/// document, so that nothing but the trash finds the object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrashRecord {
    /// The object's own document.
    pub what: Trashed,
    /// Time of the deletion.
    pub deleted: Timestamp,
    /// Time from which on the object is deleted for good.
    pub until: Timestamp,
    /// True for a snapshot that was deleted with its volume or share, and is restored with it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub with_source: bool,
    /// End of the lock of the trash for it, by trusted time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locked_until: Option<Timestamp>,
    /// Grants that a volume had.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub grants: Vec<AccessRecord>,
}

/// Document of a deleted object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trashed {
    /// A volume.
    Volume(VolumeRecord),
    /// A share.
    Share(ShareRecord),
    /// A snapshot.
    Snapshot(SnapshotRecord),
}

impl Trashed {
    /// Kind of the object.
    pub const fn noun(&self) -> Noun {
        match self {
            Self::Volume(_) => Noun::Volume,
            Self::Share(_) => Noun::Share,
            Self::Snapshot(_) => Noun::Snapshot,
        }
    }

    /// Id, which the object keeps.
    pub const fn id(&self) -> Uuid {
        match self {
            Self::Volume(volume) => volume.id,
            Self::Share(share) => share.id,
            Self::Snapshot(snapshot) => snapshot.id,
        }
    }

    /// Object in the pool.
    pub const fn object(&self) -> ObjectId {
        match self {
            Self::Volume(volume) => volume.object,
            Self::Share(share) => share.object,
            Self::Snapshot(snapshot) => snapshot.object,
        }
    }

    /// Name at its deletion; of a snapshot, its own name alone.
    pub fn name(&self) -> &str {
        match self {
            Self::Volume(volume) => &volume.name,
            Self::Share(share) => &share.name,
            Self::Snapshot(snapshot) => &snapshot.name,
        }
    }

    /// The object as the source of clones.
    pub(crate) const fn as_source(&self) -> SourceRecord {
        match self {
            Self::Volume(volume) => SourceRecord::Volume(volume.id),
            Self::Share(share) => SourceRecord::Share(share.id),
            Self::Snapshot(snapshot) => SourceRecord::Snapshot(snapshot.id),
        }
    }

    /// Volume or share of a snapshot.
    pub const fn source(&self) -> Option<Uuid> {
        match self {
            Self::Volume(_) | Self::Share(_) => None,
            Self::Snapshot(snapshot) => Some(snapshot.volume),
        }
    }
}

impl TrashRecord {
    /// Document of a snapshot.
    pub(crate) const fn snapshot(&self) -> Option<&SnapshotRecord> {
        match &self.what {
            Trashed::Snapshot(snapshot) => Some(snapshot),
            Trashed::Volume(_) | Trashed::Share(_) => None,
        }
    }

    /// End of the lock that protects it from deletion, by trusted time; it may be over.
    pub(crate) fn lock_end(&self) -> Option<Timestamp> {
        self.locked_until.max(self.snapshot().and_then(|snapshot| snapshot.locked_until))
    }

    /// End of the lock that protects it from deletion at this trusted time.
    pub(crate) fn lock(&self, now: Timestamp) -> Option<Timestamp> {
        self.lock_end().filter(|until| *until > now)
    }
}

impl Document for TrashRecord {
    const PREFIX: &'static str = "trash/";
    fn key(&self) -> String {
        format!("{}{}", Self::PREFIX, self.what.id())
    }
}
