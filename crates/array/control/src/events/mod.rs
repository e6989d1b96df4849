//! Events: every administrative change, threshold, loss of content, result of a job, start and
//! stop.
//!
//! Events are numbered. Ten thousand stay in memory; the newest are stored in one document. It is
//! written before the reply to an administrator's change, periodically, and at the end, so that
//! spontaneous events cost no commit of their own. After a crash the numbers continue with a gap,
//! so that none is used twice.

use crate::catalog::DynCatalog;
use crate::environment::Environment;
use crate::error::ControlError;
use crate::record::{Document, load};
mod ended;
mod logins;
pub(crate) mod note;
mod notes;
mod requests;
pub(crate) mod view;
mod watch;

pub use ended::{AlertsMarked, EndedAlertList, EndedAlertView};
pub use note::{AlertAcknowledged, AlertNote, AlertNoteTable, AlertTold, ToldState};
pub use notes::AlertNotesSet;
pub use requests::{AlertList, EventList};
pub use view::{AlertView, EventFilter};

use bytes::Bytes;
use explain::{Kind, entry};
use jiff::Timestamp;
use pool::CatalogChange;
use serde::{Deserialize, Serialize};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// Largest number of events in memory.
pub(crate) const MAX_EVENTS: usize = 10_000;
/// Largest number of events in the document.
const KEPT_EVENTS: usize = 200;
/// Largest size of the events in the document; a document has at most 64 KiB.
const KEPT_BYTES: usize = 60 << 10;
/// Longest message in bytes.
const MAX_MESSAGE_BYTES: usize = 512;
/// Numbers skipped after a crash: more than are used between two writes of the document.
const GAP: u64 = 10_000;
/// Time between two writes of the document.
const SAVE_INTERVAL: Duration = Duration::from_secs(10);

/// Severity of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// For information.
    Info,
    /// Needs attention soon.
    Warning,
    /// Needs attention now.
    Critical,
}

impl Severity {
    /// Word of the severity.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Critical => "critical",
        }
    }
}

/// Numbered event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Event {
    /// Number; later ones are larger.
    pub id: u64,
    /// Time.
    pub time: Timestamp,
    /// Severity.
    pub severity: Severity,
    /// Stable name of the kind of event.
    pub code: String,
    /// Name of the object concerned.
    pub subject: String,
    /// Text of the event.
    pub message: String,
}

/// Event without a number and time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    severity: Severity,
    code: &'static str,
    subject: String,
    message: String,
}

impl Draft {
    pub(crate) fn new(
        severity: Severity,
        code: &'static str,
        subject: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Self { severity, code, subject: subject.into(), message: message.into() }
    }

    pub(crate) fn info(code: &'static str, subject: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(Severity::Info, code, subject, message)
    }
}

/// Stored form of the newest events.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EventsRecord {
    /// Number of the next event.
    next: u64,
    /// True if written when the array stopped: no number from `next` on was used.
    closed: bool,
    events: Vec<Event>,
}

impl Document for EventsRecord {
    const PREFIX: &'static str = "events";
    fn key(&self) -> String {
        Self::PREFIX.to_owned()
    }
}

/// JSON of the newest events, at most [`KEPT_EVENTS`] and [`KEPT_BYTES`].
#[derive(Default)]
struct Kept {
    json: VecDeque<String>,
    /// Length of all, with a comma each.
    bytes: usize,
}

impl Kept {
    fn of(events: &[Event]) -> Self {
        let mut kept = Self::default();
        events.iter().for_each(|event| kept.push(event));
        kept
    }

    fn push(&mut self, event: &Event) {
        // An event is plain data, whose conversion cannot fail.
        let Ok(json) = serde_json::to_string(event) else { return };
        self.bytes += json.len() + 1;
        self.json.push_back(json);
        while self.json.len() > KEPT_EVENTS || self.bytes > KEPT_BYTES {
            let Some(oldest) = self.json.pop_front() else { break };
            self.bytes -= oldest.len() + 1;
        }
    }

    fn joined(&self) -> String {
        let mut text = String::with_capacity(self.bytes);
        for (at, json) in self.json.iter().enumerate() {
            text += if at == 0 { "" } else { "," };
            text += json;
        }
        text
    }
}

/// Selects events that match the filter: the oldest `limit` after `since`, or the newest `limit`;
/// oldest first.
pub(crate) fn select(
    ring: &VecDeque<Arc<Event>>,
    since: Option<u64>,
    filter: &EventFilter,
    limit: usize,
) -> Vec<Arc<Event>> {
    let fits = |event: &&Arc<Event>| filter.fits(event);
    match since {
        Some(since) => {
            let first = ring.partition_point(|event| event.id <= since);
            ring.iter().skip(first).filter(fits).take(limit).cloned().collect()
        }
        None => {
            let mut newest: Vec<Arc<Event>> = ring.iter().rev().filter(fits).take(limit).cloned().collect();
            newest.reverse();
            newest
        }
    }
}

