//! Time as the host's side of storage needs it.

use futures_util::future::LocalBoxFuture;
use std::time::Duration;

/// A clock that can be waited on. Tests give one whose time passes only while everybody waits ([`crate::virtual_time`]).
pub trait Clock {
    /// Time since some moment in the past; never goes back.
    fn now(&self) -> Duration;

    /// Seconds since 1970, for what people read.
    fn unix_seconds(&self) -> u64;

    /// Returns when `time` has passed.
    fn sleep(&self, time: Duration) -> LocalBoxFuture<'static, ()>;
}
