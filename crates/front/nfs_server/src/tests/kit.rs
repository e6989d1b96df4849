//! A server over a file system in memory, and a client that encodes compounds and decodes their results.

use crate::access::{Hosts, Rule, Rules};
use crate::client::CallFacts;
use crate::handle::HandleKey;
use crate::sessions::{Sequenced, Sessions, Slot};
use crate::v4::operations::row_of;
use crate::{Answer, Client, Protocols, Server, Settings, Share};
use bytes::Bytes;
use nfs::v4::attributes::{Attribute, Fattr, GetAttributesArguments, SetAttributesArguments};
use nfs::v4::compound::{Call as Compound, CompoundOutcome, Results, Tag};
use nfs::v4::io::{ReadArguments, WriteArguments};
use nfs::v4::names::{CreateArguments, CreateType};
use nfs::v4::operations::{Class, Operation, Outcome};
use nfs::v4::session::{SequenceArguments, SequenceOk};
use nfs::v4::{Bitmap, FileSystemId, Filehandle, Stable, Stateid, Status};
use onc_rpc::auth::{AuthSys, OpaqueAuth};
use onc_rpc::message::{AcceptStatus, Accepted, Call, Message, ReplyBody};
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::net::SocketAddr;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use vfs::memory::{MemoryEngine, MemoryFileSystem};
use vfs::{Exclusive, FileId, FileSystem, Name, New, NewKind, Payload, SetAttributes, Squash, Stability, Timestamp};
use xdr::{Reader, Writer};

/// Sessions without clients: every slot is good, within the limits.
pub(super) struct TestSessions {
    pub operations: Cell<u32>,
    pub request_bytes: Cell<usize>,
    pub response_bytes: Cell<usize>,
    pub cached_bytes: Cell<usize>,
    /// Whether each compound asked for its reply to be kept.
    pub cache_this: Cell<bool>,
    /// Results of the last compound, by sequence.
    pub last: RefCell<Option<(u32, Vec<Bytes>)>>,
    /// Slots that ended without results.
    pub unknown: Cell<u32>,
    sequence: Cell<u32>,
}

impl Sessions for TestSessions {
    fn sequence(
        &self,
        caller: &CallFacts<'_>,
        operations: u32,
        arguments: &SequenceArguments,
    ) -> Result<Sequenced, Status> {
        if let Some((sequence, results)) = &*self.last.borrow()
            && *sequence == arguments.sequence
        {
            return Ok(Sequenced::Replay(results.clone()));
        }
        if operations > self.operations.get() {
            return Err(Status::TOO_MANY_OPS);
        }
        if caller.request_bytes > self.request_bytes.get() {
            return Err(Status::REQ_TOO_BIG);
        }
        self.sequence.set(arguments.sequence);
        let SequenceArguments { session, sequence, slot, highest_slot, cache_this } = *arguments;
        let ok = SequenceOk { session, sequence, slot, highest_slot, target_highest_slot: 0, status_flags: 0 };
        let slot = Slot {
            client: 1,
            session,
            slot,
            cache_this,
            response_bytes: self.response_bytes.get(),
            cached_bytes: self.cached_bytes.get(),
        };
        Ok(Sequenced::New(ok, slot))
    }

    fn finish(&self, _: &Slot, results: Option<&[Bytes]>) {
        match results {
            Some(results) => *self.last.borrow_mut() = Some((self.sequence.get(), results.to_vec())),
            None => self.unknown.set(self.unknown.get() + 1),
        }
    }
}

/// Server with the share `s`, and a client.
pub(super) struct Kit {
    pub engine: MemoryEngine,
    pub fs: MemoryFileSystem,
    pub server: Server<MemoryFileSystem>,
    pub sessions: Rc<TestSessions>,
    pub minor: Cell<u32>,
    pub user: Cell<u32>,
    pub port: Cell<u16>,
    pub sequence: Cell<u32>,
    seconds: Cell<i64>,
}

/// Object of the share `s`.
pub(super) const OBJECT: u64 = 7;

impl Kit {
    pub fn new() -> Self {
        let engine = MemoryEngine::new(None);
        let sessions = Rc::new(TestSessions {
            operations: Cell::new(64),
            request_bytes: Cell::new(2 << 20),
            response_bytes: Cell::new((1 << 20) + 4096),
            cached_bytes: Cell::new(4096),
            cache_this: Cell::new(false),
            last: RefCell::default(),
            unknown: Cell::new(0),
            sequence: Cell::new(0),
        });
        let settings = Settings { handle_key: HandleKey::new([3; 16]), lease_seconds: 30 };
        let start = Timestamp::new(1_000_000, 0).unwrap_or_default();
        let kit = Self {
            fs: engine.create(start),
            engine,
            server: Server::with_sessions(settings, start, Rc::<TestSessions>::clone(&sessions)),
            sessions,
            minor: Cell::new(2),
            user: Cell::new(0),
            port: Cell::new(700),
            sequence: Cell::new(1),
            seconds: Cell::new(1_000_000),
        };
        kit.publish("s", OBJECT, &kit.fs, any());
        kit
    }

    /// Publishes a share, or new facts of one.
    pub fn publish(&self, name: &str, object: u64, fs: &MemoryFileSystem, rules: Rules) {
        self.publish_epoch(name, object, fs, rules, 0);
    }

    pub fn publish_epoch(&self, name: &str, object: u64, fs: &MemoryFileSystem, rules: Rules, epoch: u32) {
        let share = Share {
            name: vfs_name(name),
            object,
            epoch,
            fsid: FileSystemId { major: 100 + object, minor: 0 },
            file_system: Rc::new(fs.clone()),
            rules,
            protocols: Protocols { v3: true, v4: true },
        };
        assert_eq!(self.server.shares().borrow_mut().publish(share, self.now()), Ok(()));
    }

    pub fn now(&self) -> Timestamp {
        self.seconds.set(self.seconds.get() + 1);
        Timestamp::new(self.seconds.get(), 0).unwrap_or_default()
    }

    /// Sends a record.
    pub fn send(&self, record: Bytes) -> Answer {
        let address = SocketAddr::from(([10, 0, 0, 1], self.port.get()));
        end(self.server.call(record, &Client { address, connection: 1 }, self.now()))
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

    /// The next SEQUENCE.
    pub fn next_sequence(&self) -> Operation {
        self.sequence.set(self.sequence.get() + 1);
        self.same_sequence()
    }

    /// The last SEQUENCE again.
    pub fn same_sequence(&self) -> Operation {
        let cache_this = self.sessions.cache_this.get();
        let sequence = self.sequence.get();
        Operation::Sequence(SequenceArguments { session: [9; 16], sequence, slot: 0, highest_slot: 0, cache_this })
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
    if nfs::v4::operations::OPERATIONS.iter().any(|row| changes(&row)) {
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
