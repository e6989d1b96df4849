//! A client id and a session.

use crate::compound::{Compound, Outcomes, take};
use crate::connection::{Callback, Connection, Counters};
use crate::error::ClientError;
use crate::server::Server;
use crate::slots::{Slots, Taken};
use nfs::v4::callback::{CallbackOperation, OffloadArguments, OffloadFailure};
use nfs::v4::offload::WriteResponse;
use nfs::v4::operations::{Operation, Outcome};
use nfs::v4::session::{
    BindArguments, ChannelAttributes, ClientOwner, CreateSessionArguments, CreateSessionOk, ExchangeIdArguments,
    ExchangeIdOk, SequenceArguments, StateProtection, WantedDirection, create_session, exchange_id, sequence_status,
};
use nfs::v4::{PROCEDURE_COMPOUND, SessionId, Stateid, Status, VERSION, Verifier};
use onc_rpc::auth::{AuthSys, OpaqueAuth};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

/// Pause before a call is repeated that the server wants later (`DELAY`), or that found no server.
const PAUSE: Duration = Duration::from_millis(50);
/// Longest request and reply: 1 MiB of data and what stands around it.
const MAX_MESSAGE_BYTES: u32 = (1 << 20) + (4 << 10);
/// Longest reply that the server keeps.
const MAX_KEPT_BYTES: u32 = 4 << 10;
/// Outcomes of asynchronous copies that are kept.
const MAX_ENDED: usize = 64;
/// Slots of the back channel.
const CALLBACK_SLOTS: u32 = 2;
/// Pause before the back channel is bound again, if the server still cannot call back.
const BIND_INTERVAL: Duration = Duration::from_secs(1);
/// Status flags of a server that cannot call back.
const PATH_DOWN: u32 = sequence_status::CALLBACK_PATH_DOWN
    | sequence_status::CALLBACK_PATH_DOWN_SESSION
    | sequence_status::BACK_CHANNEL_FAULT;
/// Program of callbacks, in the range of transient numbers (RFC 5531 §8.3).
const CALLBACK_PROGRAM: u32 = 0x4000_0000;

/// Who the client is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// `co_ownerid`: the same after a restart of the client.
    pub owner: String,
    /// Another one after a restart of the client.
    pub verifier: Verifier,
    /// User and group of the calls (AUTH_SYS).
    pub uid: u32,
    /// Group of the calls.
    pub gid: u32,
    /// Supplementary groups of the calls, at most 16; others are left out.
    pub groups: Vec<u32>,
}

impl Identity {
    /// User 0 under a name.
    pub fn root(owner: impl Into<String>, verifier: Verifier) -> Self {
        Self { owner: owner.into(), verifier, uid: 0, gid: 0, groups: Vec::new() }
    }

    fn credential(&self) -> OpaqueAuth {
        let gids = self.groups.iter().copied().take(onc_rpc::auth::MAX_GROUPS as usize).collect::<Vec<_>>();
        OpaqueAuth::sys(&AuthSys {
            stamp: 0,
            machine_name: "windlass-client".into(),
            uid: self.uid,
            gid: self.gid,
            gids: gids.into(),
        })
    }
}

/// Settings of a session.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Minor version: 1 or 2.
    pub minor: u32,
    /// Calls in flight at most; the server may grant fewer.
    pub slots: u32,
    /// Time limit for connecting and for each call.
    pub timeout: Duration,
    /// Time for which a call is repeated while the server is not reachable or wants it later.
    pub patience: Duration,
}

impl Default for Options {
    fn default() -> Self {
        let patience = Duration::from_secs(60);
        Self { minor: 2, slots: 64, timeout: Duration::from_secs(30), patience }
    }
}

/// A session. Clones are the same session.
#[derive(Clone)]
pub struct Session {
    inner: Rc<Inner>,
}

