//! Path of a disk: on a datastore, a whole logical unit, or a file of a share.

use nfs_client::url::Url;
use std::fmt;
use std::str::FromStr;
use virtual_disk::{DiskError, Location};

/// A disk.
#[derive(Clone, Debug)]
pub(super) enum DiskPath {
    /// On a datastore, or a whole logical unit.
    Location(Location),
    /// A file of a share.
    File(Url),
}

impl DiskPath {
    /// The location on a logical unit.
    pub(super) fn location(&self) -> Result<&Location, DiskError> {
        match self {
            Self::Location(location) => Ok(location),
            Self::File(url) => Err(DiskError::Usage(format!("{url} is a file; this is for logical units"))),
        }
    }

    pub(super) fn location_mut(&mut self) -> Option<&mut Location> {
        match self {
            Self::Location(location) => Some(location),
            Self::File(_) => None,
        }
    }

    /// The file of a share.
    pub(super) fn file(&self) -> Option<&Url> {
        match self {
            Self::Location(_) => None,
            Self::File(url) => Some(url),
        }
    }
}

impl FromStr for DiskPath {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if crate::target::Target::is_nfs(text) {
            return text.parse().map(Self::File).map_err(|error: nfs_client::url::UrlError| error.to_string());
        }
        text.parse().map(Self::Location).map_err(|error: virtual_disk::LocationError| error.to_string())
    }
}

impl fmt::Display for DiskPath {
    /// Writes the path without secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Location(location) => write!(f, "{location}"),
            Self::File(url) => write!(f, "{url}"),
        }
    }
}
