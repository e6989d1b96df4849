//! Histogram of latencies.

/// Buckets of an octave: the latencies from a power of two microseconds to the next.
const STEPS: u32 = 4;
/// Octaves with buckets of their own. The first two latencies of 0 to 3 µs have one each.
const OCTAVES: u32 = 26;

/// Histogram of latencies: four buckets of equal width an octave, and a last one that counts all
/// latencies from 2^26 µs on, about a minute. The buckets are allocated with the first latency.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LatencyHistogram {
    /// Counts, not cumulative; empty or [`Self::BUCKETS`] long.
    buckets: Vec<u64>,
    /// Number of latencies.
    pub count: u64,
    /// Sum of the latencies in nanoseconds.
    pub sum_ns: u64,
    /// Longest latency in nanoseconds.
    pub max_ns: u64,
}

impl LatencyHistogram {
    /// Number of buckets.
    const BUCKETS: usize = ((OCTAVES - 1) * STEPS) as usize + 1;

    /// Bucket of a latency in microseconds.
    fn bucket(us: u64) -> usize {
        let octave = us.checked_ilog2().unwrap_or(0);
        let bucket = match octave {
            0 | 1 => us,
            _ => u64::from((octave - 1) * STEPS) + ((us >> (octave - 2)) & u64::from(STEPS - 1)),
        };
        usize::try_from(bucket).unwrap_or(usize::MAX).min(Self::BUCKETS - 1)
    }

    /// Least latency of a bucket in microseconds.
    fn start_us(bucket: usize) -> u64 {
        let bucket = u64::try_from(bucket).unwrap_or(u64::MAX);
        let (octave, step) = (bucket / u64::from(STEPS), bucket % u64::from(STEPS));
        if octave == 0 { step } else { (u64::from(STEPS) + step) << (octave - 1) }
    }

    /// Adds one latency.
    pub fn record(&mut self, latency_ns: u64) {
        self.add(Self::bucket(latency_ns / 1000), 1);
        self.count += 1;
        self.sum_ns = self.sum_ns.saturating_add(latency_ns);
        self.max_ns = self.max_ns.max(latency_ns);
    }

    fn add(&mut self, bucket: usize, count: u64) {
        if self.buckets.is_empty() {
            self.buckets = vec![0; Self::BUCKETS];
        }
        if let Some(present) = self.buckets.get_mut(bucket) {
            *present += count;
        }
    }

