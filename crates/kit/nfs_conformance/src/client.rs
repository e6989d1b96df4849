//! Clients: compounds outside sessions, and in a session whose slots a check controls.

use crate::credential::user;
use crate::executor::Executor;
use crate::operations as op;
use crate::reply::{Reply, take, word};
use bytes::Bytes;
use nfs::v4::callback::CallbackOperation;
use nfs::v4::operations::{Operation, Outcome};
use nfs::v4::session::{
    ChannelAttributes, ClientOwner, CreateSessionArguments, CreateSessionOk, ExchangeIdArguments, ExchangeIdOk,
    SequenceArguments, StateProtection, create_session,
};
use nfs::v4::{PROCEDURE_COMPOUND, SessionId, Status, VERSION, Verifier};
use nfs_client::{ClientError, Connection};
use onc_rpc::auth::OpaqueAuth;
use onc_rpc::message::{AcceptStatus, ReplyBody};
use std::rc::Rc;
use std::time::{Duration, Instant};
use verdict::{NotPassed, differs, failed};
use xdr::Writer;

/// Slots that a client asks for.
pub const SLOTS: u32 = 8;
/// Longest request and reply that a client asks for.
const MESSAGE_BYTES: u32 = (1 << 20) + (4 << 10);
/// Time for which a call is repeated that the server wants later.
const PATIENCE: Duration = Duration::from_secs(5);
/// Program of callbacks, in the range of transient numbers (RFC 5531 §8.3).
const CALLBACK_PROGRAM: u32 = 0x4000_0000;

fn broken(error: &ClientError) -> NotPassed {
    NotPassed::Failed(error.to_string())
}

/// A connection for compounds outside sessions.
#[derive(Clone)]
pub struct Outside {
    executor: Rc<Executor>,
    connection: Connection,
    server: String,
    timeout: Duration,
    /// Credential of the calls.
    pub credential: OpaqueAuth,
    /// Minor version of the calls.
    pub minor: u32,
}

impl Outside {
    /// Connects to a host and port, as uid 0.
    pub fn connect(executor: Rc<Executor>, server: &str, timeout: Duration, minor: u32) -> Result<Self, NotPassed> {
        let connection = executor.wait(Connection::connect(server, timeout)).map_err(|error| broken(&error))?;
        Ok(Self { executor, connection, server: server.to_owned(), timeout, credential: user(0), minor })
    }

    /// The same caller over a new connection.
    pub fn reconnect(&self) -> Result<Self, NotPassed> {
        let again = Self::connect(Rc::clone(&self.executor), &self.server, self.timeout, self.minor)?;
        Ok(Self { credential: self.credential.clone(), ..again })
    }

    /// Calls a compound; the error of RPC is left to the caller.
    pub fn attempt(&self, tag: &[u8], minor: u32, operations: &[Operation]) -> Result<Bytes, ClientError> {
        self.executor.wait(self.future(tag, minor, operations))
    }

    /// The call of a compound, not sent yet.
    async fn future(&self, tag: &[u8], minor: u32, operations: &[Operation]) -> Result<Bytes, ClientError> {
        let encode = |writer: &mut Writer| {
            let mut call = nfs::v4::compound::Call::start(writer, &tag.into(), minor);
            operations.iter().for_each(|operation| call.push(writer, operation));
            call.finish(writer);
        };
        let procedure = (nfs::PROGRAM, VERSION, PROCEDURE_COMPOUND);
        Ok(self.connection.call(procedure, &self.credential, encode).await?.rest())
    }

    /// Calls a compound with this tag and minor version.
    pub fn call_with(&self, tag: &[u8], minor: u32, operations: &[Operation]) -> Result<Reply, NotPassed> {
        match self.attempt(tag, minor, operations) {
            Ok(bytes) => Reply::decode(bytes, tag, operations),
            // A server that decodes the whole compound before it executes the first operation.
            Err(ClientError::Rpc(ReplyBody::Accepted(reply)))
                if reply.status == AcceptStatus::GarbageArguments
                    && operations.iter().any(|operation| matches!(operation, Operation::Unserved { .. })) =>
            {
                differs("expected a status of the operation, found GARBAGE_ARGS for the call")
            }
            Err(error) => Err(broken(&error)),
        }
    }

    /// Calls a compound.
    pub fn call(&self, operations: impl IntoIterator<Item = Operation>) -> Result<Reply, NotPassed> {
        let operations: Vec<_> = operations.into_iter().collect();
        self.call_with(b"", self.minor, &operations)
    }

