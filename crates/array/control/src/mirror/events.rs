//! The last events, for readers that follow them.

use crate::events::view::EventFilter;
use crate::events::{Event, MAX_EVENTS};
use std::collections::VecDeque;
use std::sync::Arc;

/// The last events, oldest first: as many as `control` has.
#[derive(Debug, Default)]
pub(super) struct EventLog {
    ring: VecDeque<Arc<Event>>,
    /// Number up to which events are not in memory any more.
    forgotten: u64,
}

impl EventLog {
    /// Appends events. A gap in their numbers are events that `control` had dropped by then.
    pub fn extend(&mut self, new: Vec<Arc<Event>>) {
        if let (Some(last), Some(next)) = (self.ring.back(), new.first())
            && next.id > last.id.saturating_add(1)
        {
            self.forgotten = next.id - 1;
        }
        self.ring.extend(new);
        let surplus = self.ring.len().saturating_sub(MAX_EVENTS);
        if let Some(dropped) = self.ring.drain(..surplus).next_back() {
            self.forgotten = self.forgotten.max(dropped.id);
        }
    }

    /// Number of the last event; 0 if there is none.
    pub fn last(&self) -> u64 {
        self.ring.back().map_or(0, |event| event.id)
    }

    /// At most `most` events after a number, oldest first. `None` if some of them are not in memory
    /// any more, or the number is of none so far.
    pub fn after(&self, number: u64, most: usize) -> Option<Vec<Arc<Event>>> {
        let is_complete = (self.forgotten..=self.last()).contains(&number);
        is_complete.then(|| self.select(Some(number), &EventFilter::default(), most))
    }

    /// Events that match the filter, as [`crate::facts::Facts::events`] has them.
    pub fn select(&self, since: Option<u64>, filter: &EventFilter, limit: usize) -> Vec<Arc<Event>> {
        crate::events::select(&self.ring, since, filter, limit)
    }
}
