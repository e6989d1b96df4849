//! One iSCSI connection: the socket, the protocol core, and the commands in flight.
//!
//! One poll does all work that a wake-up makes possible: it answers finished commands, reads and
//! executes received PDUs, and writes responses. A batch of commands therefore costs one read, one
//! write and one pump of the pool.

use super::super::clock;
use super::super::memory::{Moved, Ration};
#[cfg(feature = "simulation")]
use super::super::mutations::{Mutation, without};
use super::Iscsi;
use super::data_out::DataOut;
use super::directory::{ClaimedName, PortalDirectory};
use super::execute::{Execution, Finished};
use super::registry::{MAX_SESSIONS, Member, Order};
use super::socket::Socket;
use super::task_management::manage;
use super::wire::{Received, Wire};
use block::VolumeId;
use iscsi::connection::{
    CloseReason, Command, Config, Connection, Event, Response, SessionIdentity, SessionType, TaskHandle, TaskManagement,
};
use iscsi::pdu::LoginStatus;
use media::Media;
use scsi_target::{Arrival, Request, TaskAttribute};
use std::collections::BTreeSet;
use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;
use unit::AbortFlag;

/// Largest amount of data in flight of one connection in each direction. More does not make a
/// connection faster.
const MAX_CONNECTION_DATA_BYTES: usize = 64 << 20;
/// Time for an initiator to read the remaining output of a connection that ends.
const LINGER: Duration = Duration::from_secs(5);
/// Reads in one poll; the limit lets other connections run.
const READS_PER_POLL: usize = 8;

type Boxed<T> = Pin<Box<dyn Future<Output = T>>>;

struct ConnectionTask<M: Media + 'static, S> {
    wire: Wire<S>,
    core: Connection,
    directory: PortalDirectory<M>,
    member: Rc<Member>,
    execution: Execution,
    ration: Ration<Command>,
    /// True if received bytes that were held back may be waiting.
    retry_input: bool,
    opening: Option<Boxed<SessionIdentity>>,
    logging_out: bool,
    /// True if the connection closes once its output is written.
    ending: bool,
    closed: Option<CloseReason>,
    /// Instant at which the rest of the output of an ended connection is discarded.
    linger_until: Option<Instant>,
    timer: Pin<Box<tokio::time::Sleep>>,
    timer_at: Option<Instant>,
    orders: Boxed<()>,
}

/// Registers an accepted connection.
pub(super) fn join<M: Media + 'static>(
    iscsi: &Iscsi<M>,
    socket: &impl Socket,
    peer: SocketAddr,
    portal: usize,
) -> Rc<Member> {
    let listen = iscsi.portals.get(portal).map_or(peer, |p| p.listen);
    let local = socket.local_address();
    let portal_address = local.map_or(listen, |local| SocketAddr::new(local.ip().to_canonical(), local.port()));
    iscsi.registry.join(portal_address, SocketAddr::new(peer.ip().to_canonical(), peer.port()))
}

/// Serves a connection until it has ended and its last command is done.
pub(super) async fn serve<M: Media + 'static>(
    iscsi: Rc<Iscsi<M>>,
    socket: impl Socket,
    member: Rc<Member>,
    portal: usize,
) {
    let mut task = ConnectionTask::new(&iscsi, socket, &member, portal);
    poll_fn(|context| task.poll(context)).await;
    if let Some(reason) = &task.closed {
        tracing::debug!(peer = %member.peer, ?reason, "connection ended");
    }
    let ConnectionTask { wire, mut core, mut execution, mut ration, orders, .. } = task;
    drop(wire);
    // A pending wake-up passes to the next waiter.
    drop(orders);
    core.close();
    ration.leave();
    execution.abort_all();
    #[cfg(feature = "simulation")]
    if without(Mutation::NexusBeforeDrain) {
        iscsi.registry.leave(&member);
    }
    drain(&mut execution, &member).await;
    if let Some(nexus) = member.nexus.take() {
        iscsi.target.stop_background_of(nexus).await;
        iscsi.target.detach_nexus(nexus);
    }
    for order in member.orders.take() {
        if let Order::Abort(_, done) = order {
            let _gone = done.send(false);
        }
    }
    iscsi.registry.leave(&member);
}

