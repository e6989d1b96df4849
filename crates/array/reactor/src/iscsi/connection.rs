//! Connection side of an iSCSI connection: the socket, the protocol core, the timers, and the
//! memory for its data. It knows nothing of the pool and runs on any thread.
//!
//! One poll does the work that a wake-up makes possible, within the turn that others leave it: it
//! answers finished commands, reads and executes received PDUs, and writes responses. A batch of
//! commands therefore costs one read, one write and one pump of the pool.

use super::super::clock;
use super::super::memory::{Moved, Ration};
#[cfg(feature = "simulation")]
use super::super::mutations::{Mutation, leaves_out};
use super::super::quantum::{Quantum, let_others_run};
use super::super::shared_memory::SharedMemory;
use super::super::socket::Socket;
use super::super::timer::Timer;
use super::super::wire::{Received, Wire};
use super::data_out::DataOut;
use super::messages::{Completion, Dispatch, FunctionCompletion, Instruction};
use super::nexus_side::NexusSide;
use super::outstanding::{Kept, Outstanding};
use block::VolumeId;
use bytes::BytesMut;
use iscsi::connection::{
    CloseReason, Command, Config, Connection, Event, MissingTaskResponse, Response, Suspended, TaskHandle,
    TaskManagement,
};
use scsi_target::{Arrival, TaskAttribute};
use std::collections::BTreeSet;
use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// Largest amount of data in flight of one connection in each direction. More does not make a
/// connection faster.
const MAX_CONNECTION_DATA_BYTES: usize = 64 << 20;
/// Time for an initiator to read the remaining output of a connection that ends.
const LINGER: Duration = Duration::from_secs(5);
/// Time in which a connection that is to move takes no new commands.
const MOVE: Duration = Duration::from_millis(200);
/// Reads in one poll; the limit lets other connections run.
const READS_PER_POLL: usize = 8;

type Boxed<T> = Pin<Box<dyn Future<Output = T>>>;

/// Connection side of a connection, over a socket `S`, to a nexus side `N`.
pub(super) struct ConnectionTask<S, N> {
    wire: Wire<S>,
    core: Connection,
    nexus: N,
    peer: SocketAddr,
    outstanding: Outstanding,
    /// Task management functions that the reactor has not answered.
    functions: usize,
    ration: Ration<Command>,
    /// True if received bytes that were held back may be waiting.
    retry_input: bool,
    logging_out: bool,
    /// True if the connection closes once its output is written.
    ending: bool,
    closed: Option<CloseReason>,
    moving: Option<Moving>,
    quantum: Quantum,
    /// Instant at which the rest of the output of an ended connection is discarded.
    linger_until: Option<Instant>,
    timer: Timer,
    /// Notified when there are instructions, or memory that was waited for.
    wake: Rc<Notify>,
    woken: Boxed<()>,
}

/// Order to move that has not been followed.
#[derive(Clone, Copy, Debug)]
struct Moving {
    executor: usize,
    /// Instant at which the connection gives up: it takes input again.
    until: Instant,
}

/// How a thread has ceased to serve a connection.
pub(super) enum Served<S, N> {
    /// The connection has ended, and nothing is in flight.
    Ended(N),
    /// The connection moves to the executor with this number.
    Moves { socket: S, received: BytesMut, core: Box<Suspended>, nexus: N, executor: usize },
}

/// Protocol core of a new connection. `seed`: unpredictable bytes.
pub(super) fn new_core(missing_task_response: MissingTaskResponse, seed: [u8; 32]) -> Connection {
    let config = Config {
        max_data_out_bytes: MAX_CONNECTION_DATA_BYTES,
        max_data_in_bytes: MAX_CONNECTION_DATA_BYTES,
        missing_task_response,
        ..Config::default()
    };
    Connection::new(clock::now(), config, seed)
}

