//! IO_ADVISE, RFC 7862 §15.5. Hints are accepted and have no effect, which the reply says.

use super::context::Context;
use super::row::{HANDLE, Row, STATEID};
use super::stateids::{Use, state_check};
use crate::failure::Failure;
use nfs::v4::io::AdviseArguments;
use nfs::v4::{Bitmap, Status};
use vfs::{FileSystem, FsError};

pub(super) const ROW: Row =
    Row { code: 63, statuses: &[HANDLE, STATEID, &[Status::ISDIR, Status::SYMLINK]], reply_bytes: 12 };

/// Returns the hints that the server follows: none.
pub(super) async fn execute<F: FileSystem>(
    context: &Context<'_, F>,
    arguments: &AdviseArguments,
) -> Result<Bitmap, Failure> {
    let file = context.file()?;
    state_check(context, &arguments.stateid, Use::Read)?;
    FsError::need_file(file.export.files().attributes(file.id).await?.kind)?;
    if arguments.offset_bytes.checked_add(arguments.count_bytes).is_none() {
        return Err(Status::INVAL.into());
    }
    Ok(Bitmap::EMPTY)
}
