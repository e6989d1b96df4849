//! A server over a file system in memory, and a client that encodes compounds and decodes their results.

use crate::access::{Hosts, Rule, Rules};
use crate::handle::HandleKey;
use crate::v4::operations::row_of;
use crate::{
    Answer, Connection, CopyPolicy, Counted, Moment, Protocols, Rpc, Server4, Settings, Share, Shares, Statistics,
    Transport,
};
use bytes::Bytes;
use nfs::v4::attributes::{Attribute, Fattr, GetAttributesArguments, SetAttributesArguments};
use nfs::v4::compound::{Call as Compound, CompoundOutcome, Results, Tag};
use nfs::v4::io::{ReadArguments, WriteArguments};
use nfs::v4::names::{CreateArguments, CreateType};
use nfs::v4::operations::{Class, Operation, Outcome};
use nfs::v4::session::{
    CallbackSecurity, ChannelAttributes, ClientOwner, CreateSessionArguments, ExchangeIdArguments, SequenceArguments,
    StateProtection, create_session,
};
use nfs::v4::{Bitmap, FileSystemId, Filehandle, SessionId, Stable, Stateid, Status};
use nfs_state::{Config, Identity, Limits, Record, State};
use onc_rpc::auth::{AuthSys, OpaqueAuth};
use onc_rpc::message::{AcceptStatus, Accepted, Call, Message, ReplyBody};
use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use unit::LogEntry;
use vfs::memory::{MemoryEngine, MemoryFileSystem};
use vfs::{Exclusive, FileId, FileSystem, Name, New, NewKind, Payload, SetAttributes, Squash, Stability, Timestamp};
use xdr::{Reader, Writer};

/// Limits that the client asks for: with other ones, it makes another session.
pub(super) struct Sessions {
    pub operations: Cell<u32>,
    pub request_bytes: Cell<usize>,
    pub response_bytes: Cell<usize>,
    pub cached_bytes: Cell<usize>,
    /// Whether each compound asks for its reply to be kept.
    pub cache_this: Cell<bool>,
}

/// Values of the limits.
type Asked = (u32, usize, usize, usize);

impl Sessions {
    fn asked(&self) -> Asked {
        (self.operations.get(), self.request_bytes.get(), self.response_bytes.get(), self.cached_bytes.get())
    }
}

/// A client.
#[derive(Clone, Copy)]
struct Peer {
    id: u64,
    session: SessionId,
    asked: Asked,
    /// Sequence of the slot.
    sequence: u32,
    /// Sequence of CREATE_SESSION.
    creations: u32,
}

/// Server with the share `s`, and clients, one of which sends.
pub(super) struct Kit {
    pub engine: MemoryEngine,
    pub fs: MemoryFileSystem,
    pub server: Rc<Server4<MemoryFileSystem>>,
    rpc: Rpc<MemoryFileSystem, Rc<Server4<MemoryFileSystem>>>,
    pub sessions: Sessions,
    pub minor: Cell<u32>,
    pub user: Cell<u32>,
    pub port: Cell<u16>,
    /// Client that sends.
    pub who: Cell<usize>,
    peers: RefCell<Vec<Peer>>,
    pub seconds: Cell<i64>,
    /// How often the last call had to be polled.
    pub polls: Cell<u32>,
    pub statistics: Rc<Statistics>,
    /// Entries of the log of refusals.
    pub log: Rc<RefCell<Vec<LogEntry>>>,
}

/// Statistics by a clock of which each look takes 2 µs.
fn statistics(log: &Rc<RefCell<Vec<LogEntry>>>) -> Rc<Statistics> {
    let (now_ns, log) = (Cell::new(0), Rc::clone(log));
    let clock = move || now_ns.replace(now_ns.get() + 2_000);
    Rc::new(Statistics::new(Box::new(clock), Box::new(move |entry| log.borrow_mut().push(entry))))
}