    /// Adds the latencies of another histogram.
    pub fn merge(&mut self, other: &Self) {
        for (bucket, count) in other.buckets.iter().enumerate().filter(|(_, count)| **count > 0) {
            self.add(bucket, *count);
        }
        self.count += other.count;
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// Latencies recorded since an earlier state of the histogram. The longest of them is not known:
    /// `max_ns` is the longest of all.
    pub fn since(&self, earlier: &Self) -> Self {
        let mut since = Self { max_ns: self.max_ns, ..Self::default() };
        for (bucket, count) in self.buckets.iter().enumerate() {
            let new = count.saturating_sub(earlier.buckets.get(bucket).copied().unwrap_or(0));
            if new > 0 {
                since.add(bucket, new);
            }
        }
        since.count = self.count.saturating_sub(earlier.count);
        since.sum_ns = self.sum_ns.saturating_sub(earlier.sum_ns);
        since
    }

    /// Octaves with an upper bound, ascending: the bound in microseconds, exclusive, and the count
    /// of latencies below it and not below the bound before.
    pub fn bounded(&self) -> impl Iterator<Item = (u64, u64)> {
        (0..=OCTAVES).map(|octave| {
            let start = if octave == 0 { 0 } else { Self::bucket(1 << (octave - 1)) };
            let buckets = self.buckets.get(start..Self::bucket(1 << octave)).unwrap_or_default();
            (1 << octave, buckets.iter().sum())
        })
    }

    /// Number of latencies above the last bound.
    pub fn above(&self) -> u64 {
        self.buckets.get(Self::BUCKETS - 1).copied().unwrap_or(0)
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

    /// Latency in microseconds at `per_mille` thousandths, as if the latencies of a bucket had equal
    /// distances; at most the longest one, and 0 if there are none.
    pub fn quantile_us(&self, per_mille: u64) -> u64 {
        let total: u64 = self.buckets.iter().sum();
        let rank = (u128::from(total) * u128::from(per_mille)).div_ceil(1000).max(1);
        let mut before = 0_u128;
        for (bucket, count) in self.buckets.iter().enumerate() {
            let count = u128::from(*count);
            if before + count < rank {
                before += count;
                continue;
            }
            let (start, end) = (Self::start_us(bucket), Self::start_us(bucket + 1));
            let within = u128::from(end - start) * (rank - before) / count.max(1);
            return start.saturating_add(u64::try_from(within).unwrap_or(u64::MAX)).min(self.longest_us());
        }
        0
    }

    /// Longest latency in microseconds, rounded up.
    fn longest_us(&self) -> u64 {
        self.max_ns.div_ceil(1000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(latencies_us: &[u64]) -> LatencyHistogram {
        let mut histogram = LatencyHistogram::default();
        latencies_us.iter().for_each(|us| histogram.record(us * 1000));
        histogram
    }

    #[test]
    fn buckets_join_without_gaps() {
        for bucket in 0..LatencyHistogram::BUCKETS {
            let start = LatencyHistogram::start_us(bucket);
            assert_eq!(LatencyHistogram::bucket(start), bucket);
            assert_eq!(LatencyHistogram::bucket(start.saturating_sub(1)), bucket.saturating_sub(1));
        }
        assert_eq!(LatencyHistogram::start_us(LatencyHistogram::BUCKETS - 1), 1 << OCTAVES);
        assert_eq!([10, 11, 12, 15, 16].map(LatencyHistogram::bucket), [9, 9, 10, 11, 12]);
    }

    #[test]
    fn octaves_count_latencies_below_their_bound() {
        let mut histogram = LatencyHistogram::default();
        for ns in [0, 999, 1_000, 1_999, 2_000, 1_000_000, u64::MAX] {
            histogram.record(ns);
        }
        let given: Vec<(u64, u64)> = histogram.bounded().filter(|(_, count)| *count > 0).collect();
        assert_eq!(given, [(1, 2), (2, 2), (4, 1), (1024, 1)]);
        assert_eq!((histogram.bounded().count(), histogram.bounded().last()), (27, Some((1 << 26, 0))));
        assert_eq!((histogram.above(), histogram.max_ns), (1, u64::MAX));
        assert_eq!(LatencyHistogram::default().bounded().count(), 27);
    }

    #[test]
    fn a_merged_histogram_has_the_latencies_of_both_and_since_takes_them_away() {
        let (one, other, both) = (of(&[0, 9]), of(&[3, 4000]), of(&[0, 3, 9, 4000]));
        let mut merged = one.clone();
        merged.merge(&other);
        assert_eq!((&merged, merged.max_us()), (&both, 4_000));
        assert_eq!(merged.since(&one), other);
        assert_eq!(merged.since(&merged).count, 0);
        assert_eq!(merged.since(&LatencyHistogram::default()), merged);
    }

    #[test]
    fn quantiles_are_within_a_sixteenth_on_smooth_latencies() {
        for step in [1, 7, 100, 3_000] {
            let latencies: Vec<u64> = (1..=1000).map(|at| at * step).collect();
            let histogram = of(&latencies);
            for per_mille in [100, 500, 900, 990] {
                let (exact, found) = (per_mille * step, histogram.quantile_us(per_mille));
                assert!(found.abs_diff(exact) <= exact / 16 + 1, "{per_mille} by {step}: {found}, not {exact}");
            }
            assert_eq!(histogram.quantile_us(1000), 1000 * step);
        }
    }

    #[test]
    fn quantiles_of_few_latencies_are_not_above_the_longest() {
        let latencies = [vec![7; 50], vec![100; 49], vec![1000]].concat();
        let histogram = of(&latencies);
        assert_eq!([500, 990, 1000].map(|per_mille| histogram.quantile_us(per_mille)), [8, 112, 1000]);
        assert_eq!(histogram.average_us(), 62);
        assert_eq!(of(&[5]).quantile_us(500), 5);
        let mut long = LatencyHistogram::default();
        long.record(u64::MAX);
        assert!(long.quantile_us(500) >= 1 << 26);
        let none = LatencyHistogram::default();
        assert_eq!((none.quantile_us(990), none.average_us()), (0, 0));
    }
}
