//! Bytes between two arrays: frames in a stream, and the messages in them.
//!
//! [`frame`] takes frames from a stream and checks their length and CRC; [`Message`] is what one has as its payload.
//! Each group of messages has a file with both directions of its encoding. [`Link`] is one end of a connection: it
//! agrees on the protocol, numbers frames, and notices a silent peer.
//!
//! Control messages are JSON with a `version`. Unknown fields are ignored, and unknown types refused with a reason.
//! Data messages are fixed layouts, little-endian.
//!
//! Compressed payloads are not implemented: no release has agreed on the feature, so a frame with these flags is
//! refused ([`crate::Code::FeatureNotAgreed`]). The field for the unpacked size is checked nevertheless.

mod cursor;
mod cycle;
mod data;
mod error;
pub mod frame;
mod hello;
mod json;
mod kind;
mod link;
mod message;
mod pair;
#[cfg(test)]
mod tests;
mod verify;

pub use cycle::{Begin, BeginMember, Commit, Committed, GroupRole, MAX_POINTS, Ready, Standing, Start};
pub use data::{Clone, CloneFrom, Lost, MAX_WRITE_BLOCKS, Resize, Write, Zero};
pub use error::WireError;
pub use hello::{Agreed, Feature, Hello, Protocols, agree};
pub use kind::Kind;
pub use link::{KEEP_ALIVE, Link, LinkEvent, SILENT};
pub use message::{Message, WINDOW_BYTES};
pub use pair::{Join, Joined};
pub use verify::{Differences, LEAF_BLOCKS, LeafHash, Leaves, MAX_LEAVES, Verify};
