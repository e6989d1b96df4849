//! Prometheus metrics in the OpenMetrics text format, built from the array's counters at each
//! scrape.
//!
//! One prefix, base units in the names, counters end in `_total`, states are one series per state
//! with 0 or 1. Labels are volumes, shares, hosts, portals, primitives and reasons, never commands.

mod nfs;

use crate::VERSION;
use control::{IoStatistics, MetricsView, PoolState, Primitive, Reservations, VolumeCounters};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;
use reactor::measurements::Measurements;
use reactor::measurements::turns::Turns;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use unit::{LatencyHistogram, OffloadStatistics, ReasonCounts};

/// Smallest bound of an exported latency bucket, in microseconds; faster commands are in that
/// bucket too.
const MIN_BOUND_US: u64 = 16;
/// Largest bound, about 8 s. Both limit the number of series per volume.
const MAX_BOUND_US: u64 = 1 << 23;

/// Returns the metrics as text.
pub(crate) fn encode(view: MetricsView, measurements: Arc<Measurements>) -> String {
    let mut registry = Registry::with_prefix("windlass");
    registry.register_collector(Box::new(Scrape(view, measurements)));
    let mut text = String::new();
    match text::encode(&mut text, &registry) {
        Ok(()) => text,
        Err(fmt::Error) => String::from("# EOF\n"),
    }
}

#[derive(Debug)]
struct Scrape(MetricsView, Arc<Measurements>);

/// Label names and values.
type Labels<'a> = Vec<(&'static str, &'a str)>;

impl Collector for Scrape {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        self.info(&mut encoder)?;
        self.pool(&mut encoder)?;
        self.volumes(&mut encoder)?;
        self.shares(&mut encoder)?;
        self.io(&mut encoder)?;
        self.offload(&mut encoder)?;
        self.primitives(&mut encoder)?;
        self.sessions(&mut encoder)?;
        self.log(&mut encoder)?;
        reactor(&mut encoder, &self.1.turns)?;
        data_cache(&mut encoder, self.1.data_cache.last())?;
        nfs::encode(&mut encoder, self.1.nfs.last())?;
        self.attention(&mut encoder)
    }
}

impl Scrape {
    fn info(&self, encoder: &mut DescriptorEncoder) -> fmt::Result {
        let rows = vec![(vec![("version", VERSION)], 1)];
        gauge(encoder, "build_info", "Version of the program, always 1", rows)?;
        let pool = self.0.pool.name.as_str();
        let naas: Vec<String> = self.0.volumes.iter().map(|volume| volume.record.naa.to_string()).collect();
        let ids: Vec<String> = self.0.volumes.iter().map(|volume| volume.record.id.to_string()).collect();
        let rows = self.0.volumes.iter().zip(naas.iter().zip(&ids)).map(|(volume, (naa, id))| {
            let name = volume.record.name.as_str();
            (vec![("volume", name), ("id", id.as_str()), ("naa", naa.as_str()), ("pool", pool)], 1)
        });
        gauge(encoder, "volume_info", "Names of a volume, always 1", rows.collect())?;
        let rows = self.0.hosts.iter().map(|host| (vec![("host", host.name.as_str())], 1));
        gauge(encoder, "host_info", "A known host, always 1", rows.collect())
    }

    fn pool(&self, encoder: &mut DescriptorEncoder) -> fmt::Result {
        let pool = &self.0.pool;
        let row = |value| vec![(vec![("pool", pool.name.as_str())], value)];
        gauge(encoder, "pool_size_bytes", "Size of the pool", row(pool.space.size_bytes))?;
        gauge(encoder, "pool_used_bytes", "Space that cannot take new data", row(pool.space.used_bytes))?;
        gauge(encoder, "pool_free_bytes", "Space that new data can use", row(pool.space.free_bytes))?;
        gauge(encoder, "pool_metadata_bytes", "Log, space map and tree pages", row(pool.space.metadata_bytes))?;
        gauge(encoder, "pool_provisioned_bytes", "Sum of the volumes' sizes", row(pool.provisioned_bytes))?;
        gauge(encoder, "pool_promised_bytes", "Kept free for thick volumes", row(pool.space.promised_bytes))?;
        gauge(encoder, "pool_reclaimable_bytes", "On its way to become free", row(pool.space.reclaimable_bytes))?;
        let tokens = pool.token_bytes.map(row).unwrap_or_default();
        gauge(encoder, "pool_token_bytes", "Data that only copy tokens of hosts keep", tokens)?;
        let trash = pool.trash.bytes.map(row).unwrap_or_default();
        gauge(encoder, "pool_trash_bytes", "Data that only the trash keeps", trash)?;
        let shared = pool.shared_bytes.map(row).unwrap_or_default();
        gauge(encoder, "pool_shared_bytes", "Data stored once for several volumes and snapshots", shared)?;
        gauge(encoder, "pool_snapshots", "Number of snapshots", row(pool.snapshots))?;
        let row = |state: PoolState| {
            (vec![("pool", pool.name.as_str()), ("state", state.name())], u64::from(pool.state == state))
        };
        let rows = PoolState::ALL.into_iter().map(row);
        gauge(encoder, "pool_state", "1 for the state the pool is in", rows.collect())
    }

