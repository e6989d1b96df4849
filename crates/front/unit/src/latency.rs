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
    /// Longest latency in nanoseconds.
    pub max_ns: u64,
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
        self.max_ns = self.max_ns.max(latency_ns);
    }

    /// Adds the latencies of another histogram.
    pub fn merge(&mut self, other: &Self) {
        self.buckets.iter_mut().zip(other.buckets).for_each(|(count, more)| *count += more);
        self.count += other.count;
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// Buckets with an upper bound, ascending: the bound in microseconds and the count.
    pub fn bounded(&self) -> impl Iterator<Item = (u64, u64)> {
        (0u32..).zip(self.buckets).take(Self::BUCKETS - 1).map(|(bucket, count)| (Self::upper_bound_us(bucket), count))
    }

    /// Number of latencies above the last bound.
    pub const fn above(&self) -> u64 {
        self.buckets[Self::BUCKETS - 1]
    }

    /// Sum of the latencies in microseconds.
    pub const fn sum_us(&self) -> u64 {
        self.sum_ns / 1000
    }

    /// Longest latency in microseconds; 0 if there are none.
    pub const fn max_us(&self) -> u64 {
        self.max_ns / 1000
    }

    /// Mean in microseconds; 0 if there are no latencies.
    pub fn average_us(&self) -> u64 {
        self.sum_us().checked_div(self.count).unwrap_or(0)
    }

    /// Upper bound in microseconds of the bucket with the latency at `per_mille` thousandths; the
    /// last bound for one above it; 0 if there are no latencies.
    pub fn quantile_us(&self, per_mille: u64) -> u64 {
        if self.count == 0 {
            return 0;
        }
        let rank = (u128::from(self.count) * u128::from(per_mille)).div_ceil(1000).max(1);
        let mut seen = 0_u128;
        let mut upper = 0;
        for (bound, count) in self.bounded() {
            seen += u128::from(count);
            upper = bound;
            if seen >= rank {
                break;
            }
        }
        upper
    }
}

impl Default for LatencyHistogram {
    fn default() -> Self {
        Self { buckets: [0; Self::BUCKETS], count: 0, sum_ns: 0, max_ns: 0 }
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
        assert_eq!((histogram.quantile_us(500), histogram.above()), (2, 1));
        assert_eq!(histogram.max_ns, u64::MAX);
    }

    #[test]
    fn a_merged_histogram_has_the_latencies_of_both() {
        let (mut one, mut other, mut both) =
            (LatencyHistogram::default(), LatencyHistogram::default(), LatencyHistogram::default());
        for (index, ns) in [500, 3_000, 9_000, 4_000_000].into_iter().enumerate() {
            if index % 2 == 0 {
                one.record(ns)
            } else {
                other.record(ns)
            }
            both.record(ns);
        }
        one.merge(&other);
        assert_eq!((&one, one.max_us()), (&both, 4_000));
    }

    #[test]
    fn quantiles_name_the_bucket() {
        let mut histogram = LatencyHistogram::default();
        let latencies = [(50, 7), (49, 100), (1, 1000)];
        latencies.into_iter().for_each(|(times, us)| (0..times).for_each(|_| histogram.record(us * 1000)));
        assert_eq!([500, 990, 1000].map(|per_mille| histogram.quantile_us(per_mille)), [8, 128, 1024]);
        assert_eq!(histogram.average_us(), 62);
        let mut long = LatencyHistogram::default();
        long.record(u64::MAX);
        assert_eq!(long.quantile_us(500), 1 << 26);
        let none = LatencyHistogram::default();
        assert_eq!((none.quantile_us(990), none.average_us()), (0, 0));
    }
}
