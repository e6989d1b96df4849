//! Paths of hosts: the most of each, and since when there are fewer.

use jiff::Timestamp;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::time::Duration;
use uuid::Uuid;

/// Time between two looks.
const INTERVAL: Duration = Duration::from_secs(10);
/// Time for which a host has fewer paths before it is an alert: a session that breaks returns within seconds.
const PATIENCE: Duration = Duration::from_secs(60);
/// Time after which the fewer paths are those of the host.
const ACCEPTED: Duration = Duration::from_secs(24 * 60 * 60);

/// Paths of one host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Paths {
    most: usize,
    now: usize,
    /// Monotonic time and time of day since which there are fewer than the most.
    fewer_since: Option<(Duration, Timestamp)>,
}

/// Paths of all hosts that have sessions.
#[derive(Debug, Default)]
pub(crate) struct PathWatch {
    hosts: RefCell<BTreeMap<Uuid, Paths>>,
    /// Monotonic time of the last look.
    looked: Cell<Option<Duration>>,
}

impl PathWatch {
    /// Begins a look, unless the last one was a short time ago.
    pub fn begin(&self, now: Duration) -> bool {
        let is_due = self.looked.get().is_none_or(|looked| now.saturating_sub(looked) >= INTERVAL);
        if is_due {
            self.looked.set(Some(now));
        }
        is_due
    }

    /// Notes the number of paths of each host that has any.
    pub fn observe(&self, present: &BTreeMap<Uuid, usize>, elapsed: Duration, time: Timestamp) {
        let mut hosts = self.hosts.borrow_mut();
        hosts.retain(|host, _| present.contains_key(host));
        for (host, &now) in present {
            let paths = hosts.entry(*host).or_insert(Paths { most: now, now, fewer_since: None });
            paths.now = now;
            if now >= paths.most {
                *paths = Paths { most: now, now, fewer_since: None };
                continue;
            }
            let (since, _) = *paths.fewer_since.get_or_insert((elapsed, time));
            if elapsed.saturating_sub(since) >= ACCEPTED {
                *paths = Paths { most: now, now, fewer_since: None };
            }
        }
    }

    /// Hosts with a lost path: the time of the loss, the number of paths, and that before.
    pub fn lost(&self, elapsed: Duration) -> Vec<(Uuid, Timestamp, usize, usize)> {
        let hosts = self.hosts.borrow();
        let lost = hosts.iter().filter_map(|(host, paths)| {
            let (since, time) = paths.fewer_since?;
            (elapsed.saturating_sub(since) >= PATIENCE).then_some((*host, time, paths.now, paths.most))
        });
        lost.collect()
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]
    use super::*;

    /// Looks at the paths of one host at each of these seconds, and returns how many of how many it has then, where
    /// that is an alert.
    fn look(looks: &[(u64, usize)]) -> Vec<Option<(usize, usize)>> {
        let (watch, host) = (PathWatch::default(), Uuid::from_u128(1));
        let alert = |(second, paths): &(u64, usize)| {
            let elapsed = Duration::from_secs(*second);
            let time = Timestamp::from_second(i64::try_from(*second).unwrap()).unwrap();
            let present = if *paths == 0 { BTreeMap::new() } else { BTreeMap::from([(host, *paths)]) };
            watch.observe(&present, elapsed, time);
            watch.lost(elapsed).first().map(|(_, _, now, most)| (*now, *most))
        };
        looks.iter().map(alert).collect()
    }

    #[test]
    fn a_lost_path_is_an_alert_after_a_minute_until_it_is_back() {
        let seen = look(&[(0, 1), (1, 2), (10, 1), (69, 1), (70, 1), (80, 1), (81, 2), (300, 2)]);
        assert_eq!(seen, [None, None, None, None, Some((1, 2)), Some((1, 2)), None, None]);
    }

    #[test]
    fn a_host_that_is_off_lost_nothing_and_fewer_paths_for_a_day_are_meant() {
        assert_eq!(look(&[(0, 2), (10, 0), (100, 0), (200, 1), (300, 1)]), [None; 5]);
        let day = ACCEPTED.as_secs();
        assert_eq!(look(&[(0, 4), (10, 3), (day, 3), (day + 10, 3)]), [None, None, Some((3, 4)), None]);
        // A second loss while the first one lasts does not begin anew.
        assert_eq!(look(&[(0, 4), (10, 3), (65, 2), (70, 2)])[3], Some((2, 4)));
    }

    #[test]
    fn the_loss_has_its_time() {
        let (watch, host) = (PathWatch::default(), Uuid::from_u128(1));
        for (second, paths) in [(0, 2), (10, 1), (90, 1)] {
            let time = Timestamp::from_second(second).unwrap();
            watch.observe(&BTreeMap::from([(host, paths)]), Duration::from_secs(second.unsigned_abs()), time);
        }
        assert_eq!(watch.lost(Duration::from_secs(90))[0].1, Timestamp::from_second(10).unwrap());
    }
}