    fn volumes(&self, encoder: &mut DescriptorEncoder) -> fmt::Result {
        let rows = |value: fn(&control::VolumeMetrics) -> u64| -> Vec<(Labels<'_>, u64)> {
            let row = |volume| (label(volume), value(volume));
            self.0.volumes.iter().map(row).collect()
        };
        let size = rows(|volume| volume.object.size_bytes);
        gauge(encoder, "volume_provisioned_bytes", "Size that hosts see", size)?;
        let mapped = rows(|volume| volume.object.mapped_bytes);
        gauge(encoder, "volume_mapped_bytes", "Bytes written and not unmapped", mapped)?;
        let counted = |value: fn(&control::VolumeMetrics) -> Option<u64>| -> Vec<(Labels<'_>, u64)> {
            self.0.volumes.iter().filter_map(|volume| Some((label(volume), value(volume)?))).collect()
        };
        let unique = counted(|volume| volume.unique_bytes);
        gauge(encoder, "volume_unique_bytes", "Bytes that deleting the volume would free", unique)?;
        let snapshots = counted(|volume| volume.snapshot_bytes);
        gauge(encoder, "volume_snapshot_bytes", "Bytes that deleting the volume's snapshots would free", snapshots)?;
        let promised = rows(|volume| volume.object.promised_bytes);
        gauge(encoder, "volume_promised_bytes", "Bytes kept free for the volume", promised)?;
        let cache = rows(|volume| u64::from(volume.object.write_cache));
        gauge(encoder, "volume_write_cache", "1 when the write cache is on", cache)?;
        let registrations = rows(|volume| volume.reservations.registrations.len() as u64);
        gauge(encoder, "volume_registrations", "Initiator ports registered by PERSISTENT RESERVE OUT", registrations)?;
        let reserved = rows(|volume| {
            let Reservations { reservation_type, reserved_by, .. } = &volume.reservations;
            u64::from(reservation_type.is_some() || reserved_by.is_some())
        });
        gauge(encoder, "volume_reserved", "1 when an initiator holds a reservation of the volume", reserved)
    }

    fn shares(&self, encoder: &mut DescriptorEncoder) -> fmt::Result {
        let rows = |value: fn(&control::ShareMetrics) -> Option<u64>| -> Vec<(Labels<'_>, u64)> {
            let row = |share| Some((of_share(share), value(share)?));
            self.0.shares.iter().filter_map(row).collect()
        };
        let used = rows(|share| Some(share.object.mapped_bytes));
        gauge(encoder, "share_used_bytes", "Bytes of stored files and their metadata", used)?;
        let unique = rows(|share| share.unique_bytes);
        gauge(encoder, "share_unique_bytes", "Bytes that deleting the share would free", unique)?;
        let snapshots = rows(|share| share.snapshot_bytes);
        gauge(encoder, "share_snapshot_bytes", "Bytes that deleting the share's snapshots would free", snapshots)?;
        let promised = rows(|share| Some(share.object.promised_bytes));
        gauge(encoder, "share_promised_bytes", "Bytes kept free for the share", promised)
    }

    /// Counters of volumes that were used, then of shares, with their labels.
    fn used(&self) -> impl Iterator<Item = (Labels<'_>, &'static str, &VolumeCounters)> {
        let volumes = self.0.volumes.iter().filter_map(|of| Some((label(of), "iscsi", of.counters.as_ref()?)));
        volumes.chain(self.0.shares.iter().filter_map(|of| Some((of_share(of), "nfs", of.counters.as_ref()?))))
    }

