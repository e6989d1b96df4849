//! Names of extended attributes. Some are of the server: it makes up their values for each regular file,
//! they cannot be changed, and they are not listed.

use vfs::{Attributes, NameError, Space, XattrName};

/// Prefix of the server's own names.
const OWN: &str = "windlass.";

/// Name of an extended attribute.
pub(super) enum Found {
    /// One that the file system keeps.
    Stored(XattrName),
    /// One of the server's own.
    Own(Own),
}

/// The server's own extended attributes: numbers of bytes, in decimal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Own {
    /// Size of the file.
    Capacity,
    /// Bytes that the file uses.
    Used,
    /// Bytes that would be free without the file.
    Unshared,
    /// Bytes that the file is promised.
    Reserved,
}

/// Which attribute a name means. What follows an `@` in a name of the server's own is ignored: clients cache a
/// value until the file changes, and by another name they ask again.
pub(super) fn find(name: nfs::v4::Name) -> Result<Found, NameError> {
    let name = XattrName::new(name.into_bytes())?;
    let text = std::str::from_utf8(name.as_bytes()).unwrap_or_default();
    let own = text.strip_prefix(OWN).map(|rest| rest.split_once('@').map_or(rest, |(own, _)| own));
    Ok(match own {
        Some("capacity") => Found::Own(Own::Capacity),
        Some("used") => Found::Own(Own::Used),
        Some("unshared") => Found::Own(Own::Unshared),
        Some("reserved") => Found::Own(Own::Reserved),
        _ => Found::Stored(name),
    })
}

/// Whether a name is one of the server's own.
pub(super) fn is_own(name: &nfs::v4::Name) -> bool {
    matches!(find(name.clone()), Ok(Found::Own(_)))
}

impl Own {
    /// Value for a file.
    pub fn value(self, file: &Attributes, space: &Space) -> String {
        let bytes = match self {
            Self::Capacity => file.size_bytes,
            Self::Used => file.used_bytes,
            Self::Unshared => space.freed_bytes,
            Self::Reserved => space.promised_bytes,
        };
        bytes.to_string()
    }
}
