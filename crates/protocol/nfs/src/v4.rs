//! NFSv4.1 and NFSv4.2, version 4 of program 100003: RFC 8881, RFC 7862 with the XDR of RFC 7863,
//! and extended attributes (RFC 8276).
//!
//! * [`compound`]: COMPOUND in both directions, one operation after the other.
//! * [`operations`]: the table of operations, and their arguments and results as enums; the types of
//!   each group of operations are in a module of their own.
//! * [`attributes`]: the table of attributes; [`Bitmap`]: sets of numbers.
//! * [`callback`]: what a server sends on the back channel.
//!
//! Sections are those of RFC 8881 where no other document is named.
//!
//! Left out on purpose: the arguments of operations that this array does not serve (minor version 0,
//! pNFS, directory delegations, COPY_NOTIFY); a compound stops at them. ACLs, file system locations
//! and security labels.

mod basic;
mod bitmap;
mod status;

pub mod attributes;
pub mod callback;
pub mod compound;
pub mod handles;
pub mod io;
pub mod locks;
pub mod names;
pub mod offload;
pub mod open;
pub mod operations;
pub mod session;
pub mod xattr;

pub use basic::*;
pub use bitmap::Bitmap;
pub use status::{HasStatus, Status};

/// Version of the NFS program.
pub const VERSION: u32 = 4;
/// Procedure that does nothing (§16.1).
pub const PROCEDURE_NULL: u32 = 0;
/// Procedure of all operations (§16.2).
pub const PROCEDURE_COMPOUND: u32 = 1;

#[cfg(test)]
mod tests;
