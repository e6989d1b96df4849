//! The entry of the server: a record in, a reply out. It checks the header of a call, finds the program,
//! and leaves the rest to the program's module.
//!
//! NFS, MOUNT and portmap are told apart by the number of the program alone, so that one port serves
//! them all. Records come and go without record marking. `SYSTEM_ERR` is never sent: a failure is a
//! status of a procedure, or the outcome is not known, and then there is no reply.

use crate::connection::{CallFacts, Connection, Moment, Transport};
use crate::counts::{Counts, OperationCount};
use crate::handle::HandleKey;
use crate::mount::{self, Mounts};
use crate::portmap::{self, registrations};
use crate::replies::{Begin, Key, Replies, ReplyCounts};
use crate::reservations::{Access, NoOpens, Opens};
use crate::shares::Shares;
use crate::statistics::Statistics;
use crate::v3::context::Context;
use crate::v3::{self, failure::Unknown};
use bytes::Bytes;
use nfs::v4::{PROCEDURE_COMPOUND, PROCEDURE_NULL};
use onc_rpc::auth::{Credential, OpaqueAuth};
use onc_rpc::message::{
    AcceptStatus, Accepted, Call, HeaderError, Message, Programs, Rejection, Reply, ReplyBody, VersionRange,
};
use onc_rpc::{portmap as portmap_program, rpcbind as rpcbind_program};
use std::cell::RefCell;
use std::convert::Infallible;
use std::rc::Rc;
use vfs::{FileId, FileSystem};
use xdr::{Reader, Writer};

/// Why a COMPOUND has no results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoResults {
    /// Its arguments cannot be decoded.
    Garbage,
    /// Its outcome is not known: the pool has stopped. It gets no reply.
    Unknown,
}

/// NFSv4, as the entry needs it.
pub trait Version4: Opens {
    /// Executes a COMPOUND, and returns its results in chunks.
    async fn compound(&self, call: CallFacts<'_>, arguments: Bytes) -> Result<Vec<Bytes>, NoResults>;
}

/// An NFSv4 that others have in hand, too.
impl<V: Version4> Version4 for Rc<V> {
    async fn compound(&self, call: CallFacts<'_>, arguments: Bytes) -> Result<Vec<Bytes>, NoResults> {
        V::compound(self, call, arguments).await
    }
}

/// No NFSv4: an [`Rpc`] of this type has none.
impl Version4 for Infallible {
    async fn compound(&self, _: CallFacts<'_>, _: Bytes) -> Result<Vec<Bytes>, NoResults> {
        match *self {}
    }
}

impl Opens for Infallible {
    fn denies(&self, _: u64, _: FileId, _: Access) -> bool {
        match *self {}
    }

    fn permits_removal(&self, _: u64, _: FileId) -> bool {
        match *self {}
    }
}

/// Settings of the entry.
#[derive(Clone, Copy)]
pub struct Settings {
    /// Key under which handles are sealed.
    pub handle_key: HandleKey,
    /// Whether NFSv3 and MOUNT are served.
    pub v3: bool,
    /// Whether portmap and rpcbind are served.
    pub portmap: bool,
    /// TCP port of NFS and MOUNT, for portmap.
    pub port: u16,
}

/// What becomes of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Reply: a record in chunks, none of them empty.
    Reply(Vec<Bytes>),
    /// The record is a reply of the client to a call of the server's, for the back channel.
    BackChannel {
        /// Its header.
        reply: Reply,
        /// What follows the header.
        results: Bytes,
    },
    /// No reply: a repetition gets it, or the outcome of the call is not known.
    Nothing,
    /// The record is no message that can be answered; the connection should be closed.
    Close,
}

/// Programs of the server, behind one entry.
pub struct Rpc<F, V = Infallible> {
    settings: Settings,
    programs: Vec<(u32, VersionRange)>,
    shares: Rc<RefCell<Shares<F>>>,
    replies: Replies,
    mounts: RefCell<Mounts>,
    /// Executed procedures of NFSv3.
    executed: Counts,
    v4: Option<V>,
    statistics: Option<Rc<Statistics>>,
}

impl<F: FileSystem, V: Version4> Rpc<F, V> {
    /// Creates the entry.
    pub fn new(settings: Settings, shares: Rc<RefCell<Shares<F>>>, v4: Option<V>) -> Self {
        let programs = programs(&settings, v4.is_some());
        Self {
            settings,
            programs,
            shares,
            replies: Replies::default(),
            mounts: RefCell::default(),
            executed: Counts::default(),
            v4,
            statistics: None,
        }
    }

