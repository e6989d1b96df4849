//! Time and randomness, from outside: the daemon takes them from the operating system, a simulation from its seed.

use futures_util::future::LocalBoxFuture;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;
use uuid::{Builder, Uuid};

/// Source of time and randomness.
pub trait Environment {
    /// The time of day.
    fn now(&self) -> Timestamp;
    /// Time since some fixed moment; never goes back.
    fn monotonic(&self) -> Duration;
    /// Completes after this time.
    fn sleep(&self, time: Duration) -> LocalBoxFuture<'static, ()>;
    /// Fills `bytes` with bytes fit for secrets.
    fn fill_random(&self, bytes: &mut [u8]);
}

/// A fresh id, ordered by time (UUID version 7, RFC 9562 §5.7).
pub(crate) fn new_id(environment: &dyn Environment) -> Uuid {
    let mut random = [0; 10];
    environment.fill_random(&mut random);
    let milliseconds = u64::try_from(environment.now().as_millisecond()).unwrap_or(0);
    Builder::from_unix_timestamp_millis(milliseconds, &random).into_uuid()
}

/// A fresh identity for an array (UUID version 4): 122 random bits.
pub(crate) fn new_array_id(environment: &dyn Environment) -> Uuid {
    let mut random = [0; 16];
    environment.fill_random(&mut random);
    Builder::from_random_bytes(random).into_uuid()
}

/// A CHAP secret. Debug output does not show it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// Takes the text as it is; `control` validates it where it is used.
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// The secret itself, for authentication.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// A new secret: 16 characters out of 64, which is 96 bits, the least that RFC 7143 §9.2.1 asks for and the most that Windows takes.
    pub(crate) fn generate(environment: &dyn Environment) -> Self {
        const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
        let mut random = [0; 16];
        environment.fill_random(&mut random);
        Self(
            random
                .iter()
                .filter_map(|byte| ALPHABET.get(usize::from(byte % 64)))
                .map(|byte| char::from(*byte))
                .collect(),
        )
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("(secret)")
    }
}
