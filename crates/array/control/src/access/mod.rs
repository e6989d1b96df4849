//! Access (LUN masking): list, grant, revoke.
//!
//! An initiator sees what is granted to its host and what is granted to any host. So a number granted to any host must be
//! free for every host, a number granted to one host must be free among its own and the general ones, and no volume is
//! granted both ways. What is granted to a host group, every member sees as the same number; the same rules hold for
//! what a host sees by itself and by its groups together.

pub(crate) mod record;

use crate::events::Draft;
use crate::names::{MAX_LUN, check_lun};
use crate::record::Document;
use crate::{AccessRecord, Change, Control, ControlError, Directory, Noun, Outcome, Request, To, VolumeRecord};
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

/// Grantee of an access grant: a host, a host group or every initiator.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grantee {
    /// Every initiator.
    Any,
    /// A host, by name or id.
    Host(String),
    /// Every member of a host group, by name or id.
    Group(String),
}

/// Which grants to take back.
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

impl Request for AccessList {
    type Reply = Vec<AccessView>;
    const NAME: &'static str = "access-list";

    async fn run(&self, control: &Control) -> Result<Vec<AccessView>, ControlError> {
        let directory = control.directory();
        let volume = self.volume.as_deref().map(|name| directory.volume(name).map(|volume| volume.id)).transpose()?;
        let to = self.grantee.as_ref().map(|grantee| find_grantee(&directory, grantee)).transpose()?;
        let mut views: Vec<AccessView> = directory
            .access
            .values()
            .filter(|access| volume.is_none_or(|volume| access.volume == volume))
            .filter(|access| to.is_none_or(|to| access.to() == to))
            .map(|access| control.access_view(&directory, access))
            .collect();
        views.sort_by(|one, other| (&one.volume, &one.grantee).cmp(&(&other.volume, &other.grantee)));
        Ok(views)
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
        let existing = control.directory().access.get(&(volume.id, to)).cloned();
        if let Some(existing) = existing {
            if self.lun.is_some_and(|lun| lun != existing.lun) {
                return Err(already_granted(&control.directory(), &volume, &existing));
            }
            return Ok(Outcome::unchanged(control.access_view(&control.directory(), &existing)));
        }
        let lun = choose_lun(&control.directory(), &volume, to, self.lun)?;
        let record = AccessRecord::new(volume.id, to, lun, control.environment.now());
        let stored = record.clone();
        let apply = |directory: &mut Directory| {
            directory.access.insert((stored.volume, stored.to()), stored);
        };
        let object = volume.object;
        let change = match to {
            To::Any => Change::AccessGranted { object, host: None, lun },
            To::Host(host) => Change::AccessGranted { object, host: Some(host), lun },
            To::Group(group) => Change::HostGroupChanged { group },
        };
        control.commit(vec![record.put()?], apply, &[change]).await?;
        Ok(Outcome::changed(control.access_view(&control.directory(), &record)))
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
        let volume = control.directory().volume(&self.volume)?.clone();
        let revoked: Vec<AccessRecord> = match &self.from {
            Revoke::All => control.directory().access_of(volume.id).cloned().collect(),
            Revoke::From(grantee) => {
                let directory = control.directory();
                let to = find_grantee(&directory, grantee)?;
                let access = directory.access.get(&(volume.id, to)).cloned();
                let name = || format!("of {} to volume {}", directory.grantee(to), volume.name);
                vec![access.ok_or_else(|| ControlError::NotFound { noun: Noun::Access, name: name() })?]
            }
        };
        if revoked.is_empty() {
            return Ok(volume.name);
        }
        let changes = revoked.iter().map(Document::delete).collect();
        let published: Vec<Change> = revoked
            .iter()
            .map(|access| match access.to() {
                To::Any => Change::AccessRevoked { object: volume.object, host: None, lun: access.lun },
                To::Host(host) => Change::AccessRevoked { object: volume.object, host: Some(host), lun: access.lun },
                To::Group(group) => Change::HostGroupChanged { group },
            })
            .collect();
        let apply = |directory: &mut Directory| {
            for access in &revoked {
                directory.access.remove(&(access.volume, access.to()));
            }
        };
        control.commit(changes, apply, &published).await?;
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

impl std::fmt::Display for Grantee {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Host(host) => write!(formatter, "host {host}"),
            Self::Group(group) => write!(formatter, "host group {group}"),
            Self::Any => formatter.write_str("any host"),
        }
    }
}

impl Grantee {
    /// One word: `any`, the host's name, or `group:NAME`. Names contain no colon.
    pub fn word(&self) -> String {
        match self {
            Self::Any => "any".to_owned(),
            Self::Host(host) => host.clone(),
            Self::Group(group) => format!("group:{group}"),
        }
    }
}

impl Control {
    /// A grant with its names.
    fn access_view(&self, directory: &Directory, record: &AccessRecord) -> AccessView {
        AccessView {
            volume: directory.volumes.get(&record.volume).map(|volume| volume.name.clone()).unwrap_or_default(),
            grantee: directory.grantee(record.to()),
            iscsi_url: self.iscsi_url(&directory.target, record.lun),
            record: record.clone(),
        }
    }
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
    let visible = |access: &&AccessRecord| directory.overlap(access.to(), to);
    let taken: BTreeMap<u16, &AccessRecord> =
        directory.access.values().filter(visible).map(|access| (access.lun, access)).collect();
    match wanted {
        None => (0..=MAX_LUN)
            .find(|lun| !taken.contains_key(lun))
            .ok_or_else(|| ControlError::NoFreeLun { grantee: directory.grantee(to) }),
        Some(lun) => match taken.get(&lun) {
            None => Ok(lun),
            Some(access) => Err(lun_taken(directory, access)),
        },
    }
}

/// Checks that the grants of a group do not conflict with the grants of a joining host.
pub(crate) fn check_member(directory: &Directory, group: Uuid, host: Uuid) -> Result<(), ControlError> {
    let gained = directory.access.values().filter(|access| access.to() == To::Group(group));
    let present = |access: &&AccessRecord| directory.reaches(access.to(), host) && access.to() != To::Group(group);
    for new in gained {
        for access in directory.access.values().filter(present) {
            if access.volume == new.volume {
                let volume = directory.volumes.get(&access.volume);
                return Err(volume.map_or_else(
                    || ControlError::Damaged { reason: format!("LUN {} has no volume", access.lun) },
                    |volume| already_granted(directory, volume, access),
                ));
            }
            if access.lun == new.lun {
                return Err(lun_taken(directory, access));
            }
        }
    }
    Ok(())
}

/// Error that names the grant with the same number.
fn lun_taken(directory: &Directory, access: &AccessRecord) -> ControlError {
    ControlError::LunTaken {
        lun: access.lun,
        volume: directory.volumes.get(&access.volume).map(|volume| volume.name.clone()).unwrap_or_default(),
        grantee: directory.grantee(access.to()),
    }
}

/// Error that names the conflicting grant.
fn already_granted(directory: &Directory, volume: &VolumeRecord, access: &AccessRecord) -> ControlError {
    ControlError::AlreadyGranted {
        volume: volume.name.clone(),
        grantee: directory.grantee(access.to()),
        lun: access.lun,
    }
}
