//! Requests for events and alerts.

use super::{AlertView, Event, EventFilter, Severity};
use crate::condition::{BELOW_FULL, BELOW_FULL_HELP};
use crate::control::Control;
use crate::error::ControlError;
use crate::facts::Facts;
use crate::page::{Column, Listed, column};
use crate::read::Read;
use explain::Kind;
use std::sync::Arc;

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
        self.all(facts)
    }
}

impl EventList {
    /// The events themselves, which the facts have too.
    fn found(&self, facts: &dyn Facts) -> Result<Vec<Arc<Event>>, ControlError> {
        if let Some(code) = self.filter.code.as_deref().filter(|code| explain::entry(Kind::Event, code).is_none()) {
            let known = Kind::Event.entries().iter().map(|entry| entry.code).collect::<Vec<_>>().join(", ");
            return Err(ControlError::InvalidSetting(format!("no event has the code {code:?}: the codes are {known}")));
        }
        Ok(facts.events(self.since, &self.filter, self.limit))
    }
}

impl Listed for EventList {
    type View = Event;
    type Row = Arc<Event>;
    const COLUMNS: &'static [Column<Arc<Event>>] = &[
        column("id", |_, event| event.id.into()),
        column("time", |_, event| event.time.into()),
        column("severity", |_, event| (event.severity as u64).into()),
        column("code", |_, event| event.code.as_str().into()),
        column("subject", |_, event| event.subject.as_str().into()),
    ];

    fn rows(&self, facts: &dyn Facts) -> Result<Vec<(String, Arc<Event>)>, ControlError> {
        Ok(self.found(facts)?.into_iter().map(|event| (format!("{:020}", event.id), event)).collect())
    }

    fn texts(_facts: &dyn Facts, event: &Arc<Event>) -> Vec<String> {
        vec![event.code.to_string(), event.subject.clone(), event.message.clone()]
    }

    fn views(&self, _facts: &dyn Facts, rows: Vec<Arc<Event>>) -> Vec<Event> {
        rows.into_iter().map(Arc::unwrap_or_clone).collect()
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
    const COLUMNS: &'static [Column<AlertView>] = &[
        column("severity", |_, alert| (alert.severity as u64).into()),
        column("code", |_, alert| alert.code.into()),
        column("subject", |_, alert| alert.subject.as_str().into()),
        column("since", |_, alert| alert.since.into()),
    ];

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

    fn texts(_facts: &dyn Facts, alert: &AlertView) -> Vec<String> {
        vec![alert.code.to_owned(), alert.subject.clone(), alert.message.clone()]
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
        alerts.extend(self.management().alerts());
        alerts.extend(self.schedule_alerts());
        alerts.extend(self.time_alert());
        alerts.extend(self.scrub_alert());
        alerts.extend(self.locks_alert());
        alerts.extend(self.certificate_alerts());
        alerts.extend(self.open_access_alert());
        alerts.extend(self.path_alerts());
        alerts.extend(self.limit_alerts());
        alerts.extend(self.events().refused_often.borrow().alert());
        if let Some(check) = self.pool().last_check().filter(|check| check.count > 0) {
            alerts.push(AlertView {
                code: "check-findings",
                severity: Severity::Critical,
                subject: self.pool().name().to_owned(),
                since: check.finished,
                message: format!("the last check has {} findings", check.count),
                help: "the pool lists them; to check further, stop the array and check the pool",
                note: None,
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
                note: None,
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
                note: None,
            });
        }
        debug_assert!(
            alerts.iter().all(|alert| explain::entry(Kind::Alert, alert.code).is_some()),
            "an alert is not explained: {alerts:?}"
        );
        alerts.sort_by_key(|alert| (std::cmp::Reverse(alert.severity), alert.since));
        for alert in &mut alerts {
            alert.note = self.alert_notes().of(alert.code, &alert.subject);
        }
        alerts
    }
}
