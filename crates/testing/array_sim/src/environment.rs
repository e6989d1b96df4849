//! Time and randomness of a simulated array: the runtime's paused clock, and the seed.

use crate::random::Random;
use control::Environment;
use futures_util::future::LocalBoxFuture;
use jiff::Timestamp;
use std::cell::RefCell;
use std::time::Duration;
use tokio::time::Instant;

/// Seconds since 1970 at which every run begins.
const EPOCH_SECONDS: i64 = 1_800_000_000;

pub(crate) struct SimEnvironment {
    started: Instant,
    random: RefCell<Random>,
}

impl SimEnvironment {
    /// `started`: when the run began; virtual time goes on over restarts of the array.
    pub(crate) fn new(seed: u64, started: Instant) -> Self {
        Self { started, random: RefCell::new(Random::new(seed)) }
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
        let mut random = self.random.borrow_mut();
        for chunk in bytes.chunks_mut(8) {
            for (to, from) in chunk.iter_mut().zip(random.next().to_le_bytes()) {
                *to = from;
            }
        }
    }
}
