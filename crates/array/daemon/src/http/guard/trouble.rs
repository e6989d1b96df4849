//! An audit that cannot be written: an event when it begins, and an alert while it lasts.

use crate::report::report;
use control::ManagementCondition::AuditNotWritten;
use reactor::ArrayHandle;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the audit could not be written last.
#[derive(Default)]
pub(in crate::http) struct Trouble(AtomicBool);

impl Trouble {
    /// Raises the event and the alert.
    pub(super) async fn report(&self, array: &ArrayHandle, reason: &str) {
        let is_new = !self.0.swap(true, Ordering::Relaxed);
        if is_new {
            let event = format!("the audit cannot be written: {reason}");
            report(array, AuditNotWritten, Some(event), Some(reason.to_owned())).await;
        }
    }

    /// Ends the alert.
    pub(super) async fn clear(&self, array: &ArrayHandle) {
        if self.0.swap(false, Ordering::Relaxed) {
            report(array, AuditNotWritten, None, None).await;
        }
    }
}
