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
//! | `reservations/VOLUME-ID` | [`ReservationsRecord`](crate::ReservationsRecord) |
//! | `sanitize/VOLUME-ID` | [`SanitizeRecord`](crate::SanitizeRecord) |
//! | `portal/IDENTIFIER` | [`PortalRecord`](crate::PortalRecord) |
//! | `port-group/IDENTIFIER` | [`PortGroupRecord`](crate::PortGroupRecord) |
//! | `pool-settings` | [`PoolRecord`](crate::PoolRecord) |
//! | `scrub`, `check` | [`ScrubRecord`](crate::ScrubRecord), [`CheckRecord`](crate::CheckRecord): the last result of each |
//! | `crossing/…` | a reached threshold, until it is left |
//! | `events` | the newest events |
//! | `job/ID` | the state of a running job |
//!
//! The documents of a noun stand in `record.rs` in its folder. Unknown fields are refused: a newer
//! version wrote the pool, and rewriting the document would lose its state.

use crate::catalog::DynCatalog;
use crate::{ControlError, Naa, SanitizeJob, Secret};
use bytes::Bytes;
use jiff::Timestamp;
use pool::{CatalogChange, ObjectId};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::collections::BTreeSet;
use std::net::SocketAddr;
use unit::{AccessState, StateOrigin};
use uuid::Uuid;

/// Identity of the array, made at its first start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArrayRecord {
    /// Random; part of every designator.
    pub id: Uuid,
    /// When the array was made.
    pub created: Timestamp,
}

/// A volume. Size, write cache and space are the pool's to know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VolumeRecord {
    /// Identity.
    pub id: Uuid,
    /// The pool's object.
    #[serde(with = "object_id")]
    pub object: ObjectId,
    /// Unique name.
    pub name: String,
    /// Designator of the logical unit.
    pub naa: Naa,
    /// When it was made.
    pub created: Timestamp,
    /// What it was cloned from.
    pub source: Option<SourceRecord>,
    /// An event is raised when this share of its size, in percent, is mapped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warn_percent: Option<u8>,
    /// An event of severity critical is raised when this share of its size, in percent, is mapped; above `warn_percent`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub critical_percent: Option<u8>,
}

/// What a volume was cloned from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SourceRecord {
    /// A volume; it may be deleted since.
    Volume(Uuid),
    /// A snapshot; it may be deleted since.
    Snapshot(Uuid),
}

/// A snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SnapshotRecord {
    /// Identity.
    pub id: Uuid,
    /// The pool's object.
    #[serde(with = "object_id")]
    pub object: ObjectId,
    /// Unique among the volume's snapshots.
    pub name: String,
    /// The volume.
    pub volume: Uuid,
    /// When it was taken.
    pub created: Timestamp,
    /// The same for all that were taken at one instant; absent for one that was taken alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<Uuid>,
}

/// What an administrator set of the pool; what is absent is as configured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PoolRecord {
    /// Share of the pool in use, in percent, from which on it warns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warn_percent: Option<u8>,
    /// Share of the pool in use, in percent, from which on it is critical.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub critical_percent: Option<u8>,
    /// Limit of over-commitment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commitment: Option<Commitment>,
}

/// How much of the pool's size the volumes may have together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Commitment {
    /// As much as they like.
    #[default]
    Unlimited,
    /// This share of the pool's size.
    Percent(u32),
}

/// A stretch of a volume whose content is lost until it is overwritten.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BadRange {
    /// The volume's name; `object N` for one that has none.
    pub volume: String,
    /// The volume itself has it; otherwise only the snapshots.
    pub in_volume: bool,
    /// Snapshots of the volume that have it too, by name.
    pub snapshots: Vec<String>,
    /// First 512-byte block.
    pub lba: u64,
    /// Number of 512-byte blocks.
    pub blocks: u64,
}

/// Result of a scrub.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScrubRecord {
    /// When it began.
    pub started: Timestamp,
    /// When it ended.
    pub finished: Timestamp,
    /// Bytes that were read and verified.
    pub verified_bytes: u64,
    /// Blocks of 4 KiB that are bad.
    pub bad_blocks: u64,
    /// Where they are, the first [`MAX_BAD_RANGES`](crate::MAX_BAD_RANGES).
    pub bad: Vec<BadRange>,
    /// Metadata that cannot be read, a sentence each, the first twenty.
    pub damaged: Vec<String>,
}

