//! Metrics of the whole array.

use super::family::{Labels, counter, counter_seconds, gauge, gauge_seconds, histogram, row, seconds};
use super::{io, nfs, offload};
use crate::VERSION;
use control::{MetricsView, PoolState, Primitive};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use reactor::measurements::Measurements;
use reactor::measurements::load::MAX_THREADS;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Counters of the whole array.
#[derive(Debug)]
pub(super) struct Array {
    /// State of the array.
    pub view: MetricsView,
    /// What the reactor measures of itself.
    pub measurements: Arc<Measurements>,
    /// Tries of channels that failed, by name.
    pub notification_failures: Vec<(String, u64)>,
}

impl Collector for Array {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        self.info(&mut encoder)?;
        self.pool(&mut encoder)?;
        self.io(&mut encoder)?;
        self.offload(&mut encoder)?;
        self.limits(&mut encoder)?;
        self.sessions(&mut encoder)?;
        log(&mut encoder)?;
        reactor(&mut encoder, &self.measurements)?;
        data_cache(&mut encoder, self.measurements.data_cache.last())?;
        nfs::encode(&mut encoder, self.measurements.nfs.last())?;
        self.notification(&mut encoder)?;
        self.attention(&mut encoder)
    }
}

impl Array {
    fn info(&self, encoder: &mut DescriptorEncoder) -> fmt::Result {
        let rows = vec![(vec![("version", VERSION)], 1)];
        gauge(encoder, "build_info", "Version of the program, always 1", rows)?;
        let started = u64::try_from(self.view.started.as_second()).unwrap_or(0);
        gauge(encoder, "start_time_seconds", "Time at which the array started", row(started))?;
        let rows = self.view.hosts.iter().map(|host| (vec![("host", host.name.as_str())], 1));
        gauge(encoder, "host_info", "A known host, always 1", rows.collect())
    }

    fn pool(&self, encoder: &mut DescriptorEncoder) -> fmt::Result {
        let pool = &self.view.pool;
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
        let unique = pool.unique_bytes.map(row).unwrap_or_default();
        gauge(encoder, "pool_unique_bytes", "Data that one volume or share alone has", unique)?;
        let snapshots = pool.snapshot_bytes.map(row).unwrap_or_default();
        gauge(encoder, "pool_snapshot_bytes", "Data that deleting all snapshots would free", snapshots)?;
        let shared = pool.shared_bytes.map(row).unwrap_or_default();
        gauge(encoder, "pool_shared_bytes", "Data stored once for several volumes and snapshots", shared)?;
        gauge(encoder, "pool_volumes", "Number of volumes", row(pool.volumes))?;
        gauge(encoder, "pool_shares", "Number of shares", row(pool.shares))?;
        gauge(encoder, "pool_snapshots", "Number of snapshots", row(pool.snapshots))?;
        // A scrub that found bad blocks has ended, and is no success.
        let scrub = pool.examined.scrub.as_ref().filter(|scrub| scrub.bad_blocks == 0 && scrub.damaged.is_empty());
        let finished = scrub.and_then(|scrub| u64::try_from(scrub.finished.as_second()).ok());
        let help = "End of the last scrub, if that found no damage";
        gauge(encoder, "scrub_last_success_timestamp_seconds", help, finished.map(row).unwrap_or_default())?;
        let row = |state: PoolState| {
            (vec![("pool", pool.name.as_str()), ("state", state.name())], u64::from(pool.state == state))
        };
        let rows = PoolState::ALL.into_iter().map(row);
        gauge(encoder, "pool_state", "1 for the state the pool is in", rows.collect())
    }

    fn io(&self, encoder: &mut DescriptorEncoder) -> fmt::Result {
        let totals = [("iscsi", &self.view.totals.volumes), ("nfs", &self.view.totals.shares)];
        let rows = totals.map(|(protocol, of)| {
            (["read", "write"].map(|op| vec![("op", op), ("protocol", protocol)]), &of.io, &of.latency)
        });
        io::families(encoder, "io", &rows)?;
        gauge(encoder, "commands_in_flight", "SCSI commands in flight", row(self.view.totals.volumes.in_flight))
    }

