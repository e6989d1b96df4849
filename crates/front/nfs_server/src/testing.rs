//! A server over file systems in memory, and a client of it, for tests.

use crate::access::{Hosts, Rule, Rules};
use crate::connection::{CallFacts, Connection, Moment, Transport};
use crate::handle::HandleKey;
use crate::reservations::{Access, Opens};
use crate::rpc::{Answer, NoResults, Rpc, Settings, Version4};
use crate::shares::{Protocols, Share, Shares};
use bytes::Bytes;
use nfs::v3::{
    CreateArguments, CreateHow, DirectoryEntry, Filehandle, LookupOk, NewAttributes, ReadArguments, ReadOk, Request,
    Results, SetTime, Stable, Status, WriteArguments,
};
use nfs::{mount, v3};
use onc_rpc::auth::{AuthSys, OpaqueAuth};
use onc_rpc::message::{AcceptStatus, Call, Message, Rejection, ReplyBody};
use std::cell::{Cell, RefCell};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use vfs::memory::{MemoryEngine, MemoryFileSystem};
use vfs::{FileId, Name, Timestamp};
use xdr::{Reader, Writer, Xdr};

/// Object of the share `/s`, which all may use.
pub(crate) const S: u64 = 7;
/// Object of the share `/t`, another file system that all may use.
pub(crate) const T: u64 = 8;
/// Object of the share `/hidden`, which no client of these tests may use.
pub(crate) const HIDDEN: u64 = 9;
/// Object of the share `/ro`: the files of `/s`, read-only.
pub(crate) const RO: u64 = 10;
/// Address of the server.
pub(crate) const SERVER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 9)), 2049);

/// NFSv4 of tests: its COMPOUND returns the arguments, and denials are a list. What denies writing denies removal.
#[derive(Clone, Default)]
pub(crate) struct Echo(pub Rc<RefCell<Vec<(u64, FileId, Access)>>>);

impl Opens for Echo {
    fn denies(&self, object: u64, file: FileId, access: Access) -> bool {
        self.0.borrow().contains(&(object, file, access))
    }

    fn permits_removal(&self, object: u64, file: FileId) -> bool {
        !self.denies(object, file, Access::Write)
    }
}

impl Version4 for Echo {
    async fn compound(&self, _: CallFacts<'_>, arguments: Bytes) -> Result<Vec<Bytes>, NoResults> {
        if arguments.is_empty() { Err(NoResults::Garbage) } else { Ok(vec![arguments]) }
    }
}

/// A server and its only client.
pub(crate) struct Bench {
    pub engine: MemoryEngine,
    pub files: MemoryFileSystem,
    pub shares: Rc<RefCell<Shares<MemoryFileSystem>>>,
    pub v4: Echo,
    pub rpc: Rpc<MemoryFileSystem, Echo>,
    pub connection: Cell<Connection>,
    pub credential: RefCell<OpaqueAuth>,
    pub seconds: Cell<u32>,
    pub xid: Cell<u32>,
}

/// Settings with everything served.
pub(crate) const SETTINGS: Settings =
    Settings { handle_key: HandleKey::new([3; 16]), v3: true, portmap: true, port: 2049 };

fn share(name: &str, object: u64, files: &MemoryFileSystem, rule: Rule) -> Share<MemoryFileSystem> {
    Share {
        name: Name::try_from(name).unwrap_or_else(|error| panic!("{error}")),
        object,
        epoch: 1,
        fsid: nfs::v4::FileSystemId { major: object << 32, minor: 5 },
        file_system: Rc::new(files.clone()),
        rules: Rules(vec![rule]),
        protocols: Protocols { v3: true, v4: true },
        copy: crate::CopyPolicy::default(),
        counted: None,
    }
}

/// Rule for all hosts, with user 0 as user 0.
pub(crate) fn any() -> Rule {
    Rule { squash: vfs::Squash::None, ..Rule::new(Hosts::Any) }
}