/// Waits for the last command and the last task management function of an ended connection.
///
/// Commands of this session must not take effect after the next login, so the nexus ends with the
/// last command. A function that aborts commands of other nexuses must finish, too: those commands
/// get no response, and a unit attention reports the abort (SAM-5 §6.3.3). Functions of two
/// connections may wait for each other's commands, so orders are still followed here.
async fn drain(execution: &mut Execution, member: &Rc<Member>) {
    let mut orders = wait_order(member.clone());
    poll_fn(|context| {
        loop {
            for order in member.orders.take() {
                if let Order::Abort(volumes, done) = order {
                    let tasks = execution.on_volumes(&volumes).collect();
                    execution.wait_for(tasks, false, done);
                }
            }
            if execution.poll_drained(context).is_ready() {
                return Poll::Ready(());
            }
            if orders.as_mut().poll(context).is_pending() {
                return Poll::Pending;
            }
            orders = wait_order(member.clone());
        }
    })
    .await;
}

fn wait_order(member: Rc<Member>) -> Boxed<()> {
    Box::pin(async move { member.wake.notified().await })
}

/// True if a connection that ended for this reason has output left: a logout or login response, or
/// a Reject.
fn waits_for_output(reason: &CloseReason) -> bool {
    match reason {
        CloseReason::LoggedOut
        | CloseReason::LoginFailed(..)
        | CloseReason::ProtocolError(_)
        | CloseReason::DigestError => true,
        CloseReason::LoginTimeout
        | CloseReason::KeepaliveTimeout
        | CloseReason::LogoutTimeout
        | CloseReason::Requested => false,
    }
}