    fn io(&self, encoder: &mut DescriptorEncoder) -> fmt::Result {
        let rows = |value: fn(&IoStatistics) -> [u64; 2]| {
            let mut rows = Vec::new();
            for (labels, protocol, counters) in self.used() {
                for (op, number) in ["read", "write"].into_iter().zip(value(&counters.io)) {
                    rows.push((with_op(&labels, op, Some(protocol)), number));
                }
            }
            rows
        };
        counter(encoder, "io_operations", "Read and write commands", rows(|io| [io.reads, io.writes]))?;
        counter(encoder, "io_bytes", "Bytes read and written", rows(|io| [io.read_bytes, io.written_bytes]))?;
        let mut rows = Vec::new();
        for (labels, _, VolumeCounters { latency, .. }) in self.used() {
            rows.push((with_op(&labels, "read", None), &latency.read));
            rows.push((with_op(&labels, "write", None), &latency.write));
        }
        histogram(encoder, "io_duration_seconds", "From a command's arrival to its status", rows)?;
        let volumes = self.0.volumes.iter();
        let rows = volumes.filter_map(|volume| Some((label(volume), volume.counters.as_ref()?.queue_depth)));
        gauge(encoder, "queue_depth", "Commands in flight", rows.collect())
    }

    fn offload(&self, encoder: &mut DescriptorEncoder) -> fmt::Result {
        let labels = |view: &'_ control::OffloadView| -> Vec<(&'static str, String)> {
            let kind = if view.row.primitive.is_of_volumes() { "volume" } else { "share" };
            vec![(kind, view.volume.clone()), ("primitive", view.row.primitive.name().to_owned())]
        };
        // The series of a deleted volume or share end with it; another one may have its name by now.
        let present = self.0.offload.iter().filter(|view| !view.deleted);
        let owned: Vec<_> = present.map(|view| (labels(view), &view.row.counters)).collect();
        let mut rows = Vec::new();
        for (labels, row) in &owned {
            let outcomes =
                [("ok", row.ok), ("refused", row.refused), ("error", row.errors), ("miscompare", row.miscompares)];
            for (outcome, count) in outcomes {
                let mut labels = labels.clone();
                labels.push(("outcome", outcome.to_owned()));
                rows.push((labels, count));
            }
        }
        counter(encoder, "offload_commands", "Offload commands by outcome", rows)?;
        let by_reason = |counts: fn(&OffloadStatistics) -> &ReasonCounts| {
            let mut rows = Vec::new();
            for (labels, row) in &owned {
                for (reason, count) in counts(row).most_frequent() {
                    let mut labels = labels.clone();
                    labels.push(("reason", reason.code().to_owned()));
                    rows.push((labels, count));
                }
            }
            rows
        };
        let rows = by_reason(|row| &row.refusals);
        counter(encoder, "offload_refusals", "Refused offload commands by reason", rows)?;
        let rows = by_reason(|row| &row.failures);
        counter(encoder, "offload_failures", "Offload commands that failed inside the array, by reason", rows)?;
        let rows = by_reason(|row| &row.ineffective);
        counter(encoder, "offload_ineffective", "Offload commands that were done without benefit, by reason", rows)?;
        let rows = owned.iter().map(|(labels, row)| (labels.clone(), row.bytes));
        counter(encoder, "offload_bytes", "Bytes that offload commands were about", rows.collect())?;
        let rows = owned.iter().map(|(labels, row)| (labels.clone(), row.host_bytes_avoided));
        counter(encoder, "offload_host_bytes_avoided", "Bytes that hosts did not have to move", rows.collect())?;
        let rows = owned.iter().map(|(labels, row)| (labels.clone(), &row.latency));
        histogram(
            encoder,
            "offload_duration_seconds",
            "From an offload command's arrival to its status",
            rows.collect(),
        )
    }

    /// Bytes of UNMAP, and lost races for a lock.
    fn primitives(&self, encoder: &mut DescriptorEncoder) -> fmt::Result {
        let present = || self.0.offload.iter().filter(|view| !view.deleted);
        let of = |primitive: Primitive| present().filter(move |view| view.row.primitive == primitive);
        let unmap = of(Primitive::Unmap).flat_map(|view| {
            let row = &view.row.counters;
            [("deallocated", row.deallocated_bytes), ("unaligned", row.unaligned_bytes)]
                .map(|(outcome, bytes)| (vec![("volume", view.volume.as_str()), ("outcome", outcome)], bytes))
        });
        counter(encoder, "unmap_bytes", "Bytes unmapped in whole mapping units, and at the edges", unmap.collect())?;
        let races = of(Primitive::Ats)
            .map(|view| (vec![("volume", view.volume.as_str()), ("kind", "ats")], view.row.counters.miscompares));
        let reserved = self.0.volumes.iter().map(|volume| {
            (vec![("volume", volume.record.name.as_str()), ("kind", "reservation")], volume.reservations.conflicts)
        });
        counter(encoder, "lock_conflicts", "Lost races for a lock", races.chain(reserved).collect())
    }

    fn sessions(&self, encoder: &mut DescriptorEncoder) -> fmt::Result {
        let rows = self.0.hosts.iter().flat_map(|host| {
            let row = |(portal, count): &'_ (String, u64)| {
                (vec![("host", host.name.clone()), ("portal", portal.clone())], *count)
            };
            host.sessions.iter().map(row).collect::<Vec<_>>()
        });
        gauge(encoder, "host_sessions", "iSCSI sessions of a host", rows.collect())?;
        let connections = &self.0.connections;
        let by_session = |yes, no| vec![(vec![("session", "yes")], yes), (vec![("session", "no")], no)];
        let rows = by_session(connections.with_session, connections.without_session);
        gauge(encoder, "connections", "Connections of initiators, with a session and without", rows)?;
        let rows = by_session(connections.max_sessions, connections.max_without_session);
        gauge(encoder, "connections_limit", "Most connections of initiators, with a session and without", rows)?;
        let rows = [
            ("displaced", connections.displaced),
            ("login-failed", connections.logins_failed),
            ("login-timeout", connections.login_timeouts),
            ("protocol-error", connections.protocol_errors),
            ("sessions-full", connections.sessions_full),
        ];
        let rows = rows.map(|(reason, count)| (vec![("reason", reason)], count)).to_vec();
        counter(encoder, "connections_closed", "Connections that the array ended, by reason", rows)
    }

    fn log(&self, encoder: &mut DescriptorEncoder) -> fmt::Result {
        let rows: Vec<(Labels<'_>, u64)> = vec![(Vec::new(), crate::logging::dropped_lines())];
        counter(encoder, "log_lines_dropped", "Log lines that could not be written", rows)
    }
}

