//! Documents in the pool's catalog, one JSON object per key:
//!
//! | key | document |
//! |---|---|
//! | `array` | [`ArrayRecord`](crate::ArrayRecord) |
//! | `volume/ID` | [`VolumeRecord`](crate::VolumeRecord) |
//! | `snapshot/ID` | [`SnapshotRecord`](crate::SnapshotRecord) |
//! | `host/ID` | [`HostRecord`](crate::HostRecord) |
//! | `host-group/ID` | [`HostGroupRecord`](crate::HostGroupRecord) |
//! | `access/VOLUME-ID/HOST-ID`, `…/group/GROUP-ID`, `…/any` | [`AccessRecord`](crate::AccessRecord) |
//! | `share/ID` | [`ShareRecord`](crate::ShareRecord) |
//! | `export/SHARE-ID/TO`; `TO`: `host/ID`, `group/ID`, `network/ADDRESS/PREFIX`, `any` | [`ExportRecord`] |
//! | `trash/ID` | [`TrashRecord`](crate::TrashRecord): a deleted volume, share or snapshot |
//! | `schedule/ID` | [`ScheduleRecord`](crate::ScheduleRecord) |
//! | `qos-policy/ID` | [`QosPolicyRecord`](crate::QosPolicyRecord) |
//! | `time` | trusted time, while a snapshot is locked |
//! | `reservations/VOLUME-ID` | [`ReservationsRecord`](crate::ReservationsRecord) |
//! | `sanitize/VOLUME-ID` | [`SanitizeRecord`](crate::SanitizeRecord) |
//! | `portal/IDENTIFIER` | [`PortalRecord`](crate::PortalRecord) |
//! | `port-group/IDENTIFIER` | [`PortGroupRecord`](crate::PortGroupRecord) |
//! | `pool-settings` | [`PoolRecord`](crate::PoolRecord) |
//! | `scrub` | [`ScrubRecord`](crate::ScrubRecord): the last result |
//! | `check` | [`CheckRecord`](crate::CheckRecord): the last result |
//! | `crossing/…` | a reached threshold, until it is left |
//! | `nfs/server` | what runs of the NFS server have in common |
//! | `nfs/clients/HASH` | [`NfsClientRecord`](crate::NfsClientRecord) |
//! | `events` | the newest events |
//! | `job/ID` | the state of a running job |
//!
//! The documents of a noun stand in `record.rs` in its folder. Unknown fields are refused: a newer
//! version wrote the pool, and rewriting the document would lose its state.
//!
//! [`ExportRecord`]: crate::ExportRecord

use crate::catalog::DynCatalog;
use crate::error::ControlError;
use bytes::Bytes;
use pool::CatalogChange;
use serde::{Serialize, de::DeserializeOwned};

/// Document with its key.
pub(crate) trait Document: Serialize + DeserializeOwned {
    /// Prefix of all keys of this kind.
    const PREFIX: &'static str;
    /// Key of this document.
    fn key(&self) -> String;

    /// Change that stores the document.
    fn put(&self) -> Result<CatalogChange, ControlError> {
        let value = serde_json::to_vec(self).map_err(|error| ControlError::Damaged { reason: error.to_string() })?;
        Ok(CatalogChange::PutDocument { key: self.key(), value: Bytes::from(value) })
    }

    /// Change that deletes the document.
    fn delete(&self) -> CatalogChange {
        CatalogChange::DeleteDocument { key: self.key() }
    }
}

/// All documents of a kind, by key.
pub(crate) fn load<D: Document>(catalog: &dyn DynCatalog) -> Result<Vec<D>, ControlError> {
    catalog.documents(D::PREFIX).into_iter().map(|(key, value)| parse(&key, &value)).collect()
}

/// Parses one document.
fn parse<D: Document>(key: &str, value: &[u8]) -> Result<D, ControlError> {
    let document: D = serde_json::from_slice(value)
        .map_err(|error| ControlError::Damaged { reason: format!("document {key} cannot be read: {error}") })?;
    if document.key() != key {
        return Err(ControlError::Damaged { reason: format!("document {key} describes {}", document.key()) });
    }
    Ok(document)
}

/// Serialization of an [`ObjectId`](pool::ObjectId) as a number.
pub(crate) mod object_id {
    use pool::ObjectId;
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(id: &ObjectId, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(id.0)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ObjectId, D::Error> {
        u64::deserialize(deserializer).map(ObjectId)
    }
}
