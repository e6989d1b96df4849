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
mod call;
mod client;
mod failure;
pub mod handle;
mod permissions;
mod pseudo;
mod server;
mod sessions;
mod shares;
#[allow(dead_code, reason = "NFSv3 uses the other half")]
mod status;
#[cfg(test)]
mod tests;
mod v4;

pub use call::Answer;
pub use client::{CallFacts, Client};
pub use server::{Server, Settings};
pub use sessions::{Sequenced, Sessions, Slot};
pub use shares::{Protocols, PublishError, Share, Shares};
