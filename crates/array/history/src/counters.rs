//! Counters that go on over restarts: their sums since the file exists, and by hour.

use std::collections::{BTreeMap, BTreeSet};

const HOUR_SECONDS: i64 = 3600;
/// Hours with sums of their own: a month and a day, whatever the time zone of a reader.
const KEPT_HOURS: usize = 32 * 24;

/// Sums by name.
pub type CounterSums = BTreeMap<String, u64>;

/// Counters of the whole array. Sums end at the largest number.
#[derive(Debug, Default)]
pub struct Counters {
    since: i64,
    all: CounterSums,
    hours: BTreeMap<i64, CounterSums>,
    changed: BTreeSet<(i64, String)>,
    dropped: BTreeSet<i64>,
}

/// Changes since the last write.
pub(crate) struct Changes<'a> {
    /// Sums since the file exists.
    pub all: Vec<(&'a str, u64)>,
    /// Sums of hours.
    pub hours: Vec<(i64, &'a str, u64)>,
    /// Hours that are not kept any more.
    pub dropped: Vec<i64>,
}

fn add(sums: &mut CounterSums, name: &str, number: u64) {
    let sum = sums.entry(name.to_owned()).or_default();
    *sum = sum.saturating_add(number);
}

impl Counters {
    pub(crate) fn new(since: i64, all: CounterSums, hours: BTreeMap<i64, CounterSums>) -> Self {
        Self { since, all, hours, ..Self::default() }
    }

    /// Time in seconds since 1970 from which [`Self::all`] counts.
    pub const fn since(&self) -> i64 {
        self.since
    }

    /// Sums since [`Self::since`].
    pub const fn all(&self) -> &CounterSums {
        &self.all
    }

    /// Sums of the hours that begin at this time in seconds since 1970 or later; at most the last month's.
    pub fn from(&self, unix_seconds: i64) -> CounterSums {
        let first = unix_seconds.div_euclid(HOUR_SECONDS) + i64::from(unix_seconds.rem_euclid(HOUR_SECONDS) != 0);
        let mut sums = CounterSums::new();
        for (_, of_hour) in self.hours.range(first..) {
            of_hour.iter().for_each(|(name, number)| add(&mut sums, name, *number));
        }
        sums
    }

    /// Adds to counters, at a time in seconds since 1970.
    pub(crate) fn add(&mut self, unix_seconds: i64, increments: &[(String, u64)]) {
        let hour = unix_seconds.div_euclid(HOUR_SECONDS);
        for (name, number) in increments.iter().filter(|(_, number)| *number > 0) {
            add(&mut self.all, name, *number);
            add(self.hours.entry(hour).or_default(), name, *number);
            self.changed.insert((hour, name.clone()));
            self.dropped.remove(&hour);
        }
        while self.hours.len() > KEPT_HOURS {
            // The one that is farthest from the present hour, so that hours from before a jump of the clock
            // are not lost to hours beyond it.
            let distance = |other: &i64| other.abs_diff(hour);
            let ends = [self.hours.keys().next(), self.hours.keys().next_back()];
            let Some(farthest) = ends.into_iter().flatten().max_by_key(|hour| distance(hour)).copied() else { return };
            self.hours.remove(&farthest);
            self.dropped.insert(farthest);
        }
    }

    /// Changes since [`Self::written`].
    pub(crate) fn changes(&self) -> Changes<'_> {
        let names: BTreeSet<&str> = self.changed.iter().map(|(_, name)| name.as_str()).collect();
        let all = names.into_iter().filter_map(|name| Some((name, *self.all.get(name)?))).collect();
        let of_hour = |(hour, name): &(i64, String)| self.hours.get(hour)?.get(name).copied();
        let hours = self.changed.iter().filter_map(|key| Some((key.0, key.1.as_str(), of_hour(key)?))).collect();
        Changes { all, hours, dropped: self.dropped.iter().copied().collect() }
    }

    /// Notes that [`Self::changes`] are written.
    pub(crate) fn written(&mut self) {
        self.changed.clear();
        self.dropped.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::{Counters, KEPT_HOURS};

    fn one(name: &str, number: u64) -> [(String, u64); 1] {
        [(name.to_owned(), number)]
    }

    #[test]
    fn sums_are_of_whole_hours_and_of_all_time() {
        let mut counters = Counters::default();
        counters.add(7200, &one("a", 5));
        counters.add(10_799, &one("a", 1));
        counters.add(10_800, &one("a", 2));
        counters.add(10_800, &one("b", u64::MAX));
        counters.add(10_801, &one("b", 3));
        assert_eq!(counters.all().get("a"), Some(&8));
        assert_eq!(counters.all().get("b"), Some(&u64::MAX));
        assert_eq!(counters.from(7200).get("a"), Some(&8));
        assert_eq!(counters.from(7201).get("a"), Some(&2));
        assert_eq!(counters.from(10_801).get("a"), None);
    }

    #[test]
    fn hours_beyond_a_jump_of_the_clock_go_first() {
        let mut counters = Counters::default();
        let start = 500_000;
        for hour in 0..KEPT_HOURS as i64 {
            counters.add((start + hour) * 3600, &one("a", 1));
        }
        let now = (start + KEPT_HOURS as i64) * 3600;
        // A second in another century, and back.
        counters.add(9_000_000 * 3600, &one("a", 1));
        assert!(counters.hours.len() <= KEPT_HOURS);
        counters.add(now, &one("a", 1));
        assert!(!counters.hours.contains_key(&9_000_000));
        assert_eq!(counters.from(start * 3600).get("a"), Some(&(KEPT_HOURS as u64)));
        assert_eq!(counters.all().get("a"), Some(&(KEPT_HOURS as u64 + 2)));
        assert_eq!(counters.changes().dropped, [start, 9_000_000]);
    }
}