struct Inner {
    server: Server,
    options: Options,
    credential: OpaqueAuth,
    connection: RefCell<Connection>,
    /// Held while a connection is replaced.
    connecting: tokio::sync::Mutex<()>,
    exchanged: ExchangeIdOk,
    created: CreateSessionOk,
    slots: Slots,
    callback: RefCell<Callback>,
    ended: Rc<Ended>,
    /// Status flags of the last SEQUENCE.
    status_flags: Cell<u32>,
    /// When the back channel was bound last because the server could not call back.
    bound: Cell<Option<Instant>>,
}

/// CB_OFFLOADs that have come, and whose outcome was not taken. The oldest give way.
#[derive(Default)]
struct Ended {
    offloads: RefCell<VecDeque<OffloadArguments>>,
    come: Notify,
}

impl Ended {
    fn note(&self, offload: &OffloadArguments) {
        let mut offloads = self.offloads.borrow_mut();
        // The server repeats one whose reply it has not got.
        offloads.retain(|other| other.stateid != offload.stateid);
        offloads.push_back(offload.clone());
        if offloads.len() > MAX_ENDED {
            offloads.pop_front();
        }
        drop(offloads);
        self.come.notify_waiters();
    }

    fn take(&self, stateid: &Stateid) -> Option<OffloadArguments> {
        let mut offloads = self.offloads.borrow_mut();
        let index = offloads.iter().position(|offload| offload.stateid == *stateid)?;
        offloads.remove(index)
    }

    async fn wait(&self, stateid: &Stateid) -> Result<WriteResponse, OffloadFailure> {
        loop {
            let come = self.come.notified();
            if let Some(offload) = self.take(stateid) {
                return offload.outcome;
            }
            come.await;
        }
    }
}

/// How far a call has come.
enum Attempted {
    /// SEQUENCE succeeded: these are the results behind it.
    Executed(Outcomes),
    /// The server has executed nothing, and the slot is as it was.
    Refused(ClientError),
    /// Whether the server has executed it is not known.
    InDoubt(ClientError),
}

fn channel(slots: u32, message_bytes: u32, operations: u32) -> ChannelAttributes {
    ChannelAttributes {
        header_pad_bytes: 0,
        max_request_bytes: message_bytes,
        max_response_bytes: message_bytes,
        max_cached_response_bytes: MAX_KEPT_BYTES.min(message_bytes),
        max_operations: operations,
        max_requests: slots,
        rdma_reads: None,
    }
}

/// Calls one compound outside a session.
async fn call_alone(
    connection: &Connection,
    credential: &OpaqueAuth,
    minor: u32,
    operation: Operation,
) -> Result<Outcomes, ClientError> {
    let compound = Compound::changing([operation]);
    let procedure = (nfs::PROGRAM, VERSION, PROCEDURE_COMPOUND);
    let reader = connection.call(procedure, credential, |writer| compound.encode(writer, minor, None)).await?;
    Outcomes::decode(reader, compound.operations().iter())
}

async fn exchange(
    connection: &Connection,
    identity: &Identity,
    credential: &OpaqueAuth,
    minor: u32,
) -> Result<ExchangeIdOk, ClientError> {
    let owner = ClientOwner { verifier: identity.verifier, owner: identity.owner.as_str().into() };
    let arguments = ExchangeIdArguments { owner, flags: 0, protection: StateProtection::None, implementation: None };
    let operation = Operation::ExchangeId(Box::new(arguments));
    let mut outcomes = call_alone(connection, credential, minor, operation).await?;
    Ok(*take!(outcomes, Outcome::ExchangeId))
}

impl Session {
    /// Connects to `server`, a host and port, and begins a session: EXCHANGE_ID, CREATE_SESSION and
    /// RECLAIM_COMPLETE, so that nothing of an earlier run is reclaimed. Requires a `LocalSet` or a
    /// local runtime of tokio.
    pub async fn connect(server: &str, identity: &Identity, options: Options) -> Result<Self, ClientError> {
        Self::connect_to(&Server::tcp(server), identity, options).await
    }

