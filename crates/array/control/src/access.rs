//! Access (LUN masking): list, grant, revoke.
//!
//! An initiator sees what is granted to its host and what is granted to any host. So a number granted to any host must be free for
//! every host, a number granted to one host must be free among its own and the general ones, and no volume is granted both ways.

use crate::names::{MAX_LUN, check_lun};
use crate::record::Document;
use crate::{
    AccessRecord, AccessView, Change, Control, ControlError, Directory, Grantee, Noun, Reply, Revoke, VolumeRecord,
};
use uuid::Uuid;

impl Control {
    pub(crate) fn access_list(
        &self,
        volume: Option<&str>,
        grantee: Option<&Grantee>,
    ) -> Result<Vec<AccessView>, ControlError> {
        let directory = self.directory();
        let volume = volume.map(|name| directory.volume(name).map(|volume| volume.id)).transpose()?;
        let host = grantee.map(|grantee| find_grantee(&directory, grantee)).transpose()?;
        let mut views: Vec<AccessView> = directory
            .access
            .values()
            .filter(|access| volume.is_none_or(|volume| access.volume == volume))
            .filter(|access| host.is_none_or(|host| access.host == host))
            .map(|access| self.access_view(&directory, access))
            .collect();
        views.sort_by(|one, other| (&one.volume, &one.host).cmp(&(&other.volume, &other.host)));
        Ok(views)
    }

    pub(crate) async fn access_grant(
        &self,
        volume: &str,
        grantee: &Grantee,
        lun: Option<u16>,
    ) -> Result<Reply, ControlError> {
        lun.map(check_lun).transpose()?;
        let _changes = self.lock_changes().await;
        let volume = self.directory().volume(volume)?.clone();
        let host = find_grantee(&self.directory(), grantee)?;
        let existing = self.directory().access.get(&(volume.id, host)).cloned();
        if let Some(existing) = existing {
            if lun.is_some_and(|lun| lun != existing.lun) {
                return Err(already_granted(&self.directory(), &volume, &existing));
            }
            return Ok(self.access_reply(&existing, false));
        }
        let lun = choose_lun(&self.directory(), &volume, host, lun)?;
        let record = AccessRecord { volume: volume.id, host, lun, created: self.environment.now() };
        let stored = record.clone();
        let apply = |directory: &mut Directory| {
            directory.access.insert((stored.volume, stored.host), stored);
        };
        let change = Change::AccessGranted { object: volume.object, host, lun };
        self.commit(vec![record.put()?], apply, &[change]).await?;
        Ok(self.access_reply(&record, true))
    }

    pub(crate) async fn access_revoke(&self, volume: &str, from: &Revoke) -> Result<Reply, ControlError> {
        let _changes = self.lock_changes().await;
        let volume = self.directory().volume(volume)?.clone();
        let revoked: Vec<AccessRecord> = match from {
            Revoke::All => self.directory().access_of(volume.id).cloned().collect(),
            Revoke::From(grantee) => {
                let directory = self.directory();
                let host = find_grantee(&directory, grantee)?;
                let access = directory.access.get(&(volume.id, host)).cloned();
                let name = || format!("of {} to volume {}", directory.grantee(host), volume.name);
                vec![access.ok_or_else(|| ControlError::NotFound { noun: Noun::Access, name: name() })?]
            }
        };
        if revoked.is_empty() {
            return Ok(Reply::Done);
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
        self.commit(changes, apply, &published).await?;
        Ok(Reply::Done)
    }

    /// The reply about one grant.
    fn access_reply(&self, record: &AccessRecord, created: bool) -> Reply {
        Reply::Access { view: Box::new(self.access_view(&self.directory(), record)), created }
    }

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