/// Credential of a user whose groups are its number, and `gids`.
pub(crate) fn sys(uid: u32, gids: &[u32]) -> OpaqueAuth {
    let machine_name = "client".into();
    OpaqueAuth::sys(&AuthSys { stamp: 0, machine_name, uid, gid: uid, gids: gids.to_vec().into() })
}

/// Result of a future that waits for no event.
pub(crate) fn ready<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    for _ in 0..100_000 {
        if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return value;
        }
    }
    panic!("the future never completes");
}

/// Bytes of a writer that a closure fills.
pub(crate) fn encoded(fill: impl FnOnce(&mut Writer)) -> Bytes {
    let mut writer = Writer::default();
    fill(&mut writer);
    writer.into_bytes()
}

/// Attributes to set: none.
pub(crate) const UNSET: NewAttributes = NewAttributes {
    mode: None,
    uid: None,
    gid: None,
    size_bytes: None,
    accessed: SetTime::DontChange,
    modified: SetTime::DontChange,
};

/// Mode to set.
pub(crate) const fn mode(mode: u32) -> NewAttributes {
    NewAttributes { mode: Some(mode), ..UNSET }
}

/// Name in a directory.
pub(crate) fn entry(directory: &Filehandle, name: impl AsRef<[u8]>) -> DirectoryEntry {
    DirectoryEntry { directory: directory.clone(), name: name.as_ref().into() }
}

/// Status of results; `None` is success.
pub(crate) fn status_of(results: &Results) -> Option<Status> {
    let mut reader = Reader::new(encoded(|writer| results.encode(writer)));
    Status::new(reader.u32().unwrap_or_else(|error| panic!("{error}")))
}

/// The results of a procedure that has succeeded.
macro_rules! good {
    ($results:expr, $procedure:ident) => {
        match $results {
            nfs::v3::Results::$procedure(Ok(results)) => results,
            other => panic!("{other:?}"),
        }
    };
}
/// The status and the attributes of a procedure that has failed.
macro_rules! bad {
    ($results:expr, $procedure:ident) => {
        match $results {
            nfs::v3::Results::$procedure(Err(nfs::v3::Failure { status, details })) => (status, details),
            other => panic!("{other:?}"),
        }
    };
}
pub(crate) use {bad, good};

impl Bench {
    pub fn new() -> Self {
        Self::with(SETTINGS)
    }

