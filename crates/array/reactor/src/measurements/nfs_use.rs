//! Use of the NFS server. The reactor notes it, and the management plane's scrapes read it, on another thread.

use nfs_server::OperationCount;
use std::sync::{Mutex, PoisonError};

/// Numbers of the NFS server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NfsUse {
    /// Calls since the start.
    pub calls: u64,
    /// Executed procedures of NFSv3 and operations of NFSv4, in this order.
    pub operations: [Vec<OperationCount>; 2],
    /// Bytes of calls since the start.
    pub received_bytes: u64,
    /// Bytes of replies since the start.
    pub sent_bytes: u64,
    /// Open connections.
    pub connections: u64,
    /// Connections closed since the start, by reason: in the order of [`CLOSED`].
    pub closed: [u64; CLOSED.len()],
    /// State of clients of NFSv4; absent if that is not served.
    pub version_4: Option<Version4Use>,
    /// Replies of NFSv3 that are kept for repeated calls.
    pub kept_reply_bytes: u64,
    /// Repeated calls of NFSv3 that got a kept reply since the start.
    pub repeated: u64,
    /// Replies of NFSv3 that were evicted before their time since the start.
    pub evicted: u64,
}

/// Reasons for which the server closes connections.
pub const CLOSED: [&str; 4] = ["displaced", "refused", "malformed", "idle"];

/// State of clients of NFSv4.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Version4Use {
    /// Confirmed clients.
    pub clients: u64,
    /// Their sessions.
    pub sessions: u64,
    /// Slots of the sessions.
    pub slots: u64,
    /// Open files, each with its owner.
    pub opens: u64,
    /// Locked ranges.
    pub locks: u64,
    /// Replies that sessions keep.
    pub kept_reply_bytes: u64,
    /// Longest rest of the grace period.
    pub grace_seconds: u64,
    /// Clients for which the grace period lasts.
    pub reclaiming: u64,
}

/// Use as last noted.
#[derive(Debug, Default)]
pub struct NotedUse(Mutex<Option<NfsUse>>);

impl NotedUse {
    /// Notes the use, unless a scrape reads it at this instant: the reactor does not wait.
    pub fn note(&self, noted: NfsUse) {
        if let Ok(mut last) = self.0.try_lock() {
            *last = Some(noted);
        }
    }

    /// Use as last noted; absent if NFS is not served.
    pub fn last(&self) -> Option<NfsUse> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_use_is_kept_and_the_reactor_does_not_wait() {
        let noted = NotedUse::default();
        assert_eq!(noted.last(), None);
        let used = NfsUse { calls: 1, ..NfsUse::default() };
        noted.note(used.clone());
        {
            let _scrape = noted.0.lock();
            noted.note(NfsUse { calls: 2, ..NfsUse::default() });
        }
        assert_eq!(noted.last(), Some(used));
    }
}
