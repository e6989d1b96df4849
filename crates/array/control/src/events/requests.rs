//! Requests for events and alerts.

use super::{AlertView, CODES, Event, EventFilter, Severity};
use crate::condition::{BELOW_FULL, BELOW_FULL_HELP};
use crate::control::Control;
use crate::error::ControlError;
use crate::facts::Facts;
use crate::page::Listed;
use crate::read::Read;

/// Lists events, oldest first.
#[derive(Clone, Debug)]
pub struct EventList {
    /// Only events after the one of this number.
    pub since: Option<u64>,
    /// Filter of the events.
    pub filter: EventFilter,
    /// Largest number of events: the oldest after `since`, or the newest of all.
    pub limit: usize,
}

/// Lists active alerts, most severe first.
#[derive(Clone, Debug)]
pub struct AlertList;

impl Read for EventList {
    type Reply = Vec<Event>;
    const NAME: &'static str = "event-list";

    fn answer(&self, facts: &dyn Facts) -> Result<Vec<Event>, ControlError> {
        if let Some(code) = self.filter.code.as_deref().filter(|code| !CODES.contains(code)) {
            let known = CODES.join(", ");
            return Err(ControlError::InvalidSetting(format!("no event has the code {code:?}: the codes are {known}")));
        }
        Ok(facts.events(self.since, &self.filter, self.limit))
    }
}

impl Read for AlertList {
    type Reply = Vec<AlertView>;
    const NAME: &'static str = "alert-list";

    fn answer(&self, facts: &dyn Facts) -> Result<Vec<AlertView>, ControlError> {
        self.all(facts)
    }
}

impl Listed for AlertList {
    type View = AlertView;
    type Row = AlertView;

    /// Keys sort by severity, time, condition and subject; a condition holds once for a subject.
    fn rows(&self, facts: &dyn Facts) -> Result<Vec<(String, AlertView)>, ControlError> {
        let key = |alert: &AlertView| {
            let rank = match alert.severity {
                Severity::Critical => 0,
                Severity::Warning => 1,
                Severity::Info => 2,
            };
            let since = alert.since.as_nanosecond().max(0);
            format!("{rank} {since:030} {} {}", alert.code, alert.subject)
        };
        let mut rows: Vec<_> = facts.alerts().into_iter().map(|alert| (key(&alert), alert)).collect();
        rows.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        Ok(rows)
    }

    fn views(&self, _facts: &dyn Facts, rows: Vec<AlertView>) -> Vec<AlertView> {
        rows
    }
}

impl Control {
    /// Active alerts, most severe first.
    pub(crate) fn alerts(&self) -> Vec<AlertView> {
        let mut alerts = self.space_alerts();
        alerts.extend(self.damage_alerts());
        alerts.extend(self.sanitize_alerts());
        alerts.extend(self.portal_alerts());
        alerts.extend(self.https_alert());
        if let Some(check) = self.pool().last_check().filter(|check| check.count > 0) {
            alerts.push(AlertView {
                code: "check-findings",
                severity: Severity::Critical,
                subject: self.pool().name().to_owned(),
                since: check.finished,
                message: format!("the last check has {} findings", check.count),
                help: "the pool lists them; to check further, stop the array and check the pool",
            });
        }
        if self.catalog().space().full_below {
            alerts.push(AlertView {
                code: "below-full",
                severity: Severity::Critical,
                subject: self.pool().name().to_owned(),
                since: self.events().full_below_since.get().unwrap_or(self.started()),
                message: BELOW_FULL.to_owned(),
                help: BELOW_FULL_HELP,
            });
        }
        if let Some(reason) = self.live().pool_stopped() {
            alerts.push(AlertView {
                code: "pool-stopped",
                severity: Severity::Critical,
                subject: self.pool().name().to_owned(),
                since: self.started(),
                message: reason,
                help: "repair the medium and restart the array; acknowledged data is safe",
            });
        }
        alerts.sort_by_key(|alert| (std::cmp::Reverse(alert.severity), alert.since));
        alerts
    }
}
