//! The NFS server over a file system in memory, on TCP sockets: what clients that know no simulation are run
//! against. Nothing outlives the process, and nobody is refused: it is not for use.
//!
//! A connection takes at most [`IN_FLIGHT`] calls at a time; each is a task of its own, so that a call
//! that waits holds up no other.
#![forbid(unsafe_code)]

mod lie;

pub use lie::Lie;

use bytes::{Bytes, BytesMut};
use lie::Lying;
use nfs::v4::FileSystemId;
use nfs::v4::compound::MAX_MESSAGE_BYTES;
use nfs_server::access::{Hosts, Rule, Rules};
use nfs_server::handle::HandleKey;
use nfs_server::{Answer, Connection, CopyPolicy, Moment, Protocols, Rpc, Server4, Settings, Share, Shares, Transport};
use nfs_state::{Config, ConnectionId, Identity, Record, RecordChange, State};
use onc_rpc::record::{self, Progress, Reassembly};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::rc::{Rc, Weak};
use std::time::{Duration, Instant, SystemTime};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Mutex, Notify, Semaphore, mpsc};
use vfs::memory::{MemoryEngine, MemoryFileSystem};
use vfs::{Name, Squash, Timestamp};
use xdr::Writer;

/// Calls of a connection in progress.
pub const IN_FLIGHT: usize = 128;
/// Room of the receive buffer, at least.
const ROOM_BYTES: usize = 64 << 10;
/// Quota of the share `/small`.
pub const SMALL_BYTES: u64 = 16 << 20;
/// Interval of work that is due by time.
const TICK: Duration = Duration::from_millis(500);

type Entry = Rpc<MemoryFileSystem, Rc<Server4<MemoryFileSystem>>>;

/// A server with the shares `/s` and `/t`, each a file system of its own; `/read-only`, which is `/s` without
/// changes; `/small`, of [`SMALL_BYTES`]; and `/physical`, into which COPY moves bytes.
pub struct MemoryServer {
    entry: Entry,
    records: Records,
    v4: Rc<Server4<MemoryFileSystem>>,
    started: Instant,
    connections: Cell<u64>,
    /// Where callbacks are sent, by connection.
    writers: RefCell<BTreeMap<u64, Weak<Mutex<OwnedWriteHalf>>>>,
    lying: Option<Lying>,
}

fn random_bytes<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes)
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let seconds = i64::try_from(since.as_secs()).unwrap_or(i64::MAX);
    Timestamp::new(seconds, since.subsec_nanos()).unwrap_or_default()
}

fn share(name: &str, object: u64, file_system: Rc<MemoryFileSystem>) -> io::Result<Share<MemoryFileSystem>> {
    Ok(Share {
        name: Name::try_from(name).map_err(io::Error::other)?,
        object,
        epoch: 1,
        fsid: FileSystemId { major: object, minor: 1 },
        file_system,
        rules: Rules(vec![Rule { squash: Squash::None, ..Rule::new(Hosts::Any) }]),
        protocols: Protocols { v3: true, v4: true },
        copy: CopyPolicy::Share,
        counted: None,
    })
}

/// Records of clients, which outlive a run.
type Records = Rc<RefCell<BTreeMap<Bytes, Record>>>;

/// What outlives a run of a server.
struct Medium {
    engine: MemoryEngine,
    files: [Rc<MemoryFileSystem>; 4],
    handle_key: HandleKey,
    records: Records,
    /// Number of the last run.
    boot: u32,
}

/// A restart: whether the records of clients stay, and whom to tell that the server runs again.
type Restart = (bool, std::sync::mpsc::Sender<()>);

/// Restarts a server that [`start_restartable`] has started.
#[derive(Clone, Debug)]
pub struct Restarts(mpsc::UnboundedSender<Restart>);

impl Restarts {
    /// Crashes the server and starts it again. Without `keep_records` it has forgotten all clients.
    pub fn restart(&self, keep_records: bool) -> io::Result<()> {
        let (done, wait) = std::sync::mpsc::channel();
        self.0.send((keep_records, done)).map_err(|_| io::Error::other("the server has ended"))?;
        wait.recv().map_err(|_| io::Error::other("the server has ended"))
    }
}

