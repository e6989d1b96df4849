//! Clients of NFS, their locks, and the grace period.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// A client of NFSv4.1 or 4.2: a machine, or one of its network identities.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NfsClient {
    /// Client id, 16 hexadecimal digits. It changes when the client or the array restarts.
    pub id: String,
    /// Name that the client chose; Linux puts its host name into it.
    pub owner: String,
    /// Name of its implementation; may be empty.
    pub implementation: String,
    /// Standing.
    pub standing: NfsClientStanding,
    /// Last renewal of its lease.
    #[schema(value_type = String, format = DateTime)]
    pub renewed: Timestamp,
    /// True if it has reclaimed what it had before the array restarted, or had nothing.
    pub reclaim_complete: bool,
    /// Number of sessions.
    pub sessions: u64,
    /// Number of opens.
    pub opens: u64,
    /// Number of lock owners, counted for each file that they have locked.
    pub locks: u64,
    /// Number of asynchronous copies.
    pub copies: u64,
    /// Number of opens and locks that were revoked, and that the client has not freed yet.
    pub revoked: u64,
}

/// Standing of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NfsClientStanding {
    /// The client has no session yet.
    Unconfirmed,
    /// Its lease is in force.
    Active,
    /// Its lease has expired; it keeps its opens and locks as long as no other client wants them.
    Courteous,
}

/// Locked range of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NfsLock {
    /// Name of the share, or of a snapshot as `share@snapshot`; `null` if it was deleted meanwhile.
    pub share: Option<String>,
    /// Number of the file, as `stat` shows it.
    pub file: u64,
    /// Client id, as in `NfsClient`.
    pub client: String,
    /// Owner within the client.
    pub owner: String,
    /// First byte.
    pub offset_bytes: u64,
    /// Length; `null`: to the end of the file, wherever that is.
    pub length_bytes: Option<u64>,
    /// True if it excludes all other locks, false if it excludes exclusive ones.
    pub exclusive: bool,
}

/// Selection of locks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct NfsLockQuery {
    /// Name or id of a share, or `share@snapshot`. Default: all shares and snapshots.
    pub share: Option<String>,
    /// As in `PageQuery`.
    pub limit: Option<u32>,
    /// As in `PageQuery`.
    pub after: Option<String>,
}

/// Grace period: after a restart of the array, clients reclaim their opens and locks, and nothing new is opened or
/// locked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NfsGrace {
    /// True while it lasts.
    pub active: bool,
    /// Seconds that are left at most, if nothing else is reclaimed.
    pub seconds: u64,
    /// Clients for which it lasts: it ends when the last of them has reclaimed what it had.
    pub reclaiming: u64,
}
