//! LOOKUP, RFC 1813 §3.3.3.

use super::context::{Context, File};
use super::failure::{Outcome, Reason};
use super::wire;
use nfs::v3::{Attributes, DirectoryEntry, LookupOk};
use vfs::{FileSystem, Found, FsError, Permission, policy};

/// File of a name. `.` is the directory, `..` its parent, which for the root of a share is the root.
pub(super) async fn execute<F: FileSystem>(
    context: &Context<'_, F>,
    what: &DirectoryEntry,
) -> Outcome<LookupOk, Option<Attributes>> {
    let directory = context.file(&what.directory)?;
    match find(&directory, what).await {
        Ok(found) => Ok(LookupOk {
            file: directory.handle(found.file.file),
            attributes: Some(directory.wire(&found.file)),
            directory: Some(directory.wire(&found.directory)),
        }),
        Err(reason) => Err(reason.with(directory.attributes().await)),
    }
}

async fn find<F: FileSystem>(directory: &File<'_, F>, what: &DirectoryEntry) -> Result<Found, Reason> {
    let (files, call, id) = (directory.files(), directory.call(), directory.id);
    match &what.name[..] {
        b"." => {
            let attributes = files.attributes(id).await?;
            FsError::need_directory(attributes.kind)?;
            policy::check(&attributes, call.caller, Permission::Execute)?;
            Ok(Found { file: attributes, directory: attributes })
        }
        b".." => {
            let parent = files.parent(call, id).await?;
            Ok(Found { file: parent, directory: files.attributes(id).await? })
        }
        _ => Ok(files.lookup(call, id, &wire::name(&what.name)?).await?),
    }
}
