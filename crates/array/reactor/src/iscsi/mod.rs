//! iSCSI as a [`Frontend`]: portals, connections and their sessions, and registration with iSNS
//! servers.

mod connection;
mod data_out;
mod directory;
mod execute;
pub(super) mod executor;
pub(super) mod isns;
pub(super) mod listener;
mod local;
mod messages;
mod nexus_side;
mod nexus_tasks;
mod offload_limits;
mod outbox;
mod outstanding;
mod publish;
mod published;
mod registry;
mod remote;
mod seen;
mod task_management;

use super::clock;
use super::frontend::Frontend;
use super::quantum::HostShare;
use super::setup::ArraySetup;
use super::shared_memory::{Budgets, SharedMemory};
use super::state::Reactor;
use crate::AbortOfFinishedTask;
use block::VolumeId;
use control::{
    Change, ConnectionCounters, Directory, LoginAttempt, Portal, RefusedLogins, Registration, SessionInfo, SessionSeen,
};
use futures_util::future::LocalBoxFuture;
use iscsi::connection::{MissingTaskResponse, SessionIdentity, SessionType};
use jiff::Timestamp;
use media::Media;
use offload_limits::OffloadLimits;
use pool::Volume;
use qos::HostId;
use registry::{MAX_CONNECTIONS_WITHOUT_SESSION, MAX_SESSIONS, Member, Order, Registry};
use remote::{LinkTasks, ViewPublisher};
use scsi_target::{Limits, Profile, ScsiTarget, TargetIdentity, TargetOptions};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{oneshot, watch};
use unit::reservations::Notice;
use unit::{Adapter, ClientId, Registrant};
use uuid::Uuid;

/// Seconds that initiators have for their logout at shutdown.
const LOGOUT_SECONDS: u16 = 3;

/// Device server over the volumes of the pool.
type ArrayTarget<M> = ScsiTarget<Volume<M>>;

/// Interval between checks for expired copy tokens.
const TOKEN_INTERVAL: Duration = Duration::from_secs(1);

/// State that all iSCSI connections share.
pub(crate) struct Iscsi<M: Media + 'static> {
    pub reactor: Rc<Reactor<M>>,
    /// Device server of all sessions.
    pub target: Rc<ArrayTarget<M>>,
    pub registry: Rc<Registry>,
    /// Presentation of every logical unit.
    profile: Profile,
    /// Volumes with in-flight writes that are no longer allowed.
    unsettled: RefCell<BTreeSet<VolumeId>>,
    portals: Vec<Portal>,
    /// Facts that name servers have of the array.
    pub registration: watch::Sender<isns::Registration>,
    /// True if the portals' advertised addresses come from the configuration.
    advertise_configured: bool,
    /// Memory for data in flight of connections on this thread.
    memory: SharedMemory,
    /// Memory of all threads.
    budgets: Budgets,
    /// Executors, from number 1 on. Number 0 is this thread.
    links: RefCell<Vec<LinkTasks>>,
    /// Connections on executors.
    publishers: RefCell<Vec<Weak<ViewPublisher<M>>>>,
    /// Response to ABORT TASK for a task that does not exist.
    missing_task_response: MissingTaskResponse,
    /// Commands, bytes read and written, and observations of each session when it was last reported.
    told_sessions: RefCell<BTreeMap<u64, [u64; 4]>>,
}

impl<M: Media + 'static> Iscsi<M> {
    /// `memory`: that of this thread, of `budgets`.
    pub fn new(reactor: Rc<Reactor<M>>, setup: &ArraySetup, budgets: Budgets, memory: SharedMemory) -> Self {
        let options = target_options(&reactor, setup);
        let (registry, admissions) = (Rc::<Registry>::default(), Rc::clone(&reactor.admissions));
        let target = Rc::new(ScsiTarget::new(Rc::clone(&reactor.units), options));
        target.limit_offload(OffloadLimits { admissions, registry: Rc::clone(&registry) });
        let registration = isns::registration(reactor.directory().target(), &setup.portals, &[]);
        Self {
            target,
            reactor,
            registry,
            profile: setup.profile,
            unsettled: RefCell::default(),
            portals: setup.portals.clone(),
            registration: watch::Sender::new(registration),
            advertise_configured: setup.advertise_configured,
            memory,
            budgets,
            links: RefCell::default(),
            publishers: RefCell::default(),
            missing_task_response: missing_task_response(setup.abort_of_finished_task),
            told_sessions: RefCell::default(),
        }
    }

    /// Returns the host that an initiator has logged in as, `Some(None)` if it belongs to no host.
    /// `None` if it has not proved its identity as the directory now demands, which may differ from
    /// the demand at the start of its login.
    fn proven_host(&self, identity: &SessionIdentity) -> Option<Option<Uuid>> {
        let directory = self.reactor.directory();
        let host = directory.host_of(&identity.initiator_name);
        let chap = host.and_then(|host| host.chap.as_ref());
        let proven = chap.is_none_or(|chap| identity.authenticated_as.as_ref() == Some(&chap.user));
        proven.then(|| host.map(|host| host.id))
    }
}

