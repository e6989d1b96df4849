//! COMPOUND, RFC 8881 §16.2: one operation after the other, until one fails.

use super::accounting::{Accounting, Offload};
use super::context::Context;
use super::operations::{dispatch, row_of};
use super::server::Server;
use crate::connection::CallFacts;
use crate::rpc::NoResults;
use bytes::Bytes;
use nfs::v4::Status;
use nfs::v4::compound::{Arguments, CompoundOperation, CompoundOutcome, MAX_MESSAGE_BYTES, Reply};
use nfs::v4::operations::{Class, Needs, Operation, Outcome};
use nfs::v4::session::SequenceArguments;
use nfs_state::{Admitted, Fingerprint, Request, Sequenced};
use std::ops::RangeInclusive;
use vfs::FileSystem;
use xdr::Writer;

const MINORS: RangeInclusive<u32> = 1..=2;
/// Header of an accepted reply, which counts against the limits of a session (RFC 8881 §18.36.3).
const HEADER_BYTES: usize = 24;
/// Room that is kept for the failure of the next operation.
const FAILURE_BYTES: usize = 8;
/// Results of SEQUENCE with their number and status.
const SEQUENCE_BYTES: usize = 44;

/// What becomes of an operation.
enum Step {
    /// It has results.
    Results(Outcome),
    /// It is the SEQUENCE of a retry: these are the results of the compound.
    Replay(Bytes),
}

/// Executes a compound, and returns its results in chunks.
pub(crate) async fn execute<F: FileSystem>(
    server: &Server<F>,
    caller: CallFacts<'_>,
    arguments: Bytes,
) -> Result<Vec<Bytes>, NoResults> {
    server.set_uptime(caller.moment.uptime);
    let fingerprint = Fingerprint::of(&arguments);
    let mut arguments = Arguments::<Operation>::decode(arguments).map_err(|_| NoResults::Garbage)?;
    let mut writer = Writer::with_capacity(512);
    let mut reply = Reply::<Operation>::start(&mut writer, &arguments.tag);
    if let Err(status) = check(&arguments) {
        reply.finish(&mut writer, Err(status));
        return Ok(writer.into_chunks());
    }
    let mut context = Context::new(server, caller, arguments.minor);
    let mut position = Position { index: 0, count: arguments.count, written_bytes: 0, fingerprint, uncached: false };
    let mut accounting = Accounting::begin(server);
    while let Some(next) = arguments.next_operation() {
        context.last = position.index.saturating_add(1) >= position.count;
        let before = writer.length_bytes();
        position.written_bytes = before;
        let (most, too_big) = room(&context, before);
        context.room_bytes = most;
        let offload = next.as_ref().ok().and_then(Offload::of);
        let outcome = match next {
            Err(error) => Outcome::failed(error.code, Status::BADXDR),
            // Without an outcome the slot stays in use: a retry must not be executed.
            Ok(operation) => match step(&mut context, &mut position, operation).await? {
                Step::Results(outcome) => outcome,
                Step::Replay(results) => return Ok(vec![results]),
            },
        };
        reply.push(&mut writer, &outcome);
        let mut status = outcome.status();
        if status.is_ok() && writer.length_bytes() - before > most {
            reply.replace(&mut writer, &Outcome::failed(outcome.code(), too_big));
            status = Err(too_big);
        }
        let duration_ns = accounting.ended(&mut context, offload, &outcome, status);
        server.executed().note(outcome.code(), status.is_ok(), duration_ns);
        if status.is_err() {
            break;
        }
        position.index += 1;
    }
    reply.finish(&mut writer, Ok(()));
    let results = writer.into_chunks();
    if let Some(admitted) = context.admitted.take() {
        server.state().complete(admitted, &results, server.uptime());
    }
    server.release_closed(context.closed).await;
    Ok(results)
}

/// Checks what comes before the first operation.
fn check(arguments: &Arguments<Operation>) -> Result<(), Status> {
    if !MINORS.contains(&arguments.minor) {
        return Err(Status::MINOR_VERS_MISMATCH);
    }
    std::str::from_utf8(&arguments.tag).map(|_| ()).map_err(|_| Status::INVAL)
}

