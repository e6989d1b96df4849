//! Documents of volumes.

use crate::naa::Naa;
use crate::record::{Document, object_id};
use jiff::Timestamp;
use pool::ObjectId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use uuid::Uuid;

/// Volume. The pool stores its size, write cache and space.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VolumeRecord {
    /// Id.
    pub id: Uuid,
    /// Object in the pool.
    #[serde(with = "object_id")]
    pub object: ObjectId,
    /// Unique name.
    pub name: String,
    /// Designator of the logical unit.
    pub naa: Naa,
    /// Creation time.
    pub created: Timestamp,
    /// Source of a clone.
    pub source: Option<SourceRecord>,
    /// Percentage of its size whose mapping raises an event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warn_percent: Option<u8>,
    /// Percentage of its size whose mapping raises a critical event; above `warn_percent`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub critical_percent: Option<u8>,
    /// Labels, by which schedules find their members.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// QoS policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Uuid>,
}

impl Document for VolumeRecord {
    const PREFIX: &'static str = "volume/";
    fn key(&self) -> String {
        format!("{}{}", Self::PREFIX, self.id)
    }
}

/// Source of a clone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SourceRecord {
    /// A volume, which may be deleted now.
    Volume(Uuid),
    /// A snapshot, which may be deleted now.
    Snapshot(Uuid),
    /// A share, which may be deleted now. Only a share is cloned from it.
    Share(Uuid),
}
