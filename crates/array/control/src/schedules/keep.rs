//! Retention: which snapshots of a schedule stay.
//!
//! Each rule keeps the newest snapshot of each of so many hours, days, weeks or months that have one.
//! The rules count snapshots, and look at no clock: a clock that is wrong removes nothing by itself.
//! Which of two snapshots is newer does not depend on a clock either: the pool numbers its objects in
//! the order of their creation. What a rule does not keep is older than what it keeps of the same
//! hour, day, week or month, or older than all that it keeps.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use pool::ObjectId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Numbers of snapshots that stay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Keep {
    /// Hours with a snapshot.
    pub hourly: u16,
    /// Days with a snapshot.
    pub daily: u16,
    /// Weeks with a snapshot, from Monday on.
    pub weekly: u16,
    /// Months with a snapshot.
    pub monthly: u16,
}

/// Snapshot of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Taken {
    /// Object; a newer one has a greater id.
    pub object: ObjectId,
    /// Time at which it was taken.
    pub at: Timestamp,
    /// True if it is pinned or locked, and stays whatever the rules say.
    pub is_held: bool,
}

/// Periods of the calendar that contain a time: hour, day, week and month.
fn periods(at: Timestamp, zone: &TimeZone) -> [i64; 4] {
    let shown = at.to_zoned(zone.clone());
    // Hours begin when the clocks show a full one; one that they show twice is two.
    let hour = (at.as_second() + i64::from(shown.offset().seconds()).rem_euclid(3600)).div_euclid(3600);
    let (date, week) = (shown.date(), shown.date().iso_week_date());
    let month = i64::from(date.year()) * 12 + i64::from(date.month());
    let day = month * 31 + i64::from(date.day());
    [hour, day, i64::from(week.year()) * 53 + i64::from(week.week()), month]
}

