//! Hosts: list, show, create, change, delete.

use crate::environment::new_id;
use crate::names::{check_chap_secret, check_chap_user, check_initiator_names, check_name};
use crate::record::Document;
use crate::{
    Change, Chap, ChapSet, Control, ControlError, Directory, GeneratedSecrets, HostCreate, HostRecord, HostSet,
    HostView, LunView, MutualChap, Noun, Reply, Secret, User, UserKind,
};
use uuid::Uuid;

impl Control {
    pub(crate) fn host_list(&self) -> Vec<HostView> {
        let mut records: Vec<HostRecord> = self.directory().hosts.values().cloned().collect();
        records.sort_by(|one, other| one.name.cmp(&other.name));
        records.into_iter().map(|record| self.host_view(record, None)).collect()
    }

    pub(crate) fn host_show(&self, name: &str) -> Result<Reply, ControlError> {
        let record = self.directory().host(name)?.clone();
        Ok(self.host_reply(record, None, false))
    }

    pub(crate) async fn host_create(&self, create: HostCreate) -> Result<Reply, ControlError> {
        check_name(Noun::Host, &create.name)?;
        let iqns = check_initiator_names(&create.iqns)?;
        create.chap.as_ref().map(check_chap).transpose()?;
        let _changes = self.lock_changes().await;
        let existing = self.directory().host(&create.name).ok().cloned();
        if let Some(existing) = existing {
            check_same(&existing, &iqns, create.chap.as_ref())?;
            return Ok(self.host_reply(existing, None, false));
        }
        check_initiators_free(&self.directory(), &iqns, None)?;
        let (chap, generated) = create.chap.map(|chap| self.make_chap(chap)).transpose()?.unzip();
        let (id, created) = (new_id(&*self.environment), self.environment.now());
        let record = HostRecord { id, name: create.name, iqns, chap, created };
        self.store_host(&record).await?;
        Ok(self.host_reply(record, generated, true))
    }

    pub(crate) async fn host_set(&self, set: HostSet) -> Result<Reply, ControlError> {
        let iqns = set.iqns.as_deref().map(check_initiator_names).transpose()?;
        let _changes = self.lock_changes().await;
        let mut record = self.directory().host(&set.host)?.clone();
        let before = record.clone();
        if let Some(name) = set.name.filter(|name| *name != record.name) {
            check_name(Noun::Host, &name)?;
            if self.directory().host(&name).is_ok() {
                return Err(ControlError::Exists { noun: Noun::Host, name, difference: String::new() });
            }
            record.name = name;
        }
        if let Some(iqns) = iqns {
            check_initiators_free(&self.directory(), &iqns, Some(record.id))?;
            record.iqns = iqns;
        }
        let mut generated = None;
        match set.chap {
            None => {}
            Some(None) => record.chap = None,
            Some(Some(chap)) => {
                check_chap(&chap)?;
                let (chap, made) = self.make_chap(chap)?;
                (record.chap, generated) = (Some(chap), Some(made));
            }
        }
        if record != before {
            self.store_host(&record).await?;
        }
        Ok(self.host_reply(record, generated, false))
    }

    pub(crate) async fn host_delete(&self, name: &str) -> Result<Reply, ControlError> {
        let _changes = self.lock_changes().await;
        let record = self.directory().host(name)?.clone();
        let users = self.host_users(&record);
        if !users.is_empty() {
            return Err(ControlError::InUse { noun: Noun::Host, name: record.name, users });
        }
        let apply = |directory: &mut Directory| drop(directory.hosts.remove(&record.id));
        self.commit(vec![record.delete()], apply, &[Change::HostRemoved { host: record.id }]).await?;
        Ok(Reply::Done)
    }

    /// Who uses a host: grants to it, and its sessions.
    fn host_users(&self, record: &HostRecord) -> Vec<User> {
        let directory = self.directory();
        let volume = |id: Uuid| directory.volumes.get(&id).map_or("", |volume| volume.name.as_str());
        let mut users: Vec<User> = directory
            .access_to(record.id)
            .map(|access| User {
                kind: UserKind::Access,
                description: format!("volume {}, LUN {}", volume(access.volume), access.lun),
            })
            .collect();
        let sessions = self.live.sessions();
        let own = sessions.iter().filter(|session| record.iqns.contains(&session.initiator.to_ascii_lowercase()));
        users.extend(own.map(|session| self.session_user(session)));
        users
    }

    /// Stores a new or changed host.
    async fn store_host(&self, record: &HostRecord) -> Result<(), ControlError> {
        let stored = record.clone();
        let apply = |directory: &mut Directory| drop(directory.hosts.insert(stored.id, stored));
        self.commit(vec![record.put()?], apply, &[Change::HostChanged { host: record.id }]).await
    }

