//! All messages: which type has which content.

use crate::place::Position;
use crate::refusal::Refusal;
use crate::wire::cycle::{self, Begin, Commit, Committed, Ready, Standing};
use crate::wire::data::{self, Clone, Lost, Resize, Write, Zero};
use crate::wire::error::WireError;
use crate::wire::frame::Frame;
use crate::wire::hello::Hello;
use crate::wire::kind::Kind;
use crate::wire::pair::{Join, Joined};
use crate::wire::verify::{Differences, Leaves, Verify};
use bytes::Bytes;

/// Most bytes of the changes of a cycle that are sent and not acknowledged.
pub const WINDOW_BYTES: usize = 16 << 20;
/// What a change without content counts in the window: more than it takes in memory.
const SMALL_BYTES: usize = 256;

/// Message, validated: what follows checks only whether it fits the state.
#[derive(std::clone::Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// Protocols and features.
    Hello(Hello),
    /// Refusal of what was sent.
    Refuse(Refusal),
    /// Sign of life.
    Alive,
    /// Proof of a joiner.
    Join(Join),
    /// Proof of an inviter.
    Joined(Joined),
    /// State of a group.
    Standing(Standing),
    /// Start of a cycle.
    Begin(Begin),
    /// Position at which the source begins.
    Ready(Ready),
    /// Position before which everything was sent (source) or is durable (target).
    Progress(Position),
    /// End of the changes of a cycle.
    Commit(Commit),
    /// The recovery point exists.
    Committed(Committed),
    /// So many changes of the cycle have taken effect, counted from the start of its session.
    Ack(u64),
    /// Content of blocks.
    Write(Write),
    /// Unmapped blocks.
    Zero(Zero),
    /// Blocks with the content of others.
    Clone(Clone),
    /// New size of a member.
    Resize(Resize),
    /// Blocks that cannot be read.
    Lost(Lost),
    /// Request for hashes.
    Verify(Verify),
    /// Hashes.
    Leaves(Leaves),
    /// Leaves that differ.
    Differences(Differences),
}

impl Message {
    /// Type of the message.
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Hello(_) => Kind::HELLO,
            Self::Refuse(_) => Kind::REFUSE,
            Self::Alive => Kind::ALIVE,
            Self::Join(_) => Kind::JOIN,
            Self::Joined(_) => Kind::JOINED,
            Self::Standing(_) => Kind::STANDING,
            Self::Begin(_) => Kind::BEGIN,
            Self::Ready(_) => Kind::READY,
            Self::Progress(_) => Kind::PROGRESS,
            Self::Commit(_) => Kind::COMMIT,
            Self::Committed(_) => Kind::COMMITTED,
            Self::Ack(_) => Kind::ACK,
            Self::Write(_) => Kind::WRITE,
            Self::Zero(_) => Kind::ZERO,
            Self::Clone(_) => Kind::CLONE,
            Self::Resize(_) => Kind::RESIZE,
            Self::Lost(_) => Kind::LOST,
            Self::Verify(_) => Kind::VERIFY,
            Self::Leaves(_) => Kind::LEAVES,
            Self::Differences(_) => Kind::DIFFERENCES,
        }
    }

    /// Bytes that a change of a cycle counts in the window.
    pub fn window_bytes(&self) -> usize {
        match self {
            Self::Write(write) => SMALL_BYTES + write.checksums.len() * 4 + write.data.len(),
            _ => SMALL_BYTES,
        }
    }

    /// The payload of its frame.
    pub fn encode(&self) -> Bytes {
        match self {
            Self::Hello(hello) => hello.encode(),
            Self::Refuse(refusal) => cycle::encode_refusal(refusal),
            Self::Alive => Bytes::new(),
            Self::Join(join) => join.encode(),
            Self::Joined(joined) => joined.encode(),
            Self::Standing(standing) => standing.encode(),
            Self::Begin(begin) => begin.encode(),
            Self::Ready(ready) => ready.encode(),
            Self::Progress(position) => cycle::encode_progress(*position),
            Self::Commit(commit) => commit.encode(),
            Self::Committed(committed) => committed.encode(),
            Self::Ack(sequence) => cycle::encode_ack(*sequence),
            Self::Write(write) => write.encode(),
            Self::Zero(Zero { range }) | Self::Lost(Lost { range }) => data::encode_range(*range),
            Self::Clone(clone) => clone.encode(),
            Self::Resize(resize) => resize.encode(),
            Self::Verify(verify) => verify.encode(),
            Self::Leaves(leaves) => leaves.encode(),
            Self::Differences(differences) => differences.encode(),
        }
    }

    /// The message in a frame.
    pub fn decode(frame: Frame) -> Result<Self, WireError> {
        let Frame { kind, payload, .. } = frame;
        Ok(match kind {
            Kind::HELLO => Self::Hello(Hello::decode(&payload)?),
            Kind::REFUSE => Self::Refuse(cycle::decode_refusal(&payload)?),
            Kind::ALIVE if payload.is_empty() => Self::Alive,
            Kind::ALIVE => return Err(WireError::Payload { kind, what: "it is too long" }),
            Kind::JOIN => Self::Join(Join::decode(&payload)?),
            Kind::JOINED => Self::Joined(Joined::decode(&payload)?),
            Kind::STANDING => Self::Standing(Standing::decode(&payload)?),
            Kind::BEGIN => Self::Begin(Begin::decode(&payload)?),
            Kind::READY => Self::Ready(Ready::decode(&payload)?),
            Kind::PROGRESS => Self::Progress(cycle::decode_progress(payload)?),
            Kind::COMMIT => Self::Commit(Commit::decode(&payload)?),
            Kind::COMMITTED => Self::Committed(Committed::decode(&payload)?),
            Kind::ACK => Self::Ack(cycle::decode_ack(payload)?),
            Kind::WRITE => Self::Write(Write::decode(payload)?),
            Kind::ZERO => Self::Zero(Zero { range: data::decode_range(kind, payload)? }),
            Kind::CLONE => Self::Clone(Clone::decode(payload)?),
            Kind::RESIZE => Self::Resize(Resize::decode(payload)?),
            Kind::LOST => Self::Lost(Lost { range: data::decode_range(kind, payload)? }),
            Kind::VERIFY => Self::Verify(Verify::decode(&payload)?),
            Kind::LEAVES => Self::Leaves(Leaves::decode(payload)?),
            Kind::DIFFERENCES => Self::Differences(Differences::decode(payload)?),
            _ => return Err(WireError::UnknownKind { kind }),
        })
    }
}