/// Result of a check of the pool while in use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckRecord {
    /// When it began.
    pub started: Timestamp,
    /// When it ended.
    pub finished: Timestamp,
    /// Volumes and snapshots walked.
    pub objects: u64,
    /// Map pages verified.
    pub pages: u64,
    /// Data blocks counted.
    pub blocks: u64,
    /// Number of findings.
    pub count: u64,
    /// What is wrong, a sentence each, the first twenty.
    pub findings: Vec<String>,
}

/// A host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostRecord {
    /// Identity.
    pub id: Uuid,
    /// Unique name.
    pub name: String,
    /// Initiator names in lower case; no other host has them.
    pub iqns: Vec<String>,
    /// Credentials, when CHAP is demanded.
    pub chap: Option<Chap>,
    /// When it was made.
    pub created: Timestamp,
}

/// CHAP credentials of a host. CHAP needs the secret itself (RFC 1994 §4.1), so it is kept as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chap {
    /// Name the host presents.
    pub user: String,
    /// The host's secret.
    pub secret: Secret,
    /// The array authenticates too.
    pub mutual: Option<MutualChap>,
}

/// CHAP credentials of the array towards a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MutualChap {
    /// Name the array presents.
    pub user: String,
    /// The array's secret.
    pub secret: Secret,
}

/// A grant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccessRecord {
    /// The volume.
    pub volume: Uuid,
    /// The host; absent with `group` absent too: every initiator.
    pub host: Option<Uuid>,
    /// The host group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<Uuid>,
    /// Logical unit number.
    pub lun: u16,
    /// When it was granted.
    pub created: Timestamp,
}

/// Whom a grant is to, by identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum To {
    /// Every initiator.
    Any,
    /// A host.
    Host(Uuid),
    /// Every member of a host group.
    Group(Uuid),
}

impl AccessRecord {
    pub(crate) const fn new(volume: Uuid, to: To, lun: u16, created: Timestamp) -> Self {
        let (host, group) = match to {
            To::Any => (None, None),
            To::Host(host) => (Some(host), None),
            To::Group(group) => (None, Some(group)),
        };
        Self { volume, host, group, lun, created }
    }

    /// Whom it is to.
    pub const fn to(&self) -> To {
        match (self.host, self.group) {
            (Some(host), _) => To::Host(host),
            (None, Some(group)) => To::Group(group),
            (None, None) => To::Any,
        }
    }
}

/// A host group: what is granted to it is granted to every member, as the same logical unit number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostGroupRecord {
    /// Identity.
    pub id: Uuid,
    /// Unique among host groups.
    pub name: String,
    /// Its hosts.
    pub members: BTreeSet<Uuid>,
    /// When it was created.
    pub created: Timestamp,
}

impl Document for HostGroupRecord {
    const PREFIX: &'static str = "host-group/";
    fn key(&self) -> String {
        format!("{}{}", Self::PREFIX, self.id)
    }
}

/// Persistent reservations of a volume that outlive a loss of power (APTPL, SPC-4 §5.9).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReservationsRecord {
    /// The volume.
    pub volume: Uuid,
    /// Who is registered, at least one.
    pub registrations: Vec<RegistrationRecord>,
    /// TYPE of the reservation (SPC-4 §6.15.3.4); absent when there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reservation_type: Option<u8>,
}

/// A registration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RegistrationRecord {
    /// Initiator port: name and ISID, `NAME,i,0xISID`.
    pub initiator_port: String,
    /// Relative target port identifier.
    pub relative_target_port: u16,
    /// Reservation key.
    pub key: u64,
    /// It holds the reservation; with the all registrants types every one does, and this need not be set.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub holder: bool,
}

/// A sanitize operation of a volume that outlives a loss of power (SBC-4 §4.11): it is in progress, or has failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SanitizeRecord {
    /// The volume.
    pub volume: Uuid,
    /// With what its content is overwritten; absent: it is erased.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overwrite: Option<OverwriteRecord>,
    /// AUSE: EXIT FAILURE MODE ends what a failure leaves behind.
    pub unrestricted_exit: bool,
    /// It has failed.
    pub failed: bool,
    /// Why it has failed; absent also when a version that kept no reasons has kept it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The job that shows it; absent when it has failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<SanitizeJob>,
}