    /// Calls compounds all at once; replies are in the order of the calls.
    pub fn call_all(&self, compounds: &[Vec<Operation>]) -> Result<Vec<Reply>, NotPassed> {
        let calls = compounds.iter().map(|operations| self.future(b"", self.minor, operations));
        let replies = self.executor.wait(futures_util::future::join_all(calls));
        replies
            .into_iter()
            .zip(compounds)
            .map(|(reply, operations)| Reply::decode(reply.map_err(|error| broken(&error))?, b"", operations))
            .collect()
    }

    /// Has `callback` called with each operation of the server's callbacks on this connection, all of which succeed.
    pub fn on_callback(&self, callback: impl Fn(&CallbackOperation) + 'static) {
        self.connection.on_callback(callback);
    }

    /// EXCHANGE_ID for an owner.
    pub fn exchange(&self, owner: &[u8], verifier: Verifier, flags: u32) -> Result<ExchangeIdOk, NotPassed> {
        let reply = self.call([exchange_id(owner, verifier, flags)])?.ok()?;
        Ok(*take!(reply.last()?, Outcome::ExchangeId))
    }

    /// CREATE_SESSION as most clients send it.
    pub fn create(&self, client: u64, sequence: u32) -> Result<CreateSessionOk, NotPassed> {
        let reply = self.call([create_session(client, sequence)])?.ok()?;
        Ok(*take!(reply.last()?, Outcome::CreateSession))
    }

    /// Whether the connection is open.
    pub fn is_open(&self) -> bool {
        self.connection.check().is_ok()
    }
}

/// EXCHANGE_ID without state protection.
pub fn exchange_id(owner: &[u8], verifier: Verifier, flags: u32) -> Operation {
    let owner = ClientOwner { verifier, owner: owner.into() };
    let arguments = ExchangeIdArguments { owner, flags, protection: StateProtection::None, implementation: None };
    Operation::ExchangeId(Box::new(arguments))
}

/// Limits of a channel.
pub fn channel(slots: u32, message_bytes: u32, operations: u32) -> ChannelAttributes {
    ChannelAttributes {
        header_pad_bytes: 0,
        max_request_bytes: message_bytes,
        max_response_bytes: message_bytes,
        max_cached_response_bytes: 4096.min(message_bytes),
        max_operations: operations,
        max_requests: slots,
        rdma_reads: None,
    }
}

/// Arguments of CREATE_SESSION as most clients send them.
pub fn session_arguments(client: u64, sequence: u32) -> CreateSessionArguments {
    CreateSessionArguments {
        client,
        sequence,
        flags: create_session::CONNECTION_BACK_CHANNEL,
        fore_channel: channel(SLOTS, MESSAGE_BYTES, 16),
        back_channel: channel(2, 4096, 4),
        callback_program: CALLBACK_PROGRAM,
        callback_security: vec![nfs::v4::session::CallbackSecurity::None].into(),
    }
}

/// CREATE_SESSION as most clients send it.
pub fn create_session(client: u64, sequence: u32) -> Operation {
    Operation::CreateSession(Box::new(session_arguments(client, sequence)))
}

/// A client with a session.
#[derive(Clone)]
pub struct Client {
    /// Connection and credential.
    pub outside: Outside,
    /// Owner's name.
    pub owner: Vec<u8>,
    /// Owner's verifier.
    pub verifier: Verifier,
    /// Results of EXCHANGE_ID.
    pub exchanged: ExchangeIdOk,
    /// Results of CREATE_SESSION.
    pub created: CreateSessionOk,
    /// Sequence id of the next call of each slot.
    sequences: Vec<u32>,
}

impl Client {
    /// EXCHANGE_ID and CREATE_SESSION; RECLAIM_COMPLETE is left to the caller.
    pub fn begin(outside: Outside, owner: &[u8]) -> Result<Self, NotPassed> {
        Self::begin_with(outside, owner, |_| {})
    }

    /// As [`Self::begin`], with changes to the arguments of CREATE_SESSION.
    pub fn begin_with(
        outside: Outside,
        owner: &[u8],
        change: impl FnOnce(&mut CreateSessionArguments),
    ) -> Result<Self, NotPassed> {
        let verifier = [1; 8];
        let exchanged = outside.exchange(owner, verifier, 0)?;
        let mut arguments = session_arguments(exchanged.client, exchanged.sequence);
        change(&mut arguments);
        let reply = outside.call([Operation::CreateSession(Box::new(arguments))])?.ok()?;
        let created = *take!(reply.last()?, Outcome::CreateSession);
        Ok(Self { outside, owner: owner.to_vec(), verifier, exchanged, sequences: slots(&created), created })
    }

