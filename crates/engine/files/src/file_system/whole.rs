//! Contents that are shared as a whole, by administration: between files, and between files and objects.

use super::{Files, Kind, PROMISING, same};
use crate::content::Whole;
use crate::engine::{Durability, Engine, Object};
use crate::names::Climb;
use crate::share::Share;
use vfs::{Call, Created, FileId, FsError, Place, SetAttributes};

/// Source of the content of a new file.
#[derive(Debug)]
pub enum WholeSource<'a, E> {
    /// A regular file, maybe of another share of the same engine.
    File {
        /// Its share.
        files: &'a Files<E>,
        /// The file.
        file: FileId,
    },
    /// An object that is no share. The caller sees to it that it keeps its size meanwhile, and that its last block
    /// is zero behind it.
    Object {
        /// The object.
        object: Object,
        /// Its size in bytes.
        size_bytes: u64,
    },
}

impl<E: Engine> Files<E> {
    /// Creates a file that shares all content of the source, as of one instant: one step and one unit of recovery,
    /// whose time hardly depends on the size. Attributes that are not set are those of the source, if that is a
    /// file; `set` has no size.
    ///
    /// Errors besides those of a creation: [`FsError::Exists`] for any existing name, [`FsError::FileTooLarge`],
    /// [`FsError::ForeignSource`].
    pub async fn create_sharing(
        &self,
        call: Call<'_>,
        to: Place<'_>,
        set: &SetAttributes,
        source: WholeSource<'_, E>,
    ) -> Result<Created, FsError> {
        let whole = match source {
            WholeSource::Object { object, size_bytes } => Whole::Object { object, size_bytes },
            WholeSource::File { files, .. } if !self.engine.is(&files.engine) => return Err(FsError::ForeignSource),
            WholeSource::File { files, file } => Whole::File { memory: &files.memory, file },
        };
        let attempt = |share: &mut Share<'_>, known: Option<Climb>| share.create_sharing(call, to, set, whole, known);
        self.run_climbing(PROMISING, attempt, |share, draft| draft.finish(share)).await
    }

    /// Maps the first blocks of an object that is no share as those of a regular file, as of one instant and in one
    /// step. Returns the size of the file in bytes. Holes become holes; the rest of the last block is zero. The
    /// object has room for `limit_bytes`, whole blocks, and no content.
    ///
    /// [`FsError::FileTooLarge`]: the file has more, and nothing was changed.
    pub async fn share_into(
        &self,
        call: Call<'_>,
        file: FileId,
        object: Object,
        limit_bytes: u64,
    ) -> Result<u64, FsError> {
        let unstable = Kind { durability: Durability::Unstable, ..PROMISING };
        self.run(unstable, |share| share.share_into(call, file, object, limit_bytes), same).await
    }
}
