//! LOOKUPP, RFC 8881 §18.14.

use super::context::Context;
use super::object::Object;
use super::row::{HANDLE, NO_RESULTS_BYTES, Row};
use crate::failure::Failure;
use nfs::v4::Status;
use vfs::FileSystem;

pub(super) const ROW: Row = Row {
    code: 16,
    statuses: &[HANDLE, &[Status::NOENT, Status::NOTDIR, Status::SYMLINK]],
    reply_bytes: NO_RESULTS_BYTES,
};

/// Goes to the parent of the current directory.
pub(super) async fn execute<F: FileSystem>(context: &mut Context<'_, F>) -> Result<(), Failure> {
    let parent = find(context).await?;
    context.set_current(parent);
    Ok(())
}

/// Parent of the current directory: of a share's root the pseudo root, which has none.
pub(super) async fn find<F: FileSystem>(context: &Context<'_, F>) -> Result<Object<F>, Failure> {
    match context.current()? {
        Object::PseudoRoot => Err(Status::NOENT.into()),
        Object::File(root) if root.is_root() => Ok(Object::PseudoRoot),
        Object::File(directory) => {
            let parent = directory.export.files().parent(context.call(directory), directory.id).await?;
            Ok(Object::File(directory.sibling(parent.file)))
        }
    }
}