/// Starts a server on a thread of its own, at a free port of this machine; it ends with the process.
/// Returns its address.
pub fn start() -> io::Result<SocketAddr> {
    start_with(Setup::default())
}

/// How a server differs from the usual one.
pub struct Setup {
    /// Serve NFSv3 and MOUNT, too.
    pub v3: bool,
    /// Room of the share `s` in bytes.
    pub quota_bytes: Option<u64>,
    /// Lease of clients, 5 s or longer.
    pub lease: Duration,
    /// Creates the lie that the server tells.
    pub lie: Option<Box<dyn FnOnce() -> Box<dyn Lie> + Send>>,
}

impl Default for Setup {
    fn default() -> Self {
        Self { v3: true, quota_bytes: None, lease: Duration::from_secs(10), lie: None }
    }
}

impl Setup {
    /// A server with a lie.
    pub fn lying<L: Lie + 'static>(lie: impl FnOnce() -> L + Send + 'static) -> Self {
        Self { lie: Some(Box::new(|| Box::new(lie()))), ..Self::default() }
    }
}

/// As [`start`], for a server that differs from the usual one.
pub fn start_with(setup: Setup) -> io::Result<SocketAddr> {
    start_thread(setup, false).map(|(address, _)| address)
}

/// As [`start_with`], for a server that can be restarted. A lie is told in the first run alone.
pub fn start_restartable(setup: Setup) -> io::Result<(SocketAddr, Restarts)> {
    start_thread(setup, true)
}

/// Runs a server on a thread. With `crashes` a restart loses what was not durable.
fn start_thread(mut setup: Setup, crashes: bool) -> io::Result<(SocketAddr, Restarts)> {
    let listener = std::net::TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, 0))?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (restarts, mut wanted) = mpsc::unbounded_channel::<Restart>();
    std::thread::spawn(move || -> io::Result<()> {
        let mut medium = Medium::new(setup.quota_bytes, crashes)?;
        let mut done: Option<std::sync::mpsc::Sender<()>> = None;
        loop {
            // With the set, all connections and calls of the run end.
            let run = tokio::task::LocalSet::new();
            let server = MemoryServer::create(address.port(), &mut setup, &mut medium)?;
            let listener = listener.try_clone()?;
            let restart = run.block_on(&runtime, async {
                let listener = TcpListener::from_std(listener)?;
                // It listens. Whoever asked for the restart may have stopped waiting.
                let _told = done.take().map(|done| done.send(()));
                tokio::select! {
                    ended = server.serve(listener) => ended.map(|()| None),
                    // Without anyone left who could restart it, the server goes on.
                    Some(restart) = wanted.recv() => Ok(Some(restart)),
                }
            });
            let Some((keep_records, waiting)) = restart? else { return Ok(()) };
            drop(run);
            medium.crash(keep_records);
            done = Some(waiting);
        }
    });
    Ok((address, Restarts(restarts)))
}

impl Medium {
    /// An empty one. `quota_bytes`: room of the share `s`.
    fn new(quota_bytes: Option<u64>, crashes: bool) -> io::Result<Self> {
        let engine = MemoryEngine::new(None);
        if crashes {
            engine.expect_crashes();
        }
        let files = [quota_bytes, None, Some(SMALL_BYTES), None].map(|quota_bytes| {
            let files = engine.create(now());
            files.set_quota(quota_bytes);
            Rc::new(files)
        });
        let boot = u32::from_be_bytes(random_bytes()?) >> 1;
        Ok(Self { engine, files, handle_key: HandleKey::new(random_bytes()?), records: Records::default(), boot })
    }

    /// What is not durable is lost.
    fn crash(&self, keep_records: bool) {
        self.engine.restart(true);
        if !keep_records {
            self.records.borrow_mut().clear();
        }
    }

