//! What a host has looked at and used in a session.

use jiff::Timestamp;
use pool::ObjectId;
use std::sync::Arc;
use unit::{Primitive, Reason};

/// Observations about a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionSeen {
    /// Last READ CAPACITY.
    pub capacity: Option<Timestamp>,
    /// Last INQUIRY for VPD page B0h: block limits.
    pub block_limits: Option<Timestamp>,
    /// Last INQUIRY for VPD page B2h: logical block provisioning.
    pub provisioning: Option<Timestamp>,
    /// Last INQUIRY for VPD page 8Fh: third-party copy.
    pub third_party_copy: Option<Timestamp>,
    /// First read or write.
    pub first_io: Option<Timestamp>,
    /// Primitives of SCSI; none if no command was received.
    pub primitives: Vec<PrimitiveSeen>,
    /// Logical units about which there is an observation, ascending by LUN.
    pub units: Arc<[UnitSeen]>,
}

/// Use of one primitive in a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrimitiveSeen {
    /// The primitive.
    pub primitive: Primitive,
    /// Last command that succeeded.
    pub succeeded: Option<Timestamp>,
    /// Last command that was refused, and why.
    pub refused: Option<(Timestamp, Reason)>,
}

/// Observations about a logical unit in a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitSeen {
    /// Volume of the logical unit.
    pub object: ObjectId,
    /// Its number.
    pub lun: u16,
    /// READ CAPACITY succeeded.
    pub capacity: bool,
    /// The pages were read, in the order of the fields of [`SessionSeen`].
    pub block_limits: bool,
    /// As above.
    pub provisioning: bool,
    /// As above.
    pub third_party_copy: bool,
    /// A read or write succeeded.
    pub transferred: bool,
    /// Primitives whose last command succeeded.
    pub succeeded: Vec<Primitive>,
    /// Primitives whose last command was refused.
    pub refused: Vec<Primitive>,
}
