//! Full hours: the pool keeps the end of a lock as one.

use jiff::{SignedDuration, Timestamp};
use pool::Hour;

const SECONDS: i64 = 3600;

/// Hour of a time; `None` for times that the pool cannot store.
pub(crate) fn hour_of(time: Timestamp) -> Option<Hour> {
    u32::try_from(time.as_second().div_euclid(SECONDS)).ok().and_then(Hour::new)
}

/// Rounds a time up to a full hour; the time itself if there is none that the pool can store.
pub(crate) fn full_hour(time: Timestamp) -> Timestamp {
    let begun = Timestamp::from_second(time.as_second().div_euclid(SECONDS) * SECONDS).unwrap_or(time);
    if begun >= time { time } else { begun.checked_add(SignedDuration::from_secs(SECONDS)).unwrap_or(time) }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn ends_are_rounded_up_and_the_present_down() {
        for (time, full, hour) in [
            ("1970-01-01T00:00:00Z", "1970-01-01T00:00:00Z", 0),
            ("1970-01-01T00:00:00.000000001Z", "1970-01-01T01:00:00Z", 0),
            ("1970-01-01T02:59:59.999Z", "1970-01-01T03:00:00Z", 2),
            ("2026-11-27T20:00:00Z", "2026-11-27T20:00:00Z", 498_836),
        ] {
            assert_eq!(full_hour(at(time)), at(full), "{time}");
            assert_eq!(hour_of(at(time)).map(Hour::get), Some(hour), "{time}");
        }
        assert_eq!((hour_of(at("1969-12-31T23:00:00Z")), hour_of(at("3900-01-01T00:00:00Z"))), (None, None));
        assert_eq!(full_hour(Timestamp::MAX), Timestamp::MAX);
    }
}
