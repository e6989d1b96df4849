//! Messages that compare a common point at both ends: no data, but a hash for each leaf of the map.

use crate::names::{GroupId, PointId};
use crate::place::Position;
use crate::place::{MAX_BLOCKS, MAX_MEMBERS};
use crate::wire::cursor::{Reader, put_position};
use crate::wire::error::WireError;
use crate::wire::json;
use crate::wire::kind::Kind;
use bytes::{BufMut, Bytes, BytesMut};
use serde::{Deserialize, Serialize};

/// Blocks of a leaf.
pub const LEAF_BLOCKS: u64 = 256;
/// Most leaves of a message.
pub const MAX_LEAVES: usize = 8192;
const HASH_BYTES: usize = 32;

/// Hash of a leaf ([`crate::verify::leaf_hash`]).
pub type LeafHash = [u8; HASH_BYTES];

/// Request for hashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verify {
    /// The group.
    pub group: GroupId,
    /// The common point.
    pub point: PointId,
    /// Index of a member in the list of the point.
    pub member: u16,
    /// First leaf.
    pub first_leaf: u64,
    /// Leaves, 1 to [`MAX_LEAVES`].
    pub leaves: u32,
}

/// Hashes of leaves that follow one another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaves {
    /// Index of the member.
    pub member: u16,
    /// First leaf.
    pub first_leaf: u64,
    /// Hashes, at most [`MAX_LEAVES`]. Fewer than were asked for end the member.
    pub hashes: Vec<LeafHash>,
}

/// Leaves of a member that differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Differences {
    /// Index of the member.
    pub member: u16,
    /// Leaves, ascending, at most [`MAX_LEAVES`].
    pub leaves: Vec<u64>,
}

/// Leaves of the largest volume.
const MOST_LEAVES: u64 = MAX_BLOCKS / LEAF_BLOCKS;

impl Verify {
    pub(super) fn encode(&self) -> Bytes {
        json::encode(self)
    }

    pub(super) fn decode(payload: &[u8]) -> Result<Self, WireError> {
        let verify: Self = json::decode(Kind::VERIFY, payload)?;
        let error = |what| Err(WireError::Payload { kind: Kind::VERIFY, what });
        if usize::from(verify.member) >= MAX_MEMBERS || verify.first_leaf >= MOST_LEAVES {
            return error("it names a place beyond the largest group");
        }
        let leaves = usize::try_from(verify.leaves).unwrap_or(usize::MAX);
        match (1..=MAX_LEAVES).contains(&leaves) {
            true => Ok(verify),
            false => error("it asks for no leaves or too many"),
        }
    }
}

impl Leaves {
    pub(super) fn encode(&self) -> Bytes {
        let mut to = BytesMut::with_capacity(16 + self.hashes.len() * HASH_BYTES);
        put_position(&mut to, Position { member: self.member, block: self.first_leaf });
        self.hashes.iter().for_each(|hash| to.put_slice(hash));
        to.freeze()
    }

    pub(super) fn decode(payload: Bytes) -> Result<Self, WireError> {
        let mut reader = Reader::new(Kind::LEAVES, payload);
        let Position { member, block: first_leaf } = reader.position()?;
        let count = reader.left_bytes() / HASH_BYTES;
        if count > MAX_LEAVES {
            return Err(reader.error("it has too many hashes"));
        }
        let mut hashes = Vec::with_capacity(count);
        for _ in 0..count {
            let mut hash = [0; HASH_BYTES];
            hash.copy_from_slice(&reader.take(HASH_BYTES)?);
            hashes.push(hash);
        }
        reader.finish()?;
        Ok(Self { member, first_leaf, hashes })
    }
}

impl Differences {
    pub(super) fn encode(&self) -> Bytes {
        let mut to = BytesMut::with_capacity(16 + self.leaves.len() * 8);
        put_position(&mut to, Position { member: self.member, block: 0 });
        self.leaves.iter().for_each(|leaf| to.put_u64_le(*leaf));
        to.freeze()
    }

    pub(super) fn decode(payload: Bytes) -> Result<Self, WireError> {
        let mut reader = Reader::new(Kind::DIFFERENCES, payload);
        let Position { member, block: 0 } = reader.position()? else {
            return Err(reader.error("reserved bytes are not zero"));
        };
        let count = reader.left_bytes() / 8;
        if count > MAX_LEAVES {
            return Err(reader.error("it has too many leaves"));
        }
        let mut leaves = Vec::with_capacity(count);
        for _ in 0..count {
            leaves.push(reader.u64()?);
        }
        reader.finish()?;
        let ascend = leaves.is_sorted_by(|one, next| one < next);
        match ascend && leaves.last().is_none_or(|last| *last < MOST_LEAVES) {
            true => Ok(Self { member, leaves }),
            false => Err(reader.error("its leaves do not ascend within the largest volume")),
        }
    }
}
