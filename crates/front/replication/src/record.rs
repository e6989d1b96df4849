//! The durable state of a group at one array.

use crate::names::{Point, PointId};
use crate::place::Position;
use crate::wire::GroupRole;
use serde::{Deserialize, Serialize};

/// A cycle that a target has begun to apply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// The point that the cycle leads to.
    pub point: PointId,
    /// The common point with which it began.
    pub base: Option<PointId>,
    /// SHA-256 of the message that began it: another list of members is another cycle.
    pub digest: [u8; 32],
    /// Index of the member of the position.
    pub member: u16,
    /// Block of the position: everything before it is durable, and nothing of what lies behind it is certain.
    pub block: u64,
}

impl Progress {
    /// The position.
    pub const fn position(&self) -> Position {
        Position { member: self.member, block: self.block }
    }
}

/// State of a group, stored in the commit that changes what it describes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Newest epoch that this array knows. Each change of the owner raises it.
    pub epoch: u64,
    /// Role in it.
    pub role: GroupRole,
    /// Recovery points of this array, ascending.
    pub points: Vec<Point>,
    /// Newest point of which it is certain that both have it, and that both know it.
    pub common: Option<PointId>,
    /// Points that the peer may count on (rule R5), ascending. One of them is kept by the peer, too, as soon as there
    /// was a common point: a side adds what it offers before it offers it, and drops older ones only when it knows
    /// that the peer keeps a newer one. A change of the owner drops none.
    pub kept: Vec<PointId>,
    /// Replica: the cycle that was begun.
    pub progress: Option<Progress>,
    /// Replica: it was an owner, and may hold what the peer lacks. Ends when it goes back to a common point.
    pub diverged: bool,
}

impl Record {
    /// A group without points.
    pub const fn new(role: GroupRole) -> Self {
        Self { epoch: 1, role, points: Vec::new(), common: None, kept: Vec::new(), progress: None, diverged: false }
    }

    /// Newest point.
    pub fn newest(&self) -> Option<&Point> {
        self.points.last()
    }

    /// Keeps a point.
    pub(crate) fn keep(&mut self, point: Option<PointId>) {
        self.kept.extend(point);
        self.kept.sort_unstable();
        self.kept.dedup();
    }

    /// Whether this array has a point.
    pub fn has(&self, point: PointId) -> bool {
        self.points.binary_search_by_key(&point, |own| own.id).is_ok()
    }
}
