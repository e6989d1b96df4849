//! List of volumes.

use super::{Reserve, VolumeView};
use crate::access::grantee::Grantee;
use crate::access::record::To;
use crate::error::ControlError;
use crate::facts::Facts;
use crate::page::{Column, Listed, column, counted_column};
use crate::pools::count;
use crate::read::Read;
use crate::samples::ring::Recent;
use crate::volumes::record::{SourceRecord, VolumeRecord};
use pool::{ObjectId, ObjectInfo};
use std::collections::BTreeSet;
use uuid::Uuid;

/// Lists volumes by name: those that match every field that is set.
#[derive(Clone, Debug, Default)]
pub struct VolumeList {
    /// Only volumes that hosts see through a grant to this grantee. A host also sees those of its
    /// groups and those granted to any host.
    pub seen_by: Option<Grantee>,
    /// Only thick or thin volumes.
    pub reserve: Option<Reserve>,
    /// Only clones of this volume, share or snapshot, by name or id.
    pub source: Option<String>,
    /// Least size.
    pub min_size_bytes: Option<u64>,
    /// Only volumes with this property.
    pub has: Option<VolumeHas>,
}

/// Property of volumes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VolumeHas {
    /// An active alert is about it.
    Alert,
    /// It is granted to nobody.
    NoHost,
    /// It is granted to any host.
    OpenAccess,
    /// It has snapshots.
    Snapshots,
}

impl Read for VolumeList {
    type Reply = Vec<VolumeView>;
    const NAME: &'static str = "volume-list";

    fn counted(&self, facts: &dyn Facts) -> Vec<Vec<ObjectId>> {
        self.all_counted(facts)
    }

    fn answer(&self, facts: &dyn Facts) -> Result<Vec<VolumeView>, ControlError> {
        self.all(facts)
    }
}

fn record<'a>(facts: &'a dyn Facts, id: &Uuid) -> Option<&'a VolumeRecord> {
    facts.directory().volume_by_id(*id)
}

fn object(facts: &dyn Facts, id: &Uuid) -> Option<ObjectInfo> {
    facts.object(record(facts, id)?.object)
}

/// Reads and writes of the last minute.
fn recent(facts: &dyn Facts, id: &Uuid) -> Option<Recent> {
    Some(facts.samples()?.recent(record(facts, id)?.object))
}

impl Listed for VolumeList {
    type View = VolumeView;
    type Row = Uuid;
    const COLUMNS: &'static [Column<Uuid>] = &[
        column("name", |facts, id| record(facts, id).map(|volume| volume.name.as_str()).into()),
        column("size_bytes", |facts, id| object(facts, id).map(|object| object.size_bytes).into()),
        column("mapped_bytes", |facts, id| object(facts, id).map(|object| object.mapped_bytes).into()),
        column("promised_bytes", |facts, id| object(facts, id).map(|object| object.promised_bytes).into()),
        counted_column("unique_bytes", |facts, id| {
            record(facts, id).and_then(|volume| facts.unique_bytes(&[volume.object])).into()
        }),
        counted_column("snapshot_bytes", |facts, id| facts.snapshot_bytes(*id).into()),
        column("snapshots", |facts, id| count(facts.directory().snapshots_of(*id).count()).into()),
        column("operations_per_minute", |facts, id| recent(facts, id).map(|recent| recent.operations).into()),
        column("bytes_per_minute", |facts, id| recent(facts, id).map(|recent| recent.bytes).into()),
        column("p99_us", |facts, id| recent(facts, id).map(|recent| recent.p99_us).into()),
        column("created", |facts, id| record(facts, id).map(|volume| volume.created).into()),
    ];
    const HAS_COUNTS: bool = true;

    fn rows(&self, facts: &dyn Facts) -> Result<Vec<(String, Uuid)>, ControlError> {
        let directory = facts.directory();
        let seen = self.seen_by.as_ref().map(|grantee| seen_by(facts, grantee)).transpose()?;
        let clones = self.source.as_ref().map(|source| clones_of(facts, source)).transpose()?;
        let alerts: BTreeSet<String> = match self.has {
            Some(VolumeHas::Alert) => facts.alerts().into_iter().map(|alert| alert.subject).collect(),
            _ => BTreeSet::new(),
        };
        let has = |volume: &VolumeRecord| match self.has {
            None => true,
            Some(VolumeHas::Alert) => alerts.contains(&volume.name),
            Some(VolumeHas::NoHost) => directory.access_of(volume.id).next().is_none(),
            Some(VolumeHas::OpenAccess) => directory.access_between(volume.id, To::Any).is_some(),
            Some(VolumeHas::Snapshots) => directory.snapshots_of(volume.id).next().is_some(),
        };
        let fits = |volume: &VolumeRecord| {
            let object = || facts.object(volume.object);
            let is_thick = || object().is_some_and(|object| object.reservation.is_some());
            seen.as_ref().is_none_or(|seen| seen.contains(&volume.id))
                && clones.as_ref().is_none_or(|clones| clones.contains(&volume.id))
                && self.reserve.is_none_or(|reserve| is_thick() == (reserve == Reserve::Thick))
                && self.min_size_bytes.is_none_or(|bytes| object().is_some_and(|object| object.size_bytes >= bytes))
                && has(volume)
        };
        let volumes = directory.volumes_by_name().filter(|volume| fits(volume));
        Ok(volumes.map(|volume| (volume.name.clone(), volume.id)).collect())
    }

    fn texts(facts: &dyn Facts, id: &Uuid) -> Vec<String> {
        let texts = |volume: &VolumeRecord| vec![volume.name.clone(), volume.naa.to_string(), volume.naa.serial()];
        record(facts, id).map(texts).unwrap_or_default()
    }

    fn views(&self, facts: &dyn Facts, rows: Vec<Uuid>) -> Vec<VolumeView> {
        let records = rows.iter().filter_map(|id| record(facts, id));
        records.filter_map(|record| facts.volume_view(record.clone())).collect()
    }

    fn counted_of(&self, facts: &dyn Facts, rows: &[Uuid]) -> Vec<Vec<ObjectId>> {
        let records = rows.iter().filter_map(|id| record(facts, id));
        records.flat_map(|record| facts.counted_of(record.object, record.id)).collect()
    }
}

/// Volumes that a grantee sees. Errors: `NotFound` for an unknown one.
fn seen_by(facts: &dyn Facts, grantee: &Grantee) -> Result<BTreeSet<Uuid>, ControlError> {
    let directory = facts.directory();
    let to = |to| directory.access_for(to).map(|access| access.volume);
    Ok(match grantee {
        Grantee::Any => to(To::Any).collect(),
        Grantee::Group(group) => to(To::Group(directory.host_group(group)?.id)).collect(),
        Grantee::Host(host) => {
            let own = directory.access_to(directory.host(host)?.id).map(|access| access.volume);
            own.chain(to(To::Any)).collect()
        }
    })
}

/// Volumes cloned from a volume, share or snapshot. Errors: `NotFound` for an unknown one.
fn clones_of(facts: &dyn Facts, source: &str) -> Result<BTreeSet<Uuid>, ControlError> {
    let directory = facts.directory();
    let sources = match directory.content(source) {
        Ok(content) => vec![SourceRecord::Volume(content.id), SourceRecord::Share(content.id)],
        Err(error) => vec![SourceRecord::Snapshot(directory.snapshot(source).map_err(|_| error)?.id)],
    };
    Ok(sources.into_iter().flat_map(|source| directory.clones_of(source)).map(|volume| volume.id).collect())
}
