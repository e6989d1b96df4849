//! NFSv3, RFC 1813: a file for each procedure. NULL has no arguments, no results and no file.
//!
//! Attributes around a change come from the step that made it. A procedure that fails returns
//! attributes as well, where RFC 1813 has them, unless the caller may not use the share.

pub(crate) mod context;
mod creation;
pub(crate) mod failure;
mod listing;
mod removal;
mod wire;

mod access;
mod commit;
mod create;
mod file_system_information;
mod file_system_statistics;
mod get_attributes;
mod link;
mod lookup;
mod make_directory;
mod make_node;
mod path_configuration;
mod read;
mod read_directory;
mod read_directory_plus;
mod read_link;
mod remove;
mod remove_directory;
mod rename;
mod set_attributes;
mod symbolic_link;
mod write;

use crate::statistics::Statistics;
use context::Context;
use failure::{Unknown, settle};
use nfs::v3::{self, Filehandle, Request, Results, Status, Verifier};
use unit::Io;
use vfs::FileSystem;

/// Handle by which a procedure that changes something finds its share; `None`: it changes nothing. The repetition of a
/// change has to return the first reply.
pub(crate) const fn changed(request: &Request) -> Option<&Filehandle> {
    match request {
        Request::SetAttributes(of) => Some(&of.file),
        Request::Write(of) => Some(&of.file),
        Request::Create(of) => Some(&of.entry.directory),
        Request::MakeDirectory(of) => Some(&of.entry.directory),
        Request::SymbolicLink(of) => Some(&of.entry.directory),
        Request::MakeNode(of) => Some(&of.entry.directory),
        Request::Remove(of) | Request::RemoveDirectory(of) => Some(&of.directory),
        Request::Rename(of) => Some(&of.from.directory),
        Request::Link(of) => Some(&of.entry.directory),
        Request::Null
        | Request::GetAttributes(_)
        | Request::Lookup(_)
        | Request::Access(_)
        | Request::ReadLink(_)
        | Request::Read(_)
        | Request::ReadDirectory(_)
        | Request::ReadDirectoryPlus(_)
        | Request::FileSystemStatistics(_)
        | Request::FileSystemInformation(_)
        | Request::PathConfiguration(_)
        | Request::Commit(_) => None,
    }
}

/// Whether a procedure was refused for now, so that the client repeats it later.
pub(crate) fn asks_to_repeat(results: &Results) -> bool {
    failure(results) == Some(Status::JUKEBOX)
}

/// Status of a procedure that has failed.
pub(crate) fn failure(results: &Results) -> Option<Status> {
    fn of<T, D>(results: &Result<T, v3::Failure<D>>) -> Option<Status> {
        results.as_ref().err().map(|failure| failure.status)
    }
    match results {
        Results::Null => None,
        Results::GetAttributes(results) => results.as_ref().err().copied(),
        Results::SetAttributes(results) => of(results),
        Results::Lookup(results) => of(results),
        Results::Access(results) => of(results),
        Results::ReadLink(results) => of(results),
        Results::Read(results) => of(results),
        Results::Write(results) => of(results),
        Results::Create(results)
        | Results::MakeDirectory(results)
        | Results::SymbolicLink(results)
        | Results::MakeNode(results) => of(results),
        Results::Remove(results) | Results::RemoveDirectory(results) => of(results),
        Results::Rename(results) => of(results),
        Results::Link(results) => of(results),
        Results::ReadDirectory(results) => of(results),
        Results::ReadDirectoryPlus(results) => of(results),
        Results::FileSystemStatistics(results) => of(results),
        Results::FileSystemInformation(results) => of(results),
        Results::PathConfiguration(results) => of(results),
        Results::Commit(results) => of(results),
    }
}

/// Counts a read or write that succeeded.
pub(crate) fn count<F: FileSystem>(
    statistics: &Statistics,
    context: &Context<'_, F>,
    request: &Request,
    results: &Results,
    duration_ns: u64,
) {
    let (handle, io, bytes) = match (request, results) {
        (Request::Read(of), Results::Read(Ok(ok))) => (&of.file, Io::Read, ok.count_bytes),
        (Request::Write(of), Results::Write(Ok(ok))) => (&of.file, Io::Write, ok.count_bytes),
        _ => return,
    };
    if let Ok(file) = context.file(handle)
        && let Some(counted) = &file.share().counted
    {
        statistics.moved(counted, io, bytes.into(), duration_ns);
    }
}

/// Executes a procedure.
pub(crate) async fn execute<F: FileSystem>(context: &Context<'_, F>, request: &Request) -> Result<Results, Unknown> {
    use Request as R;
    Ok(match request {
        R::Null => Results::Null,
        R::GetAttributes(file) => {
            let results = settle(get_attributes::execute(context, file).await)?;
            Results::GetAttributes(results.map_err(|failure| failure.status))
        }
        R::SetAttributes(of) => Results::SetAttributes(settle(set_attributes::execute(context, of).await)?),
        R::Lookup(of) => Results::Lookup(settle(lookup::execute(context, of).await)?),
        R::Access(of) => Results::Access(settle(access::execute(context, of).await)?),
        R::ReadLink(of) => Results::ReadLink(settle(read_link::execute(context, of).await)?),
        R::Read(of) => Results::Read(settle(read::execute(context, of).await)?),
        R::Write(of) => Results::Write(settle(write::execute(context, of).await)?),
        R::Create(of) => Results::Create(settle(create::execute(context, of).await)?),
        R::MakeDirectory(of) => Results::MakeDirectory(settle(make_directory::execute(context, of).await)?),
        R::SymbolicLink(of) => Results::SymbolicLink(settle(symbolic_link::execute(context, of).await)?),
        R::MakeNode(of) => Results::MakeNode(settle(make_node::execute(context, of).await)?),
        R::Remove(of) => Results::Remove(settle(remove::execute(context, of).await)?),
        R::RemoveDirectory(of) => Results::RemoveDirectory(settle(remove_directory::execute(context, of).await)?),
        R::Rename(of) => Results::Rename(settle(rename::execute(context, of).await)?),
        R::Link(of) => Results::Link(settle(link::execute(context, of).await)?),
        R::ReadDirectory(of) => Results::ReadDirectory(settle(read_directory::execute(context, of).await)?),
        R::ReadDirectoryPlus(of) => {
            Results::ReadDirectoryPlus(settle(read_directory_plus::execute(context, of).await)?)
        }
        R::FileSystemStatistics(of) => {
            Results::FileSystemStatistics(settle(file_system_statistics::execute(context, of).await)?)
        }
        R::FileSystemInformation(of) => {
            Results::FileSystemInformation(settle(file_system_information::execute(context, of).await)?)
        }
        R::PathConfiguration(of) => Results::PathConfiguration(settle(path_configuration::execute(context, of).await)?),
        R::Commit(of) => Results::Commit(settle(commit::execute(context, of).await)?),
    })
}

/// Verifier of unstable writes.
fn write_verifier<F: FileSystem>(files: &F) -> Verifier {
    files.write_verifier().0.to_be_bytes()
}

#[cfg(test)]
mod tests;
