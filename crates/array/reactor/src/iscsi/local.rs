//! The nexus side of a connection on the reactor's own thread: a call is a call. Logins happen here.

use super::super::clock;
use super::super::quantum::HostShare;
use super::super::socket::Socket;
use super::Iscsi;
use super::directory::{Claimed, PortalDirectory};
use super::messages::{Completion, Dispatch, FunctionCompletion, Instruction};
use super::nexus_side::NexusSide;
use super::nexus_tasks::NexusTasks;
use super::registry::{MAX_SESSIONS, Member, Order};
use control::{Knock, LoginOutcome, SessionParameters};
use iscsi::connection::{CloseReason, Connection, Directory, SessionIdentity, SessionType, TaskHandle, TaskManagement};
use iscsi::parameters::Parameters;
use iscsi::pdu::LoginStatus;
use media::Media;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Reason for an initiator that the array does not know.
const UNKNOWN: &str = "no host with this name, and no volume for every initiator";

/// Outcome of a login that was refused with a status.
fn outcome(status: LoginStatus) -> LoginOutcome {
    match status {
        LoginStatus::AUTHORIZATION_FAILURE => LoginOutcome::UnknownInitiator,
        LoginStatus::AUTHENTICATION_FAILURE => LoginOutcome::ChapFailed,
        LoginStatus::TARGET_NOT_FOUND => LoginOutcome::UnknownTarget,
        LoginStatus::OUT_OF_RESOURCES => LoginOutcome::Full,
        LoginStatus::TARGET_MOVED_TEMPORARILY | LoginStatus::TARGET_MOVED_PERMANENTLY => LoginOutcome::Redirected,
        _ => LoginOutcome::Protocol,
    }
}

/// Nexus side of a connection on the reactor.
pub(super) struct LocalNexusSide<M: Media + 'static> {
    side: NexusTasks<M>,
    directory: PortalDirectory<M>,
    /// Ends the sessions that the login reinstates.
    opening: Option<Pin<Box<dyn Future<Output = SessionIdentity>>>>,
}

impl<M: Media + 'static> LocalNexusSide<M> {
    /// `portal`: index of the portal that accepted the connection.
    pub fn new(iscsi: &Rc<Iscsi<M>>, member: &Rc<Member>, socket: &impl Socket, portal: usize) -> Self {
        let directory = PortalDirectory {
            iscsi: Rc::clone(iscsi),
            portal,
            local: socket.local_address(),
            nexus: None,
            claimed: Claimed::default(),
        };
        member.mss_bytes.set(socket.segment_bytes());
        Self { side: NexusTasks::new(Rc::clone(iscsi), Rc::clone(member)), directory, opening: None }
    }

    /// Nexus side, after the last command and function.
    pub fn into_side(self) -> NexusTasks<M> {
        self.side
    }

    /// Nexus side and directory, for a connection that moves to another thread.
    pub fn into_parts(self) -> (NexusTasks<M>, PortalDirectory<M>) {
        (self.side, self.directory)
    }

    /// Opens the session after the end of those that it reinstates.
    fn open(&mut self, core: &mut Connection, identity: SessionIdentity) {
        let (iscsi, member) = (self.side.iscsi(), self.side.member());
        let reactor = &iscsi.reactor;
        let Some(host) = iscsi.proven_host(&identity) else {
            core.reject_login(LoginStatus::AUTHENTICATION_FAILURE);
            return;
        };
        member.host.record.set(host);
        let tsih = iscsi.registry.new_tsih();
        if !core.accept_session(tsih) {
            return;
        }
        if identity.session_type == SessionType::Normal {
            let isid: String = identity.isid.iter().map(|b| format!("{b:02x}")).collect();
            let port = format!("{},i,0x{isid}", identity.initiator_name);
            let target_port = reactor.port_identifier(self.directory.portal);
            let nexus = iscsi.target.attach_nexus(&port, &identity.initiator_name, target_port);
            iscsi.target.set_query_functions(nexus, core.parameters().carries_query_functions());
            self.directory.nexus = Some(nexus);
            member.nexus.set(Some(nexus));
            member.host.share.replace(Some(iscsi.share_of(member, host)));
            member.normal.set(true);
            tracing::info!(initiator = %identity.initiator_name, peer = %member.peer, portal = %member.portal, "session opened");
        }
        self.report_opened(identity.session_type);
        member.parameters.set(negotiated(core.parameters()));
        member.since.set(Some(reactor.environment.now()));
        member.session.replace(Some(SessionIdentity { tsih, ..identity }));
    }

    /// Keeps an attempt whose session has opened.
    fn report_opened(&self, session_type: SessionType) {
        let Some(name) = self.directory.claimed.last() else { return };
        let nexus = self.side.iscsi().reactor.directory().nexus(&name);
        let (outcome, detail) = match (nexus.host.is_some(), nexus.logical_units.is_empty()) {
            (_, false) => (LoginOutcome::Ok, "logged in"),
            (true, true) => (LoginOutcome::NotGranted, "no volume is granted to the host"),
            // A discovery session, which is shown no target.
            (false, true) => (LoginOutcome::UnknownInitiator, UNKNOWN),
        };
        let detail = match session_type {
            SessionType::Discovery if outcome == LoginOutcome::Ok => "was shown the target",
            _ => detail,
        };
        self.keep_attempt(outcome, detail);
    }

    /// Keeps an attempt for administrators, if its name is known: a connection without one may be a probe of a network.
    fn keep_attempt(&self, outcome: LoginOutcome, detail: &'static str) {
        let Some(name) = self.directory.claimed.last() else { return };
        let (iscsi, member) = (self.side.iscsi(), self.side.member());
        let reactor = &iscsi.reactor;
        let is_known = reactor.directory().host_of(&name).is_some();
        let discovery = self.directory.claimed.is_discovery();
        let (from, portal) = (member.peer.ip(), member.portal);
        let knock = Knock { initiator: name.into(), from, portal, discovery, outcome, detail };
        iscsi.registry.knocked(knock, is_known, reactor.environment.now());
    }

    /// Notes a failed login for an event, and logs it once in a while.
    fn report_refusal(&self, status: LoginStatus, reason: &'static str) {
        let closed = &self.side.iscsi().registry.closed;
        let peer = self.side.member().peer;
        let claimed = self.directory.claimed.last();
        let initiator = claimed.as_deref().unwrap_or("unnamed");
        let reason = match status {
            LoginStatus::AUTHORIZATION_FAILURE => UNKNOWN,
            LoginStatus::TARGET_NOT_FOUND => "the array has no target of this name",
            LoginStatus::OUT_OF_RESOURCES => "too many sessions are open",
            _ => reason,
        };
        closed.refused.add(status, initiator, peer, reason);
        self.keep_attempt(outcome(status), reason);
        if let Some(count) = closed.count_refusal(status, clock::now()) {
            tracing::warn!(initiator, %peer, reason, count, "login refused");
        }
    }
}