/// All events in memory.
pub(crate) struct Events {
    ring: RefCell<VecDeque<Arc<Event>>>,
    /// JSON of the newest events, oldest first: those of the document. Each event is converted
    /// once, because every change of an administrator writes the document.
    kept: RefCell<Kept>,
    next: Cell<u64>,
    /// Number of the next event at the last write of the document.
    saved: Cell<u64>,
    saved_at: Cell<Duration>,
    /// True if an event has reported that the pool stopped.
    stop_reported: Cell<bool>,
    /// Time since which the storage below the pool is full.
    full_below_since: Cell<Option<Timestamp>>,
    /// Time of the last event about refused logins.
    refusals_reported: Cell<Option<Duration>>,
    /// Refused logins, if they are many.
    refused_often: RefCell<logins::RefusedOften>,
}

impl Events {
    /// Reads the document.
    pub fn load(catalog: &dyn DynCatalog, environment: &dyn Environment) -> Result<Self, ControlError> {
        let record =
            load::<EventsRecord>(catalog)?.pop().unwrap_or(EventsRecord { next: 1, closed: true, events: Vec::new() });
        let next = if record.closed { record.next } else { record.next.saturating_add(GAP) };
        Ok(Self {
            kept: RefCell::new(Kept::of(&record.events)),
            ring: RefCell::new(record.events.into_iter().map(Arc::new).collect()),
            next: Cell::new(next),
            saved: Cell::new(next),
            saved_at: Cell::new(environment.monotonic()),
            stop_reported: Cell::new(false),
            full_below_since: Cell::new(None),
            refused_often: RefCell::default(),
            refusals_reported: Cell::new(None),
        })
    }

    /// Adds an event.
    pub fn add(&self, environment: &dyn Environment, draft: Draft) {
        let id = self.next.get();
        self.next.set(id.saturating_add(1));
        let Draft { severity, code, subject, message } = draft;
        debug_assert!(entry(Kind::Event, code).is_some(), "{code} is not explained");
        let message = if message.len() <= MAX_MESSAGE_BYTES {
            message
        } else {
            let fits = |(at, c): &(usize, char)| at + c.len_utf8() <= MAX_MESSAGE_BYTES;
            message.char_indices().take_while(fits).map(|(_, c)| c).collect()
        };
        let event = Event { id, time: environment.now(), severity, code: code.to_owned(), subject, message };
        self.kept.borrow_mut().push(&event);
        let mut ring = self.ring.borrow_mut();
        if ring.len() >= MAX_EVENTS {
            ring.pop_front();
        }
        ring.push_back(Arc::new(event));
    }

    /// Lists events that match the filter: the oldest `limit` after `since`, or the newest `limit`;
    /// oldest first.
    pub fn list(&self, since: Option<u64>, filter: &EventFilter, limit: usize) -> Vec<Arc<Event>> {
        select(&self.ring.borrow(), since, filter, limit)
    }

    /// True if the document should be written.
    pub fn is_due(&self, environment: &dyn Environment) -> bool {
        self.is_dirty() && environment.monotonic().saturating_sub(self.saved_at.get()) >= SAVE_INTERVAL
    }

    /// True if the document lacks events.
    pub fn is_dirty(&self) -> bool {
        self.saved.get() != self.next.get()
    }

    /// Change that writes the document. Once it is committed, the caller calls [`Self::saved`].
    pub fn put(&self, closed: bool) -> CatalogChange {
        let events = self.kept.borrow().joined();
        let value = format!(r#"{{"next":{},"closed":{closed},"events":[{events}]}}"#, self.next.get());
        CatalogChange::PutDocument { key: EventsRecord::PREFIX.to_owned(), value: Bytes::from(value) }
    }

    /// Records that the document has every event before `next`.
    pub fn saved(&self, environment: &dyn Environment, next: u64) {
        self.saved.set(next);
        self.saved_at.set(environment.monotonic());
    }

    /// Number of the next event.
    pub fn next(&self) -> u64 {
        self.next.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::environment::MemoryEnvironment;

    /// The text of the document is put together from converted events.
    #[test]
    fn the_document_reads_back_as_the_newest_events() {
        let environment = MemoryEnvironment::default();
        let events = Events {
            ring: RefCell::default(),
            kept: RefCell::default(),
            next: Cell::new(1),
            saved: Cell::new(1),
            saved_at: Cell::default(),
            stop_reported: Cell::default(),
            full_below_since: Cell::default(),
            refused_often: RefCell::default(),
            refusals_reported: Cell::default(),
        };
        let document = |closed| match events.put(closed) {
            CatalogChange::PutDocument { key, value } => (key, serde_json::from_slice::<EventsRecord>(&value).ok()),
            _ => (String::new(), None),
        };
        assert_eq!(document(false).1.map(|record| record.events.len()), Some(0));
        for at in 0..KEPT_EVENTS + 5 {
            events.add(&environment, Draft::info("volume-created", "v\"1\"", format!("number {at}\n")));
        }
        let (key, record) = document(true);
        let newest = events.list(None, &EventFilter::default(), KEPT_EVENTS);
        assert_eq!(key, "events");
        let found = record.map(|record| {
            let events: Vec<Arc<Event>> = record.events.into_iter().map(Arc::new).collect();
            (record.next, record.closed, events)
        });
        assert_eq!(found, Some((206, true, newest)));
    }
}
