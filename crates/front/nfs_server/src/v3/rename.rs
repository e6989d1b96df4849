//! RENAME, RFC 1813 §3.3.14.

use super::context::{Context, File};
use super::failure::{Outcome, Reason};
use super::wire;
use nfs::v3::{RenameArguments, RenameWcc, Status};
use vfs::{Expect, FileSystem, Place};

/// Renames a file, and replaces the one that has the new name. `XDEV`: the names are in different
/// shares.
pub(super) async fn execute<F: FileSystem>(
    context: &Context<'_, F>,
    arguments: &RenameArguments,
) -> Outcome<RenameWcc, RenameWcc> {
    let from = context.file(&arguments.from.directory)?;
    let to = context.file(&arguments.to.directory)?;
    match rename(&from, &to, arguments).await {
        Ok(wcc) => Ok(wcc),
        Err(reason) => {
            let details = RenameWcc { from: from.wcc_unchanged().await, to: to.wcc_unchanged().await };
            Err(reason.with(details))
        }
    }
}

async fn rename<F: FileSystem>(
    from: &File<'_, F>,
    to: &File<'_, F>,
    arguments: &RenameArguments,
) -> Result<RenameWcc, Reason> {
    from.check_writable()?;
    to.check_writable()?;
    if !from.same_share(to) {
        return Err(Status::XDEV.into());
    }
    let (old, new) = (wire::name(&arguments.from.name)?, wire::name(&arguments.to.name)?);
    let (old, new) = (Place { directory: from.id, name: &old }, Place { directory: to.id, name: &new });
    let renamed = from.files().rename(from.call(), old, new, Expect::Anything).await?;
    Ok(RenameWcc { from: from.wcc(&renamed.from), to: to.wcc(&renamed.to) })
}
