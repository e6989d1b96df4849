//! The NFS server with its clock, the records of its clients, and the memory of its connections: what all
//! connections share.

use super::super::share::HostCalls;
use super::super::shared_memory::{SharedMemory, Shortage};
use super::copies::{self, Copies, Owed};
use super::epochs::{Epoch, Epochs};
use super::records::{Records, Store};
use super::registry::Registry;
use super::start::Start;
use crate::measurements::Measurements;
use crate::measurements::nfs_use::{NfsUse, Version4Use};
use crate::notice::Notice;
use bytes::Bytes;
use control::Environment;
use futures_util::future::join_all;
use nfs_server::{Answer, Connection, Moment, Rpc, Server4, Settings, Shares, Statistics};
use nfs_state::ConnectionId;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use unit::LogEntry;
use vfs::{FileSystem, Timestamp};

/// Interval of work that is due by time.
const TICK: Duration = Duration::from_millis(500);
/// Longest wait for the calls that are in progress when a client is expired.
const CALLS_END: Duration = Duration::from_secs(5);

/// The NFS server over file systems `F`.
pub(super) struct Service<F> {
    entry: Rpc<F, Rc<Server4<F>>>,
    /// Absent if NFSv4 is not served.
    v4: Option<Rc<Server4<F>>>,
    shares: Rc<RefCell<Shares<F>>>,
    records: Records,
    /// Statistics of shares and clients.
    pub statistics: Rc<Statistics>,
    pub registry: Registry,
    pub memory: SharedMemory,
    shortage: Rc<Shortage>,
    host_calls: HostCalls,
    measurements: Arc<Measurements>,
    environment: Rc<dyn Environment>,
    /// Monotonic time at the start.
    started: Duration,
    epochs: Epochs,
    copies: Copies,
    traffic: Traffic,
    /// Time without a valid call after which a connection is closed.
    pub idle: Duration,
    failed: Notice,
}

/// Counters since the start.
#[derive(Debug, Default)]
struct Traffic {
    /// Calls received.
    calls: Cell<u64>,
    /// Bytes of their records.
    received_bytes: Cell<u64>,
    /// Bytes of the records of replies.
    sent_bytes: Cell<u64>,
}

/// What a server needs of the reactor.
pub(super) struct Surroundings {
    pub memory: SharedMemory,
    pub shortage: Rc<Shortage>,
    pub environment: Rc<dyn Environment>,
    pub calls: HostCalls,
    pub measurements: Arc<Measurements>,
    /// Takes entries of the log of refusals.
    pub log: Box<dyn Fn(LogEntry)>,
    /// Time that background work owes to hosts after it has worked for some.
    pub owed: Owed,
}

/// Time without a valid call after which a connection is closed, at least.
const IDLE: Duration = Duration::from_secs(60);

