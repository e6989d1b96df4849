//! Paths that clients mount: `/NAME`, or a directory below a share.

use bytes::Bytes;
use nfs::mount::{Path, Status};
use vfs::{Encoding, Name, NameError};

/// Components of a path: the name of a share, and of directories below it. Empty components and `.` are
/// left out.
///
/// * `ACCES`: a component `..`, and the root, which is no share.
/// * `NAMETOOLONG`, `INVAL`: a component that is no name.
pub(super) fn components(path: &Path) -> Result<Vec<Name>, Status> {
    let mut names = Vec::new();
    for component in path.as_bytes().split(|byte| *byte == b'/') {
        match Name::new(path.as_bytes().slice_ref(component), Encoding::Any) {
            Ok(name) => names.push(name),
            Err(NameError::Empty) => {}
            Err(NameError::Dots) if component == b"." => {}
            Err(NameError::Dots) => return Err(Status::ACCES),
            Err(NameError::TooLong { .. }) => return Err(Status::NAMETOOLONG),
            Err(NameError::NotUtf8 | NameError::BadCharacter) => return Err(Status::INVAL),
        }
    }
    if names.is_empty() { Err(Status::ACCES) } else { Ok(names) }
}

/// Path in its one form, in a buffer of its own: a slash before each component.
pub(super) fn normal(components: &[Name]) -> Bytes {
    let mut path = Vec::new();
    for component in components {
        path.push(b'/');
        path.extend_from_slice(component.as_bytes());
    }
    path.into()
}
