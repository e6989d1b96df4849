//! The request by which the management plane shows its notes at alerts.

use super::note::AlertNoteTable;
use crate::control::Control;
use crate::error::ControlError;
use crate::request::Request;

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
        control.alert_notes().replace(self.notes.clone());
        Ok(())
    }
}
