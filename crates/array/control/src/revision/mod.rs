//! Revisions of objects: a client changes an object only if it is as the client knows it.
//!
//! The tag of an object is the start of the array and the number of the last change of its record
//! since then, so that no tag of an earlier run is valid. Usage, counters and grants do not change it.

pub(crate) mod expected;
mod guarded;
mod target;

pub use guarded::{Guarded, Tagged};
pub use target::Target;
