//! Location of a disk: `URL#NAME` for a virtual disk on the datastore of a logical unit, and `URL`
//! alone for the whole logical unit.
//!
//! The name begins after the first `#` behind the portal, so a secret may contain one. Example:
//! `iscsi://192.0.2.7/iqn.2026-01.org.example:t/0#vm1/disk`.

use initiator::url::{Url, UrlError};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// A virtual disk, or a whole logical unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// URL of the logical unit.
    pub url: Url,
    /// Name of the disk on the datastore there; `None` for the whole logical unit.
    pub disk: Option<String>,
}

/// Reason why a text is not a location.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum LocationError {
    /// The text does not begin with the URL of a logical unit.
    #[error(transparent)]
    Url(#[from] UrlError),
    /// No name follows the `#`.
    #[error("no name of a disk after # in {0:?}; expected URL#NAME, or URL for the whole logical unit")]
    NoName(String),
}

impl FromStr for Location {
    type Err = LocationError;

    fn from_str(text: &str) -> Result<Self, LocationError> {
        let scheme = text.find("://").map_or(0, |at| at + 3);
        let path = text.get(scheme..).and_then(|rest| rest.find('/')).map_or(text.len(), |at| scheme + at);
        let name = text.get(path..).and_then(|rest| rest.find('#')).map(|at| path + at);
        let Some(at) = name else { return Ok(Self { url: text.parse()?, disk: None }) };
        let (url, name) = text.split_at(at);
        match name.get(1..).filter(|name| !name.is_empty()) {
            Some(name) => Ok(Self { url: url.parse()?, disk: Some(name.to_owned()) }),
            None => Err(LocationError::NoName(url.to_owned())),
        }
    }
}

impl fmt::Display for Location {
    /// Writes the location without secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.disk {
            Some(disk) => write!(f, "{}#{disk}", self.url),
            None => write!(f, "{}", self.url),
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed step is a failed test")]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_behind_the_portal() {
        let disk: Location = "iscsi://u%se#cret@h/iqn.x:t/3?header_digest=crc32c#vm1/a#b@c".parse().unwrap();
        assert_eq!(disk.disk.as_deref(), Some("vm1/a#b@c"));
        assert_eq!((disk.url.lun, disk.url.header_digest), (3, true));
        assert_eq!(disk.url.chap.as_ref().unwrap().secret, "se#cret");
        assert_eq!(disk.to_string(), "iscsi://h:3260/iqn.x:t/3#vm1/a#b@c");
        let unit: Location = "iscsi://h/iqn.x:t/3".parse().unwrap();
        assert_eq!(unit.disk, None);
        for bad in ["iscsi://h/t/0#", "h#x", "#x", "iscsi://h#x", ""] {
            assert!(bad.parse::<Location>().is_err(), "{bad}");
        }
    }
}
