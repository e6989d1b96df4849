//! Records of clients that outlive the run (RFC 8881 §8.4.2.1): which clients may reclaim after a restart.
//!
//! The caller stores them. What has to be stored is in a queue, at most one change for each client.

use std::collections::BTreeMap;

use bytes::Bytes;

/// Record of a client. Its key is the owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Name of the client (`co_ownerid`).
    pub owner: Bytes,
    /// Number of the run in which the record was written.
    pub boot: u32,
    /// Whether the client has had an open that denies others access: until it has reclaimed, I/O without an open may be
    /// against it.
    pub denies: bool,
}

/// Change of the stored records. It has to be durable before a reply of the call that caused it is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordChange {
    /// Writes a record, in place of one of the same owner.
    Write(Record),
    /// Removes the record of an owner.
    Remove {
        /// Name of the client.
        owner: Bytes,
    },
}

/// Changes that the caller has not yet taken.
#[derive(Debug, Default)]
pub(crate) struct RecordChanges(BTreeMap<Bytes, Option<(u32, bool)>>);

impl RecordChanges {
    pub(crate) fn write(&mut self, owner: &Bytes, boot: u32, denies: bool) {
        self.0.insert(owner.clone(), Some((boot, denies)));
    }

    pub(crate) fn remove(&mut self, owner: &Bytes) {
        self.0.insert(owner.clone(), None);
    }

    pub(crate) fn take(&mut self) -> Option<RecordChange> {
        let (owner, boot) = self.0.pop_first()?;
        Some(match boot {
            Some((boot, denies)) => RecordChange::Write(Record { owner, boot, denies }),
            None => RecordChange::Remove { owner },
        })
    }
}
