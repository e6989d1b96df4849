//! What the management plane knows of an alert: its acknowledgement, and the channels that were told.

use jiff::Timestamp;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Acknowledgement of an alert.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlertAcknowledged {
    /// Name of the user, token or process.
    pub by: String,
    /// Time of it.
    pub time: Timestamp,
    /// Note for others.
    pub note: String,
    /// Its end; absent: that of the alert.
    pub until: Option<Timestamp>,
}

/// State of a message about an alert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToldState {
    /// To be sent, or tried again.
    Queued,
    /// The peer has accepted it.
    Sent,
    /// It could not be sent.
    Failed,
    /// It waits for the end of quiet hours.
    Quiet,
}

/// Whether a channel was told of an alert.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlertTold {
    /// Name of the channel.
    pub channel: String,
    /// Time of the state.
    pub time: Timestamp,
    /// State of the message.
    pub state: ToldState,
    /// The peer's own words, or what prevented the message.
    pub detail: String,
}

/// What the management plane knows of an alert.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AlertNote {
    /// Acknowledgement.
    pub acknowledged: Option<AlertAcknowledged>,
    /// Channels, by name.
    pub told: Vec<AlertTold>,
}

/// Notes by code and subject.
pub type AlertNoteTable = BTreeMap<(String, String), Arc<AlertNote>>;

/// Notes of all alerts, which the management plane keeps itself; here they are shown with the alerts.
#[derive(Default)]
pub(crate) struct AlertNotes(RefCell<AlertNoteTable>);

impl AlertNotes {
    /// Note of an alert.
    pub(super) fn of(&self, code: &str, subject: &str) -> Option<Arc<AlertNote>> {
        let notes = self.0.borrow();
        // Most arrays have none.
        (!notes.is_empty()).then(|| notes.get(&(code.to_owned(), subject.to_owned())).cloned()).flatten()
    }

    /// Replaces all of them.
    pub(super) fn replace(&self, notes: AlertNoteTable) {
        self.0.replace(notes);
    }
}
