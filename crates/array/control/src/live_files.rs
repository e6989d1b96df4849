//! Interface between `control` and the file systems of the running array.
//!
//! A path is a list of names from the root of a share, separated by slashes. No symbolic link is followed: one on the
//! way is an error, at the end of a path it is itself the file. Callers are the array's administration: mode bits do
//! not restrict them.

use crate::files::error::FileError;
use futures_util::future::LocalBoxFuture;
use jiff::Timestamp;
use pool::{ObjectId, PoolError};
use std::fmt;

/// Place of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePlace {
    /// Object of the share.
    pub share: ObjectId,
    /// Object of a snapshot of the share, whose files are meant; they do not change.
    pub snapshot: Option<ObjectId>,
    /// Path in the share; empty for its root.
    pub path: String,
    /// `SHARE/PATH`, for messages.
    pub shown: String,
}

/// Source of the content of a new file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileSource {
    /// A regular file.
    File(FilePlace),
    /// A volume, or a snapshot of one. It does not change its size before the call returns.
    Volume {
        /// Its object.
        object: ObjectId,
        /// Its size in bytes.
        size_bytes: u64,
    },
}

/// Attributes to set for a new file. The others are those of a source that is a file; of a volume they are the owner
/// and group of the directory, and mode 0600.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileAttributes {
    /// Permission bits, at most 07777.
    pub mode: Option<u16>,
    /// Owner and group.
    pub owner: Option<(u32, u32)>,
}

/// Kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// Regular file.
    File,
    /// Directory.
    Directory,
    /// Symbolic link.
    Symlink,
    /// Device, named pipe or socket.
    Special,
}

impl FileKind {
    /// Word of the kind.
    pub const fn name(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Directory => "directory",
            Self::Symlink => "symbolic link",
            Self::Special => "special file",
        }
    }
}

/// Attributes of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileInfo {
    /// Path in the share.
    pub path: String,
    /// Kind.
    pub kind: FileKind,
    /// Size in bytes.
    pub size_bytes: u64,
    /// Bytes of the pool that the file uses: mapped ones, shared or not, and those that are promised to it.
    pub used_bytes: u64,
    /// Permission bits.
    pub mode: u16,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Number of names.
    pub links: u32,
    /// Last change of content.
    pub modified: Timestamp,
    /// Space, if it was asked for.
    pub space: Option<FileSpace>,
    /// True in a list if the file cannot be read: path and kind alone are known.
    pub damaged: bool,
}

/// Space of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileSpace {
    /// Bytes that the file has mapped.
    pub mapped_bytes: u64,
    /// Bytes of the pool that are kept free for the file.
    pub promised_bytes: u64,
    /// Bytes that would become free if the file was deleted now.
    pub unshared_bytes: u64,
}

/// Part of a directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileListing {
    /// Its files.
    pub files: Vec<FileInfo>,
    /// Start of the next part; absent at the end.
    pub next: Option<u64>,
}

/// Part of a directory to list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FilePart {
    /// Start; 0 for the first part.
    pub after: u64,
    /// Largest number of files, at least 1.
    pub most: usize,
    /// Whether the space of each file is counted, which takes time in proportion to what it maps.
    pub space: bool,
}

/// Range of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileRange {
    /// First byte.
    pub offset_bytes: u64,
    /// Number of bytes; absent: up to the end of the file.
    pub length_bytes: Option<u64>,
}

impl FileRange {
    /// Length of the range in a file of this size. Errors: the range is empty. `shown`: the file, for messages.
    pub fn length_in(self, size_bytes: u64, shown: &str) -> Result<u64, FileError> {
        let Self { offset_bytes, length_bytes } = self;
        match length_bytes {
            Some(0) => Err(self.impossible(shown)),
            Some(length_bytes) => Ok(length_bytes),
            None => {
                let length_bytes = size_bytes.checked_sub(offset_bytes).filter(|length| *length > 0);
                length_bytes.ok_or_else(|| FileError::BeyondEnd { path: shown.to_owned(), offset_bytes, size_bytes })
            }
        }
    }

    /// Error of a range that no file can have. `shown`: the file, for messages.
    pub fn impossible(self, shown: &str) -> FileError {
        let Self { offset_bytes, length_bytes } = self;
        let path = shown.to_owned();
        FileError::InvalidRange { path, offset_bytes, length_bytes: length_bytes.unwrap_or_default() }
    }
}

/// Content of a file as of one instant. Its capture is deleted on drop, unless [`Self::used`] was called.
pub struct CapturedFile {
    /// Capture with the content from its start on, and room for more.
    pub capture: ObjectId,
    /// Size of the file in bytes.
    pub size_bytes: u64,
    /// Deletes the capture a little later.
    discard: Option<Box<dyn FnOnce()>>,
}

impl CapturedFile {
    /// `discard` deletes the capture a little later.
    pub fn new(capture: ObjectId, size_bytes: u64, discard: impl FnOnce() + 'static) -> Self {
        Self { capture, size_bytes, discard: Some(Box::new(discard)) }
    }

    /// The capture is part of a volume, or deleted.
    pub fn used(mut self) {
        self.discard = None;
    }
}

impl fmt::Debug for CapturedFile {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_tuple("CapturedFile").field(&self.capture).field(&self.size_bytes).finish()
    }
}

impl Drop for CapturedFile {
    fn drop(&mut self) {
        if let Some(discard) = self.discard.take() {
            discard();
        }
    }
}

/// Reason why a call for a file was not executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileRefusal {
    /// Condition of the file.
    File(FileError),
    /// The share was deleted.
    Gone,
    /// The quota of the share is used up.
    Quota,
    /// Error of the pool.
    Pool(PoolError),
}

impl From<FileError> for FileRefusal {
    fn from(error: FileError) -> Self {
        Self::File(error)
    }
}

/// Result of a call, when it is ready.
pub type FileCall<T> = LocalBoxFuture<'static, Result<T, FileRefusal>>;

/// File systems of the running array. Changes are durable on return, and all or nothing.
pub trait LiveFiles: std::fmt::Debug {
    /// Lists a directory; another kind of file is listed alone.
    fn list(&self, at: FilePlace, part: FilePart) -> FileCall<FileListing>;
    /// Attributes and space of a file.
    fn show(&self, at: FilePlace) -> FileCall<FileInfo>;
    /// Creates a file that shares the content of its source as of one instant, in one step.
    fn create(&self, at: FilePlace, source: FileSource, attributes: FileAttributes) -> FileCall<FileInfo>;
    /// Captures the content of a regular file.
    fn capture(&self, at: FilePlace) -> FileCall<CapturedFile>;
    /// Promises space for a range of a regular file, which grows if it is shorter.
    fn reserve(&self, at: FilePlace, range: FileRange) -> FileCall<FileInfo>;
    /// Makes a range of a regular file zero, frees its whole blocks and ends their promises.
    fn punch(&self, at: FilePlace, range: FileRange) -> FileCall<FileInfo>;
}
