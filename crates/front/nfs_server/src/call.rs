//! Calls and replies of ONC RPC: which program, which procedure.

use crate::client::{CallFacts, Client};
use crate::failure::NoResults;
use crate::server::Server;
use crate::v4;
use bytes::Bytes;
use nfs::v4::{PROCEDURE_COMPOUND, PROCEDURE_NULL, VERSION};
use onc_rpc::auth::{Credential, OpaqueAuth};
use onc_rpc::message::{
    AcceptStatus, Accepted, Call, HeaderError, Message, Programs, Rejection, Reply, ReplyBody, VersionRange,
};
use vfs::{FileSystem, Timestamp};
use xdr::{Reader, Writer};

/// Programs and versions.
const PROGRAMS: Programs<'static> = Programs(&[(nfs::PROGRAM, VersionRange { low: VERSION, high: VERSION })]);

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

impl<F: FileSystem> Server<F> {
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
                let caller = CallFacts { client, credential: &credential, now, request_bytes };
                match v4::compound::execute(self, caller, reader.rest()).await {
                    Ok(results) => reply(&Reply::accepted(call.xid, AcceptStatus::Success), results),
                    Err(NoResults::Garbage) => accepted(&call, AcceptStatus::GarbageArguments),
                    Err(NoResults::Unknown) => Answer::Nothing,
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
