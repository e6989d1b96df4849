//! Documents of shares.

use crate::record::{Document, object_id};
use crate::volumes::record::SourceRecord;
use jiff::Timestamp;
use pool::ObjectId;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Share: files in one address space of the pool. The pool stores its space.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShareRecord {
    /// Id.
    pub id: Uuid,
    /// Object in the pool.
    #[serde(with = "object_id")]
    pub object: ObjectId,
    /// Name, unique among shares and volumes.
    pub name: String,
    /// First half of the file system identifier, chosen at random; never 0.
    pub fsid: u64,
    /// Epoch of the filehandles. Handles of an earlier one are stale.
    pub epoch: u32,
    /// Root directory until its attributes are changed in the file system.
    pub root: RootRecord,
    /// Protocols that serve the share.
    pub protocols: Protocols,
    /// Copy policy.
    pub copy: CopyPolicy,
    /// Creation time.
    pub created: Timestamp,
    /// Source of a clone: a share, or the snapshot of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<SourceRecord>,
}

impl Document for ShareRecord {
    const PREFIX: &'static str = "share/";
    fn key(&self) -> String {
        format!("{}{}", Self::PREFIX, self.id)
    }
}

/// Attributes of an empty root directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RootRecord {
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Permission bits, at most `07777`.
    pub mode: u32,
    /// Time of creation of the directory.
    pub born: Timestamp,
}

/// Versions of NFS that serve a share; at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Protocols {
    /// NFSv3.
    pub v3: bool,
    /// NFSv4.1 and 4.2.
    pub v4: bool,
}

impl Protocols {
    /// Both versions.
    pub const ALL: Self = Self { v3: true, v4: true };

    /// Names of the protocols: `v3,v4`.
    pub const fn name(self) -> &'static str {
        match (self.v3, self.v4) {
            (true, true) => "v3,v4",
            (true, false) => "v3",
            (false, true) => "v4",
            (false, false) => "none",
        }
    }
}

/// Copy policy: what the array does when a host asks it to copy a range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CopyPolicy {
    /// Source and copy share blocks. Each gets a block of its own when the block changes.
    #[default]
    Share,
    /// The copy gets blocks of its own.
    Physical,
}

impl CopyPolicy {
    /// Name of the policy.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Share => "share",
            Self::Physical => "physical",
        }
    }
}
