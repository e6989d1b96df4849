//! READLINK, RFC 1813 §3.3.5.

use super::context::Context;
use super::failure::{Outcome, Reason};
use nfs::v3::{Attributes, Filehandle, Path, ReadLinkOk};
use vfs::{FileSystem, FsError, Kind};

/// Target of a symbolic link, as stored. `INVAL`: another kind of file.
pub(super) async fn execute<F: FileSystem>(
    context: &Context<'_, F>,
    handle: &Filehandle,
) -> Outcome<ReadLinkOk, Option<Attributes>> {
    let link = context.file(handle)?;
    let error = match link.files().read_link(link.id).await {
        Ok((target, attributes)) => {
            let target = Path::from(target.bytes().clone());
            return Ok(ReadLinkOk { attributes: Some(link.wire(&attributes)), target });
        }
        // READLINK has no ISDIR.
        Err(FsError::IsDirectory) => FsError::WrongKind { kind: Kind::Directory },
        Err(error) => error,
    };
    Err(Reason::from(error).with(link.attributes().await))
}
