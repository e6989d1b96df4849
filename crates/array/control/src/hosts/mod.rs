//! Hosts: list, show, delete. `edit.rs` creates and changes them.

mod edit;

pub use edit::{ChapSet, HostCreate, HostSet, MutualChapSet};

use crate::events::Draft;
use crate::record::Document;
use crate::{Change, Control, ControlError, Directory, HostRecord, LunView, Noun, Request, Secret, To, User, UserKind};
use uuid::Uuid;

/// Every host, by name.
#[derive(Clone, Debug)]
pub struct HostList;

/// One host.
#[derive(Clone, Debug)]
pub struct HostShow {
    /// Name or id.
    pub host: String,
}

/// Deletes a host that has neither access nor sessions. The reply is its name.
#[derive(Clone, Debug)]
pub struct HostDelete {
    /// Name or id.
    pub host: String,
}

/// A host.
#[derive(Clone, Debug)]
pub struct HostView {
    /// Its document, secrets included: whoever shows it leaves them out.
    pub record: HostRecord,
    /// Sessions now.
    pub sessions: u64,
    /// Volumes granted to it.
    pub luns: Vec<LunView>,
    /// Secrets made by this action.
    pub generated: Option<GeneratedSecrets>,
}

/// Secrets made by an action; to be shown once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GeneratedSecrets {
    /// The host's.
    pub chap: Option<Secret>,
    /// The array's.
    pub mutual: Option<Secret>,
}

impl Request for HostList {
    type Reply = Vec<HostView>;
    const NAME: &'static str = "host-list";

    async fn run(&self, control: &Control) -> Result<Vec<HostView>, ControlError> {
        let mut records: Vec<HostRecord> = control.directory().hosts.values().cloned().collect();
        records.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(records.into_iter().map(|record| control.host_view(record, None)).collect())
    }
}

impl Request for HostShow {
    type Reply = HostView;
    const NAME: &'static str = "host-show";

    async fn run(&self, control: &Control) -> Result<HostView, ControlError> {
        let record = control.directory().host(&self.host)?.clone();
        Ok(control.host_view(record, None))
    }
}

impl Request for HostDelete {
    type Reply = String;
    const NAME: &'static str = "host-delete";

    async fn run(&self, control: &Control) -> Result<String, ControlError> {
        let _changes = control.lock_changes().await;
        let record = control.directory().host(&self.host)?.clone();
        let users = control.host_users(&record);
        if !users.is_empty() {
            return Err(ControlError::InUse { noun: Noun::Host, name: record.name, users });
        }
        let apply = |directory: &mut Directory| drop(directory.hosts.remove(&record.id));
        control.commit(vec![record.delete()], apply, &[Change::HostRemoved { host: record.id }]).await?;
        Ok(record.name)
    }

    fn event(&self, name: &String) -> Option<Draft> {
        Some(Draft::info("host-deleted", name, format!("host {name} deleted")))
    }
}

impl Control {
    /// Who uses a host: grants to it, and its sessions.
    fn host_users(&self, record: &HostRecord) -> Vec<User> {
        let directory = self.directory();
        let volume = |id: Uuid| directory.volumes.get(&id).map_or("", |volume| volume.name.as_str());
        let groups = directory.groups_of(record.id);
        let mut users: Vec<User> =
            groups.map(|group| User { kind: UserKind::HostGroup, description: group.name.clone() }).collect();
        users.extend(directory.access_to(record.id).filter(|access| access.to() == To::Host(record.id)).map(
            |access| User {
                kind: UserKind::Access,
                description: format!("volume {}, LUN {}", volume(access.volume), access.lun),
            },
        ));
        let sessions = self.live.sessions();
        let own = sessions.iter().filter(|session| record.iqns.contains(&session.initiator.to_ascii_lowercase()));
        users.extend(own.map(|session| self.session_user(session)));
        users
    }

    /// A host with its sessions and volumes.
    pub(crate) fn host_view(&self, record: HostRecord, generated: Option<GeneratedSecrets>) -> HostView {
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
