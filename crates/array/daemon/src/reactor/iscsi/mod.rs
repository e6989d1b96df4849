//! iSCSI as a [`Frontend`]: portals, connections and their sessions, and registration with iSNS
//! servers.

mod connection;
mod data_out;
mod directory;
mod execute;
pub(super) mod isns;
pub(super) mod listener;
mod registry;
pub(crate) mod socket;
mod task_management;
mod wire;

use super::array::{ArraySetup, Reactor};
use super::clock;
use super::frontend::Frontend;
use super::memory::DataMemory;
use crate::AbortOfFinishedTask;
use block::VolumeId;
use control::{Change, ConnectionCounters, Directory, Portal, SessionInfo};
use futures_util::future::{LocalBoxFuture, ready};
use iscsi::connection::{MissingTaskResponse, SessionIdentity, SessionType};
use listener::{MAX_CONNECTIONS_WITHOUT_SESSION, MAX_SESSIONS};
use media::Media;
use registry::{Order, Registry};
use std::rc::Rc;
use tokio::sync::oneshot;
use unit::reservations::Notice;
use unit::{Adapter, Registrant};
use uuid::Uuid;

/// Seconds that initiators have for their logout at shutdown.
const LOGOUT_SECONDS: u16 = 3;

/// State that all iSCSI connections share.
pub(crate) struct Iscsi<M: Media + 'static> {
    pub reactor: Rc<Reactor<M>>,
    pub registry: Rc<Registry>,
    portals: Vec<Portal>,
    /// True if the portals' advertised addresses come from the configuration.
    advertise_configured: bool,
    /// Memory for data in flight to initiators.
    data_in: Rc<DataMemory>,
    /// Memory for data in flight from initiators.
    data_out: Rc<DataMemory>,
    /// Response to ABORT TASK for a task that does not exist.
    missing_task_response: MissingTaskResponse,
}

impl<M: Media + 'static> Iscsi<M> {
    pub fn new(reactor: Rc<Reactor<M>>, setup: &ArraySetup) -> Self {
        Self {
            reactor,
            registry: Rc::default(),
            portals: setup.portals.clone(),
            advertise_configured: setup.advertise_configured,
            data_in: data_memory(setup.memory_bytes),
            data_out: data_memory(setup.memory_bytes),
            missing_task_response: missing_task_response(setup.abort_of_finished_task),
        }
    }

    /// Returns the host that an initiator has logged in as, `Some(None)` if it belongs to no host.
    /// `None` if it has not proved its identity as the directory now demands, which may differ from
    /// the demand at the start of its login.
    fn proven_host(&self, identity: &SessionIdentity) -> Option<Option<Uuid>> {
        let directory = self.reactor.directory.borrow();
        let nexus = directory.as_ref()?.nexus(&identity.initiator_name);
        let proven = nexus.chap.is_none_or(|chap| identity.authenticated_as.as_ref() == Some(&chap.user));
        proven.then(|| nexus.host.map(|(id, _)| id))
    }
}

fn missing_task_response(configured: AbortOfFinishedTask) -> MissingTaskResponse {
    match configured {
        AbortOfFinishedTask::ByInitiatorName => MissingTaskResponse::ByInitiatorName,
        AbortOfFinishedTask::TaskDoesNotExist => MissingTaskResponse::TaskDoesNotExist,
        AbortOfFinishedTask::FunctionComplete => MissingTaskResponse::FunctionComplete,
    }
}

/// Memory for data in one direction for all connections together: at least one command of the
/// largest size.
fn data_memory(memory_bytes: u64) -> Rc<DataMemory> {
    let least = iscsi::connection::Config::default().max_transfer_bytes as usize;
    DataMemory::new(usize::try_from(memory_bytes / 8).unwrap_or(usize::MAX).max(least))
}

