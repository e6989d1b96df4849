//! Waist between the file protocols above and the file systems below: the types of its contract.
//!
//! This crate knows no protocol and no disk format.
#![forbid(unsafe_code)]

mod attributes;
mod caller;
mod error;
mod name;

pub use attributes::{
    Attributes, Before, ChangeValue, Changed, Device, FileId, FileSystemId, Kind, SetAttributes, SetTime, Timestamp,
};
pub use caller::{Anonymous, Call, Caller, Right, Squash};
pub use error::{FsError, Permission, SpaceReason};
pub use name::{Encoding, LinkTarget, NAME_BYTES, Name, NameError, TARGET_BYTES, XattrName};