    pub fn with(settings: Settings) -> Self {
        let engine = MemoryEngine::default();
        let start = Timestamp::new(1000, 0).unwrap_or_default();
        let (files, other) = (engine.create(start), engine.create(start));
        let shares = Rc::new(RefCell::new(Shares::new(start)));
        let hidden = Rule::new(Hosts::Host([IpAddr::V4(Ipv4Addr::new(10, 9, 9, 9))].into()));
        for share in [
            share("s", S, &files, any()),
            share("t", T, &other, any()),
            share("hidden", HIDDEN, &other, hidden),
            share("ro", RO, &files, Rule { read_only: true, ..any() }),
        ] {
            assert_eq!(shares.borrow_mut().publish(share, start), Ok(()));
        }
        let v4 = Echo::default();
        let rpc = Rpc::new(settings, Rc::clone(&shares), Some(v4.clone()));
        let client = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 700);
        let connection = Cell::new(Connection { id: 1, client, server: SERVER, transport: Transport::Tcp });
        let credential = RefCell::new(sys(0, &[]));
        Self { engine, files, shares, v4, rpc, connection, credential, seconds: Cell::new(2000), xid: Cell::new(1) }
    }

    /// Keeps statistics.
    pub fn measured(self, statistics: Rc<crate::Statistics>) -> Self {
        Self { rpc: self.rpc.with_statistics(statistics), ..self }
    }

    /// Replaces the facts of a share.
    pub fn change_share(&self, object: u64, change: impl FnOnce(&mut Share<MemoryFileSystem>)) {
        let share = self.shares.borrow().by_object(object).map(|share| Share::clone(share));
        let mut share = share.unwrap_or_else(|| panic!("no share {object}"));
        change(&mut share);
        assert_eq!(self.shares.borrow_mut().publish(share, Timestamp::default()), Ok(()));
    }

    /// Server after a restart: what is not in the pool is gone.
    pub fn restart(&mut self, crash: bool) {
        self.engine.restart(crash);
        self.rpc = Rpc::new(SETTINGS, Rc::clone(&self.shares), Some(self.v4.clone()));
    }

    /// Makes another user the caller.
    pub fn user(&self, uid: u32) {
        self.credential.replace(sys(uid, &[]));
    }

    /// Makes another host or port the caller's.
    pub fn client(&self, address: [u8; 4], port: u16) {
        let client = SocketAddr::new(address.into(), port);
        self.connection.set(Connection { client, ..self.connection.get() });
    }

    /// Time of the next call, a second after the last one.
    pub fn moment(&self) -> Moment {
        self.seconds.set(self.seconds.get() + 1);
        let seconds = self.seconds.get();
        let now = Timestamp::new(seconds.into(), 500).unwrap_or_default();
        Moment { now, uptime: Duration::from_secs(seconds.into()) }
    }

    /// Header of a call of the caller.
    pub fn header(&self, program: u32, version: u32, procedure: u32) -> Call {
        self.xid.set(self.xid.get() + 1);
        let (xid, credential) = (self.xid.get(), self.credential.borrow().clone());
        Call { xid, program, version, procedure, credential, verifier: OpaqueAuth::none() }
    }

    /// Answer to a record.
    pub fn take(&self, record: Bytes) -> Answer {
        let connection = self.connection.get();
        ready(self.rpc.take(record, &connection, self.moment()))
    }

    /// Answer to a call.
    pub fn answer(&self, call: &Call, arguments: &[u8]) -> Answer {
        self.take(record(call, arguments))
    }

    /// Status of the reply to a call, and its results.
    pub fn reply(&self, call: &Call, arguments: &[u8]) -> (ReplyBody, Reader) {
        reply_of(call.xid, self.answer(call, arguments))
    }

    /// Status of an accepted call of a program.
    pub fn accepted(&self, program: u32, version: u32, procedure: u32, arguments: &[u8]) -> AcceptStatus {
        let call = self.header(program, version, procedure);
        match self.reply(&call, arguments).0 {
            ReplyBody::Accepted(accepted) => accepted.status,
            denied => panic!("{denied:?}"),
        }
    }

    /// Reason why a call is denied.
    pub fn denied(&self, call: &Call) -> Rejection {
        match self.reply(call, &[]).0 {
            ReplyBody::Denied(reason) => reason,
            accepted => panic!("{accepted:?}"),
        }
    }

    /// Results of a procedure of NFSv3.
    pub fn v3(&self, request: &Request) -> Results {
        let call = self.header(nfs::PROGRAM, v3::VERSION, request.procedure());
        let arguments = encoded(|writer| request.encode(writer));
        results_of(request.procedure(), call.xid, self.answer(&call, &arguments))
    }

    /// Status of a procedure of NFSv3; `None` is success.
    pub fn status(&self, request: &Request) -> Option<Status> {
        status_of(&self.v3(request))
    }

    /// Results of a procedure of MOUNT.
    pub fn mount(&self, request: &mount::Request) -> mount::Results {
        let call = self.header(mount::PROGRAM, mount::VERSION, request.procedure());
        let arguments = encoded(|writer| request.encode(writer));
        let mut reader = success(self.reply(&call, &arguments));
        let results = mount::Results::decode(request.procedure(), &mut reader);
        assert_eq!(reader.finish(), Ok(()));
        results.unwrap_or_else(|error| panic!("{error}"))
    }

    /// Handle of a file of a share, which need not exist.
    pub fn handle(&self, object: u64, file: FileId) -> Filehandle {
        let target = crate::handle::Target::File { object, epoch: 1, file };
        Filehandle::from(&SETTINGS.handle_key.seal(target)[..])
    }

    /// Root of a share.
    pub fn root(&self, object: u64) -> Filehandle {
        self.handle(object, vfs::FileSystem::root(&self.files))
    }

    pub fn lookup(&self, directory: &Filehandle, name: &str) -> LookupOk {
        good!(self.v3(&Request::Lookup(entry(directory, name))), Lookup)
    }

    pub fn attributes(&self, file: &Filehandle) -> v3::Attributes {
        good!(self.v3(&Request::GetAttributes(file.clone())), GetAttributes)
    }

    /// Creates a regular file of mode 0644.
    pub fn create(&self, directory: &Filehandle, name: &str) -> Filehandle {
        let how = CreateHow::Guarded(mode(0o644));
        let created = self.v3(&Request::Create(CreateArguments { entry: entry(directory, name), how }));
        good!(created, Create).file.unwrap_or_else(|| panic!("no handle"))
    }

    /// Creates a directory of mode 0755.
    pub fn make_directory(&self, directory: &Filehandle, name: &str) -> Filehandle {
        let arguments = v3::MakeDirectoryArguments { entry: entry(directory, name), attributes: mode(0o755) };
        let made = good!(self.v3(&Request::MakeDirectory(arguments)), MakeDirectory);
        made.file.unwrap_or_else(|| panic!("no handle"))
    }

    pub fn write(&self, file: &Filehandle, offset_bytes: u64, data: &[u8], stable: Stable) -> Results {
        let arguments = WriteArguments { file: file.clone(), offset_bytes, stable, data: data.into() };
        self.v3(&Request::Write(arguments))
    }

    pub fn read(&self, file: &Filehandle, offset_bytes: u64, count_bytes: u32) -> ReadOk {
        good!(self.v3(&Request::Read(ReadArguments { file: file.clone(), offset_bytes, count_bytes })), Read)
    }
}

