//! News of the mirror, for readers that follow it.

use super::changes::RecordChange;
use super::view::View;
use crate::events::Event;
use crate::events::view::AlertView;
use crate::facts::Facts;
use crate::jobs::view::JobView;
use jiff::Timestamp;

/// Largest number of changes and of events in one answer.
const MAX_NEWS: usize = 256;

/// Position of a reader in changes and events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// Revision of the last change.
    pub revision: u64,
    /// Number of the last event.
    pub event: u64,
}

/// Changes and events after a position, and all jobs and alerts.
#[derive(Clone, Debug)]
pub struct News {
    /// Position after this answer. There may be more news.
    pub known: Known,
    /// Changes, oldest first; `None` if some are not in memory any more.
    pub changes: Option<Vec<RecordChange>>,
    /// Events, oldest first; `None` if some are not in memory any more.
    pub events: Option<Vec<Event>>,
    /// All jobs.
    pub jobs: Vec<JobView>,
    /// All active alerts.
    pub alerts: Vec<AlertView>,
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
        News { known: Known { revision, event }, changes, events, jobs: self.jobs(), alerts: self.alerts() }
    }

    /// All that is known.
    pub(super) fn known(&self) -> (Timestamp, Known) {
        (self.started, Known { revision: self.directory.revision(), event: self.events.last() })
    }
}