    /// [`Self::connect`], to a server over any connections.
    pub async fn connect_to(server: &Server, identity: &Identity, options: Options) -> Result<Self, ClientError> {
        let session = Self::begin(server, identity, options).await?;
        match session.call(&Compound::changing([Operation::ReclaimComplete(false)])).await?.finish() {
            // The same owner and verifier have said so before.
            Err(ClientError::Status { status: Status::COMPLETE_ALREADY, .. }) | Ok(()) => Ok(session),
            Err(error) => Err(error),
        }
    }

    /// As [`Self::connect`], without RECLAIM_COMPLETE: opens and locks from before a restart of the
    /// server can be reclaimed.
    pub async fn connect_for_reclaim(server: &str, identity: &Identity, options: Options) -> Result<Self, ClientError> {
        Self::begin(&Server::tcp(server), identity, options).await
    }

    async fn begin(server: &Server, identity: &Identity, options: Options) -> Result<Self, ClientError> {
        let credential = identity.credential();
        let connection = Connection::open(server, options.timeout).await?;
        let exchanged = exchange(&connection, identity, &credential, options.minor).await?;
        let arguments = CreateSessionArguments {
            client: exchanged.client,
            sequence: exchanged.sequence,
            flags: create_session::CONNECTION_BACK_CHANNEL,
            fore_channel: channel(options.slots, MAX_MESSAGE_BYTES, nfs::v4::compound::MAX_OPERATIONS),
            back_channel: channel(CALLBACK_SLOTS, MAX_KEPT_BYTES, 2),
            callback_program: CALLBACK_PROGRAM,
            callback_security: vec![nfs::v4::session::CallbackSecurity::None].into(),
        };
        let operation = Operation::CreateSession(Box::new(arguments));
        let mut outcomes = call_alone(&connection, &credential, options.minor, operation).await?;
        let created = *take!(outcomes, Outcome::CreateSession);
        let slots = Slots::new(created.fore_channel.max_requests.min(options.slots));
        let session = Self {
            inner: Rc::new(Inner {
                server: server.clone(),
                options,
                credential,
                connection: RefCell::new(connection),
                connecting: tokio::sync::Mutex::new(()),
                exchanged,
                created,
                slots,
                callback: RefCell::new(Rc::new(|_| {})),
                ended: Rc::default(),
                status_flags: Cell::new(0),
                bound: Cell::default(),
            }),
        };
        session.forward_callbacks();
        Ok(session)
    }

    /// Has `callback` called with each operation of the server's callbacks.
    pub fn on_callback(&self, callback: impl Fn(&CallbackOperation) + 'static) {
        *self.inner.callback.borrow_mut() = Rc::new(callback);
        self.forward_callbacks();
    }

    fn forward_callbacks(&self) {
        self.forward_callbacks_of(&self.inner.connection.borrow());
    }

    fn forward_callbacks_of(&self, connection: &Connection) {
        let (ended, callback) = (Rc::clone(&self.inner.ended), Rc::clone(&self.inner.callback.borrow()));
        let take = move |operation: &CallbackOperation| {
            if let CallbackOperation::Offload(offload) = operation {
                ended.note(offload);
            }
            callback(operation);
        };
        connection.call_back(Rc::new(take));
    }

    /// Whether the CB_OFFLOAD of a copy has come, and its outcome was not taken.
    pub(crate) fn has_ended(&self, stateid: &Stateid) -> bool {
        self.inner.ended.offloads.borrow().iter().any(|offload| offload.stateid == *stateid)
    }

    /// Outcome of an asynchronous copy. Ready when its CB_OFFLOAD has come, which may be before the reply to the COPY.
    pub async fn offload_ended(&self, stateid: &Stateid) -> Result<WriteResponse, OffloadFailure> {
        self.inner.ended.wait(stateid).await
    }

    /// Results of EXCHANGE_ID.
    pub fn exchanged(&self) -> &ExchangeIdOk {
        &self.inner.exchanged
    }