/// Options of the SCSI target. Its ports and their groups follow with the directory.
fn target_options<M: Media + 'static>(reactor: &Reactor<M>, setup: &ArraySetup) -> TargetOptions {
    let mut token_key = [0; 32];
    reactor.environment.fill_random(&mut token_key);
    let name = reactor.directory().target().to_owned();
    TargetOptions {
        identity: TargetIdentity { name, groups: Vec::new(), ports: Vec::new() },
        limits: Limits::default(),
        explicit_access: setup.explicit_asymmetric_access,
        token_key,
    }
}

/// Ends copy tokens when they expire.
async fn expire_tokens<M: Media + 'static>(target: &ArrayTarget<M>) {
    loop {
        tokio::time::sleep(TOKEN_INTERVAL).await;
        target.expire_tokens();
    }
}

fn missing_task_response(configured: AbortOfFinishedTask) -> MissingTaskResponse {
    match configured {
        AbortOfFinishedTask::ByInitiatorName => MissingTaskResponse::ByInitiatorName,
        AbortOfFinishedTask::TaskDoesNotExist => MissingTaskResponse::TaskDoesNotExist,
        AbortOfFinishedTask::FunctionComplete => MissingTaskResponse::FunctionComplete,
    }
}

/// Describes a connection's session if it is a normal one in full feature phase. `instant` and
/// `now` are the same time.
fn session(
    member: &Member,
    now: Timestamp,
    instant: Instant,
    seen: impl FnOnce() -> SessionSeen,
) -> Option<SessionInfo> {
    let session = member.session.borrow();
    let identity = session.as_ref().filter(|identity| identity.session_type == SessionType::Normal)?;
    Some(SessionInfo {
        id: member.id,
        initiator: identity.initiator_name.to_string(),
        portal: member.portal,
        target_port: identity.target_portal_group_tag,
        peer_address: member.peer,
        since: member.since.get()?,
        last_io: member.last_io.get().map(|last| now - instant.saturating_duration_since(last)),
        commands: member.commands.get(),
        read_bytes: member.read_bytes.get(),
        written_bytes: member.written_bytes.get(),
        mss_bytes: member.mss_bytes.get(),
        parameters: member.parameters.get(),
        seen: seen(),
    })
}

impl<M: Media + 'static> Iscsi<M> {
    /// Share of a session's host in the time of threads. An initiator without a host is one of its own.
    fn share_of(&self, member: &Member, host: Option<Uuid>) -> Arc<HostShare> {
        let connection = || HostId::of_connection(member.id);
        let host = host.map_or_else(connection, |host| HostId::of_record(host.as_u128()));
        self.reactor.admissions.share_of(host)
    }

    /// Lets sessions follow a change of the initiators of hosts: the next commands have the limits of the new host, and
    /// the next turns its weight.
    fn update_shares(&self, directory: &Directory) {
        for member in self.registry.members().into_iter().filter(|member| member.normal.get()) {
            let session = member.session.borrow();
            let Some(identity) = session.as_ref() else { continue };
            let host = directory.host_of(&identity.initiator_name).map(|host| host.id);
            let share = self.share_of(&member, host);
            let before = member.host.share.replace(Some(Arc::clone(&share)));
            if before.is_none_or(|before| before.host() != share.host()) {
                member.order(Order::Share(share));
            }
        }
    }

    /// Asks all connections to give way to those that wait for memory.
    pub fn give_way(&self) {
        for member in self.registry.members() {
            member.order(Order::GiveWay);
        }
    }

    /// Ends sessions of initiators of a host that now has to authenticate and did not at login:
    /// access granted to the host must not extend to any initiator that uses its name.
    fn end_unproven_sessions(&self, directory: &Directory) {
        for member in self.registry.members() {
            let session = member.session.borrow();
            let Some(identity) = session.as_ref().filter(|_| member.since.get().is_some()) else { continue };
            let Some(now) = directory.host_of(&identity.initiator_name) else { continue };
            // A changed user or secret of the same host applies from the next login.
            let proven = identity.authenticated_as.is_some() && Some(now.id) == member.host.record.get();
            if now.chap.is_some() && !proven {
                tracing::info!(initiator = %identity.initiator_name, peer = %member.peer, "session ended: its host has to authenticate now");
                member.order(Order::Close);
            }
        }
    }
}

