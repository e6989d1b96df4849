//! Captures of files, from which volumes are made.

use crate::PoolFiles;
use block::BlockDevice;
use files::Object;
use media::Media;
use pool::{Catalog, CatalogChange, ObjectId, PoolError, Volume};
use vfs::{Call, FileId, FileSystem, FsError, SpaceReason};

/// Content of a file as of one instant, in an object of its own that a restart deletes.
/// [`CatalogChange::capture_becomes_volume`] keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Captured {
    /// The object. It maps the blocks of the file from its first one on.
    pub capture: ObjectId,
    /// Size of the file in bytes at that instant.
    pub size_bytes: u64,
}

/// Capture that is deleted on drop.
struct Begun<M: Media>(Option<Volume<M>>);

impl<M: Media> Drop for Begun<M> {
    fn drop(&mut self) {
        if let Some(capture) = &self.0 {
            capture.discard();
        }
    }
}

/// Captures a regular file, whatever its size, in a bounded number of steps: no data moves. Writers may write
/// meanwhile; the capture has the content between two of their changes.
///
/// Errors: those of a read, and [`FsError::NoSpace`]; no capture is left then. One that is left when the future is
/// dropped ends with the run.
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
        let capture = pool.new_object_id();
        let mut begun = Begun(Some(pool.volume(capture)));
        let created = pool.commit(vec![CatalogChange::CreateCapture { id: capture, size_bytes: limit_bytes }]).await;
        created.map_err(not_created)?;
        match files.share_into(call, file, Object(capture.0), limit_bytes).await {
            Ok(size_bytes) => {
                begun.0 = None;
                return Ok(Captured { capture, size_bytes });
            }
            Err(FsError::FileTooLarge { .. }) if limit_bytes < files.limits().file_bytes => {
                size_bytes = limit_bytes.saturating_add(1);
            }
            Err(error) => return Err(error),
        }
    }
}

fn not_created(error: PoolError) -> FsError {
    match error {
        PoolError::PoolFull | PoolError::NoRoomForReservation { .. } => FsError::NoSpace(SpaceReason::Pool),
        PoolError::Stopped(reason) => FsError::Stopped { reason },
        error => FsError::Internal { reason: error.to_string() },
    }
}