    fn offload(&self, encoder: &mut DescriptorEncoder) -> fmt::Result {
        let totals = &self.view.totals;
        let rows: Vec<offload::Row<'_>> = totals
            .offload
            .iter()
            .map(|(primitive, counters)| (vec![("primitive", primitive.name())], counters))
            .collect();
        offload::counters(encoder, "offload", &rows)?;
        let latencies = rows.into_iter().map(|(labels, of)| (labels, &of.latency)).collect();
        histogram(encoder, "offload_duration_seconds", "From an offload command's arrival to its status", latencies)?;
        let of = |primitive: Primitive| totals.offload.get(&primitive);
        let unmap = of(Primitive::Unmap).map_or((0, 0), |of| (of.deallocated_bytes, of.unaligned_bytes));
        offload::unmap_bytes(encoder, "unmap_bytes", vec![(Labels::new(), unmap)])?;
        let miscompares = of(Primitive::Ats).map_or(0, |of| of.miscompares);
        let rows = vec![(Labels::new(), (miscompares, totals.reservation_conflicts))];
        offload::lock_conflicts(encoder, "lock_conflicts", rows)
    }

    fn limits(&self, encoder: &mut DescriptorEncoder) -> fmt::Result {
        let held = &self.view.totals.held;
        let help = "Time that commands have waited for limits of QoS policies";
        counter_seconds(encoder, "qos_delay_seconds", help, row(held.time.as_secs_f64()))?;
        let help = "Commands that have waited for limits of QoS policies";
        counter(encoder, "qos_delayed_commands", help, row(held.commands))?;
        gauge(encoder, "qos_waiting_commands", "Commands that wait for limits of QoS policies", row(held.waiting))
    }