/// Object of the share `s`.
pub(super) const OBJECT: u64 = 7;

impl Kit {
    pub fn new() -> Self {
        Self::after(MemoryEngine::new(None), Vec::new())
    }

    /// A run of the server, after one that has left these records of clients.
    pub fn after(engine: MemoryEngine, records: Vec<Record>) -> Self {
        let kit = Self::without_client(engine, records);
        kit.join("client-0", true);
        kit
    }

    /// A run of the server, without a client yet.
    pub fn without_client(engine: MemoryEngine, records: Vec<Record>) -> Self {
        Self::limited(engine, records, Limits::default())
    }

    /// The same, with limits of the state of clients.
    pub fn limited(engine: MemoryEngine, records: Vec<Record>, limits: Limits) -> Self {
        let start = Timestamp::new(1_000_000, 0).unwrap_or_default();
        let name = Bytes::from_static(b"server");
        let identity = Identity { server_owner: name.clone(), scope: name, implementation: None };
        let config = Config { limits, ..Config::new(1, identity) };
        let state = State::new(config, records, Duration::from_secs(30), Duration::ZERO);
        let state = state.unwrap_or_else(|error| panic!("{error}"));
        let shares = Rc::new(RefCell::new(Shares::new(start)));
        let key = HandleKey::new([3; 16]);
        let log: Rc<RefCell<Vec<LogEntry>>> = Rc::default();
        let statistics = statistics(&log);
        let server = Server4::new(key, Rc::clone(&shares), state, Box::new(|| 4));
        let server = Rc::new(server.with_statistics(Rc::clone(&statistics)));
        let settings = Settings { handle_key: key, v3: false, portmap: false, port: 2049 };
        let kit = Self {
            fs: engine.create(start),
            engine,
            rpc: Rpc::new(settings, shares, Some(Rc::clone(&server))),
            server,
            sessions: Sessions {
                operations: Cell::new(64),
                request_bytes: Cell::new(2 << 20),
                response_bytes: Cell::new((1 << 20) + 4096),
                cached_bytes: Cell::new(8192),
                cache_this: Cell::new(false),
            },
            minor: Cell::new(2),
            user: Cell::new(0),
            port: Cell::new(700),
            who: Cell::new(0),
            peers: RefCell::default(),
            seconds: Cell::new(1_000_000),
            polls: Cell::new(0),
            statistics,
            log,
        };
        kit.publish("s", OBJECT, &kit.fs, any());
        kit
    }

    /// Adds a client, which sends from now on. Its reclaims are complete, or not.
    pub fn join(&self, name: &str, complete: bool) {
        let owner = ClientOwner { verifier: [1; 8], owner: name.into() };
        let protection = StateProtection::None;
        let exchange = ExchangeIdArguments { owner, flags: 0, protection, implementation: None };
        let (id, creations) = match self.run_alone(&[Operation::ExchangeId(Box::new(exchange))]).1.pop() {
            Some(Outcome::ExchangeId(Ok(ok))) => (ok.client, ok.sequence),
            other => panic!("{other:?}"),
        };
        self.who.set(self.peers.borrow().len());
        let asked = (0, 0, 0, 0);
        self.peers.borrow_mut().push(Peer { id, session: [0; 16], asked, sequence: 0, creations });
        self.renew_session();
        if complete {
            assert_eq!(self.status([Operation::ReclaimComplete(false)]), Ok(()));
        }
    }

    fn peer(&self) -> Peer {
        self.peers.borrow()[self.who.get()]
    }

    pub fn session(&self) -> SessionId {
        self.peer().session
    }

    pub fn client_id(&self) -> u64 {
        self.peer().id
    }

