//! Clock of the machine.

use data_mover::Clock;
use futures_util::future::{FutureExt, LocalBoxFuture};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The machine's clocks, and tokio's timers.
#[derive(Clone, Copy, Debug)]
pub struct SystemClock(Instant);

impl Default for SystemClock {
    fn default() -> Self {
        Self(Instant::now())
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }

    fn unix_seconds(&self) -> u64 {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
    }

    fn sleep(&self, time: Duration) -> LocalBoxFuture<'static, ()> {
        tokio::time::sleep(time).boxed_local()
    }
}
