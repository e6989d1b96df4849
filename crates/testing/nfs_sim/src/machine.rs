//! The server's machine: the real server over a file system, with the durable records of its clients. It crashes and
//! starts again.

use crate::disk::{Disk, end, time};
use crate::rules::{Driving, is_left_out};
use crate::shared::{Event, LEASE, Shared};
use bytes::Bytes;
use nfs::v4::{FileSystemId, Filehandle};
use nfs_server::access::{Hosts, Rule, Rules};
use nfs_server::handle::{HandleKey, Target};
use nfs_server::{Answer, Connection, Moment, Protocols, Rpc, Server4, Settings, Share, Shares, Transport};
use nfs_state::{Config, ConnectionId, Identity, Limits, Record, RecordChange, State};
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use vfs::{Caller, Exclusive, FileId, FileSystem, FsError, Name, New, NewKind, SetAttributes, Squash};

/// How long a silent client keeps its state.
pub(crate) const COURTESY: Duration = Duration::from_secs(30);
/// Object of the share.
const OBJECT: u64 = 7;
/// Key of handles, which lives as long as the medium.
const KEY: HandleKey = HandleKey::new([5; 16]);
/// Pause between two looks at what is due by time.
const TICK: Duration = Duration::from_secs(1);

/// What a polled task has become.
enum Done {
    Answer(Answer),
    Advanced(Result<(), FsError>),
}

struct Task {
    /// Client and connection of a call.
    from: Option<usize>,
    future: Pin<Box<dyn Future<Output = Done>>>,
}

/// A reply that waits for records to become durable.
struct Outgoing {
    client: usize,
    /// Number of the last change of records before it.
    after: u64,
    record: Bytes,
}

/// A run of the server.
struct Run<F> {
    rpc: Rc<Rpc<F, Rc<Server4<F>>>>,
    server: Rc<Server4<F>>,
    started: Duration,
    tasks: BTreeMap<u64, Task>,
    advancing: bool,
    outgoing: VecDeque<Outgoing>,
    /// Changes of records on their way to the medium, with their numbers.
    changes: VecDeque<(u64, RecordChange)>,
    /// Number of the last change.
    last: u64,
}

/// The machine.
pub(crate) struct Machine<D: Disk> {
    disk: D,
    records: BTreeMap<Bytes, Record>,
    /// Number of the last run.
    boot: u32,
    run: Option<Run<D::Files>>,
}

/// Limits that a run reaches.
fn limits() -> Limits {
    Limits {
        clients: 12,
        unconfirmed_clients: 6,
        opens: 9,
        lock_stateids: 6,
        ranges: 18,
        ranges_per_file: 8,
        owner_bytes: 150,
        cached_replies_bytes: 256 << 10,
        cached_reply_bytes: 2048,
        client_share: 3,
        ..Limits::default()
    }
}

impl<D: Disk> Machine<D> {
    /// A machine with empty files and directories of these names, whose server has not started. Returns their handles.
    pub fn new(seed: u64, names: &[(String, NewKind)]) -> Result<(Self, Vec<Filehandle>), FsError> {
        let disk = D::new(seed);
        let (files, caller) = (disk.open(), Caller::root());
        let call = vfs::Call::new(&caller, time(0));
        let mut handles = Vec::new();
        for (name, what) in names {
            let attributes = SetAttributes { mode: Some(0o755), ..Default::default() };
            let new = New { what: what.clone(), attributes };
            let created = end(files.create(call, files.root(), &Name::try_from(&name[..])?, &new))?;
            handles.push(handle(created.file.file));
        }
        Ok((Self { disk, records: BTreeMap::new(), boot: 0, run: None }, handles))
    }

    /// Number of the run, if there is one.
    pub fn run(&self) -> Option<u32> {
        self.run.as_ref().map(|_| self.boot)
    }

    /// Number of the last run, and the start of the present one.
    pub fn boot(&self) -> (u32, Option<Duration>) {
        (self.boot, self.run.as_ref().map(|run| run.started))
    }

