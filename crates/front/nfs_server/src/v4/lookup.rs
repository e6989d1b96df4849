//! LOOKUP, RFC 8881 §18.13.

use super::context::Context;
use super::names::sought;
use super::object::{File, Object, export};
use super::row::{HANDLE, NAME, NO_RESULTS_BYTES, Row};
use crate::failure::Failure;
use crate::pseudo;
use nfs::v4::{Name, Status};
use vfs::FileSystem;

pub(super) const ROW: Row =
    Row { code: 15, statuses: &[HANDLE, NAME, &[Status::SYMLINK]], reply_bytes: NO_RESULTS_BYTES };

/// Goes to a name in the current directory.
pub(super) async fn execute<F: FileSystem>(context: &mut Context<'_, F>, name: Name) -> Result<(), Failure> {
    let found = find(context, name).await?;
    context.set_current(found);
    Ok(())
}

/// What a name in the current directory leads to. In the pseudo root, a share that the caller must not see
/// is not there.
pub(super) async fn find<F: FileSystem>(context: &Context<'_, F>, name: Name) -> Result<Object<F>, Failure> {
    let name = sought(name)?;
    match context.current()? {
        Object::PseudoRoot => {
            let caller = &context.caller;
            let shares = context.server.shares().borrow();
            let visible = |share: &_| pseudo::shows(share, caller.connection.client, caller.credential);
            let share = shares.by_name(&name).filter(|share| visible(share)).ok_or(Status::NOENT)?;
            let id = share.file_system.root();
            Ok(Object::File(File { export: export(share, caller)?, id }))
        }
        Object::File(directory) => {
            let files = directory.export.files();
            let found = files.lookup(context.call(directory), directory.id, &name).await?;
            Ok(Object::File(directory.sibling(found.file.file)))
        }
    }
}