    /// Makes a session with the limits of now, and ends the one before.
    pub fn renew_session(&self) {
        let old = self.peer();
        let asked = self.sessions.asked();
        let bytes = |bytes: usize| u32::try_from(bytes).unwrap_or(u32::MAX);
        let fore = ChannelAttributes {
            header_pad_bytes: 0,
            max_request_bytes: bytes(asked.1),
            max_response_bytes: bytes(asked.2),
            max_cached_response_bytes: bytes(asked.3),
            max_operations: asked.0,
            max_requests: 4,
            rdma_reads: None,
        };
        let back = ChannelAttributes { max_request_bytes: 4096, max_response_bytes: 4096, ..fore.clone() };
        let arguments = CreateSessionArguments {
            client: old.id,
            sequence: old.creations,
            flags: create_session::CONNECTION_BACK_CHANNEL,
            fore_channel: fore,
            back_channel: ChannelAttributes { max_cached_response_bytes: 0, max_operations: 8, ..back },
            callback_program: 0x4000_0000,
            callback_security: vec![CallbackSecurity::None].into(),
        };
        let session = match self.run_alone(&[Operation::CreateSession(Box::new(arguments))]).1.pop() {
            Some(Outcome::CreateSession(Ok(ok))) => ok.session,
            other => panic!("{other:?}"),
        };
        if old.session != [0; 16] {
            assert_eq!(self.run_alone(&[Operation::DestroySession(old.session)]).0, Ok(()));
        }
        let new = Peer { session, asked, sequence: 0, creations: old.creations.wrapping_add(1), ..old };
        self.peers.borrow_mut()[self.who.get()] = new;
    }

    /// Publishes a share, or new facts of one.
    pub fn publish(&self, name: &str, object: u64, fs: &MemoryFileSystem, rules: Rules) {
        self.publish_epoch(name, object, fs, rules, 0);
    }

    pub fn publish_epoch(&self, name: &str, object: u64, fs: &MemoryFileSystem, rules: Rules, epoch: u32) {
        self.publish_share(name, (object, epoch), fs, rules, CopyPolicy::Share);
    }

    /// Publishes a share with a policy of copies, by object and epoch.
    pub fn publish_share(
        &self,
        name: &str,
        (object, epoch): (u64, u32),
        fs: &MemoryFileSystem,
        rules: Rules,
        copy: CopyPolicy,
    ) {
        let share = Share {
            name: vfs_name(name),
            object,
            epoch,
            fsid: FileSystemId { major: 100 + object, minor: 0 },
            file_system: Rc::new(fs.clone()),
            rules,
            protocols: Protocols { v3: true, v4: true },
            copy,
            counted: Some(Counted { share: self.statistics.published(object, name), snapshot: None }),
        };
        assert_eq!(self.server.shares().borrow_mut().publish(share, self.now()), Ok(()));
    }

    pub fn now(&self) -> Timestamp {
        self.seconds.set(self.seconds.get() + 1);
        Timestamp::new(self.seconds.get(), 0).unwrap_or_default()
    }

    /// Time since the start.
    pub fn uptime(&self) -> Duration {
        Duration::from_millis(u64::try_from(self.seconds.get() - 1_000_000).unwrap_or(0))
    }

