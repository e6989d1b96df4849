//! Host groups: list, show, create, change, delete. Every member sees a grant to the group under
//! the same logical unit number; a host that joins or leaves gains or loses it at once.

pub(crate) mod record;

pub use record::HostGroupRecord;

use crate::access::check_member;
use crate::access::record::To;
use crate::condition::{Noun, User, UserKind};
use crate::control::Control;
use crate::difference::Difference;
use crate::directory::{Directory, Edit};
use crate::effect::{BrokenKind, Rehearsal, Rehearsed};
use crate::environment::new_id;
use crate::error::ControlError;
use crate::events::Draft;
use crate::exports::record::ExportTo;
use crate::exports::{changes_about, share_user};
use crate::facts::Facts;
use crate::live::Change;
use crate::names::check_name;
use crate::page::{Column, Listed, column};
use crate::read::Read;
use crate::record::Document;
use crate::request::{Outcome, Request};
use crate::volumes::LunView;
use std::collections::BTreeSet;
use uuid::Uuid;

/// Largest number of hosts in a group.
const MAX_MEMBERS: usize = 1024;

/// Lists all host groups by name.
#[derive(Clone, Debug)]
pub struct HostGroupList;

/// Shows one host group.
#[derive(Clone, Debug)]
pub struct HostGroupShow {
    /// Name or id.
    pub group: String,
}

/// Creates a host group.
#[derive(Clone, Debug, Default)]
pub struct HostGroupCreate {
    /// Unique name.
    pub name: String,
    /// Names or ids of its hosts.
    pub hosts: Vec<String>,
}

/// Changes a host group; absent fields keep their values.
#[derive(Clone, Debug, Default)]
pub struct HostGroupSet {
    /// Name or id.
    pub group: String,
    /// New name.
    pub name: Option<String>,
    /// Hosts that join; present members stay.
    pub add: Vec<String>,
    /// Hosts that leave.
    pub remove: Vec<String>,
}

/// Deletes a host group without grants. The reply is its name.
#[derive(Clone, Debug)]
pub struct HostGroupDelete {
    /// Name or id.
    pub group: String,
}

/// Host group with its names.
#[derive(Clone, Debug)]
pub struct HostGroupView {
    /// Document of the group.
    pub record: HostGroupRecord,
    /// Names of its hosts, in order.
    pub hosts: Vec<String>,
    /// Volumes granted to it, by logical unit number.
    pub luns: Vec<LunView>,
}

impl Read for HostGroupList {
    type Reply = Vec<HostGroupView>;
    const NAME: &'static str = "host-group-list";

    fn answer(&self, facts: &dyn Facts) -> Result<Vec<HostGroupView>, ControlError> {
        self.all(facts)
    }
}

impl Listed for HostGroupList {
    type View = HostGroupView;
    type Row = Uuid;
    const COLUMNS: &'static [Column<Uuid>] = &[
        column("name", |facts, id| facts.directory().host_group_by_id(*id).map(|group| group.name.as_str()).into()),
        column("created", |facts, id| facts.directory().host_group_by_id(*id).map(|group| group.created).into()),
    ];

    fn rows(&self, facts: &dyn Facts) -> Result<Vec<(String, Uuid)>, ControlError> {
        let mut rows: Vec<(String, Uuid)> =
            facts.directory().host_groups().map(|record| (record.name.clone(), record.id)).collect();
        rows.sort_unstable();
        Ok(rows)
    }

    fn texts(facts: &dyn Facts, id: &Uuid) -> Vec<String> {
        facts.directory().host_group_by_id(*id).map(|group| vec![group.name.clone()]).unwrap_or_default()
    }

    fn views(&self, facts: &dyn Facts, rows: Vec<Uuid>) -> Vec<HostGroupView> {
        let records = rows.into_iter().filter_map(|id| facts.directory().host_group_by_id(id));
        records.map(|record| facts.host_group_view(record)).collect()
    }
}

impl Read for HostGroupShow {
    type Reply = HostGroupView;
    const NAME: &'static str = "host-group-show";

    fn answer(&self, facts: &dyn Facts) -> Result<HostGroupView, ControlError> {
        Ok(facts.host_group_view(facts.directory().host_group(&self.group)?))
    }
}

