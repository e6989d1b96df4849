//! READDIR, RFC 1813 §3.3.16.

use super::context::Context;
use super::failure::Outcome;
use super::listing::{self, Listed, Wanted};
use nfs::v3::{Attributes, Entry, ReadDirectoryArguments, ReadDirectoryOk};
use vfs::FileSystem;

/// Names of a directory, `.` and `..` first.
pub(super) async fn execute<F: FileSystem>(
    context: &Context<'_, F>,
    arguments: &ReadDirectoryArguments,
) -> Outcome<ReadDirectoryOk, Option<Attributes>> {
    let wanted = Wanted {
        directory: &arguments.directory,
        cookie: arguments.cookie,
        verifier: arguments.verifier,
        most_bytes: arguments.count_bytes,
        attributes: false,
    };
    let listing = listing::list(context, wanted, |_, Listed { cookie, name, file, .. }| {
        let bytes = listing::entry_bytes(&name);
        (Entry { fileid: file.0, name, cookie }, bytes)
    })
    .await?;
    Ok(ReadDirectoryOk {
        attributes: Some(listing.directory),
        verifier: listing.verifier,
        entries: listing.entries.into(),
        eof: listing.end,
    })
}