/// Position of an operation in its compound.
struct Position {
    index: u32,
    count: u32,
    /// Length of the results so far.
    written_bytes: usize,
    /// Fingerprint of the compound.
    fingerprint: Fingerprint,
    /// Whether the compound is a retry whose reply was not kept.
    uncached: bool,
}

/// Bytes that the next results may have, and the status of longer ones.
fn room<F: FileSystem>(context: &Context<'_, F>, written_bytes: usize) -> (usize, Status) {
    let kept = HEADER_BYTES + written_bytes + if context.last { 0 } else { FAILURE_BYTES };
    let limit = context.admitted.as_ref().map(Admitted::reply_limit);
    let (limit, status) = limit.unwrap_or((MAX_MESSAGE_BYTES, Status::REP_TOO_BIG));
    (usize::try_from(limit).unwrap_or(usize::MAX).saturating_sub(kept), status)
}

/// Executes an operation, after the checks that all have in common.
async fn step<F: FileSystem>(
    context: &mut Context<'_, F>,
    position: &mut Position,
    operation: Operation,
) -> Result<Step, NoResults> {
    let code = operation.code();
    let failed = |status| Ok(Step::Results(Outcome::failed(code, status)));
    if position.uncached {
        return failed(Status::RETRY_UNCACHED_REP);
    }
    let row = match &operation {
        Operation::Illegal { .. } => return Ok(Step::Results(Outcome::Illegal(Status::OP_ILLEGAL))),
        operation => operation.row(),
    };
    let Some(row) = row else { return failed(Status::NOTSUPP) };
    if let Operation::Sequence(arguments) = &operation {
        return Ok(sequence(context, position, arguments));
    }
    if context.admitted.is_none() {
        match row.class {
            Class::Alone if position.count > 1 => return failed(Status::NOT_ONLY_OP),
            Class::Alone => {}
            Class::Plain | Class::Changes => return failed(Status::OP_NOT_IN_SESSION),
        }
    }
    if let Err(status) = check_handles(context, row.needs, row.class) {
        return failed(status);
    }
    if row_of(code).is_some_and(|row| row.reply_bytes > context.room_bytes) {
        return failed(room(context, 0).1);
    }
    dispatch(context, operation).await.map(Step::Results)
}

/// SEQUENCE, RFC 8881 §18.46.
fn sequence<F: FileSystem>(
    context: &mut Context<'_, F>,
    position: &mut Position,
    arguments: &SequenceArguments,
) -> Step {
    let results = |results| Step::Results(Outcome::Sequence(results));
    if position.index > 0 {
        return results(Err(Status::SEQUENCE_POS));
    }
    let failure = if context.last { 0 } else { FAILURE_BYTES };
    let reply_bytes = HEADER_BYTES + position.written_bytes + SEQUENCE_BYTES + failure;
    let request = Request {
        caller: context.sender(),
        length_bytes: u32::try_from(context.caller.record_bytes).unwrap_or(u32::MAX),
        fingerprint: position.fingerprint,
        operations: position.count,
        reply_bytes: u32::try_from(reply_bytes).unwrap_or(u32::MAX),
    };
    let sequenced = context.state().sequence(&request, arguments, context.uptime());
    match sequenced {
        Err(status) => results(Err(status)),
        Ok(Sequenced::Replay(reply)) => Step::Replay(reply),
        Ok(Sequenced::Uncached(ok)) => {
            position.uncached = true;
            results(Ok(ok))
        }
        Ok(Sequenced::Run(admitted)) => {
            let ok = admitted.result().clone();
            context.admitted = Some(admitted);
            results(Ok(ok))
        }
    }
}

/// Checks the handles of an operation, and that it changes nothing where nothing may change.
fn check_handles<F: FileSystem>(context: &Context<'_, F>, needs: Needs, class: Class) -> Result<(), Status> {
    if matches!(needs, Needs::Saved | Needs::CurrentAndSaved) {
        context.saved()?;
    }
    if matches!(needs, Needs::Current | Needs::CurrentAndSaved) {
        let current = context.current()?;
        if class == Class::Changes && current.read_only() {
            return Err(Status::ROFS);
        }
    }
    Ok(())
}
