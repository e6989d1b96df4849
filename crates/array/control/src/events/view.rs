//! Filters of events, and alerts as administrators see them.

use super::{Event, Severity};
use crate::events::note::AlertNote;
use jiff::Timestamp;
use std::sync::Arc;

/// Filter of events; an event must match every field that is set.
#[derive(Clone, Debug, Default)]
pub struct EventFilter {
    /// Lowest severity.
    pub severity: Option<Severity>,
    /// Stable name of the kind of event.
    pub code: Option<String>,
    /// Name of the object concerned. A volume's name also matches its snapshots.
    pub subject: Option<String>,
    /// Earliest time.
    pub from: Option<Timestamp>,
    /// Time before which the event was.
    pub until: Option<Timestamp>,
}

impl EventFilter {
    pub(super) fn fits(&self, event: &Event) -> bool {
        let is_about = |subject: &String| {
            let rest = event.subject.strip_prefix(subject.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('@'))
        };
        self.severity.is_none_or(|severity| event.severity >= severity)
            && self.code.as_ref().is_none_or(|code| event.code == *code)
            && self.subject.as_ref().is_none_or(is_about)
            && self.from.is_none_or(|from| event.time >= from)
            && self.until.is_none_or(|until| event.time < until)
    }
}

/// Active alert.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlertView {
    /// Stable name of the condition.
    pub code: &'static str,
    /// Severity.
    pub severity: Severity,
    /// Pool or volume by name, or an address of the array.
    pub subject: String,
    /// Time since which the condition holds.
    pub since: Timestamp,
    /// Text of the alert.
    pub message: String,
    /// Advice for the administrator.
    pub help: &'static str,
    /// What the management plane knows of it; absent: nothing.
    pub note: Option<Arc<AlertNote>>,
}