impl Request for HostGroupCreate {
    type Reply = Outcome<HostGroupView>;
    const NAME: &'static str = "host-group-create";

    async fn run(&self, control: &Control) -> Result<Outcome<HostGroupView>, ControlError> {
        check_name(Noun::HostGroup, &self.name)?;
        let _changes = control.lock_changes().await;
        let members = find_hosts(&control.directory(), &self.hosts)?;
        let existing = control.directory().host_group(&self.name).ok().cloned();
        if let Some(existing) = existing {
            if existing.members != members {
                let (name, difference) = (existing.name, Some(Difference::Hosts));
                return Err(ControlError::Exists { noun: Noun::HostGroup, name, difference });
            }
            return Ok(Outcome::unchanged(control.see(|facts| facts.host_group_view(&existing))));
        }
        check_count(&members)?;
        let (id, created) = (new_id(&**control.environment()), control.environment().now());
        let record = HostGroupRecord { id, name: self.name.clone(), members, created };
        control.store_host_group(&record).await?;
        Ok(Outcome::changed(control.see(|facts| facts.host_group_view(&record))))
    }

    fn event(&self, outcome: &Outcome<HostGroupView>) -> Option<Draft> {
        let message = format!("host group {} created with {}", self.name, hosts_in_words(&outcome.view.hosts));
        outcome.changed.then(|| Draft::info("host-group-created", &self.name, message))
    }
}

impl Request for HostGroupSet {
    type Reply = HostGroupView;
    const NAME: &'static str = "host-group-set";

    /// Errors: `LunTaken` or `AlreadyGranted` if a joining host already sees one of the group's
    /// numbers or volumes.
    async fn run(&self, control: &Control) -> Result<HostGroupView, ControlError> {
        let _changes = control.lock_changes().await;
        let (before, record) = self.plan(control)?;
        if record != before {
            control.store_host_group(&record).await?;
        }
        Ok(control.see(|facts| facts.host_group_view(&record)))
    }

    fn event(&self, view: &HostGroupView) -> Option<Draft> {
        let mut changes = Vec::new();
        changes.extend(self.name.as_ref().map(|name| format!("renamed to {name}")));
        changes.extend((!self.add.is_empty()).then(|| format!("{} added", hosts_in_words(&self.add))));
        changes.extend((!self.remove.is_empty()).then(|| format!("{} removed", hosts_in_words(&self.remove))));
        let message = format!("host group {} changed: {}", self.group, changes.join(", "));
        Some(Draft::info("host-group-changed", &view.record.name, message))
    }
}

impl Rehearsed for HostGroupSet {
    fn rehearse(&self, control: &Control) -> Result<Rehearsal, ControlError> {
        let (before, record) = self.plan(control)?;
        let directory = control.directory();
        let leaving: Vec<String> = before
            .members
            .difference(&record.members)
            .map(|host| directory.grantee(To::Host(*host)).to_string())
            .collect();
        let mut rehearsal = Rehearsal::default();
        for volume in control.see(|facts| facts.host_group_view(&record)).luns {
            let lost = format!("volume {}, LUN {}", volume.name.unwrap_or_default(), volume.lun);
            for host in &leaving {
                rehearsal = rehearsal.breaks(BrokenKind::Access, host.clone(), format!("it loses {lost}"));
            }
        }
        for share in directory.shares_granted_to(ExportTo::Group(record.id)) {
            for host in &leaving {
                rehearsal = rehearsal.breaks(BrokenKind::Access, host.clone(), format!("it loses share {share}"));
            }
        }
        Ok(rehearsal)
    }
}

