//! Latencies of a load, in a histogram: a load of minutes has too many for a list.

use hdrhistogram::Histogram;
use std::time::Duration;

/// Longest latency recorded: ten minutes, in nanoseconds.
const LONGEST: u64 = 600_000_000_000;

/// Latencies, to three digits.
#[derive(Clone, Debug)]
pub(crate) struct Latencies(Histogram<u64>);

impl Default for Latencies {
    fn default() -> Self {
        // Fails only for invalid bounds; then a histogram that grows is used.
        let histogram = Histogram::new_with_bounds(10, LONGEST, 3).or_else(|_| Histogram::new(3));
        Self(histogram.unwrap_or_else(|error| unreachable!("three digits are allowed: {error}")))
    }
}

impl Latencies {
    /// Adds one.
    pub(crate) fn record(&mut self, latency: Duration) {
        self.0.saturating_record(u64::try_from(latency.as_nanos()).unwrap_or(LONGEST));
    }

    /// Adds one `count` times.
    pub(crate) fn record_many(&mut self, latency: Duration, count: u64) {
        self.0.saturating_record_n(u64::try_from(latency.as_nanos()).unwrap_or(LONGEST), count);
    }

    /// Number of latencies.
    pub(crate) fn count(&self) -> u64 {
        self.0.len()
    }

    /// Latency in µs that `percent` of the commands did not exceed; 0 if there are none.
    pub(crate) fn percentile_us(&self, percent: f64) -> f64 {
        self.0.value_at_percentile(percent) as f64 / 1e3
    }

    /// Longest latency in µs.
    pub(crate) fn longest_us(&self) -> f64 {
        self.0.max() as f64 / 1e3
    }
}