    /// Keeps statistics of the procedures of NFSv3.
    #[must_use]
    pub fn with_statistics(self, statistics: Rc<Statistics>) -> Self {
        Self { statistics: Some(statistics), ..self }
    }

    /// Bytes of memory that kept replies of NFSv3 take.
    pub fn kept_reply_bytes(&self) -> usize {
        self.replies.held_bytes()
    }

    /// Counters of kept replies of NFSv3.
    pub fn reply_counts(&self) -> ReplyCounts {
        self.replies.counts()
    }

    /// Numbers of executed procedures of NFSv3, those that were executed at all.
    pub fn procedures(&self) -> Vec<OperationCount> {
        self.executed.named(nfs::v3::Request::PROCEDURES.iter().copied())
    }

    /// Takes a record. The answer does not wait for records that came before.
    ///
    /// A future that is dropped leaves it open whether the call took effect.
    pub async fn take(&self, record: Bytes, connection: &Connection, moment: Moment) -> Answer {
        let record_bytes = record.len();
        let mut reader = Reader::new(record);
        let call = match Message::decode(&mut reader) {
            Ok(Message::Call(call)) => call,
            Ok(Message::Reply(reply)) => return Answer::BackChannel { reply, results: reader.rest() },
            Err(HeaderError::Malformed(_)) => return Answer::Close,
            Err(HeaderError::Denied { xid, reason }) => return header(&Reply::denied(xid, reason)),
        };
        let credential = match call.authenticate() {
            Ok(credential) => credential,
            Err(status) => return header(&Reply::denied(call.xid, Rejection::AuthError(status))),
        };
        if let Err(status) = self.check_program(&call, connection) {
            return header(&Reply::accepted(call.xid, status));
        }
        if credential == Credential::TlsProbe {
            return header(&tls_refused(call.xid));
        }
        let facts = CallFacts { connection, credential: &credential, moment, record_bytes };
        match (call.program, call.version) {
            (nfs::PROGRAM, nfs::v3::VERSION) => self.nfs_3(&call, facts, reader).await,
            (nfs::PROGRAM, _) => self.nfs_4(&call, facts, reader).await,
            (nfs::mount::PROGRAM, _) => self.mount(&call, facts, reader).await,
            _ => self.portmap(&call, facts, reader),
        }
    }

    fn check_program(&self, call: &Call, connection: &Connection) -> Result<(), AcceptStatus> {
        if connection.transport == Transport::Udp && call.program != portmap_program::PROGRAM {
            return Err(AcceptStatus::ProgramUnavailable);
        }
        Programs(&self.programs).check(call.program, call.version)
    }

    fn context<'a>(&'a self, call: CallFacts<'a>) -> Context<'a, F> {
        let opens: &dyn Opens = match &self.v4 {
            Some(v4) => v4,
            None => &NoOpens,
        };
        Context::new(&self.shares, &self.settings.handle_key, opens, call)
    }

    async fn nfs_3(&self, call: &Call, facts: CallFacts<'_>, mut arguments: Reader) -> Answer {
        let body = arguments.clone().rest();
        let request = match nfs::v3::Request::decode(call.procedure, &mut arguments) {
            Ok(request) => request,
            Err(error) => return header(&Reply::accepted(call.xid, error.status())),
        };
        let Some(handle) = v3::changed(&request) else {
            return answer(self.execute_3(call, facts, &request).await.map(|(writer, _)| writer.into_chunks()));
        };
        let admitted = self.context(facts).file(handle).is_ok();
        let client = facts.connection.client.ip();
        let user = match facts.credential {
            Credential::Sys(sys) => Some(sys.uid),
            Credential::None | Credential::TlsProbe => None,
        };
        let key = Key::new(client, call.xid, call.procedure, user, &body);
        let ticket = match self.replies.begin(key, facts.moment.uptime).await {
            Begin::Execute(ticket) => ticket,
            Begin::Repeat(reply) => return Answer::Reply(vec![reply]),
            Begin::Superseded => return Answer::Nothing,
        };
        let Ok((writer, later)) = self.execute_3(call, facts, &request).await else { return Answer::Nothing };
        let reply = writer.into_bytes();
        // A client repeats what is refused for now; that is executed again. What no export lets in changes nothing: its
        // reply must not take the place of another one.
        let sends = later || !admitted || ticket.finish(&reply, facts.moment.uptime);
        if sends { Answer::Reply(vec![reply]) } else { Answer::Nothing }
    }

