//! What replication needs of an engine, as two narrow traits; and the requests that the state machines make of it.
//!
//! The state machines wait for nothing. They hand out requests, and are told the results by `handle_*`. `perform` of
//! a request calls the method of the trait that it is for.

use crate::checksum::Crc32c;
use crate::names::{Point, PointId};
use crate::place::{Position, Range};
use crate::record::Record;
use crate::wire::{BeginMember, CloneFrom, Write};
use bytes::Bytes;
use std::num::NonZeroU64;
use thiserror::Error;

/// Failure of an engine.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum StoreError {
    /// The pool has no room.
    #[error("the pool has no room")]
    NoSpace,
    /// A snapshot that is compared is gone or was rolled back (rule R1), or the medium has failed.
    #[error("{reason}")]
    Failed {
        /// Sentence for people.
        reason: String,
    },
}

/// Identity of a shared block or sub-tree: equal identities in the snapshots of one cycle prove equal content (rule
/// R4). It stays true until these snapshots are deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Share(pub NonZeroU64);

/// What happened to blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// They are unmapped now.
    Zero {
        /// Blocks.
        count: u64,
    },
    /// They have content. An element for each block: its identity, if other places share it.
    Data {
        /// Identities.
        shares: Vec<Option<Share>>,
    },
}

impl Change {
    /// Blocks.
    pub fn count(&self) -> u64 {
        match self {
            Self::Zero { count } => *count,
            Self::Data { shares } => shares.len() as u64,
        }
    }
}

/// Blocks that follow one another and have changed alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// First block.
    pub first: u64,
    /// Change.
    pub change: Change,
}

/// Sub-tree of a map that other places share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tree {
    /// Identity.
    pub share: Share,
    /// Blocks that it spans. They may reach beyond the end of the member.
    pub count: u64,
    /// Level; those below it have lower ones.
    pub level: u8,
}

/// Part of a difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Runs {
    /// Changes, ascending, within `from..until` of the request.
    pub runs: Vec<Run>,
    /// End of the part: what lies between its runs has not changed. Beyond `from`, unless a tree begins there.
    pub until: u64,
    /// Shared sub-tree that begins at `until`; its changes are not reported yet.
    pub tree: Option<Tree>,
}

/// Request for a part of the difference between the start of a member and the new point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunsRequest {
    /// Member and first block.
    pub from: Position,
    /// Trees of this level and above are not reported: their changes are wanted. `None` reports any tree. A tree that
    /// begins before `from` is never reported.
    pub below: Option<u8>,
}

/// Content of blocks of the new point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocks {
    /// CRC-32C of each block, from the map; `None` for one that cannot be read.
    pub checksums: Vec<Option<Crc32c>>,
    /// Content, 4 KiB for each block; of no meaning for one that cannot be read.
    pub data: Bytes,
}

/// The snapshots of a cycle at its source. They exist until the cycle ends (rule R1): when one of them goes, every
/// request fails.
pub trait Snapshots {
    /// Finds changes from a position on, as many as it likes but bounded in work and memory.
    async fn runs(&self, request: RunsRequest) -> Result<Runs, StoreError>;

    /// Reads blocks that have content. A block that cannot be read is a result, and no error.
    async fn read(&self, range: Range) -> Result<Blocks, StoreError>;
}

/// Sizes of the members of a cycle at its target, in blocks, in the order of its list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Volumes; 0 for one that is not there.
    pub working: Vec<u64>,
    /// Members in the base; `None` for one that is not in it.
    pub base: Vec<Option<u64>>,
}

/// Start of a cycle at its target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prepare {
    /// Members, in the order of the cycle.
    pub members: Vec<BeginMember>,
    /// Base of the cycle.
    pub base: Option<PointId>,
    /// Go back to the base; otherwise the cycle goes on.
    pub back: bool,
    /// Keep what the members have, and the points that the record drops, as snapshots of another name.
    pub keep_diverged: bool,
    /// State of the group from this commit on.
    pub record: Record,
}

/// One step at a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// See [`Replica::prepare`].
    Prepare(Box<Prepare>),
    /// A member becomes a volume of no blocks, created if it is not there.
    Empty {
        /// Index of the member.
        member: u16,
    },
    /// A member becomes a clone of another one as that is now, created if it is not there.
    Derive {
        /// Index of the member.
        member: u16,
        /// Index of the other one.
        parent: u16,
    },
    /// A member gets another size. New blocks are unmapped.
    Resize {
        /// Index of the member.
        member: u16,
        /// Blocks.
        blocks: u64,
    },
    /// Blocks get content.
    Write(Write),
    /// Blocks are unmapped.
    Zero(Range),
    /// Blocks share the content of others: mapped, unmapped and lost blocks alike.
    Clone {
        /// Blocks that change.
        to: Range,
        /// Where the source is.
        origin: CloneFrom,
        /// First block of the source.
        from: Position,
    },
    /// Reads of these blocks fail from now on, until they are written.
    Lose(Range),
    /// See [`Replica::flush`].
    Flush,
    /// See [`Replica::save`].
    Save(Box<Record>),
    /// See [`Replica::commit`].
    Commit(Box<(Point, Record)>),
}

/// The members of a group at its target. It alone changes them: hosts are kept out (rule S6).
pub trait Replica {
    /// In one durable commit: goes back to the base, if told to, and stores the record. Without a base there is
    /// nothing to go back to: the members are emptied by later steps. Members are created when they are emptied,
    /// derived or resized. Returns the sizes after it.
    async fn prepare(&self, prepare: &Prepare) -> Result<Sizes, StoreError>;

    /// Applies a change of a member. It has taken effect on return, and is durable after the next flush. Changes that
    /// are submitted together may take effect in any order.
    async fn change(&self, step: &Step) -> Result<(), StoreError>;

    /// Makes durable what had taken effect before.
    async fn flush(&self) -> Result<(), StoreError>;

    /// Stores the record durably.
    async fn save(&self, record: &Record) -> Result<(), StoreError>;

    /// In one durable commit: takes snapshots of all members of the cycle as they are, and stores the record. It
    /// makes no change of a member durable that was not.
    async fn commit(&self, point: &Point, record: &Record) -> Result<(), StoreError>;
}

/// Result of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Done {
    /// Result of [`Step::Prepare`].
    Prepared(Sizes),
    /// Result of any other step.
    Ended,
}

impl Step {
    /// Carries the step out.
    pub async fn perform(&self, replica: &impl Replica) -> Result<Done, StoreError> {
        match self {
            Self::Prepare(prepare) => return replica.prepare(prepare).await.map(Done::Prepared),
            Self::Flush => replica.flush().await?,
            Self::Save(record) => replica.save(record).await?,
            Self::Commit(commit) => replica.commit(&commit.0, &commit.1).await?,
            Self::Empty { .. }
            | Self::Derive { .. }
            | Self::Resize { .. }
            | Self::Write(_)
            | Self::Zero(_)
            | Self::Clone { .. }
            | Self::Lose(_) => replica.change(self).await?,
        }
        Ok(Done::Ended)
    }
}
