//! State of the NFS server: clients, locks and the grace period.

use jiff::Timestamp;
use pool::ObjectId;

/// Part of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NfsPart<T> {
    /// Elements.
    pub elements: Vec<T>,
    /// Position of the next part; `None` at the end.
    pub next: Option<NfsPosition>,
}

/// Position in a list of the NFS server; 0 is its start.
pub type NfsPosition = u128;

/// Standing of a client of NFSv4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NfsClientStanding {
    /// The client has no session yet.
    Unconfirmed,
    /// Its lease is in force.
    Active,
    /// Its lease has expired; it keeps its state as long as no other client wants it.
    Courteous,
}

/// Client of NFSv4.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NfsClientInfo {
    /// Client id.
    pub id: u64,
    /// Name that the client chose, as text.
    pub owner: String,
    /// Name of its implementation; may be empty.
    pub implementation: String,
    /// Standing.
    pub standing: NfsClientStanding,
    /// Last renewal of the lease.
    pub renewed: Timestamp,
    /// True if it has reclaimed what it had before the array restarted, or had nothing.
    pub reclaim_complete: bool,
    /// Number of sessions.
    pub sessions: u64,
    /// Number of opens.
    pub opens: u64,
    /// Number of lock owners that have locked a file, counted for each file.
    pub locks: u64,
    /// Number of asynchronous copies.
    pub copies: u64,
    /// Number of opens and locks that were revoked, and that the client has not freed.
    pub revoked: u64,
}

/// Locked range of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NfsLockInfo {
    /// Object of the share.
    pub share: ObjectId,
    /// Number of the file.
    pub file: u64,
    /// Client id.
    pub client: u64,
    /// Owner within the client, as text.
    pub owner: String,
    /// First byte.
    pub offset_bytes: u64,
    /// Length; `None`: to the end of the file, wherever that is.
    pub length_bytes: Option<u64>,
    /// True if it excludes all other locks, false if it excludes exclusive ones.
    pub exclusive: bool,
}

/// Grace period, in which clients reclaim their opens and locks after a restart of the array.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NfsGrace {
    /// Seconds that are left at most, if nothing else is reclaimed; 0: it is over.
    pub seconds: u64,
    /// Clients for which it lasts.
    pub reclaiming: u64,
}
