//! READDIRPLUS, RFC 1813 §3.3.17.

use super::context::Context;
use super::failure::Outcome;
use super::listing::{self, ATTRIBUTES_BYTES, Listed, Wanted};
use crate::handle::HANDLE_BYTES;
use nfs::v3::{Attributes, EntryPlus, ReadDirectoryPlusArguments, ReadDirectoryPlusOk};
use vfs::FileSystem;

/// Names of a directory with attributes and handles. The limit for names alone is not read, because the
/// one of the whole reply is enough.
pub(super) async fn execute<F: FileSystem>(
    context: &Context<'_, F>,
    arguments: &ReadDirectoryPlusArguments,
) -> Outcome<ReadDirectoryPlusOk, Option<Attributes>> {
    let wanted = Wanted {
        directory: &arguments.directory,
        cookie: arguments.cookie,
        verifier: arguments.verifier,
        most_bytes: arguments.max_count_bytes,
        attributes: true,
    };
    let listing = listing::list(context, wanted, |directory, Listed { cookie, name, file, attributes }| {
        let attributes = attributes.map(|attributes| directory.wire(&attributes));
        let attributes_bytes = if attributes.is_some() { ATTRIBUTES_BYTES } else { 0 };
        let bytes = listing::entry_bytes(&name) + (4 + attributes_bytes) + (4 + 4 + HANDLE_BYTES);
        let handle = Some(directory.handle(file));
        (EntryPlus { fileid: file.0, name, cookie, attributes, handle }, bytes)
    })
    .await?;
    Ok(ReadDirectoryPlusOk {
        attributes: Some(listing.directory),
        verifier: listing.verifier,
        entries: listing.entries.into(),
        eof: listing.end,
    })
}
