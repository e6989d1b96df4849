//! A clustered datastore: several hosts keep virtual disks on one logical unit and take locks on it, as VMware's hosts do with VMFS. Made
//! for laboratories and as a working example of what such a file system asks of an array; compatible with nothing else.
//!
//! All metadata is in sectors of 512 bytes, each with kind, version and checksum (`sector`). A sector is only ever changed by an atomic
//! update that compares what was read before ([`data_mover::DataMover::update`]): a host that acts on something old changes nothing. There is
//! no journal: what a dead host left half done is found from the allocation table, in which every block names the file and the place it
//! is for, and finished by whoever takes over its lock.
//!
//! * [`Geometry`]: where everything is. `docs/datastore-format.md` has the bytes.
//! * [`Datastore`]: format, mount, heartbeat, files.
//! * [`VirtualDisk`]: a thin, zeroed-thick or eager-zeroed disk, or a redo disk over another one.
//! * [`check`]: reads everything and says what is wrong.
#![forbid(unsafe_code)]

mod ahead;
mod allocation;
mod chain;
pub mod check;
mod copy;
mod datastore;
mod directory;
mod disk;
mod error;
mod finish;
mod format;
mod geometry;
mod heartbeat;
mod lock;
mod map;
mod partial;
mod reclaim;
mod records;
mod sector;
mod space;
mod store;
#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed step is a failed test")]
mod tests;
mod tidy;
mod whole_unit;
mod write;

pub use copy::Source;
pub use datastore::{Datastore, FormatOptions, Host, Slot};
pub use disk::{Content, DiskOptions, VirtualDisk};
pub use error::DatastoreError;
pub use geometry::Geometry;
pub use lock::LOCK_PATIENCE;
pub use partial::{Partial, SourceMark};
pub use records::{DiskFormat, FileInfo};
pub use space::DiskSpace;
pub use tidy::Tidied;
pub use whole_unit::WholeUnit;
