//! Alert for a pool that was not read as a whole for long: damage that no host reads stays unseen.

use crate::control::Control;
use crate::events::Severity;
use crate::events::view::AlertView;
use jiff::{SignedDuration, Timestamp};

/// Longest time without a scrub, in days.
pub const SCRUB_WITHIN_DAYS: i64 = 35;

/// Time since which a scrub is overdue; absent if it is not. `known`: since when there is something to read.
fn overdue(last: Option<Timestamp>, known: Timestamp, now: Timestamp) -> Option<Timestamp> {
    let due = last.unwrap_or(known).saturating_add(SignedDuration::from_hours(SCRUB_WITHIN_DAYS * 24)).ok()?;
    (due <= now).then_some(due)
}

impl Control {
    /// Alert for an overdue scrub.
    pub(crate) fn scrub_alert(&self) -> Option<AlertView> {
        let last = self.pool().last_scrub().map(|scrub| scrub.finished);
        let known = self.directory().array().created;
        let since = overdue(last, known, self.environment().now())?;
        let name = self.pool().name();
        let message = match last {
            Some(last) => format!("pool {name} was last read as a whole on {}", last.strftime("%F")),
            None => format!("pool {name} was never read as a whole"),
        };
        Some(AlertView {
            code: "scrub-overdue",
            severity: Severity::Warning,
            subject: name.to_owned(),
            since,
            message,
            help: "scrub the pool: it reads in the background, and gives hosts their share of the time",
            note: None,
        })
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]
    use super::*;

    #[test]
    fn a_scrub_is_overdue_after_thirty_five_days_without_one() {
        let day = |day: i64| Timestamp::from_second(day * 86_400).unwrap();
        assert_eq!(overdue(None, day(10), day(44)), None);
        assert_eq!(overdue(None, day(10), day(45)), Some(day(45)));
        assert_eq!(overdue(Some(day(100)), day(10), day(134)), None);
        assert_eq!(overdue(Some(day(100)), day(10), day(400)), Some(day(135)), "since it was due");
        // A clock that was wrong is no reason.
        assert_eq!(overdue(Some(day(100)), day(10), day(50)), None);
    }
}
