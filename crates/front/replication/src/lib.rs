//! Replication of groups of volumes from one array to another. Pure: no socket, file, clock, thread or runtime. Bytes,
//! results of the store and an instant come in; bytes, requests to the store and events go out.
//!
//! * [`wire`]: frames and messages, their limits, and the agreement on a protocol.
//! * [`pairing`]: how two arrays become peers.
//!
//! Instants are durations since a start that the caller chooses, on a clock that never goes back. No rule compares
//! the clocks of two arrays.
#![forbid(unsafe_code)]

mod checksum;
mod names;
pub mod pairing;
mod place;
mod refusal;
pub mod wire;

pub use checksum::Crc32c;
pub use names::{ArrayId, GroupId, MAX_NAME_BYTES, MemberId, Name, NameError, Point, PointId};
pub use place::{BLOCK_BYTES, MAX_BLOCKS, MAX_MEMBERS, Position, Range};
pub use refusal::{Code, Refusal};
