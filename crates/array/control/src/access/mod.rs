//! Access (LUN masking): list, grant, revoke.
//!
//! An initiator sees the volumes that are granted to its host and those granted to any host. A
//! number granted to any host must therefore be free for every host; a number granted to one host
//! must be free among its own and the general ones; and no volume is granted in both ways. Every
//! member of a host group sees a grant to the group under the same number; the same rules hold for
//! the grants of a host and of its groups together.

pub(crate) mod error;
pub(crate) mod grantee;
mod open;
pub(crate) mod record;

pub use error::AccessError;
pub use grantee::Grantee;
pub use record::{AccessRecord, To};

use crate::condition::{Noun, User, UserKind};
use crate::control::Control;
use crate::directory::{Directory, Edit};
use crate::effect::{Rehearsal, Rehearsed};
use crate::error::ControlError;
use crate::events::Draft;
use crate::facts::Facts;
use crate::live::Change;
use crate::names::{MAX_LUN, check_lun};
use crate::page::{Column, Listed, column};
use crate::pools::state::Warning;
use crate::read::Read;
use crate::record::Document;
use crate::request::{Outcome, Request};
use crate::volumes::record::VolumeRecord;
use pool::ObjectId;
use std::collections::BTreeMap;
use uuid::Uuid;

/// Lists grants, by volume and host.
#[derive(Clone, Debug, Default)]
pub struct AccessList {
    /// Only grants of this volume.
    pub volume: Option<String>,
    /// Only grants to this grantee.
    pub grantee: Option<Grantee>,
}

/// Grants a volume to a host.
#[derive(Clone, Debug)]
pub struct AccessGrant {
    /// Name or id.
    pub volume: String,
    /// Grantee.
    pub grantee: Grantee,
    /// Logical unit number 0 to 16383; the lowest free one if absent. For numbers above 255, hosts
    /// must support flat space addressing.
    pub lun: Option<u16>,
}

/// Revokes grants. The reply is the volume's name.
#[derive(Clone, Debug)]
pub struct AccessRevoke {
    /// Name or id.
    pub volume: String,
    /// Grants to revoke.
    pub from: Revoke,
}

/// Grants to revoke.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Revoke {
    /// Grant to this grantee.
    From(Grantee),
    /// All grants of the volume.
    All,
}

/// Grant with its names.
#[derive(Clone, Debug)]
pub struct AccessView {
    /// Document of the grant.
    pub record: AccessRecord,
    /// Name of the volume.
    pub volume: String,
    /// Grantee, by name.
    pub grantee: Grantee,
    /// URL at the first portal.
    pub iscsi_url: String,
}

impl Read for AccessList {
    type Reply = Vec<AccessView>;
    const NAME: &'static str = "access-list";

    fn answer(&self, facts: &dyn Facts) -> Result<Vec<AccessView>, ControlError> {
        self.all(facts)
    }
}