impl<F: FileSystem + 'static> Service<F> {
    /// `port`: of the first listener, for portmap. `store`: stores records of clients.
    pub fn new(start: Start, port: u16, surroundings: Surroundings, store: Store) -> Self {
        let Surroundings { memory, shortage, environment, calls, measurements, log, owed } = surroundings;
        let statistics = statistics(&environment, log);
        let shares = Rc::new(RefCell::new(Shares::new(timestamp(environment.now()))));
        // A client of NFSv4 without I/O renews its lease once in each.
        let idle = start.state.as_ref().map_or(IDLE, |state| IDLE.max(2 * state.lease()));
        let random = {
            let environment = Rc::clone(&environment);
            move || {
                let mut bytes = [0; 4];
                environment.fill_random(&mut bytes);
                u32::from_ne_bytes(bytes)
            }
        };
        let server = |state| {
            let server = Server4::new(start.handle_key, Rc::clone(&shares), state, Box::new(random));
            Rc::new(server.with_statistics(Rc::clone(&statistics)))
        };
        let v4 = start.state.map(server);
        let settings = Settings { handle_key: start.handle_key, v3: start.v3, portmap: start.portmap, port };
        Self {
            entry: Rpc::new(settings, Rc::clone(&shares), v4.clone()).with_statistics(Rc::clone(&statistics)),
            statistics,
            v4,
            shares,
            records: Records::new(store),
            registry: Registry::default(),
            memory,
            shortage,
            host_calls: calls,
            measurements,
            started: environment.monotonic(),
            environment,
            epochs: Epochs::default(),
            copies: Copies::new(owed),
            traffic: Traffic::default(),
            idle,
            failed: Notice::default(),
        }
    }

    /// The shares that are exported. They must not be borrowed while a call is polled.
    pub fn shares(&self) -> &RefCell<Shares<F>> {
        &self.shares
    }

    /// Time of day, for times of files.
    pub fn now(&self) -> Timestamp {
        timestamp(self.environment.now())
    }

    /// Time since the start.
    pub fn uptime(&self) -> Duration {
        self.environment.monotonic().saturating_sub(self.started)
    }

    /// Asks the connections of all protocols to give way to those that wait for memory.
    pub fn ask_to_give_way(&self) {
        self.shortage.ask_to_give_way();
    }

    /// Executes a call, which is in progress as long as it has its epoch. Ready when its reply may be sent. To be
    /// polled to its end.
    pub async fn call(&self, record: Bytes, connection: &Connection, epoch: Epoch) -> Answer {
        self.host_calls.add();
        add(&self.traffic.calls, 1);
        add(&self.traffic.received_bytes, record.len());
        let moment = Moment { now: self.now(), uptime: self.uptime() };
        let mut answer = self.entry.take(record, connection, moment).await;
        if let (Answer::BackChannel { reply, results }, Some(v4)) = (&mut answer, &self.v4) {
            v4.callback_answered(connection.id, reply, std::mem::take(results), self.uptime());
        }
        self.take_records();
        // It has taken effect. An administrator need not wait for its reply, which waits for the pool.
        drop(epoch);
        self.records.settled().await;
        self.send_callbacks();
        if let Answer::Reply(chunks) = &answer {
            add(&self.traffic.sent_bytes, chunks.iter().map(Bytes::len).sum());
        }
        answer
    }

    /// Sends the callbacks that are due. Those of connections that are gone become due again.
    fn send_callbacks(&self) {
        let Some(v4) = &self.v4 else { return };
        while let Some(call) = v4.next_callback(self.uptime()) {
            add(&self.traffic.sent_bytes, call.record.iter().map(Bytes::len).sum());
            if !self.registry.send(call.connection, call.record) {
                self.connection_closed(call.connection);
            }
        }
    }

    /// Runs physical copies, a piece of one at a time, and sends their callbacks. Pauses in favour of hosts.
    async fn copy(&self) {
        let Some(v4) = &self.v4 else { return };
        loop {
            let begun = Cell::new(None);
            let begin = || {
                let uptime = self.uptime();
                begun.set(Some(uptime));
                (Moment { now: self.now(), uptime }, self.epoch())
            };
            if v4.copy_piece(begin).await {
                self.send_callbacks();
            }
            if let Some(begun) = begun.get() {
                self.copies.give_way(&*self.environment, self.uptime().saturating_sub(begun)).await;
            }
        }
    }

    /// Takes changes of the records of clients.
    fn take_records(&self) {
        if let Some(v4) = &self.v4 {
            self.records.take(|| v4.take_record_change());
        }
    }

    /// Takes a change of the records of clients, as one that a call has caused.
    #[cfg(test)]
    pub fn take_record(&self, change: nfs_state::RecordChange) {
        let change = Cell::new(Some(change));
        self.records.take(|| change.take());
    }

    /// Epoch of a call that begins.
    pub fn epoch(&self) -> Epoch {
        self.epochs.present()
    }

    /// Ready when all calls have ended that are in progress now.
    pub fn calls_ended(&self) -> impl Future<Output = ()> + use<F> {
        self.epochs.begin()
    }

    /// Number of calls received.
    pub fn calls(&self) -> u64 {
        self.traffic.calls.get()
    }

    /// A connection is closed. Its calls may be in progress.
    pub fn connection_closed(&self, connection: u64) {
        if let Some(v4) = &self.v4 {
            v4.state().connection_closed(ConnectionId(connection), self.uptime());
        }
    }

    /// Whether callbacks of a client need a connection.
    pub fn needs_back_channel(&self, connection: u64) -> bool {
        let needs = |v4: &Rc<Server4<F>>| v4.state().is_only_back_channel(ConnectionId(connection), self.uptime());
        self.v4.as_ref().is_some_and(needs)
    }

    /// Revokes the opens and locks in a share that was rolled back or deleted, and ends the copies from and to it.
    pub fn content_replaced(&self, object: u64) {
        let Some(v4) = &self.v4 else { return };
        let clients = v4.state().revoke_share(object);
        if clients > 0 {
            tracing::info!(clients, "opens and locks of NFS clients in a share were revoked");
        }
        v4.content_replaced(object);
    }

    /// Waits for the pieces in progress of copies that may not go on.
    pub async fn barred_copies_ended(&self) {
        if let Some(v4) = &self.v4 {
            v4.barred_pieces_ended().await;
        }
    }

    /// Server of NFSv4, if it is served.
    pub fn version_4(&self) -> Option<&Server4<F>> {
        self.v4.as_deref()
    }

    /// Revokes what a client of NFSv4 has, and its record. False if there is no such client. Ready when no copy of the
    /// client can change anything any more, and no call that ends in time: one that takes long, such as the clone of a
    /// large range at another offset, ends by itself.
    pub async fn expire_client(&self, id: u64) -> bool {
        let found = self.v4.as_ref().is_some_and(|v4| v4.state().revoke_client(id, self.uptime()).is_ok());
        self.take_records();
        if found {
            self.barred_copies_ended().await;
            let _longer = tokio::time::timeout(CALLS_END, self.calls_ended()).await;
        }
        found
    }

    /// A share was deleted.
    pub fn share_deleted(&self, object: u64) {
        self.content_replaced(object);
        self.statistics.deleted(object);
    }

    /// Does what is due by time, stores records, and runs physical copies, until it is dropped.
    pub async fn background(&self) {
        let ticking = async {
            loop {
                tokio::time::sleep(TICK).await;
                self.tick().await;
            }
        };
        let copying = join_all((0..copies::SIDE_BY_SIDE).map(|_| self.copy()));
        tokio::join!(ticking, self.records.run(), copying);
    }

    /// Numbers for metrics.
    fn used(&self) -> NfsUse {
        let (closed, replies) = (&self.registry.closed, self.entry.reply_counts());
        let version_4 = self.v4.as_ref().map(|v4| {
            let totals = v4.state().totals(self.uptime());
            Version4Use {
                clients: totals.clients.into(),
                sessions: totals.sessions.into(),
                slots: totals.slots.into(),
                opens: totals.holdings.opens.into(),
                locks: totals.ranges.into(),
                kept_reply_bytes: totals.replies_bytes,
                grace_seconds: totals.grace.as_secs_f64().ceil() as u64,
                reclaiming: totals.reclaiming as u64,
            }
        });
        NfsUse {
            calls: self.traffic.calls.get(),
            operations: [self.entry.procedures(), self.v4.as_ref().map(|v4| v4.operations()).unwrap_or_default()],
            received_bytes: self.traffic.received_bytes.get(),
            sent_bytes: self.traffic.sent_bytes.get(),
            connections: self.registry.count() as u64,
            closed: [&closed.displaced, &closed.refused, &closed.malformed, &closed.idle].map(Notice::total),
            version_4,
            kept_reply_bytes: self.entry.kept_reply_bytes() as u64,
            repeated: replies.repeated + replies.joined,
            evicted: replies.evicted,
        }
    }

    async fn tick(&self) {
        self.measurements.nfs.note(self.used());
        let Some(v4) = &self.v4 else { return };
        let advanced = v4.advance(self.uptime()).await;
        self.take_records();
        self.send_callbacks();
        if let Err(error) = advanced
            && let Some(count) = self.failed.count(super::super::clock::now())
        {
            tracing::warn!(%error, count, "files that no NFS client has open could not be released; they are tried again");
        }
    }
}

/// Statistics by the clock of the environment.
fn statistics(environment: &Rc<dyn Environment>, log: Box<dyn Fn(LogEntry)>) -> Rc<Statistics> {
    let environment = Rc::clone(environment);
    let now_ns = move || u64::try_from(environment.monotonic().as_nanos()).unwrap_or(u64::MAX);
    Rc::new(Statistics::new(Box::new(now_ns), log))
}

fn add(counter: &Cell<u64>, number: usize) {
    counter.set(counter.get().saturating_add(number as u64));
}

/// Time of a file system.
pub(super) fn timestamp(time: jiff::Timestamp) -> Timestamp {
    let nanoseconds = time.as_nanosecond();
    let second = i64::try_from(nanoseconds.div_euclid(1_000_000_000)).unwrap_or_default();
    let part = u32::try_from(nanoseconds.rem_euclid(1_000_000_000)).unwrap_or_default();
    Timestamp::new(second, part).unwrap_or_default()
}