/// Snapshots of one volume that no rule keeps, the oldest first. The newest `keep_last` always stay.
pub(crate) fn surplus(mut taken: Vec<Taken>, keep: Keep, keep_last: u16, zone: &TimeZone) -> Vec<Taken> {
    taken.sort_by_key(|taken| taken.object);
    let mut rules = [keep.hourly, keep.daily, keep.weekly, keep.monthly].map(|left| (left, BTreeSet::new()));
    let mut surplus: Vec<Taken> = Vec::new();
    for (newer, snapshot) in taken.into_iter().rev().enumerate() {
        let mut stays = newer < usize::from(keep_last);
        for ((most, kept), period) in rules.iter_mut().zip(periods(snapshot.at, zone)) {
            if kept.len() < usize::from(*most) && kept.insert(period) {
                stays = true;
            }
        }
        if !stays && !snapshot.is_held {
            surplus.push(snapshot);
        }
    }
    surplus.reverse();
    surplus
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]
    use super::{Keep, Taken, periods, surplus};
    use crate::schedules::when::zone;
    use jiff::tz::TimeZone;
    use jiff::{SignedDuration, Timestamp};
    use pool::ObjectId;
    use random::Random;
    use std::collections::BTreeMap;

    fn snapshot(number: u64, at: Timestamp) -> Taken {
        Taken { object: ObjectId(number), at, is_held: false }
    }

    fn every(minutes: i64, count: i64, from: &str) -> Vec<Taken> {
        let from: Timestamp = from.parse().unwrap();
        let time = |at: i64| from + SignedDuration::from_mins(at * minutes);
        (0..count).map(|at| snapshot(at as u64, time(at))).collect()
    }

    /// Times of those that stay, the oldest first.
    fn kept(taken: &[Taken], keep: Keep, keep_last: u16, zone: &TimeZone) -> Vec<String> {
        let gone = surplus(taken.to_vec(), keep, keep_last, zone);
        let left = taken.iter().filter(|taken| !gone.contains(taken));
        left.map(|taken| taken.at.to_string()).collect()
    }

    #[test]
    fn each_rule_keeps_the_newest_of_its_periods() {
        let taken = every(15, 4 * 24 * 40, "2026-01-01T00:00:00Z");
        let utc = TimeZone::UTC;
        let none = Keep::default();
        assert_eq!(kept(&taken, none, 2, &utc), ["2026-02-09T23:30:00Z", "2026-02-09T23:45:00Z"]);
        let hourly = kept(&taken, Keep { hourly: 3, ..none }, 0, &utc);
        assert_eq!(hourly, ["2026-02-09T21:45:00Z", "2026-02-09T22:45:00Z", "2026-02-09T23:45:00Z"]);
        let monthly = kept(&taken, Keep { monthly: 12, ..none }, 0, &utc);
        assert_eq!(monthly, ["2026-01-31T23:45:00Z", "2026-02-09T23:45:00Z"]);
        let weekly = kept(&taken, Keep { weekly: 2, ..none }, 0, &utc);
        assert_eq!(weekly, ["2026-02-08T23:45:00Z", "2026-02-09T23:45:00Z"]);
        let all = Keep { hourly: 24, daily: 30, weekly: 8, monthly: 12 };
        assert_eq!(kept(&taken, all, 3, &utc).len(), 24 + 2 + 29 + 1, "{:?}", kept(&taken, all, 3, &utc));
    }

    #[test]
    fn days_are_those_of_the_zone() {
        let taken = every(60, 72, "2026-06-01T00:00:00Z");
        let daily = Keep { daily: 2, ..Keep::default() };
        let tokyo = kept(&taken, daily, 0, &zone("Asia/Tokyo").unwrap());
        assert_eq!(tokyo, ["2026-06-03T14:00:00Z", "2026-06-03T23:00:00Z"]);
        // The hour that the clocks show twice is two hours.
        let berlin = zone("Europe/Berlin").unwrap();
        let autumn = every(30, 6, "2026-10-25T00:00:00Z");
        assert_eq!(kept(&autumn, Keep { hourly: 9, ..Keep::default() }, 0, &berlin).len(), 3);
    }

    #[test]
    fn what_is_held_stays_and_takes_no_place() {
        let mut taken = every(60, 10, "2026-06-01T00:00:00Z");
        taken[1].is_held = true;
        let left = kept(&taken, Keep { hourly: 2, ..Keep::default() }, 0, &TimeZone::UTC);
        assert_eq!(left, ["2026-06-01T01:00:00Z", "2026-06-01T08:00:00Z", "2026-06-01T09:00:00Z"]);
    }

    /// Regression: each new snapshot was removed at once after the clock had been a year ahead.
    #[test]
    fn the_newest_stay_whatever_the_clock_said_before() {
        let mut taken = every(60, 5, "2027-06-01T00:00:00Z");
        let right = every(60, 5, "2026-06-01T00:00:00Z");
        taken.extend((5..).zip(right).map(|(number, taken)| snapshot(number, taken.at)));
        let newest = ["2026-06-01T03:00:00Z", "2026-06-01T04:00:00Z"];
        assert_eq!(kept(&taken, Keep::default(), 2, &TimeZone::UTC), newest);
        assert_eq!(kept(&taken, Keep { hourly: 2, ..Keep::default() }, 0, &TimeZone::UTC), newest);
        // A period that comes again takes no second place.
        let again: Vec<Taken> = (0..9).map(|at| snapshot(at, taken[if at % 2 == 0 { 0 } else { 9 }].at)).collect();
        assert_eq!(kept(&again, Keep { hourly: 3, ..Keep::default() }, 0, &TimeZone::UTC).len(), 2);
    }

    /// K4, of any snapshots: what goes is older than what a rule keeps of the same period, and no rule
    /// has fewer than it wants while something of another period goes.
    #[test]
    fn what_goes_is_older_than_what_stays_of_the_same_rule() {
        let random = Random::new(4);
        let berlin = zone("Europe/Berlin").unwrap();
        for _ in 0..200 {
            let count = 1 + random.below(60);
            let time = |_| Timestamp::from_second(1_790_000_000 + random.below(86_400 * 60) as i64).unwrap();
            let taken: Vec<Taken> = (0..count).map(|at| snapshot(at, time(at))).collect();
            let number = || u16::try_from(random.below(5)).unwrap();
            let keep = Keep { hourly: number(), daily: number(), weekly: number(), monthly: number() };
            let keep_last = number();
            let gone = surplus(taken.clone(), keep, keep_last, &berlin);
            assert!(gone.is_sorted_by_key(|taken| taken.object), "oldest first");
            let left: Vec<&Taken> = taken.iter().filter(|taken| !gone.contains(taken)).collect();
            assert!(left.len() >= usize::from(keep_last).min(taken.len()));
            for (rule, wanted) in [keep.hourly, keep.daily, keep.weekly, keep.monthly].into_iter().enumerate() {
                let period = |taken: &Taken| periods(taken.at, &berlin)[rule];
                let mut newest: BTreeMap<i64, &Taken> = BTreeMap::new();
                taken.iter().for_each(|taken| _ = newest.insert(period(taken), taken));
                let mut newest: Vec<&Taken> = newest.into_values().collect();
                newest.sort_by_key(|taken| taken.object);
                for newest in newest.into_iter().rev().take(wanted.into()) {
                    assert!(left.contains(&newest), "rule {rule}");
                }
            }
        }
    }
}
