//! Why bytes are no frame or message.

use crate::refusal::{Code, Refusal};
use crate::wire::kind::Kind;
use thiserror::Error;

/// Reason why bytes from a peer are not accepted. The connection ends after each of them.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum WireError {
    /// The bytes do not begin with the magic of a frame.
    #[error("the stream has no frame at its position")]
    Magic,
    /// A reserved field is not zero.
    #[error("reserved bytes of a frame are not zero")]
    Reserved,
    /// The payload is longer than its kind permits.
    #[error("a payload of {bytes} bytes, at most {limit} are allowed")]
    TooLong {
        /// Length in the header, or stated unpacked length.
        bytes: u32,
        /// Limit.
        limit: u32,
    },
    /// Flags of a feature that was not agreed on.
    #[error("flags {flags:#04x} of a frame need a feature that was not agreed on")]
    Feature {
        /// Flags of the frame.
        flags: u8,
    },
    /// The stated unpacked length is not that of a payload that is not packed.
    #[error("a payload of {bytes} bytes says that it has {unpacked} unpacked")]
    Unpacked {
        /// Length of the payload.
        bytes: u32,
        /// Stated length.
        unpacked: u32,
    },
    /// The CRC of the frame does not fit.
    #[error("the checksum of a frame does not fit")]
    FrameChecksum,
    /// The CRC of a block does not fit.
    #[error("the checksum of block {block} of a write does not fit")]
    BlockChecksum {
        /// Index in the message.
        block: usize,
    },
    /// The stream ends within a frame.
    #[error("the stream ends within a frame")]
    Truncated,
    /// A type that is not known.
    #[error("messages of type {} are not known", kind.0)]
    UnknownKind {
        /// The type.
        kind: Kind,
    },
    /// The payload is too short or too long for its type, or a field is out of its range.
    #[error("a {kind} message is malformed: {what}")]
    Payload {
        /// Type of the message.
        kind: Kind,
        /// What is wrong.
        what: &'static str,
    },
    /// The payload is not the JSON of its type.
    #[error("a {kind} message is not the JSON that it should be: {why}")]
    Json {
        /// Type of the message.
        kind: Kind,
        /// Message of the parser.
        why: String,
    },
    /// A frame has another number than the one after the last.
    #[error("frame {found} where {expected} was expected")]
    Sequence {
        /// Number that follows the last frame.
        expected: u64,
        /// Number of the frame.
        found: u64,
    },
}

impl WireError {
    /// What the peer is answered.
    pub fn refusal(&self) -> Refusal {
        let code = match self {
            Self::FrameChecksum | Self::BlockChecksum { .. } => Code::Corrupt,
            Self::UnknownKind { .. } => Code::UnknownMessage,
            Self::Feature { .. } => Code::FeatureNotAgreed,
            Self::Magic
            | Self::Reserved
            | Self::TooLong { .. }
            | Self::Unpacked { .. }
            | Self::Truncated
            | Self::Payload { .. }
            | Self::Json { .. }
            | Self::Sequence { .. } => Code::Malformed,
        };
        Refusal::new(code, self.to_string())
    }
}
