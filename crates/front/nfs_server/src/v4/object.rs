//! What the current and the saved handle name.

use crate::access::{Permit, Refusal};
use crate::connection::CallFacts;
use crate::handle::{HandleKey, Target};
use crate::pseudo;
use crate::shares::Share;
use nfs::v4::{Filehandle, Status};
use nfs_state::FileKey;
use std::rc::Rc;
use vfs::{Call, FileId, FileSystem, FsError, Timestamp};

/// Share, as one caller may use it.
pub(super) struct Export<F> {
    /// Share.
    pub share: Rc<Share<F>>,
    /// Permission of the caller.
    pub permit: Permit,
}

impl<F: FileSystem> Export<F> {
    /// Call of the caller, by mode bits. Only GETATTR and READDIR return attributes, so this call counts no blocks.
    pub const fn call(&self, now: Timestamp) -> Call<'_> {
        Call::new(&self.permit.caller, now).without_used()
    }

    /// Whether every change is refused.
    pub fn read_only(&self) -> bool {
        self.permit.read_only || self.share.file_system.read_only()
    }

    /// The files.
    pub fn files(&self) -> &F {
        &self.share.file_system
    }
}

/// File of a share.
pub(super) struct File<F> {
    /// Its share.
    pub export: Rc<Export<F>>,
    /// The file.
    pub id: FileId,
}

impl<F> Clone for File<F> {
    fn clone(&self) -> Self {
        Self { export: Rc::clone(&self.export), id: self.id }
    }
}

impl<F: FileSystem> File<F> {
    /// Another file of the share.
    pub fn sibling(&self, id: FileId) -> Self {
        Self { export: Rc::clone(&self.export), id }
    }

    /// Identity for the state of clients.
    pub fn key(&self) -> FileKey {
        FileKey { share: self.export.share.object, file: self.id.0 }
    }

    /// Whether both are in one file system.
    pub fn shares_with(&self, other: &Self) -> bool {
        self.export.share.object == other.export.share.object
    }

    /// Whether it is the root of its share.
    pub fn is_root(&self) -> bool {
        self.id == self.export.files().root()
    }

    /// Handle.
    pub fn handle(&self, key: &HandleKey) -> Filehandle {
        let Share { object, epoch, .. } = *self.export.share;
        key.seal(Target::File { object, epoch, file: self.id })[..].into()
    }
}

/// What a handle names.
pub(super) enum Object<F> {
    /// The pseudo root.
    PseudoRoot,
    /// File of a share.
    File(File<F>),
}

impl<F> Clone for Object<F> {
    fn clone(&self) -> Self {
        match self {
            Self::PseudoRoot => Self::PseudoRoot,
            Self::File(file) => Self::File(file.clone()),
        }
    }
}

impl<F: FileSystem> Object<F> {
    /// Handle.
    pub fn handle(&self, key: &HandleKey) -> Filehandle {
        match self {
            Self::PseudoRoot => key.seal(Target::PseudoRoot)[..].into(),
            Self::File(file) => file.handle(key),
        }
    }

    /// The file; the pseudo root is a directory that holds no content.
    pub fn file(&self) -> Result<&File<F>, FsError> {
        match self {
            Self::PseudoRoot => Err(FsError::IsDirectory),
            Self::File(file) => Ok(file),
        }
    }

    /// Whether every change is refused.
    pub fn read_only(&self) -> bool {
        match self {
            Self::PseudoRoot => true,
            Self::File(file) => file.export.read_only(),
        }
    }

    /// Number of the directory entry that a file is mounted on.
    pub fn mounted_on(&self) -> FileId {
        match self {
            Self::PseudoRoot => pseudo::ROOT,
            Self::File(file) if file.is_root() => pseudo::entry(file.export.share.object),
            Self::File(file) => file.id,
        }
    }
}

/// The share, if the caller may use it. A caller that had the share and lost it gets `ACCESS`, RFC 8881
/// §15.1.6.1: the file is still there.
pub(super) fn export<F>(share: &Rc<Share<F>>, caller: &CallFacts<'_>) -> Result<Rc<Export<F>>, Status> {
    let permit = share.rules.permit(caller.connection.client, caller.credential);
    match permit {
        Ok(permit) if share.protocols.v4 => Ok(Rc::new(Export { share: Rc::clone(share), permit })),
        Ok(_) | Err(Refusal::NoRule | Refusal::UnprivilegedPort) => Err(Status::ACCESS),
    }
}
