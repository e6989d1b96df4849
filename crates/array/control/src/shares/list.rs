//! List of shares.

use super::{ShareRecord, ShareView};
use crate::error::ControlError;
use crate::exports::record::ExportTo;
use crate::facts::Facts;
use crate::page::{Column, Listed, column, counted_column};
use crate::pools::count;
use crate::read::Read;
use pool::{ObjectId, ObjectInfo};
use std::collections::BTreeSet;
use uuid::Uuid;

/// Lists shares by name: those that match every field that is set.
#[derive(Clone, Debug, Default)]
pub struct ShareList {
    /// Only shares with an export rule about this host itself or about a group of it.
    pub host: Option<String>,
    /// Only shares with this property.
    pub has: Option<ShareHas>,
}

/// Property of shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShareHas {
    /// An active alert is about it.
    Alert,
    /// It has no export rule.
    NoHost,
    /// An export rule is about every host.
    OpenAccess,
    /// It has snapshots.
    Snapshots,
}

impl Read for ShareList {
    type Reply = Vec<ShareView>;
    const NAME: &'static str = "share-list";

    fn counted(&self, facts: &dyn Facts) -> Vec<Vec<ObjectId>> {
        self.all_counted(facts)
    }

    fn answer(&self, facts: &dyn Facts) -> Result<Vec<ShareView>, ControlError> {
        self.all(facts)
    }
}

fn record<'a>(facts: &'a dyn Facts, id: &Uuid) -> Option<&'a ShareRecord> {
    facts.directory().share_by_id(*id)
}

fn object(facts: &dyn Facts, id: &Uuid) -> Option<ObjectInfo> {
    facts.object(record(facts, id)?.object)
}

impl Listed for ShareList {
    type View = ShareView;
    type Row = Uuid;
    const COLUMNS: &'static [Column<Uuid>] = &[
        column("name", |facts, id| record(facts, id).map(|share| share.name.as_str()).into()),
        column("mapped_bytes", |facts, id| object(facts, id).map(|object| object.mapped_bytes).into()),
        counted_column("unique_bytes", |facts, id| {
            record(facts, id).and_then(|share| facts.unique_bytes(&[share.object])).into()
        }),
        counted_column("snapshot_bytes", |facts, id| facts.snapshot_bytes(*id).into()),
        column("snapshots", |facts, id| count(facts.directory().snapshots_of(*id).count()).into()),
        column("created", |facts, id| record(facts, id).map(|share| share.created).into()),
    ];
    const HAS_COUNTS: bool = true;

    fn rows(&self, facts: &dyn Facts) -> Result<Vec<(String, Uuid)>, ControlError> {
        let directory = facts.directory();
        let host = self.host.as_deref().map(|host| directory.host(host)).transpose()?;
        let exported: Option<BTreeSet<Uuid>> = host.map(|host| {
            let groups = directory.groups_of(host.id).map(|group| ExportTo::Group(group.id));
            let rules: Vec<ExportTo> = std::iter::once(ExportTo::Host(host.id)).chain(groups).collect();
            directory.exports().filter(|export| rules.contains(&export.to)).map(|export| export.share).collect()
        });
        let alerts: BTreeSet<String> = match self.has {
            Some(ShareHas::Alert) => facts.alerts().into_iter().map(|alert| alert.subject).collect(),
            _ => BTreeSet::new(),
        };
        let has = |share: &ShareRecord| match self.has {
            None => true,
            Some(ShareHas::Alert) => alerts.contains(&share.name),
            Some(ShareHas::NoHost) => directory.exports_by_share(share.id).next().is_none(),
            Some(ShareHas::OpenAccess) => directory.export_between(share.id, ExportTo::Any).is_some(),
            Some(ShareHas::Snapshots) => directory.snapshots_of(share.id).next().is_some(),
        };
        let is_exported = |share: &ShareRecord| exported.as_ref().is_none_or(|shares| shares.contains(&share.id));
        let shares = directory.shares_by_name().filter(|share| is_exported(share) && has(share));
        Ok(shares.map(|share| (share.name.clone(), share.id)).collect())
    }

    fn texts(facts: &dyn Facts, id: &Uuid) -> Vec<String> {
        record(facts, id).map(|share| vec![share.name.clone()]).unwrap_or_default()
    }

    fn views(&self, facts: &dyn Facts, rows: Vec<Uuid>) -> Vec<ShareView> {
        let records = rows.iter().filter_map(|id| record(facts, id));
        records.filter_map(|record| facts.share_view(record.clone())).collect()
    }

    fn counted_of(&self, facts: &dyn Facts, rows: &[Uuid]) -> Vec<Vec<ObjectId>> {
        let records = rows.iter().filter_map(|id| record(facts, id));
        records.flat_map(|record| facts.counted_of(record.object, record.id)).collect()
    }
}

/// Reads whether the array serves shares.
#[derive(Clone, Debug)]
pub struct SharesServed;

impl Read for SharesServed {
    type Reply = bool;
    const NAME: &'static str = "shares-served";

    fn answer(&self, facts: &dyn Facts) -> Result<bool, ControlError> {
        Ok(!facts.nfs_portals().is_empty())
    }
}