/// What a login has negotiated, as administrators see it.
fn negotiated(of: &Parameters) -> SessionParameters {
    SessionParameters {
        header_digest: of.header_digest,
        data_digest: of.data_digest,
        initial_r2t: of.initial_r2t,
        immediate_data: of.immediate_data,
        initiator_segment_bytes: of.initiator_max_recv_data_segment_length,
        target_segment_bytes: of.target_max_recv_data_segment_length,
        max_burst_bytes: of.max_burst_length,
        first_burst_bytes: of.first_burst_length,
        max_outstanding_r2t: of.max_outstanding_r2t,
    }
}

impl<M: Media + 'static> NexusSide for LocalNexusSide<M> {
    fn directory(&self) -> &dyn Directory {
        &self.directory
    }

    fn share(&self) -> Option<Arc<HostShare>> {
        self.side.member().host.share.borrow().clone()
    }

    fn session_opening(&mut self, core: &mut Connection, identity: SessionIdentity) {
        let (registry, member) = (&self.side.iscsi().registry, self.side.member());
        if identity.requested_tsih != 0 {
            let status = if registry.has_session(identity.requested_tsih) {
                LoginStatus::TOO_MANY_CONNECTIONS
            } else {
                LoginStatus::SESSION_DOES_NOT_EXIST
            };
            core.reject_login(status);
            return;
        }
        let old = match identity.session_type {
            SessionType::Normal => registry.same_nexus(&identity, member.id),
            SessionType::Discovery => Vec::new(),
        };
        let reinstated = old.iter().filter(|member| member.normal.get()).count();
        let room = registry.has_room(member.peer.ip(), reinstated, MAX_SESSIONS);
        if identity.session_type == SessionType::Normal && !room {
            if let Some(count) = registry.closed.sessions_full.count(clock::now()) {
                tracing::warn!(initiator = %identity.initiator_name, peer = %member.peer, count, "login refused: of {MAX_SESSIONS} sessions too many are taken");
            }
            core.reject_login(LoginStatus::OUT_OF_RESOURCES);
            return;
        }
        // The identity is stored at once: of two simultaneous logins, the later one reinstates the
        // session of the earlier.
        member.session.replace(Some(identity.clone()));
        self.opening = Some(Box::pin(async move {
            for member in old {
                member.order(Order::Close);
                member.wait_gone().await;
            }
            identity
        }));
    }

    fn poll_opening(&mut self, core: &mut Connection, context: &mut Context<'_>) -> bool {
        let Some(opening) = &mut self.opening else { return false };
        let Poll::Ready(identity) = opening.as_mut().poll(context) else { return false };
        self.opening = None;
        self.open(core, identity);
        true
    }

    fn is_full(&self, _: &mut Context<'_>) -> bool {
        false
    }

    fn start(&mut self, command: Dispatch) {
        self.side.start(command);
    }

    fn function(&mut self, request: TaskManagement) {
        self.side.function(request);
    }

    fn abort_all(&mut self) {
        self.side.abort_all();
    }

    fn aborted(&mut self, number: u64, tasks: Vec<TaskHandle>, any: bool) {
        self.side.aborted(number, tasks, any);
    }

    fn ask_to_give_way(&mut self) {
        self.side.ask_to_give_way();
    }

    fn closing(&mut self, reason: &CloseReason) {
        self.side.closing(reason);
        let is_open = self.side.member().since.get().is_some();
        match reason {
            CloseReason::LoginFailed(status, why) => self.report_refusal(*status, why),
            CloseReason::LoginTimeout => self.keep_attempt(LoginOutcome::Protocol, "the login did not end in time"),
            CloseReason::ProtocolError(_) | CloseReason::DigestError if !is_open => {
                self.keep_attempt(LoginOutcome::Protocol, "protocol error during the login");
            }
            _ => {}
        }
    }

    fn ended(&mut self) {
        self.side.ended();
    }

    fn take_instructions(&mut self) -> Vec<Instruction> {
        self.side.take_instructions()
    }

    fn poll_completion(&mut self, context: &mut Context<'_>) -> Option<Completion> {
        self.side.poll_completion(context)
    }

    fn poll_function(&mut self, context: &mut Context<'_>) -> Option<FunctionCompletion> {
        self.side.poll_function(context)
    }
}
