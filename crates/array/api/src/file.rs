//! Files of shares.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// A file of a share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct File {
    /// Name of the share, or `share@snapshot`.
    pub share: String,
    /// Path in the share, without a slash at its start.
    pub path: String,
    /// Kind.
    pub kind: FileKind,
    /// Size; 0 for a directory or a special file.
    pub size_bytes: u64,
    /// Bytes of the pool that the file uses: stored ones, shared or not, and those that are kept free for it.
    pub used_bytes: u64,
    /// Space; absent in a list that was not asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub space: Option<FileSpace>,
    /// Snapshots of the share, which may keep content of the file; absent in a list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshots: Option<u64>,
    /// Owner.
    pub owner_uid: u32,
    /// Group.
    pub owner_gid: u32,
    /// Permission bits in octal digits.
    pub mode: String,
    /// Number of names.
    pub links: u32,
    /// Last change of the content.
    #[schema(value_type = String, format = DateTime)]
    pub modified: Timestamp,
    /// True if the file cannot be read: only its path and kind are known.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub damaged: bool,
}

/// Kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
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

/// Space of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FileSpace {
    /// Bytes that are stored for the file, shared or not.
    pub mapped_bytes: u64,
    /// Bytes of the pool kept free for the file.
    pub promised_bytes: u64,
    /// Bytes that deleting the file now would free.
    pub unshared_bytes: u64,
}

/// Directory to list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct FileList {
    /// Path of the directory in the share. Default: the root. Another file is listed alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Count the space of each file, which takes time in proportion to what the files store.
    #[serde(default)]
    pub space: bool,
    /// Maximum number of files, 1 to 1 000. Default: 1 000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Start of the part, as in `next`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// Request to create a file that shares the content of its source, as of one instant. Exactly one source is
/// required; it may be in use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FileCreate {
    /// Path of the new file in the share. Its directory exists.
    pub path: String,
    /// File to clone: `share/path` or `share@snapshot/path`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_file: Option<String>,
    /// Volume (`name` or id) or snapshot of a volume (`volume@name`) to clone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_volume: Option<String>,
    /// Owner. Default: that of the source file, or of the directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner_uid: Option<u32>,
    /// Group, required with an owner and only then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner_gid: Option<u32>,
    /// Permission bits in octal digits. Default: those of the source file, or `0600`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
}

/// Request to change the space of a file. Exactly one of the two is required.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FileSet {
    /// Keep space free for a range, so that writes to it never fail for lack of space. A file that is shorter grows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserve: Option<FileRange>,
    /// Make a range zero, and free its space. The size stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub punch: Option<FileRange>,
}

/// Range of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FileRange {
    /// First byte. Default: 0.
    #[serde(default)]
    pub offset_bytes: u64,
    /// Number of bytes. Default: up to the end of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length_bytes: Option<u64>,
}