impl Scrape {
    /// Jobs and alerts.
    fn attention(&self, encoder: &mut DescriptorEncoder) -> fmt::Result {
        let rows = self.0.jobs.iter().map(|(kind, running)| (vec![("kind", kind.name())], *running));
        gauge(encoder, "job_running", "Jobs that run", rows.collect())?;
        let mut active: BTreeMap<(&str, &str), u64> = ALERTS.into_iter().map(|alert| (alert, 0)).collect();
        for alert in &self.0.alerts {
            *active.entry((alert.code, alert.severity.name())).or_default() += 1;
        }
        let rows =
            active.into_iter().map(|((code, severity), count)| (vec![("alert", code), ("severity", severity)], count));
        gauge(encoder, "alert_active", "Conditions that need attention", rows.collect())
    }
}

/// Longest turns of the reactor.
fn reactor(encoder: &mut DescriptorEncoder, turns: &Turns) -> fmt::Result {
    let rows = |turns: Vec<(&'static str, u64)>| {
        turns.into_iter().map(|(cause, us)| (vec![("cause", cause)], us)).collect::<Vec<_>>()
    };
    let longest = rows(turns.since_start());
    gauge_seconds(encoder, "reactor_longest_turn_seconds", "Longest time without serving hosts", longest)?;
    let recent = rows(turns.take_since_scrape());
    gauge_seconds(encoder, "reactor_recent_longest_turn_seconds", "The same since the last scrape", recent)
}