    /// Starts the server with what is durable.
    pub fn start(&mut self, shared: &mut Shared) {
        self.boot += 1;
        shared.report.starts += 1;
        let name = Bytes::from_static(b"sim");
        let identity = Identity { server_owner: name.clone(), scope: name, implementation: None };
        let config = Config { lease: LEASE, courtesy: COURTESY, limits: limits(), ..Config::new(self.boot, identity) };
        let records: Vec<Record> = self.records.values().cloned().collect();
        shared.tell(format_args!("the server starts, run {}, {} records", self.boot, records.len()));
        let state = match State::new(config, records, LEASE, Duration::ZERO) {
            Ok(state) => state,
            Err(error) => return shared.fail(format_args!("{error}")),
        };
        let shares = Rc::new(RefCell::new(Shares::new(time(0))));
        let published = shares.borrow_mut().publish(share(self.disk.open()), time(0));
        if let Err(error) = published {
            return shared.fail(format_args!("{error}"));
        }
        let check = shared.random.next();
        let random = Box::new(move || u32::try_from(check & 0xffff_ffff).unwrap_or(0));
        let server = Rc::new(Server4::new(KEY, Rc::clone(&shares), state, random));
        let settings = Settings { handle_key: KEY, v3: true, portmap: false, port: 2049 };
        let rpc = Rc::new(Rpc::new(settings, shares, Some(Rc::clone(&server))));
        self.run = Some(Run {
            rpc,
            server,
            started: shared.now(),
            tasks: BTreeMap::new(),
            advancing: false,
            outgoing: VecDeque::new(),
            changes: VecDeque::new(),
            last: 0,
        });
        shared.after(Duration::ZERO, Event::Tick { run: self.boot });
    }

    /// Ends the run at once: calls in progress are dropped, and what is not durable is lost.
    pub fn crash(&mut self, shared: &mut Shared) {
        shared.tell(format_args!("the server crashes"));
        if self.run.take().is_some() {
            self.disk.crash(&shared.random);
        }
    }

    /// Takes a record of a client. False if there is no run.
    pub fn take(&mut self, shared: &mut Shared, client: usize, connection: u64, record: Bytes) -> bool {
        let Some(run) = &mut self.run else { return false };
        let port = 700 + u16::try_from(connection % 300).unwrap_or(0);
        let address = [10, 0, 0, u8::try_from(client).unwrap_or(0)];
        let connection = Connection {
            id: connection,
            client: SocketAddr::from((address, port)),
            server: SocketAddr::from(([10, 0, 1, 1], 2049)),
            transport: Transport::Tcp,
        };
        let moment = moment(shared, run.started);
        let rpc = Rc::clone(&run.rpc);
        let call = async move { Done::Answer(rpc.take(record, &connection, moment).await) };
        let task = shared.number();
        run.tasks.insert(task, Task { from: Some(client), future: Box::pin(call) });
        self.poll(shared, task);
        true
    }

    /// The server learns that a connection is closed.
    pub fn close(&mut self, shared: &Shared, connection: u64) {
        if let Some(run) = &self.run {
            let uptime = shared.now() - run.started;
            run.server.state().connection_closed(ConnectionId(connection), uptime);
        }
    }

    /// Does what is due by time.
    pub fn tick(&mut self, shared: &mut Shared) {
        let Some(run) = &mut self.run else { return };
        shared.after(TICK, Event::Tick { run: self.boot });
        if run.advancing {
            return;
        }
        run.advancing = true;
        let (server, uptime) = (Rc::clone(&run.server), shared.now() - run.started);
        let task = shared.number();
        let advance = async move { Done::Advanced(server.advance(uptime).await) };
        run.tasks.insert(task, Task { from: None, future: Box::pin(advance) });
        self.poll(shared, task);
    }

    /// Polls a task once.
    pub fn poll(&mut self, shared: &mut Shared, number: u64) {
        let Some(run) = &mut self.run else { return };
        let Some(mut task) = run.tasks.remove(&number) else { return };
        let done = task.future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        run.take_changes(shared, self.boot);
        match done {
            Poll::Pending => {
                let most = if shared.random.chance(3) { 100_000 } else { 2_000 };
                let delay = shared.within(Duration::from_micros(most));
                run.tasks.insert(number, task);
                shared.after(delay, Event::Poll { run: self.boot, task: number });
            }
            Poll::Ready(Done::Advanced(result)) => {
                run.advancing = false;
                if let Err(error) = result {
                    shared.fail(format_args!("what is due by time fails: {error}"));
                }
            }
            Poll::Ready(Done::Answer(Answer::Reply(chunks))) => {
                let record = chunks.concat().into();
                let client = task.from.unwrap_or_default();
                run.outgoing.push_back(Outgoing { client, after: run.last, record });
            }
            Poll::Ready(Done::Answer(Answer::Nothing)) => {}
            Poll::Ready(Done::Answer(other)) => shared.fail(format_args!("answer to a call: {other:?}")),
        }
        run.send(shared, self.boot);
    }

