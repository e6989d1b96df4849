//! Conditions of QoS policies.

use crate::condition::{Class, Condition, Parameters};
use qos::LimitsError;
use thiserror::Error;

/// Reason why a request for a QoS policy was not executed.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum QosError {
    /// A limit is out of its range.
    #[error("{error}")]
    Limits {
        /// Field of the policy.
        field: &'static str,
        /// Violated rule.
        error: LimitsError,
    },
    /// A burst has no limit above which it could be.
    #[error("a burst is above a limit, and the policy has none")]
    BurstWithoutLimit {
        /// Field of the policy.
        field: &'static str,
    },
    /// The policy would limit nothing.
    #[error("a QoS policy needs a limit, or a weight other than 100")]
    Unlimited,
}

impl Condition for QosError {
    fn code(&self) -> &'static str {
        match self {
            Self::Limits { .. } | Self::BurstWithoutLimit { .. } | Self::Unlimited => "invalid-limits",
        }
    }

    fn class(&self) -> Class {
        Class::Invalid
    }

    fn parameters(&self) -> Parameters {
        match self {
            Self::Limits { field, .. } | Self::BurstWithoutLimit { field } => vec![("field", (*field).to_owned())],
            Self::Unlimited => Vec::new(),
        }
    }
}