    /// Results of CREATE_SESSION.
    pub fn created(&self) -> &CreateSessionOk {
        &self.inner.created
    }

    /// Credential of the calls.
    pub fn credential(&self) -> &OpaqueAuth {
        &self.inner.credential
    }

    /// Session id.
    pub fn id(&self) -> SessionId {
        self.inner.created.session
    }

    /// Traffic on the present connection.
    pub fn counters(&self) -> Counters {
        self.inner.connection.borrow().counters()
    }

    /// Status flags of the last SEQUENCE (RFC 8881 §18.46).
    pub fn status_flags(&self) -> u32 {
        self.inner.status_flags.get()
    }

    /// Calls a compound: results up to the first failed operation.
    ///
    /// After the loss of the connection the call is repeated on a new one, in the same slot: the
    /// server executes it once. [`ClientError::SessionLost`]: the server does not know the session
    /// any more; whether a call in flight took effect is then unknown. If the patience ends, or the reply
    /// cannot be understood, the slot stays out of use: a later call in it could get the reply of this one.
    pub async fn call(&self, compound: &Compound) -> Result<Outcomes, ClientError> {
        let inner = &self.inner;
        let mut taken = inner.slots.take().await.ok_or_else(|| inner.unusable())?;
        let until = Instant::now() + inner.options.patience;
        // A repetition is the same request, bit by bit (RFC 8881 §2.10.6.1.3.1).
        let highest_slot = inner.slots.highest();
        loop {
            let connection = inner.connection.borrow().clone();
            let waits = Instant::now() < until;
            match self.attempt(&connection, compound, &taken, highest_slot).await {
                // The first reply was lost, and the server has not kept it.
                Attempted::Executed(outcomes)
                    if waits && !compound.keeps_reply && outcomes.status() == Err(Status::RETRY_UNCACHED_REP) =>
                {
                    taken.advance();
                }
                Attempted::Executed(outcomes) => {
                    taken.release(true);
                    self.watch_back_channel(&connection);
                    return Ok(outcomes);
                }
                Attempted::Refused(error) if waits && error.status() == Some(Status::DELAY) => sleep(PAUSE).await,
                Attempted::Refused(error) => {
                    taken.release(false);
                    return Err(lost_session(error));
                }
                Attempted::InDoubt(error) if waits && error.is_of_the_connection() => {
                    self.reconnect(&connection).await?;
                }
                Attempted::InDoubt(error) => return Err(error),
            }
        }
    }

    async fn attempt(
        &self,
        connection: &Connection,
        compound: &Compound,
        taken: &Taken,
        highest_slot: u32,
    ) -> Attempted {
        let inner = &self.inner;
        let sequence = SequenceArguments {
            session: self.id(),
            sequence: taken.sequence,
            slot: taken.slot,
            highest_slot,
            cache_this: compound.keeps_reply,
        };
        let sequence = Operation::Sequence(sequence);
        let procedure = (nfs::PROGRAM, VERSION, PROCEDURE_COMPOUND);
        let minor = inner.options.minor;
        let encode = |writer: &mut xdr::Writer| compound.encode(writer, minor, Some(&sequence));
        let reader = match connection.call(procedure, &inner.credential, encode).await {
            Ok(reader) => reader,
            Err(error @ ClientError::Rpc(_)) => return Attempted::Refused(error),
            Err(error) => return Attempted::InDoubt(error),
        };
        match Outcomes::decode(reader, std::iter::once(&sequence).chain(compound.operations())) {
            Ok(outcomes) => self.check_sequence(outcomes, taken),
            // The status of the compound as a whole: no operation was executed.
            Err(error @ ClientError::Status { .. }) => Attempted::Refused(error),
            Err(error) => Attempted::InDoubt(error),
        }
    }