impl Listed for AccessList {
    type View = AccessView;
    type Row = (Uuid, To);
    const COLUMNS: &'static [Column<(Uuid, To)>] = &[
        column("volume", |facts, (volume, _)| {
            facts.directory().volume_by_id(*volume).map(|volume| volume.name.as_str()).into()
        }),
        column("host", |facts, (_, to)| facts.directory().grantee(*to).word().as_str().into()),
        column("lun", |facts, (volume, to)| {
            facts.directory().access_between(*volume, *to).map(|access| u64::from(access.lun)).into()
        }),
        column("created", |facts, (volume, to)| {
            facts.directory().access_between(*volume, *to).map(|access| access.created).into()
        }),
    ];

    /// Keys sort by volume, then any host, hosts and groups by name. Names contain no space.
    fn rows(&self, facts: &dyn Facts) -> Result<Vec<(String, (Uuid, To))>, ControlError> {
        let directory = facts.directory();
        let volume = self.volume.as_deref().map(|name| directory.volume(name).map(|volume| volume.id)).transpose()?;
        let to = self.grantee.as_ref().map(|grantee| find_grantee(directory, grantee)).transpose()?;
        let key = |access: &AccessRecord| {
            let volume = directory.volume_by_id(access.volume).map_or("", |volume| volume.name.as_str());
            match directory.grantee(access.to()) {
                Grantee::Any => format!("{volume} 0"),
                Grantee::Host(host) => format!("{volume} 1{host}"),
                Grantee::Group(group) => format!("{volume} 2{group}"),
            }
        };
        let mut rows: Vec<(String, (Uuid, To))> = directory
            .all_access()
            .filter(|access| volume.is_none_or(|volume| access.volume == volume))
            .filter(|access| to.is_none_or(|to| access.to() == to))
            .map(|access| (key(access), (access.volume, access.to())))
            .collect();
        rows.sort_unstable();
        Ok(rows)
    }

    fn texts(facts: &dyn Facts, (volume, to): &(Uuid, To)) -> Vec<String> {
        let volume = facts.directory().volume_by_id(*volume).map(|volume| volume.name.clone());
        volume.into_iter().chain([facts.directory().grantee(*to).word()]).collect()
    }

    fn views(&self, facts: &dyn Facts, rows: Vec<(Uuid, To)>) -> Vec<AccessView> {
        let records = rows.into_iter().filter_map(|(volume, to)| facts.directory().access_between(volume, to));
        records.map(|access| facts.access_view(access)).collect()
    }
}

impl Request for AccessGrant {
    type Reply = Outcome<AccessView>;
    const NAME: &'static str = "access-grant";

    async fn run(&self, control: &Control) -> Result<Outcome<AccessView>, ControlError> {
        self.lun.map(check_lun).transpose()?;
        let _changes = control.lock_changes().await;
        let volume = control.directory().volume(&self.volume)?.clone();
        let to = find_grantee(&control.directory(), &self.grantee)?;
        let existing = control.directory().access_between(volume.id, to).cloned();
        if let Some(existing) = existing {
            if self.lun.is_some_and(|lun| lun != existing.lun) {
                return Err(already_granted(&control.directory(), &volume, &existing));
            }
            return Ok(Outcome::unchanged(control.see(|facts| facts.access_view(&existing))));
        }
        let lun = choose_lun(&control.directory(), &volume, to, self.lun)?;
        let record = AccessRecord::new(volume.id, to, lun, control.environment().now());
        let change = granted(volume.object, &record);
        control.commit(vec![record.put()?], vec![record.clone().into()], &[change]).await?;
        Ok(Outcome::changed(control.see(|facts| facts.access_view(&record))))
    }

    fn event(&self, outcome: &Outcome<AccessView>) -> Option<Draft> {
        let AccessView { volume, record, .. } = &outcome.view;
        let message = format!("volume {volume} granted to {} as LUN {}", self.grantee, record.lun);
        outcome.changed.then(|| Draft::info("access-granted", volume, message))
    }
}

impl Request for AccessRevoke {
    type Reply = String;
    const NAME: &'static str = "access-revoke";

    async fn run(&self, control: &Control) -> Result<String, ControlError> {
        let _changes = control.lock_changes().await;
        let (volume, revoked) = self.plan(control)?;
        if revoked.is_empty() {
            return Ok(volume.name);
        }
        let changes = revoked.iter().map(Document::delete).collect();
        let published: Vec<Change> = revoked.iter().map(|access| revocation(volume.object, access)).collect();
        let edits = revoked.iter().map(|access| Edit::Access((access.volume, access.to()), None)).collect();
        control.commit(changes, edits, &published).await?;
        Ok(volume.name)
    }

    fn event(&self, volume: &String) -> Option<Draft> {
        let from = match &self.from {
            Revoke::From(grantee) => grantee.to_string(),
            Revoke::All => "all hosts".to_owned(),
        };
        Some(Draft::info("access-revoked", volume, format!("volume {volume} revoked from {from}")))
    }
}

