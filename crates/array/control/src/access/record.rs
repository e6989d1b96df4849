//! Documents of grants.

use crate::record::Document;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// A grant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccessRecord {
    /// The volume.
    pub volume: Uuid,
    /// Host; absent if the grant is to a group, or, if `group` is absent too, to every initiator.
    pub host: Option<Uuid>,
    /// Host group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<Uuid>,
    /// Logical unit number.
    pub lun: u16,
    /// Time of the grant.
    pub created: Timestamp,
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

    /// Grantee.
    pub const fn to(&self) -> To {
        match (self.host, self.group) {
            (Some(host), _) => To::Host(host),
            (None, Some(group)) => To::Group(group),
            (None, None) => To::Any,
        }
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

/// Grantee by id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum To {
    /// Every initiator.
    Any,
    /// A host.
    Host(Uuid),
    /// Every member of a host group.
    Group(Uuid),
}
