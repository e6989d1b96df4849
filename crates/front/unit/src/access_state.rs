//! Access state of a volume through a group of target ports: one state for SCSI (asymmetric logical
//! unit access, SPC-4 §5.15.2) and NVMe (asymmetric namespace access).

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Access state of a group of target ports, best first: a command that works in one state works in
/// every state before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AccessState {
    /// Every command works; hosts should use these ports.
    #[default]
    ActiveOptimized,
    /// Every command works; hosts should prefer other ports.
    ActiveNonOptimized,
    /// Commands that access the medium are refused.
    Standby,
    /// Like standby, with fewer commands.
    Unavailable,
    /// Between two states: hosts retry.
    Transitioning,
}

impl AccessState {
    /// Name in API, CLI and logs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ActiveOptimized => "active-optimized",
            Self::ActiveNonOptimized => "active-non-optimized",
            Self::Standby => "standby",
            Self::Unavailable => "unavailable",
            Self::Transitioning => "transitioning",
        }
    }

    /// Whether every command works.
    pub const fn is_active(self) -> bool {
        matches!(self, Self::ActiveOptimized | Self::ActiveNonOptimized)
    }
}

/// Cause of a group's present state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StateOrigin {
    /// The state has never changed.
    #[default]
    None,
    /// A host requested the state (SET TARGET PORT GROUPS).
    Explicit,
    /// The array or its administrator set the state.
    Implicit,
}

/// Reason why access states were not changed. All states are as before.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum AccessStateError {
    /// A host would be left without a path.
    #[error("a host would be left without a path")]
    LastPath,
    /// The states could not be stored.
    #[error("the states could not be stored")]
    Failed,
}
