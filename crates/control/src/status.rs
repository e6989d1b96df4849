//! The array as a whole, its pool, and the counters of a scrape.

use crate::error::without_preamble;
use crate::{
    Control, ControlError, Health, HostMetrics, MetricsView, Noun, PoolState, PoolView, StatusView, VolumeCounters,
    VolumeMetrics,
};
use pool::{Catalog, ObjectId, ObjectKind};
use std::collections::BTreeMap;

/// With less than this free, writes that need space are refused: they are up to this long.
const FULL_BYTES: u64 = 1 << 20;

impl<C: Catalog + 'static> Control<C> {
    pub(crate) fn status(&self) -> StatusView {
        let pool = self.pool();
        let directory = self.directory();
        let uptime = self.environment.now().duration_since(self.started);
        StatusView {
            health: match pool.state {
                PoolState::Healthy => Health::Healthy,
                PoolState::Full => Health::Degraded,
                PoolState::Stopped => Health::Failed,
            },
            array_id: directory.array.id,
            target: directory.target.clone(),
            started: self.started,
            uptime_seconds: u64::try_from(uptime.as_secs()).unwrap_or(0),
            portals: self.live.portals(),
            pool,
            hosts: count(directory.hosts.len()),
            sessions: count(self.live.sessions().len()),
            offload: self.live.offload_statistics(),
        }
    }

    pub(crate) fn pool(&self) -> PoolView {
        let space = self.catalog.space();
        let stopped = self.live.pool_stopped().map(|reason| without_preamble(&reason));
        let state = if stopped.is_some() {
            PoolState::Stopped
        } else if space.free_bytes < FULL_BYTES {
            PoolState::Full
        } else {
            PoolState::Healthy
        };
        let objects = self.catalog.objects();
        let volumes = || objects.iter().filter(|object| object.kind == ObjectKind::Volume);
        PoolView {
            name: self.pool_name.clone(),
            state,
            stopped,
            space,
            provisioned_bytes: volumes().map(|object| object.size_bytes).fold(0, u64::saturating_add),
            mapped_bytes: volumes().map(|object| object.mapped_bytes).fold(0, u64::saturating_add),
            volumes: count(self.directory().volumes.len()),
            snapshots: count(self.directory().snapshots.len()),
        }
    }

    pub(crate) fn pool_show(&self, name: &str) -> Result<PoolView, ControlError> {
        if name == self.pool_name {
            Ok(self.pool())
        } else {
            Err(ControlError::NotFound { noun: Noun::Pool, name: name.to_owned() })
        }
    }

    pub(crate) fn metrics(&self) -> MetricsView {
        let directory = self.directory();
        let mut counters: BTreeMap<ObjectId, VolumeCounters> =
            self.live.volume_counters().into_iter().map(|counters| (counters.volume, counters)).collect();
        let mut volumes: Vec<VolumeMetrics> = directory
            .volumes
            .values()
            .filter_map(|record| {
                let object = self.catalog.object(record.object)?;
                let counters = counters.remove(&record.object);
                Some(VolumeMetrics { record: record.clone(), object, counters })
            })
            .collect();
        volumes.sort_by(|one, other| one.record.name.cmp(&other.record.name));
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
        MetricsView { pool: self.pool(), volumes, hosts, offload }
    }
}

/// A length as a number to show.
fn count(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}
