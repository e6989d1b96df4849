//! The NFS server without sockets: NFSv3 (RFC 1813) with MOUNT and portmap, and NFSv4.1 and 4.2 (RFC 8881, RFC 7862,
//! RFC 8276), in terms of a [`vfs::FileSystem`].
//!
//! * [`Rpc`]: the entry, for one record. It serves NFSv3, MOUNT and portmap (RFC 1833) itself.
//! * [`Server4`]: NFSv4, with the state of its clients: COMPOUND, and a file for each operation; asynchronous copies,
//!   and callbacks ([`BackCall`]).
//! * [`Shares`]: what is exported; [`access`]: to whom. The pseudo root lists the shares.
//! * [`handle`]: filehandles, sealed under a key of the pool.
//! * [`Statistics`]: reads, writes and offload of each share; offload of each client; refusals with their reasons.
//! * `status.rs`: where an error of a file system becomes a status.
//! * `attributes.rs`: attributes of a file on the wire.
//!
//! It has no runtime, no socket and no clock: time is an argument. All futures are polled on one thread.
#![forbid(unsafe_code)]

pub mod access;
mod attributes;
mod connection;
mod counts;
mod failure;
pub mod handle;
mod mount;
mod permissions;
mod portmap;
mod pseudo;
mod replies;
mod reply_bound;
mod reservations;
mod rpc;
mod shares;
mod statistics;
mod status;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod v3;
mod v4;
pub mod work;

pub use connection::{CallFacts, Connection, Moment, Transport};
pub use counts::OperationCount;
pub use replies::ReplyCounts;
pub use reply_bound::reply_bound;
pub use reservations::{Access, Opens};
pub use rpc::{Answer, NoResults, Rpc, Settings, Version4};
pub use shares::{CopyPolicy, Protocols, PublishError, Share, Shares};
pub use statistics::{ClientOffload, Counted, Offloaded, Refusal, ShareStatistics, Statistics};
pub use v4::callbacks::BackCall;
pub use v4::server::Server as Server4;
