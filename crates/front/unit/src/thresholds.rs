//! Soft thresholds: amounts of space at which hosts are notified.

/// A soft threshold of a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SoftThreshold {
    /// The pool has at most this much left for the volume.
    Available {
        /// Threshold in bytes.
        bytes: u64,
    },
    /// The volume uses at least this much of the pool.
    Used {
        /// Threshold in bytes.
        bytes: u64,
    },
}
