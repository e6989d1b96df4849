//! Attributes of a file, and the values that tell one state of it from another.

use std::fmt;

/// Identity of a file within its file system: regular file, directory, or any other [`Kind`]. Never
/// reused, whatever happens to the file system: it needs no generation beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u64);

/// Identity of a file system inside the array. Never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileSystemId(pub u64);

/// Kind of a file. It never changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Regular file.
    File,
    /// Directory.
    Directory,
    /// Symbolic link.
    Symlink,
    /// Block device.
    BlockDevice,
    /// Character device.
    CharacterDevice,
    /// Named pipe.
    Fifo,
    /// Socket.
    Socket,
}

impl fmt::Display for Kind {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(match self {
            Self::File => "a regular file",
            Self::Directory => "a directory",
            Self::Symlink => "a symbolic link",
            Self::BlockDevice => "a block device",
            Self::CharacterDevice => "a character device",
            Self::Fifo => "a named pipe",
            Self::Socket => "a socket",
        })
    }
}

/// Numbers of a device file; both 0 for other kinds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Device {
    /// Major number.
    pub major: u32,
    /// Minor number.
    pub minor: u32,
}

/// Point in time: seconds since 1970 and nanoseconds below 10⁹.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp {
    seconds: i64,
    nanoseconds: u32,
}

impl Timestamp {
    /// Creates a timestamp; `None` for 10⁹ nanoseconds or more.
    pub const fn new(seconds: i64, nanoseconds: u32) -> Option<Self> {
        if nanoseconds < 1_000_000_000 { Some(Self { seconds, nanoseconds }) } else { None }
    }

    /// Seconds since 1970; negative before.
    pub const fn seconds(self) -> i64 {
        self.seconds
    }

    /// Nanoseconds after that second.
    pub const fn nanoseconds(self) -> u32 {
        self.nanoseconds
    }

    /// One nanosecond later; the same at the end of time.
    #[must_use]
    pub const fn next(self) -> Self {
        if self.nanoseconds < 999_999_999 {
            return Self { nanoseconds: self.nanoseconds + 1, ..self };
        }
        match self.seconds.checked_add(1) {
            Some(seconds) => Self { seconds, nanoseconds: 0 },
            None => self,
        }
    }
}

/// Value that grows with every change of a file: of its content, attributes, entries or number of links,
/// but not of its access time. No two different states of one file ever have the same value, not
/// even if a crash or a roll-back removed one of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChangeValue(pub u64);

/// Attributes of a file, all of one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attributes {
    /// Identity.
    pub file: FileId,
    /// Kind.
    pub kind: Kind,
    /// Mode bits: permissions, set-user-id, set-group-id, sticky. At most 07777.
    pub mode: u16,
    /// Number of names. Of a directory: 2 and the number of its sub-directories. 0 for a file that
    /// exists only because it is held.
    pub links: u32,
    /// Owner.
    pub user: u32,
    /// Group.
    pub group: u32,
    /// Regular file: size in bytes. Symbolic link: bytes of its target. Others: of no meaning.
    pub size_bytes: u64,
    /// Bytes of the pool that the file uses: mapped ones, shared or not, and those that its
    /// allocations still promise. 0 if the call did not want them ([`crate::Call::counts_used`]).
    pub used_bytes: u64,
    /// Numbers of a device file.
    pub device: Device,
    /// Change value.
    pub change: ChangeValue,
    /// Last access, at least as of the last write or 24 hours ago.
    pub accessed: Timestamp,
    /// Last change of content, or the time that a caller has set.
    pub modified: Timestamp,
    /// Last change of anything but the access time. Larger after each change, like the change value.
    pub changed: Timestamp,
    /// Creation.
    pub born: Timestamp,
}

/// State of a file just before a change, for callers that have cached it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Before {
    /// Size.
    pub size_bytes: u64,
    /// Last change of content.
    pub modified: Timestamp,
    /// Last change of anything.
    pub changed: Timestamp,
    /// Change value.
    pub change: ChangeValue,
}

impl From<&Attributes> for Before {
    fn from(attributes: &Attributes) -> Self {
        let Attributes { size_bytes, modified, changed, change, .. } = *attributes;
        Self { size_bytes, modified, changed, change }
    }
}

/// A file before and after a change, both from the step that changed it: nothing came between. Equal
/// change values: the call had nothing to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Changed {
    /// Before.
    pub before: Before,
    /// After.
    pub after: Attributes,
}

/// Time to set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetTime {
    /// Time of the call.
    Now,
    /// This time.
    To(Timestamp),
}

/// Attributes to set; the others stay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SetAttributes {
    /// Mode bits; those above 07777 are ignored.
    pub mode: Option<u16>,
    /// Owner.
    pub user: Option<u32>,
    /// Group.
    pub group: Option<u32>,
    /// Size of a regular file: bytes behind it are removed, new ones are zero and not mapped.
    pub size_bytes: Option<u64>,
    /// Access time.
    pub accessed: Option<SetTime>,
    /// Modification time.
    pub modified: Option<SetTime>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_has_a_thousand_million_nanoseconds() {
        assert_eq!(Timestamp::new(1, 1_000_000_000), None);
        let last = Timestamp::new(-1, 999_999_999);
        assert_eq!(last.map(Timestamp::next), Timestamp::new(0, 0));
        assert_eq!(Timestamp::new(7, 7).map(Timestamp::next), Timestamp::new(7, 8));
        let end = Timestamp::new(i64::MAX, 999_999_999);
        assert_eq!(end.map(Timestamp::next), end);
    }
}
