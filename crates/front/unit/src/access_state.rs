//! How well a volume is reached through a group of target ports: one state for SCSI (asymmetric logical unit access, SPC-4 §5.15.2) and
//! NVMe (asymmetric namespace access).

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Access state of a group of target ports, the best first: every command that a state lets through works in the states before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AccessState {
    /// Every command works; hosts should use these ports.
    #[default]
    ActiveOptimized,
    /// Every command works; other ports are better.
    ActiveNonOptimized,
    /// Commands that access the medium are refused.
    Standby,
    /// As standby, with fewer commands.
    Unavailable,
    /// Between two states: hosts try again.
    Transitioning,
}

impl AccessState {
    /// The word for it on every surface.
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
    /// None: the state has never changed.
    #[default]
    None,
    /// A host asked for it (SET TARGET PORT GROUPS).
    Explicit,
    /// The array or its administrator.
    Implicit,
}

/// Why states were not changed. Nothing is different from before.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum AccessStateError {
    /// A host would be left without a path.
    #[error("a host would be left without a path")]
    LastPath,
    /// They could not be kept.
    #[error("the states could not be stored")]
    Failed,
}