    /// Another session of this client over the same connection.
    pub fn another_session(&self, created: CreateSessionOk) -> Self {
        Self { sequences: slots(&created), created, ..self.clone() }
    }

    /// The same session for another user; slots are shared with the first one by the caller's care.
    pub fn with_credential(&self, credential: OpaqueAuth) -> Self {
        let mut other = self.clone();
        other.outside.credential = credential;
        other
    }

    /// Session id.
    pub fn session(&self) -> SessionId {
        self.created.session
    }

    /// Sequence id of the next call in a slot.
    pub fn next(&self, slot: u32) -> u32 {
        self.sequences.get(slot as usize).copied().unwrap_or(1)
    }

    /// Says that a call in a slot was executed.
    pub fn advance(&mut self, slot: u32) {
        if let Some(sequence) = self.sequences.get_mut(slot as usize) {
            *sequence = sequence.wrapping_add(1);
        }
    }

    /// Arguments of SEQUENCE for a slot.
    pub fn sequence(&self, slot: u32, sequence: u32, cache_this: bool) -> SequenceArguments {
        let highest_slot = self.created.fore_channel.max_requests.saturating_sub(1).max(slot);
        SequenceArguments { session: self.session(), sequence, slot, highest_slot, cache_this }
    }

    /// Calls a compound in a slot with any sequence id. The reply has the results of SEQUENCE, too.
    pub fn send(
        &self,
        sequence: SequenceArguments,
        operations: impl IntoIterator<Item = Operation>,
    ) -> Result<Reply, NotPassed> {
        let first = std::iter::once(Operation::Sequence(sequence));
        self.outside.call(first.chain(operations))
    }

    /// Calls a compound in slot 0. A reply of DELAY is asked again for a while.
    pub fn call(&mut self, operations: impl IntoIterator<Item = Operation>) -> Result<Reply, NotPassed> {
        self.call_in(0, false, operations)
    }

    /// Calls a compound in slot 0 and has the reply kept.
    pub fn keep(&mut self, operations: impl IntoIterator<Item = Operation>) -> Result<Reply, NotPassed> {
        self.call_in(0, true, operations)
    }

    /// Calls a compound in a slot.
    pub fn call_in(
        &mut self,
        slot: u32,
        cache_this: bool,
        operations: impl IntoIterator<Item = Operation>,
    ) -> Result<Reply, NotPassed> {
        let operations: Vec<_> = operations.into_iter().collect();
        let until = Instant::now() + PATIENCE;
        loop {
            let arguments = self.sequence(slot, self.next(slot), cache_this);
            let reply = self.send(arguments.clone(), operations.clone())?;
            let Some(Outcome::Sequence(Ok(sequence))) = reply.results.first() else {
                return Ok(reply);
            };
            if (sequence.session, sequence.slot, sequence.sequence)
                != (arguments.session, arguments.slot, arguments.sequence)
            {
                return failed("SEQUENCE: expected session, slot and sequence id of the call, found others");
            }
            self.advance(slot);
            if reply.status() == Err(Status::DELAY) && Instant::now() < until {
                self.outside.executor.pause(Duration::from_millis(50));
                continue;
            }
            return Ok(reply.without_sequence());
        }
    }

    /// Status of a lone SEQUENCE.
    pub fn renew(&mut self) -> Result<nfs::v4::session::SequenceOk, NotPassed> {
        let reply = self.call([])?;
        match reply.sequence {
            Some(sequence) => Ok(sequence),
            None => failed(format!("SEQUENCE: expected NFS4_OK, found {}", word(reply.status()))),
        }
    }

    /// Ends the session and the client id.
    pub fn end(self) -> Result<(), NotPassed> {
        self.outside.call([Operation::DestroySession(self.session())])?.ok()?;
        self.outside.call([op::destroy_client(self.exchanged.client)])?.ok().map(drop)
    }
}

/// First sequence ids of the slots of a session.
fn slots(created: &CreateSessionOk) -> Vec<u32> {
    vec![1; created.fore_channel.max_requests.clamp(1, 1024) as usize]
}