    /// Changes of records are durable.
    pub fn durable(&mut self, shared: &mut Shared, change: u64) {
        let Some(run) = &mut self.run else { return };
        while run.changes.front().is_some_and(|(number, _)| *number <= change) {
            let Some((_, change)) = run.changes.pop_front() else { return };
            match change {
                RecordChange::Write(record) => drop(self.records.insert(record.owner.clone(), record)),
                RecordChange::Remove { owner } => drop(self.records.remove(&owner)),
            }
        }
        run.send(shared, self.boot);
    }

    /// Looks at the state of clients; `None` between two runs.
    pub fn state<T>(&self, shared: &Shared, look: impl FnOnce(&State, Duration) -> T) -> Option<T> {
        let run = self.run.as_ref()?;
        Some(look(&run.server.state(), shared.now() - run.started))
    }

    /// Number of records that are durable.
    pub fn records(&self) -> usize {
        self.records.len()
    }

    /// Number of calls in progress.
    pub fn tasks(&self) -> usize {
        self.run.as_ref().map_or(0, |run| run.tasks.len())
    }

    /// Files without a name that nothing holds, which are deleted with this.
    pub fn drop_unheld(&self) -> Result<u64, FsError> {
        end(self.disk.open().drop_unheld())
    }
}

impl<F: FileSystem> Run<F> {
    /// Sends the changes of records to the medium.
    fn take_changes(&mut self, shared: &mut Shared, run: u32) {
        let before = self.last;
        while let Some(change) = self.server.take_record_change() {
            self.last += 1;
            self.changes.push_back((self.last, change));
        }
        if self.last > before {
            let most = if shared.random.chance(25) { 2_000 } else { 30 };
            let delay = shared.within(Duration::from_millis(most));
            if !shared.is_calm() && shared.random.chance(15) {
                // What a crash makes of replies that left too early is seen if it comes now.
                let before = shared.within(delay);
                shared.after(before, Event::Crash { run });
            }
            shared.after(delay, Event::Durable { run, change: self.last });
        }
    }

    /// Sends the replies whose records are durable.
    fn send(&mut self, shared: &mut Shared, run: u32) {
        let durable = self.changes.front().map_or(self.last, |(number, _)| number - 1);
        let durable = if is_left_out(Driving::RecordBeforeReply) { u64::MAX } else { durable };
        while self.outgoing.front().is_some_and(|reply| reply.after <= durable) {
            let Some(Outgoing { client, record, .. }) = self.outgoing.pop_front() else { return };
            shared.send(Event::ToClient { client, run, record });
        }
    }
}

fn moment(shared: &Shared, started: Duration) -> Moment {
    let seconds = u32::try_from(shared.now().as_secs()).unwrap_or(u32::MAX);
    Moment { now: time(seconds), uptime: shared.now() - started }
}

fn handle(file: FileId) -> Filehandle {
    KEY.seal(Target::File { object: OBJECT, epoch: 0, file })[..].into()
}

fn share<F>(files: F) -> Share<F> {
    Share {
        name: Name::try_from("s").unwrap_or_else(|error| unreachable!("a short name: {error}")),
        object: OBJECT,
        epoch: 0,
        fsid: FileSystemId { major: 1, minor: 0 },
        file_system: Rc::new(files),
        rules: Rules(vec![Rule { squash: Squash::None, ..Rule::new(Hosts::Any) }]),
        copy: nfs_server::CopyPolicy::Share,
        protocols: Protocols { v3: true, v4: true },
        counted: None,
    }
}

/// Kind of a file that the machine begins with.
pub(crate) const FILE: NewKind = NewKind::File { exclusive: Exclusive::Yes, hold: false };
