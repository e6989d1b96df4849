//! Types of messages.

use std::fmt;

/// Longest payload of any frame, in bytes.
pub(crate) const MAX_PAYLOAD_BYTES: u32 = 1 << 20;
/// Longest payload of a control message: a `begin` of 256 members with the longest names fits.
const MAX_CONTROL_BYTES: u32 = 256 << 10;
/// Longest payload of a message that has no list.
const MAX_FIXED_BYTES: u32 = 64;

/// Type of a message: a number with names, so that an unknown one can be refused by its number.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Kind(pub u8);

macro_rules! kinds {
    ($($(#[$doc:meta])* $constant:ident = $number:literal $name:literal $limit:expr,)*) => {
        impl Kind {
            $($(#[$doc])* pub const $constant: Self = Self($number);)*

            /// All types of this release.
            pub const ALL: &[Self] = &[$(Self::$constant,)*];

            /// Name, if this release knows the type.
            pub const fn name(self) -> Option<&'static str> {
                match self.0 { $($number => Some($name),)* _ => None }
            }

            /// Longest payload, in bytes. Unknown types have the limit of all.
            pub const fn max_payload_bytes(self) -> u32 {
                match self.0 { $($number => $limit,)* _ => MAX_PAYLOAD_BYTES }
            }
        }
    };
}

kinds! {
    /// Protocols and features of an end: the first message of each.
    HELLO = 1 "hello" MAX_CONTROL_BYTES,
    /// Refusal of what the other end sent.
    REFUSE = 2 "refuse" MAX_CONTROL_BYTES,
    /// Sign of life.
    ALIVE = 3 "alive" MAX_FIXED_BYTES,
    /// Proof of a joiner.
    JOIN = 4 "join" MAX_CONTROL_BYTES,
    /// Proof of an inviter.
    JOINED = 5 "joined" MAX_CONTROL_BYTES,
    /// State of a group at an end.
    STANDING = 16 "standing" MAX_CONTROL_BYTES,
    /// Start of a cycle.
    BEGIN = 17 "begin" MAX_CONTROL_BYTES,
    /// Position from which the target wants the changes of a cycle.
    READY = 18 "ready" MAX_CONTROL_BYTES,
    /// From the source: all changes before a position were sent. From the target: what it has durably.
    PROGRESS = 19 "progress" MAX_FIXED_BYTES,
    /// End of the changes of a cycle.
    COMMIT = 20 "commit" MAX_CONTROL_BYTES,
    /// The recovery point exists at the target.
    COMMITTED = 21 "committed" MAX_CONTROL_BYTES,
    /// Changes up to a number have taken effect.
    ACK = 22 "ack" MAX_FIXED_BYTES,
    /// Content of blocks.
    WRITE = 32 "write" MAX_PAYLOAD_BYTES,
    /// Unmapped blocks.
    ZERO = 33 "zero" MAX_FIXED_BYTES,
    /// Blocks with the content of other ones.
    CLONE = 34 "clone" MAX_FIXED_BYTES,
    /// New size of a member.
    RESIZE = 35 "resize" MAX_FIXED_BYTES,
    /// Blocks that the source cannot read.
    LOST = 36 "lost" MAX_FIXED_BYTES,
    /// Request for the hashes of leaves of a common point.
    VERIFY = 48 "verify" MAX_CONTROL_BYTES,
    /// Hashes of leaves.
    LEAVES = 49 "leaves" MAX_PAYLOAD_BYTES,
    /// Leaves that differ.
    DIFFERENCES = 50 "differences" MAX_PAYLOAD_BYTES,
}

impl fmt::Display for Kind {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => to.write_str(name),
            None => write!(to, "type {}", self.0),
        }
    }
}

impl fmt::Debug for Kind {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, to)
    }
}
