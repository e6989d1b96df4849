//! Event and alert for REST over TLS that is configured and not served.

use super::HttpsFault;
use crate::control::Control;
use crate::events::view::AlertView;
use crate::events::{Draft, Severity};

/// Code of both.
const HTTPS: &str = "https-not-served";

impl Control {
    /// Raises an event at the start if REST over TLS is not served.
    pub(crate) fn report_https_fault(&self) {
        if let Some(fault) = self.https_fault() {
            let message = format!("{}: {}", message(fault), fault.help);
            self.raise(Draft::new(Severity::Warning, HTTPS, fault.address.to_string(), message));
        }
    }

    /// Alert while REST over TLS is not served.
    pub(crate) fn https_alert(&self) -> Option<AlertView> {
        let alert = |fault: &HttpsFault| AlertView {
            code: HTTPS,
            severity: Severity::Warning,
            subject: fault.address.to_string(),
            since: self.started(),
            message: message(fault),
            help: fault.help,
            note: None,
        };
        self.https_fault().map(alert)
    }
}

fn message(fault: &HttpsFault) -> String {
    format!("REST over TLS is not served at {}: {}", fault.address, fault.reason)
}
