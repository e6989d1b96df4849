//! Times at which a schedule is due.
//!
//! Times of day are in the time zone of the schedule, by the rules that are built into the program:
//! those of the machine may be missing or differ. A time that does not exist on a day is due at the
//! first time after it that does; one that exists twice is due the first time.

use crate::error::ControlError;
use jiff::civil::{Date, DateTime, Weekday};
use jiff::tz::{AmbiguousOffset, TimeZone, TimeZoneDatabase};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::LazyLock;

/// Shortest time between two runs, in seconds.
const LEAST_SECONDS: u32 = 60;
/// Longest time between two runs, in seconds: 30 days.
const MOST_SECONDS: u32 = 30 * 86_400;
/// Days in which a time of day is searched: a week, and days that a zone leaves out.
const DAYS: usize = 16;

/// Time before which missed runs of days and weeks are not looked for, one by one.
const FAR: SignedDuration = SignedDuration::from_hours(24 * DAYS as i64);

/// Rules of all time zones.
static ZONES: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

/// Times of runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum When {
    /// At the multiples of a period since 1970-01-01T00:00Z.
    Every {
        /// Period.
        seconds: u32,
    },
    /// Once a day.
    Daily {
        /// Minute of the day.
        minute: u16,
    },
    /// Once a week.
    Weekly {
        /// Day, 1 (Monday) to 7 (Sunday).
        day: u8,
        /// Minute of the day.
        minute: u16,
    },
}

/// Finds a time zone by its IANA name, such as `Europe/Berlin`. Errors: `InvalidSetting`.
pub(crate) fn zone(name: &str) -> Result<TimeZone, ControlError> {
    let unknown = |_| ControlError::InvalidSetting(format!("{name:?} is not a time zone such as Europe/Berlin or UTC"));
    if name == "UTC" { Ok(TimeZone::UTC) } else { ZONES.get(name).map_err(unknown) }
}

/// Time at which the clocks of a zone show a date and time.
fn instant(shown: DateTime, zone: &TimeZone) -> Option<Timestamp> {
    match zone.to_ambiguous_timestamp(shown).offset() {
        AmbiguousOffset::Unambiguous { offset } => offset.to_timestamp(shown).ok(),
        AmbiguousOffset::Fold { before, .. } => before.to_timestamp(shown).ok(),
        AmbiguousOffset::Gap { before, .. } => {
            // Not before the end of the gap, which is the transition.
            let late = before.to_timestamp(shown).ok()?.checked_add(SignedDuration::from_nanos(1)).ok()?;
            zone.preceding(late).next().map(|transition| transition.timestamp())
        }
    }
}

impl When {
    /// Checks the values. Errors: `InvalidSetting`.
    pub(crate) fn check(self) -> Result<(), ControlError> {
        let reason = match self {
            Self::Every { seconds } if !(LEAST_SECONDS..=MOST_SECONDS).contains(&seconds) => {
                "the time between two runs is 1 minute to 30 days"
            }
            Self::Daily { minute: 1440.. } | Self::Weekly { minute: 1440.., .. } => "a time of day is 00:00 to 23:59",
            Self::Weekly { day: 0 | 8.., .. } => "a day of the week is 1 to 7",
            _ => return Ok(()),
        };
        Err(ControlError::InvalidSetting(reason.to_owned()))
    }

    /// Time of the first run after `after`; absent beyond the range of the calendar.
    pub(crate) fn next_after(self, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        match self {
            Self::Every { seconds } => {
                let period = i64::from(seconds.max(1));
                let next = after.as_second().div_euclid(period).checked_add(1)?.checked_mul(period)?;
                Timestamp::from_second(next).ok()
            }
            Self::Daily { minute } => Self::next_day(after, zone, minute, |_| true),
            Self::Weekly { day, minute } => {
                let wanted = i8::try_from(day).ok().and_then(|day| Weekday::from_monday_one_offset(day).ok())?;
                Self::next_day(after, zone, minute, |date| date.weekday() == wanted)
            }
        }
    }

    fn next_day(after: Timestamp, zone: &TimeZone, minute: u16, fits: impl Fn(Date) -> bool) -> Option<Timestamp> {
        let [hour, minute] = [minute / 60, minute % 60].map(|part| i8::try_from(part).unwrap_or(0));
        // The transition that a missing time moves to may be on the next day.
        let mut date = after.to_zoned(zone.clone()).date().yesterday().ok()?;
        for _ in 0..DAYS {
            if fits(date)
                && let Some(time) = instant(date.at(hour, minute, 0, 0), zone)
                && time > after
            {
                return Some(time);
            }
            date = date.tomorrow().ok()?;
        }
        None
    }

    /// Last of the runs due from `due` on up to `now`.
    pub(crate) fn latest(self, due: Timestamp, now: Timestamp, zone: &TimeZone) -> Timestamp {
        if let Self::Every { seconds } = self {
            let period = i64::from(seconds.max(1));
            let last = now.as_second().div_euclid(period).saturating_mul(period);
            return Timestamp::from_second(last).map_or(due, |last| last.max(due));
        }
        // A clock that is years ahead makes no long work.
        let from = due.max(now.saturating_sub(FAR).unwrap_or(due));
        let mut latest = due;
        let mut last = from;
        while let Some(next) = self.next_after(last, zone).filter(|next| *next <= now) {
            (latest, last) = (next, next);
        }
        latest
    }
}

