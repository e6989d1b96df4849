//! REMOVE, RFC 8881 §18.25.

use super::context::Context;
use super::names::{change, sought};
use super::object::File;
use super::row::{CHANGE, CHANGE_INFO_BYTES, HANDLE, NAME, NO_RESULTS_BYTES, Row};
use crate::failure::Failure;
use nfs::v4::{ChangeInfo, Name, Status};
use vfs::{Attributes, Expect, FileSystem, FsError, Kind, Place, Removes};

pub(super) const ROW: Row = Row {
    code: 28,
    statuses: &[HANDLE, NAME, CHANGE, &[Status::FILE_OPEN, Status::NOTEMPTY]],
    reply_bytes: NO_RESULTS_BYTES + CHANGE_INFO_BYTES,
};

/// How often a name is looked up again, because it led to another file meanwhile.
const ATTEMPTS: u32 = 8;

/// Removes a name from the current directory. `FILE_OPEN`: an open of the file denies writing.
pub(super) async fn execute<F: FileSystem>(context: &Context<'_, F>, name: Name) -> Result<ChangeInfo, Failure> {
    let directory = context.file()?;
    let name = sought(name)?;
    let files = directory.export.files();
    let from = Place { directory: directory.id, name: &name };
    for _ in 0..ATTEMPTS {
        let found = files.lookup(context.call(&directory), directory.id, &name).await?;
        check_open(context, &directory, &found.file)?;
        let expect = Expect::File(found.file.file);
        match files.remove(context.call(&directory), from, Removes::Anything, expect).await {
            Ok(removed) => return Ok(change(&removed.directory)),
            Err(FsError::NameChanged { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(Status::DELAY.into())
}

/// Whether opens permit that a file of the share loses a name.
pub(super) fn check_open<F: FileSystem>(
    context: &Context<'_, F>,
    directory: &File<F>,
    file: &Attributes,
) -> Result<(), Status> {
    if file.kind != Kind::File {
        return Ok(());
    }
    context.state().check_remove(&directory.sibling(file.file).key(), context.uptime())
}
