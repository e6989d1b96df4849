//! Families of metrics, as the encoder takes them.

use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use std::fmt;
use unit::LatencyHistogram;

/// Smallest bound of an exported latency bucket, in microseconds; faster commands are in that
/// bucket too.
const MIN_BOUND_US: u64 = 16;
/// Largest bound, about 8 s. Both limit the number of series of a histogram.
const MAX_BOUND_US: u64 = 1 << 23;

/// Label names and values.
pub(super) type Labels<'a> = Vec<(&'static str, &'a str)>;

/// A row without labels.
pub(super) fn row<T>(value: T) -> Vec<(Labels<'static>, T)> {
    vec![(Labels::new(), value)]
}

/// Encodes a family of gauges.
pub(super) fn gauge(
    encoder: &mut DescriptorEncoder,
    name: &str,
    help: &str,
    rows: Vec<(Labels<'_>, u64)>,
) -> fmt::Result {
    family(encoder, name, help, MetricType::Gauge, rows, |mut row, value| row.encode_gauge(&value))
}

/// Encodes a family of gauges in seconds, given in microseconds.
pub(super) fn gauge_seconds(
    encoder: &mut DescriptorEncoder,
    name: &str,
    help: &str,
    rows: Vec<(Labels<'_>, u64)>,
) -> fmt::Result {
    family(encoder, name, help, MetricType::Gauge, rows, |mut row, us| row.encode_gauge(&seconds(us)))
}

/// Encodes a family of counters; the encoder adds `_total`.
pub(super) fn counter(
    encoder: &mut DescriptorEncoder,
    name: &str,
    help: &str,
    rows: Vec<(Labels<'_>, u64)>,
) -> fmt::Result {
    family(encoder, name, help, MetricType::Counter, rows, |mut row, value| {
        row.encode_counter::<NoLabelSet, _, u64>(&value, None)
    })
}

/// Encodes a family of counters in seconds; the encoder adds `_total`.
pub(super) fn counter_seconds(
    encoder: &mut DescriptorEncoder,
    name: &str,
    help: &str,
    rows: Vec<(Labels<'_>, f64)>,
) -> fmt::Result {
    family(encoder, name, help, MetricType::Counter, rows, |mut row, value| {
        row.encode_counter::<NoLabelSet, _, u64>(&value, None)
    })
}

/// Encodes a family of latency histograms in seconds.
pub(super) fn histogram(
    encoder: &mut DescriptorEncoder,
    name: &str,
    help: &str,
    rows: Vec<(Labels<'_>, &LatencyHistogram)>,
) -> fmt::Result {
    family(encoder, name, help, MetricType::Histogram, rows, |mut row, histogram| {
        let inside = histogram.bounded().filter(|(upper_us, _)| *upper_us <= MAX_BOUND_US);
        let mut buckets: Vec<(f64, u64)> = Vec::new();
        let mut below = 0;
        for (upper_us, count) in inside {
            below += count;
            if upper_us >= MIN_BOUND_US {
                buckets.push((seconds(upper_us), std::mem::take(&mut below)));
            }
        }
        let counted: u64 = buckets.iter().map(|(_, count)| count).sum();
        buckets.push((f64::INFINITY, histogram.count.saturating_sub(counted)));
        row.encode_histogram::<NoLabelSet>(seconds(histogram.sum_us()), histogram.count, &buckets, None)
    })
}

/// Encodes a family; omits one without rows.
fn family<T>(
    encoder: &mut DescriptorEncoder,
    name: &str,
    help: &str,
    metric_type: MetricType,
    rows: Vec<(Labels<'_>, T)>,
    encode: impl Fn(MetricEncoder<'_>, T) -> fmt::Result,
) -> fmt::Result {
    if rows.is_empty() {
        return Ok(());
    }
    let mut family = encoder.encode_descriptor(name, help, None, metric_type)?;
    for (labels, value) in rows {
        encode(family.encode_family(&labels)?, value)?;
    }
    Ok(())
}

/// Microseconds as seconds; exact up to 2^53 µs, which is 285 years.
#[expect(clippy::cast_precision_loss, reason = "a latency sum that large has other problems")]
pub(super) fn seconds(us: u64) -> f64 {
    us as f64 / 1e6
}
