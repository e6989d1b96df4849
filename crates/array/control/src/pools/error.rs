//! Conditions of pools.

use crate::condition::{Class, Condition, Space};
use thiserror::Error;

/// Reason why a pool did not execute a request.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum PoolRefusal {
    /// The pool has no space for the change.
    #[error("the pool has no space for this change ({available_bytes} bytes are free)")]
    NoSpace {
        /// Free bytes.
        available_bytes: u64,
    },
    /// A reservation, or a snapshot or clone of a thick volume, needs more space than is free and
    /// unpromised.
    #[error(
        "{needed_bytes} bytes would have to be kept free for the reservation, and {available_bytes} are free and not promised"
    )]
    NoRoomForReservation {
        /// Bytes needed.
        needed_bytes: u64,
        /// Free and unpromised bytes.
        available_bytes: u64,
    },
    /// The total size of the volumes would exceed the pool's limit.
    #[error(
        "the volumes would have {} bytes together, and the limit is {limit_bytes} ({percent} % of the pool)",
        provisioned_bytes.saturating_add(*needed_bytes)
    )]
    OverCommitted {
        /// Total size of the volumes.
        provisioned_bytes: u64,
        /// Bytes that the request adds.
        needed_bytes: u64,
        /// Limit of the total size.
        limit_bytes: u64,
        /// The limit as a share of the pool.
        percent: u32,
    },
    /// The pool cannot grow in the requested way.
    #[error("the pool cannot grow: {reason}")]
    CannotGrow {
        /// Reason.
        reason: String,
    },
    /// The pool has no time or space for the request now.
    #[error("{reason}")]
    Busy {
        /// Reason.
        reason: String,
    },
    /// The pool stopped.
    #[error("the pool stopped after a media error: {reason}")]
    Stopped {
        /// Cause.
        reason: String,
    },
}

impl Condition for PoolRefusal {
    fn code(&self) -> &'static str {
        match self {
            Self::NoSpace { .. } | Self::NoRoomForReservation { .. } => "no-space",
            Self::OverCommitted { .. } => "over-commitment",
            Self::CannotGrow { .. } => "cannot-grow",
            Self::Busy { .. } => "pool-busy",
            Self::Stopped { .. } => "pool-stopped",
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::NoSpace { .. } | Self::NoRoomForReservation { .. } | Self::OverCommitted { .. } => Class::NoSpace,
            Self::CannotGrow { .. } | Self::Busy { .. } => Class::Conflict,
            Self::Stopped { .. } => Class::Failed,
        }
    }

    fn space(&self) -> Space {
        match self {
            Self::NoSpace { available_bytes } => Space { needed: None, available: Some(*available_bytes) },
            Self::NoRoomForReservation { needed_bytes, available_bytes } => {
                Space { needed: Some(*needed_bytes), available: Some(*available_bytes) }
            }
            Self::OverCommitted { provisioned_bytes, needed_bytes, limit_bytes, .. } => {
                let available = limit_bytes.saturating_sub(*provisioned_bytes);
                Space { needed: Some(*needed_bytes), available: Some(available) }
            }
            Self::CannotGrow { .. } | Self::Busy { .. } | Self::Stopped { .. } => Space::default(),
        }
    }

    fn help(&self) -> Option<String> {
        let help = match self {
            Self::NoSpace { .. } => "delete volumes or snapshots, or unmap in the hosts",
            Self::NoRoomForReservation { .. } => {
                "delete volumes or snapshots, grow the pool, or lower an overwrite reserve"
            }
            Self::OverCommitted { .. } => "grow the pool, or raise the limit",
            Self::CannotGrow { .. } => "see the size of the pool",
            Self::Busy { .. } => "try again later",
            Self::Stopped { .. } => "see the log, repair the medium, and restart the array",
        };
        Some(help.to_owned())
    }
}
