//! LINK, RFC 1813 §3.3.15.

use super::context::{Context, File};
use super::failure::{Outcome, Reason};
use super::wire;
use nfs::v3::{LinkArguments, LinkWcc, Status};
use vfs::{FileSystem, Place};

/// Gives a file one more name. `XDEV`: the file and the directory are in different shares.
pub(super) async fn execute<F: FileSystem>(
    context: &Context<'_, F>,
    arguments: &LinkArguments,
) -> Outcome<LinkWcc, LinkWcc> {
    let file = context.file(&arguments.file)?;
    let directory = context.file(&arguments.entry.directory)?;
    match link(&file, &directory, arguments).await {
        Ok(results) => Ok(results),
        Err(reason) => {
            let details = LinkWcc { attributes: file.attributes().await, wcc: directory.wcc_unchanged().await };
            Err(reason.with(details))
        }
    }
}

async fn link<F: FileSystem>(
    file: &File<'_, F>,
    directory: &File<'_, F>,
    arguments: &LinkArguments,
) -> Result<LinkWcc, Reason> {
    directory.check_writable()?;
    if !file.same_share(directory) {
        return Err(Status::XDEV.into());
    }
    let name = wire::new_name(&arguments.entry.name)?;
    let to = Place { directory: directory.id, name: &name };
    let linked = directory.files().link(directory.call(), file.id, to).await?;
    Ok(LinkWcc { attributes: Some(file.wire(&linked.file.after)), wcc: directory.wcc(&linked.directory) })
}
