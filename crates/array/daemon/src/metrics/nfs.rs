//! Metrics of the NFS server; none if NFS is not served.

use super::{Labels, counter, gauge};
use crate::nfs_use::{CLOSED, NfsUse, Version4Use};
use prometheus_client::encoding::DescriptorEncoder;
use std::fmt;

pub(super) fn encode(encoder: &mut DescriptorEncoder, last: Option<NfsUse>) -> fmt::Result {
    last.map_or(Ok(()), |noted| server(encoder, &noted))
}

fn row(value: u64) -> Vec<(Labels<'static>, u64)> {
    vec![(Labels::new(), value)]
}

fn server(encoder: &mut DescriptorEncoder, noted: &NfsUse) -> fmt::Result {
    counter(encoder, "nfs_calls", "Calls of NFS, MOUNT and portmap", row(noted.calls))?;
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