    /// Call of a record, to be polled.
    pub fn sent(&self, record: Bytes) -> impl Future<Output = Answer> + use<'_> {
        let client = SocketAddr::from(([10, 0, 0, 1], self.port.get()));
        let server = SocketAddr::from(([10, 0, 0, 9], 2049));
        let connection = Connection { id: self.who.get() as u64, client, server, transport: Transport::Tcp };
        let moment = Moment { now: self.now(), uptime: self.uptime() };
        async move { self.rpc.take(record, &connection, moment).await }
    }

    /// Sends a record.
    pub fn send(&self, record: Bytes) -> Answer {
        let mut call = pin!(self.sent(record));
        self.polls.set(0);
        end(poll_fn(|context| {
            self.polls.set(self.polls.get() + 1);
            call.as_mut().poll(context)
        }))
    }

    /// Credential of the user, with groups 0 and 5.
    pub fn credential(&self) -> OpaqueAuth {
        let uid = self.user.get();
        OpaqueAuth::sys(&AuthSys { stamp: 1, machine_name: "client".into(), uid, gid: uid, gids: vec![5].into() })
    }

    /// A call of a procedure with these arguments.
    pub fn call(&self, procedure: u32, arguments: &[u8]) -> Bytes {
        let mut writer = Writer::default();
        let (credential, verifier) = (self.credential(), OpaqueAuth::none());
        let call = Call { xid: 77, program: nfs::PROGRAM, version: nfs::v4::VERSION, procedure, credential, verifier };
        call.encode(&mut writer);
        [&writer.into_bytes(), arguments].concat().into()
    }

    /// Arguments of a compound of exactly these operations.
    pub fn arguments(&self, tag: &[u8], operations: &[Operation]) -> Bytes {
        let mut writer = Writer::default();
        let mut compound = Compound::<Operation>::start(&mut writer, &Tag::from(tag), self.minor.get());
        operations.iter().for_each(|operation| compound.push(&mut writer, operation));
        compound.finish(&mut writer);
        writer.into_bytes()
    }

    /// The next SEQUENCE, in a session with the limits of now.
    pub fn next_sequence(&self) -> Operation {
        if self.peer().asked != self.sessions.asked() {
            self.renew_session();
        }
        let next = self.peer().sequence.wrapping_add(1);
        self.peers.borrow_mut()[self.who.get()].sequence = next;
        self.same_sequence()
    }

    /// The last SEQUENCE again.
    pub fn same_sequence(&self) -> Operation {
        let Peer { session, sequence, .. } = self.peer();
        let cache_this = self.sessions.cache_this.get();
        Operation::Sequence(SequenceArguments { session, sequence, slot: 0, highest_slot: 0, cache_this })
    }

    /// Sends a compound of exactly these operations.
    pub fn run_alone(&self, operations: &[Operation]) -> (Result<(), Status>, Vec<Outcome>) {
        let answer = self.send(self.call(1, &self.arguments(b"tag", operations)));
        let (status, tag, outcomes) = compound_results(accepted(answer));
        assert_eq!(*tag, *b"tag");
        (status, outcomes)
    }

    /// Runs operations behind a SEQUENCE, and returns their results.
    pub fn run(&self, operations: impl IntoIterator<Item = Operation>) -> Vec<Outcome> {
        let operations: Vec<_> = std::iter::once(self.next_sequence()).chain(operations).collect();
        let (status, mut outcomes) = self.run_alone(&operations);
        assert_eq!(outcomes.last().map_or(Ok(()), |last| last.status()), status);
        for outcome in &outcomes {
            check_length(outcome);
        }
        assert_eq!(outcomes.remove(0).status(), Ok(()));
        outcomes
    }

    /// Runs operations of which the last one may fail, and returns its results.
    pub fn last(&self, operations: impl IntoIterator<Item = Operation>) -> Outcome {
        let operations: Vec<_> = operations.into_iter().collect();
        let count = operations.len();
        let mut outcomes = self.run(operations);
        assert_eq!(outcomes.len(), count, "stopped early: {outcomes:?}");
        outcomes.pop().unwrap_or(Outcome::Illegal(Status::OP_ILLEGAL))
    }

    /// Status of the last operation.
    pub fn status(&self, operations: impl IntoIterator<Item = Operation>) -> Result<(), Status> {
        self.last(operations).status()
    }

    /// Runs operations at a path.
    pub fn at(&self, path: &str, operations: impl IntoIterator<Item = Operation>) -> Outcome {
        self.last(go(path).into_iter().chain(operations))
    }

    /// Status of the last operation at a path.
    pub fn status_at(&self, path: &str, operation: Operation) -> Result<(), Status> {
        self.at(path, [operation]).status()
    }

    /// Runs an operation with the saved and the current handle at paths.
    pub fn between(&self, saved: &str, current: &str, operation: Operation) -> Outcome {
        let saved = go(saved).into_iter().chain([Operation::SaveFilehandle]);
        self.last(saved.chain(go(current)).chain([operation]))
    }

    pub fn handle(&self, path: &str) -> Filehandle {
        match self.at(path, [Operation::GetFilehandle]) {
            Outcome::GetFilehandle(Ok(handle)) => handle,
            other => panic!("{path}: {other:?}"),
        }
    }

    pub fn attributes(&self, path: &str, numbers: &[u32]) -> Vec<Attribute> {
        match self.at(path, [get(numbers)]) {
            Outcome::GetAttributes(Ok(fattr)) => fattr.attributes().unwrap_or_else(|error| panic!("{error}")),
            other => panic!("{path}: {other:?}"),
        }
    }

    /// One attribute.
    pub fn attribute(&self, path: &str, number: u32) -> Attribute {
        match &self.attributes(path, &[number])[..] {
            [attribute] => attribute.clone(),
            other => panic!("{path}: {other:?}"),
        }
    }

    /// Bytes of a file from `offset_bytes`, and eof.
    pub fn read(&self, path: &str, offset_bytes: u64, count_bytes: u32) -> (Vec<u8>, bool) {
        match self.at(path, [read(offset_bytes, count_bytes)]) {
            Outcome::Read(Ok(ok)) => (ok.data.to_vec(), ok.eof),
            other => panic!("{path}: {other:?}"),
        }
    }

    pub fn write(&self, path: &str, offset_bytes: u64, data: &[u8]) {
        assert_eq!(self.status_at(path, write(offset_bytes, data)), Ok(()), "{path}");
    }

    /// Creates something that is no regular file, with a mode.
    pub fn create(&self, directory: &str, name: &str, kind: CreateType) -> Outcome {
        let attributes = Fattr::new([Attribute::Mode(0o755)]);
        let arguments = CreateArguments { kind, name: name.into(), attributes };
        self.at(directory, [Operation::Create(Box::new(arguments))])
    }

    pub fn directory(&self, parent: &str, name: &str) {
        assert_eq!(self.create(parent, name, CreateType::Directory).status(), Ok(()), "{name}");
    }

    /// Creates a regular file in the root of the share, past the server: without OPEN no client can.
    pub fn file(&self, name: &str, content: &[u8]) -> FileId {
        self.file_in(&self.fs, name, content)
    }

    pub fn file_in(&self, fs: &MemoryFileSystem, name: &str, content: &[u8]) -> FileId {
        let root = vfs::Caller::root();
        let call = vfs::Call::new(&root, self.now());
        let what = NewKind::File { exclusive: Exclusive::Yes, hold: false };
        let new = New { what, attributes: SetAttributes { mode: Some(0o644), ..Default::default() } };
        let created = end(fs.create(call, fs.root(), &vfs_name(name), &new));
        let file = created.unwrap_or_else(|error| panic!("{name}: {error}")).file.file;
        for (index, chunk) in content.chunks(1 << 20).enumerate() {
            let data = Payload::from(Bytes::copy_from_slice(chunk));
            let written = end(fs.write(call, file, (index as u64) << 20, data, Stability::Durable));
            assert!(written.is_ok(), "{name}");
        }
        file
    }
}

