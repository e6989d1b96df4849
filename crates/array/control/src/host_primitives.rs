//! Which primitives of volumes work for a host, from what its sessions have used.

use crate::live::{PrimitiveSeen, SessionInfo, SessionSeen, UnitSeen};
use jiff::Timestamp;
use pool::ObjectId;
use unit::{Primitive, Reason};

/// Primitives of volumes, in the order of every table.
const PRIMITIVES: [Primitive; 4] = [Primitive::Ats, Primitive::Xcopy, Primitive::Zero, Primitive::Unmap];

/// Standing of a primitive with a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrimitiveStanding {
    /// Its last command succeeded.
    Supported,
    /// Its last command was refused.
    NotSupported,
    /// No command of it came.
    Unknown,
}

/// A primitive of volumes, and a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPrimitive {
    /// The primitive.
    pub primitive: Primitive,
    /// Its standing.
    pub standing: PrimitiveStanding,
    /// True if the host has read the page that announces it.
    pub announced: bool,
    /// Last command that succeeded, in the sessions that used it on the volume.
    pub succeeded: Option<Timestamp>,
    /// Last command that was refused there, and why.
    pub refused: Option<(Timestamp, Reason)>,
}

impl HostPrimitive {
    /// Each primitive with the host that has these sessions, on one volume or on any.
    pub(crate) fn all(sessions: &[&SessionInfo], object: Option<ObjectId>) -> Vec<Self> {
        PRIMITIVES.map(|primitive| standing(primitive, sessions, object)).to_vec()
    }
}

/// Sessions with an observation about the volume, or about any volume.
pub(crate) fn seeing<'a>(
    sessions: &'a [&SessionInfo],
    object: Option<ObjectId>,
    of: impl Fn(&UnitSeen) -> bool + 'a,
) -> impl Iterator<Item = &'a SessionSeen> {
    let sees = move |seen: &&SessionSeen| {
        seen.units.iter().any(|unit| object.is_none_or(|object| unit.object == object) && of(unit))
    };
    sessions.iter().map(|session| &session.seen).filter(sees)
}

fn standing(primitive: Primitive, sessions: &[&SessionInfo], object: Option<ObjectId>) -> HostPrimitive {
    let of = |seen: &SessionSeen| seen.primitives.iter().find(|row| row.primitive == primitive).copied();
    let good = seeing(sessions, object, move |unit| unit.succeeded.contains(&primitive));
    let succeeded = good.filter_map(of).filter_map(|row: PrimitiveSeen| row.succeeded).max();
    let bad = seeing(sessions, object, move |unit| unit.refused.contains(&primitive));
    let refused = bad.filter_map(of).filter_map(|row| row.refused).max_by_key(|(at, _)| *at);
    let standing = match (succeeded, refused) {
        (None, None) => PrimitiveStanding::Unknown,
        (Some(good), Some((bad, _))) if bad > good => PrimitiveStanding::NotSupported,
        (None, Some(_)) => PrimitiveStanding::NotSupported,
        (Some(_), _) => PrimitiveStanding::Supported,
    };
    let page: fn(&UnitSeen) -> bool = match primitive {
        Primitive::Xcopy => |unit| unit.third_party_copy,
        Primitive::Unmap => |unit| unit.provisioning,
        _ => |unit| unit.block_limits,
    };
    let announced = seeing(sessions, object, page).next().is_some();
    HostPrimitive { primitive, standing, announced, succeeded, refused }
}
