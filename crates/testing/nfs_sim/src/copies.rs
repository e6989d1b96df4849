//! Asynchronous copies under a seed: clients copy, ask, cancel and lose connections; callbacks get lost, come late, are
//! answered twice, with DELAY, or with nonsense. What the server says is compared with what the files have.

use crate::calls::{answer, compound, sequence};
use crate::disk::{Disk, end, time};
use nfs::v4::callback::{CallbackOperation, CallbackOutcome, OffloadArguments, SequenceArguments, SequenceOk};
use nfs::v4::compound::{Arguments, Reply as Results, Tag};
use nfs::v4::offload::{CopyArguments, CopyFailure};
use nfs::v4::operations::{Operation, Outcome};
use nfs::v4::session::{
    BindArguments, CallbackSecurity, ChannelAttributes, ClientOwner, CreateSessionArguments, ExchangeIdArguments,
    StateProtection, WantedDirection, create_session, sequence_status,
};
use nfs::v4::{FileSystemId, Filehandle, SessionId, Stateid, Status};
use nfs_server::access::{Hosts, Rule, Rules};
use nfs_server::handle::{HandleKey, Target};
use nfs_server::{
    Answer, BackCall, Connection, CopyPolicy, Moment, Protocols, Rpc, Server4, Settings, Share, Shares, Transport,
};
use nfs_state::{Config, ConnectionId, Identity, State};
use onc_rpc::message::{AcceptStatus, Message, Reply};
use random::Random;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Waker};
use std::time::Duration;
use vfs::{Call, Caller, Exclusive, FileId, FileSystem, Name, New, NewKind, Payload, SetAttributes, Squash, Stability};
use xdr::{Reader, Writer};

/// Clients, each with a connection.
const CLIENTS: usize = 2;
/// Destinations of a client: one more than it may have copies.
const TARGETS: usize = 5;
/// Copies that a client may have.
const MOST_COPIES: usize = 4;
/// Length of the source: some pieces, and a part of one.
const LENGTH: usize = (768 << 10) + 777;
/// Steps of a run.
const STEPS: u32 = 150;
/// Longest time between two steps, one in eight of which takes time. All together is less than a lease.
const PAUSE_MS: u64 = 1000;
/// Polls in which all copies end.
const POLLS: u64 = 10_000;
const KEY: HandleKey = HandleKey::new([6; 16]);
const OBJECT: u64 = 8;

/// A copy, as its client knows it.
#[derive(Clone, Debug)]
struct Copy {
    client: usize,
    target: usize,
    stateid: Stateid,
    /// Bytes that the last status has told.
    seen: u64,
    /// Whether its client has cancelled it.
    cancelled: bool,
    /// Whether its client knows the end.
    called_back: bool,
}

/// A callback whose answer is on its way.
struct Late {
    connection: u64,
    xid: u32,
    sequence: SequenceArguments,
    done: Result<(), Status>,
}

struct Peer {
    session: SessionId,
    sequence: u32,
    connection: u64,
    bound: bool,
    /// Whether it has answered with nonsense, which takes a slot of the back channel for good.
    nonsense: bool,
    targets: Vec<(FileId, Filehandle)>,
}

struct World<F> {
    random: Random,
    server: Rc<Server4<F>>,
    rpc: Rpc<F, Rc<Server4<F>>>,
    files: Rc<F>,
    now: Duration,
    source: Filehandle,
    content: Vec<u8>,
    peers: Vec<Peer>,
    copies: Vec<Copy>,
    late: Vec<Late>,
    connections: u64,
}

type Checked = Result<(), String>;

/// Runs a seed. The error is the violation of a property.
pub(crate) fn run<D: Disk>(seed: u64) -> Checked {
    let mut world = World::new(D::new(seed).open(), seed)?;
    for _ in 0..STEPS {
        world.step()?;
    }
    world.calm()
}