impl<M: Media + 'static> Adapter for Iscsi<M> {
    fn notify(&self, volume: VolumeId, registrant: &Registrant, notice: Notice) {
        self.reactor.target.notify(volume, registrant, notice);
    }

    fn content_discarded(&self, volume: VolumeId) {
        self.reactor.target.content_discarded(volume);
    }

    fn abort(&self, volume: VolumeId, registrants: &[Registrant]) -> LocalBoxFuture<'static, ()> {
        let nexuses = self.reactor.target.nexuses_of(registrants);
        let members = self.registry.members().into_iter();
        let concerned = members.filter(|member| member.nexus.get().is_some_and(|id| nexuses.contains(&id)));
        let asked: Vec<_> = concerned
            .map(|member| {
                let (done, answer) = oneshot::channel();
                member.order(Order::Abort(volume, done));
                answer
            })
            .collect();
        let reactor = Rc::clone(&self.reactor);
        Box::pin(async move {
            for answer in asked {
                // A closed connection has no tasks.
                let _any = answer.await;
            }
            // Their background operations, which were answered at once, must not write any longer
            // either.
            reactor.target.stop_background_on(volume, Some(&nexuses)).await;
        })
    }
}

impl<M: Media + 'static> Frontend for Iscsi<M> {
    /// Ends sessions of initiators that belong to a host which has to authenticate now and did not at login: access that is
    /// granted to the host is not for any initiator that uses its name.
    fn publish(&self, _change: &Change, directory: &Directory) {
        for member in self.registry.members() {
            let session = member.session.borrow();
            let Some(identity) = session.as_ref().filter(|_| member.since.get().is_some()) else { continue };
            let now = directory.nexus(&identity.initiator_name);
            // Another user or secret of the same host is asked for at the next login.
            let proven = identity.authenticated_as.is_some() && now.host.map(|(id, _)| id) == member.host.get();
            if now.chap.is_some() && !proven {
                tracing::info!(initiator = %identity.initiator_name, peer = %member.peer, "session ended: its host has to authenticate now");
                member.order(Order::Close);
            }
        }
    }

    fn sessions(&self) -> Vec<SessionInfo> {
        let (now, instant) = (self.reactor.environment.now(), clock::now());
        let mut sessions = Vec::new();
        for member in self.registry.members() {
            let session = member.session.borrow();
            let (Some(identity), Some(since)) = (&*session, member.since.get()) else { continue };
            if identity.session_type != SessionType::Normal {
                continue;
            }
            sessions.push(SessionInfo {
                id: member.id,
                initiator: identity.initiator_name.to_string(),
                portal: member.portal,
                target_port: identity.target_portal_group_tag,
                peer_address: member.peer,
                since,
                last_io: member.last_io.get().map(|last| now - instant.saturating_duration_since(last)),
                commands: member.commands.get(),
                read_bytes: member.read_bytes.get(),
                written_bytes: member.written_bytes.get(),
            });
        }
        sessions
    }

    fn drop_session(&self, id: u64) -> bool {
        let members = self.registry.members();
        let found = members.iter().find(|m| m.id == id && m.session.borrow().is_some());
        if let Some(member) = found {
            member.order(Order::Close);
        }
        found.is_some()
    }

    fn connections(&self) -> ConnectionCounters {
        let (with_session, without_session) = self.registry.counts();
        let closed = &self.registry.closed;
        ConnectionCounters {
            with_session: with_session as u64,
            without_session: without_session as u64,
            max_sessions: MAX_SESSIONS as u64,
            max_without_session: MAX_CONNECTIONS_WITHOUT_SESSION as u64,
            displaced: closed.displaced.total(),
            logins_failed: closed.login_failed.total(),
            sessions_full: closed.sessions_full.total(),
            login_timeouts: closed.login_timeout.total(),
            protocol_errors: closed.protocol_error.total(),
        }
    }

    fn commands(&self) -> u64 {
        let members = self.registry.members();
        members.iter().map(|member| member.commands.get()).fold(0, u64::saturating_add)
    }

    fn settled(&self) -> LocalBoxFuture<'static, ()> {
        Box::pin(ready(()))
    }

    fn shut_down(&self) -> LocalBoxFuture<'static, ()> {
        let registry = self.registry.clone();
        Box::pin(async move { registry.shut_down(LOGOUT_SECONDS).await })
    }
}
