//! Export rules: the access of hosts to shares. List, grant, revoke.
//!
//! The most exact rule decides about a host: one that names it, then one of a group, then the
//! network with the longest prefix, then the rule for any host. A share without rules is invisible.

mod check;
mod grantee;
mod network;
pub(crate) mod record;
mod rehearsal;
mod rule;

pub use check::{ExportCheck, ExportCheckView};
pub use grantee::ExportGrantee;
pub use network::{Network, NetworkError};
pub use record::{ExportRecord, ExportTo, Squash};
pub use rule::{ExportHosts, ExportRule};

use crate::condition::{Noun, User, UserKind};
use crate::control::Control;
use crate::directory::{Directory, Edit};
use crate::effect::{Rehearsal, Rehearsed};
use crate::error::ControlError;
use crate::events::Draft;
use crate::facts::Facts;
use crate::hosts::error::HostError;
use crate::live::Change;
use crate::page::{Column, Key, Listed, column};
use crate::read::Read;
use crate::record::Document;
use crate::request::{Outcome, Request};
use crate::shares::record::ShareRecord;
use std::collections::BTreeSet;
use uuid::Uuid;

/// Default user and group of anonymous callers.
const ANONYMOUS: (u32, u32) = (unit::NOBODY, unit::NOBODY);
/// Largest number of rules of one share.
const MAX_RULES: usize = 1024;

/// Lists export rules, by share and hosts.
#[derive(Clone, Debug, Default)]
pub struct ExportList {
    /// Only rules of this share.
    pub share: Option<String>,
    /// Only rules about these hosts.
    pub grantee: Option<ExportGrantee>,
}

/// Grants a share to hosts. It replaces the rule of the same hosts, without a time at which they
/// have no access.
#[derive(Clone, Debug)]
pub struct ExportGrant {
    /// Name or id.
    pub share: String,
    /// Hosts.
    pub grantee: ExportGrantee,
    /// True to refuse every change.
    pub read_only: bool,
    /// If absent, user 0 of a network or of any host becomes the anonymous user, and user 0 of a
    /// named host or group stays what it is: hypervisors write as user 0.
    pub squash: Option<Squash>,
    /// Anonymous user and group; 65534 if absent.
    pub anonymous: Option<(u32, u32)>,
    /// True if calls have to come from a port below 1024.
    pub privileged_port: bool,
}

/// Revokes export rules. The reply is the share's name.
#[derive(Clone, Debug)]
pub struct ExportRevoke {
    /// Name or id.
    pub share: String,
    /// Hosts of the rule; absent: all rules of the share.
    pub grantee: Option<ExportGrantee>,
}

/// Export rule with its names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportView {
    /// Document of the rule.
    pub record: ExportRecord,
    /// Name of the share.
    pub share: String,
    /// Hosts, by name.
    pub grantee: ExportGrantee,
}

impl ExportView {
    /// Key by which the rules of a share are listed: the most exact first.
    pub(crate) fn order(&self) -> String {
        match &self.grantee {
            ExportGrantee::Host(host) => format!("0{host}"),
            ExportGrantee::Group(group) => format!("1{group}"),
            ExportGrantee::Network(network) => format!("2{:03} {network}", u8::MAX - network.prefix_bits()),
            ExportGrantee::Any => "3".to_owned(),
        }
    }
}

impl Read for ExportList {
    type Reply = Vec<ExportView>;
    const NAME: &'static str = "export-list";

    fn answer(&self, facts: &dyn Facts) -> Result<Vec<ExportView>, ControlError> {
        self.all(facts)
    }
}

