//! Exactly-once replies of a session, RFC 8881 §2.10.6: a call that is repeated on another connection gets
//! the reply of the first one, and is not executed again; a call out of turn is refused.

use super::SLOTS;
use super::fault::{Fault, untried, wrong};
use super::primitive::Proof;
use super::scratch::Scratch;
use bytes::Bytes;
use nfs::v4::compound::{Call, Results, Tag};
use nfs::v4::names::{CreateArguments, CreateType};
use nfs::v4::operations::{Operation, Outcome};
use nfs::v4::session::{BindArguments, SequenceArguments, WantedDirection};
use nfs::v4::{PROCEDURE_COMPOUND, Status, VERSION};
use nfs_client::{ClientError, Connection};
use std::time::Duration;
use xdr::Reader;

/// Time after which a connection is closed without waiting for the reply.
const IMPATIENCE: Duration = Duration::from_millis(20);

/// A slot of the session that its own calls do not use: those go one after the other in the lowest one.
struct Slot<'a> {
    scratch: &'a Scratch,
    slot: u32,
}

pub(super) async fn prove(scratch: &Scratch) -> Result<Proof, Fault> {
    let slots = scratch.share.session().created().fore_channel.max_requests.min(SLOTS);
    let Some(slot) = slots.checked_sub(1).filter(|slot| *slot > 0) else {
        return untried("the session has one slot only");
    };
    let slot = Slot { scratch, slot };
    let name = scratch.fresh("once");
    // A repetition gets the same reply, over another connection.
    let create = Operation::Create(Box::new(CreateArguments {
        kind: CreateType::Directory,
        name: name.as_str().into(),
        attributes: nfs::v4::attributes::Fattr::none(),
    }));
    let first = slot.send(&slot.connect().await?, 1, &create).await?;
    succeeded(&first, "CREATE")?;
    let second = slot.send(&slot.connect().await?, 1, &create).await?;
    if first != second {
        return wrong(format!("a repeated CREATE gets another reply than the first one: {}", word(&second)));
    }
    // A call whose reply was not waited for.
    let other = scratch.fresh("once");
    scratch.share.create(&scratch.directory, &other, CreateType::Directory, 0o755).await?;
    let remove_other = Operation::Remove(other.as_str().into());
    let lost = slot.connect().await?;
    // The reply may have come in time.
    let _reply = tokio::time::timeout(IMPATIENCE, slot.send(&lost, 2, &remove_other)).await;
    drop(lost);
    let reply = slot.send(&slot.connect().await?, 2, &remove_other).await?;
    succeeded(&reply, "REMOVE, repeated after its connection was closed,")?;
    // A repetition does not touch what has the name meanwhile.
    let remove = Operation::Remove(name.as_str().into());
    let first = slot.send(&slot.connect().await?, 3, &remove).await?;
    succeeded(&first, "REMOVE")?;
    scratch.share.create(&scratch.directory, &name, CreateType::Directory, 0o755).await?;
    let second = slot.send(&slot.connect().await?, 3, &remove).await?;
    if first != second {
        return wrong(format!("a repeated REMOVE gets another reply than the first one: {}", word(&second)));
    }
    match scratch
        .share
        .list(&scratch.directory, &[1])
        .await?
        .iter()
        .any(|entry| entry.name.as_bytes() == name.as_bytes())
    {
        true => {}
        false => return wrong("a repeated REMOVE was executed twice: it removed a later directory of the name"),
    }
    // A call out of turn.
    let reply = slot.send(&slot.connect().await?, 5, &remove).await?;
    match status(&reply) {
        Some(Err(Status::SEQ_MISORDERED)) => {}
        _ => return wrong(format!("a call with a sequence id that was left out: {}", word(&reply))),
    }
    let reason = format!(
        "CREATE and REMOVE repeated on other connections: one reply, one effect; {slots} slots, replies up to {} kept",
        text::size::format(scratch.share.session().created().fore_channel.max_cached_response_bytes.into())
    );
    Ok(Proof { reason, cost: None })
}

impl Slot<'_> {
    /// A new connection, bound to the session.
    async fn connect(&self) -> Result<Connection, ClientError> {
        let session = self.scratch.share.session();
        let connection = Connection::connect(&self.scratch.url.server(), self.scratch.timeout).await?;
        let bind = BindArguments { session: session.id(), direction: WantedDirection::ForeOrBoth, rdma: false };
        let reply = self.call(&connection, &[Operation::BindConnection(bind)]).await?;
        match status(&reply) {
            Some(Ok(())) => Ok(connection),
            Some(Err(status)) => Err(ClientError::Status { operation: "BIND_CONN_TO_SESSION", status }),
            None => Err(ClientError::Malformed("BIND_CONN_TO_SESSION: no results".into())),
        }
    }

    /// Calls an operation on the directory of the probe with this sequence id. Returns the results.
    async fn send(&self, connection: &Connection, sequence: u32, operation: &Operation) -> Result<Bytes, ClientError> {
        let session = self.scratch.share.session().id();
        let arguments =
            SequenceArguments { session, sequence, slot: self.slot, highest_slot: self.slot, cache_this: true };
        let directory = self.scratch.directory.clone();
        let operations = [Operation::Sequence(arguments), Operation::PutFilehandle(directory), operation.clone()];
        self.call(connection, &operations).await
    }

    async fn call(&self, connection: &Connection, operations: &[Operation]) -> Result<Bytes, ClientError> {
        let encode = |writer: &mut xdr::Writer| {
            let mut call = Call::start(writer, &Tag::default(), self.scratch.minor);
            operations.iter().for_each(|operation| call.push(writer, operation));
            call.finish(writer);
        };
        let procedure = (nfs::PROGRAM, VERSION, PROCEDURE_COMPOUND);
        Ok(connection.call(procedure, self.scratch.share.session().credential(), encode).await?.rest())
    }
}

/// Status of a reply; `None` if it cannot be decoded.
fn status(reply: &Bytes) -> Option<Result<(), Status>> {
    Some(Results::<Operation>::decode(Reader::strict(reply.clone())).ok()?.status)
}

/// Status of a reply in a word.
fn word(reply: &Bytes) -> String {
    match status(reply) {
        Some(Ok(())) => "success".into(),
        Some(Err(status)) => status.to_string(),
        None => "a reply that cannot be decoded".into(),
    }
}

/// Fails unless the operation behind SEQUENCE and PUTFH succeeded.
fn succeeded(reply: &Bytes, what: &str) -> Result<(), Fault> {
    let results = Results::<Operation>::decode(Reader::strict(reply.clone()));
    let count = results.as_ref().map_or(0, |results| results.count);
    let first = results.ok().and_then(|mut results| results.next_outcome());
    match (status(reply), first) {
        (Some(Ok(())), Some(Ok(Outcome::Sequence(Ok(_))))) if count == 3 => Ok(()),
        _ => wrong(format!("{what}: {}", word(reply))),
    }
}
