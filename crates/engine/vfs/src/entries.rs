//! Directories: creation, removal, renaming, listing.

use crate::{Attributes, Changed, Device, FileId, FsError, Kind, LinkTarget, Name, SetAttributes};

/// New file. Attributes that are not set: mode 0, owner and group of the caller (the group of the
/// directory if that has the set-group-id bit), size 0, the time of the call.
#[derive(Clone, Debug)]
pub struct New {
    /// Kind, with what belongs to it.
    pub what: NewKind,
    /// Initial attributes.
    pub attributes: SetAttributes,
}

/// Kind of a new file.
#[derive(Clone, Debug)]
pub enum NewKind {
    /// Regular file.
    File {
        /// Reaction to a file that exists.
        exclusive: Exclusive,
        /// Takes a hold in the same step ([`crate::FileSystem::hold`]), on an existing file too.
        hold: bool,
    },
    /// Directory.
    Directory,
    /// Symbolic link.
    Symlink(LinkTarget),
    /// Block device.
    BlockDevice(Device),
    /// Character device.
    CharacterDevice(Device),
    /// Named pipe.
    Fifo,
    /// Socket.
    Socket,
}

impl NewKind {
    /// Kind of the file.
    pub const fn kind(&self) -> Kind {
        match self {
            Self::File { .. } => Kind::File,
            Self::Directory => Kind::Directory,
            Self::Symlink(_) => Kind::Symlink,
            Self::BlockDevice(_) => Kind::BlockDevice,
            Self::CharacterDevice(_) => Kind::CharacterDevice,
            Self::Fifo => Kind::Fifo,
            Self::Socket => Kind::Socket,
        }
    }

    /// Numbers of a device file; zeros for other kinds.
    pub const fn device(&self) -> Device {
        match self {
            Self::BlockDevice(device) | Self::CharacterDevice(device) => *device,
            _ => Device { major: 0, minor: 0 },
        }
    }
}

/// Reaction of the creation of a regular file to a name that exists. A name of another kind of file is
/// [`FsError::Exists`] always, and so is any name for other creations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exclusive {
    /// The existing file is the result. If the size to set is 0, it is truncated, which needs write
    /// permission; its other attributes stay.
    No,
    /// [`FsError::Exists`].
    Yes,
    /// [`FsError::Exists`], unless the existing file was created with this verifier: then it is the
    /// result, unchanged. So a repeated creation succeeds, also after a restart. The verifier ends with the first
    /// change of attributes, as the creator has the file by then.
    Verifier(u64),
}

/// Result of a creation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Created {
    /// The file.
    pub file: Attributes,
    /// The directory.
    pub directory: Changed,
    /// False when the file existed.
    pub created: bool,
}

/// Result of a look-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// The file.
    pub file: Attributes,
    /// The directory.
    pub directory: Attributes,
}

/// File to which a name has to lead at the instant of a change. A caller with state about files (open
/// ones, for instance) looks the name up, decides, and passes what it has decided about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Expect {
    /// Any file or none.
    #[default]
    Anything,
    /// No file.
    Nothing,
    /// This file.
    File(FileId),
}

impl Expect {
    /// [`FsError::NameChanged`] if the name does not lead there.
    pub fn check(self, file: Option<FileId>) -> Result<(), FsError> {
        let met = match self {
            Self::Anything => true,
            Self::Nothing => file.is_none(),
            Self::File(expected) => file == Some(expected),
        };
        if met { Ok(()) } else { Err(FsError::NameChanged { file }) }
    }
}

/// Kinds that a removal takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removes {
    /// All.
    Anything,
    /// All but directories: [`FsError::IsDirectory`].
    NoDirectory,
    /// Directories: [`FsError::NotDirectory`].
    Directory,
}

impl Removes {
    /// Refuses a file of another kind.
    pub const fn check(self, kind: Kind) -> Result<(), FsError> {
        match (self, kind) {
            (Self::NoDirectory, Kind::Directory) => Err(FsError::IsDirectory),
            (Self::Directory, kind) => FsError::need_directory(kind),
            _ => Ok(()),
        }
    }
}

/// Result of a removal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Removed {
    /// The directory.
    pub directory: Changed,
    /// The file after it; with 0 links it exists only if it is held.
    pub file: Attributes,
}

/// Name in a directory.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// Directory.
    pub directory: FileId,
    /// Name.
    pub name: &'a Name,
}

/// Result of a rename.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Renamed {
    /// Directory of the old name.
    pub from: Changed,
    /// Directory of the new name; equal to `from` for one directory.
    pub to: Changed,
    /// The file.
    pub file: Attributes,
    /// File that had the new name and lost it.
    pub replaced: Option<Attributes>,
}

/// Result of a new link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Linked {
    /// The directory.
    pub directory: Changed,
    /// The file.
    pub file: Changed,
}

/// Place of an entry in the order of its directory: at least [`Self::FIRST`] and below 2⁶³. It stays with
/// the entry, across restarts, snapshots and roll-backs; entries behind it stay behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cookie(pub u64);

impl Cookie {
    /// Start of a directory, before every entry.
    pub const START: Self = Self(0);
    /// Smallest cookie of an entry. Callers use those between for `.` and `..`, which are no entries.
    pub const FIRST: Self = Self(256);
}

/// Entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its place.
    pub cookie: Cookie,
    /// Its name.
    pub name: Name,
    /// File to which it leads.
    pub file: FileId,
    /// Kind of the file.
    pub kind: Kind,
    /// Attributes, if asked for: an entry whose file cannot be read is listed all the same.
    pub attributes: Option<Result<Attributes, FsError>>,
}

/// Part of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// Entries by ascending cookie.
    pub entries: Vec<Entry>,
    /// True when no entry follows.
    pub end: bool,
    /// The directory.
    pub directory: Attributes,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expectation_names_the_file_found() {
        let (one, two) = (Some(FileId(1)), Some(FileId(2)));
        assert_eq!(Expect::Anything.check(None), Ok(()));
        assert_eq!(Expect::Nothing.check(one), Err(FsError::NameChanged { file: one }));
        assert_eq!(Expect::File(FileId(1)).check(one), Ok(()));
        assert_eq!(Expect::File(FileId(1)).check(two), Err(FsError::NameChanged { file: two }));
        assert_eq!(Expect::File(FileId(1)).check(None), Err(FsError::NameChanged { file: None }));
    }

    #[test]
    fn a_removal_refuses_other_kinds() {
        assert_eq!(Removes::Anything.check(Kind::Directory), Ok(()));
        assert_eq!(Removes::NoDirectory.check(Kind::Directory), Err(FsError::IsDirectory));
        assert_eq!(Removes::NoDirectory.check(Kind::Fifo), Ok(()));
        assert_eq!(Removes::Directory.check(Kind::Fifo), Err(FsError::NotDirectory { kind: Kind::Fifo }));
    }
}
