//! COPY, RFC 7862 §15.2: a range of the saved file is copied into the current one.
//!
//! By the policy of the destination's share, the files share storage where offsets allow it, at once; or all bytes are
//! moved. A long move goes on after the reply, if the client permits it (`copies.rs`).

use super::clone::both;
use super::commit::verifier;
use super::context::Context;
use super::copies::{End, Order};
use super::moved::Moved;
use super::object::File;
use super::row::{CHANGE, GROWTH, HANDLE, Row, STATEID};
use super::stateids::{Use, saved_state_check, state_check};
use crate::failure::Failure;
use crate::shares::CopyPolicy;
use crate::statistics::{HAD_TO_COPY, Statistics};
use nfs::v4::offload::{CopyArguments, CopyFailure, CopyOk, CopyRequirements, WriteResponse};
use nfs::v4::{Stable, Stateid, Status};
use unit::{OffloadWork, Reason};
use vfs::{Call, FileSystem, FsError, Right, Source, pause, policy};

pub(super) const ROW: Row = Row { code: 60, statuses: &[HANDLE, STATEID, CHANGE, GROWTH, OWN], reply_bytes: 56 };

const OWN: &[Status] = &[Status::FBIG, Status::ISDIR, Status::OFFLOAD_DENIED, Status::OFFLOAD_NO_REQS, Status::SYMLINK];

/// How a move is done that is too long for one call.
const ASYNCHRONOUS: CopyRequirements = CopyRequirements { consecutive: true, synchronous: false };

/// Rights to source and destination.
#[derive(Clone, Copy)]
struct Rights {
    read: Right,
    write: Right,
}

/// Copies the range, durably and in order. A count of 0 stands for all up to the end of the source.
///
/// Bytes have to be moved if the share wants it, if offsets differ modulo the grain, and between pools. More than one
/// call may move is an asynchronous copy, if the client permits that: the reply has its stateid, and a callback has
/// its outcome. If not, the count is short; where the share wants moves, the copy is refused.
///
/// * `NOTSUPP`: the source is on another server.
/// * `INVAL`: source and destination are one file, or the range does not lie in the source.
/// * `OFFLOAD_NO_REQS`: too long to be moved before the reply.
/// * `OFFLOAD_DENIED`: too many asynchronous copies.
pub(super) async fn execute<F: FileSystem>(
    context: &Context<'_, F>,
    arguments: &CopyArguments,
) -> Result<CopyOk, Failure> {
    if !arguments.source_servers.is_empty() {
        return Err(Status::NOTSUPP.into());
    }
    let (from, to) = (context.saved_file()?, context.file()?);
    if from.shares_with(&to) && from.id == to.id {
        return Err(Status::INVAL.into());
    }
    let read = saved_state_check(context, &arguments.source_stateid, Use::Read)?;
    let write = state_check(context, &arguments.destination_stateid, Use::Write)?;
    let rights = Rights { read, write };
    let files = to.export.files();
    let physical = to.export.share.copy == CopyPolicy::Physical;
    if physical || !is_congruent(arguments, files.limits().grain_bytes) {
        let length = check_move(context, arguments, (&from, &to), rights).await?;
        let long = length > files.limits().move_bytes;
        if length > 0 && !arguments.synchronous && (physical || long) {
            return begin(context, arguments, (&from, &to), rights, length);
        }
        if physical && long {
            return Err(too_long(length, files.limits().move_bytes));
        }
        if physical {
            let count_bytes = copy_bytes(context, arguments, (&from, &to), rights).await?;
            return Ok(copied(context, files, work(count_bytes, 0, false)));
        }
    }
    if !from.shares_with(&to) {
        check_source(context, &from, rights).await?;
    }
    let call = Call { right: both(read, write), ..context.call(&to) };
    match copy_range(call, arguments, (&from, &to)).await {
        Ok((done_bytes, shared_bytes)) => Ok(copied(context, files, work(done_bytes, shared_bytes, true))),
        Err(FsError::ForeignSource) => {
            let length = check_move(context, arguments, (&from, &to), rights).await?;
            if !arguments.synchronous && length > files.limits().move_bytes {
                return begin(context, arguments, (&from, &to), rights, length);
            }
            let count_bytes = copy_bytes(context, arguments, (&from, &to), rights).await?;
            Ok(copied(context, files, work(count_bytes, 0, true)))
        }
        Err(error) => Err(error.into()),
    }
}