impl Listed for ExportList {
    type View = ExportView;
    type Row = (Uuid, ExportTo);
    const COLUMNS: &'static [Column<(Uuid, ExportTo)>] = &[
        column("share", |facts, row| named(facts, row).map(|view| Key::Text(view.share)).into()),
        column("host", |facts, row| named(facts, row).map(|view| Key::Text(view.grantee.word())).into()),
    ];

    /// Keys sort by share, then the most exact rules first. Names contain no space.
    fn rows(&self, facts: &dyn Facts) -> Result<Vec<(String, (Uuid, ExportTo))>, ControlError> {
        let directory = facts.directory();
        let share = self.share.as_deref().map(|name| directory.share(name).map(|share| share.id)).transpose()?;
        let to = self.grantee.as_ref().map(|grantee| find_hosts(directory, grantee)).transpose()?;
        let key = |export: &ExportRecord| {
            let view = facts.export_view(export);
            format!("{} {}", view.share, view.order())
        };
        let mut rows: Vec<(String, (Uuid, ExportTo))> = directory
            .exports()
            .filter(|export| share.is_none_or(|share| export.share == share))
            .filter(|export| to.is_none_or(|to| export.to == to))
            .map(|export| (key(export), (export.share, export.to)))
            .collect();
        rows.sort_unstable();
        Ok(rows)
    }

    fn texts(facts: &dyn Facts, row: &(Uuid, ExportTo)) -> Vec<String> {
        named(facts, row).map(|view| vec![view.share, view.grantee.word()]).unwrap_or_default()
    }

    fn views(&self, facts: &dyn Facts, rows: Vec<(Uuid, ExportTo)>) -> Vec<ExportView> {
        let records = rows.into_iter().filter_map(|(share, to)| facts.directory().export_between(share, to));
        records.map(|export| facts.export_view(export)).collect()
    }
}

/// Rule of a row with its names.
fn named(facts: &dyn Facts, (share, to): &(Uuid, ExportTo)) -> Option<ExportView> {
    facts.directory().export_between(*share, *to).map(|export| facts.export_view(export))
}

impl Request for ExportGrant {
    type Reply = Outcome<ExportView>;
    const NAME: &'static str = "export-grant";

    async fn run(&self, control: &Control) -> Result<Outcome<ExportView>, ControlError> {
        let _changes = control.lock_changes().await;
        let Granted { share, existing, record } = self.plan(control)?;
        let changed = existing.as_ref() != Some(&record);
        if changed {
            let published = [Change::ExportsChanged { object: share.object }];
            control.commit(vec![record.put()?], vec![record.clone().into()], &published).await?;
        }
        Ok(Outcome { view: control.see(|facts| facts.export_view(&record)), changed })
    }

    fn event(&self, outcome: &Outcome<ExportView>) -> Option<Draft> {
        let ExportView { record, share, .. } = &outcome.view;
        let access = if record.read_only { "to read" } else { "to read and write" };
        let message = format!("share {share} granted to {} {access}, squash {}", self.grantee, record.squash.name());
        outcome.changed.then(|| Draft::info("access-granted", share, message))
    }
}

/// A rule that is possible.
struct Granted {
    share: ShareRecord,
    /// The rule about the same hosts, which it replaces.
    existing: Option<ExportRecord>,
    record: ExportRecord,
}

impl ExportGrant {
    /// Checks the rule, and plans it.
    fn plan(&self, control: &Control) -> Result<Granted, ControlError> {
        let share = control.directory().share(&self.share)?.clone();
        let to = find_hosts(&control.directory(), &self.grantee)?;
        check_addressed(&control.directory(), to)?;
        let existing = control.directory().export_between(share.id, to).cloned();
        if existing.is_none() && control.directory().exports_by_share(share.id).count() >= MAX_RULES {
            return Err(ControlError::InvalidSetting(format!("a share has at most {MAX_RULES} export rules")));
        }
        let (anonymous_uid, anonymous_gid) = self.anonymous.unwrap_or(ANONYMOUS);
        let record = ExportRecord {
            share: share.id,
            to,
            read_only: self.read_only,
            squash: self.squash.unwrap_or(default_squash(to)),
            anonymous_uid,
            anonymous_gid,
            privileged_port: self.privileged_port,
            created: existing.as_ref().map_or_else(|| control.environment().now(), |existing| existing.created),
        };
        Ok(Granted { share, existing, record })
    }
}

impl Request for ExportRevoke {
    type Reply = String;
    const NAME: &'static str = "export-revoke";

    async fn run(&self, control: &Control) -> Result<String, ControlError> {
        let _changes = control.lock_changes().await;
        let (share, revoked) = self.plan(control)?;
        if !revoked.is_empty() {
            let changes = revoked.iter().map(Document::delete).collect();
            let edits = revoked.iter().map(|export| Edit::Export((export.share, export.to), None)).collect();
            control.commit(changes, edits, &[Change::ExportsChanged { object: share.object }]).await?;
        }
        Ok(share.name)
    }

