//! Paths of initiators of hosts: the most of each, and since when there are fewer.

use crate::hosts::Initiator;
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

/// One end of paths: a machine of a host.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Side {
    /// The host.
    pub host: Uuid,
    /// Its initiator.
    pub initiator: Initiator,
}

/// Lost paths of an initiator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Loss {
    /// The initiator.
    pub side: Side,
    /// Time of the loss.
    pub since: Timestamp,
    /// Number of its paths.
    pub now: usize,
    /// Their number before.
    pub most: usize,
}

/// Paths of one initiator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Paths {
    most: usize,
    now: usize,
    /// Monotonic time and time of day since which there are fewer than the most.
    fewer_since: Option<(Duration, Timestamp)>,
}

/// Paths of all initiators of hosts that have sessions.
#[derive(Debug, Default)]
pub(crate) struct PathWatch {
    sides: RefCell<BTreeMap<Side, Paths>>,
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

    /// Notes the number of paths of each initiator that has any.
    pub fn observe(&self, present: &BTreeMap<Side, usize>, elapsed: Duration, time: Timestamp) {
        let mut sides = self.sides.borrow_mut();
        sides.retain(|side, _| present.contains_key(side));
        for (side, &now) in present {
            let paths = sides.entry(side.clone()).or_insert(Paths { most: now, now, fewer_since: None });
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

    /// Initiators with a lost path.
    pub fn lost(&self, elapsed: Duration) -> Vec<Loss> {
        let sides = self.sides.borrow();
        let lost = sides.iter().filter_map(|(side, paths)| {
            let (begun, since) = paths.fewer_since?;
            let loss = || Loss { side: side.clone(), since, now: paths.now, most: paths.most };
            (elapsed.saturating_sub(begun) >= PATIENCE).then(loss)
        });
        lost.collect()
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]
    use super::*;

    fn side() -> Side {
        Side { host: Uuid::from_u128(1), initiator: Initiator::of("iqn.x:a") }
    }

    /// Looks at the paths of one initiator at each of these seconds, and returns how many of how many it has then,
    /// where that is an alert.
    fn look(looks: &[(u64, usize)]) -> Vec<Option<(usize, usize)>> {
        let watch = PathWatch::default();
        let alert = |(second, paths): &(u64, usize)| {
            let elapsed = Duration::from_secs(*second);
            let time = Timestamp::from_second(i64::try_from(*second).unwrap()).unwrap();
            let present = if *paths == 0 { BTreeMap::new() } else { BTreeMap::from([(side(), *paths)]) };
            watch.observe(&present, elapsed, time);
            watch.lost(elapsed).first().map(|loss| (loss.now, loss.most))
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
        let watch = PathWatch::default();
        for (second, paths) in [(0, 2), (10, 1), (90, 1)] {
            let time = Timestamp::from_second(second).unwrap();
            watch.observe(&BTreeMap::from([(side(), paths)]), Duration::from_secs(second.unsigned_abs()), time);
        }
        assert_eq!(watch.lost(Duration::from_secs(90))[0].since, Timestamp::from_second(10).unwrap());
    }
}