/// Results of a failed COPY.
pub(super) fn failed(status: Status) -> CopyFailure {
    match status {
        Status::OFFLOAD_NO_REQS => CopyFailure::NoRequirements(ASYNCHRONOUS),
        status => CopyFailure::Other(status),
    }
}

/// Results of a copy that has ended.
fn copied<F: FileSystem>(context: &Context<'_, F>, files: &F, work: OffloadWork) -> CopyOk {
    let count_bytes = work.bytes;
    context.worked(work);
    response(files, None, count_bytes)
}

fn response<F: FileSystem>(files: &F, callback: Option<Stateid>, count_bytes: u64) -> CopyOk {
    let synchronous = callback.is_none();
    CopyOk {
        response: WriteResponse { callback, count_bytes, committed: Stable::FileSync, verifier: verifier(files) },
        requirements: CopyRequirements { consecutive: true, synchronous },
    }
}

fn too_long(length: u64, most: u64) -> Failure {
    let detail = format!("{length} bytes have to be moved, more than {most}, and the client waits for the reply");
    Failure::Refused { status: Status::OFFLOAD_NO_REQS, reason: Reason::OverLimit, detail }
}

fn source<'a, F: FileSystem>(arguments: &CopyArguments, from: &'a File<F>) -> Source<'a, F> {
    Source {
        file_system: from.export.files(),
        file: from.id,
        offset_bytes: arguments.source_offset_bytes,
        length_bytes: Some(arguments.count_bytes).filter(|count| *count > 0),
    }
}

/// Whether blocks can be shared: offsets are the same modulo the grain.
const fn is_congruent(arguments: &CopyArguments, grain_bytes: u32) -> bool {
    let grain = grain_bytes as u64;
    arguments.source_offset_bytes % grain == arguments.destination_offset_bytes % grain
}

/// Checks a copy of bytes, and returns its length.
async fn check_move<F: FileSystem>(
    context: &Context<'_, F>,
    arguments: &CopyArguments,
    (from, to): (&File<F>, &File<F>),
    rights: Rights,
) -> Result<u64, Failure> {
    let target = to.export.files().attributes(to.id).await?;
    FsError::need_file(target.kind)?;
    policy::check_write(&target, Call { right: rights.write, ..context.call(to) })?;
    check_source(context, from, rights).await?;
    let length = source(arguments, from).length_in(from.export.files().attributes(from.id).await?.size_bytes)?;
    to.export.files().limits().end(arguments.destination_offset_bytes, length)?;
    Ok(length)
}

/// Begins an asynchronous copy, whose first piece is copied after the reply.
fn begin<F: FileSystem>(
    context: &Context<'_, F>,
    arguments: &CopyArguments,
    (from, to): (&File<F>, &File<F>),
    rights: Rights,
    length_bytes: u64,
) -> Result<CopyOk, Failure> {
    let server = context.server;
    server.forget_copies();
    let (admitted, client) = (context.admitted()?, context.client()?);
    let referring = context.state().referring(admitted);
    let stateid = context.state().begin_copy(client).map_err(|denied| Failure::Refused {
        status: denied.status(),
        reason: Reason::OverLimit,
        detail: denied.to_string(),
    })?;
    let end = |file: &File<F>, offset_bytes, right| {
        let share = &file.export.share;
        End { object: share.object, epoch: share.epoch, file: file.id, offset_bytes, right }
    };
    let order = Order {
        stateid,
        from: end(from, arguments.source_offset_bytes, rights.read),
        to: end(to, arguments.destination_offset_bytes, rights.write),
        length_bytes,
        handle: to.handle(server.handle_key()),
        connection: *context.caller.connection,
        credential: context.caller.credential.clone(),
        referring,
    };
    server.copies().begin(order, server.statistics().map_or(0, Statistics::now_ns));
    Ok(response(to.export.files(), Some(stateid), 0))
}

