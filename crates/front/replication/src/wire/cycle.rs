//! Messages that begin, accompany and end a cycle.

use crate::names::{GroupId, MemberId, Name, Point, PointId};
use crate::place::{MAX_MEMBERS, Position};
use crate::refusal::Refusal;
use crate::wire::cursor::{Reader, put_position};
use crate::wire::error::WireError;
use crate::wire::json;
use crate::wire::kind::Kind;
use bytes::{BufMut, Bytes, BytesMut};
use serde::{Deserialize, Serialize};

/// Most points that a [`Standing`] names.
pub const MAX_POINTS: usize = 512;

/// Role of an end in a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GroupRole {
    /// Hosts write here.
    Owner,
    /// Still the source, but hosts write no more: the other end is to take over.
    Leaving,
    /// Changed by the group alone.
    Replica,
}

/// State of a group at one end. Each end sends it first, and after each change of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    /// The group.
    pub group: GroupId,
    /// Newest epoch that the end knows.
    pub epoch: u64,
    /// Role in it.
    pub role: GroupRole,
    /// Newest points of the end, ascending.
    pub points: Vec<PointId>,
}

/// Content of a member when its changes begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Start {
    /// As in the base of the cycle.
    Base,
    /// A volume of no blocks.
    Nothing,
    /// As an earlier member of the list is after this cycle.
    Parent(u16),
}

/// Member of a cycle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BeginMember {
    /// Identity.
    pub id: MemberId,
    /// Name at the source.
    pub name: Name,
    /// Content when its changes begin.
    pub start: Start,
}

/// Start of a cycle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begin {
    /// The group.
    pub group: GroupId,
    /// The point that the cycle leads to.
    pub point: Point,
    /// The common point with which it begins; `None` to seed.
    pub base: Option<PointId>,
    /// All members, in the order in which their changes come. Parents are before what begins as they are.
    pub members: Vec<BeginMember>,
}

/// Answer to [`Begin`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ready {
    /// The point of the cycle.
    pub point: PointId,
    /// Index of the member at which the source begins.
    pub member: u16,
    /// Block of it.
    pub block: u64,
}

impl Ready {
    /// The position.
    pub const fn position(&self) -> Position {
        Position { member: self.member, block: self.block }
    }
}

/// End of the changes of a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Commit {
    /// The point of the cycle.
    pub point: PointId,
}

/// The recovery point exists at the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Committed {
    /// The point.
    pub point: PointId,
}

impl Standing {
    pub(super) fn encode(&self) -> Bytes {
        json::encode(self)
    }

    pub(super) fn decode(payload: &[u8]) -> Result<Self, WireError> {
        let standing: Self = json::decode(Kind::STANDING, payload)?;
        let error = |what| Err(WireError::Payload { kind: Kind::STANDING, what });
        if standing.points.len() > MAX_POINTS {
            return error("it names too many points");
        }
        match standing.points.is_sorted_by(|one, next| one < next) {
            true => Ok(standing),
            false => error("its points do not ascend"),
        }
    }
}

impl Begin {
    pub(super) fn encode(&self) -> Bytes {
        json::encode(self)
    }

    pub(super) fn decode(payload: &[u8]) -> Result<Self, WireError> {
        let begin: Self = json::decode(Kind::BEGIN, payload)?;
        let error = |what| Err(WireError::Payload { kind: Kind::BEGIN, what });
        if !(1..=MAX_MEMBERS).contains(&begin.members.len()) {
            return error("a group has 1 to 256 members");
        }
        let mut ids: Vec<_> = begin.members.iter().map(|member| member.id).collect();
        ids.sort_unstable();
        if ids.windows(2).any(|pair| pair.first() == pair.last()) {
            return error("a member is named twice");
        }
        for (index, member) in begin.members.iter().enumerate() {
            match member.start {
                Start::Parent(parent) if usize::from(parent) >= index => {
                    return error("a member comes before its parent");
                }
                Start::Base if begin.base.is_none() => return error("a member begins with a base, and there is none"),
                Start::Parent(_) | Start::Base | Start::Nothing => {}
            }
        }
        match begin.base.is_some_and(|base| base >= begin.point.id) {
            true => error("its base is not older than its point"),
            false => Ok(begin),
        }
    }
}

impl Ready {
    pub(super) fn encode(&self) -> Bytes {
        json::encode(self)
    }

    pub(super) fn decode(payload: &[u8]) -> Result<Self, WireError> {
        json::decode(Kind::READY, payload)
    }
}

impl Commit {
    pub(super) fn encode(&self) -> Bytes {
        json::encode(self)
    }

    pub(super) fn decode(payload: &[u8]) -> Result<Self, WireError> {
        json::decode(Kind::COMMIT, payload)
    }
}

impl Committed {
    pub(super) fn encode(&self) -> Bytes {
        json::encode(self)
    }

    pub(super) fn decode(payload: &[u8]) -> Result<Self, WireError> {
        json::decode(Kind::COMMITTED, payload)
    }
}

pub(super) fn encode_refusal(refusal: &Refusal) -> Bytes {
    json::encode(refusal)
}

pub(super) fn decode_refusal(payload: &[u8]) -> Result<Refusal, WireError> {
    json::decode(Kind::REFUSE, payload)
}

pub(super) fn encode_progress(position: Position) -> Bytes {
    let mut to = BytesMut::new();
    put_position(&mut to, position);
    to.freeze()
}

pub(super) fn decode_progress(payload: Bytes) -> Result<Position, WireError> {
    let mut reader = Reader::new(Kind::PROGRESS, payload);
    let position = reader.position()?;
    reader.finish()?;
    Ok(position)
}

pub(super) fn encode_ack(sequence: u64) -> Bytes {
    let mut to = BytesMut::new();
    to.put_u64_le(sequence);
    to.freeze()
}

pub(super) fn decode_ack(payload: Bytes) -> Result<u64, WireError> {
    let mut reader = Reader::new(Kind::ACK, payload);
    let sequence = reader.u64()?;
    reader.finish()?;
    Ok(sequence)
}
