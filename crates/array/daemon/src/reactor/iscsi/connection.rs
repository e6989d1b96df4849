//! One iSCSI connection: the socket, the protocol core, and the commands in flight.
//!
//! Everything a wake-up makes possible is done in one poll: commands that finished are answered, what arrived is read and executed,
//! responses are written. So a batch of commands costs one read, one write and one pump of the pool.

use super::super::{MAX_CONNECTION_DATA_BYTES, Reactor};
use super::directory::PortalDirectory;
use super::listener::MAX_SESSIONS;
use super::memory::Account;
use super::movement::Movement;
use super::registry::{Member, Order};
use super::task_management::{Managed, manage};
use block::VolumeId;
use bytes::{Buf, Bytes, BytesMut};
use futures_util::stream::{FuturesUnordered, StreamExt};
use iscsi::connection::{
    CloseReason, Command, Config, Connection, DataOutMemory, Event, Response, SessionIdentity, SessionType, TaskHandle,
    TaskManagement, TaskManagementHandle,
};
use iscsi::pdu::LoginStatus;
use jiff::Timestamp;
use rustc_hash::FxHashMap;
use scsi_target::{Arrival, Request, TaskAttribute};
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
use unit::AbortFlag;

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
/// Time for which a connection waits for memory before it asks the others to give way.
const GIVE_WAY_FIRST: Duration = Duration::from_secs(1);
/// Time until it asks again.
const GIVE_WAY_INTERVAL: Duration = Duration::from_secs(5);
/// Time for which data that was refused counts as waiting: its command is sent again.
const REFUSED: Duration = Duration::from_secs(30);
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

/// A command in flight.
struct Running {
    /// The volume that it is for.
    volume: Option<VolumeId>,
    /// Bytes of `data_in` that it holds.
    held: usize,
    abort: AbortFlag,
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
    running: FxHashMap<TaskHandle, Running>,
    /// Commands that wait for memory for their Data-In, and those behind them.
    waiting: VecDeque<Command>,
    max_transfer_bytes: u32,
    data_in: Account,
    data_out: Rc<Account>,
    /// Data-In on its way out: position in the output after its last byte, and the bytes of `data_in` held until then.
    unsent: VecDeque<(u64, usize)>,
    /// Bytes written to the socket.
    written: u64,
    /// When others are asked to give way, because this connection waits for memory.
    give_way_at: Option<Instant>,
    /// Until when it counts as waiting because its data was refused.
    refused_until: Option<Instant>,
    data_in_movement: Movement,
    data_out_movement: Movement,
    waiters: Vec<Waiter>,
    functions: FuturesUnordered<Boxed<(TaskManagementHandle, Managed)>>,
    opening: Option<Boxed<SessionIdentity>>,
    logging_out: bool,
    /// To be closed when the output is written.
    ending: bool,
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
    let config = Config {
        max_data_out_bytes: MAX_CONNECTION_DATA_BYTES,
        max_data_in_bytes: MAX_CONNECTION_DATA_BYTES,
        missing_task_response: reactor.missing_task_response,
        ..Config::default()
    };
    let max_transfer_bytes = config.max_transfer_bytes;
    let data_out = Rc::new(Account::new(reactor.data_out.clone(), member.clone()));
    let mut core = Connection::new(now, config, seed);
    core.share_data_out_memory(data_out.clone());
    let mut task = ConnectionTask {
        core,
        max_transfer_bytes,
        data_in: Account::new(reactor.data_in.clone(), member.clone()),
        data_out,
        waiting: VecDeque::new(),
        unsent: VecDeque::new(),
        written: 0,
        give_way_at: None,
        refused_until: None,
        data_in_movement: Movement::default(),
        data_out_movement: Movement::default(),
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
        ending: false,
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
    task.core.close();
    task.waiting.clear();
    task.data_in.withdraw();
    for running in task.running.values() {
        running.abort.abort();
    }
    // No command of this session may take effect after the next login: the nexus goes when the last one is done.
    while let Some((handle, _response)) = task.commands.next().await {
        task.running.remove(&handle);
        release(&mut task.waiters, handle);
    }
    if let Some(nexus) = member.nexus.take() {
        reactor.target.stop_background_of(nexus).await;
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
            progress |= self.start_waiting();
            progress |= self.read(context);
            self.take_events();
            match self.write(context) {
                Ok(wrote) => progress |= wrote,
                Err(_peer_gone) => return Poll::Ready(()),
            }
            let written = self.output.is_empty() && self.core.output_bytes() == 0;
            if self.ending && written && self.closed.is_none() {
                self.core.close();
                continue;
            }
            if let Some(reason) = &self.closed
                && (written || !waits_for_output(reason))
            {
                return Poll::Ready(());
            }
            if self.linger_until.is_some_and(|until| until <= Instant::now()) {
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
                Order::Leave(seconds) => self.core.request_logout(Instant::now(), seconds),
                Order::Abort(volume, done) => self.abort(volume, done),
                Order::GiveWay => self.give_way(),
            }
        }
        true
    }