impl HostGroupSet {
    /// Checks the change. Returns the group before and after it.
    fn plan(&self, control: &Control) -> Result<(HostGroupRecord, HostGroupRecord), ControlError> {
        let before = control.directory().host_group(&self.group)?.clone();
        let mut record = before.clone();
        if let Some(name) = self.name.as_ref().filter(|name| **name != record.name) {
            check_name(Noun::HostGroup, name)?;
            if control.directory().host_group(name).is_ok() {
                let name = name.clone();
                return Err(ControlError::Exists { noun: Noun::HostGroup, name, difference: None });
            }
            record.name.clone_from(name);
        }
        let joining = find_hosts(&control.directory(), &self.add)?;
        let leaving = find_hosts(&control.directory(), &self.remove)?;
        if let Some(both) = joining.intersection(&leaving).next() {
            let host = control.directory().grantee(To::Host(*both));
            return Err(ControlError::InvalidSetting(format!("{host} cannot join and leave the group at once")));
        }
        for host in joining.difference(&before.members) {
            check_member(&control.directory(), record.id, *host)?;
        }
        record.members.extend(joining);
        record.members.retain(|host| !leaving.contains(host));
        check_count(&record.members)?;
        Ok((before, record))
    }
}

impl Request for HostGroupDelete {
    type Reply = String;
    const NAME: &'static str = "host-group-delete";

    async fn run(&self, control: &Control) -> Result<String, ControlError> {
        let _changes = control.lock_changes().await;
        let record = self.plan(control)?;
        let edits = vec![Edit::HostGroup(record.id, None)];
        control.commit(vec![record.delete()], edits, &[Change::HostGroupChanged { group: record.id }]).await?;
        Ok(record.name)
    }

    fn event(&self, name: &String) -> Option<Draft> {
        Some(Draft::info("host-group-deleted", name, format!("host group {name} deleted")))
    }
}

impl Rehearsed for HostGroupDelete {
    /// A group without grants gives its members nothing.
    fn rehearse(&self, control: &Control) -> Result<Rehearsal, ControlError> {
        self.plan(control).map(|_| Rehearsal::default())
    }
}

impl HostGroupDelete {
    /// Checks the deletion. Returns the group, which has no grants.
    fn plan(&self, control: &Control) -> Result<HostGroupRecord, ControlError> {
        let record = control.directory().host_group(&self.group)?.clone();
        let luns = control.see(|facts| facts.host_group_view(&record)).luns;
        let mut users: Vec<User> = luns
            .into_iter()
            .map(|unit| {
                let description = format!("volume {}, LUN {}", unit.name.unwrap_or_default(), unit.lun);
                User { kind: UserKind::Access, description }
            })
            .collect();
        users.extend(control.directory().shares_granted_to(ExportTo::Group(record.id)).map(share_user));
        if !users.is_empty() {
            return Err(ControlError::InUse { noun: Noun::HostGroup, name: record.name, users });
        }
        Ok(record)
    }
}

impl Control {
    /// Stores a new or changed group. Its members' access changes before this returns.
    async fn store_host_group(&self, record: &HostGroupRecord) -> Result<(), ControlError> {
        let edits = vec![record.clone().into()];
        let mut published = vec![Change::HostGroupChanged { group: record.id }];
        published.extend(changes_about(&self.directory(), &[ExportTo::Group(record.id)].into()));
        self.commit(vec![record.put()?], edits, &published).await
    }
}

impl dyn Facts + '_ {
    /// View of a group with the names of its hosts and volumes.
    fn host_group_view(&self, record: &HostGroupRecord) -> HostGroupView {
        let directory = self.directory();
        let names = record.members.iter().filter_map(|host| directory.host_by_id(*host));
        let mut hosts: Vec<String> = names.map(|host| host.name.clone()).collect();
        hosts.sort();
        let luns = self.granted_luns(directory.access_for(To::Group(record.id)));
        HostGroupView { record: record.clone(), hosts, luns }
    }
}

/// Finds hosts by name or id.
fn find_hosts(directory: &Directory, names: &[String]) -> Result<BTreeSet<Uuid>, ControlError> {
    names.iter().map(|name| directory.host(name).map(|host| host.id)).collect()
}

fn check_count(members: &BTreeSet<Uuid>) -> Result<(), ControlError> {
    if members.len() > MAX_MEMBERS {
        return Err(ControlError::InvalidSetting(format!("a host group has at most {MAX_MEMBERS} hosts")));
    }
    Ok(())
}

/// `host a`, `hosts a, b` or `no hosts`.
fn hosts_in_words(hosts: &[String]) -> String {
    match hosts {
        [] => "no hosts".to_owned(),
        [host] => format!("host {host}"),
        hosts => format!("hosts {}", hosts.join(", ")),
    }
}