    fn event(&self, share: &String) -> Option<Draft> {
        let from = self.grantee.as_ref().map_or_else(|| "all hosts".to_owned(), ToString::to_string);
        Some(Draft::info("access-revoked", share, format!("share {share} revoked from {from}")))
    }
}

impl Rehearsed for ExportRevoke {
    fn rehearse(&self, control: &Control) -> Result<Rehearsal, ControlError> {
        let (share, revoked) = self.plan(control)?;
        let directory = control.directory();
        let why = format!("it loses the access to share {} that this rule gives", share.name);
        let users = revoked.iter().map(|export| export_user(&directory, export));
        Ok(Rehearsal::default().breaks_users(users, &why))
    }
}

impl ExportRevoke {
    /// Checks the revocation. Returns the share, and the rules to revoke.
    fn plan(&self, control: &Control) -> Result<(ShareRecord, Vec<ExportRecord>), ControlError> {
        let directory = control.directory();
        let share = directory.share(&self.share)?.clone();
        let revoked = match &self.grantee {
            None => directory.exports_by_share(share.id).cloned().collect(),
            Some(grantee) => {
                let export = directory.export_between(share.id, find_hosts(&directory, grantee)?).cloned();
                let name = || format!("of {grantee} to share {}", share.name);
                vec![export.ok_or_else(|| ControlError::NotFound { noun: Noun::Access, name: name() })?]
            }
        };
        Ok((share, revoked))
    }
}

impl Control {
    /// Hosts that may use a share, as its users.
    pub(crate) fn export_users(&self, share: Uuid) -> Vec<User> {
        let directory = self.directory();
        directory.exports_by_share(share).map(|export| export_user(&directory, export)).collect()
    }
}

/// Hosts of a rule, as users of its share.
fn export_user(directory: &Directory, export: &ExportRecord) -> User {
    User { kind: UserKind::Access, description: directory.export_grantee(export.to).to_string() }
}

impl dyn Facts + '_ {
    /// View of a rule with its names.
    pub(crate) fn export_view(&self, record: &ExportRecord) -> ExportView {
        let directory = self.directory();
        ExportView {
            share: directory.share_by_id(record.share).map(|share| share.name.clone()).unwrap_or_default(),
            grantee: directory.export_grantee(record.to),
            record: record.clone(),
        }
    }
}

/// Changes of the shares whose rules are about these hosts, to be published with a change of them.
pub(crate) fn changes_about(directory: &Directory, hosts: &BTreeSet<ExportTo>) -> Vec<Change> {
    let exports = directory.exports().filter(|export| hosts.contains(&export.to));
    let shares: BTreeSet<Uuid> = exports.map(|export| export.share).collect();
    let objects = shares.into_iter().filter_map(|share| Some(directory.share_by_id(share)?.object));
    objects.map(|object| Change::ExportsChanged { object }).collect()
}

/// User of a host or group: an export rule of a share.
pub(crate) fn share_user(share: &str) -> User {
    User { kind: UserKind::Access, description: format!("share {share}") }
}

/// Checks that the host of a rule has an address. Members of a group may get theirs later.
fn check_addressed(directory: &Directory, to: ExportTo) -> Result<(), ControlError> {
    let ExportTo::Host(host) = to else { return Ok(()) };
    match directory.host_by_id(host).filter(|host| host.addresses.is_empty()) {
        Some(host) => Err(HostError::NoAddress { host: host.name.clone() }.into()),
        None => Ok(()),
    }
}

/// Squash of a rule that names none.
const fn default_squash(to: ExportTo) -> Squash {
    match to {
        ExportTo::Host(_) | ExportTo::Group(_) => Squash::None,
        ExportTo::Network(_) | ExportTo::Any => Squash::Root,
    }
}

/// Finds the hosts of a rule by name.
fn find_hosts(directory: &Directory, grantee: &ExportGrantee) -> Result<ExportTo, ControlError> {
    Ok(match grantee {
        ExportGrantee::Host(name) => ExportTo::Host(directory.host(name)?.id),
        ExportGrantee::Group(name) => ExportTo::Group(directory.host_group(name)?.id),
        ExportGrantee::Network(network) => ExportTo::Network(*network),
        ExportGrantee::Any => ExportTo::Any,
    })
}
