//! Place of the files of a run.

use super::NasError;
use super::files::Files;
use super::mounted::Mounted;
use super::share::ShareFiles;
use crate::results::Subject;
use nfs_client::url::Url;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// Place of the files of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Directory of a mounted file system.
    Directory(PathBuf),
    /// Share, or a directory in it, over NFSv4.2.
    Share {
        /// URL.
        url: Url,
        /// Time limit for each answer.
        timeout: Duration,
    },
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory(directory) => write!(f, "{}", directory.display()),
            Self::Share { url, .. } => write!(f, "{url}"),
        }
    }
}

impl Place {
    /// Describes the place for a run.
    pub fn subject(&self) -> Result<Subject, NasError> {
        match self {
            Self::Directory(directory) => Ok(super::file_system::subject(directory)),
            Self::Share { url, timeout } => super::share::subject(url, *timeout),
        }
    }

    /// A new directory for a case.
    pub(super) fn open(&self) -> Result<Box<dyn Files>, NasError> {
        match self {
            Self::Directory(directory) => Ok(Box::new(Mounted::create(directory)?)),
            Self::Share { url, timeout } => Ok(Box::new(ShareFiles::create(url, *timeout)?)),
        }
    }
}