impl Rehearsed for AccessRevoke {
    fn rehearse(&self, control: &Control) -> Result<Rehearsal, ControlError> {
        let (volume, revoked) = self.plan(control)?;
        let directory = control.directory();
        let grants = revoked.iter().map(|access| access_user(&directory, access));
        let sessions = control.live().sessions();
        let losing = sessions.iter().filter(|session| {
            let host = directory.host_of(&session.initiator).map(|host| host.id);
            let sees = |to| to == To::Any || host.is_some_and(|host| directory.reaches(to, host));
            revoked.iter().any(|access| sees(access.to()))
        });
        let sessions: Vec<User> = losing.map(|session| control.session_user(session)).collect();
        Ok(Rehearsal::default()
            .breaks_users(grants, &format!("it loses volume {}", volume.name))
            .breaks_users(sessions, &format!("its commands to volume {} fail", volume.name)))
    }
}

impl AccessRevoke {
    /// Checks the revocation. Returns the volume, and the grants to revoke.
    fn plan(&self, control: &Control) -> Result<(VolumeRecord, Vec<AccessRecord>), ControlError> {
        let directory = control.directory();
        let volume = directory.volume(&self.volume)?.clone();
        let revoked = match &self.from {
            Revoke::All => directory.access_of(volume.id).cloned().collect(),
            Revoke::From(grantee) => {
                let to = find_grantee(&directory, grantee)?;
                let access = directory.access_between(volume.id, to).cloned();
                let name = || format!("of {} to volume {}", directory.grantee(to), volume.name);
                vec![access.ok_or_else(|| ControlError::NotFound { noun: Noun::Access, name: name() })?]
            }
        };
        Ok((volume, revoked))
    }
}

/// Grantee as a user of the volume that is granted to it.
pub(crate) fn access_user(directory: &Directory, access: &AccessRecord) -> User {
    User { kind: UserKind::Access, description: format!("{}, LUN {}", directory.grantee(access.to()), access.lun) }
}

impl dyn Facts + '_ {
    /// View of a grant with its names.
    fn access_view(&self, record: &AccessRecord) -> AccessView {
        let directory = self.directory();
        AccessView {
            volume: directory.volume_by_id(record.volume).map(|volume| volume.name.clone()).unwrap_or_default(),
            grantee: directory.grantee(record.to()),
            iscsi_url: self.iscsi_url(record.lun),
            record: record.clone(),
        }
    }
}

/// Change to publish for a new grant of the volume in `object`.
pub(crate) const fn granted(object: ObjectId, access: &AccessRecord) -> Change {
    let lun = access.lun;
    match access.to() {
        To::Any => Change::AccessGranted { object, host: None, lun },
        To::Host(host) => Change::AccessGranted { object, host: Some(host), lun },
        To::Group(_) => Change::GroupAccessChanged { object },
    }
}

/// Change to publish for a revoked grant of the volume in `object`.
pub(crate) const fn revocation(object: ObjectId, access: &AccessRecord) -> Change {
    let lun = access.lun;
    match access.to() {
        To::Any => Change::AccessRevoked { object, host: None, lun },
        To::Host(host) => Change::AccessRevoked { object, host: Some(host), lun },
        To::Group(_) => Change::GroupAccessChanged { object },
    }
}

