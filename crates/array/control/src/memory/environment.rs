//! Stepping clock and deterministic bytes.

use crate::environment::Environment;
use futures_util::future::LocalBoxFuture;
use jiff::Timestamp;
use random::Random;
use std::cell::Cell;
use std::time::Duration;

/// Clock that advances one second at every read (one millisecond for monotonic time), and numbers
/// of a fixed seed.
#[derive(Debug)]
pub struct MemoryEnvironment {
    seconds: Cell<i64>,
    random: Random,
    elapsed: Cell<Duration>,
    /// Time slept.
    pub slept: Cell<Duration>,
}

impl Default for MemoryEnvironment {
    fn default() -> Self {
        Self {
            seconds: Cell::new(1_790_000_000),
            random: Random::new(1),
            elapsed: Cell::default(),
            slept: Cell::default(),
        }
    }
}

impl MemoryEnvironment {
    /// Sets the time of day.
    pub fn set_now(&self, now: Timestamp) {
        self.seconds.set(now.as_second());
    }

    /// Lets monotonic time pass.
    pub fn pass(&self, time: Duration) {
        self.elapsed.set(self.elapsed.get() + time);
    }
}

impl Environment for MemoryEnvironment {
    fn now(&self) -> Timestamp {
        self.seconds.set(self.seconds.get() + 1);
        Timestamp::from_second(self.seconds.get()).unwrap_or(Timestamp::UNIX_EPOCH)
    }

    fn monotonic(&self) -> Duration {
        self.elapsed.set(self.elapsed.get() + Duration::from_millis(1));
        self.elapsed.get()
    }

    /// Completes at once.
    fn sleep(&self, time: Duration) -> LocalBoxFuture<'static, ()> {
        self.slept.set(self.slept.get() + time);
        Box::pin(std::future::ready(()))
    }

    fn fill_random(&self, bytes: &mut [u8]) {
        self.random.fill(bytes);
    }
}
