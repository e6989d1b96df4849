//! Time and randomness from the operating system.

use control::Environment;
use jiff::Timestamp;

/// The operating system's clock and random number generator.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemEnvironment;

impl Environment for SystemEnvironment {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    /// Panics when the operating system has no randomness: names and secrets must not be guessable.
    fn fill_random(&self, bytes: &mut [u8]) {
        if let Err(error) = getrandom::fill(bytes) {
            panic!("the operating system gives no random bytes: {error}");
        }
    }
}