/// How content is overwritten.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OverwriteRecord {
    /// Write passes, 1 to 31.
    pub count: u8,
    /// The pattern is inverted from pass to pass.
    pub invert: bool,
    /// Repeated in each logical block: 1 to 512 bytes.
    pub pattern: Vec<u8>,
}

impl SanitizeRecord {
    /// A block erase of a volume.
    pub(crate) const fn of(volume: Uuid) -> Self {
        Self { volume, overwrite: None, unrestricted_exit: false, failed: false, reason: None, job: None }
    }
}

/// A portal of the configuration, now or once: a target port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PortalRecord {
    /// Relative target port identifier, and target portal group tag.
    pub identifier: u16,
    /// Where it was told to listen.
    pub listen: SocketAddr,
    /// Which of the portals with this address: 0 but for several with port 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub place: u16,
    /// Target port group, when it was set by command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<u16>,
    /// Where logins are sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redirect: Option<RedirectRecord>,
    /// When it was first seen.
    pub created: Timestamp,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it")]
fn is_zero(place: &u16) -> bool {
    *place == 0
}

/// Logins are sent elsewhere (RFC 7143 §11.13.5).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RedirectRecord {
    /// `ADDRESS:PORT` that initiators are told.
    pub address: String,
    /// For good (0102h), or for now (0101h).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub permanently: bool,
}

/// A target port group that was given a state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PortGroupRecord {
    /// Its number, from 1.
    pub identifier: u16,
    /// Its state.
    pub state: AccessState,
    /// Hosts should use it before others in the same state.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub preferred: bool,
    /// What made the state what it is.
    #[serde(default)]
    pub origin: StateOrigin,
}

impl PortGroupRecord {
    /// A group of which nothing was said.
    pub(crate) fn new(identifier: u16) -> Self {
        Self { identifier, state: AccessState::default(), preferred: false, origin: StateOrigin::default() }
    }
}

/// A document that knows its key.
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

impl Document for ArrayRecord {
    const PREFIX: &'static str = "array";
    fn key(&self) -> String {
        Self::PREFIX.to_owned()
    }
}

impl Document for VolumeRecord {
    const PREFIX: &'static str = "volume/";
    fn key(&self) -> String {
        format!("{}{}", Self::PREFIX, self.id)
    }
}

impl Document for SnapshotRecord {
    const PREFIX: &'static str = "snapshot/";
    fn key(&self) -> String {
        format!("{}{}", Self::PREFIX, self.id)
    }
}

impl Document for PoolRecord {
    const PREFIX: &'static str = "pool-settings";
    fn key(&self) -> String {
        Self::PREFIX.to_owned()
    }
}

impl Document for ScrubRecord {
    const PREFIX: &'static str = "scrub";
    fn key(&self) -> String {
        Self::PREFIX.to_owned()
    }
}

impl Document for CheckRecord {
    const PREFIX: &'static str = "check";
    fn key(&self) -> String {
        Self::PREFIX.to_owned()
    }
}

impl Document for HostRecord {
    const PREFIX: &'static str = "host/";
    fn key(&self) -> String {
        format!("{}{}", Self::PREFIX, self.id)
    }
}

impl Document for AccessRecord {
    const PREFIX: &'static str = "access/";
    fn key(&self) -> String {
        match self.to() {
            To::Host(host) => format!("{}{}/{host}", Self::PREFIX, self.volume),
            To::Group(group) => format!("{}{}/group/{group}", Self::PREFIX, self.volume),
            To::Any => format!("{}{}/any", Self::PREFIX, self.volume),
        }
    }
}

impl Document for SanitizeRecord {
    const PREFIX: &'static str = "sanitize/";
    fn key(&self) -> String {
        format!("{}{}", Self::PREFIX, self.volume)
    }
}

impl Document for PortalRecord {
    const PREFIX: &'static str = "portal/";
    fn key(&self) -> String {
        format!("{}{}", Self::PREFIX, self.identifier)
    }
}

impl Document for PortGroupRecord {
    const PREFIX: &'static str = "port-group/";
    fn key(&self) -> String {
        format!("{}{}", Self::PREFIX, self.identifier)
    }
}

impl Document for ReservationsRecord {
    const PREFIX: &'static str = "reservations/";
    fn key(&self) -> String {
        format!("{}{}", Self::PREFIX, self.volume)
    }
}

/// An [`ObjectId`] as a number.
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
