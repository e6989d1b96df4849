//! COMMIT, RFC 1813 §3.3.21.

use super::context::Context;
use super::failure::{Outcome, Reason};
use nfs::v3::{CommitArguments, CommitOk, WccData};
use vfs::FileSystem;

/// Makes all that was written to the file durable, whatever range is asked for. It changes nothing that
/// a client sees.
pub(super) async fn execute<F: FileSystem>(
    context: &Context<'_, F>,
    arguments: &CommitArguments,
) -> Outcome<CommitOk, WccData> {
    let file = context.file(&arguments.file)?;
    // From before: a restart meanwhile must not be missed.
    let verifier = super::write_verifier(file.files());
    match file.files().commit(file.id).await {
        Ok(attributes) => Ok(CommitOk { wcc: file.wcc_of(&attributes), verifier }),
        Err(error) => Err(Reason::from(error).with(file.wcc_unchanged().await)),
    }
}
