//! Time and randomness of a simulated array: the runtime's paused clock, and the seed.

use control::Environment;
use futures_util::future::LocalBoxFuture;
use jiff::Timestamp;
use random::Random;
use std::time::Duration;
use tokio::time::Instant;

/// Seconds since 1970 at which every run begins.
const EPOCH_SECONDS: i64 = 1_800_000_000;

pub(crate) struct SimEnvironment {
    started: Instant,
    random: Random,
}

impl SimEnvironment {
    /// `started`: when the run began; virtual time goes on over restarts of the array.
    pub(crate) fn new(seed: u64, started: Instant) -> Self {
        Self { started, random: Random::new(seed) }
    }
}

impl Environment for SimEnvironment {
    fn now(&self) -> Timestamp {
        Timestamp::from_second(EPOCH_SECONDS).unwrap_or(Timestamp::UNIX_EPOCH) + self.monotonic()
    }

    fn monotonic(&self) -> Duration {
        self.started.elapsed()
    }

    fn sleep(&self, time: Duration) -> LocalBoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(time))
    }

    fn fill_random(&self, bytes: &mut [u8]) {
        self.random.fill(bytes);
    }
}
