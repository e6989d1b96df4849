//! Waist between the file protocols above and the file systems below: the contract of a file system.
//!
//! This crate knows no protocol and no disk format. Adapters call the [`FileSystem`] trait; file
//! systems implement it. A file system is what one share holds: one tree of names, one set of
//! files. Every method that changes something is one step: it happens at one instant and is one unit of
//! recovery. All futures are polled on the thread that owns the file system, and a call that finds
//! everything in memory is ready at its first poll, so that no caller pays for a wait that does not
//! happen.
#![forbid(unsafe_code)]

mod attributes;
mod caller;
mod content;
#[cfg(any(test, feature = "testing"))]
pub mod contract;
mod entries;
mod error;
mod file_system;
mod limits;
#[cfg(any(test, feature = "testing"))]
pub mod memory;
mod name;
mod pause;
pub mod policy;

pub use attributes::{
    Attributes, Before, ChangeValue, Changed, Device, FileId, FileSystemId, Kind, SetAttributes, SetTime, Timestamp,
};
pub use caller::{Anonymous, Call, Caller, Right, Squash};
pub use content::{Capacity, Content, Copied, Payload, Seek, Segment, Sought, Source, Space, Stability, WriteVerifier};
pub use entries::{
    Cookie, Created, Entry, Exclusive, Expect, Found, Linked, Listing, New, NewKind, Place, Removed, Removes, Renamed,
};
pub use error::{FsError, Permission, SpaceReason};
pub use file_system::{FileSystem, SetXattr};
pub use limits::{Limits, check_overlap};
pub use name::{Encoding, LinkTarget, NAME_BYTES, Name, NameError, TARGET_BYTES, XattrName};
pub use pause::pause;
