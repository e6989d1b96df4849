//! Conditions of clients of NFS.

use crate::condition::{Class, Condition};
use thiserror::Error;

/// Reason why a request for clients of NFS was not executed.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum NfsClientError {
    /// The array has no NFS server.
    #[error("the array serves no files")]
    NotServed,
}

impl Condition for NfsClientError {
    fn code(&self) -> &'static str {
        match self {
            Self::NotServed => "nfs-not-served",
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::NotServed => Class::Conflict,
        }
    }

    fn help(&self) -> Option<String> {
        match self {
            Self::NotServed => Some("configure NFS, and restart the array".to_owned()),
        }
    }
}
