//! Metrics of the NFS server; none if NFS is not served.

use super::family::{counter, gauge, histogram, row};
use prometheus_client::encoding::DescriptorEncoder;
use reactor::measurements::nfs_use::{CLOSED, NfsUse, Version4Use};
use std::fmt;

pub(super) fn encode(encoder: &mut DescriptorEncoder, noted: Option<NfsUse>) -> fmt::Result {
    noted.map_or(Ok(()), |noted| server(encoder, &noted))
}

fn server(encoder: &mut DescriptorEncoder, noted: &NfsUse) -> fmt::Result {
    counter(encoder, "nfs_calls", "Calls of NFS, MOUNT and portmap", row(noted.calls))?;
    let versions = ["3", "4"].into_iter().zip(&noted.operations);
    let rows = versions.flat_map(|(version, operations)| {
        operations.iter().flat_map(move |count| {
            let outcomes = [("ok", count.succeeded), ("error", count.failed)];
            outcomes
                .map(|(outcome, number)| (vec![("version", version), ("op", count.name), ("outcome", outcome)], number))
        })
    });
    counter(encoder, "nfs_operations", "Procedures of NFSv3 and operations of NFSv4", rows.collect())?;
    let versions = ["3", "4"].into_iter().zip(&noted.operations);
    let rows = versions.flat_map(|(version, operations)| {
        operations.iter().map(move |count| (vec![("version", version), ("op", count.name)], &count.durations))
    });
    let rows = rows.filter(|(_, durations)| durations.count > 0).collect();
    histogram(encoder, "nfs_operation_duration_seconds", "Execution of a procedure or operation", rows)?;
    let directions = [("in", noted.received_bytes), ("out", noted.sent_bytes)];
    let rows = directions.map(|(direction, bytes)| (vec![("direction", direction)], bytes));
    counter(encoder, "nfs_bytes", "Bytes of calls (in) and replies (out)", rows.into())?;
    gauge(encoder, "nfs_connections", "Open connections to the NFS server", row(noted.connections))?;
    let rows = CLOSED.into_iter().zip(noted.closed).map(|(reason, count)| (vec![("reason", reason)], count));
    counter(encoder, "nfs_connections_closed", "Connections that the NFS server closed", rows.collect())?;
    let replies = [("v3", noted.kept_reply_bytes)].into_iter();
    let replies = replies.chain(noted.version_4.map(|state| ("slot", state.kept_reply_bytes)));
    let rows = replies.map(|(kind, bytes)| (vec![("kind", kind)], bytes));
    gauge(encoder, "nfs_kept_reply_bytes", "Replies kept for repeated calls", rows.collect())?;
    let repeated = vec![(vec![("kind", "v3")], noted.repeated)];
    counter(encoder, "nfs_replays", "Repeated calls that got a kept reply", repeated)?;
    counter(encoder, "nfs_replies_evicted", "Kept replies of NFSv3 evicted for want of memory", row(noted.evicted))?;
    noted.version_4.map_or(Ok(()), |state| version_4(encoder, &state))
}

fn version_4(encoder: &mut DescriptorEncoder, state: &Version4Use) -> fmt::Result {
    gauge(encoder, "nfs_clients", "Clients of NFSv4", row(state.clients))?;
    gauge(encoder, "nfs_sessions", "Sessions of NFSv4", row(state.sessions))?;
    gauge(encoder, "nfs_slots", "Slots of all sessions", row(state.slots))?;
    gauge(encoder, "nfs_opens", "Open files of NFSv4 clients", row(state.opens))?;
    gauge(encoder, "nfs_locks", "Locked ranges", row(state.locks))?;
    gauge(encoder, "nfs_grace_seconds", "Rest of the grace period, 0 when it is over", row(state.grace_seconds))?;
    gauge(encoder, "nfs_reclaiming_clients", "Clients for which the grace period lasts", row(state.reclaiming))
}

#[cfg(test)]
mod tests {
    use super::*;
    use nfs_server::OperationCount;
    use prometheus_client::collector::Collector;
    use prometheus_client::encoding::text;
    use prometheus_client::registry::Registry;
    use unit::LatencyHistogram;

    #[derive(Debug)]
    struct Noted(NfsUse);

    impl Collector for Noted {
        fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
            server(&mut encoder, &self.0)
        }
    }

    fn encoded(noted: NfsUse) -> String {
        let mut registry = Registry::with_prefix("windlass");
        registry.register_collector(Box::new(Noted(noted)));
        let mut text = String::new();
        text::encode(&mut text, &registry).map_or_else(|error| error.to_string(), |()| text)
    }

    #[test]
    fn operations_and_state_are_exported() {
        let mut durations = LatencyHistogram::default();
        [20_000, 900_000].into_iter().for_each(|ns| durations.record(ns));
        let read = OperationCount { name: "READ", succeeded: 3, failed: 1, durations };
        let state = Version4Use { clients: 2, grace_seconds: 7, ..Version4Use::default() };
        let text = encoded(NfsUse {
            operations: [Vec::new(), vec![read]],
            closed: [0, 0, 5, 0],
            version_4: Some(state),
            ..NfsUse::default()
        });
        for line in [
            r#"windlass_nfs_operations_total{version="4",op="READ",outcome="ok"} 3"#,
            r#"windlass_nfs_operations_total{version="4",op="READ",outcome="error"} 1"#,
            r#"windlass_nfs_operation_duration_seconds_count{version="4",op="READ"} 2"#,
            r#"windlass_nfs_operation_duration_seconds_bucket{le="0.000032",version="4",op="READ"} 1"#,
            r#"windlass_nfs_connections_closed_total{reason="malformed"} 5"#,
            "windlass_nfs_clients{} 2",
            "windlass_nfs_grace_seconds{} 7",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
        }
    }

    #[test]
    fn without_version_4_there_is_no_state_of_its_clients() {
        let text = encoded(NfsUse::default());
        assert!(text.contains("windlass_nfs_calls_total{} 0") && !text.contains("windlass_nfs_clients"), "{text}");
    }
}
