//! Conditions of shares.

use crate::condition::{Class, Condition, Parameters};
use thiserror::Error;

/// Reason why a request for a share was not executed.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ShareError {
    /// No protocol serves the share.
    #[error("share {name} needs a protocol: v3, v4 or both")]
    NoProtocol {
        /// The share.
        name: String,
    },
    /// Permission bits out of range.
    #[error("mode {mode:o} is out of range: permission bits are 0 to 7777")]
    InvalidMode {
        /// Requested bits.
        mode: u32,
    },
    /// The pool enforces no ceiling of a share yet.
    #[error("a quota is not supported: the pool has no limit for the space of a share")]
    QuotaUnsupported,
    /// Only copies that share blocks exist.
    #[error("physical copies are not supported: a copy within the array shares the blocks of its source")]
    PhysicalCopyUnsupported,
    /// All epochs have been used.
    #[error("share {name} has no further filehandles: they were replaced {} times", u32::MAX)]
    NoFurtherHandles {
        /// The share.
        name: String,
    },
}

impl Condition for ShareError {
    fn code(&self) -> &'static str {
        match self {
            Self::NoProtocol { .. } => "no-protocol",
            Self::InvalidMode { .. } => "invalid-mode",
            Self::QuotaUnsupported => "quota-unsupported",
            Self::PhysicalCopyUnsupported => "physical-copy-unsupported",
            Self::NoFurtherHandles { .. } => "no-further-handles",
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::NoFurtherHandles { .. } => Class::Conflict,
            Self::NoProtocol { .. }
            | Self::InvalidMode { .. }
            | Self::QuotaUnsupported
            | Self::PhysicalCopyUnsupported => Class::Invalid,
        }
    }

    fn help(&self) -> Option<String> {
        let help = match self {
            Self::QuotaUnsupported => "create the share without a quota, and watch the thresholds of the pool",
            Self::PhysicalCopyUnsupported => "create the share with the copy policy 'share'",
            Self::NoProtocol { .. } | Self::InvalidMode { .. } | Self::NoFurtherHandles { .. } => return None,
        };
        Some(help.to_owned())
    }

    fn parameters(&self) -> Parameters {
        match self {
            Self::NoProtocol { name } | Self::NoFurtherHandles { name } => vec![("share", name.clone())],
            Self::InvalidMode { .. } | Self::QuotaUnsupported | Self::PhysicalCopyUnsupported => Vec::new(),
        }
    }
}
