//! Clock of the host.

use futures_util::future::LocalBoxFuture;
use std::time::Duration;

/// A clock that can be waited on. Tests use [`crate::virtual_time`], where time passes only while
/// all tasks wait.
pub trait Clock {
    /// Time since some instant in the past; never goes back.
    fn now(&self) -> Duration;

    /// Seconds since 1970, for display.
    fn unix_seconds(&self) -> u64;

    /// Returns when `time` has passed.
    fn sleep(&self, time: Duration) -> LocalBoxFuture<'static, ()>;
}
