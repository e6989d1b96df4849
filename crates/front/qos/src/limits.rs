//! Limits of a policy, as an administrator states them.

use std::time::Duration;
use thiserror::Error;

/// Least operations per second that may be set: below, the timeouts of hosts end their commands.
pub const MIN_OPERATIONS_PER_SECOND: u64 = 100;
/// Least bytes per second that may be set.
pub const MIN_BYTES_PER_SECOND: u64 = 1 << 20;
/// Most of either that may be set, so that sums of costs do not overflow.
pub const MAX_PER_SECOND: u64 = 1 << 40;
/// Longest time in which a burst may last.
pub const MAX_BURST: Duration = Duration::from_secs(3600);
/// Least weight.
pub const MIN_WEIGHT: u32 = 10;
/// Largest weight.
pub const MAX_WEIGHT: u32 = 1000;
/// Weight of everything that has no policy.
pub const DEFAULT_WEIGHT: u32 = 100;

/// Limits of one policy. Each is optional.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Operations per second. A command counts as one operation for each 16 KiB, and as one at least.
    pub operations: Option<Rate>,
    /// Bytes per second, read and written together.
    pub bytes: Option<Rate>,
    /// Share beside others where there is less than all want: 10 to 1000; 100 is usual.
    pub weight: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { operations: None, bytes: None, weight: DEFAULT_WEIGHT }
    }
}

/// Limit of one quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Amount in a second that may last.
    pub per_second: u64,
    /// More for some time; saved up while less than the limit is used.
    pub burst: Option<Burst>,
}

/// Amount above the limit for a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Burst {
    /// Amount in a second during a burst.
    pub per_second: u64,
    /// Time for which a whole burst lasts. Whole seconds.
    pub lasts: Duration,
}

/// Limits that are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum LimitsError {
    /// Operations per second below the minimum.
    #[error("the least limit is {MIN_OPERATIONS_PER_SECOND} operations a second: with fewer, hosts give up waiting")]
    FewOperations,
    /// Bytes per second below the minimum.
    #[error("the least limit is 1 MiB a second: with less, hosts give up waiting")]
    FewBytes,
    /// A rate above the maximum.
    #[error("the largest limit is {MAX_PER_SECOND} a second; use no limit instead")]
    TooMuch,
    /// A burst that is not above its limit.
    #[error("a burst has to be above the limit itself")]
    BurstBelowLimit,
    /// A burst that lasts for less than a second or more than an hour.
    #[error("a burst lasts from 1 second to 1 hour")]
    BurstLength,
    /// A weight outside of its range.
    #[error("a weight is from {MIN_WEIGHT} to {MAX_WEIGHT}")]
    Weight,
}

impl Limits {
    /// Checks all limits.
    pub fn validate(&self) -> Result<(), LimitsError> {
        if let Some(rate) = self.operations {
            rate.validate(MIN_OPERATIONS_PER_SECOND, LimitsError::FewOperations)?;
        }
        if let Some(rate) = self.bytes {
            rate.validate(MIN_BYTES_PER_SECOND, LimitsError::FewBytes)?;
        }
        if !(MIN_WEIGHT..=MAX_WEIGHT).contains(&self.weight) {
            return Err(LimitsError::Weight);
        }
        Ok(())
    }

    /// True if commands never wait for these limits.
    pub const fn is_unlimited(&self) -> bool {
        self.operations.is_none() && self.bytes.is_none()
    }
}

impl Rate {
    fn validate(&self, least: u64, too_little: LimitsError) -> Result<(), LimitsError> {
        if self.per_second < least {
            return Err(too_little);
        }
        let most = self.burst.map_or(self.per_second, |burst| burst.per_second.max(self.per_second));
        if most > MAX_PER_SECOND {
            return Err(LimitsError::TooMuch);
        }
        let Some(burst) = self.burst else { return Ok(()) };
        if burst.per_second <= self.per_second {
            return Err(LimitsError::BurstBelowLimit);
        }
        if burst.lasts < Duration::from_secs(1) || burst.lasts > MAX_BURST || burst.lasts.subsec_nanos() != 0 {
            return Err(LimitsError::BurstLength);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operations(per_second: u64, burst: Option<(u64, u64)>) -> Limits {
        let burst = burst.map(|(per_second, seconds)| Burst { per_second, lasts: Duration::from_secs(seconds) });
        Limits { operations: Some(Rate { per_second, burst }), ..Limits::default() }
    }

    #[test]
    fn limits_at_their_ends_are_accepted() {
        for limits in [
            Limits::default(),
            operations(MIN_OPERATIONS_PER_SECOND, None),
            operations(MAX_PER_SECOND, None),
            operations(100, Some((101, 1))),
            operations(100, Some((MAX_PER_SECOND, 3600))),
            Limits { bytes: Some(Rate { per_second: MIN_BYTES_PER_SECOND, burst: None }), ..Limits::default() },
            Limits { weight: MIN_WEIGHT, ..Limits::default() },
            Limits { weight: MAX_WEIGHT, ..Limits::default() },
        ] {
            assert_eq!(limits.validate(), Ok(()), "{limits:?}");
        }
    }

    #[test]
    fn limits_beyond_their_ends_are_refused_by_name() {
        let few_bytes = Limits { bytes: Some(Rate { per_second: 1, burst: None }), ..Limits::default() };
        for (limits, error) in [
            (operations(99, None), LimitsError::FewOperations),
            (operations(MAX_PER_SECOND + 1, None), LimitsError::TooMuch),
            (operations(100, Some((MAX_PER_SECOND + 1, 1))), LimitsError::TooMuch),
            (operations(100, Some((100, 1))), LimitsError::BurstBelowLimit),
            (operations(100, Some((200, 0))), LimitsError::BurstLength),
            (operations(100, Some((200, 3601))), LimitsError::BurstLength),
            (few_bytes, LimitsError::FewBytes),
            (Limits { weight: 9, ..Limits::default() }, LimitsError::Weight),
            (Limits { weight: 1001, ..Limits::default() }, LimitsError::Weight),
        ] {
            assert_eq!(limits.validate(), Err(error), "{limits:?}");
        }
    }
}