fn create<F: FileSystem>(files: &F, name: &str) -> Result<FileId, String> {
    let caller = Caller::root();
    let what = NewKind::File { exclusive: Exclusive::Yes, hold: false };
    let new = New { what, attributes: SetAttributes { mode: Some(0o644), ..Default::default() } };
    let name = Name::try_from(name).map_err(|error| error.to_string())?;
    let created = end(files.create(Call::new(&caller, time(1)), files.root(), &name, &new));
    created.map(|created| created.file.file).map_err(|error| error.to_string())
}

fn handle(file: FileId) -> Filehandle {
    KEY.seal(Target::File { object: OBJECT, epoch: 0, file })[..].into()
}

impl<F: FileSystem + 'static> World<F> {
    fn new(files: F, seed: u64) -> Result<Self, String> {
        let random = Random::new(seed);
        let files = Rc::new(files);
        let source = create(&*files, "source")?;
        let mut content = random::pattern(seed, LENGTH.next_multiple_of(8) as u64);
        content.truncate(LENGTH);
        let (caller, data) = (Caller::root(), Payload::from(bytes::Bytes::from(content.clone())));
        let written = end(files.write(Call::new(&caller, time(1)), source, 0, data, Stability::Durable));
        written.map_err(|error| error.to_string())?;
        let name = bytes::Bytes::from_static(b"copies");
        let config = Config::new(1, Identity { server_owner: name.clone(), scope: name, implementation: None });
        let state =
            State::new(config, Vec::new(), Duration::ZERO, Duration::ZERO).map_err(|error| error.to_string())?;
        let shares = Rc::new(RefCell::new(Shares::new(time(0))));
        let share = Share {
            name: Name::try_from("s").map_err(|error| error.to_string())?,
            object: OBJECT,
            epoch: 0,
            fsid: FileSystemId { major: 1, minor: 0 },
            file_system: Rc::clone(&files),
            rules: Rules(vec![Rule { squash: Squash::None, ..Rule::new(Hosts::Any) }]),
            protocols: Protocols { v3: false, v4: true },
            copy: CopyPolicy::Physical,
            counted: None,
        };
        shares.borrow_mut().publish(share, time(0)).map_err(|error| error.to_string())?;
        let server = Rc::new(Server4::new(KEY, Rc::clone(&shares), state, Box::new(|| 5)));
        let settings = Settings { handle_key: KEY, v3: false, portmap: false, port: 2049 };
        let rpc = Rpc::new(settings, shares, Some(Rc::clone(&server)));
        let (copies, late, peers) = (Vec::new(), Vec::new(), Vec::new());
        let (now, source) = (Duration::from_secs(1), handle(source));
        let mut world = Self { random, server, rpc, files, now, source, content, peers, copies, late, connections: 0 };
        for client in 0..CLIENTS {
            world.join(client)?;
        }
        Ok(world)
    }

    fn moment(&self) -> Moment {
        Moment { now: time(u32::try_from(self.now.as_secs()).unwrap_or(u32::MAX)), uptime: self.now }
    }

    /// Executes a compound that is sent on a connection.
    fn execute(&self, connection: u64, operations: &[Operation]) -> Result<Vec<Outcome>, String> {
        let client = SocketAddr::from(([10, 0, 0, 1], 700));
        let server = SocketAddr::from(([10, 0, 0, 9], 2049));
        let connection = Connection { id: connection, client, server, transport: Transport::Tcp };
        let record = compound(9, operations);
        let taken = async { Ok(self.rpc.take(record, &connection, self.moment()).await) };
        match end(taken).map_err(|error| error.to_string())? {
            Answer::Reply(chunks) => answer(chunks.concat().into()).map(|answer| answer.outcomes),
            other => Err(format!("no reply: {other:?}")),
        }
    }

    fn join(&mut self, client: usize) -> Checked {
        self.connections += 1;
        let connection = self.connections;
        let owner = ClientOwner { verifier: [1; 8], owner: format!("client-{client}").as_str().into() };
        let protection = StateProtection::None;
        let exchange = ExchangeIdArguments { owner, flags: 0, protection, implementation: None };
        let (id, first) = match self.execute(connection, &[Operation::ExchangeId(Box::new(exchange))])?.pop() {
            Some(Outcome::ExchangeId(Ok(ok))) => (ok.client, ok.sequence),
            other => return Err(format!("{other:?}")),
        };
        let channel = ChannelAttributes {
            header_pad_bytes: 0,
            max_request_bytes: 8192,
            max_response_bytes: 8192,
            max_cached_response_bytes: 4096,
            max_operations: 8,
            max_requests: 2,
            rdma_reads: None,
        };
        let arguments = CreateSessionArguments {
            client: id,
            sequence: first,
            flags: create_session::CONNECTION_BACK_CHANNEL,
            fore_channel: channel.clone(),
            back_channel: channel,
            callback_program: 0x4000_0000,
            callback_security: vec![CallbackSecurity::None].into(),
        };
        let session = match self.execute(connection, &[Operation::CreateSession(Box::new(arguments))])?.pop() {
            Some(Outcome::CreateSession(Ok(ok))) => ok.session,
            other => return Err(format!("{other:?}")),
        };
        let mut targets = Vec::new();
        for target in 0..TARGETS {
            let file = create(&*self.files, &format!("target-{client}-{target}"))?;
            targets.push((file, handle(file)));
        }
        self.peers.push(Peer { session, sequence: 0, connection, bound: true, nonsense: false, targets });
        self.call(client, [Operation::ReclaimComplete(false)])?;
        Ok(())
    }

    /// Executes operations of a client in its session; results of the last one.
    fn call(&mut self, client: usize, operations: impl IntoIterator<Item = Operation>) -> Result<Outcome, String> {
        let peer = self.peers.get_mut(client).ok_or("no client")?;
        peer.sequence += 1;
        let (first, connection) = (sequence(peer.session, 0, peer.sequence, 0), peer.connection);
        let operations: Vec<Operation> = std::iter::once(first).chain(operations).collect();
        let mut outcomes = self.execute(connection, &operations)?;
        if outcomes.len() != operations.len() {
            return Err(format!("{outcomes:?}"));
        }
        outcomes.pop().ok_or_else(|| "no results".into())
    }

    fn target(&self, client: usize, target: usize) -> Result<(FileId, Filehandle), String> {
        self.peers.get(client).and_then(|peer| peer.targets.get(target)).cloned().ok_or_else(|| "no target".into())
    }

    fn step(&mut self) -> Checked {
        let client = self.random.index(CLIENTS);
        match self.random.below(16) {
            0..=2 => self.begin(client)?,
            3..=7 => self.run_pieces(1 + self.random.below(12)),
            8 | 9 => self.status(client)?,
            10 => self.cancel(client)?,
            11 => self.lose_connection(client)?,
            12 => self.bind(client)?,
            13 => self.answer_late()?,
            _ => self.pass(Duration::from_millis(self.random.below(PAUSE_MS)))?,
        }
        self.callbacks(false)
    }

    fn pass(&mut self, time: Duration) -> Checked {
        self.now += time;
        end(self.server.advance(self.now)).map_err(|error| error.to_string())
    }

    /// Copies of a client that the server knows: neither cancelled nor called back.
    fn known(&self, client: usize) -> usize {
        self.copies.iter().filter(|copy| copy.client == client && !copy.cancelled && !copy.called_back).count()
    }

    fn begin(&mut self, client: usize) -> Checked {
        let busy = |target: usize| {
            self.copies
                .iter()
                .any(|copy| (copy.client, copy.target) == (client, target) && !copy.cancelled && !copy.called_back)
        };
        let Some(target) = (0..TARGETS).find(|target| !busy(*target)) else { return Ok(()) };
        let (file, to) = self.target(client, target)?;
        let caller = Caller::root();
        let empty = SetAttributes { size_bytes: Some(0), ..Default::default() };
        let emptied = end(self.files.set_attributes(Call::new(&caller, self.moment().now), file, &empty, None));
        emptied.map_err(|error| error.to_string())?;
        // What was copied to it before is gone.
        self.copies.retain(|copy| (copy.client, copy.target) != (client, target));
        let arguments = CopyArguments {
            source_stateid: Stateid::ANONYMOUS,
            destination_stateid: Stateid::ANONYMOUS,
            source_offset_bytes: 0,
            destination_offset_bytes: 0,
            count_bytes: 0,
            consecutive: true,
            synchronous: false,
            source_servers: Vec::new().into(),
        };
        let source = self.source.clone();
        let operations = [
            Operation::PutFilehandle(source),
            Operation::SaveFilehandle,
            Operation::PutFilehandle(to),
            Operation::Copy(Box::new(arguments)),
        ];
        let known = self.known(client);
        // The client may not know yet that the server has got its answer to a callback.
        match self.call(client, operations)? {
            Outcome::Copy(Ok(ok)) if known < MOST_COPIES => {
                let stateid = ok.response.callback.ok_or("a copy without a stateid")?;
                let (seen, cancelled, called_back) = (0, false, false);
                self.copies.push(Copy { client, target, stateid, seen, cancelled, called_back });
                Ok(())
            }
            Outcome::Copy(Err(CopyFailure::Other(Status::OFFLOAD_DENIED))) => Ok(()),
            other => Err(format!("COPY of a client with {known} copies: {other:?}")),
        }
    }

    /// Runs the copies for so many polls, or until one ends. A piece that has not ended by then is begun again.
    fn run_pieces(&self, polls: u64) {
        let moment = self.moment();
        let mut running = pin!(self.server.copy_ended(|| (moment, ())));
        for _ in 0..polls {
            if running.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready() {
                break;
            }
        }
    }

    /// A copy of any client; that of another one is unknown.
    fn status(&mut self, client: usize) -> Checked {
        if self.copies.is_empty() {
            return Ok(());
        }
        let index = self.random.index(self.copies.len());
        let Some(copy) = self.copies.get(index).cloned() else { return Ok(()) };
        let (file, handle) = self.target(copy.client, copy.target)?;
        let operations = [Operation::PutFilehandle(handle), Operation::OffloadStatus(copy.stateid)];
        let results = match self.call(client, operations)? {
            Outcome::OffloadStatus(results) => results,
            other => return Err(format!("{other:?}")),
        };
        let there = self.start(file)?;
        match results {
            Err(Status::BAD_STATEID) if client != copy.client || copy.cancelled || copy.called_back => Ok(()),
            Ok(status) if client == copy.client && !copy.cancelled => {
                // A piece that is being copied may be there and not counted.
                let exact = status.count_bytes <= there && status.count_bytes >= copy.seen;
                let whole = status.complete.is_none() || status.count_bytes == LENGTH as u64;
                if let Some(copy) = self.copies.get_mut(index) {
                    copy.seen = status.count_bytes;
                }
                if exact && whole { Ok(()) } else { Err(format!("{status:?}, {there} bytes are there: {copy:?}")) }
            }
            other => Err(format!("OFFLOAD_STATUS of client {client}: {other:?}: {copy:?}")),
        }
    }

    /// Bytes of a destination, which have to be the start of the source.
    fn start(&self, file: FileId) -> Result<u64, String> {
        let caller = Caller::root();
        let length = u32::try_from(LENGTH).unwrap_or(u32::MAX).min(self.files.limits().io_bytes);
        let mut found = Vec::new();
        loop {
            let read = end(self.files.read(Call::new(&caller, self.moment().now), file, found.len() as u64, length));
            let read = read.map_err(|error| error.to_string())?.into_bytes();
            if read.is_empty() {
                break;
            }
            found.extend_from_slice(&read);
        }
        match self.content.starts_with(&found) {
            true => Ok(found.len() as u64),
            false => Err(format!("{} bytes of a destination are not the start of the source", found.len())),
        }
    }

    fn cancel(&mut self, client: usize) -> Checked {
        let own = |copy: &&mut Copy| copy.client == client && !copy.cancelled;
        let Some((target, stateid, over)) =
            self.copies.iter_mut().find(own).map(|copy| (copy.target, copy.stateid, copy.called_back))
        else {
            return Ok(());
        };
        let (file, handle) = self.target(client, target)?;
        let operations = [Operation::PutFilehandle(handle), Operation::OffloadCancel(stateid)];
        match self.call(client, operations)? {
            Outcome::OffloadCancel(Ok(())) if !over => {
                let seen = self.start(file)?;
                for copy in self.copies.iter_mut().filter(|copy| copy.stateid == stateid) {
                    (copy.cancelled, copy.seen) = (true, seen);
                }
                Ok(())
            }
            // It has ended.
            Outcome::OffloadCancel(Err(Status::COMPLETE_ALREADY)) => Ok(()),
            Outcome::OffloadCancel(Err(Status::BAD_STATEID)) if over => Ok(()),
            other => Err(format!("OFFLOAD_CANCEL of client {client}: {other:?}, called back: {over}")),
        }
    }

    fn lose_connection(&mut self, client: usize) -> Checked {
        let Some(peer) = self.peers.get_mut(client) else { return Ok(()) };
        self.connections += 1;
        let lost = std::mem::replace(&mut peer.connection, self.connections);
        peer.bound = false;
        self.server.state().connection_closed(ConnectionId(lost), self.now);
        Ok(())
    }

    fn bind(&mut self, client: usize) -> Checked {
        let Some(peer) = self.peers.get_mut(client).filter(|peer| !peer.bound) else { return Ok(()) };
        peer.bound = true;
        let (session, connection) = (peer.session, peer.connection);
        let bind = BindArguments { session, direction: WantedDirection::BackOrBoth, rdma: false };
        match self.execute(connection, &[Operation::BindConnection(bind)])?.pop() {
            Some(Outcome::BindConnection(Ok(_))) => Ok(()),
            other => Err(format!("{other:?}")),
        }
    }

    /// Delivers the callbacks that are due. `calm`: nothing gets lost.
    fn callbacks(&mut self, calm: bool) -> Checked {
        while let Some(BackCall { connection, record }) = self.server.next_callback(self.now) {
            let (xid, sequence, offload) = taken(record.concat().into())?;
            let fate = if calm { 9 } else { self.random.below(10) };
            if fate == 0 {
                // Lost, and nobody notices.
                continue;
            }
            self.called_back(&offload)?;
            let done = if fate == 1 { Err(Status::DELAY) } else { Ok(()) };
            let late = Late { connection, xid, sequence, done };
            match fate {
                2 if self.talks_nonsense(connection) => {
                    let reply = Reply::accepted(xid, AcceptStatus::Success);
                    self.server.callback_answered(connection, &reply, bytes::Bytes::from_static(b"?"), self.now);
                    // The back channel has a fault until another connection is bound to it.
                    self.reconnect(connection)?;
                }
                3 | 4 => self.late.push(late),
                5 => {
                    self.reply(&late);
                    self.reply(&late);
                }
                _ => self.reply(&late),
            }
        }
        Ok(())
    }

    /// Whether the client of a connection answers with nonsense, once.
    fn talks_nonsense(&mut self, connection: u64) -> bool {
        let peer = self.peers.iter_mut().find(|peer| peer.connection == connection);
        peer.is_some_and(|peer| !std::mem::replace(&mut peer.nonsense, true))
    }

    /// A client whose back channel has a fault takes another connection, some time later.
    fn reconnect(&mut self, connection: u64) -> Checked {
        match self.peers.iter().position(|peer| peer.connection == connection) {
            Some(client) => self.lose_connection(client),
            None => Ok(()),
        }
    }

    fn answer_late(&mut self) -> Checked {
        if !self.late.is_empty() {
            let late = self.late.swap_remove(self.random.index(self.late.len()));
            self.reply(&late);
        }
        Ok(())
    }

    fn reply(&self, late: &Late) {
        let Late { connection, xid, sequence, done } = late;
        let ok = SequenceOk {
            session: sequence.session,
            sequence: sequence.sequence,
            slot: sequence.slot,
            highest_slot: 1,
            target_highest_slot: 1,
        };
        let mut writer = Writer::default();
        let mut results = Results::<CallbackOperation>::start(&mut writer, &Tag::default());
        results.push(&mut writer, &CallbackOutcome::Sequence(Ok(ok)));
        results.push(&mut writer, &CallbackOutcome::Offload(*done));
        results.finish(&mut writer, Ok(()));
        let reply = Reply::accepted(*xid, AcceptStatus::Success);
        self.server.callback_answered(*connection, &reply, writer.into_bytes(), self.now);
    }

    /// A client learns the end of a copy, once or more often.
    fn called_back(&mut self, offload: &OffloadArguments) -> Checked {
        let Some(copy) = self.copies.iter_mut().find(|copy| copy.stateid == offload.stateid) else {
            // Repeated, after its destination was used again.
            return Ok(());
        };
        if copy.cancelled {
            return Err(format!("a callback of a copy that was cancelled: {copy:?}"));
        }
        copy.called_back = true;
        let (client, target) = (copy.client, copy.target);
        let (file, handle) = self.target(client, target)?;
        let count = offload.outcome.as_ref().map(|response| response.count_bytes);
        let there = self.start(file)?;
        if count != Ok(LENGTH as u64) || there != LENGTH as u64 || offload.file != handle {
            return Err(format!("{there} bytes are there, and the callback is {offload:?}"));
        }
        Ok(())
    }

    /// A client renews its lease. If no callback can reach it, it binds another connection.
    fn renew(&mut self, client: usize) -> Checked {
        match self.call(client, [])? {
            Outcome::Sequence(Ok(ok)) if ok.status_flags & sequence_status::CALLBACK_PATH_DOWN != 0 => {
                self.lose_connection(client)?;
                self.bind(client)
            }
            Outcome::Sequence(Ok(_)) => Ok(()),
            other => Err(format!("{other:?}")),
        }
    }

    /// Nothing fails any more: all copies end, and all clients learn it.
    fn calm(&mut self) -> Checked {
        for client in 0..CLIENTS {
            self.bind(client)?;
        }
        for _ in 0..=CLIENTS * TARGETS {
            self.run_pieces(POLLS);
        }
        for _ in 0..3 {
            self.pass(Duration::from_secs(16))?;
            for client in 0..CLIENTS {
                self.renew(client)?;
            }
            self.callbacks(true)?;
        }
        let mut ended = BTreeMap::new();
        for copy in &self.copies {
            let (file, _) = self.target(copy.client, copy.target)?;
            let there = self.start(file)?;
            if copy.cancelled && there != copy.seen {
                return Err(format!("{there} bytes are there after a cancel: {copy:?}"));
            }
            if !copy.cancelled && !copy.called_back {
                let totals = self.server.state().totals(self.now);
                return Err(format!("its client was not called back: {copy:?}, {there} bytes, {totals:?}"));
            }
            *ended.entry(copy.client).or_insert(0) += 1;
        }
        let totals = self.server.state().totals(self.now);
        match (totals.callbacks, totals.holdings.copies) {
            (0, 0) => Ok(()),
            left => Err(format!("{left:?} callbacks and copies are left of {ended:?}")),
        }
    }
}

/// A callback, taken apart.
fn taken(record: bytes::Bytes) -> Result<(u32, SequenceArguments, OffloadArguments), String> {
    let mut reader = Reader::strict(record);
    let Ok(Message::Call(call)) = Message::decode(&mut reader) else { return Err("a callback that is no call".into()) };
    let mut arguments = Arguments::<CallbackOperation>::decode(reader.rest()).map_err(|error| error.to_string())?;
    match [arguments.next_operation(), arguments.next_operation()] {
        [Some(Ok(CallbackOperation::Sequence(sequence))), Some(Ok(CallbackOperation::Offload(offload)))] => {
            Ok((call.xid, sequence, *offload))
        }
        other => Err(format!("{other:?}")),
    }
}
