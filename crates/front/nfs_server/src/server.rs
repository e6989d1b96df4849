//! The server: takes calls, gives replies.

use crate::handle::{HandleKey, Target};
use crate::shares::{Share, Shares};
use crate::v4;
use crate::v4::sessions::{NoSessions, Sessions};
use bytes::Bytes;
use nfs::v4::{PROCEDURE_COMPOUND, PROCEDURE_NULL, VERSION};
use onc_rpc::auth::{Credential, OpaqueAuth};
use onc_rpc::message::{
    AcceptStatus, Accepted, Call, HeaderError, Message, Programs, Rejection, Reply, ReplyBody, VersionRange,
};
use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;
use vfs::{FileSystem, Timestamp};
use xdr::{Reader, Writer};

/// Programs and versions.
const PROGRAMS: Programs<'static> = Programs(&[(nfs::PROGRAM, VersionRange { low: VERSION, high: VERSION })]);

/// Settings of a server.
#[derive(Clone, Copy)]
pub struct Settings {
    /// Key under which handles are sealed.
    pub handle_key: HandleKey,
    /// Lease of clients.
    pub lease_seconds: u32,
}

/// The client's end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Client {
    /// Address and port.
    pub address: SocketAddr,
    /// Number of the connection, not used for another one in this run.
    pub connection: u64,
}

/// What becomes of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Reply: a record in chunks, none of them empty.
    Reply(Vec<Bytes>),
    /// No reply: the record was none of ours, or the outcome of its call is not known.
    Nothing,
    /// The record is no message; the connection should be closed.
    Close,
}

/// NFS server.
pub struct Server<F> {
    settings: Settings,
    shares: RefCell<Shares<F>>,
    sessions: Rc<dyn Sessions>,
}

/// Reason why a handle names nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HandleError {
    /// The server has not made it.
    Bad,
    /// Its share is gone, or has new handles.
    Stale,
}

/// What a handle leads to.
pub(crate) enum Found<F> {
    /// The pseudo root.
    PseudoRoot,
    /// File of a share; it may no longer exist.
    File(Rc<Share<F>>, vfs::FileId),
}

impl<F: FileSystem> Server<F> {
    /// Creates a server without shares, and without the state of clients: NFSv4 clients get no session.
    pub fn new(settings: Settings, now: Timestamp) -> Self {
        Self::with_sessions(settings, now, Rc::new(NoSessions))
    }

    /// Creates a server without shares, for clients whose state is kept in `sessions`.
    pub fn with_sessions(settings: Settings, now: Timestamp, sessions: Rc<dyn Sessions>) -> Self {
        Self { settings, shares: RefCell::new(Shares::new(now)), sessions }
    }

    /// The shares, for their owner.
    pub const fn shares(&self) -> &RefCell<Shares<F>> {
        &self.shares
    }

    pub(crate) const fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(crate) fn sessions(&self) -> &dyn Sessions {
        &*self.sessions
    }

    /// What a handle leads to.
    pub(crate) fn resolve(&self, handle: &[u8]) -> Result<Found<F>, HandleError> {
        match self.settings.handle_key.open(handle).ok_or(HandleError::Bad)? {
            Target::PseudoRoot => Ok(Found::PseudoRoot),
            Target::File { object, epoch, file } => {
                let shares = self.shares.borrow();
                let share = shares.by_object(object).filter(|share| share.epoch == epoch);
                share.map(|share| Found::File(Rc::clone(share), file)).ok_or(HandleError::Stale)
            }
        }
    }

    /// Executes the call in a record. The reply does not wait for calls that came before.
    pub async fn call(&self, record: Bytes, client: &Client, now: Timestamp) -> Answer {
        let request_bytes = record.len();
        let mut reader = Reader::new(record);
        let call = match Message::decode(&mut reader) {
            Ok(Message::Call(call)) => call,
            Ok(Message::Reply(_)) => return Answer::Nothing,
            Err(HeaderError::Malformed(_)) => return Answer::Close,
            Err(HeaderError::Denied { xid, reason }) => return reply(&Reply::denied(xid, reason), Vec::new()),
        };
        let credential = match call.authenticate() {
            Ok(credential) => credential,
            Err(status) => return reply(&Reply::denied(call.xid, Rejection::AuthError(status)), Vec::new()),
        };
        if let Err(status) = PROGRAMS.check(call.program, call.version) {
            return accepted(&call, status);
        }
        match (call.procedure, &credential) {
            (PROCEDURE_NULL, Credential::TlsProbe) => reply(&tls_refused(call.xid), Vec::new()),
            (PROCEDURE_NULL, _) => accepted(&call, AcceptStatus::Success),
            (PROCEDURE_COMPOUND, _) => {
                let caller = v4::CallFacts { client, credential: &credential, now, request_bytes };
                match v4::compound::execute(self, caller, reader.rest()).await {
                    Ok(results) => reply(&Reply::accepted(call.xid, AcceptStatus::Success), results),
                    Err(v4::NoResults::Garbage) => accepted(&call, AcceptStatus::GarbageArguments),
                    Err(v4::NoResults::Unknown) => Answer::Nothing,
                }
            }
            _ => accepted(&call, AcceptStatus::ProcedureUnavailable),
        }
    }
}

/// Answer to a probe for TLS, which is not offered.
fn tls_refused(xid: u32) -> Reply {
    let verifier = OpaqueAuth::tls_answer(false);
    Reply { xid, body: ReplyBody::Accepted(Accepted { verifier, status: AcceptStatus::Success }) }
}

fn accepted(call: &Call, status: AcceptStatus) -> Answer {
    reply(&Reply::accepted(call.xid, status), Vec::new())
}

fn reply(header: &Reply, results: Vec<Bytes>) -> Answer {
    let mut writer = Writer::default();
    header.encode(&mut writer);
    let mut chunks = writer.into_chunks();
    chunks.extend(results);
    Answer::Reply(chunks)
}
