//! Captures of files, from which volumes are made.

use crate::PoolFiles;
use crate::failure::engine_error;
use files::{EngineError, Object};
use media::Media;
use pool::{Failure, ObjectId};
use vfs::{Call, FileId, FileSystem, FsError, SpaceReason};

/// Content of a file as of one instant, in an object of its own that a restart deletes.
/// [`pool::CatalogChange::capture_becomes_volume`] keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Captured {
    /// The object. It maps the blocks of the file from its first one on.
    pub capture: ObjectId,
    /// Size of the file in bytes at that instant.
    pub size_bytes: u64,
}

/// Captures a regular file, whatever its size, in a bounded number of steps: no data moves. Writers may write
/// meanwhile; the capture has the content between two of their changes.
///
/// Errors: those of a read, and [`FsError::NoSpace`]. No capture is left after an error, nor if the future is dropped.
pub async fn capture_file<M: Media + 'static>(
    files: &PoolFiles<M>,
    call: Call<'_>,
    file: FileId,
) -> Result<Captured, FsError> {
    let pool = files.engine().pool();
    let attributes = files.attributes(file).await?;
    FsError::need_file(attributes.kind)?;
    let mut size_bytes = attributes.size_bytes;
    loop {
        // With room to grow, an extended file needs another try only if its size has doubled. The map is not deeper.
        let limit_bytes = size_bytes.next_power_of_two().max(files::BLOCK_BYTES);
        let capture = pool.create_capture(limit_bytes).await.map_err(not_created)?;
        match files.share_into(call, file, Object(capture.id().0), limit_bytes).await {
            Ok(size_bytes) => return Ok(Captured { capture: capture.keep(), size_bytes }),
            Err(FsError::FileTooLarge { .. }) if limit_bytes < files.limits().file_bytes => {
                size_bytes = limit_bytes.saturating_add(1);
            }
            Err(error) => return Err(error),
        }
    }
}

fn not_created(failure: Failure) -> FsError {
    match engine_error(failure) {
        EngineError::NoSpace => FsError::NoSpace(SpaceReason::Pool),
        EngineError::Stopped { reason } => FsError::Stopped { reason },
        error => FsError::Internal { reason: error.to_string() },
    }
}
