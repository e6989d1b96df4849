//! Quiet hours.

use api::QuietHours;
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// True within the quiet hours. A zone that is not known any more has no quiet hours.
pub(crate) fn is_quiet(hours: &QuietHours, now: Timestamp) -> bool {
    let Ok(zone) = TimeZone::get(&hours.zone) else { return false };
    let time = zone.to_datetime(now).time();
    let minute = u16::from(time.hour().unsigned_abs()) * 60 + u16::from(time.minute().unsigned_abs());
    let (from, until) = (hours.from_minute, hours.until_minute);
    if from <= until { (from..until).contains(&minute) } else { minute >= from || minute < until }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]
    use super::*;

    #[test]
    fn hours_may_span_midnight_and_follow_their_zone() {
        let hours = |from: u16, until: u16, zone: &str| QuietHours {
            from_minute: from * 60,
            until_minute: until * 60,
            zone: zone.to_owned(),
        };
        let quiet = |hours: &QuietHours, time: &str| is_quiet(hours, time.parse().unwrap());
        let night = hours(22, 6, "UTC");
        assert!(quiet(&night, "2026-07-01T22:00:00Z") && quiet(&night, "2026-07-01T05:59:59Z"));
        assert!(!quiet(&night, "2026-07-01T06:00:00Z") && !quiet(&night, "2026-07-01T21:59:59Z"));
        let noon = hours(12, 13, "Europe/Berlin");
        assert!(quiet(&noon, "2026-07-01T10:30:00Z") && !quiet(&noon, "2026-07-01T12:30:00Z"));
        assert!(!quiet(&hours(5, 5, "UTC"), "2026-07-01T05:00:00Z"), "equal times are no hours");
    }
}
