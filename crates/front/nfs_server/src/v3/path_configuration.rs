//! PATHCONF, RFC 1813 §3.3.20.

use super::context::Context;
use super::failure::{Outcome, Reason};
use nfs::v3::{Attributes, Filehandle, PathConfiguration};
use vfs::{FileSystem, NAME_BYTES};

/// Limits of names and links. They are the same for all files.
pub(super) async fn execute<F: FileSystem>(
    context: &Context<'_, F>,
    handle: &Filehandle,
) -> Outcome<PathConfiguration, Option<Attributes>> {
    let file = context.file(handle)?;
    let attributes = file.files().attributes(file.id).await.map_err(|error| Reason::from(error).with(None))?;
    Ok(PathConfiguration {
        attributes: Some(file.wire(&attributes)),
        max_links: file.limits().links,
        max_name_bytes: u32::try_from(NAME_BYTES).unwrap_or(u32::MAX),
        no_truncation: true,
        chown_restricted: true,
        case_insensitive: false,
        case_preserving: true,
    })
}