    /// Takes the results of SEQUENCE, which must be those of the slot.
    fn check_sequence(&self, mut outcomes: Outcomes, taken: &Taken) -> Attempted {
        let results = match outcomes.next_success() {
            Ok(Outcome::Sequence(Ok(results))) => results,
            Err(error @ ClientError::Status { .. }) => return Attempted::Refused(error),
            Ok(_) | Err(_) => return Attempted::InDoubt(ClientError::Malformed("no results of SEQUENCE".into())),
        };
        if (results.session, results.slot, results.sequence) != (self.id(), taken.slot, taken.sequence) {
            return Attempted::InDoubt(ClientError::Malformed("SEQUENCE: a reply of another slot".into()));
        }
        self.inner.status_flags.set(results.status_flags);
        Attempted::Executed(outcomes)
    }

    /// Binds the back channel again, beside the calls, if the server says that it cannot call back (RFC 8881 §18.46.3).
    fn watch_back_channel(&self, connection: &Connection) {
        let inner = &self.inner;
        let waits = inner.bound.get().is_some_and(|at| at.elapsed() < BIND_INTERVAL);
        if inner.status_flags.get() & PATH_DOWN == 0 || waits {
            return;
        }
        inner.bound.set(Some(Instant::now()));
        let (session, connection) = (self.clone(), connection.clone());
        tokio::task::spawn_local(async move {
            // If it fails, the next SEQUENCE says so again.
            let _tried_again = session.bind(&connection, WantedDirection::BackOrBoth).await;
        });
    }

    /// Binds a connection to the session.
    async fn bind(&self, connection: &Connection, direction: WantedDirection) -> Result<Outcomes, ClientError> {
        let arguments = BindArguments { session: self.id(), direction, rdma: false };
        let operation = Operation::BindConnection(arguments);
        call_alone(connection, &self.inner.credential, self.inner.options.minor, operation).await
    }

    /// Replaces a lost connection, unless another call has done so.
    async fn reconnect(&self, lost: &Connection) -> Result<(), ClientError> {
        let inner = &self.inner;
        let _one_at_a_time = inner.connecting.lock().await;
        if lost.check().is_ok() || inner.connection.borrow().check().is_ok() {
            return Ok(());
        }
        let connection = match Connection::open(&inner.server, inner.options.timeout).await {
            Ok(connection) => connection,
            // The caller tries again, as long as its patience lasts.
            Err(_) => {
                sleep(PAUSE).await;
                return Ok(());
            }
        };
        // A callback may follow the reply to BIND_CONN_TO_SESSION at once.
        self.forward_callbacks_of(&connection);
        match self.bind(&connection, WantedDirection::ForeOrBoth).await {
            Ok(outcomes) => outcomes.finish().map_err(lost_session)?,
            Err(error) if error.is_of_the_connection() => return Ok(()),
            Err(error) => return Err(lost_session(error)),
        }
        *inner.connection.borrow_mut() = connection;
        Ok(())
    }

    /// Ends the session and the client id.
    pub async fn end(self) -> Result<(), ClientError> {
        let inner = &self.inner;
        let connection = inner.connection.borrow().clone();
        for operation in [Operation::DestroySession(self.id()), Operation::DestroyClientId(inner.exchanged.client)] {
            call_alone(&connection, &inner.credential, inner.options.minor, operation).await?.finish()?;
        }
        Ok(())
    }

    /// Whether the server says that it has state of an earlier run of this client id.
    pub fn is_confirmed(&self) -> bool {
        self.inner.exchanged.flags & exchange_id::CONFIRMED != 0
    }
}

impl Inner {
    /// Error of a session whose slots all have a call that was not answered.
    fn unusable(&self) -> ClientError {
        let reason = "every slot of the session has a call that was not answered".into();
        ClientError::Lost { server: self.server.name.to_string(), reason }
    }
}

/// Names the loss of the session as such.
fn lost_session(error: ClientError) -> ClientError {
    match error {
        ClientError::Status {
            status: status @ (Status::BADSESSION | Status::DEADSESSION | Status::STALE_CLIENTID),
            ..
        } => ClientError::SessionLost(status),
        error => error,
    }
}