impl<M: Media + 'static> Adapter for Iscsi<M> {
    fn notify(&self, volume: VolumeId, registrant: &Registrant, notice: Notice) {
        self.target.notify(volume, registrant, notice);
    }

    fn content_discarded(&self, volume: VolumeId) {
        self.target.content_discarded(volume);
        self.refresh_views();
    }

    fn abort(&self, volume: VolumeId, registrants: &[Registrant]) -> LocalBoxFuture<'static, ()> {
        let nexuses = self.target.nexuses_of(registrants);
        let volumes = Arc::new(BTreeSet::from([volume]));
        let members = self.registry.members().into_iter();
        let concerned = members.filter(|member| member.nexus.get().is_some_and(|id| nexuses.contains(&id)));
        let asked: Vec<_> = concerned
            .map(|member| {
                let (done, answer) = oneshot::channel();
                member.order(Order::Abort(Arc::clone(&volumes), done));
                answer
            })
            .collect();
        let target = Rc::clone(&self.target);
        Box::pin(async move {
            for answer in asked {
                // A closed connection has no tasks.
                let _any = answer.await;
            }
            // Their background operations, which were answered at once, must not write any longer
            // either.
            target.stop_background_on(&volumes, Some(&nexuses)).await;
        })
    }
}

impl<M: Media + 'static> Frontend for Iscsi<M> {
    fn load(&self, directory: &Directory) {
        self.load_target(directory);
        isns::update(&self.registration, &self.portals, directory.port_identifiers());
    }

    fn publish(&self, change: &Change, directory: &Directory) {
        self.publish_to_target(change, directory);
        self.refresh_views();
        match change {
            Change::HostChanged { .. } => {
                self.end_unproven_sessions(directory);
                self.update_shares(directory);
            }
            Change::HostRemoved { .. } => self.update_shares(directory),
            Change::PortGroupsChanged => {
                isns::update(&self.registration, &self.portals, directory.port_identifiers());
            }
            _ => {}
        }
    }

    fn sessions(&self) -> Vec<SessionInfo> {
        let (now, instant) = (self.reactor.environment.now(), clock::now());
        let info = |member: &Rc<Member>| session(member, now, instant, || self.seen(member, now));
        self.registry.members().iter().filter_map(info).collect()
    }

    fn take_changed_sessions(&self) -> Vec<(u64, Option<SessionInfo>)> {
        let (now, instant) = (self.reactor.environment.now(), clock::now());
        let mut told = self.told_sessions.borrow_mut();
        let mut ended = std::mem::take(&mut *told);
        let mut changed = Vec::new();
        for member in self.registry.members() {
            let observations = member.nexus.get().map_or(0, |nexus| self.target.observations_made(nexus));
            let (read, written) = (member.read_bytes.get(), member.written_bytes.get());
            let moved = [member.commands.get(), read, written, observations];
            let before = ended.remove(&member.id);
            if before == Some(moved) {
                told.insert(member.id, moved);
            } else if let Some(session) = session(&member, now, instant, || self.seen(&member, now)) {
                told.insert(member.id, moved);
                changed.push((member.id, Some(session)));
            } else if before.is_some() {
                changed.push((member.id, None));
            }
        }
        changed.extend(ended.into_keys().map(|id| (id, None)));
        changed
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

    fn logins(&self) -> Vec<Arc<LoginAttempt>> {
        self.registry.attempts()
    }

    fn take_changed_logins(&self) -> Option<Vec<Arc<LoginAttempt>>> {
        self.registry.take_changed_attempts()
    }

    fn take_refused_logins(&self) -> Option<RefusedLogins> {
        self.registry.closed.refused.take()
    }

    fn commands(&self) -> u64 {
        let members = self.registry.members();
        members.iter().map(|member| member.commands.get()).fold(0, u64::saturating_add)
    }

    fn client(&self, client: ClientId) -> Option<Registration> {
        let nexus = self.target.nexus_of(client)?;
        let registrant = scsi_target::registrant(&nexus.initiator_port, nexus.relative_target_port);
        // An initiator port without a parseable name has no ISID.
        let isid = registrant.and_then(|registrant| u64::try_from(registrant.instance).ok()).unwrap_or_default();
        let target_port = nexus.relative_target_port;
        Some(Registration { initiator: nexus.initiator, isid, target_port, key: 0, holder: true })
    }

    fn background(&self) -> LocalBoxFuture<'static, ()> {
        let target = Rc::clone(&self.target);
        Box::pin(async move {
            tokio::join!(target.run_background(), expire_tokens(&target));
        })
    }

    fn settled(&self) -> LocalBoxFuture<'static, ()> {
        let (reactor, volumes) = (Rc::clone(&self.reactor), self.unsettled.take());
        Box::pin(async move {
            for volume in volumes {
                reactor.units.writes_done(volume).await;
            }
        })
    }

    fn shut_down(&self) -> LocalBoxFuture<'static, ()> {
        let registry = self.registry.clone();
        Box::pin(async move { registry.shut_down(LOGOUT_SECONDS).await })
    }
}
