//! Conditions of files.

use crate::condition::{Class, Condition, Parameters};
use text::size::exact;
use thiserror::Error;

/// Reason why a request for a file was not executed. Paths are `SHARE/PATH`.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum FileError {
    /// The text names no file of a share.
    #[error("{path:?} cannot be the path of a file: {reason}")]
    InvalidPath {
        /// The text.
        path: String,
        /// Violated rule.
        reason: String,
    },
    /// There is no such file.
    #[error("there is no file {path}")]
    NotFound {
        /// First part of the path that does not exist.
        path: String,
    },
    /// A symbolic link is on the way.
    #[error("{path} is a symbolic link: paths of files follow none")]
    SymbolicLink {
        /// The link.
        path: String,
    },
    /// The path goes on behind a file that is no directory.
    #[error("{path} is not a directory but {kind}")]
    NotDirectory {
        /// The file.
        path: String,
        /// Its kind.
        kind: String,
    },
    /// The request is for regular files.
    #[error("{path} is {kind}: only a regular file has content to clone, reserve or punch")]
    NotRegular {
        /// The file.
        path: String,
        /// Its kind.
        kind: String,
    },
    /// The name is taken.
    #[error("file {path} exists already")]
    Exists {
        /// The file.
        path: String,
    },
    /// The file has no content.
    #[error("file {path} is empty: a volume has at least 512 bytes")]
    Empty {
        /// The file.
        path: String,
    },
    /// A snapshot does not change.
    #[error("{path} is in a snapshot, whose files do not change")]
    ReadOnly {
        /// The path.
        path: String,
    },
    /// The file would be larger than any file can be.
    #[error("file {path} would be too large: a file has at most {}", exact(*limit_bytes))]
    TooLarge {
        /// The file.
        path: String,
        /// Size of the largest file.
        limit_bytes: u64,
    },
    /// The range is empty, or ends behind the largest file.
    #[error("the range of {length_bytes} bytes from byte {offset_bytes} is not possible for file {path}")]
    InvalidRange {
        /// The file.
        path: String,
        /// Start in bytes.
        offset_bytes: u64,
        /// Length in bytes.
        length_bytes: u64,
    },
    /// The file ends before the start of a range without length.
    #[error("file {path} ends at byte {size_bytes}: there is no range from byte {offset_bytes} to its end")]
    BeyondEnd {
        /// The file.
        path: String,
        /// Start in bytes.
        offset_bytes: u64,
        /// Size of the file in bytes.
        size_bytes: u64,
    },
    /// Permission bits out of range.
    #[error("mode {mode:o} is out of range: permission bits are 0 to 7777")]
    InvalidMode {
        /// Requested bits.
        mode: u32,
    },
    /// Stored content or metadata fails its checksum or cannot be read.
    #[error("{path} cannot be read: stored data is damaged")]
    Damaged {
        /// The file.
        path: String,
    },
    /// The file system has reached a limit.
    #[error("{path}: {reason}")]
    Limit {
        /// The file.
        path: String,
        /// The limit, a sentence.
        reason: String,
    },
}

impl FileError {
    fn path(&self) -> Option<&String> {
        match self {
            Self::InvalidPath { path, .. }
            | Self::NotFound { path }
            | Self::SymbolicLink { path }
            | Self::NotDirectory { path, .. }
            | Self::NotRegular { path, .. }
            | Self::Exists { path }
            | Self::Empty { path }
            | Self::ReadOnly { path }
            | Self::TooLarge { path, .. }
            | Self::InvalidRange { path, .. }
            | Self::BeyondEnd { path, .. }
            | Self::Damaged { path }
            | Self::Limit { path, .. } => Some(path),
            Self::InvalidMode { .. } => None,
        }
    }
}

impl Condition for FileError {
    fn code(&self) -> &'static str {
        match self {
            Self::InvalidPath { .. } => "invalid-path",
            Self::NotFound { .. } => "not-found",
            Self::SymbolicLink { .. } => "symbolic-link",
            Self::NotDirectory { .. } => "not-directory",
            Self::NotRegular { .. } => "not-regular",
            Self::Exists { .. } => "exists",
            Self::Empty { .. } => "empty-file",
            Self::ReadOnly { .. } => "read-only",
            Self::TooLarge { .. } => "file-too-large",
            Self::InvalidRange { .. } => "invalid-range",
            Self::BeyondEnd { .. } => "range-required",
            Self::InvalidMode { .. } => "invalid-mode",
            Self::Damaged { .. } => "damaged",
            Self::Limit { .. } => "file-limit",
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::NotFound { .. } => Class::NotFound,
            Self::SymbolicLink { .. }
            | Self::NotDirectory { .. }
            | Self::NotRegular { .. }
            | Self::Exists { .. }
            | Self::Empty { .. }
            | Self::ReadOnly { .. }
            | Self::Limit { .. } => Class::Conflict,
            Self::InvalidPath { .. }
            | Self::TooLarge { .. }
            | Self::InvalidRange { .. }
            | Self::BeyondEnd { .. }
            | Self::InvalidMode { .. } => Class::Invalid,
            Self::Damaged { .. } => Class::Failed,
        }
    }

    fn help(&self) -> Option<String> {
        let help = match self {
            Self::InvalidPath { .. } => "write SHARE/PATH, such as vms/dir/a.img",
            Self::NotFound { .. } => "list the files of the directory",
            Self::SymbolicLink { .. } => "name the file itself",
            Self::Exists { .. } => "choose another name, or remove the file first",
            Self::ReadOnly { .. } => "name the file in the share, without @SNAPSHOT",
            Self::BeyondEnd { .. } => "give a range with its length, such as 0+100G",
            Self::Damaged { .. } => "check the pool",
            Self::NotDirectory { .. }
            | Self::NotRegular { .. }
            | Self::Empty { .. }
            | Self::TooLarge { .. }
            | Self::InvalidRange { .. }
            | Self::InvalidMode { .. }
            | Self::Limit { .. } => return None,
        };
        Some(help.to_owned())
    }

    fn parameters(&self) -> Parameters {
        self.path().map(|path| ("file", path.clone())).into_iter().collect()
    }
}