    fn sessions(&self, encoder: &mut DescriptorEncoder) -> fmt::Result {
        let rows = self.view.hosts.iter().flat_map(|host| {
            let sessions = host.sessions.iter();
            sessions.map(|(portal, count)| (vec![("host", host.name.as_str()), ("portal", portal.as_str())], *count))
        });
        gauge(encoder, "host_sessions", "iSCSI sessions of a host", rows.collect())?;
        let rows = self.view.hosts.iter().map(|host| (vec![("host", host.name.as_str())], host.sessions.len() as u64));
        gauge(encoder, "host_paths", "Portals to which a host has sessions", rows.collect())?;
        let connections = &self.view.connections;
        let by_stage = |session, login| vec![(vec![("stage", "session")], session), (vec![("stage", "login")], login)];
        let rows = by_stage(connections.with_session, connections.without_session);
        gauge(encoder, "connections", "Connections of initiators with a session, and those that log in", rows)?;
        let rows = by_stage(connections.max_sessions, connections.max_without_session);
        gauge(
            encoder,
            "connections_limit",
            "Most connections of initiators with a session, and of those that log in",
            rows,
        )?;
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

    fn notification(&self, encoder: &mut DescriptorEncoder) -> fmt::Result {
        let rows = self.notification_failures.iter();
        let rows = rows.map(|(channel, failures)| (vec![("channel", channel.as_str())], *failures));
        counter(encoder, "notification_failures", "Messages and tests of a channel that failed", rows.collect())
    }

    fn attention(&self, encoder: &mut DescriptorEncoder) -> fmt::Result {
        let rows = self.view.jobs.iter().map(|(kind, running)| (vec![("kind", kind.name())], *running));
        gauge(encoder, "jobs_running", "Jobs that run", rows.collect())?;
        let both = |(code, severity)| [false, true].map(|acknowledged| ((code, severity, acknowledged), 0));
        let mut active: BTreeMap<(&str, &str, bool), u64> = ALERTS.into_iter().flat_map(both).collect();
        for alert in &self.view.alerts {
            let is_acknowledged = alert.note.as_ref().is_some_and(|note| note.acknowledged.is_some());
            *active.entry((alert.code, alert.severity.name(), is_acknowledged)).or_default() += 1;
        }
        let rows = active.into_iter().map(|((code, severity, is_acknowledged), count)| {
            let acknowledged = if is_acknowledged { "true" } else { "false" };
            (vec![("alert", code), ("severity", severity), ("acknowledged", acknowledged)], count)
        });
        gauge(encoder, "alert_active", "Conditions that need attention", rows.collect())
    }
}

fn log(encoder: &mut DescriptorEncoder) -> fmt::Result {
    counter(encoder, "log_lines_dropped", "Log lines that could not be written", row(crate::logging::dropped_lines()))
}

/// Time of the threads that serve hosts; the first is the reactor.
fn reactor(encoder: &mut DescriptorEncoder, measurements: &Measurements) -> fmt::Result {
    let numbers: Vec<String> = (0..usize::from(MAX_THREADS)).map(|number| number.to_string()).collect();
    let threads = numbers.iter().enumerate().filter_map(|(thread, number)| {
        let busy_ns = measurements.loads.processor_ns(thread);
        (busy_ns > 0).then(|| (vec![("thread", number.as_str())], seconds(busy_ns / 1000)))
    });
    counter_seconds(
        encoder,
        "reactor_busy_seconds",
        "Processor time of the threads that serve hosts",
        threads.collect(),
    )?;
    let turns = &measurements.turns;
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
    counter(encoder, "data_cache_hits", "Blocks of 4 KiB that reads found in memory", row(hits))?;
    counter(encoder, "data_cache_misses", "Blocks of 4 KiB that reads had to fetch", row(misses))?;
    counter(encoder, "data_cache_evictions", "Blocks of 4 KiB evicted from the data cache", row(evictions))?;
    gauge(encoder, "data_cache_bytes", "Data in the data cache", row(bytes))?;
    gauge(encoder, "data_cache_limit_bytes", "Memory that maps and counts leave to the data cache", row(limit_bytes))
}

/// All alerts: each is exported, so that an inactive one reads 0.
const ALERTS: [(&str, &str); 34] = [
    ("audit-not-forwarded", "warning"),
    ("audit-not-written", "warning"),
    ("bad-blocks", "critical"),
    ("below-full", "critical"),
    ("certificate-ends", "critical"),
    ("certificate-ends", "warning"),
    ("check-findings", "critical"),
    ("clock-ahead", "warning"),
    ("commands-slow", "warning"),
    ("history-limit", "warning"),
    ("history-not-written", "warning"),
    ("https-not-served", "warning"),
    ("locks-fill-pool", "warning"),
    ("logins-refused", "warning"),
    ("metadata-damaged", "critical"),
    ("notification-failing", "warning"),
    ("open-access", "info"),
    ("path-lost", "warning"),
    ("pool-full", "critical"),
    ("pool-full-soon", "warning"),
    ("pool-stopped", "critical"),
    ("pool-threshold", "critical"),
    ("pool-threshold", "warning"),
    ("portal-unrecorded", "critical"),
    ("qos-slow", "warning"),
    ("sanitize-failed", "critical"),
    ("schedule-failed", "warning"),
    ("schedule-late", "warning"),
    ("scrub-overdue", "warning"),
    ("share-threshold", "critical"),
    ("share-threshold", "warning"),
    ("sign-in-failed", "warning"),
    ("volume-threshold", "critical"),
    ("volume-threshold", "warning"),
];

#[cfg(test)]
mod tests {
    use super::ALERTS;
    use std::collections::BTreeSet;

    /// An alert that is not active is a row with zero: a rule of Prometheus has something to compare with.
    #[test]
    fn every_alert_has_a_row() {
        let rows: BTreeSet<_> = ALERTS.iter().map(|(code, _)| *code).collect();
        let alerts: BTreeSet<_> = explain::Kind::Alert.entries().iter().map(|entry| entry.code).collect();
        assert_eq!(rows, alerts);
    }
}