/// Record of a call.
pub(crate) fn record(call: &Call, arguments: &[u8]) -> Bytes {
    let header = encoded(|writer| call.encode(writer));
    [&header[..], arguments].concat().into()
}

/// Status of a reply, and its results.
pub(crate) fn reply_of(xid: u32, answer: Answer) -> (ReplyBody, Reader) {
    let Answer::Reply(chunks) = answer else { panic!("{answer:?}") };
    assert!(chunks.iter().all(|chunk| !chunk.is_empty()));
    let mut reader = Reader::strict(chunks.concat().into());
    match Message::decode(&mut reader) {
        Ok(Message::Reply(reply)) => {
            assert_eq!(reply.xid, xid);
            (reply.body, reader)
        }
        other => panic!("{other:?}"),
    }
}

/// Results of an accepted call that was executed.
pub(crate) fn success((body, reader): (ReplyBody, Reader)) -> Reader {
    match body {
        ReplyBody::Accepted(accepted) if accepted.status == AcceptStatus::Success => reader,
        other => panic!("{other:?}"),
    }
}

/// Results of NFSv3 in an answer.
pub(crate) fn results_of(procedure: u32, xid: u32, answer: Answer) -> Results {
    let mut reader = success(reply_of(xid, answer));
    let results = Results::decode(procedure, &mut reader);
    assert_eq!(reader.finish(), Ok(()));
    results.unwrap_or_else(|error| panic!("{error}"))
}

/// Encoding of a value.
pub(crate) fn bytes_of(value: &impl Xdr) -> Bytes {
    encoded(|writer| value.encode(writer))
}

/// Creates that many empty files, through the file system.
pub(crate) fn do_names(bench: &Bench, directory: &Filehandle, count: usize) {
    let id = FileId(bench.attributes(directory).fileid);
    let root = vfs::Caller::root();
    let what = vfs::NewKind::File { exclusive: vfs::Exclusive::Yes, hold: false };
    let new = vfs::New { what, attributes: vfs::SetAttributes::default() };
    for index in 0..count {
        let name = Name::try_from(format!("file {index}").as_str()).unwrap_or_else(|error| panic!("{error}"));
        let call = vfs::Call::new(&root, bench.moment().now);
        let made = ready(vfs::FileSystem::create(&bench.files, call, id, &name, &new));
        assert!(made.is_ok(), "{made:?}");
    }
}