    /// The shares of [`MemoryServer`].
    fn shares(&self) -> io::Result<Shares<MemoryFileSystem>> {
        let [first, second, small, physical] = self.files.each_ref().map(Rc::clone);
        let mut read_only = share("read-only", 9, Rc::clone(&first))?;
        read_only.rules.0.iter_mut().for_each(|rule| rule.read_only = true);
        let mut shares = Shares::new(now());
        let physical = Share { copy: CopyPolicy::Physical, ..share("physical", 11, physical)? };
        let small = share("small", 10, small)?;
        for share in [share("s", 7, first)?, share("t", 8, second)?, read_only, small, physical] {
            shares.publish(share, now()).map_err(io::Error::other)?;
        }
        Ok(shares)
    }
}

impl MemoryServer {
    /// Creates a server. `port`: TCP port, for portmap.
    pub fn new(port: u16) -> io::Result<Rc<Self>> {
        Self::create(port, &mut Setup::default(), &mut Medium::new(None, false)?)
    }

    /// The next run of a server.
    fn create(port: u16, setup: &mut Setup, medium: &mut Medium) -> io::Result<Rc<Self>> {
        let shares = Rc::new(RefCell::new(medium.shares()?));
        medium.boot += 1;
        let name = Bytes::from_static(b"nfs_memory");
        let identity = Identity { server_owner: name.clone(), scope: name, implementation: None };
        let config = Config { lease: setup.lease, ..Config::new(medium.boot, identity) };
        let records = medium.records.borrow().values().cloned().collect();
        let state = State::new(config, records, setup.lease, Duration::ZERO).map_err(io::Error::other)?;
        let random = Box::new(|| random_bytes().map_or(0, u32::from_be_bytes));
        let handle_key = medium.handle_key;
        let v4 = Rc::new(Server4::new(handle_key, Rc::clone(&shares), state, random));
        let settings = Settings { handle_key, v3: setup.v3, portmap: true, port };
        let entry = Rpc::new(settings, shares, Some(Rc::clone(&v4)));
        let lying = setup.lie.take().map(|lie| Lying::new(lie()));
        let records = Rc::clone(&medium.records);
        let (started, connections, writers) = (Instant::now(), Cell::new(0), RefCell::default());
        Ok(Rc::new(Self { entry, records, v4, started, connections, writers, lying }))
    }

    /// Stores the changes of records: they are as durable as the files.
    fn store_records(&self) {
        while let Some(change) = self.v4.take_record_change() {
            let mut records = self.records.borrow_mut();
            match change {
                RecordChange::Write(record) => drop(records.insert(record.owner.clone(), record)),
                RecordChange::Remove { owner } => drop(records.remove(&owner)),
            }
        }
    }

    /// Serves connections, until it is dropped. Requires a `LocalSet` or a local runtime of tokio.
    pub async fn serve(self: Rc<Self>, listener: TcpListener) -> io::Result<()> {
        tokio::task::spawn_local(tick(Rc::downgrade(&self)));
        let copying = Rc::clone(&self);
        tokio::task::spawn_local(async move { copying.copy().await });
        loop {
            let (stream, client) = listener.accept().await?;
            let server = Rc::clone(&self);
            tokio::task::spawn_local(async move {
                // A connection that fails ends; its client comes back or does not.
                let id = server.connections.get() + 1;
                server.connections.set(id);
                let _ended = Rc::clone(&server).connection(id, stream, client).await;
                server.writers.borrow_mut().remove(&id);
                server.v4.state().connection_closed(ConnectionId(id), server.started.elapsed());
            });
        }
    }

