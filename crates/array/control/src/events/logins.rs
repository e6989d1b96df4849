//! Alert for many refused logins: a host with a wrong secret, or an initiator that no host has.

use crate::events::Severity;
use crate::events::view::AlertView;
use crate::events::watch::REFUSALS_INTERVAL;
use jiff::Timestamp;

/// Refused logins between two reports from which on they are an alert.
const MANY: u64 = 10;

/// Refused logins of the last report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RefusedOften(Option<(Timestamp, String)>);

impl RefusedOften {
    /// Notes the logins that were refused since the last report, with a description of the last one. The alert begins
    /// with many, and ends with a report of fewer.
    pub fn report(&mut self, count: u64, example: &str, now: Timestamp) {
        if count < MANY {
            self.0 = None;
            return;
        }
        let minutes = REFUSALS_INTERVAL.as_secs() / 60;
        let (_, message) = self.0.get_or_insert_with(|| (now, String::new()));
        *message = format!("{count} logins were refused within {minutes} minutes; the last one: {example}");
    }

    pub fn alert(&self) -> Option<AlertView> {
        let (since, message) = self.0.clone()?;
        Some(AlertView {
            code: "logins-refused",
            severity: Severity::Warning,
            subject: "array".to_owned(),
            since,
            message,
            help: "compare the host's initiator name and CHAP credentials with those of the array",
            note: None,
        })
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]
    use super::*;

    #[test]
    fn many_refused_logins_are_one_alert_until_they_are_few() {
        let mut refused = RefusedOften::default();
        let at = |second| Timestamp::from_second(second).unwrap();
        refused.report(MANY - 1, "h1", at(1));
        assert_eq!(refused.alert(), None);
        refused.report(MANY, "h1", at(2));
        refused.report(500, "h2", at(602));
        let alert = refused.alert().unwrap();
        assert_eq!((alert.since, alert.code), (at(2), "logins-refused"), "one alert, since its start");
        assert_eq!(alert.message, "500 logins were refused within 10 minutes; the last one: h2");
        refused.report(0, "", at(1202));
        assert_eq!(refused.alert(), None);
    }
}
