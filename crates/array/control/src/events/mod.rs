//! Events: every administrative change, threshold, loss of content, result of a job, start and
//! stop.
//!
//! Events are numbered. Ten thousand stay in memory; the newest are stored in one document. It is
//! written before the reply to an administrator's change, periodically, and at the end, so that
//! spontaneous events cost no commit of their own. After a crash the numbers continue with a gap,
//! so that none is used twice.

use crate::catalog::DynCatalog;
mod requests;
mod watch;

pub use requests::{AlertList, AlertView, EventList};

use crate::record::{Document, load};
use crate::{ControlError, Environment};
use jiff::Timestamp;
use pool::CatalogChange;
use serde::{Deserialize, Serialize};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::time::Duration;

/// Events in memory.
const MAX_EVENTS: usize = 10_000;
/// Events in the document.
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
    pub(crate) severity: Severity,
    pub(crate) code: &'static str,
    pub(crate) subject: String,
    pub(crate) message: String,
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

/// All events that are kept.
pub(crate) struct Events {
    ring: RefCell<VecDeque<Event>>,
    next: Cell<u64>,
    /// Number of the next event at the last write of the document.
    saved: Cell<u64>,
    saved_at: Cell<Duration>,
}

impl Events {
    /// Reads the document.
    pub fn load(catalog: &dyn DynCatalog, environment: &dyn Environment) -> Result<Self, ControlError> {
        let record =
            load::<EventsRecord>(catalog)?.pop().unwrap_or(EventsRecord { next: 1, closed: true, events: Vec::new() });
        let next = if record.closed { record.next } else { record.next.saturating_add(GAP) };
        Ok(Self {
            ring: RefCell::new(record.events.into()),
            next: Cell::new(next),
            saved: Cell::new(next),
            saved_at: Cell::new(environment.monotonic()),
        })
    }

    /// Adds an event.
    pub fn add(&self, environment: &dyn Environment, draft: Draft) {
        let id = self.next.get();
        self.next.set(id.saturating_add(1));
        let Draft { severity, code, subject, message } = draft;
        let message = if message.len() <= MAX_MESSAGE_BYTES {
            message
        } else {
            let fits = |(at, c): &(usize, char)| at + c.len_utf8() <= MAX_MESSAGE_BYTES;
            message.char_indices().take_while(fits).map(|(_, c)| c).collect()
        };
        let event = Event { id, time: environment.now(), severity, code: code.to_owned(), subject, message };
        let mut ring = self.ring.borrow_mut();
        if ring.len() >= MAX_EVENTS {
            ring.pop_front();
        }
        ring.push_back(event);
    }

    /// The oldest `limit` after `since`, or the newest `limit`; oldest first.
    pub fn list(&self, since: Option<u64>, limit: usize) -> Vec<Event> {
        let ring = self.ring.borrow();
        match since {
            Some(since) => {
                let first = ring.partition_point(|event| event.id <= since);
                ring.iter().skip(first).take(limit).cloned().collect()
            }
            None => ring.iter().skip(ring.len().saturating_sub(limit)).cloned().collect(),
        }
    }

    /// True if the document should be written.
    pub fn is_due(&self, environment: &dyn Environment) -> bool {
        self.is_dirty() && environment.monotonic().saturating_sub(self.saved_at.get()) >= SAVE_INTERVAL
    }

    /// True if the document lacks events.
    pub fn is_dirty(&self) -> bool {
        self.saved.get() != self.next.get()
    }

    /// The change that writes the document. After it is done, say so with [`Self::saved`].
    pub fn put(&self, closed: bool) -> Result<CatalogChange, ControlError> {
        let ring = self.ring.borrow();
        let mut bytes = 0;
        let mut events: Vec<Event> = ring
            .iter()
            .rev()
            .take(KEPT_EVENTS)
            .take_while(|event| {
                bytes += serde_json::to_vec(event).map_or(0, |json| json.len()) + 1;
                bytes <= KEPT_BYTES
            })
            .cloned()
            .collect();
        events.reverse();
        EventsRecord { next: self.next.get(), closed, events }.put()
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