    async fn connection(self: Rc<Self>, id: u64, stream: TcpStream, client: SocketAddr) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let connection = Connection { id, client, server: stream.local_addr()?, transport: Transport::Tcp };
        let (reader, writer) = stream.into_split();
        let (writer, closing) = (Rc::new(Mutex::new(writer)), Rc::new(Notify::new()));
        self.writers.borrow_mut().insert(id, Rc::downgrade(&writer));
        tokio::select! {
            ended = self.read(reader, connection, writer, Rc::clone(&closing)) => ended,
            () = closing.notified() => Ok(()),
        }
    }

    /// Takes records until the client ends them.
    async fn read(
        self: Rc<Self>,
        mut reader: OwnedReadHalf,
        connection: Connection,
        writer: Rc<Mutex<OwnedWriteHalf>>,
        closing: Rc<Notify>,
    ) -> io::Result<()> {
        let permits = std::sync::Arc::new(Semaphore::new(IN_FLIGHT));
        let mut reassembly = Reassembly::new(MAX_MESSAGE_BYTES as usize);
        let mut input = BytesMut::new();
        loop {
            let record = match reassembly.take(&mut input).map_err(io::Error::other)? {
                Progress::Record(record) => record,
                Progress::Incomplete { missing_bytes } => {
                    input.reserve(missing_bytes.max(ROOM_BYTES));
                    match reader.read_buf(&mut input).await? {
                        0 => return Ok(()),
                        _ => continue,
                    }
                }
            };
            let permit = std::sync::Arc::clone(&permits).acquire_owned().await.map_err(io::Error::other)?;
            let (server, writer, closing) = (Rc::clone(&self), Rc::clone(&writer), Rc::clone(&closing));
            // The call is polled to its end, whatever becomes of the connection.
            tokio::task::spawn_local(async move {
                server.call(record, &connection, &writer, &closing).await;
                drop(permit);
            });
        }
    }

    async fn call(&self, record: Bytes, connection: &Connection, writer: &Mutex<OwnedWriteHalf>, closing: &Notify) {
        let moment = Moment { now: now(), uptime: self.started.elapsed() };
        let lie = self.lying.as_ref().and_then(|lying| Some((lying, lying.asked(&record)?)));
        let (record, lie) = match lie {
            Some((lying, (record, asked))) => (record, Some((lying, asked))),
            None => (record, None),
        };
        let answer = self.entry.take(record, connection, moment).await;
        let answer = match (answer, lie) {
            (Answer::Reply(chunks), Some((lying, asked))) => {
                let reply = Bytes::from(chunks.concat());
                Answer::Reply(vec![lying.answered(&reply, &asked).unwrap_or(reply)])
            }
            (answer, _) => answer,
        };
        self.store_records();
        if let Answer::BackChannel { reply, results } = &answer {
            self.v4.callback_answered(connection.id, reply, results.clone(), self.started.elapsed());
        }
        self.answer(answer, writer, closing).await;
        self.send_callbacks().await;
    }

    async fn answer(&self, answer: Answer, writer: &Mutex<OwnedWriteHalf>, closing: &Notify) {
        let mut writer = writer.lock().await;
        // A failed write ends the connection, which the reader notices.
        let _written = match answer {
            Answer::Reply(chunks) => writer.write_all(&framed(&chunks)).await,
            Answer::Close => {
                closing.notify_one();
                writer.shutdown().await
            }
            Answer::BackChannel { .. } | Answer::Nothing => Ok(()),
        };
    }
}

impl MemoryServer {
    /// Runs physical copies, and sends their callbacks.
    async fn copy(&self) {
        loop {
            self.v4.copy_ended(|| (Moment { now: now(), uptime: self.started.elapsed() }, ())).await;
            self.send_callbacks().await;
        }
    }

    /// Sends the callbacks that are due.
    async fn send_callbacks(&self) {
        while let Some(call) = self.v4.next_callback(self.started.elapsed()) {
            let writer = self.writers.borrow().get(&call.connection).and_then(Weak::upgrade);
            match writer {
                // A failed write ends the connection, which the reader notices.
                Some(writer) => drop(writer.lock().await.write_all(&framed(&call.record)).await),
                None => self.v4.state().connection_closed(ConnectionId(call.connection), self.started.elapsed()),
            }
        }
    }
}

/// Does what is due by time, as long as the server exists.
async fn tick(server: Weak<MemoryServer>) {
    loop {
        tokio::time::sleep(TICK).await;
        let Some(server) = server.upgrade() else { return };
        // A file system in memory that is open does not fail.
        let _advanced = server.v4.advance(server.started.elapsed()).await;
        server.store_records();
        server.send_callbacks().await;
    }
}

/// A record with its mark.
fn framed(chunks: &[Bytes]) -> Bytes {
    let mut writer = Writer::default();
    let record = record::Record::start(&mut writer);
    let bytes = chunks.concat();
    writer.fixed(&bytes);
    // Replies are whole words, and far below 2 GiB.
    let _finished = record.finish(&mut writer);
    writer.into_bytes()
}
