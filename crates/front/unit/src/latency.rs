//! Histogram of latencies.

/// Histogram of latencies in buckets that double: bucket `i` counts latencies below 2^i
/// microseconds that no smaller bucket counts; the last bucket also counts all longer ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LatencyHistogram {
    /// Counts, not cumulative.
    pub buckets: [u64; Self::BUCKETS],
    /// Number of latencies.
    pub count: u64,
    /// Sum of the latencies in nanoseconds.
    pub sum_ns: u64,
}

impl LatencyHistogram {
    /// Number of buckets: the last begins at 2^26 µs, about a minute.
    pub const BUCKETS: usize = 28;

    /// Upper bound of a bucket in microseconds, exclusive.
    pub const fn upper_bound_us(bucket: u32) -> u64 {
        1 << bucket
    }

    /// Adds one latency.
    pub fn record(&mut self, latency_ns: u64) {
        let us = latency_ns / 1000;
        let bucket = usize::try_from(u64::BITS - us.leading_zeros()).unwrap_or(usize::MAX).min(Self::BUCKETS - 1);
        if let Some(count) = self.buckets.get_mut(bucket) {
            *count += 1;
        }
        self.count += 1;
        self.sum_ns = self.sum_ns.saturating_add(latency_ns);
    }

    /// Upper bound in microseconds of the bucket that holds the given quantile (0 to 1); 0 when
    /// nothing was recorded.
    pub fn quantile_us(&self, quantile: f64) -> u64 {
        let mut below = 0u64;
        for (bucket, count) in (0u32..).zip(self.buckets) {
            below += count;
            if count > 0 && below as f64 >= quantile * self.count as f64 {
                return Self::upper_bound_us(bucket);
            }
        }
        0
    }
}

impl Default for LatencyHistogram {
    fn default() -> Self {
        Self { buckets: [0; Self::BUCKETS], count: 0, sum_ns: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_fall_into_doubling_buckets() {
        let mut histogram = LatencyHistogram::default();
        for ns in [0, 999, 1_000, 1_999, 2_000, 1_000_000, u64::MAX] {
            histogram.record(ns);
        }
        assert_eq!(histogram.buckets.get(..3), Some(&[2, 2, 1][..]));
        assert_eq!(histogram.buckets.get(10), Some(&1));
        assert_eq!(histogram.buckets.last(), Some(&1));
        assert_eq!(histogram.quantile_us(0.5), 2);
    }
}
