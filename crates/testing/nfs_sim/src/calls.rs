//! Records of calls and replies.

use bytes::Bytes;
use nfs::v4::compound::{Call as Compound, Results};
use nfs::v4::operations::{Operation, Outcome};
use nfs::v4::session::SequenceArguments;
use nfs::v4::{SessionId, Status};
use onc_rpc::auth::{AuthSys, OpaqueAuth};
use onc_rpc::message::{AcceptStatus, Call, Message, ReplyBody};
use xdr::{Reader, Writer};

/// Record of a COMPOUND of minor version 2 with these operations.
pub(crate) fn compound(xid: u32, operations: &[Operation]) -> Bytes {
    let machine_name = "client".into();
    let credential = OpaqueAuth::sys(&AuthSys { stamp: 0, machine_name, uid: 0, gid: 0, gids: Vec::new().into() });
    let (version, procedure) = (nfs::v4::VERSION, nfs::v4::PROCEDURE_COMPOUND);
    let call = Call { xid, program: nfs::PROGRAM, version, procedure, credential, verifier: OpaqueAuth::none() };
    let mut writer = Writer::default();
    call.encode(&mut writer);
    let mut compound = Compound::<Operation>::start(&mut writer, &b"sim"[..].into(), 2);
    operations.iter().for_each(|operation| compound.push(&mut writer, operation));
    compound.finish(&mut writer);
    writer.into_bytes()
}

/// SEQUENCE of a slot.
pub(crate) fn sequence(session: SessionId, slot: u32, sequence: u32, highest_slot: u32) -> Operation {
    Operation::Sequence(SequenceArguments { session, sequence, slot, highest_slot, cache_this: true })
}

/// Reply to a COMPOUND.
pub(crate) struct Answer {
    pub xid: u32,
    pub status: Result<(), Status>,
    pub outcomes: Vec<Outcome>,
}

/// Takes a reply apart. All of it has to be understood.
pub(crate) fn answer(record: Bytes) -> Result<Answer, String> {
    let mut reader = Reader::strict(record);
    let reply = match Message::decode(&mut reader) {
        Ok(Message::Reply(reply)) => reply,
        other => return Err(format!("no reply: {other:?}")),
    };
    match reply.body {
        ReplyBody::Accepted(accepted) if accepted.status == AcceptStatus::Success => {}
        other => return Err(format!("the call was not executed: {other:?}")),
    }
    let mut results = Results::<Operation>::decode(reader).map_err(|error| error.to_string())?;
    let mut outcomes = Vec::new();
    while let Some(outcome) = results.next_outcome() {
        outcomes.push(outcome.map_err(|error| format!("{error} after {outcomes:?}"))?);
    }
    results.finish().map_err(|error| error.to_string())?;
    Ok(Answer { xid: reply.xid, status: results.status, outcomes })
}
