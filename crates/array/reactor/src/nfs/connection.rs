//! Connection of the NFS server: the socket, the records in both directions, the calls in progress, and the memory
//! for all of them.
//!
//! One poll does the work that a wake-up makes possible, within the turn that others leave it: it reads records,
//! begins their calls, sends the replies of those that are done, and writes. A call that waits for nothing begins and
//! ends in one poll; the others are in a set, and are replied to in the order in which they are done. A batch of calls
//! therefore costs one read, one write and one pump of the pool.

use super::super::clock;
use super::super::memory::{Moved, Queued, Ration};
#[cfg(feature = "simulation")]
use super::super::mutations::{Mutation, leaves_out};
use super::super::quantum::{Quantum, let_others_run};
use super::super::socket::Socket;
use super::super::timer::Timer;
use super::super::wire::{Received, Wire};
use super::epochs::Epoch;
use super::incoming::{Arrived, Incoming, Next, RecordMemory};
use super::outgoing::Outgoing;
use super::registry::{Member, Order};
use super::service::Service;
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use futures_util::future::LocalBoxFuture;
use futures_util::stream::FuturesUnordered;
use nfs::v4::compound::MAX_MESSAGE_BYTES;
use nfs_server::{Answer, Connection, Transport, reply_bound};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use vfs::FileSystem;

/// Calls of a connection, in progress or waiting for memory.
const IN_FLIGHT: usize = 128;
/// Replies that wait for the socket, and those that calls in progress may add: no input is taken above.
const OUTPUT_BYTES: usize = 4 << 20;
/// Records of calls in progress or waiting for memory: no input is taken above.
const RECORD_BYTES: usize = 8 << 20;
/// Reads in one poll. This limit, the next one and the quantum let other connections run.
const READS_PER_POLL: usize = 8;
/// Bytes of records in one poll.
const BYTES_PER_POLL: usize = 256 << 10;
/// Time for a host to read the last replies of a connection that ends.
const LINGER: Duration = Duration::from_secs(5);

/// Connection of the NFS server over a socket `S`, to file systems `F`.
pub(super) struct ConnectionTask<S, F> {
    wire: Wire<S>,
    service: Rc<Service<F>>,
    member: Rc<Member>,
    connection: Connection,
    incoming: Incoming,
    outgoing: Outgoing,
    calls: Calls,
    ration: Ration<Call>,
    /// True if no more input is taken: the connection closes after the last reply.
    ending: bool,
    /// True if the connection closes at once.
    closed: bool,
    /// Bytes of records received.
    received_bytes: u64,
    /// Bytes of the records of calls, in progress or waiting for memory.
    record_bytes: usize,
    /// Input that this poll may still take.
    allowance: Allowance,
    quantum: Quantum,
    /// Instant at which the rest of the output is discarded.
    linger_until: Option<Instant>,
    timer: Timer,
    woken: Pin<Box<dyn Future<Output = ()>>>,
}

/// Call that may wait for memory for its reply.
struct Call {
    record: Bytes,
    memory: RecordMemory,
    /// Most bytes of its reply.
    reply_bytes: u32,
    epoch: Epoch,
}

impl Queued for Call {
    fn data_in_bytes(&self) -> u32 {
        self.reply_bytes
    }
}

/// Call that is done.
struct Done {
    answer: Answer,
    /// Memory that was taken for the reply, in bytes.
    reply_bytes: usize,
    /// Length of the record of the call.
    record_bytes: usize,
}

/// Calls in progress.
#[derive(Default)]
struct Calls {
    futures: FuturesUnordered<LocalBoxFuture<'static, Done>>,
    /// Most bytes of their replies.
    reply_bytes: usize,
}

/// Input that a poll may take.
struct Allowance {
    reads: usize,
    bytes: usize,
}

impl Allowance {
    const FULL: Self = Self { reads: READS_PER_POLL, bytes: BYTES_PER_POLL };
}