/// Earlier grants of a volume without grants that can be made again, and a warning for each of the
/// others: its host or group is gone, or another volume has its number.
pub(crate) fn granted_again(
    directory: &Directory,
    volume: &VolumeRecord,
    before: &[AccessRecord],
) -> (Vec<AccessRecord>, Vec<Warning>) {
    let (mut grants, mut warnings): (Vec<AccessRecord>, Vec<Warning>) = (Vec::new(), Vec::new());
    for access in before {
        let to = access.to();
        let exists = match to {
            To::Any => true,
            To::Host(host) => directory.host_by_id(host).is_some(),
            To::Group(group) => directory.host_group_by_id(group).is_some(),
        };
        let excluded = grants.iter().any(|other| directory.overlap(other.to(), to));
        let reason = match choose_lun(directory, volume, to, Some(access.lun)) {
            _ if !exists => "its host or group is gone".to_owned(),
            _ if excluded => "a host sees the volume already".to_owned(),
            Ok(_) => {
                grants.push(access.clone());
                continue;
            }
            Err(error) => error.to_string(),
        };
        let message = format!("LUN {} of volume {} is not granted again: {reason}", access.lun, volume.name);
        warnings.push(Warning { code: "not-granted", message });
    }
    (grants, warnings)
}

/// Finds a grantee by name.
fn find_grantee(directory: &Directory, grantee: &Grantee) -> Result<To, ControlError> {
    match grantee {
        Grantee::Any => Ok(To::Any),
        Grantee::Host(name) => directory.host(name).map(|host| To::Host(host.id)),
        Grantee::Group(name) => directory.host_group(name).map(|group| To::Group(group.id)),
    }
}

/// Returns the requested number if it is free, or the lowest free one.
fn choose_lun(directory: &Directory, volume: &VolumeRecord, to: To, wanted: Option<u16>) -> Result<u16, ControlError> {
    let excluding = directory.access_of(volume.id).find(|access| directory.overlap(access.to(), to));
    if let Some(access) = excluding {
        return Err(already_granted(directory, volume, access));
    }
    let taken: BTreeMap<u16, &AccessRecord> = directory.access_beside(to).map(|access| (access.lun, access)).collect();
    match wanted {
        None => (0..=MAX_LUN)
            .find(|lun| !taken.contains_key(lun))
            .ok_or_else(|| AccessError::NoFreeLun { grantee: directory.grantee(to) }.into()),
        Some(lun) => match taken.get(&lun) {
            None => Ok(lun),
            Some(access) => Err(lun_taken(directory, access)),
        },
    }
}

/// Checks that the grants of a group do not conflict with the grants of a joining host.
pub(crate) fn check_member(directory: &Directory, group: Uuid, host: Uuid) -> Result<(), ControlError> {
    let present = |access: &&AccessRecord| access.to() != To::Group(group);
    let present: Vec<&AccessRecord> = directory.access_to(host).filter(present).collect();
    let volumes: BTreeMap<Uuid, &AccessRecord> = present.iter().map(|access| (access.volume, *access)).collect();
    let luns: BTreeMap<u16, &AccessRecord> = present.iter().map(|access| (access.lun, *access)).collect();
    for new in directory.access_for(To::Group(group)) {
        if let Some(access) = volumes.get(&new.volume) {
            let volume = directory.volume_by_id(access.volume);
            return Err(volume.map_or_else(
                || ControlError::Damaged { reason: format!("LUN {} has no volume", access.lun) },
                |volume| already_granted(directory, volume, access),
            ));
        }
        if let Some(access) = luns.get(&new.lun) {
            return Err(lun_taken(directory, access));
        }
    }
    Ok(())
}

/// Error that names the grant with the same number.
fn lun_taken(directory: &Directory, access: &AccessRecord) -> ControlError {
    AccessError::LunTaken {
        lun: access.lun,
        volume: directory.volume_by_id(access.volume).map(|volume| volume.name.clone()).unwrap_or_default(),
        grantee: directory.grantee(access.to()),
    }
    .into()
}

/// Error that names the conflicting grant.
fn already_granted(directory: &Directory, volume: &VolumeRecord, access: &AccessRecord) -> ControlError {
    AccessError::AlreadyGranted {
        volume: volume.name.clone(),
        grantee: directory.grantee(access.to()),
        lun: access.lun,
    }
    .into()
}