    /// Ends tasks for somebody else's reset.
    fn abort(&mut self, volume: VolumeId, done: oneshot::Sender<bool>) {
        // What the order before this one let go on is among them.
        self.take_events();
        let waiting = self.waiting.iter().map(|command| (command.task, volume_of(command)));
        let concerned: Vec<TaskHandle> = self
            .running
            .iter()
            .map(|(task, running)| (*task, running.volume))
            .chain(waiting)
            .filter(|(_, of)| *of == Some(volume))
            .map(|(task, _)| task)
            .collect();
        let receiving = self.core.discard_receiving(volume.0);
        for task in &concerned {
            self.core.discard(*task);
        }
        self.abort_tasks(&concerned);
        self.waiting.retain(|command| !concerned.contains(&command.task));
        let any = receiving || !concerned.is_empty();
        self.wait_for(concerned, any, done);
    }

    /// Tells commands that nobody wants them any more: a copy ends after its next step, SANITIZE does not wait for its operation.
    fn abort_tasks(&self, tasks: &[TaskHandle]) {
        for running in tasks.iter().filter_map(|task| self.running.get(task)) {
            running.abort.abort();
        }
    }

    /// Answers `any` when none of the tasks runs any more.
    fn wait_for(&mut self, tasks: Vec<TaskHandle>, any: bool, done: oneshot::Sender<bool>) {
        let tasks: Vec<TaskHandle> = tasks.into_iter().filter(|t| self.running.contains_key(t)).collect();
        if tasks.is_empty() {
            let _gone = done.send(any);
        } else {
            self.waiters.push(Waiter { tasks, any, done });
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
        let held = self.running.remove(&task).map_or(0, |running| running.held);
        release(&mut self.waiters, task);
        let member = &self.member;
        member.read_bytes.set(member.read_bytes.get() + response.data_in.len() as u64);
        let data_in_bytes = response.data_in.len().min(held);
        let answered = self.core.respond(
            task,
            Response {
                status: response.status,
                sense: &response.sense,
                data_in: response.data_in,
                transfer_bytes: response.transfer_bytes,
            },
        );
        // What was read stays in memory until the last byte of it is written.
        let kept = if answered { data_in_bytes } else { 0 };
        if kept > 0 {
            let end = self.written + (self.output_bytes + self.core.output_bytes()) as u64;
            self.unsent.push_back((end, kept));
        }
        self.data_in.give_back(held - kept, 0);
        if self.logging_out && self.running.is_empty() {
            self.logging_out = false;
            self.core.finish_logout();
        }
    }

    fn finish_functions(&mut self, context: &mut Context<'_>) -> bool {
        let mut progress = false;
        while let Poll::Ready(Some((handle, response))) = self.functions.poll_next_unpin(context) {
            self.core.respond_task_management_with(handle, response.response, response.additional);
            // When the answer is written.
            self.ending |= response.ends_session;
            progress = true;
        }
        progress
    }

    fn open_session(&mut self, context: &mut Context<'_>) -> bool {
        let Some(opening) = &mut self.opening else { return false };
        let Poll::Ready(identity) = opening.as_mut().poll(context) else { return false };
        self.opening = None;
        let reactor = self.directory.reactor.clone();
        let Some(host) = reactor.proven_host(&identity) else {
            self.core.reject_login(LoginStatus::AUTHENTICATION_FAILURE);
            return true;
        };
        self.member.host.set(host);
        let tsih = reactor.registry.new_tsih();
        if !self.core.accept_session(tsih) {
            return true;
        }
        if identity.session_type == SessionType::Normal {
            let isid: String = identity.isid.iter().map(|b| format!("{b:02x}")).collect();
            let port = format!("{},i,0x{isid}", identity.initiator_name);
            let target_port = reactor.port_identifier(self.directory.portal);
            let nexus = reactor.target.attach_nexus(&port, &identity.initiator_name, target_port);
            reactor.target.set_query_functions(nexus, self.core.parameters().carries_query_functions());
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
                    self.waiting.clear();
                    for running in self.running.values() {
                        running.abort.abort();
                    }
                    if self.running.is_empty() {
                        self.core.finish_logout();
                    } else {
                        self.logging_out = true;
                    }
                }
                Event::Closed(reason) => {
                    let count = self.directory.reactor.registry.closed.count(&reason, Instant::now());
                    if let (Some(count), CloseReason::ProtocolError(what)) = (count, &reason) {
                        tracing::warn!(peer = %self.member.peer, what, count, "connection dropped: protocol error");
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
        let room = registry.has_room(self.member.peer.ip(), reinstated, MAX_SESSIONS);
        if identity.session_type == SessionType::Normal && !room {
            if let Some(count) = registry.closed.sessions_full.count(Instant::now()) {
                tracing::warn!(initiator = %identity.initiator_name, peer = %self.member.peer, count, "login refused: of {MAX_SESSIONS} sessions too many are taken");
            }
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

    /// Executes a command, or lets it wait: for memory for its Data-In, or behind commands that do.
    fn command(&mut self, command: Command) {
        if self.waiting.is_empty() && self.data_in.take(self.needed_bytes(&command), true) {
            self.start(command);
        } else {
            self.waiting.push_back(command);
        }
    }

    fn needed_bytes(&self, command: &Command) -> usize {
        command.expected_data_in.min(self.max_transfer_bytes) as usize
    }

    /// Goes on with what waited for memory.
    fn start_waiting(&mut self) -> bool {
        let mut progress = false;
        while let Some(command) = self.waiting.front()
            && self.data_in.take(self.needed_bytes(command), true)
            && let Some(command) = self.waiting.pop_front()
        {
            self.start(command);
            progress = true;
        }
        if self.core.waits_for_data_out_memory() {
            self.core.data_out_memory_available();
        }
        if self.waiting.is_empty() && self.data_in.waits() {
            self.data_in.withdraw();
        }
        if self.data_out.waits() && !self.core.waits_for_data_out_memory() {
            self.data_out.withdraw();
        }
        if self.data_out.was_refused() {
            self.refused_until = Instant::now().checked_add(REFUSED);
        }
        self.refused_until = self.refused_until.filter(|until| *until > Instant::now());
        let waits = self.data_in.waits() || self.data_out.waits() || self.refused_until.is_some();
        if !waits {
            self.give_way_at = None;
        } else if self.give_way_at.is_none() {
            self.give_way_at = Instant::now().checked_add(GIVE_WAY_FIRST);
        }
        progress
    }

    /// Others wait for memory: ends the connection when it holds some because its initiator neither reads nor sends.
    fn give_way(&mut self) {
        let now = Instant::now();
        let reads_nothing = !self.output.is_empty()
            && self.data_in.is_beyond_share()
            && self.data_in_movement.is_stalled(now, self.written, self.data_in.held_bytes());
        let received = self.core.counters().data_out_bytes;
        let sends_nothing = self.core.awaits_data_out()
            && self.data_out.is_beyond_share()
            && self.data_out_movement.is_stalled(now, received, self.data_out.held_bytes());
        if reads_nothing || sends_nothing {
            let what = if reads_nothing { "does not read" } else { "does not send" };
            tracing::warn!(peer = %self.member.peer, "connection closed: the initiator {what} its data, and others wait for the memory");
            self.core.close();
        }
    }

    fn start(&mut self, command: Command) {
        let held = self.needed_bytes(&command);
        let Some(nexus) = self.directory.nexus else { return };
        let member = &self.member;
        member.commands.set(member.commands.get() + 1);
        member.last_io.set(Some(Instant::now()));
        member.written_bytes.set(member.written_bytes.get() + command.data_out.len() as u64);
        let reactor = self.directory.reactor.clone();
        let task = command.task;
        let lun = command.lun;
        let abort = AbortFlag::default();
        let arrival = Arrival { volume: volume_of(&command), content_generation: command.arrival.content_generation };
        let request = Request {
            cdb: command.cdb,
            data_out: command.data_out,
            expected_data_in: command.expected_data_in,
            attribute: attribute(command.attribute),
            expected_data_out: if command.write { command.expected_data_transfer_length } else { 0 },
            abort: abort.clone(),
        };
        self.running.insert(task, Running { volume: arrival.volume, held, abort });
        self.commands.push(Box::pin(async move {
            let response = reactor.target.execute_arrived(nexus, lun, arrival, request).await;
            (task, response)
        }));
    }

    fn task_management(&mut self, request: TaskManagement) {
        let Some(nexus) = self.directory.nexus else { return };
        let reactor = self.directory.reactor.clone();
        self.abort_tasks(&request.tasks);
        let (done, own) = oneshot::channel();
        self.wait_for(request.tasks.clone(), !request.tasks.is_empty(), done);
        let member = self.member.id;
        self.waiting.retain(|command| !request.tasks.contains(&command.task));
        let TaskManagement { handle, function, lun, present, .. } = request;
        self.functions.push(Box::pin(async move {
            let _none_or_done = own.await;
            (handle, manage(&reactor, member, nexus, function, lun, present).await)
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
                    self.written += written as u64;
                    while let Some((end, held)) = self.unsent.front().copied()
                        && end <= self.written
                    {
                        self.unsent.pop_front();
                        self.data_in.give_back(held, 0);
                    }
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
        if (self.closed.is_some() || self.ending) && self.linger_until.is_none() {
            self.linger_until = Instant::now().checked_add(LINGER);
        }
        let due = self.core.poll_timeout().into_iter().chain(self.linger_until).chain(self.give_way_at).min();
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
        let now = Instant::now();
        if self.give_way_at.is_some_and(|at| at <= now) {
            self.give_way_at = now.checked_add(GIVE_WAY_INTERVAL);
            for member in self.directory.reactor.registry.members() {
                member.order(Order::GiveWay);
            }
        }
        self.core.handle_timeout(now);
        true
    }
}

/// The volume that a command is for.
fn volume_of(command: &Command) -> Option<VolumeId> {
    command.arrival.logical_unit.map(VolumeId)
}

/// The task attribute of a command, RFC 7143 §11.3.1.
fn attribute(attribute: iscsi::pdu::TaskAttribute) -> TaskAttribute {
    match attribute {
        iscsi::pdu::TaskAttribute::UNTAGGED | iscsi::pdu::TaskAttribute::SIMPLE => TaskAttribute::Simple,
        iscsi::pdu::TaskAttribute::ORDERED => TaskAttribute::Ordered,
        iscsi::pdu::TaskAttribute::HEAD_OF_QUEUE => TaskAttribute::HeadOfQueue,
        _ => TaskAttribute::Invalid,
    }
}
