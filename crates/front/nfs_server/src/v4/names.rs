//! Names of directory entries: valid UTF-8.

use nfs::v4::ChangeInfo;
use vfs::{Changed, Encoding, Name, NameError};

/// Name to look for, which refers to the call.
pub(super) fn sought(name: nfs::v4::Name) -> Result<Name, NameError> {
    Name::new(name.into_bytes(), Encoding::Utf8)
}

/// Name to keep, with a buffer of its own.
pub(super) fn kept(name: nfs::v4::Name) -> Result<Name, NameError> {
    sought(name).map(|name| name.detached())
}

/// Change of a directory, whose both sides are from the step of the change.
pub(super) const fn change(directory: &Changed) -> ChangeInfo {
    ChangeInfo { atomic: true, before: directory.before.change.0, after: directory.after.change.0 }
}