impl fmt::Display for When {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
        match self {
            Self::Every { seconds } => {
                write!(formatter, "every {}", text::duration::exact_seconds(*seconds))
            }
            Self::Daily { minute } => write!(formatter, "daily {:02}:{:02}", minute / 60, minute % 60),
            Self::Weekly { day, minute } => {
                let day = DAYS.get(usize::from(*day).wrapping_sub(1)).copied().unwrap_or("?");
                write!(formatter, "weekly {day}@{:02}:{:02}", minute / 60, minute % 60)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]
    use super::{When, zone};
    use jiff::Timestamp;
    use jiff::tz::TimeZone;
    use std::collections::BTreeSet;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    /// All runs from one time to another.
    fn runs(when: When, zone: &TimeZone, from: &str, to: &str) -> Vec<Timestamp> {
        let (mut runs, to) = (Vec::new(), at(to));
        let mut last = at(from);
        while let Some(next) = when.next_after(last, zone).filter(|next| *next <= to) {
            assert!(next > last, "{next}");
            runs.push(next);
            last = next;
        }
        runs
    }

    #[test]
    fn a_year_of_days_has_a_run_each_whatever_the_clocks_do() {
        // A leap year, with a missing and a doubled time in each zone.
        for (name, hour) in [("Europe/Berlin", 2), ("America/New_York", 2), ("Australia/Lord_Howe", 2), ("UTC", 2)] {
            let zone = zone(name).unwrap();
            let when = When::Daily { minute: hour * 60 + 15 };
            let runs = runs(when, &zone, "2027-12-31T14:00:00Z", "2028-12-31T13:00:00Z");
            let days: BTreeSet<_> = runs.iter().map(|run| run.to_zoned(zone.clone()).date()).collect();
            assert_eq!((runs.len(), days.len()), (366, 366), "{name}");
            let shown = |run: &&Timestamp| run.to_zoned(zone.clone()).strftime("%H:%M").to_string() != "02:15";
            assert!(runs.iter().filter(shown).count() <= 1, "{name}");
        }
    }

    #[test]
    fn a_missing_time_is_due_at_the_next_that_exists_and_a_doubled_one_once() {
        let berlin = zone("Europe/Berlin").unwrap();
        let when = When::Daily { minute: 150 };
        // On 29 March 2026, 02:30 does not exist; on 25 October, it exists twice.
        let spring = runs(when, &berlin, "2026-03-28T00:00:00Z", "2026-03-30T12:00:00Z");
        assert_eq!(spring, ["2026-03-28T01:30:00Z", "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"].map(at));
        let autumn = runs(when, &berlin, "2026-10-24T00:00:00Z", "2026-10-26T12:00:00Z");
        assert_eq!(autumn, ["2026-10-24T00:30:00Z", "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"].map(at));
        // Samoa had no 30 December 2011: the run of that day is due when the 31st begins.
        let apia = zone("Pacific/Apia").unwrap();
        let skipped = runs(When::Daily { minute: 0 }, &apia, "2011-12-29T00:00:00Z", "2011-12-31T23:00:00Z");
        assert_eq!(skipped, ["2011-12-29T10:00:00Z", "2011-12-30T10:00:00Z", "2011-12-31T10:00:00Z"].map(at));
    }

    #[test]
    fn periods_are_aligned_and_weeks_have_their_day() {
        let utc = TimeZone::UTC;
        let every = When::Every { seconds: 900 };
        assert_eq!(every.next_after(at("2026-11-27T10:15:00Z"), &utc), Some(at("2026-11-27T10:30:00Z")));
        assert_eq!(every.next_after(at("2026-11-27T10:14:59.9Z"), &utc), Some(at("2026-11-27T10:15:00Z")));
        assert_eq!(every.next_after(at("1969-12-31T23:59:59Z"), &utc), Some(at("1970-01-01T00:00:00Z")));
        assert_eq!(runs(every, &utc, "2028-02-28T00:00:00Z", "2028-03-01T00:00:00Z").len(), 2 * 96);
        let sunday = When::Weekly { day: 7, minute: 180 };
        let berlin = zone("Europe/Berlin").unwrap();
        let year = runs(sunday, &berlin, "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z");
        assert_eq!((year.len(), year[0]), (52, at("2026-01-04T02:00:00Z")));
        assert_eq!(year[12], at("2026-03-29T01:00:00Z"));
    }

    #[test]
    fn the_latest_of_the_missed_runs_is_made_up() {
        let berlin = zone("Europe/Berlin").unwrap();
        for (when, due, now, latest) in [
            (When::Every { seconds: 900 }, "2026-11-27T10:15:00Z", "2026-11-28T10:20:00Z", "2026-11-28T10:15:00Z"),
            (When::Every { seconds: 900 }, "2026-11-27T10:15:00Z", "2026-11-27T10:15:00Z", "2026-11-27T10:15:00Z"),
            (When::Daily { minute: 120 }, "2026-11-20T01:00:00Z", "2026-11-27T10:20:00Z", "2026-11-27T01:00:00Z"),
            (
                When::Weekly { day: 1, minute: 0 },
                "2026-11-22T23:00:00Z",
                "2026-11-29T22:00:00Z",
                "2026-11-22T23:00:00Z",
            ),
        ] {
            assert_eq!(when.latest(at(due), at(now), &berlin), at(latest), "{when}");
        }
    }

    #[test]
    fn wrong_times_are_refused() {
        for wrong in [
            When::Every { seconds: 59 },
            When::Every { seconds: 30 * 86_400 + 1 },
            When::Daily { minute: 1440 },
            When::Weekly { day: 0, minute: 0 },
            When::Weekly { day: 8, minute: 0 },
        ] {
            assert!(wrong.check().is_err(), "{wrong:?}");
        }
        When::Weekly { day: 7, minute: 1439 }.check().unwrap();
        assert!(zone("Europe/Atlantis").is_err() && zone("../../etc/passwd").is_err());
    }
}
