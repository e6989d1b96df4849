//! Conditions of grants.

use crate::access::grantee::Grantee;
use crate::condition::{Class, Condition, Parameters};
use thiserror::Error;

/// Reason why a request for access was not executed.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum AccessError {
    /// Another grant has the logical unit number.
    #[error("LUN {lun} is taken by volume {volume} for {grantee}")]
    LunTaken {
        /// Requested number.
        lun: u16,
        /// Volume with that number.
        volume: String,
        /// Grantee that holds the number or volume.
        grantee: Grantee,
    },
    /// An existing grant of the volume excludes this one.
    #[error("volume {volume} is granted to {grantee} already, as LUN {lun}")]
    AlreadyGranted {
        /// The volume.
        volume: String,
        /// Grantee that holds the number or volume.
        grantee: Grantee,
        /// Logical unit number of that grant.
        lun: u16,
    },
    /// All logical unit numbers are in use.
    #[error("{grantee} has no free LUN: all numbers from 0 to 16383 are in use")]
    NoFreeLun {
        /// Grantee whose numbers are all in use.
        grantee: Grantee,
    },
    /// Invalid logical unit number.
    #[error("LUN {lun} is out of range: logical unit numbers are 0 to 16383")]
    InvalidLun {
        /// Requested number.
        lun: u16,
    },
}

impl Condition for AccessError {
    fn code(&self) -> &'static str {
        match self {
            Self::LunTaken { .. } => "lun-taken",
            Self::AlreadyGranted { .. } => "already-granted",
            Self::NoFreeLun { .. } => "no-free-lun",
            Self::InvalidLun { .. } => "invalid-lun",
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::LunTaken { .. } | Self::AlreadyGranted { .. } | Self::NoFreeLun { .. } => Class::Conflict,
            Self::InvalidLun { .. } => Class::Invalid,
        }
    }

    fn help(&self) -> Option<String> {
        match self {
            Self::LunTaken { .. } => Some("request no LUN to get the lowest free one".to_owned()),
            Self::AlreadyGranted { .. } => Some("revoke that grant first".to_owned()),
            Self::NoFreeLun { .. } | Self::InvalidLun { .. } => None,
        }
    }

    fn parameters(&self) -> Parameters {
        match self {
            Self::LunTaken { lun, volume, grantee } | Self::AlreadyGranted { volume, grantee, lun } => {
                let mut parameters = vec![("volume", volume.clone()), ("lun", lun.to_string())];
                parameters.extend(grantee.parameter());
                parameters
            }
            Self::NoFreeLun { grantee } => grantee.parameter().into_iter().collect(),
            Self::InvalidLun { lun } => vec![("lun", lun.to_string())],
        }
    }
}
