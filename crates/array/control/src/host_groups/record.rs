//! Documents of host groups.

use crate::record::Document;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use uuid::Uuid;

/// Host group: a grant to it applies to every member, under the same logical unit number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostGroupRecord {
    /// Id.
    pub id: Uuid,
    /// Name, unique among host groups.
    pub name: String,
    /// Its hosts.
    pub members: BTreeSet<Uuid>,
    /// Creation time.
    pub created: Timestamp,
}

impl Document for HostGroupRecord {
    const PREFIX: &'static str = "host-group/";
    fn key(&self) -> String {
        format!("{}{}", Self::PREFIX, self.id)
    }
}
