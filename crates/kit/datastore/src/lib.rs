//! A clustered datastore: several hosts keep virtual disks on one logical unit and take locks on
//! it, as VMware's hosts do with VMFS. Written for laboratories, and as a working example of the
//! demands of such a file system on an array. Compatible with nothing else.
//!
//! All metadata is in sectors of 512 bytes, each with kind, version and checksum (`sector`). A
//! sector changes only by an atomic update that compares its former content
//! ([`data_mover::DataMover::update`]): a host that acts on stale data changes nothing. There is no
//! journal. In the allocation table every block names its file and its place in that file; from
//! there, the host that takes over a dead host's lock finds and finishes half-done operations.
//!
//! * [`Geometry`]: the layout. `docs/datastore-format.md` has the bytes.
//! * [`Datastore`]: format, mount, heartbeat, files.
//! * [`VirtualDisk`]: a thin, zeroed-thick or eager-zeroed disk, or a redo disk over another one.
//! * [`check`]: reads everything and reports problems.
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
