//! States of a pool, and warnings.

/// State of a pool; if several apply, the most severe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolState {
    /// Serving.
    Healthy,
    /// Serving; the percentage used or promised has reached a threshold of the pool.
    LowSpace,
    /// Serving, but content or metadata is lost.
    Damaged,
    /// Writes that need new space fail, except those to thick volumes.
    Full,
    /// The file system or thin device below the pool is full: writes that need new space fail.
    BelowFull,
    /// Stopped after an error of its medium.
    Stopped,
}

impl PoolState {
    /// All states, the most severe last.
    pub const ALL: [Self; 6] =
        [Self::Healthy, Self::LowSpace, Self::Damaged, Self::Full, Self::BelowFull, Self::Stopped];

    /// Word of the state in every interface.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::LowSpace => "low-space",
            Self::Damaged => "damaged",
            Self::Full => "full",
            Self::BelowFull => "below-full",
            Self::Stopped => "stopped",
        }
    }
}

/// Warning about the consequences of a change that was executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// Stable name of the condition.
    pub code: &'static str,
    /// Text of the warning.
    pub message: String,
}
