//! Soft thresholds: amounts of space at which hosts are notified.

/// A soft threshold of a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SoftThreshold {
    /// The pool has no more than this left for the volume.
    Available {
        /// Bytes.
        bytes: u64,
    },
    /// The volume takes at least this of the pool.
    Used {
        /// Bytes.
        bytes: u64,
    },
}
