//! Counters of each volume and share.

use crate::error::ControlError;
use crate::facts::Facts;
use crate::live::{OffloadRow, Reservations, UnitFacts, VolumeCounters};
use crate::read::Read;
use crate::shares::ShareRecord;
use crate::volumes::record::VolumeRecord;
use pool::{ObjectId, ObjectInfo};

/// Shows the counters of each volume and share.
#[derive(Clone, Debug)]
pub struct VolumeMetricsShow {
    /// Only those that hosts have used since the array started.
    pub active: bool,
}

/// Counters of volumes and shares, by name.
#[derive(Clone, Debug)]
pub struct VolumeMetricsView {
    /// Name of the pool.
    pub pool: String,
    /// Volumes.
    pub volumes: Vec<VolumeMetrics>,
    /// Shares.
    pub shares: Vec<ShareMetrics>,
}

/// Volume in a scrape.
#[derive(Clone, Debug)]
pub struct VolumeMetrics {
    /// Document.
    pub record: VolumeRecord,
    /// Object.
    pub object: ObjectInfo,
    /// Counters; absent until it is read or written.
    pub counters: Option<VolumeCounters>,
    /// Rows of the primitives that were used.
    pub offload: Vec<OffloadRow>,
    /// Registrations and reservation.
    pub reservations: Reservations,
    /// Delays by the limits of its QoS policy, and charged costs; absent without a policy.
    pub held: Option<qos::Held>,
    /// Bytes that deleting it would free, as last counted.
    pub unique_bytes: Option<u64>,
    /// Bytes that deleting its snapshots would free, as last counted.
    pub snapshot_bytes: Option<u64>,
}

/// Share in a scrape.
#[derive(Clone, Debug)]
pub struct ShareMetrics {
    /// Document.
    pub record: ShareRecord,
    /// Object.
    pub object: ObjectInfo,
    /// Counters; absent until it is read or written.
    pub counters: Option<VolumeCounters>,
    /// Rows of the primitives that were used.
    pub offload: Vec<OffloadRow>,
    /// Bytes that deleting it would free, as last counted.
    pub unique_bytes: Option<u64>,
    /// Bytes that deleting its snapshots would free, as last counted.
    pub snapshot_bytes: Option<u64>,
}

impl VolumeMetricsShow {
    /// Statistics of a volume or share, if it is wanted.
    fn unit(&self, facts: &dyn Facts, object: ObjectId) -> Option<UnitFacts> {
        let unit = facts.unit(object);
        let is_used =
            unit.counters.is_some() || !unit.offload.is_empty() || unit.reservations != Reservations::default();
        (is_used || !self.active).then_some(unit)
    }

    fn volume(&self, facts: &dyn Facts, record: &VolumeRecord) -> Option<VolumeMetrics> {
        let object = facts.object(record.object)?;
        let UnitFacts { counters, offload, reservations, .. } = self.unit(facts, record.object)?;
        let (unique_bytes, snapshot_bytes) = (facts.unique_bytes(&[record.object]), facts.snapshot_bytes(record.id));
        let held = facts.limited_volume(record).map(|limited| limited.held);
        let record = record.clone();
        Some(VolumeMetrics { record, object, counters, offload, reservations, held, unique_bytes, snapshot_bytes })
    }

    fn share(&self, facts: &dyn Facts, record: &ShareRecord) -> Option<ShareMetrics> {
        let object = facts.object(record.object)?;
        let UnitFacts { counters, offload, .. } = self.unit(facts, record.object)?;
        let (unique_bytes, snapshot_bytes) = (facts.unique_bytes(&[record.object]), facts.snapshot_bytes(record.id));
        let record = record.clone();
        Some(ShareMetrics { record, object, counters, offload, unique_bytes, snapshot_bytes })
    }
}

impl Read for VolumeMetricsShow {
    type Reply = VolumeMetricsView;
    const NAME: &'static str = "volume-metrics-show";

    fn counted(&self, facts: &dyn Facts) -> Vec<Vec<ObjectId>> {
        facts.counted_of_pool()
    }

    fn answer(&self, facts: &dyn Facts) -> Result<VolumeMetricsView, ControlError> {
        let directory = facts.directory();
        Ok(VolumeMetricsView {
            pool: facts.pool_name().to_owned(),
            volumes: directory.volumes_by_name().filter_map(|record| self.volume(facts, record)).collect(),
            shares: directory.shares_by_name().filter_map(|record| self.share(facts, record)).collect(),
        })
    }
}
