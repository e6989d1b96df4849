//! Latency of operations.

use crate::outcome::Round;
use crate::results::{Better, Unit};
use hdrhistogram::Histogram;
use std::cell::RefCell;
use std::time::Duration;

/// Longest time recorded: an hour, in nanoseconds.
const LONGEST: u64 = 3_600_000_000_000;

/// Histogram of times, to three digits.
#[derive(Debug)]
pub(crate) struct Latency(RefCell<Histogram<u64>>);

impl Default for Latency {
    fn default() -> Self {
        // Fails only for invalid bounds; then a histogram that grows is used.
        let histogram = Histogram::new_with_bounds(100, LONGEST, 3).or_else(|_| Histogram::new(3));
        Self(RefCell::new(histogram.unwrap_or_else(|error| unreachable!("three digits are allowed: {error}"))))
    }
}

impl Latency {
    pub(crate) fn record(&self, time: Duration) {
        self.0.borrow_mut().saturating_record(u64::try_from(time.as_nanos()).unwrap_or(LONGEST));
    }

    /// Number of operations.
    pub(crate) fn count(&self) -> u64 {
        self.0.borrow().len()
    }

    /// Resets the histogram, after the warm-up.
    pub(crate) fn reset(&self) {
        self.0.borrow_mut().reset();
    }

    /// Time that this share of the operations did not exceed, in seconds.
    pub(crate) fn quantile(&self, share: f64) -> f64 {
        Duration::from_nanos(self.0.borrow().value_at_quantile(share)).as_secs_f64()
    }

    /// Adds median, 99th percentile and maximum, as `latency_p50` and so on. Adds nothing when
    /// there was no operation.
    pub(crate) fn put(&self, round: &mut Round, prefix: &str) {
        if self.count() == 0 {
            return;
        }
        let longest = Duration::from_nanos(self.0.borrow().max()).as_secs_f64();
        for (name, value) in [("p50", self.quantile(0.5)), ("p99", self.quantile(0.99)), ("max", longest)] {
            round.put(&format!("{prefix}latency_{name}"), Unit::Seconds, Better::Lower, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_operations() {
        let latency = Latency::default();
        for ms in 1..=1000 {
            latency.record(Duration::from_millis(ms));
        }
        assert!((latency.quantile(0.5) - 0.5).abs() < 0.001 && (latency.quantile(0.99) - 0.99).abs() < 0.002);
        let mut round = Round::default();
        latency.put(&mut round, "read_");
        assert_eq!(round.names(), ["read_latency_max", "read_latency_p50", "read_latency_p99"]);
        latency.reset();
        assert_eq!(latency.count(), 0);
    }
}
