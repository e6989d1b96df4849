//! COMMIT, RFC 8881 §18.3.

use super::context::Context;
use super::row::{HANDLE, Row};
use crate::failure::Failure;
use nfs::v4::{Status, Verifier};
use vfs::FileSystem;

pub(super) const ROW: Row =
    Row { code: 5, statuses: &[HANDLE, &[Status::ISDIR, Status::SYMLINK, Status::WRONG_TYPE]], reply_bytes: 16 };

/// Makes all that was written before durable, whatever the range, and returns the write verifier.
pub(super) async fn execute<F: FileSystem>(context: &Context<'_, F>) -> Result<Verifier, Failure> {
    let file = context.file()?;
    let files = file.export.files();
    files.commit(file.id).await?;
    Ok(verifier(files))
}

/// Write verifier on the wire.
pub(super) fn verifier<F: FileSystem>(files: &F) -> Verifier {
    files.write_verifier().0.to_be_bytes()
}
