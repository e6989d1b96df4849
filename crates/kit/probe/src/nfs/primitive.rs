//! The primitives of NFS.

use super::fault::Fault;
use super::scratch::Scratch;
use super::{clone, copy, exactly_once, free, read_plus, reserve, seek, statistics, v3, write_same, xattr};
use crate::verdict::{self, Status};
use nfs_client::ClientError;
use std::time::Duration;

/// What a host may leave to a server, or rely on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Primitive {
    /// CLONE: a file shares the blocks of another one.
    Clone,
    /// COPY: the server copies.
    Copy,
    /// ALLOCATE: space is reserved.
    Reserve,
    /// DEALLOCATE: space is given back.
    Free,
    /// SEEK: holes are found.
    Seek,
    /// READ_PLUS: holes are not sent.
    ReadPlus,
    /// WRITE_SAME: the server repeats a pattern.
    WriteSame,
    /// Attributes space_used and space_freed: used and unshared bytes of a file.
    Statistics,
    /// Extended attributes.
    Xattr,
    /// Replies that the server keeps: a repeated call is executed once.
    ExactlyOnce,
    /// NFSv3 beside NFSv4.
    V3,
}

/// Verdict on a primitive of a share.
pub type Verdict = verdict::Verdict<Primitive>;

/// What a proof has found.
pub(super) struct Proof {
    pub(super) reason: String,
    /// Median time of one call, and its TCP payload, both ways, in bytes.
    pub(super) cost: Option<(Duration, u64)>,
}

impl Primitive {
    /// All primitives, in the order of the report.
    pub(super) const ALL: [Self; 11] = [
        Self::Clone,
        Self::Copy,
        Self::Reserve,
        Self::Free,
        Self::Seek,
        Self::ReadPlus,
        Self::WriteSame,
        Self::Statistics,
        Self::Xattr,
        Self::ExactlyOnce,
        Self::V3,
    ];

    /// Name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Clone => "clone",
            Self::Copy => "copy",
            Self::Reserve => "reserve",
            Self::Free => "free",
            Self::Seek => "seek",
            Self::ReadPlus => "read-plus",
            Self::WriteSame => "write-same",
            Self::Statistics => "statistics",
            Self::Xattr => "xattr",
            Self::ExactlyOnce => "exactly-once",
            Self::V3 => "v3",
        }
    }

    /// Whether NFSv4.1 lacks it.
    fn is_of_minor_two(self) -> bool {
        !matches!(self, Self::ExactlyOnce | Self::V3)
    }

    /// Verdict on every primitive of NFSv4.2 if the server has NFSv4.1 only.
    pub(super) fn without_minor_two(self, minor: u32) -> Option<Verdict> {
        (minor < 2 && self.is_of_minor_two())
            .then(|| Verdict::new(self, Status::NotSupported, "the server has NFSv4.1 only"))
    }

    /// Carries out the primitive in the directory of the probe, and verifies the result.
    pub(super) async fn prove(self, scratch: &Scratch) -> Result<Verdict, ClientError> {
        if let Some(verdict) = self.without_minor_two(scratch.minor) {
            return Ok(verdict);
        }
        let proof: Result<Proof, Fault> = match self {
            Self::Clone => clone::prove(scratch).await,
            Self::Copy => copy::prove(scratch).await,
            Self::Reserve => reserve::prove(scratch).await,
            Self::Free => free::prove(scratch).await,
            Self::Seek => seek::prove(scratch).await,
            Self::ReadPlus => read_plus::prove(scratch).await,
            Self::WriteSame => write_same::prove(scratch).await,
            Self::Statistics => statistics::prove(scratch).await,
            Self::Xattr => xattr::prove(scratch).await,
            Self::ExactlyOnce => exactly_once::prove(scratch).await,
            Self::V3 => v3::prove(scratch).await,
        };
        match proof {
            Ok(Proof { reason, cost }) => Ok(Verdict {
                latency: cost.map(|cost| cost.0),
                wire_bytes: cost.map(|cost| cost.1),
                ..Verdict::new(self, Status::Supported, reason)
            }),
            Err(fault) => fault.verdict(self),
        }
    }
}
