//! Access (LUN masking): list, grant, revoke.
//!
//! An initiator sees what is granted to its host and what is granted to any host. So a number granted to any host must be
//! free for every host, a number granted to one host must be free among its own and the general ones, and no volume is
//! granted both ways.

use crate::events::Draft;
use crate::names::{MAX_LUN, check_lun};
use crate::record::Document;
use crate::{AccessRecord, Change, Control, ControlError, Directory, Noun, Outcome, Request, VolumeRecord};
use uuid::Uuid;

/// Grants, by volume and host.
#[derive(Clone, Debug, Default)]
pub struct AccessList {
    /// Only those of this volume.
    pub volume: Option<String>,
    /// Only those of this grantee.
    pub grantee: Option<Grantee>,
}

/// Lets a host see a volume.
#[derive(Clone, Debug)]
pub struct AccessGrant {
    /// Name or id.
    pub volume: String,
    /// Who.
    pub grantee: Grantee,
    /// Logical unit number 0 to 16383; the lowest free one when absent. Above 255, hosts have to understand flat space
    /// addressing.
    pub lun: Option<u16>,
}

/// Takes grants back. The reply is the volume's name.
#[derive(Clone, Debug)]
pub struct AccessRevoke {
    /// Name or id.
    pub volume: String,
    /// From whom.
    pub from: Revoke,
}

/// Who is granted access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Grantee {
    /// A host, by name or id.
    Host(String),
    /// Every initiator.
    Any,
}

/// Which grants to take back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Revoke {
    /// This one.
    From(Grantee),
    /// All of the volume's.
    All,
}

/// A grant.
#[derive(Clone, Debug)]
pub struct AccessView {
    /// Its document.
    pub record: AccessRecord,
    /// The volume's name.
    pub volume: String,
    /// The host's name; absent: any.
    pub host: Option<String>,
    /// URL at the first portal.
    pub iscsi_url: String,
}

impl Request for AccessList {
    type Reply = Vec<AccessView>;
    const NAME: &'static str = "access-list";

    async fn run(&self, control: &Control) -> Result<Vec<AccessView>, ControlError> {
        let directory = control.directory();
        let volume = self.volume.as_deref().map(|name| directory.volume(name).map(|volume| volume.id)).transpose()?;
        let host = self.grantee.as_ref().map(|grantee| find_grantee(&directory, grantee)).transpose()?;
        let mut views: Vec<AccessView> = directory
            .access
            .values()
            .filter(|access| volume.is_none_or(|volume| access.volume == volume))
            .filter(|access| host.is_none_or(|host| access.host == host))
            .map(|access| control.access_view(&directory, access))
            .collect();
        views.sort_by(|one, other| (&one.volume, &one.host).cmp(&(&other.volume, &other.host)));
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
        let host = find_grantee(&control.directory(), &self.grantee)?;
        let existing = control.directory().access.get(&(volume.id, host)).cloned();
        if let Some(existing) = existing {
            if self.lun.is_some_and(|lun| lun != existing.lun) {
                return Err(already_granted(&control.directory(), &volume, &existing));
            }
            return Ok(Outcome::unchanged(control.access_view(&control.directory(), &existing)));
        }
        let lun = choose_lun(&control.directory(), &volume, host, self.lun)?;
        let record = AccessRecord { volume: volume.id, host, lun, created: control.environment.now() };
        let stored = record.clone();
        let apply = |directory: &mut Directory| {
            directory.access.insert((stored.volume, stored.host), stored);
        };
        let change = Change::AccessGranted { object: volume.object, host, lun };
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
                let host = find_grantee(&directory, grantee)?;
                let access = directory.access.get(&(volume.id, host)).cloned();
                let name = || format!("of {} to volume {}", directory.grantee(host), volume.name);
                vec![access.ok_or_else(|| ControlError::NotFound { noun: Noun::Access, name: name() })?]
            }
        };
        if revoked.is_empty() {
            return Ok(volume.name);
        }
        let changes = revoked.iter().map(Document::delete).collect();
        let published: Vec<Change> = revoked
            .iter()
            .map(|access| Change::AccessRevoked { object: volume.object, host: access.host, lun: access.lun })
            .collect();
        let apply = |directory: &mut Directory| {
            for access in &revoked {
                directory.access.remove(&(access.volume, access.host));
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
            Self::Any => formatter.write_str("every initiator"),
        }
    }
}

impl Control {
    /// A grant with its names.
    fn access_view(&self, directory: &Directory, record: &AccessRecord) -> AccessView {
        AccessView {
            volume: directory.volumes.get(&record.volume).map(|volume| volume.name.clone()).unwrap_or_default(),
            host: directory.host_name(record.host),
            iscsi_url: self.iscsi_url(&directory.target, record.lun),
            record: record.clone(),
        }
    }
}

/// The host of a grantee; `None` for any.
fn find_grantee(directory: &Directory, grantee: &Grantee) -> Result<Option<Uuid>, ControlError> {
    match grantee {
        Grantee::Any => Ok(None),
        Grantee::Host(name) => directory.host(name).map(|host| Some(host.id)),
    }
}

/// The number asked for when it is free, or the lowest free one.
fn choose_lun(
    directory: &Directory,
    volume: &VolumeRecord,
    host: Option<Uuid>,
    wanted: Option<u16>,
) -> Result<u16, ControlError> {
    let excluding = directory.access_of(volume.id).find(|access| host.is_none() || access.host.is_none());
    if let Some(access) = excluding {
        return Err(already_granted(directory, volume, access));
    }
    let visible = |access: &&AccessRecord| host.is_none() || access.host.is_none() || access.host == host;
    let holder = |lun: u16| directory.access.values().filter(visible).find(|access| access.lun == lun);
    match wanted {
        None => (0..=MAX_LUN)
            .find(|lun| holder(*lun).is_none())
            .ok_or_else(|| ControlError::NoFreeLun { host: directory.host_name(host) }),
        Some(lun) => match holder(lun) {
            None => Ok(lun),
            Some(access) => Err(ControlError::LunTaken {
                lun,
                volume: directory.volumes.get(&access.volume).map(|volume| volume.name.clone()).unwrap_or_default(),
                host: directory.host_name(access.host),
            }),
        },
    }
}

/// The error that names a grant in the way.
fn already_granted(directory: &Directory, volume: &VolumeRecord, access: &AccessRecord) -> ControlError {
    ControlError::AlreadyGranted {
        volume: volume.name.clone(),
        host: directory.host_name(access.host),
        lun: access.lun,
    }
}