/// Cache of data blocks. Its hit ratio is hits ÷ (hits + misses).
fn data_cache(encoder: &mut DescriptorEncoder, last: pool::DataCache) -> fmt::Result {
    let pool::DataCache { hits, misses, evictions, bytes, limit_bytes } = last;
    let row = |value| vec![(Labels::new(), value)];
    counter(encoder, "data_cache_hits", "Blocks of 4 KiB that reads found in memory", row(hits))?;
    counter(encoder, "data_cache_misses", "Blocks of 4 KiB that reads had to fetch", row(misses))?;
    counter(encoder, "data_cache_evictions", "Blocks of 4 KiB evicted from the data cache", row(evictions))?;
    gauge(encoder, "data_cache_bytes", "Data in the data cache", row(bytes))?;
    gauge(encoder, "data_cache_limit_bytes", "Memory that maps and counts leave to the data cache", row(limit_bytes))
}

/// All alerts: each is exported, so that an inactive one reads 0.
const ALERTS: [(&str, &str); 18] = [
    ("bad-blocks", "critical"),
    ("below-full", "critical"),
    ("check-findings", "critical"),
    ("clock-ahead", "warning"),
    ("https-not-served", "warning"),
    ("metadata-damaged", "critical"),
    ("pool-full", "critical"),
    ("pool-stopped", "critical"),
    ("pool-threshold", "critical"),
    ("pool-threshold", "warning"),
    ("portal-unrecorded", "critical"),
    ("sanitize-failed", "critical"),
    ("schedule-failed", "warning"),
    ("schedule-late", "warning"),
    ("share-threshold", "critical"),
    ("share-threshold", "warning"),
    ("volume-threshold", "critical"),
    ("volume-threshold", "warning"),
];

fn label(volume: &control::VolumeMetrics) -> Labels<'_> {
    vec![("volume", volume.record.name.as_str())]
}

/// Labels of one direction, and of a protocol if it counts.
fn with_op<'a>(labels: &Labels<'a>, op: &'a str, protocol: Option<&'a str>) -> Labels<'a> {
    let mut labels = labels.clone();
    labels.push(("op", op));
    labels.extend(protocol.map(|protocol| ("protocol", protocol)));
    labels
}

fn of_share(share: &control::ShareMetrics) -> Labels<'_> {
    vec![("share", share.record.name.as_str())]
}

/// Encodes a family of gauges.
fn gauge<V: LabelValue>(
    encoder: &mut DescriptorEncoder,
    name: &str,
    help: &str,
    rows: Vec<(Vec<(&'static str, V)>, u64)>,
) -> fmt::Result {
    family(encoder, name, help, MetricType::Gauge, rows, |mut row, value| row.encode_gauge(&value))
}

/// Encodes a family of gauges in seconds, given in microseconds.
fn gauge_seconds<V: LabelValue>(
    encoder: &mut DescriptorEncoder,
    name: &str,
    help: &str,
    rows: Vec<(Vec<(&'static str, V)>, u64)>,
) -> fmt::Result {
    family(encoder, name, help, MetricType::Gauge, rows, |mut row, us| row.encode_gauge(&seconds(us)))
}

/// Encodes a family of counters; the encoder adds `_total`.
fn counter<V: LabelValue>(
    encoder: &mut DescriptorEncoder,
    name: &str,
    help: &str,
    rows: Vec<(Vec<(&'static str, V)>, u64)>,
) -> fmt::Result {
    family(encoder, name, help, MetricType::Counter, rows, |mut row, value| {
        row.encode_counter::<NoLabelSet, _, u64>(&value, None)
    })
}

/// Encodes a family of latency histograms in seconds.
fn histogram<V: LabelValue>(
    encoder: &mut DescriptorEncoder,
    name: &str,
    help: &str,
    rows: Vec<(Vec<(&'static str, V)>, &LatencyHistogram)>,
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
fn family<V: LabelValue, T>(
    encoder: &mut DescriptorEncoder,
    name: &str,
    help: &str,
    metric_type: MetricType,
    rows: Vec<(Vec<(&'static str, V)>, T)>,
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

/// Text of a label's value.
trait LabelValue: prometheus_client::encoding::EncodeLabelValue {}
impl LabelValue for &str {}
impl LabelValue for String {}

/// Microseconds as seconds; exact up to 2^53 µs, which is 285 years.
#[expect(clippy::cast_precision_loss, reason = "a latency sum that large has other problems")]
fn seconds(us: u64) -> f64 {
    us as f64 / 1e6
}