/// Work of a copy, of which so many bytes share storage with the source. `wants_sharing`: a copy without any had no
/// benefit.
pub(super) fn work(bytes: u64, cloned_bytes: u64, wants_sharing: bool) -> OffloadWork {
    let copied_bytes = bytes.saturating_sub(cloned_bytes);
    OffloadWork {
        bytes,
        host_bytes_avoided: bytes.saturating_mul(2),
        cloned_bytes,
        copied_bytes,
        not_offloaded: (wants_sharing && bytes > 0 && cloned_bytes == 0)
            .then(|| (HAD_TO_COPY, format!("all of {copied_bytes} bytes were read and written"))),
        ..OffloadWork::default()
    }
}

/// Checks that the caller may read the source. Its identity there is another than at the destination, if
/// the shares squash differently.
async fn check_source<F: FileSystem>(context: &Context<'_, F>, from: &File<F>, rights: Rights) -> Result<(), FsError> {
    let attributes = from.export.files().attributes(from.id).await?;
    FsError::need_file(attributes.kind)?;
    policy::check_read(&attributes, Call { right: rights.read, ..context.call(from) })
}

/// Shares what can be shared, in one step, or moves as much as one call may move. Returns the number of bytes copied,
/// and of those of them that share storage.
async fn copy_range<F: FileSystem>(
    call: Call<'_>,
    arguments: &CopyArguments,
    (from, to): (&File<F>, &File<F>),
) -> Result<(u64, u64), FsError> {
    let files = to.export.files();
    let (whole, limits) = (source(arguments, from), files.limits());
    let most = if is_congruent(arguments, limits.grain_bytes) { 0 } else { limits.move_bytes };
    let (mut done, mut shared) = (0_u64, 0_u64);
    loop {
        let offset_bytes = whole.offset_bytes.saturating_add(done);
        let rest = whole.length_bytes.map(|length| length.saturating_sub(done));
        let part = Source { offset_bytes, length_bytes: rest, ..whole };
        match files.copy_range(call, part, to.id, arguments.destination_offset_bytes.saturating_add(done)).await {
            Ok(step) => {
                (done, shared) = (done.saturating_add(step.done_bytes), shared.saturating_add(step.shared_bytes));
                if step.done_bytes == 0 || done >= most || whole.length_bytes == Some(done) {
                    return Ok((done, shared));
                }
            }
            Err(_) if done > 0 => return Ok((done, shared)),
            Err(error) => return Err(error),
        }
        pause().await;
    }
}

/// Reads and writes, as much as one call may move. Returns the number of bytes copied.
async fn copy_bytes<F: FileSystem>(
    context: &Context<'_, F>,
    arguments: &CopyArguments,
    (from, to): (&File<F>, &File<F>),
    rights: Rights,
) -> Result<u64, Failure> {
    let (source_files, target) = (from.export.files(), to.export.files());
    let (read, write) =
        (Call { right: rights.read, ..context.call(from) }, Call { right: rights.write, ..context.call(to) });
    let length = source(arguments, from).length_in(source_files.attributes(from.id).await?.size_bytes)?;
    let limits = target.limits();
    limits.end(arguments.destination_offset_bytes, length)?;
    let wanted = length.min(limits.move_bytes);
    let mut done = 0;
    while done < wanted {
        let moved = async {
            let at = arguments.source_offset_bytes.saturating_add(done);
            let moved = Moved::read(from, read, at, (limits.io_bytes.into(), wanted - done)).await?;
            moved.write(to, write, arguments.destination_offset_bytes.saturating_add(done)).await
        };
        match moved.await {
            // The source has become shorter.
            Ok(0) => break,
            Ok(bytes) => done += bytes,
            Err(_) if done > 0 => break,
            Err(error) => return Err(error.into()),
        }
        if done < wanted {
            pause().await;
        }
    }
    Ok(done)
}