/// Rules for any host, without squash.
pub(super) fn any() -> Rules {
    Rules(vec![Rule { squash: Squash::None, ..Rule::new(Hosts::Any) }])
}

pub(super) fn vfs_name(text: &str) -> Name {
    Name::try_from(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Polls a call until it returns.
pub(super) fn end<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    for _ in 0..1_000_000 {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return output;
        }
    }
    panic!("a call never returns")
}

/// Results of a call that was executed.
pub(super) fn accepted(answer: Answer) -> Reader {
    let (body, reader) = decoded(answer);
    match body {
        ReplyBody::Accepted(Accepted { verifier, status: AcceptStatus::Success }) => {
            assert_eq!(verifier, OpaqueAuth::none());
            reader
        }
        other => panic!("{other:?}"),
    }
}

/// Header of a reply, and its results.
pub(super) fn decoded(answer: Answer) -> (ReplyBody, Reader) {
    let Answer::Reply(chunks) = answer else { panic!("{answer:?}") };
    assert!(chunks.iter().all(|chunk| !chunk.is_empty()));
    let mut reader = Reader::strict(chunks.concat().into());
    match Message::decode(&mut reader) {
        Ok(Message::Reply(reply)) => {
            assert_eq!(reply.xid, 77);
            (reply.body, reader)
        }
        other => panic!("{other:?}"),
    }
}