impl<M: Media + 'static, S: Socket> ConnectionTask<M, S> {
    fn new(iscsi: &Rc<Iscsi<M>>, socket: S, member: &Rc<Member>, portal: usize) -> Self {
        let local = socket.local_address();
        let mut seed = [0; 32];
        iscsi.reactor.environment.fill_random(&mut seed);
        let now = clock::now();
        let config = Config {
            max_data_out_bytes: MAX_CONNECTION_DATA_BYTES,
            max_data_in_bytes: MAX_CONNECTION_DATA_BYTES,
            missing_task_response: iscsi.missing_task_response,
            ..Config::default()
        };
        let ration = Ration::new(&iscsi.data_in, &iscsi.data_out, &member.wake, config.max_transfer_bytes);
        let mut core = Connection::new(now, config, seed);
        core.share_data_out_memory(Rc::new(DataOut(ration.data_out())));
        Self {
            wire: Wire::new(socket),
            core,
            directory: PortalDirectory {
                iscsi: iscsi.clone(),
                portal,
                local,
                nexus: None,
                claimed: ClaimedName::default(),
            },
            member: member.clone(),
            execution: Execution::default(),
            ration,
            retry_input: false,
            opening: None,
            logging_out: false,
            ending: false,
            closed: None,
            linger_until: None,
            timer: Box::pin(tokio::time::sleep_until(now.into())),
            timer_at: None,
            orders: wait_order(member.clone()),
        }
    }

    /// Does all work that is possible now. Ready when the connection is over; commands may still be
    /// running.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        loop {
            let mut progress = self.take_orders(context);
            progress |= self.finish_commands(context);
            progress |= self.finish_functions(context);
            progress |= self.open_session(context);
            progress |= self.start_waiting();
            progress |= self.read(context);
            self.take_events();
            match self.write(context) {
                Ok(wrote) => progress |= wrote,
                Err(_peer_gone) => return Poll::Ready(()),
            }
            let written = self.wire.is_flushed(&self.core);
            if self.ending && written && self.closed.is_none() {
                self.core.close();
                continue;
            }
            if let Some(reason) = &self.closed
                && (written || !waits_for_output(reason))
            {
                return Poll::Ready(());
            }
            if self.linger_until.is_some_and(|until| until <= clock::now()) {
                return Poll::Ready(());
            }
            progress |= self.time(context);
            if !progress {
                return Poll::Pending;
            }
        }
    }

    fn take_orders(&mut self, context: &mut Context<'_>) -> bool {
        if self.orders.as_mut().poll(context).is_pending() {
            return false;
        }
        self.orders = wait_order(self.member.clone());
        for order in self.member.orders.take() {
            match order {
                Order::Close => self.core.close(),
                Order::Leave(seconds) => self.core.request_logout(clock::now(), seconds),
                Order::Abort(volumes, done) => self.abort(&volumes, done),
                Order::GiveWay => self.give_way(),
            }
        }
        true
    }

    /// Ends tasks on behalf of another connection's task management function.
    fn abort(&mut self, volumes: &BTreeSet<VolumeId>, done: oneshot::Sender<bool>) {
        // Commands that the previous order released are included.
        self.take_events();
        let waiting = self.ration.waiting();
        let waiting = waiting.filter(|command| volume_of(command).is_some_and(|volume| volumes.contains(&volume)));
        let waiting = waiting.map(|command| command.task);
        let concerned: Vec<TaskHandle> = self.execution.on_volumes(volumes).chain(waiting).collect();
        let receiving = self.core.discard_receiving(|unit| volumes.contains(&VolumeId(unit)));
        for task in &concerned {
            self.core.discard(*task);
        }
        self.execution.abort(&concerned);
        self.ration.forget(|command| concerned.contains(&command.task));
        let any = receiving || !concerned.is_empty();
        self.execution.wait_for(concerned, any, done);
    }

    fn finish_commands(&mut self, context: &mut Context<'_>) -> bool {
        let mut progress = false;
        while let Some(finished) = self.execution.poll_finished(context) {
            self.respond(finished);
            progress = true;
        }
        if progress {
            self.retry_input = true;
        }
        progress
    }

    fn respond(&mut self, finished: Finished) {
        let Finished { task, response, held } = finished;
        let member = &self.member;
        member.read_bytes.set(member.read_bytes.get() + response.data_in.len() as u64);
        let data_in_bytes = response.data_in.len().min(held);
        #[cfg(feature = "simulation")]
        if without(Mutation::ReplyLost) && self.core.output_bytes() > 0 {
            return;
        }
        let answered = self.core.respond(
            task,
            Response {
                status: response.status,
                sense: &response.sense,
                data_in: response.data_in,
                transfer_bytes: response.transfer_bytes,
            },
        );
        // Data-In stays in memory until its last byte is written.
        let kept = if answered { data_in_bytes } else { 0 };
        self.ration.responded(held, kept, self.wire.end_of_output(&self.core));
        if self.logging_out && self.execution.is_idle() {
            self.logging_out = false;
            self.core.finish_logout();
        }
    }

    fn finish_functions(&mut self, context: &mut Context<'_>) -> bool {
        let mut progress = false;
        while let Some((handle, response)) = self.execution.poll_function(context) {
            self.core.respond_task_management_with(handle, response.response, response.additional);
            // The session ends once the response is written.
            self.ending |= response.ends_session;
            progress = true;
        }
        progress
    }

    fn open_session(&mut self, context: &mut Context<'_>) -> bool {
        let Some(opening) = &mut self.opening else { return false };
        let Poll::Ready(identity) = opening.as_mut().poll(context) else { return false };
        self.opening = None;
        let iscsi = self.directory.iscsi.clone();
        let reactor = &iscsi.reactor;
        let Some(host) = iscsi.proven_host(&identity) else {
            self.core.reject_login(LoginStatus::AUTHENTICATION_FAILURE);
            return true;
        };
        self.member.host.set(host);
        let tsih = iscsi.registry.new_tsih();
        if !self.core.accept_session(tsih) {
            return true;
        }
        if identity.session_type == SessionType::Normal {
            let isid: String = identity.isid.iter().map(|b| format!("{b:02x}")).collect();
            let port = format!("{},i,0x{isid}", identity.initiator_name);
            let target_port = reactor.port_identifier(self.directory.portal);
            let nexus = iscsi.target.attach_nexus(&port, &identity.initiator_name, target_port);
            iscsi.target.set_query_functions(nexus, self.core.parameters().carries_query_functions());
            self.directory.nexus = Some(nexus);
            self.member.nexus.set(Some(nexus));
            self.member.normal.set(true);
            tracing::info!(initiator = %identity.initiator_name, peer = %self.member.peer, portal = %self.member.portal, "session opened");
        }
        self.member.since.set(Some(reactor.environment.now()));
        self.member.session.replace(Some(SessionIdentity { tsih, ..identity }));
        self.retry_input = true;
        true
    }

    fn read(&mut self, context: &mut Context<'_>) -> bool {
        let mut progress = false;
        if std::mem::take(&mut self.retry_input) && !self.wire.received().is_empty() {
            self.core.handle_input(clock::now(), self.wire.received(), &self.directory);
            progress = true;
        }
        for _ in 0..READS_PER_POLL {
            if self.closed.is_some() || self.core.is_closed() || self.core.is_input_held_back() {
                return progress;
            }
            match self.wire.receive(context) {
                Received::Data => {
                    progress = true;
                    self.core.handle_input(clock::now(), self.wire.received(), &self.directory);
                    self.take_events();
                }
                Received::Pending => return progress,
                Received::End => {
                    self.core.close();
                    return true;
                }
            }
        }
        // Other tasks run first; the socket still holds the remaining input.
        context.waker().wake_by_ref();
        false
    }

    fn take_events(&mut self) {
        while let Some(event) = self.core.poll_event() {
            match event {
                Event::SessionOpening(identity) => self.session_opening(identity),
                Event::Command(command) => self.command(command),
                Event::TaskManagement(request) => self.task_management(request),
                Event::Logout => {
                    self.ration.forget_all();
                    self.execution.abort_all();
                    if self.execution.is_idle() {
                        self.core.finish_logout();
                    } else {
                        self.logging_out = true;
                    }
                }
                Event::Closed(reason) => {
                    let count = self.directory.iscsi.registry.closed.count(&reason, clock::now());
                    if let (Some(count), CloseReason::ProtocolError(what)) = (count, &reason) {
                        tracing::warn!(peer = %self.member.peer, what, count, "connection dropped: protocol error");
                    }
                    if let CloseReason::LoginFailed(status, why) = reason {
                        self.report_refusal(status, why);
                    }
                    self.closed = Some(reason);
                }
            }
        }
    }

    /// Notes a failed login for an event, and logs it once in a while.
    fn report_refusal(&self, status: LoginStatus, reason: &'static str) {
        let closed = &self.directory.iscsi.registry.closed;
        let claimed = self.directory.claimed.last();
        let initiator = claimed.as_deref().unwrap_or("unnamed");
        let reason = match status {
            LoginStatus::AUTHORIZATION_FAILURE => "no host with this name, and no volume for every initiator",
            LoginStatus::TARGET_NOT_FOUND => "the array has no target of this name",
            LoginStatus::OUT_OF_RESOURCES => "too many sessions are open",
            _ => reason,
        };
        closed.refused.add(status, initiator, self.member.peer, reason);
        if let Some(count) = closed.count_refusal(status, clock::now()) {
            tracing::warn!(initiator, peer = %self.member.peer, reason, count, "login refused");
        }
    }

    fn session_opening(&mut self, identity: SessionIdentity) {
        let registry = &self.directory.iscsi.registry;
        if identity.requested_tsih != 0 {
            let status = if registry.has_session(identity.requested_tsih) {
                LoginStatus::TOO_MANY_CONNECTIONS
            } else {
                LoginStatus::SESSION_DOES_NOT_EXIST
            };
            self.core.reject_login(status);
            return;
        }
        let old = match identity.session_type {
            SessionType::Normal => registry.same_nexus(&identity, self.member.id),
            SessionType::Discovery => Vec::new(),
        };
        let reinstated = old.iter().filter(|member| member.normal.get()).count();
        let room = registry.has_room(self.member.peer.ip(), reinstated, MAX_SESSIONS);
        if identity.session_type == SessionType::Normal && !room {
            if let Some(count) = registry.closed.sessions_full.count(clock::now()) {
                tracing::warn!(initiator = %identity.initiator_name, peer = %self.member.peer, count, "login refused: of {MAX_SESSIONS} sessions too many are taken");
            }
            self.core.reject_login(LoginStatus::OUT_OF_RESOURCES);
            return;
        }
        // The identity is stored at once: of two simultaneous logins, the later one reinstates the
        // session of the earlier.
        self.member.session.replace(Some(identity.clone()));
        self.opening = Some(Box::pin(async move {
            for member in old {
                member.order(Order::Close);
                member.wait_gone().await;
            }
            identity
        }));
    }

    /// Executes a command, or queues it until memory for its Data-In is free, behind commands that
    /// wait already.
    fn command(&mut self, command: Command) {
        if let Some(command) = self.ration.admit(command) {
            self.start(command);
        }
    }

    /// Starts commands that waited for memory and have been granted it.
    fn start_waiting(&mut self) -> bool {
        let mut progress = false;
        while let Some(command) = self.ration.next_admitted() {
            self.start(command);
            progress = true;
        }
        if self.core.waits_for_data_out_memory() {
            self.core.data_out_memory_available();
        }
        self.ration.update(self.core.waits_for_data_out_memory());
        progress
    }

    /// Handles a request of connections that wait for memory: ends this connection if it holds
    /// memory and its initiator neither reads nor sends.
    fn give_way(&mut self) {
        let moved = Moved {
            written: self.wire.written(),
            has_output: self.wire.has_output(),
            received: self.core.counters().data_out_bytes,
            awaits_data: self.core.awaits_data_out(),
        };
        if let Some(what) = self.ration.stalled(moved) {
            tracing::warn!(peer = %self.member.peer, "connection closed: the initiator {what} its data, and others wait for the memory");
            self.core.close();
        }
    }

    fn start(&mut self, command: Command) {
        let held = self.ration.needed_bytes(&command);
        let Some(nexus) = self.directory.nexus else { return };
        let member = &self.member;
        member.commands.set(member.commands.get() + 1);
        member.last_io.set(Some(clock::now()));
        member.written_bytes.set(member.written_bytes.get() + command.data_out.len() as u64);
        let target = self.directory.iscsi.target.clone();
        let lun = command.lun;
        let abort = AbortFlag::default();
        let arrival = Arrival { volume: volume_of(&command), content_generation: command.arrival.content_generation };
        let volume = arrival.volume;
        let request = Request {
            cdb: command.cdb,
            data_out: command.data_out,
            expected_data_in: command.expected_data_in,
            attribute: attribute(command.attribute),
            expected_data_out: if command.write { command.expected_data_transfer_length } else { 0 },
            abort: abort.clone(),
        };
        let memory = command.data_out_memory;
        let execute = async move {
            let response = target.execute_arrived(nexus, lun, arrival, request).await;
            drop(memory);
            response
        };
        self.execution.start(command.task, volume, held, abort, execute);
    }

    fn task_management(&mut self, request: TaskManagement) {
        let Some(nexus) = self.directory.nexus else { return };
        let iscsi = self.directory.iscsi.clone();
        self.execution.abort(&request.tasks);
        let (done, own) = oneshot::channel();
        self.execution.wait_for(request.tasks.clone(), !request.tasks.is_empty(), done);
        self.ration.forget(|command| request.tasks.contains(&command.task));
        let member = self.member.id;
        let TaskManagement { handle, function, lun, present, .. } = request;
        self.execution.start_function(async move {
            let _none_or_done = own.await;
            (handle, manage(&iscsi, member, nexus, function, lun, present).await)
        });
    }

    fn write(&mut self, context: &mut Context<'_>) -> std::io::Result<bool> {
        let before = self.wire.written();
        let result = self.wire.write(&mut self.core, context);
        if self.wire.written() != before {
            // Written output may allow input that it held back.
            self.retry_input = true;
            self.ration.written(self.wire.written());
        }
        result
    }

    fn time(&mut self, context: &mut Context<'_>) -> bool {
        if (self.closed.is_some() || self.ending) && self.linger_until.is_none() {
            self.linger_until = clock::now().checked_add(LINGER);
        }
        let due = self.core.poll_timeout().into_iter().chain(self.linger_until).chain(self.ration.give_way_at()).min();
        if due != self.timer_at {
            self.timer_at = due;
            if let Some(due) = due {
                self.timer.as_mut().reset(due.into());
            }
        }
        if self.timer_at.is_none() || self.timer.as_mut().poll(context).is_pending() {
            return false;
        }
        self.timer_at = None;
        let now = clock::now();
        if self.ration.asks_to_give_way(now) {
            for member in self.directory.iscsi.registry.members() {
                member.order(Order::GiveWay);
            }
        }
        self.core.handle_timeout(now);
        true
    }
}

/// Volume that a command addresses.
fn volume_of(command: &Command) -> Option<VolumeId> {
    command.arrival.logical_unit.map(VolumeId)
}

/// Task attribute of a command (RFC 7143 §11.3.1).
fn attribute(attribute: iscsi::pdu::TaskAttribute) -> TaskAttribute {
    match attribute {
        iscsi::pdu::TaskAttribute::UNTAGGED | iscsi::pdu::TaskAttribute::SIMPLE => TaskAttribute::Simple,
        iscsi::pdu::TaskAttribute::ORDERED => TaskAttribute::Ordered,
        iscsi::pdu::TaskAttribute::HEAD_OF_QUEUE => TaskAttribute::HeadOfQueue,
        _ => TaskAttribute::Invalid,
    }
}
