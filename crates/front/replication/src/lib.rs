//! Replication of groups of volumes from one array to another. Pure: no socket, file, clock, thread or runtime.
//! Bytes, results of the store and an instant come in; bytes, requests to the store and events go out.
//!
//! * [`wire`]: frames and messages, their limits, and the agreement on a protocol.
//! * [`pairing`]: how two arrays become peers.
//! * [`source`] and [`target`]: the two ends of a cycle, which brings the target from a common point to a new one.
//! * [`group`]: who owns a group, which points it keeps, and how another array takes over.
//! * [`verify`]: comparison of a common point at both ends.
//! * [`store`]: what all of it needs of an engine.
//!
//! Instants are durations since a start that the caller chooses, on a clock that never goes back. No rule compares
//! the clocks of two arrays.
#![forbid(unsafe_code)]

mod checksum;
pub mod group;
mod mutations;
mod names;
pub mod pairing;
mod place;
mod record;
mod refusal;
pub mod source;
pub mod store;
pub mod target;
pub mod verify;
pub mod wire;

pub use checksum::Crc32c;
#[cfg(feature = "mutations")]
pub use mutations::{Mutation, set_mutation};
pub use names::{ArrayId, GroupId, MAX_NAME_BYTES, MemberId, Name, NameError, Point, PointId};
pub use place::{BLOCK_BYTES, MAX_BLOCKS, MAX_MEMBERS, Position, Range};
pub use record::{Progress, Record};
pub use refusal::{Code, Refusal};
