//! What the management plane knows of alerts: acknowledgements, and the channels that were told. It keeps this itself;
//! here it is shown with the alerts.

use super::view::AlertView;
use crate::control::Control;
use crate::error::ControlError;
use crate::request::Request;
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

/// All notes.
#[derive(Default)]
pub(crate) struct AlertNotes(RefCell<AlertNoteTable>);

impl AlertNotes {
    /// Adds the notes to active alerts.
    pub(super) fn mark(&self, alerts: &mut [AlertView]) {
        let notes = self.0.borrow();
        if notes.is_empty() {
            return;
        }
        for alert in alerts {
            alert.note = notes.get(&(alert.code.to_owned(), alert.subject.clone())).cloned();
        }
    }
}

/// Replaces all notes.
#[derive(Clone, Debug)]
pub struct AlertNotesSet {
    /// The notes.
    pub notes: AlertNoteTable,
}

impl Request for AlertNotesSet {
    type Reply = ();
    const NAME: &'static str = "alert-notes-set";

    async fn run(&self, control: &Control) -> Result<(), ControlError> {
        control.alert_notes().0.replace(self.notes.clone());
        Ok(())
    }
}
