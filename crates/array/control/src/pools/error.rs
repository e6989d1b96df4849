//! Conditions of pools.

use crate::condition::{BELOW_FULL, BELOW_FULL_HELP, Class, Condition, Parameters, Space};
use pool::Growth;
use text::size::{exact, format as size};
use thiserror::Error;

/// Reason why a pool did not execute a request.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum PoolRefusal {
    /// The pool has no space for the change.
    #[error("the pool has no space for this change ({} free)", size(*available_bytes))]
    NoSpace {
        /// Free bytes.
        available_bytes: u64,
    },
    /// The file system or device below the pool has no space for the change.
    #[error("{}", BELOW_FULL)]
    BelowFull,
    /// A reservation, or a snapshot or clone of a thick volume, needs more space than is free and
    /// unpromised.
    #[error(
        "{} would have to be kept free for the reservation, and {} are free and not promised",
        size(*needed_bytes),
        size(*available_bytes)
    )]
    NoRoomForReservation {
        /// Bytes needed.
        needed_bytes: u64,
        /// Free and unpromised bytes.
        available_bytes: u64,
    },
    /// The total size of the volumes would exceed the pool's limit.
    #[error(
        "the volumes would have {} together, and the limit is {} ({percent} % of the pool)",
        exact(provisioned_bytes.saturating_add(*needed_bytes)),
        exact(*limit_bytes)
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
        /// Lowest share that permits the request, if it is a possible limit.
        sufficient_percent: Option<u32>,
        /// Name of the pool.
        pool: String,
    },
    /// The pool cannot grow in the requested way.
    #[error("the pool cannot grow: {reason}")]
    CannotGrow {
        /// Reason.
        reason: String,
    },
    /// The pool is growing already.
    #[error("pool {pool} is growing already, {}", growth_in_words(growth))]
    Growing {
        /// Name of the pool.
        pool: String,
        /// Growth in progress.
        growth: Growth,
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
            Self::BelowFull => "below-full",
            Self::OverCommitted { .. } => "over-commitment",
            Self::CannotGrow { .. } => "cannot-grow",
            Self::Growing { .. } => "growing",
            Self::Busy { .. } => "pool-busy",
            Self::Stopped { .. } => "pool-stopped",
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::NoSpace { .. } | Self::BelowFull | Self::NoRoomForReservation { .. } | Self::OverCommitted { .. } => {
                Class::NoSpace
            }
            Self::CannotGrow { .. } | Self::Growing { .. } | Self::Busy { .. } => Class::Conflict,
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
            Self::BelowFull
            | Self::CannotGrow { .. }
            | Self::Growing { .. }
            | Self::Busy { .. }
            | Self::Stopped { .. } => Space::default(),
        }
    }

    fn help(&self) -> Option<String> {
        let help = match self {
            Self::NoSpace { .. } => "delete volumes or snapshots, or unmap in the hosts",
            Self::NoRoomForReservation { .. } => {
                "delete volumes or snapshots, grow the pool, or lower an overwrite reserve"
            }
            Self::BelowFull => BELOW_FULL_HELP,
            Self::OverCommitted { sufficient_percent: None, .. } => "grow the pool",
            Self::OverCommitted { .. } => "grow the pool, or raise the limit",
            Self::CannotGrow { .. } => "see the size of the pool",
            Self::Growing { .. } => "see whether it still grows, and try again when it has grown",
            Self::Busy { .. } => "try again later",
            Self::Stopped { .. } => "see the log, repair the medium, and restart the array",
        };
        Some(help.to_owned())
    }

    fn parameters(&self) -> Parameters {
        match self {
            Self::OverCommitted { sufficient_percent: Some(percent), pool, .. } => {
                vec![("pool", pool.clone()), ("commitment", percent.to_string())]
            }
            Self::Growing { pool, .. } => vec![("pool", pool.clone())],
            _ => Vec::new(),
        }
    }
}

/// `to 6 GiB`, or `by /dev/sdb`.
pub(super) fn growth_in_words(growth: &Growth) -> String {
    match growth {
        Growth::Size(bytes) => format!("to {}", size(*bytes)),
        Growth::Device(path) => format!("by {}", path.display()),
    }
}
