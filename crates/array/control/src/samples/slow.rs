//! Slow commands: an alert for reads and writes of hosts whose 99th percentile is above a value of the pool's
//! settings for five minutes. Without the setting there is none.

use super::ring::Sample;
use crate::error::ControlError;
use crate::facts::Facts;
use crate::read::Read;
use jiff::SignedDuration;
use std::sync::Arc;

/// Minutes that have to be slow.
const MINUTES: usize = 5;
/// Least number of samples with reads or writes that say something of a minute.
const LEAST_SAMPLES: usize = 10;
/// Shortest and longest value of the setting in microseconds.
const POSSIBLE_US: std::ops::RangeInclusive<u32> = 100..=60_000_000;

/// Looks at the reads and writes of the last five minutes. The reply is `None` if no limit is set.
#[derive(Clone, Debug)]
pub struct SlowCommandsShow;

/// Reads and writes of the last five minutes, compared with the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlowCommands {
    /// The limit of the 99th percentile in microseconds.
    pub limit_us: u32,
    /// Number of the last five minutes in which it was above the limit in most samples.
    slow_minutes: usize,
    /// Median of the 99th percentiles of the last minute in microseconds; 0 without reads and writes.
    pub p99_us: u32,
}

impl SlowCommands {
    /// True while commands are slow: from five slow minutes in a row until none of five is. `before`: they were at
    /// the last look.
    pub fn holds(&self, before: bool) -> bool {
        self.slow_minutes == MINUTES || (before && self.slow_minutes > 0)
    }
}

impl Read for SlowCommandsShow {
    type Reply = Option<SlowCommands>;
    const NAME: &'static str = "slow-commands-show";

    fn answer(&self, facts: &dyn Facts) -> Result<Option<SlowCommands>, ControlError> {
        let Some(limit_us) = facts.pool().latency_alert_us else { return Ok(None) };
        let samples = facts.samples().into_iter().flat_map(|samples| samples.iter());
        Ok(Some(compare(samples, limit_us)))
    }
}

/// Compares samples, oldest first, with the limit.
fn compare<'a>(samples: impl DoubleEndedIterator<Item = &'a Arc<Sample>>, limit_us: u32) -> SlowCommands {
    let mut minutes: [Vec<u32>; MINUTES] = Default::default();
    let mut newest = None;
    for sample in samples.rev() {
        let age = newest.get_or_insert(sample.at).duration_since(sample.at).max(SignedDuration::ZERO);
        let minute = usize::try_from(age.as_mins()).ok().and_then(|minute| minutes.get_mut(minute));
        // Samples are in the order of their times.
        let Some(minute) = minute else { break };
        minute.extend(sample.array.io.known(sample.array.io.p99_us));
    }
    let is_slow = |minute: &&Vec<u32>| {
        let above = minute.iter().filter(|p99_us| **p99_us > limit_us).count();
        minute.len() >= LEAST_SAMPLES && above * 2 > minute.len()
    };
    let slow_minutes = minutes.iter().filter(is_slow).count();
    let [last, ..] = &mut minutes;
    last.sort_unstable();
    SlowCommands { limit_us, slow_minutes, p99_us: last.get(last.len() / 2).copied().unwrap_or(0) }
}

/// Checks the setting; 0 stands for none. Errors: `InvalidSetting`.
pub(crate) fn check_limit(limit_us: Option<u32>) -> Result<(), ControlError> {
    match limit_us {
        Some(limit_us) if limit_us != 0 && !POSSIBLE_US.contains(&limit_us) => {
            Err(ControlError::InvalidSetting("the latency of the alert is 100 µs to 60 s, or off".to_owned()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]
    use super::*;
    use crate::samples::ring::IoSample;
    use jiff::Timestamp;

    const LIMIT_US: u32 = 20_000;

    /// Host whose commands take so long in each second, in virtual time.
    struct Host {
        samples: Vec<Arc<Sample>>,
        was: bool,
    }

    impl Host {
        /// Seconds with a 99th percentile, or without commands. True if the alert holds at their end.
        fn run(&mut self, seconds: i64, p99_us: Option<u32>) -> bool {
            for _ in 0..seconds {
                let at = Timestamp::from_second(self.samples.len() as i64).unwrap();
                let io =
                    IoSample { reads: p99_us.is_some().into(), p99_us: p99_us.unwrap_or(0), ..IoSample::default() };
                let mut sample = Sample { at, interval_ms: 1000, ..Sample::default() };
                sample.array.io = io;
                self.samples.push(Arc::new(sample));
                self.was = compare(self.samples.iter(), LIMIT_US).holds(self.was);
            }
            self.was
        }
    }

    #[test]
    fn commands_are_slow_after_five_slow_minutes_until_none_is() {
        let mut host = Host { samples: Vec::new(), was: false };
        assert!(!host.run(600, Some(LIMIT_US)), "the limit itself is not above it");
        assert!(!host.run(240, Some(LIMIT_US + 1)));
        assert!(host.run(60, Some(LIMIT_US + 1)));
        assert!(host.run(250, Some(500)), "one of the last five minutes was slow");
        assert!(!host.run(60, Some(500)));
        // A minute in which most seconds are fast interrupts.
        assert!(!host.run(240, Some(LIMIT_US + 1)));
        assert!(!host.run(60, Some(500)));
        assert!(!host.run(240, Some(LIMIT_US + 1)));
    }

    #[test]
    fn few_commands_say_nothing() {
        let mut host = Host { samples: Vec::new(), was: false };
        for _ in 0..600 {
            assert!(!host.run(1, Some(u32::MAX)));
            assert!(!host.run(9, None), "six seconds of a minute have commands");
        }
        assert_eq!(compare([].iter(), LIMIT_US), SlowCommands { limit_us: LIMIT_US, slow_minutes: 0, p99_us: 0 });
    }

    #[test]
    fn a_limit_has_a_range() {
        for (limit_us, is_possible) in [(None, true), (Some(0), true), (Some(99), false), (Some(100), true)] {
            assert_eq!(check_limit(limit_us).is_ok(), is_possible, "{limit_us:?}");
        }
        assert!(check_limit(Some(60_000_001)).is_err());
    }
}
