//! The NFS server without sockets: calls of NFSv4.1 and 4.2 (RFC 8881, RFC 7862, RFC 8276) in terms of a [`vfs::FileSystem`].
//!
//! * [`Shares`]: what is exported; [`access`]: to whom. The pseudo root lists the shares.
//! * [`handle`]: filehandles, sealed under a key of the pool.
//! * `status.rs`: where an error of a file system becomes a status.
//! * `attributes.rs`: attributes of a file on the wire.
//!
//! It has no runtime, no socket and no clock: time is an argument.
#![forbid(unsafe_code)]

pub mod access;
#[allow(dead_code, reason = "the operations use it")]
mod attributes;
pub mod handle;
#[allow(dead_code, reason = "the operations use it")]
mod pseudo;
mod shares;
#[allow(dead_code, reason = "the operations use it")]
mod status;

pub use shares::{Protocols, PublishError, Share, Shares};
