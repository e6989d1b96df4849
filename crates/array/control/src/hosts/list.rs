//! List of hosts.

use super::{HostActivity, HostRecord, HostView};
use crate::error::ControlError;
use crate::facts::Facts;
use crate::page::{Column, Listed, column};
use crate::pools::count;
use crate::read::Read;
use std::collections::BTreeSet;
use uuid::Uuid;

/// Lists hosts by name: those that match every field that is set.
#[derive(Clone, Debug, Default)]
pub struct HostList {
    /// Only hosts of this group, by name or id.
    pub group: Option<String>,
    /// Only hosts with this property.
    pub has: Option<HostHas>,
}

/// Property of hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostHas {
    /// It has sessions.
    Session,
    /// It has no session.
    NoSession,
    /// Nothing is granted to it, directly or through a group.
    NoVolume,
    /// It need not authenticate.
    NoChap,
}

impl Read for HostList {
    type Reply = Vec<HostView>;
    const NAME: &'static str = "host-list";

    fn answer(&self, facts: &dyn Facts) -> Result<Vec<HostView>, ControlError> {
        self.all(facts)
    }
}

fn record<'a>(facts: &'a dyn Facts, id: &Uuid) -> Option<&'a HostRecord> {
    facts.directory().host_by_id(*id)
}

impl Listed for HostList {
    type View = HostView;
    /// Id, and number of sessions.
    type Row = (Uuid, u64);
    const COLUMNS: &'static [Column<(Uuid, u64)>] = &[
        column("name", |facts, (id, _)| record(facts, id).map(|host| host.name.as_str()).into()),
        column("sessions", |_, (_, sessions)| (*sessions).into()),
        column("luns", |facts, (id, _)| count(facts.directory().access_to(*id).count()).into()),
        column("created", |facts, (id, _)| record(facts, id).map(|host| host.created).into()),
    ];

    fn rows(&self, facts: &dyn Facts) -> Result<Vec<(String, (Uuid, u64))>, ControlError> {
        let directory = facts.directory();
        let sessions = facts.sessions_by_host();
        let sessions_of = |host: &HostRecord| sessions.get(&host.id).map_or(0, |sessions| count(sessions.len()));
        let group = self.group.as_deref().map(|group| directory.host_group(group)).transpose()?;
        let has = |host: &HostRecord| match self.has {
            None => true,
            Some(HostHas::Session) => sessions_of(host) > 0,
            Some(HostHas::NoSession) => sessions_of(host) == 0,
            Some(HostHas::NoVolume) => directory.access_to(host.id).next().is_none(),
            Some(HostHas::NoChap) => host.chap.is_none(),
        };
        let is_member = |host: &HostRecord| group.is_none_or(|group| group.members.contains(&host.id));
        let hosts = directory.hosts().filter(|host| is_member(host) && has(host));
        let mut rows: Vec<_> = hosts.map(|host| (host.name.clone(), (host.id, sessions_of(host)))).collect();
        rows.sort_unstable();
        Ok(rows)
    }

    fn texts(facts: &dyn Facts, (id, _): &(Uuid, u64)) -> Vec<String> {
        let texts = |host: &HostRecord| {
            let initiators = host.initiators.iter().map(ToString::to_string);
            let addresses = host.addresses.iter().map(ToString::to_string);
            std::iter::once(host.name.clone()).chain(initiators).chain(addresses).collect()
        };
        record(facts, id).map(texts).unwrap_or_default()
    }

    fn views(&self, facts: &dyn Facts, rows: Vec<(Uuid, u64)>) -> Vec<HostView> {
        let wanted: BTreeSet<Uuid> = rows.iter().map(|(id, _)| *id).collect();
        let activity = HostActivity::of(facts, |host| wanted.contains(&host));
        let records = rows.iter().filter_map(|(id, _)| record(facts, id));
        records.map(|record| activity.view(facts, record.clone(), None)).collect()
    }
}