/// Status, tag and results of a compound. All of it can be decoded, and nothing is left.
pub(super) fn compound_results(reader: Reader) -> (Result<(), Status>, Tag, Vec<Outcome>) {
    let mut results = Results::<Operation>::decode(reader).unwrap_or_else(|error| panic!("{error}"));
    let mut outcomes = Vec::new();
    while let Some(outcome) = results.next_outcome() {
        outcomes.push(outcome.unwrap_or_else(|error| panic!("{error}: after {outcomes:?}")));
    }
    assert_eq!(results.finish(), Ok(()));
    assert_eq!(outcomes.len(), results.count as usize);
    (results.status, results.tag, outcomes)
}

/// Results of a change are no longer than its row says: else a change could be made and not reported.
fn check_length(outcome: &Outcome) {
    let changes = |row: &&nfs::v4::operations::OperationRow| row.code == outcome.code() && row.class == Class::Changes;
    let opens = matches!(outcome.code(), 4 | 12 | 14 | 18 | 21);
    if outcome.status().is_ok() && (opens || nfs::v4::operations::OPERATIONS.iter().any(|row| changes(&row))) {
        let mut writer = Writer::default();
        outcome.encode(&mut writer);
        let row = row_of(outcome.code()).unwrap_or_else(|| panic!("{outcome:?} has no row"));
        assert!(writer.length_bytes() <= row.reply_bytes, "{outcome:?}");
    }
}

/// Operations that go to a path: names of shares, directories and files, with slashes between them.
pub(super) fn go(path: &str) -> Vec<Operation> {
    let names = path.split('/').filter(|name| !name.is_empty());
    std::iter::once(Operation::PutRootFilehandle).chain(names.map(lookup)).collect()
}

pub(super) fn lookup(name: &str) -> Operation {
    Operation::Lookup(name.into())
}

pub(super) fn get(numbers: &[u32]) -> Operation {
    Operation::GetAttributes(GetAttributesArguments { wanted: numbers.iter().copied().collect() })
}

pub(super) fn set(stateid: Stateid, attributes: impl IntoIterator<Item = Attribute>) -> Operation {
    Operation::SetAttributes(SetAttributesArguments { stateid, attributes: Fattr::new(attributes) })
}

/// SETATTR of something whose values are nothing.
pub(super) fn set_raw(numbers: &[u32], values: &[u8]) -> Operation {
    let attributes = Fattr { mask: Bitmap::new(numbers.iter().copied()), values: values.into() };
    Operation::SetAttributes(SetAttributesArguments { stateid: Stateid::ANONYMOUS, attributes })
}

pub(super) fn read(offset_bytes: u64, count_bytes: u32) -> Operation {
    Operation::Read(ReadArguments { stateid: Stateid::ANONYMOUS, offset_bytes, count_bytes })
}

pub(super) fn write(offset_bytes: u64, data: &[u8]) -> Operation {
    let stateid = Stateid::ANONYMOUS;
    Operation::Write(WriteArguments { stateid, offset_bytes, stable: Stable::FileSync, data: data.into() })
}
