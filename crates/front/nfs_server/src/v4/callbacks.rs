//! Callbacks on the back channels of sessions, RFC 8881 §20: calls of the server, and replies of clients.

use super::sent_calls::Expected;
use super::server::Server;
use bytes::Bytes;
use nfs::v4::callback::{
    CallbackOperation, CallbackOutcome, PROCEDURE_COMPOUND, SequenceArguments, SequenceOk, VERSION,
};
use nfs::v4::compound::{Call as Compound, Results, Tag};
use nfs::v4::session::CallbackSecurity;
use nfs_state::{Callback, CallbackAnswer, ConnectionId};
use onc_rpc::auth::OpaqueAuth;
use onc_rpc::message::{AcceptStatus, Accepted, Call, Reply, ReplyBody};
use std::time::Duration;
use vfs::FileSystem;
use xdr::{Reader, Writer};

/// Minor version of CB_OFFLOAD.
const MINOR: u32 = 2;

/// Call of the server to a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackCall {
    /// Number of the connection on which it is sent.
    pub connection: u64,
    /// Record in chunks, none of them empty.
    pub record: Vec<Bytes>,
}

impl<F: FileSystem> Server<F> {
    /// A callback to be sent, if one is due and its client can be reached. It counts as sent; if its connection is
    /// closed, it becomes due again.
    pub fn next_callback(&self, uptime: Duration) -> Option<BackCall> {
        self.set_uptime(uptime);
        let mut state = self.state();
        let callback = state.next_callback(self.uptime())?;
        self.callbacks().retain(|call| state.is_callback_pending(call));
        let Callback { id, connection: ConnectionId(connection), program, security, sequence, offload } = callback;
        let xid = self.callbacks().add(Expected { id, connection, sequence: sequence.clone() });
        let mut writer = Writer::with_capacity(512);
        let (credential, verifier) = (credential(&security), OpaqueAuth::none());
        let procedure = PROCEDURE_COMPOUND;
        Call { xid, program, version: VERSION, procedure, credential, verifier }.encode(&mut writer);
        let mut compound = Compound::<CallbackOperation>::start(&mut writer, &Tag::default(), MINOR);
        compound.push(&mut writer, &CallbackOperation::Sequence(sequence));
        compound.push(&mut writer, &CallbackOperation::Offload(Box::new(offload)));
        compound.finish(&mut writer);
        Some(BackCall { connection, record: writer.into_chunks() })
    }

    /// Takes the reply of a client to a callback that was sent on that connection. Any other reply is ignored.
    pub fn callback_answered(&self, connection: u64, reply: &Reply, results: Bytes, uptime: Duration) {
        self.set_uptime(uptime);
        if let Some(call) = self.callbacks().take(reply.xid, connection) {
            let answer = answer(&call.sequence, &reply.body, results);
            self.state().callback_answered(call.id, answer, self.uptime());
        }
    }
}

/// Credential of a callback. The state of clients keeps no other.
fn credential(security: &CallbackSecurity) -> OpaqueAuth {
    match security {
        CallbackSecurity::Sys(credential) => OpaqueAuth::sys(credential),
        CallbackSecurity::None | CallbackSecurity::Gss(_) => OpaqueAuth::none(),
    }
}

fn answer(sequence: &SequenceArguments, body: &ReplyBody, results: Bytes) -> CallbackAnswer {
    let ReplyBody::Accepted(Accepted { status: AcceptStatus::Success, .. }) = body else {
        return CallbackAnswer::Unusable;
    };
    let Ok(mut results) = Results::<CallbackOperation>::decode(Reader::new(results)) else {
        return CallbackAnswer::Unusable;
    };
    match results.next_outcome() {
        Some(Ok(CallbackOutcome::Sequence(Err(status)))) => return CallbackAnswer::SequenceFailed(status),
        Some(Ok(CallbackOutcome::Sequence(Ok(ok)))) if is_of(&ok, sequence) => {}
        _ => return CallbackAnswer::Unusable,
    }
    match results.next_outcome() {
        Some(Ok(CallbackOutcome::Offload(done))) => CallbackAnswer::Offload(done),
        _ => CallbackAnswer::Unusable,
    }
}

/// Whether a result of CB_SEQUENCE belongs to a request.
fn is_of(ok: &SequenceOk, sequence: &SequenceArguments) -> bool {
    (ok.session, ok.slot, ok.sequence) == (sequence.session, sequence.slot, sequence.sequence)
}