    /// Credentials with the missing secrets made.
    fn make_chap(&self, chap: ChapSet) -> Result<(Chap, GeneratedSecrets), ControlError> {
        let mut generated = GeneratedSecrets::default();
        let make = |given: Option<Secret>, made: &mut Option<Secret>| {
            given.unwrap_or_else(|| made.insert(Secret::generate(&*self.environment)).clone())
        };
        let secret = make(chap.secret, &mut generated.chap);
        let mutual = chap
            .mutual
            .map(|mutual| MutualChap { user: mutual.user, secret: make(mutual.secret, &mut generated.mutual) });
        if mutual.as_ref().is_some_and(|mutual| mutual.secret == secret) {
            return Err(SAME_SECRET);
        }
        Ok((Chap { user: chap.user, secret, mutual }, generated))
    }

    /// The reply about one host.
    fn host_reply(&self, record: HostRecord, generated: Option<GeneratedSecrets>, created: bool) -> Reply {
        Reply::Host { view: Box::new(self.host_view(record, generated)), created }
    }

    /// A host with its sessions and volumes.
    fn host_view(&self, record: HostRecord, generated: Option<GeneratedSecrets>) -> HostView {
        let directory = self.directory();
        let mut luns: Vec<LunView> = directory
            .access_to(record.id)
            .map(|access| LunView {
                name: directory.volumes.get(&access.volume).map(|volume| volume.name.clone()),
                lun: access.lun,
                iscsi_url: self.iscsi_url(&directory.target, access.lun),
            })
            .collect();
        luns.sort_by_key(|unit| unit.lun);
        let sessions = self.live.sessions();
        let sessions =
            sessions.iter().filter(|session| record.iqns.contains(&session.initiator.to_ascii_lowercase())).count();
        drop(directory);
        let sessions = u64::try_from(sessions).unwrap_or(u64::MAX);
        let generated = generated.filter(|generated| *generated != GeneratedSecrets::default());
        HostView { record, sessions, luns, generated }
    }
}

/// RFC 7143 §9.2.1: the secrets of the two directions differ.
const SAME_SECRET: ControlError =
    ControlError::InvalidChap { reason: "the array's CHAP secret must differ from the host's" };

/// The credentials asked for are usable.
fn check_chap(chap: &ChapSet) -> Result<(), ControlError> {
    check_chap_user(&chap.user)?;
    chap.secret.as_ref().map(|secret| check_chap_secret(secret.expose())).transpose()?;
    if let Some(mutual) = &chap.mutual {
        check_chap_user(&mutual.user)?;
        mutual.secret.as_ref().map(|secret| check_chap_secret(secret.expose())).transpose()?;
        if mutual.secret.is_some() && mutual.secret == chap.secret {
            return Err(SAME_SECRET);
        }
    }
    Ok(())
}

/// No other host has these initiator names.
fn check_initiators_free(directory: &Directory, iqns: &[String], own: Option<Uuid>) -> Result<(), ControlError> {
    for initiator in iqns {
        if let Some(host) = directory.host_of(initiator).filter(|host| Some(host.id) != own) {
            return Err(ControlError::InitiatorNameTaken { initiator: initiator.clone(), host: host.name.clone() });
        }
    }
    Ok(())
}

/// A host that exists is what a create asks for. A secret that was to be made matches whatever there is.
fn check_same(existing: &HostRecord, iqns: &[String], chap: Option<&ChapSet>) -> Result<(), ControlError> {
    let secret_same =
        |wanted: &Option<Secret>, present: &Secret| wanted.as_ref().is_none_or(|wanted| wanted == present);
    let mut sorted = (iqns.to_vec(), existing.iqns.clone());
    sorted.0.sort();
    sorted.1.sort();
    let chap_same = match (chap, &existing.chap) {
        (None, None) => true,
        (Some(wanted), Some(present)) => {
            wanted.user == present.user
                && secret_same(&wanted.secret, &present.secret)
                && match (&wanted.mutual, &present.mutual) {
                    (None, None) => true,
                    (Some(wanted), Some(present)) => {
                        wanted.user == present.user && secret_same(&wanted.secret, &present.secret)
                    }
                    (Some(_), None) | (None, Some(_)) => false,
                }
        }
        (Some(_), None) | (None, Some(_)) => false,
    };
    let difference = if sorted.0 != sorted.1 {
        " with other initiator names"
    } else if !chap_same {
        " with other CHAP credentials"
    } else {
        return Ok(());
    };
    Err(ControlError::Exists { noun: Noun::Host, name: existing.name.clone(), difference: difference.to_owned() })
}
