//! The array as a whole, its pool, and the counters of a scrape.

use crate::events::Severity;
use crate::pools::count;
use crate::{
    Control, Health, HostMetrics, JobState, MetricsView, PoolState, StatusView, VolumeCounters, VolumeMetrics,
    VolumeRecord,
};
use pool::ObjectId;
use std::collections::BTreeMap;
use std::time::Duration;

/// How long a scrape waits for counts of bytes.
const SCRAPE_PATIENCE: Duration = Duration::from_millis(200);

impl Control {
    pub(crate) fn status(&self) -> StatusView {
        let pool = self.pool();
        let alerts = self.alerts();
        let jobs = self.job_list().into_iter().filter(|job| job.state == JobState::Running).collect();
        let directory = self.directory();
        let uptime = self.environment.now().duration_since(self.started);
        StatusView {
            health: match pool.state {
                PoolState::Stopped => Health::Failed,
                PoolState::Full | PoolState::Damaged => Health::Degraded,
                PoolState::Healthy if alerts.iter().any(|alert| alert.severity == Severity::Critical) => {
                    Health::Degraded
                }
                PoolState::Healthy => Health::Healthy,
            },
            array_id: directory.array.id,
            target: directory.target.clone(),
            started: self.started,
            uptime_seconds: u64::try_from(uptime.as_secs()).unwrap_or(0),
            portals: self.portal_list(),
            pool,
            hosts: count(directory.hosts.len()),
            sessions: count(self.live.sessions().len()),
            offload: self.live.offload_statistics(),
            alerts,
            jobs,
        }
    }

    pub(crate) async fn metrics(&self) -> MetricsView {
        let mut patience = self.patience_of(SCRAPE_PATIENCE);
        let pool = self.counted_pool(&mut patience).await;
        let records: Vec<VolumeRecord> = self.directory().volumes.values().cloned().collect();
        let mut volumes = Vec::with_capacity(records.len());
        for record in records {
            let Some((object, unique_bytes)) = self.space_of(record.object, &mut patience).await else { continue };
            let snapshot_bytes = self.snapshot_bytes(record.id, &mut patience).await;
            let reservations = self.live.reservations(record.object);
            volumes.push(VolumeMetrics { record, object, counters: None, reservations, unique_bytes, snapshot_bytes });
        }
        let mut counters: BTreeMap<ObjectId, VolumeCounters> =
            self.live.volume_counters().into_iter().map(|counters| (counters.volume, counters)).collect();
        for volume in &mut volumes {
            volume.counters = counters.remove(&volume.record.object);
        }
        volumes.sort_by(|one, other| one.record.name.cmp(&other.record.name));
        let directory = self.directory();
        let sessions = self.live.sessions();
        let mut hosts: Vec<HostMetrics> = directory
            .hosts
            .values()
            .map(|host| {
                let mut portals: BTreeMap<String, u64> = BTreeMap::new();
                for session in &sessions {
                    if host.iqns.contains(&session.initiator.to_ascii_lowercase()) {
                        *portals.entry(session.portal.to_string()).or_default() += 1;
                    }
                }
                HostMetrics { name: host.name.clone(), sessions: portals.into_iter().collect() }
            })
            .collect();
        hosts.sort_by(|one, other| one.name.cmp(&other.name));
        let offload = self.offload_statistics(None).unwrap_or_default();
        let (jobs, alerts) = (self.jobs.running(), self.alerts());
        let connections = self.live.connections();
        MetricsView { pool, volumes, hosts, offload, connections, jobs, alerts }
    }
}
