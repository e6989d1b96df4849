//! Limits of all tables, and the settings of a server.

use std::time::Duration;

use bytes::Bytes;
use nfs::v4::compound::{MAX_MESSAGE_BYTES, MAX_OPERATIONS};
use nfs::v4::session::ImplementationId;
use thiserror::Error;

/// Shortest lease that may be configured.
pub const MIN_LEASE: Duration = Duration::from_secs(5);
/// Longest lease that may be configured.
pub const MAX_LEASE: Duration = Duration::from_secs(300);

/// Largest sizes and numbers. Each of them is enforced before anything changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Client ids, at most 65 536. Above: the courteous client that is silent for longest expires, else `DELAY`.
    pub clients: u32,
    /// Client ids without a CREATE_SESSION. Above: the oldest is dropped.
    pub unconfirmed_clients: u32,
    /// Sessions of a client. Above: `DELAY`.
    pub sessions_per_client: u32,
    /// Sessions. Above: `DELAY`.
    pub sessions: u32,
    /// Slots of a session. More are not granted.
    pub slots_per_session: u32,
    /// Slots of all sessions. New sessions get fewer when half of them are granted; with none left, `DELAY`.
    pub slots: u32,
    /// Longest reply that a slot keeps. More is not granted.
    pub cached_reply_bytes: u32,
    /// Kept replies of all slots. Above half: clients are asked to use fewer slots; full:
    /// replies that are older than a lease go, else `DELAY`.
    pub cached_replies_bytes: u64,
    /// Operations of a compound. More are not granted.
    pub operations: u32,
    /// Longest request and longest reply. More is not granted.
    pub message_bytes: u32,
    /// Connections of a session. Above: the association that is oldest is dropped.
    pub connections_per_session: u32,
    /// Part of the opens, stateids of locks, ranges and names that one client may have: one in so many. Above: `DELAY`.
    pub client_share: u32,
    /// Opens, with revoked ones that were not freed. Above: the courteous client that is silent for longest goes, else
    /// `DELAY`.
    pub opens: u32,
    /// Stateids of lock owners, with revoked ones that were not freed. Above: as for opens.
    pub lock_stateids: u32,
    /// Locked ranges. Above: as for opens.
    pub ranges: u32,
    /// Locked ranges of a file, which bounds the time of one operation. Above: `DELAY`.
    pub ranges_per_file: u32,
    /// Names of the owners of opens and locks, all together. Above: as for opens.
    pub owner_bytes: u64,
    /// Asynchronous copies of a client. Above: `OFFLOAD_DENIED`.
    pub copies_per_client: u32,
    /// Asynchronous copies. Above: `OFFLOAD_DENIED`.
    pub copies: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            clients: 4096,
            unconfirmed_clients: 1024,
            sessions_per_client: 64,
            sessions: 16_384,
            slots_per_session: 64,
            slots: 131_072,
            cached_reply_bytes: 8192,
            cached_replies_bytes: 32 << 20,
            operations: MAX_OPERATIONS,
            message_bytes: MAX_MESSAGE_BYTES,
            connections_per_session: 16,
            client_share: 4,
            opens: 256_000,
            lock_stateids: 256_000,
            ranges: 256_000,
            ranges_per_file: 16_384,
            owner_bytes: 64 << 20,
            copies_per_client: 4,
            copies: 16,
        }
    }
}

/// How the server names itself in EXCHANGE_ID (RFC 8881 §2.5, §2.10.5). The same on all addresses, and
/// after every restart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// `so_major_id`, at most 1024 bytes.
    pub server_owner: Bytes,
    /// Server scope, at most 1024 bytes.
    pub scope: Bytes,
    /// Implementation.
    pub implementation: Option<ImplementationId>,
}

/// Settings of one run of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Number of this run. Larger than those of all earlier runs of this server.
    pub boot: u32,
    /// How the server names itself.
    pub identity: Identity,
    /// Lease of a client: [`MIN_LEASE`] to [`MAX_LEASE`].
    pub lease: Duration,
    /// Longest time for which a client that does not renew its lease keeps its state.
    pub courtesy: Duration,
    /// Limits.
    pub limits: Limits,
}

/// Settings that are not valid.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ConfigError {
    /// The lease is too short or too long.
    #[error("a lease of {lease:?} is not between {MIN_LEASE:?} and {MAX_LEASE:?}")]
    Lease {
        /// What was asked for.
        lease: Duration,
    },
    /// More clients than client ids have room for.
    #[error("{clients} clients are not between 1 and 65536")]
    Clients {
        /// What was asked for.
        clients: u32,
    },
}

impl Config {
    /// Settings with the defaults: a lease of 30 s, and courtesy for a day.
    pub fn new(boot: u32, identity: Identity) -> Self {
        let lease = Duration::from_secs(30);
        Self { boot, identity, lease, courtesy: Duration::from_secs(24 * 3600), limits: Limits::default() }
    }

    /// Checks what has a range.
    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        check_lease(self.lease)?;
        let clients = self.limits.clients;
        if !(1..=1 << 16).contains(&clients) {
            return Err(ConfigError::Clients { clients });
        }
        Ok(())
    }
}

/// Checks the range of a lease.
pub(crate) fn check_lease(lease: Duration) -> Result<(), ConfigError> {
    if (MIN_LEASE..=MAX_LEASE).contains(&lease) { Ok(()) } else { Err(ConfigError::Lease { lease }) }
}
