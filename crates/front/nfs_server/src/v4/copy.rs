//! COPY, RFC 7862 §15.2: a range of the saved file is copied into the current one. Synchronous, by sharing
//! storage where offsets allow it.

use super::clone::both;
use super::commit::verifier;
use super::context::Context;
use super::object::File;
use super::row::{CHANGE, GROWTH, HANDLE, Row, STATEID};
use super::stateids::{Use, saved_state_check, state_check};
use crate::failure::Failure;
use crate::statistics::HAD_TO_COPY;
use nfs::v4::offload::{CopyArguments, CopyOk, CopyRequirements, WriteResponse};
use nfs::v4::{Stable, Status};
use unit::OffloadWork;
use vfs::{Call, FileSystem, FsError, Payload, Right, Source, Stability, policy};

pub(super) const ROW: Row = Row {
    code: 60,
    statuses: &[HANDLE, STATEID, CHANGE, GROWTH, &[Status::FBIG, Status::ISDIR, Status::SYMLINK]],
    reply_bytes: 40,
};

/// Rights to source and destination.
#[derive(Clone, Copy)]
struct Rights {
    read: Right,
    write: Right,
}

/// Copies the range, durably and in order. A count of 0 stands for all up to the end of the source. What has to be
/// moved because offsets differ modulo the grain may end early; the count says where.
///
/// * `NOTSUPP`: the source is on another server.
/// * `INVAL`: source and destination are one file, or the range does not lie in the source.
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
    if !from.shares_with(&to) {
        check_source(context, &from, rights).await?;
    }
    let call = Call { right: both(read, write), ..context.call(&to) };
    let files = to.export.files();
    let source = Source {
        file_system: from.export.files(),
        file: from.id,
        offset_bytes: arguments.source_offset_bytes,
        length_bytes: Some(arguments.count_bytes).filter(|count| *count > 0),
    };
    let copied = files.copy_range(call, source, to.id, arguments.destination_offset_bytes).await;
    let (count_bytes, cloned_bytes) = match copied {
        Ok(copied) => (copied.done_bytes, copied.shared_bytes),
        Err(FsError::ForeignSource) => (copy_bytes(context, arguments, (&from, &to), rights).await?, 0),
        Err(error) => return Err(error.into()),
    };
    context.worked(work(count_bytes, cloned_bytes));
    let verifier = verifier(files);
    Ok(CopyOk {
        response: WriteResponse { callback: None, count_bytes, committed: Stable::FileSync, verifier },
        requirements: CopyRequirements { consecutive: true, synchronous: true },
    })
}

/// Work of a copy, of which so many bytes share storage with the source.
fn work(bytes: u64, cloned_bytes: u64) -> OffloadWork {
    let copied_bytes = bytes.saturating_sub(cloned_bytes);
    OffloadWork {
        bytes,
        host_bytes_avoided: bytes.saturating_mul(2),
        cloned_bytes,
        copied_bytes,
        not_offloaded: (bytes > 0 && cloned_bytes == 0)
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

/// Reads and writes, between pools. Returns the number of bytes copied.
async fn copy_bytes<F: FileSystem>(
    context: &Context<'_, F>,
    arguments: &CopyArguments,
    (from, to): (&File<F>, &File<F>),
    rights: Rights,
) -> Result<u64, Failure> {
    let (source, target) = (from.export.files(), to.export.files());
    let (read, write) =
        (Call { right: rights.read, ..context.call(from) }, Call { right: rights.write, ..context.call(to) });
    let range = Source {
        file_system: source,
        file: from.id,
        offset_bytes: arguments.source_offset_bytes,
        length_bytes: Some(arguments.count_bytes).filter(|count| *count > 0),
    };
    let length = range.length_in(source.attributes(from.id).await?.size_bytes)?;
    let limits = target.limits();
    limits.end(arguments.destination_offset_bytes, length)?;
    let wanted = length.min(limits.move_bytes);
    let step = limits.io_bytes.min(source.limits().io_bytes);
    let mut done = 0;
    while done < wanted {
        let length = u32::try_from(wanted - done).unwrap_or(u32::MAX).min(step);
        let moved = async {
            let content =
                source.read(read, from.id, arguments.source_offset_bytes.saturating_add(done), length).await?;
            let data = content.into_bytes();
            let bytes = data.len() as u64;
            let at = arguments.destination_offset_bytes.saturating_add(done);
            target.write(write, to.id, at, Payload::from(data), Stability::Durable).await.map(|_| bytes)
        };
        match moved.await {
            // The source has become shorter.
            Ok(0) => break,
            Ok(bytes) => done += bytes,
            Err(_) if done > 0 => break,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(done)
}
