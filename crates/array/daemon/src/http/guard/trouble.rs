//! An audit that cannot be written: an event when it begins, and an alert while it lasts.

use control::{ManagementCondition, ManagementReport};
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
            tell(array, Some(format!("the audit cannot be written: {reason}")), Some(reason.to_owned())).await;
        }
    }

    /// Ends the alert.
    pub(super) async fn clear(&self, array: &ArrayHandle) {
        if self.0.swap(false, Ordering::Relaxed) {
            tell(array, None, None).await;
        }
    }
}

async fn tell(array: &ArrayHandle, event: Option<String>, alert: Option<String>) {
    let report = ManagementReport { condition: ManagementCondition::AuditNotWritten, event, alert };
    if let Err(error) = array.call(report).await {
        tracing::warn!(%error, "the state of the audit could not be reported");
    }
}
