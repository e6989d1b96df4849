//! The NFS server without sockets: calls of NFSv4.1 and 4.2 (RFC 8881, RFC 7862, RFC 8276) in terms of a [`vfs::FileSystem`].
//!
//! * [`Rpc`]: the entry, for one record. It serves NFSv3 (RFC 1813), MOUNT and portmap (RFC 1833) itself.
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
mod connection;
pub mod handle;
mod mount;
mod permissions;
mod portmap;
#[allow(dead_code, reason = "the operations use it")]
mod pseudo;
mod replies;
mod reservations;
mod rpc;
mod shares;
#[allow(dead_code, reason = "the operations use it")]
mod status;
#[cfg(test)]
mod testing;
mod v3;

pub use connection::{CallFacts, Connection, Moment, Transport};
pub use replies::ReplyCounts;
pub use reservations::{Access, Opens};
pub use rpc::{Answer, NoResults, Rpc, Settings, Version4};
pub use shares::{Protocols, PublishError, Share, Shares};