    /// Executes a procedure of NFSv3: its reply, and whether it asks the client to repeat the call later.
    async fn execute_3(
        &self,
        call: &Call,
        facts: CallFacts<'_>,
        request: &nfs::v3::Request,
    ) -> Result<(Writer, bool), Unknown> {
        let context = self.context(facts);
        let begun_ns = self.statistics.as_ref().map(|statistics| statistics.now_ns());
        let results = v3::execute(&context, request).await?;
        let duration_ns = self.statistics.as_ref().zip(begun_ns).map(|(statistics, begun_ns)| {
            let duration_ns = statistics.now_ns().saturating_sub(begun_ns);
            v3::count(statistics, &context, request, &results, duration_ns);
            duration_ns
        });
        self.executed.note(call.procedure, v3::failure(&results).is_none(), duration_ns);
        let mut writer = Writer::with_capacity(512);
        Reply::accepted(call.xid, AcceptStatus::Success).encode(&mut writer);
        results.encode(&mut writer);
        Ok((writer, v3::asks_to_repeat(&results)))
    }

    /// The place where NFSv4 is called.
    async fn nfs_4(&self, call: &Call, facts: CallFacts<'_>, mut arguments: Reader) -> Answer {
        let status = match (&self.v4, call.procedure) {
            (Some(_), PROCEDURE_NULL) => AcceptStatus::Success,
            (Some(v4), PROCEDURE_COMPOUND) => match v4.compound(facts, arguments.rest()).await {
                Ok(results) => {
                    let mut writer = Writer::with_capacity(32);
                    Reply::accepted(call.xid, AcceptStatus::Success).encode(&mut writer);
                    let mut chunks = writer.into_chunks();
                    chunks.extend(results);
                    return Answer::Reply(chunks);
                }
                Err(NoResults::Unknown) => return Answer::Nothing,
                Err(NoResults::Garbage) => AcceptStatus::GarbageArguments,
            },
            _ => AcceptStatus::ProcedureUnavailable,
        };
        header(&Reply::accepted(call.xid, status))
    }

    async fn mount(&self, call: &Call, facts: CallFacts<'_>, mut arguments: Reader) -> Answer {
        let request = match nfs::mount::Request::decode(call.procedure, &mut arguments) {
            Ok(request) => request,
            Err(error) => return header(&Reply::accepted(call.xid, error.status())),
        };
        let results = mount::execute(&self.context(facts), &self.mounts, &request).await;
        answer(results.map(|results| {
            let mut writer = Writer::with_capacity(128);
            Reply::accepted(call.xid, AcceptStatus::Success).encode(&mut writer);
            results.encode(&mut writer);
            writer.into_chunks()
        }))
    }

    fn portmap(&self, call: &Call, facts: CallFacts<'_>, mut arguments: Reader) -> Answer {
        let all = registrations(facts.connection, self.settings.v3, self.v4.is_some(), self.settings.port);
        let mut writer = Writer::with_capacity(128);
        Reply::accepted(call.xid, AcceptStatus::Success).encode(&mut writer);
        let procedure = (call.version, call.procedure);
        match portmap::execute(&facts, &all, procedure, &mut arguments, &mut writer) {
            Ok(()) => Answer::Reply(writer.into_chunks()),
            Err(error) => header(&Reply::accepted(call.xid, error.status())),
        }
    }
}

/// Programs that are served, with their versions.
fn programs(settings: &Settings, v4: bool) -> Vec<(u32, VersionRange)> {
    let mut programs = Vec::new();
    if settings.v3 || v4 {
        let low = if settings.v3 { nfs::v3::VERSION } else { nfs::v4::VERSION };
        let high = if v4 { nfs::v4::VERSION } else { nfs::v3::VERSION };
        programs.push((nfs::PROGRAM, VersionRange { low, high }));
    }
    if settings.v3 {
        let version = nfs::mount::VERSION;
        programs.push((nfs::mount::PROGRAM, VersionRange { low: version, high: version }));
    }
    if settings.portmap {
        let versions = VersionRange { low: portmap_program::VERSION, high: rpcbind_program::VERSION_4 };
        programs.push((portmap_program::PROGRAM, versions));
    }
    programs
}

/// Answer to a probe for TLS, which is not offered (RFC 9289 §4.1).
fn tls_refused(xid: u32) -> Reply {
    let verifier = OpaqueAuth::tls_answer(false);
    Reply { xid, body: ReplyBody::Accepted(Accepted { verifier, status: AcceptStatus::Success }) }
}

/// Reply without results.
fn header(reply: &Reply) -> Answer {
    let mut writer = Writer::with_capacity(32);
    reply.encode(&mut writer);
    Answer::Reply(writer.into_chunks())
}

fn answer(chunks: Result<Vec<Bytes>, Unknown>) -> Answer {
    chunks.map_or(Answer::Nothing, Answer::Reply)
}

#[cfg(test)]
mod tests;
