//! Requests for events and alerts.

use super::{Event, Severity};
use crate::{Control, ControlError, Request};
use jiff::Timestamp;

/// Lists events, oldest first.
#[derive(Clone, Debug)]
pub struct EventList {
    /// Only events after the one of this number.
    pub since: Option<u64>,
    /// At most this many: the oldest after `since`, or the newest of all.
    pub limit: usize,
}

/// Alerts that hold now, most severe first.
#[derive(Clone, Debug)]
pub struct AlertList;

/// Active alert.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlertView {
    /// Stable name of the condition.
    pub code: &'static str,
    /// Severity.
    pub severity: Severity,
    /// Pool or volume, by name.
    pub subject: String,
    /// Time since which the condition holds.
    pub since: Timestamp,
    /// Text of the alert.
    pub message: String,
    /// Advice for the administrator.
    pub help: &'static str,
}

impl Request for EventList {
    type Reply = Vec<Event>;
    const NAME: &'static str = "event-list";

    async fn run(&self, control: &Control) -> Result<Vec<Event>, ControlError> {
        Ok(control.events.list(self.since, self.limit))
    }
}

impl Request for AlertList {
    type Reply = Vec<AlertView>;
    const NAME: &'static str = "alert-list";

    async fn run(&self, control: &Control) -> Result<Vec<AlertView>, ControlError> {
        Ok(control.alerts())
    }
}

impl Control {
    /// Active alerts, most severe first.
    pub(crate) fn alerts(&self) -> Vec<AlertView> {
        let mut alerts = self.space_alerts();
        alerts.extend(self.integrity.alerts(&self.pool_name));
        alerts.extend(self.sanitize_alerts());
        let results = self.results.borrow();
        if let Some(check) = results.check.as_ref().filter(|check| check.count > 0) {
            alerts.push(AlertView {
                code: "check-findings",
                severity: Severity::Critical,
                subject: self.pool_name.clone(),
                since: check.finished,
                message: format!("the last check has {} findings", check.count),
                help: "see them:  windlass pool show; stop the array and look closer:  windlass pool check FILE",
            });
        }
        if self.catalog.space().starved {
            alerts.push(AlertView {
                code: "below-full",
                severity: Severity::Critical,
                subject: self.pool_name.clone(),
                since: self.starved_since.get().unwrap_or(self.started),
                message: "the file system or device below the pool is full: nothing new can be stored".to_owned(),
                help: "make room there; the array goes on by itself, and nothing acknowledged is lost",
            });
        }
        if let Some(reason) = self.live.pool_stopped() {
            alerts.push(AlertView {
                code: "pool-stopped",
                severity: Severity::Critical,
                subject: self.pool_name.clone(),
                since: self.started,
                message: reason,
                help: "mend the medium and restart the array; nothing acknowledged is lost",
            });
        }
        alerts.sort_by_key(|alert| (std::cmp::Reverse(alert.severity), alert.since));
        alerts
    }
}
