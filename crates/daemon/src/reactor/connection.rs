//! One iSCSI connection: the socket, the protocol core, and the commands in flight.
//!
//! Everything a wake-up makes possible is done in one poll: commands that finished are answered, what arrived is read and executed,
//! responses are written. So a batch of commands costs one read, one write and one pump of the pool.

use super::directory::{PortalDirectory, portal_group_tag};
use super::registry::{Member, Order};
use super::{MAX_SESSIONS, Reactor};
use block::VolumeId;
use bytes::{Buf, Bytes, BytesMut};
use futures_util::stream::{FuturesUnordered, StreamExt};
use iscsi::pdu::{LoginStatus, TaskManagementFunction, TaskManagementResponse};
use iscsi::target::{
    CloseReason, Command, Config, Connection, Event, Response, SessionIdentity, SessionType, TaskHandle,
    TaskManagement, TaskManagementHandle,
};
use jiff::Timestamp;
use rustc_hash::FxHashMap;
use scsi_target::{NexusId, Request};
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::io::{ErrorKind, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::net::TcpStream;
use tokio::sync::oneshot;

/// Room made in the receive buffer.
const RECEIVE_BYTES: usize = 128 << 10;
/// The same is made anew when less than this is left.
const RECEIVE_LOW_BYTES: usize = 16 << 10;
/// Chunks written in one call.
const WRITE_CHUNKS: usize = 64;
/// Output taken from the protocol core ahead of the socket; the rest stays there, where it holds back input.
const WRITE_AHEAD_BYTES: usize = 256 << 10;
/// Time for an initiator to take the last words of a connection that ends.
const LINGER: Duration = Duration::from_secs(5);
/// Reads in one poll, so that other connections get their turn.
const READS_PER_POLL: usize = 8;

type Finished = (TaskHandle, scsi_target::Response);
type Boxed<T> = Pin<Box<dyn Future<Output = T>>>;

/// Somebody who waits until certain tasks can have no effect any more.
struct Waiter {
    tasks: Vec<TaskHandle>,
    any: bool,
    done: oneshot::Sender<bool>,
}

struct ConnectionTask {
    stream: TcpStream,
    core: Connection,
    directory: PortalDirectory,
    member: Rc<Member>,
    received: BytesMut,
    /// Input may be waiting in `received` that was held back.
    retry_input: bool,
    output: VecDeque<Bytes>,
    /// Bytes in `output`.
    output_bytes: usize,
    commands: FuturesUnordered<Boxed<Finished>>,
    /// LUN of each command in flight.
    running: FxHashMap<TaskHandle, [u8; 8]>,
    waiters: Vec<Waiter>,
    functions: FuturesUnordered<Boxed<(TaskManagementHandle, TaskManagementResponse)>>,
    opening: Option<Boxed<SessionIdentity>>,
    logging_out: bool,
    closed: Option<CloseReason>,
    /// When the rest of the output of a connection that has ended is given up.
    linger_until: Option<Instant>,
    timer: Pin<Box<tokio::time::Sleep>>,
    timer_at: Option<Instant>,
    orders: Pin<Box<dyn Future<Output = ()>>>,
}

/// Registers a connection that was just accepted.
pub(crate) fn join(reactor: &Reactor, stream: &TcpStream, peer: SocketAddr, portal: usize) -> Rc<Member> {
    let listen = reactor.portals.get(portal).map_or(peer, |p| p.listen);
    let portal_address =
        stream.local_addr().map_or(listen, |local| SocketAddr::new(local.ip().to_canonical(), local.port()));
    reactor.registry.join(portal_address, SocketAddr::new(peer.ip().to_canonical(), peer.port()))
}

/// Serves a connection until it ends and its last command is done.
pub(crate) async fn serve(reactor: Rc<Reactor>, stream: TcpStream, member: Rc<Member>, portal: usize) {
    let local = stream.local_addr().ok();
    let mut seed = [0; 32];
    if getrandom::fill(&mut seed).is_err() {
        tracing::error!("no random numbers from the operating system; the connection is closed");
        reactor.registry.leave(&member);
        return;
    }
    let now = Instant::now();
    let data_bytes = reactor.connection_data_bytes();
    let config = Config { max_data_out_bytes: data_bytes, max_data_in_bytes: data_bytes, ..Config::default() };
    let mut task = ConnectionTask {
        core: Connection::new(now, config, seed),
        stream,
        directory: PortalDirectory { reactor: reactor.clone(), portal, local, nexus: None },
        received: BytesMut::new(),
        retry_input: false,
        output: VecDeque::new(),
        output_bytes: 0,
        commands: FuturesUnordered::new(),
        running: FxHashMap::default(),
        waiters: Vec::new(),
        functions: FuturesUnordered::new(),
        opening: None,
        logging_out: false,
        closed: None,
        timer: Box::pin(tokio::time::sleep_until(now.into())),
        timer_at: None,
        linger_until: None,
        orders: wait_order(member.clone()),
        member: member.clone(),
    };
    poll_fn(|context| task.poll(context)).await;
    if let Some(reason) = &task.closed {
        tracing::debug!(peer = %member.peer, ?reason, "connection ended");
    }
    drop(task.stream);
    // No command of this session may take effect after the next login: the nexus goes when the last one is done.
    while let Some((handle, _)) = task.commands.next().await {
        task.running.remove(&handle);
        release(&mut task.waiters, handle);
    }
    if let Some(nexus) = member.nexus.take() {
        reactor.target.detach_nexus(nexus);
    }
    for order in member.orders.take() {
        if let Order::Abort(_, done) = order {
            let _gone = done.send(false);
        }
    }
    reactor.registry.leave(&member);
}

fn wait_order(member: Rc<Member>) -> Pin<Box<dyn Future<Output = ()>>> {
    Box::pin(async move { member.wake.notified().await })
}

/// Whether a connection that ended for this reason still has something to say: a logout or login response, a Reject.
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

fn release(waiters: &mut Vec<Waiter>, handle: TaskHandle) {
    if waiters.is_empty() {
        return;
    }
    for waiter in waiters.iter_mut() {
        waiter.tasks.retain(|t| *t != handle);
    }
    let (done, waiting): (Vec<_>, Vec<_>) = std::mem::take(waiters).into_iter().partition(|w| w.tasks.is_empty());
    *waiters = waiting;
    for waiter in done {
        let _gone = waiter.done.send(waiter.any);
    }
}

impl ConnectionTask {
    /// Does everything that can be done now. Ready when the connection is over (commands may still be running).
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        loop {
            let mut progress = self.take_orders(context);
            progress |= self.finish_commands(context);
            progress |= self.finish_functions(context);
            progress |= self.open_session(context);
            progress |= self.read(context);
            self.take_events();
            match self.write(context) {
                Ok(wrote) => progress |= wrote,
                Err(_peer_gone) => return Poll::Ready(()),
            }
            let written = self.output.is_empty() && self.core.output_bytes() == 0;
            if let Some(reason) = &self.closed
                && (written || !waits_for_output(reason))
            {
                return Poll::Ready(());
            }
            if self.time(context) {
                progress = true;
                if self.closed.is_some() {
                    return Poll::Ready(());
                }
            }
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
                Order::Leave(seconds) => self.core.request_logout(Instant::now(), seconds),
                Order::Abort(volume, done) => self.abort(volume, done),
            }
        }
        true
    }

    /// Ends tasks for somebody else's reset.
    fn abort(&mut self, volume: Option<VolumeId>, done: oneshot::Sender<bool>) {
        let target = &self.directory.reactor.target;
        let nexus = self.directory.nexus;
        let concerned: Vec<TaskHandle> = self
            .running
            .iter()
            .filter(|(_, lun)| match (volume, nexus) {
                (None, _) => true,
                (Some(volume), Some(nexus)) => target.volume_at(nexus, **lun) == Some(volume),
                (Some(_), None) => false,
            })
            .map(|(task, _)| *task)
            .collect();
        for task in &concerned {
            self.core.discard(*task);
        }
        self.wait_for(concerned, done);
    }

    fn wait_for(&mut self, tasks: Vec<TaskHandle>, done: oneshot::Sender<bool>) {
        let tasks: Vec<TaskHandle> = tasks.into_iter().filter(|t| self.running.contains_key(t)).collect();
        let any = !tasks.is_empty();
        if any {
            self.waiters.push(Waiter { tasks, any, done });
        } else {
            let _gone = done.send(false);
        }
    }

    fn finish_commands(&mut self, context: &mut Context<'_>) -> bool {
        let mut progress = false;
        while let Poll::Ready(Some((task, response))) = self.commands.poll_next_unpin(context) {
            self.respond(task, response);
            progress = true;
        }
        if progress {
            self.retry_input = true;
        }
        progress
    }

    fn respond(&mut self, task: TaskHandle, response: scsi_target::Response) {
        self.running.remove(&task);
        release(&mut self.waiters, task);
        let member = &self.member;
        member.read_bytes.set(member.read_bytes.get() + response.data_in.len() as u64);
        self.core.respond(
            task,
            Response {
                status: response.status,
                sense: &response.sense,
                data_in: response.data_in,
                transfer_bytes: response.transfer_bytes,
            },
        );
        if self.logging_out && self.running.is_empty() {
            self.logging_out = false;
            self.core.finish_logout();
        }
    }

    fn finish_functions(&mut self, context: &mut Context<'_>) -> bool {
        let mut progress = false;
        while let Poll::Ready(Some((handle, response))) = self.functions.poll_next_unpin(context) {
            self.core.respond_task_management(handle, response);
            progress = true;
        }
        progress
    }

    fn open_session(&mut self, context: &mut Context<'_>) -> bool {
        let Some(opening) = &mut self.opening else { return false };
        let Poll::Ready(identity) = opening.as_mut().poll(context) else { return false };
        self.opening = None;
        let reactor = self.directory.reactor.clone();
        let tsih = reactor.registry.new_tsih();
        if !self.core.accept_session(tsih) {
            return true;
        }
        if identity.session_type == SessionType::Normal {
            let isid: String = identity.isid.iter().map(|b| format!("{b:02x}")).collect();
            let port = format!("{},i,0x{isid}", identity.initiator_name);
            let tag = portal_group_tag(self.directory.portal);
            let nexus = reactor.target.attach_nexus(&port, &identity.initiator_name, tag);
            self.directory.nexus = Some(nexus);
            self.member.nexus.set(Some(nexus));
            self.member.normal.set(true);
            tracing::info!(initiator = %identity.initiator_name, peer = %self.member.peer, portal = %self.member.portal, "session opened");
        }
        self.member.since.set(Some(Timestamp::now()));
        self.member.session.replace(Some(SessionIdentity { tsih, ..identity }));
        self.retry_input = true;
        true
    }

    fn read(&mut self, context: &mut Context<'_>) -> bool {
        let mut progress = false;
        if std::mem::take(&mut self.retry_input) && !self.received.is_empty() {
            self.core.handle_input(Instant::now(), &mut self.received, &self.directory);
            progress = true;
        }
        for _ in 0..READS_PER_POLL {
            if self.closed.is_some() || self.core.is_closed() || self.core.is_input_held_back() {
                return progress;
            }
            if self.received.capacity() - self.received.len() < RECEIVE_LOW_BYTES {
                self.received.reserve(RECEIVE_BYTES);
            }
            match self.stream.try_read_buf(&mut self.received) {
                Ok(0) => {
                    self.core.close();
                    return true;
                }
                Ok(_) => {
                    progress = true;
                    self.core.handle_input(Instant::now(), &mut self.received, &self.directory);
                    self.take_events();
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if self.stream.poll_read_ready(context).is_pending() {
                        return progress;
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_reset) => {
                    self.core.close();
                    return true;
                }
            }
        }
        // Others first; the rest is still there.
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
                    if self.running.is_empty() {
                        self.core.finish_logout();
                    } else {
                        self.logging_out = true;
                    }
                }
                Event::Closed(reason) => {
                    if let CloseReason::ProtocolError(what) = &reason {
                        tracing::warn!(peer = %self.member.peer, what, "connection dropped: protocol error");
                    }
                    self.closed = Some(reason);
                }
            }
        }
    }

    fn session_opening(&mut self, identity: SessionIdentity) {
        let registry = &self.directory.reactor.registry;
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
        if identity.session_type == SessionType::Normal && registry.sessions() - reinstated >= MAX_SESSIONS {
            tracing::warn!(initiator = %identity.initiator_name, peer = %self.member.peer, "login refused: there are {MAX_SESSIONS} sessions");
            self.core.reject_login(LoginStatus::OUT_OF_RESOURCES);
            return;
        }
        // Noted at once, so that of two logins at the same time the later one reinstates the earlier.
        self.member.session.replace(Some(identity.clone()));
        self.opening = Some(Box::pin(async move {
            for member in old {
                member.order(Order::Close);
                member.wait_gone().await;
            }
            identity
        }));
    }

    fn command(&mut self, command: Command) {
        let Some(nexus) = self.directory.nexus else { return };
        let member = &self.member;
        member.commands.set(member.commands.get() + 1);
        member.last_io.set(Some(Instant::now()));
        member.written_bytes.set(member.written_bytes.get() + command.data_out.len() as u64);
        let reactor = self.directory.reactor.clone();
        let task = command.task;
        let lun = command.lun;
        let request = Request {
            cdb: command.cdb,
            data_out: command.data_out,
            expected_data_in: command.expected_data_in,
            expected_data_out: if command.write { command.expected_data_transfer_length } else { 0 },
        };
        self.running.insert(task, lun);
        self.commands.push(Box::pin(async move {
            let response = reactor.target.execute(nexus, lun, request).await;
            (task, response)
        }));
    }

    fn task_management(&mut self, request: TaskManagement) {
        let Some(nexus) = self.directory.nexus else { return };
        let reactor = self.directory.reactor.clone();
        let (done, own) = oneshot::channel();
        self.wait_for(request.tasks.clone(), done);
        let member = self.member.id;
        let TaskManagement { handle, function, lun, .. } = request;
        self.functions.push(Box::pin(async move {
            let _none_or_done = own.await;
            (handle, manage(&reactor, member, nexus, function, lun).await)
        }));
    }

    fn write(&mut self, context: &mut Context<'_>) -> std::io::Result<bool> {
        let mut progress = false;
        loop {
            while self.output_bytes < WRITE_AHEAD_BYTES
                && let Some(chunk) = self.core.poll_output()
            {
                self.output_bytes += chunk.len();
                self.output.push_back(chunk);
            }
            if self.output.is_empty() {
                return Ok(progress);
            }
            let slices: Vec<IoSlice<'_>> =
                self.output.iter().take(WRITE_CHUNKS).map(|chunk| IoSlice::new(chunk)).collect();
            match self.stream.try_write_vectored(&slices) {
                Ok(mut written) => {
                    progress = true;
                    self.retry_input = true;
                    self.output_bytes -= written;
                    while written > 0 {
                        let Some(front) = self.output.front_mut() else { break };
                        if front.len() <= written {
                            written -= front.len();
                            self.output.pop_front();
                        } else {
                            front.advance(written);
                            written = 0;
                        }
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if self.stream.poll_write_ready(context).is_pending() {
                        return Ok(progress);
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn time(&mut self, context: &mut Context<'_>) -> bool {
        if self.closed.is_some() && self.linger_until.is_none() {
            self.linger_until = Instant::now().checked_add(LINGER);
        }
        let due = self.core.poll_timeout().into_iter().chain(self.linger_until).min();
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
        self.core.handle_timeout(Instant::now());
        true
    }
}

/// Executes a task management function whose tasks on its own connection are done.
async fn manage(
    reactor: &Reactor,
    member: u64,
    nexus: NexusId,
    function: TaskManagementFunction,
    lun: [u8; 8],
) -> TaskManagementResponse {
    let target = &reactor.target;
    let missing = TaskManagementResponse::LUN_DOES_NOT_EXIST;
    match function {
        TaskManagementFunction::ABORT_TASK => TaskManagementResponse::COMPLETE,
        TaskManagementFunction::ABORT_TASK_SET => match target.abort_task_set(nexus, lun) {
            Ok(_) => TaskManagementResponse::COMPLETE,
            Err(_) => missing,
        },
        TaskManagementFunction::CLEAR_TASK_SET => {
            let Some(volume) = target.volume_at(nexus, lun) else { return missing };
            let affected = abort_others(reactor, member, Some(volume)).await;
            match target.clear_task_set(nexus, lun, &affected) {
                Ok(_) => TaskManagementResponse::COMPLETE,
                Err(_) => missing,
            }
        }
        TaskManagementFunction::LOGICAL_UNIT_RESET => {
            let Some(volume) = target.volume_at(nexus, lun) else { return missing };
            abort_others(reactor, member, Some(volume)).await;
            match target.logical_unit_reset(nexus, lun) {
                Ok(_) => TaskManagementResponse::COMPLETE,
                Err(_) => missing,
            }
        }
        TaskManagementFunction::TARGET_WARM_RESET | TaskManagementFunction::TARGET_COLD_RESET => {
            abort_others(reactor, member, None).await;
            target.target_reset();
            TaskManagementResponse::COMPLETE
        }
        _ => TaskManagementResponse::NOT_SUPPORTED,
    }
}

/// Ends the tasks of all other connections on a volume, or all of them. Returns the nexuses that lost tasks.
async fn abort_others(reactor: &Reactor, but: u64, volume: Option<VolumeId>) -> Vec<NexusId> {
    let mut asked = Vec::new();
    for member in reactor.registry.members() {
        if let Some(nexus) = member.nexus.get().filter(|_| member.id != but) {
            let (done, answer) = oneshot::channel();
            member.order(Order::Abort(volume, done));
            asked.push((nexus, answer));
        }
    }
    let mut affected = Vec::new();
    for (nexus, answer) in asked {
        if answer.await.unwrap_or(false) {
            affected.push(nexus);
        }
    }
    affected
}
