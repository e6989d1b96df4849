//! COMPOUND, RFC 8881 §16.2: one operation after the other, until one fails.

use super::context::Context;
use super::operations::{dispatch, row_of};
use crate::client::CallFacts;
use crate::failure::NoResults;
use crate::server::Server;
use crate::sessions::Sequenced;
use bytes::Bytes;
use nfs::v4::Status;
use nfs::v4::compound::{Arguments, CompoundOperation, CompoundOutcome, Reply};
use nfs::v4::operations::{Class, Needs, Operation, Outcome};
use std::ops::RangeInclusive;
use vfs::FileSystem;
use xdr::Writer;

const MINORS: RangeInclusive<u32> = 1..=2;
/// Header of an accepted reply, which counts against the limits of a session (RFC 8881 §18.36.3).
const HEADER_BYTES: usize = 24;
/// Longest reply outside of a session.
const MOST_REPLY_BYTES: usize = (1 << 20) + 4096;
/// Room that is kept for the failure of the next operation.
const FAILURE_BYTES: usize = 8;

/// What becomes of an operation.
enum Step {
    /// It has results.
    Results(Outcome),
    /// It is the SEQUENCE of a retry: these are the results of the compound.
    Replay(Vec<Bytes>),
}

/// Executes a compound, and returns its results in chunks.
pub(crate) async fn execute<F: FileSystem>(
    server: &Server<F>,
    caller: CallFacts<'_>,
    arguments: Bytes,
) -> Result<Vec<Bytes>, NoResults> {
    let mut arguments = Arguments::<Operation>::decode(arguments).map_err(|_| NoResults::Garbage)?;
    let mut writer = Writer::with_capacity(512);
    let mut reply = Reply::<Operation>::start(&mut writer, &arguments.tag);
    if let Err(status) = check(&arguments) {
        reply.finish(&mut writer, Err(status));
        return Ok(writer.into_chunks());
    }
    let mut context = Context::new(server, caller, arguments.minor);
    let mut position = Position { index: 0, count: arguments.count };
    while let Some(next) = arguments.next_operation() {
        let last = position.index.saturating_add(1) >= position.count;
        let outcome = match next {
            Err(error) => Outcome::failed(error.code, Status::BADXDR),
            Ok(operation) => {
                context.room_bytes = room(&context, writer.length_bytes(), last).0;
                match step(&mut context, position, operation).await {
                    Ok(Step::Results(outcome)) => outcome,
                    Ok(Step::Replay(results)) => return Ok(results),
                    Err(no_results) => {
                        context.slot.iter().for_each(|slot| server.sessions().finish(slot, None));
                        return Err(no_results);
                    }
                }
            }
        };
        let before = writer.length_bytes();
        reply.push(&mut writer, &outcome);
        let mut status = outcome.status();
        let (most, too_big) = room(&context, before, last);
        if status.is_ok() && writer.length_bytes() - before > most {
            reply.replace(&mut writer, &Outcome::failed(outcome.code(), too_big));
            status = Err(too_big);
        }
        if status.is_err() {
            break;
        }
        position.index += 1;
    }
    reply.finish(&mut writer, Ok(()));
    let results = writer.into_chunks();
    context.slot.iter().for_each(|slot| server.sessions().finish(slot, Some(&results)));
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
#[derive(Clone, Copy)]
struct Position {
    index: u32,
    count: u32,
}

/// Bytes that the next results may have, and the status of longer ones.
fn room<F: FileSystem>(context: &Context<'_, F>, written_bytes: usize, last: bool) -> (usize, Status) {
    let kept = HEADER_BYTES + written_bytes + if last { 0 } else { FAILURE_BYTES };
    let response = context.slot.map_or(MOST_REPLY_BYTES, |slot| slot.response_bytes);
    let cached = context.slot.filter(|slot| slot.cache_this).map_or(response, |slot| slot.cached_bytes);
    let status = if cached < response { Status::REP_TOO_BIG_TO_CACHE } else { Status::REP_TOO_BIG };
    (response.min(cached).saturating_sub(kept), status)
}

/// Executes an operation, after the checks that all have in common.
async fn step<F: FileSystem>(
    context: &mut Context<'_, F>,
    position: Position,
    operation: Operation,
) -> Result<Step, NoResults> {
    let code = operation.code();
    let failed = |status| Ok(Step::Results(Outcome::failed(code, status)));
    let row = match &operation {
        Operation::Illegal { .. } => return Ok(Step::Results(Outcome::Illegal(Status::OP_ILLEGAL))),
        operation => operation.row(),
    };
    let Some(row) = row else { return failed(Status::NOTSUPP) };
    if let Operation::Sequence(arguments) = &operation {
        if position.index > 0 {
            return failed(Status::SEQUENCE_POS);
        }
        return match context.server.sessions().sequence(&context.caller, position.count, arguments) {
            Err(status) => failed(status),
            Ok(Sequenced::Replay(results)) => Ok(Step::Replay(results)),
            Ok(Sequenced::New(results, slot)) => {
                context.slot = Some(slot);
                Ok(Step::Results(Outcome::Sequence(Ok(results))))
            }
        };
    }
    if context.slot.is_none() {
        match row.class {
            Class::Alone if position.count > 1 => return failed(Status::NOT_ONLY_OP),
            Class::Alone => {}
            Class::Plain | Class::Changes => return failed(Status::OP_NOT_IN_SESSION),
        }
    }
    if let Err(status) = check_handles(context, row.needs, row.class) {
        return failed(status);
    }
    let certain_bytes = row_of(code).filter(|_| row.class == Class::Changes).map_or(0, |row| row.reply_bytes);
    if certain_bytes > context.room_bytes {
        return failed(room(context, 0, true).1);
    }
    dispatch(context, operation).await.map(Step::Results)
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