fn wait_for(wake: Rc<Notify>) -> Boxed<()> {
    Box::pin(async move { wake.notified().await })
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

impl<S: Socket, N: NexusSide> ConnectionTask<S, N> {
    /// `wake`: notified when the reactor has instructions.
    pub fn new(
        wire: Wire<S>,
        mut core: Connection,
        nexus: N,
        peer: SocketAddr,
        memory: &SharedMemory,
        wake: &Rc<Notify>,
    ) -> Self {
        let max_transfer_bytes = Config::default().max_transfer_bytes;
        let ration = Ration::new(&memory.data_in, &memory.data_out, wake, max_transfer_bytes);
        let quantum = Quantum::new(nexus.share());
        core.share_data_out_memory(Rc::new(DataOut(ration.data_out())));
        Self {
            wire,
            core,
            nexus,
            peer,
            outstanding: Outstanding::default(),
            functions: 0,
            ration,
            // Bytes may have been received on another thread.
            retry_input: true,
            logging_out: false,
            ending: false,
            closed: None,
            moving: None,
            quantum,
            linger_until: None,
            timer: Timer::new(),
            wake: Rc::clone(wake),
            woken: wait_for(Rc::clone(wake)),
        }
    }

    /// Serves the connection until it has ended and its last command and function are done, or until
    /// it can move.
    pub async fn serve(mut self) -> Served<S, N> {
        poll_fn(|context| self.poll(context)).await;
        if self.closed.is_none() && self.can_move() {
            let (socket, received) = self.wire.into_parts();
            let executor = self.moving.map_or(0, |moving| moving.executor);
            return Served::Moves {
                socket,
                received,
                core: Box::new(self.core.suspend()),
                nexus: self.nexus,
                executor,
            };
        }
        if let Some(reason) = &self.closed {
            tracing::debug!(peer = %self.peer, ?reason, "connection ended");
        }
        Served::Ended(self.end().await)
    }

    /// True if the connection is to move and has nothing in flight (T7 in ARCHITECTURE.md).
    fn can_move(&self) -> bool {
        if self.moving.is_none() {
            return false;
        }
        #[cfg(feature = "simulation")]
        if leaves_out(Mutation::MoveIdle) {
            return self.core.is_full_feature() && !self.wire.has_output();
        }
        self.core.is_idle()
            && !self.core.has_events()
            && !self.wire.has_output()
            && self.outstanding.is_empty()
            && self.functions == 0
            && !self.ending
    }

    /// True if no input is taken, so that the connection can move. Data of commands that have begun
    /// still is.
    fn holds_input(&self) -> bool {
        self.moving.is_some() && !self.core.awaits_data_out()
    }

    /// Closes the transport, and waits for the last command and the last task management function.
    ///
    /// Commands of this session must not take effect after the next login, so the nexus ends with
    /// the last command. A function that aborts commands of other nexuses must finish, too: those
    /// commands get no response, and a unit attention reports the abort (SAM-5 §6.3.3). Functions of
    /// two connections may wait for each other's commands, so instructions are still followed here.
    async fn end(self) -> N {
        let Self { wire, mut core, mut nexus, mut outstanding, mut functions, mut ration, wake, woken, .. } = self;
        drop(wire);
        // A pending wake-up passes to the next waiter.
        drop(woken);
        core.close();
        ration.leave();
        nexus.ended();
        let mut woken = wait_for(Rc::clone(&wake));
        poll_fn(|context| {
            loop {
                for instruction in nexus.take_instructions() {
                    if let Instruction::Abort { number, volumes } = instruction {
                        let tasks = outstanding.on_volumes(&volumes).collect();
                        nexus.aborted(number, tasks, false);
                    }
                }
                while let Some(completion) = nexus.poll_completion(context) {
                    outstanding.complete(completion.task);
                }
                while nexus.poll_function(context).is_some() {
                    functions -= 1;
                }
                if outstanding.is_empty() && functions == 0 {
                    return Poll::Ready(());
                }
                if woken.as_mut().poll(context).is_pending() {
                    return Poll::Pending;
                }
                woken = wait_for(Rc::clone(&wake));
            }
        })
        .await;
        nexus
    }

    /// Does the work that is possible now, as much as other connections may wait for. Ready when the
    /// connection is over; commands may still be running.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.quantum.begin();
        loop {
            let mut progress = self.follow_instructions(context);
            progress |= self.finish_commands(context);
            progress |= self.finish_functions(context);
            progress |= self.open_session(context);
            progress |= self.start_waiting();
            progress |= self.read(context);
            progress |= self.take_events();
            match self.write(context) {
                Ok(wrote) => progress |= wrote,
                Err(_peer_gone) => return Poll::Ready(()),
            }
            let written = !self.wire.has_output() && self.core.output_bytes() == 0;
            if self.ending && written && self.closed.is_none() {
                self.core.close();
                self.take_all_events();
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
            if self.can_move() {
                return Poll::Ready(());
            }
            progress |= self.time(context);
            if (progress || self.core.has_events()) && self.quantum.is_over() {
                let_others_run(context);
                return Poll::Pending;
            }
            if !progress {
                self.wire.rest();
                return Poll::Pending;
            }
        }
    }

    fn follow_instructions(&mut self, context: &mut Context<'_>) -> bool {
        if self.woken.as_mut().poll(context).is_pending() {
            return false;
        }
        self.woken = wait_for(Rc::clone(&self.wake));
        for instruction in self.nexus.take_instructions() {
            match instruction {
                Instruction::Close => self.core.close(),
                Instruction::Leave(seconds) => self.core.request_logout(clock::now(), seconds),
                Instruction::Abort { number, volumes } => self.abort(number, &volumes),
                Instruction::GiveWay => self.give_way(),
                Instruction::Share(share) => self.quantum.set_host(Some(share)),
                Instruction::Move(executor) => {
                    self.moving = clock::now().checked_add(MOVE).map(|until| Moving { executor, until });
                }
            }
        }
        true
    }

    /// Ends tasks on behalf of another connection's task management function.
    fn abort(&mut self, number: u64, volumes: &BTreeSet<VolumeId>) {
        // Commands that the previous instruction released are included.
        self.take_all_events();
        let waiting = self.ration.waiting();
        let waiting = waiting.filter(|command| volume_of(command).is_some_and(|volume| volumes.contains(&volume)));
        let waiting = waiting.map(|command| command.task);
        let concerned: Vec<TaskHandle> = self.outstanding.on_volumes(volumes).chain(waiting).collect();
        let receiving = self.core.discard_receiving(|unit| volumes.contains(&VolumeId(unit)));
        for task in &concerned {
            self.core.discard(*task);
        }
        self.ration.forget(|command| concerned.contains(&command.task));
        let any = receiving || !concerned.is_empty();
        self.nexus.aborted(number, concerned, any);
    }

    fn finish_commands(&mut self, context: &mut Context<'_>) -> bool {
        let mut progress = false;
        while let Some(completion) = self.nexus.poll_completion(context) {
            self.respond(completion);
            progress = true;
        }
        if progress {
            self.retry_input = true;
        }
        progress
    }

    fn respond(&mut self, completion: Completion) {
        let Completion { task, response } = completion;
        let held = self.outstanding.complete(task);
        let data_in_bytes = response.data_in.len().min(held);
        #[cfg(feature = "simulation")]
        if leaves_out(Mutation::EveryReply) && self.core.output_bytes() > 0 {
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
        let end_of_output = self.wire.end_of_output() + self.core.output_bytes() as u64;
        self.ration.responded(held, kept, end_of_output);
        if self.logging_out && self.outstanding.is_empty() {
            self.logging_out = false;
            self.core.finish_logout();
        }
    }

    fn finish_functions(&mut self, context: &mut Context<'_>) -> bool {
        let mut progress = false;
        while let Some(FunctionCompletion { handle, result }) = self.nexus.poll_function(context) {
            self.functions -= 1;
            self.core.respond_task_management_with(handle, result.response, result.additional);
            // The session ends once the response is written.
            self.ending |= result.ends_session;
            progress = true;
        }
        progress
    }

    fn open_session(&mut self, context: &mut Context<'_>) -> bool {
        let progress = self.nexus.poll_opening(&mut self.core, context);
        if progress {
            self.quantum.set_host(self.nexus.share());
        }
        self.retry_input |= progress;
        progress
    }

    fn read(&mut self, context: &mut Context<'_>) -> bool {
        let mut progress = false;
        if self.holds_input() || self.core.has_events() {
            return false;
        }
        if std::mem::take(&mut self.retry_input) && !self.wire.received().is_empty() {
            self.core.handle_input(clock::now(), self.wire.received(), self.nexus.directory());
            progress = true;
        }
        for _ in 0..READS_PER_POLL {
            if self.closed.is_some()
                || self.core.is_closed()
                || self.core.is_input_held_back()
                || self.nexus.is_full(context)
            {
                return progress;
            }
            match self.wire.receive(context) {
                Received::Data => {
                    progress = true;
                    self.core.handle_input(clock::now(), self.wire.received(), self.nexus.directory());
                    self.take_events();
                    if self.core.has_events() {
                        return true;
                    }
                }
                Received::Pending => return progress,
                Received::End => {
                    self.core.close();
                    return true;
                }
            }
        }
        // The socket still holds the remaining input.
        let_others_run(context);
        false
    }

    /// Takes events of the protocol core, as many as the turn has time for.
    fn take_events(&mut self) -> bool {
        let mut progress = false;
        while self.core.has_events() && self.quantum.takes_command() {
            let Some(event) = self.core.poll_event() else { break };
            self.take(event);
            progress = true;
        }
        progress
    }

    fn take_all_events(&mut self) {
        while let Some(event) = self.core.poll_event() {
            self.take(event);
        }
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::SessionOpening(identity) => self.nexus.session_opening(&mut self.core, identity),
            Event::Command(command) => self.command(command),
            Event::TaskManagement(request) => self.task_management(request),
            Event::Logout => {
                self.ration.forget_all();
                self.nexus.abort_all();
                if self.outstanding.is_empty() {
                    self.core.finish_logout();
                } else {
                    self.logging_out = true;
                }
            }
            Event::Closed(reason) => {
                self.nexus.closing(&reason);
                self.closed = Some(reason);
            }
        }
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
            tracing::warn!(peer = %self.peer, "connection closed: the initiator {what} its data, and others wait for the memory");
            self.core.close();
        }
    }

    fn start(&mut self, command: Command) {
        let held = self.ration.needed_bytes(&command);
        let volume = volume_of(&command);
        self.outstanding.start(command.task, Kept { volume, held, data_out: command.data_out_memory });
        self.nexus.start(Dispatch {
            task: command.task,
            lun: command.lun,
            arrival: Arrival { volume, content_generation: command.arrival.content_generation },
            cdb: command.cdb,
            attribute: attribute(command.attribute),
            data_out: command.data_out,
            expected_data_in: command.expected_data_in,
            expected_data_out: if command.write { command.expected_data_transfer_length } else { 0 },
        });
    }

    fn task_management(&mut self, request: TaskManagement) {
        self.ration.forget(|command| request.tasks.contains(&command.task));
        self.functions += 1;
        self.nexus.function(request);
    }

    fn write(&mut self, context: &mut Context<'_>) -> std::io::Result<bool> {
        let before = self.wire.written();
        let result = self.wire.write(|| self.core.poll_output(), context);
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
        let others = [self.linger_until, self.ration.give_way_at(), self.moving.map(|moving| moving.until)];
        let due = self.core.poll_timeout().into_iter().chain(others.into_iter().flatten()).min();
        let Poll::Ready(now) = self.timer.poll(due, context) else { return false };
        if self.moving.is_some_and(|moving| moving.until <= now) {
            self.moving = None;
            self.retry_input = true;
        }
        if self.ration.asks_to_give_way(now) {
            self.nexus.ask_to_give_way();
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
