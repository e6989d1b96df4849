//! News of the mirror, for readers that follow it.

use super::changes::RecordChange;
use super::view::View;
use crate::events::Event;
use crate::events::view::AlertView;
use crate::jobs::view::JobView;
use jiff::Timestamp;
use std::sync::Arc;

/// Largest number of changes and of events in one answer.
const MAX_NEWS: usize = 256;

/// Position of a reader in changes, events, and the changes of jobs and alerts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// Revision of the last change.
    pub revision: u64,
    /// Number of the last event.
    pub event: u64,
    /// Number of the last change of a job; 0: none is known.
    pub jobs: u64,
    /// Number of the last change of alerts; 0: none is known.
    pub alerts: u64,
}

/// What is new after a position.
#[derive(Clone, Debug)]
pub struct News {
    /// Position after this answer. There may be more news.
    pub known: Known,
    /// Changes, oldest first; `None` if some are not in memory any more.
    pub changes: Option<Vec<RecordChange>>,
    /// Events, oldest first; `None` if some are not in memory any more.
    pub events: Option<Vec<Arc<Event>>>,
    /// Jobs that changed, as they are.
    pub jobs: Vec<JobView>,
    /// All active alerts; `None` if they have not changed.
    pub alerts: Option<Vec<AlertView>>,
}

impl View {
    pub(super) fn news(&self, known: Known) -> News {
        let present = self.directory.revision();
        let changes = self.changes_made.since(known.revision, present, MAX_NEWS);
        let revision = match &changes {
            Some(changes) => changes.last().map_or(known.revision, |change| change.revision),
            None => present,
        };
        let events = self.events.after(known.event, MAX_NEWS);
        let event = match &events {
            Some(events) => events.last().map_or(known.event, |event| event.id),
            None => self.events.last(),
        };
        let last = self.attention.last();
        News {
            known: Known { revision, event, jobs: last, alerts: last },
            changes,
            events,
            jobs: self.attention.jobs_after(known.jobs).cloned().collect(),
            alerts: self.attention.alerts_after(known.alerts).map(<[AlertView]>::to_vec),
        }
    }

    /// All that is known.
    pub(super) fn known(&self) -> (Timestamp, Known) {
        let last = self.attention.last();
        let known = Known { revision: self.directory.revision(), event: self.events.last(), jobs: last, alerts: last };
        (self.started, known)
    }
}