impl<S: Socket, F: FileSystem + 'static> ConnectionTask<S, F> {
    pub fn new(socket: S, service: Rc<Service<F>>, member: Rc<Member>) -> Self {
        let server = socket.local_address().unwrap_or(member.peer);
        let connection = Connection { id: member.id, client: member.peer, server, transport: Transport::Tcp };
        let memory = &service.memory;
        let ration = Ration::new(&memory.data_in, &memory.data_out, &member.wake, MAX_MESSAGE_BYTES);
        Self {
            wire: Wire::new(socket, BytesMut::new(), &memory.received),
            incoming: Incoming::new(ration.data_out()),
            outgoing: Outgoing::default(),
            calls: Calls::default(),
            ration,
            ending: false,
            closed: false,
            received_bytes: 0,
            record_bytes: 0,
            allowance: Allowance::FULL,
            quantum: Quantum::new(None),
            linger_until: None,
            timer: Timer::new(),
            woken: wait_for(&member),
            connection,
            member,
            service,
        }
    }

    /// Serves the connection until it has ended and its last call is done.
    pub async fn serve(mut self) {
        poll_fn(|context| self.poll(context)).await;
        self.member.end();
        let Self { wire, service, member, mut calls, mut ration, .. } = self;
        drop(wire);
        ration.leave();
        service.connection_closed(member.id);
        #[cfg(feature = "simulation")]
        if leaves_out(Mutation::CallsOutlive) {
            calls = Calls::default();
        }
        // Until the end of a call its slot is in use, whatever becomes of the connection.
        while calls.futures.next().await.is_some() {}
        service.registry.leave(&member);
    }

    /// Does the work that is possible, as much as other connections may wait for. Ready when the connection is over;
    /// calls may still be in progress.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.allowance = Allowance::FULL;
        self.quantum.begin();
        loop {
            let mut progress = self.follow_orders(context);
            progress |= self.send_callbacks();
            progress |= self.read(context);
            progress |= self.start_waiting();
            progress |= self.finish_calls(context);
            match self.write(context) {
                Ok(wrote) => progress |= wrote,
                Err(_peer_gone) => return Poll::Ready(()),
            }
            if self.closed || (self.ending && self.is_done()) {
                return Poll::Ready(());
            }
            progress |= self.time(context);
            if progress && self.quantum.is_over() {
                let_others_run(context);
                return Poll::Pending;
            }
            if !progress {
                self.member.note(self.in_flight(), self.member.active());
                self.wire.rest();
                return Poll::Pending;
            }
        }
    }

    /// True if every call is replied to.
    fn is_done(&self) -> bool {
        self.in_flight() == 0 && self.outgoing.len_bytes() == 0 && !self.wire.has_output()
    }

    /// Number of calls, in progress or waiting for memory.
    fn in_flight(&self) -> usize {
        self.calls.futures.len() + self.ration.waiting().count()
    }

    fn follow_orders(&mut self, context: &mut Context<'_>) -> bool {
        if self.woken.as_mut().poll(context).is_pending() {
            return false;
        }
        self.woken = wait_for(&self.member);
        for order in self.member.take_orders() {
            match order {
                Order::Close => self.closed = true,
                Order::Leave => self.end(),
                Order::GiveWay => self.give_way(),
            }
        }
        true
    }

    /// Sends the callbacks for which there is memory. The others wait until output has been written.
    fn send_callbacks(&mut self) -> bool {
        let mut progress = false;
        while let Some(record) = self.member.next_callback(|bytes| self.ration.takes_output(bytes)) {
            let bytes = record.iter().map(Bytes::len).sum();
            self.outgoing.push(record);
            self.ration.queued(bytes, self.end_of_output());
            progress = true;
        }
        progress
    }

    /// Output position after all that waits.
    fn end_of_output(&self) -> u64 {
        self.wire.end_of_output() + self.outgoing.len_bytes() as u64
    }

    /// Takes no more input.
    fn end(&mut self) {
        self.ending = true;
        self.member.end();
        self.linger_until = self.linger_until.or_else(|| clock::now().checked_add(LINGER));
    }

    /// Closes if this connection holds memory that others wait for, and its host neither reads nor sends.
    fn give_way(&mut self) {
        let moved = Moved {
            written: self.wire.written(),
            has_output: self.wire.has_output(),
            received: self.received_bytes + self.wire.received().len() as u64,
            awaits_data: self.incoming.is_partial(self.wire.received()),
        };
        if let Some(what) = self.ration.stalled(moved) {
            let peer = self.member.peer;
            tracing::warn!(%peer, "connection closed: the host {what} its data, and others wait for the memory");
            self.closed = true;
        }
    }

    /// True if one more call may begin.
    fn takes_input(&self) -> bool {
        let waiting: usize = self.ration.waiting().map(|call| self.ration.needed_bytes(call)).sum();
        let output_bytes = self.outgoing.len_bytes() + self.calls.reply_bytes + waiting;
        let has_room = output_bytes < OUTPUT_BYTES && self.record_bytes < RECORD_BYTES;
        // Answers to callbacks may make further ones due.
        let called_back = !self.member.has_callbacks();
        !self.ending && !self.closed && self.in_flight() < IN_FLIGHT && has_room && called_back
    }

    fn read(&mut self, context: &mut Context<'_>) -> bool {
        let mut progress = false;
        while self.takes_input() {
            if self.allowance.bytes == 0 || !self.quantum.takes_command() {
                let_others_run(context);
                return progress;
            }
            let long_bytes = match self.incoming.next(self.wire.received()) {
                Ok(Next::Record(arrived)) => {
                    self.begin(arrived);
                    self.finish_calls(context);
                    progress = true;
                    continue;
                }
                Ok(Next::NoMemory) => return progress,
                Ok(Next::Missing) => None,
                Ok(Next::MissingLong(bytes)) => Some(bytes),
                Err(error) => {
                    self.malformed(&error.to_string());
                    return true;
                }
            };
            let Some(reads) = self.allowance.reads.checked_sub(1) else {
                let_others_run(context);
                return progress;
            };
            let received = match long_bytes {
                Some(bytes) => self.wire.receive_long(bytes, context),
                None => self.wire.receive(context),
            };
            match received {
                Received::Data => {
                    self.allowance.reads = reads;
                    progress = true;
                }
                Received::Pending => return progress,
                Received::End => {
                    self.end();
                    return true;
                }
            }
        }
        progress
    }

    fn malformed(&mut self, what: &str) {
        if let Some(count) = self.service.registry.closed.malformed.count(clock::now()) {
            tracing::warn!(peer = %self.member.peer, what, count, "NFS connection dropped: not a stream of calls");
        }
        self.end();
    }

    /// Begins a call, or queues it until there is memory for its reply.
    fn begin(&mut self, arrived: Arrived) {
        let (record, memory) = arrived.into_parts();
        self.received_bytes += record.len() as u64;
        self.record_bytes += record.len();
        self.allowance.bytes = self.allowance.bytes.saturating_sub(record.len());
        let reply_bytes = reply_bound(&record);
        let call = Call { record, memory, reply_bytes, epoch: self.service.epoch() };
        if let Some(call) = self.ration.admit(call) {
            self.start(call);
        }
    }

    fn start(&mut self, call: Call) {
        let reply_bytes = self.ration.needed_bytes(&call);
        let Call { record, memory, epoch, .. } = call;
        let record_bytes = record.len();
        let (service, connection) = (Rc::clone(&self.service), self.connection);
        self.calls.reply_bytes += reply_bytes;
        self.calls.futures.push(Box::pin(async move {
            let answer = service.call(record, &connection, epoch).await;
            drop(memory);
            Done { answer, reply_bytes, record_bytes }
        }));
    }

    /// Starts calls that waited for memory and have been granted it.
    fn start_waiting(&mut self) -> bool {
        let mut progress = false;
        while let Some(call) = self.ration.next_admitted() {
            self.start(call);
            progress = true;
        }
        self.ration.update(self.incoming.waits());
        progress
    }

    fn finish_calls(&mut self, context: &mut Context<'_>) -> bool {
        let mut progress = false;
        while let Poll::Ready(Some(done)) = self.calls.futures.poll_next_unpin(context) {
            self.calls.reply_bytes -= done.reply_bytes;
            self.record_bytes -= done.record_bytes;
            self.reply(done);
            progress = true;
            if self.quantum.is_over() {
                // The others follow in the next turn.
                break;
            }
        }
        progress
    }

    fn reply(&mut self, done: Done) {
        let mut length = 0;
        match done.answer {
            Answer::Reply(chunks) => {
                length = self.outgoing.push(chunks).unwrap_or_default();
                self.member.note(self.in_flight(), clock::now());
            }
            Answer::BackChannel { .. } => self.member.note(self.in_flight(), clock::now()),
            Answer::Nothing => {}
            Answer::Close => self.malformed("a record that is no message of RPC"),
        }
        let end = self.end_of_output();
        self.ration.responded(done.reply_bytes, length.min(done.reply_bytes), end);
    }

    fn write(&mut self, context: &mut Context<'_>) -> std::io::Result<bool> {
        let result = self.wire.write(|| self.outgoing.next(), context);
        self.ration.written(self.wire.written());
        result
    }

    fn time(&mut self, context: &mut Context<'_>) -> bool {
        let idle_at = self.member.active().checked_add(self.service.idle);
        let due = [self.linger_until, self.ration.give_way_at(), idle_at].into_iter().flatten().min();
        let Poll::Ready(now) = self.timer.poll(due, context) else { return false };
        if self.ration.asks_to_give_way(now) {
            self.service.ask_to_give_way();
        }
        if self.linger_until.is_some_and(|until| until <= now) {
            self.closed = true;
        }
        if idle_at.is_some_and(|at| at <= now) {
            self.idle(now);
        }
        true
    }

    /// Closes a connection whose last valid call is long ago. One with calls in progress, one that waits for memory,
    /// and the only back channel of a session are not idle.
    fn idle(&mut self, now: Instant) {
        if self.in_flight() == 0 && !self.incoming.waits() && !self.service.needs_back_channel(self.member.id) {
            self.service.registry.closed.idle.count(now);
            self.closed = true;
        } else {
            self.member.note(self.in_flight(), now);
        }
    }
}

fn wait_for(member: &Member) -> Pin<Box<dyn Future<Output = ()>>> {
    let wake = Rc::clone(&member.wake);
    Box::pin(async move { wake.notified().await })
}
