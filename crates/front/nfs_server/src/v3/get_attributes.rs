//! GETATTR, RFC 1813 §3.3.1.

use super::context::Context;
use super::failure::{Outcome, Reason};
use nfs::v3::{Attributes, Filehandle};
use vfs::FileSystem;

/// Attributes of a file. They need no permission.
pub(super) async fn execute<F: FileSystem>(context: &Context<'_, F>, handle: &Filehandle) -> Outcome<Attributes, ()> {
    let file = context.file(handle)?;
    let attributes = file.files().attributes(file.id).await.map_err(|error| Reason::from(error).with(()))?;
    Ok(file.wire(&attributes))
}
