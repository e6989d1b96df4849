//! Time and randomness from the operating system.

use control::Environment;
use futures_util::future::LocalBoxFuture;
use jiff::Timestamp;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Clock and random number generator of the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemEnvironment;

impl Environment for SystemEnvironment {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn monotonic(&self) -> Duration {
        static START: OnceLock<Instant> = OnceLock::new();
        START.get_or_init(Instant::now).elapsed()
    }

    fn sleep(&self, time: Duration) -> LocalBoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(time))
    }

    /// Panics if the operating system provides no randomness: names and secrets must not be
    /// guessable.
    fn fill_random(&self, bytes: &mut [u8]) {
        if let Err(error) = getrandom::fill(bytes) {
            panic!("the operating system gives no random bytes: {error}");
        }
    }
}
