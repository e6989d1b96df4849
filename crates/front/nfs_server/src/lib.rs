//! The NFS server without sockets: calls of NFSv4.1 and 4.2 (RFC 8881, RFC 7862, RFC 8276) in terms of a [`vfs::FileSystem`].
//!
//! * [`Server`] takes a call and returns its reply.
//! * [`Shares`]: what is exported; [`access`]: to whom. The pseudo root lists the shares.
//! * [`handle`]: filehandles, sealed under a key of the pool.
//! * `status.rs`: where an error of a file system becomes a status.
//! * `attributes.rs`: attributes of a file on the wire.
//! * `v4`: COMPOUND, and a file for each operation.
//!
//! It has no runtime, no socket and no clock: time is an argument. All futures are polled on one thread.
#![forbid(unsafe_code)]

pub mod access;
mod attributes;
mod failure;
pub mod handle;
mod permissions;
mod pseudo;
mod server;
mod shares;
#[allow(dead_code, reason = "NFSv3 uses the other half")]
mod status;
#[cfg(test)]
mod tests;
mod v4;

pub use server::{Answer, Client, Server, Settings};
pub use shares::{Protocols, PublishError, Share, Shares};
pub use v4::CallFacts;
pub use v4::sessions::{Sequenced, Sessions, Slot};
