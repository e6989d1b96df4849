//! The last changes of records, for readers that follow them.

use crate::directory::Edit;
use std::collections::VecDeque;

/// Largest number of changes in memory.
const MAX_CHANGES: usize = 1024;

/// Change of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordChange {
    /// [`Directory::revision`](crate::Directory::revision) after the change.
    pub revision: u64,
    /// Kind of the record: `volume`, `snapshot`, `host`, `host-group`, `access`, `share`, `export`,
    /// `trash`, `schedule`, `qos-policy`, `portal` or `port-group`.
    pub kind: &'static str,
    /// Id of the record; of a grant or export rule, that of the volume or share.
    pub id: String,
    /// True if the record was deleted.
    pub deleted: bool,
}

/// The last changes, oldest first.
#[derive(Debug, Default)]
pub(super) struct ChangeLog(VecDeque<RecordChange>);

impl ChangeLog {
    /// Notes an edit that led to this revision.
    pub fn note(&mut self, edit: &Edit, revision: u64) {
        let (kind, id, deleted) = match edit {
            Edit::Volume(id, record) => ("volume", id.to_string(), record.is_none()),
            Edit::Snapshot(id, record) => ("snapshot", id.to_string(), record.is_none()),
            Edit::Host(id, record) => ("host", id.to_string(), record.is_none()),
            Edit::HostGroup(id, record) => ("host-group", id.to_string(), record.is_none()),
            Edit::Access((volume, _), record) => ("access", volume.to_string(), record.is_none()),
            Edit::Share(id, record) => ("share", id.to_string(), record.is_none()),
            Edit::Export((share, _), record) => ("export", share.to_string(), record.is_none()),
            Edit::Trash(id, record) => ("trash", id.to_string(), record.is_none()),
            Edit::Schedule(id, record) => ("schedule", id.to_string(), record.is_none()),
            Edit::Policy(id, record) => ("qos-policy", id.to_string(), record.is_none()),
            Edit::Portal(identifier, _) => ("portal", identifier.to_string(), false),
            Edit::PortGroup(identifier, _) => ("port-group", identifier.to_string(), false),
            // Only at the start.
            Edit::ConfiguredPorts(_) => return,
        };
        self.0.push_back(RecordChange { revision, kind, id, deleted });
        let surplus = self.0.len().saturating_sub(MAX_CHANGES);
        self.0.drain(..surplus);
    }

    /// At most `most` changes after a revision, oldest first. `present`: the present revision.
    /// `None` if some of them are not in memory any more.
    pub fn since(&self, revision: u64, present: u64, most: usize) -> Option<Vec<RecordChange>> {
        if revision >= present {
            return (revision == present).then(Vec::new);
        }
        let first = self.0.partition_point(|change| change.revision <= revision);
        let is_complete = self.0.get(first).is_some_and(|change| change.revision == revision + 1);
        is_complete.then(|| self.0.iter().skip(first).take(most).cloned().collect())
    }
}
