//! Time and randomness: the daemon takes them from the operating system, a simulation from its
//! seed.

use futures_util::future::LocalBoxFuture;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::task::Poll;
use std::time::Duration;
use uuid::{Builder, Uuid};

/// Source of time and randomness.
pub trait Environment {
    /// Time of day.
    fn now(&self) -> Timestamp;
    /// Time since an arbitrary instant; never goes back.
    fn monotonic(&self) -> Duration;
    /// Completes after this time.
    fn sleep(&self, time: Duration) -> LocalBoxFuture<'static, ()>;
    /// Fills `bytes` with cryptographically secure random bytes.
    fn fill_random(&self, bytes: &mut [u8]);
}

/// Generates an id, ordered by time (UUID version 7, RFC 9562 §5.7).
pub(crate) fn new_id(environment: &dyn Environment) -> Uuid {
    let mut random = [0; 10];
    environment.fill_random(&mut random);
    let milliseconds = u64::try_from(environment.now().as_millisecond()).unwrap_or(0);
    Builder::from_unix_timestamp_millis(milliseconds, &random).into_uuid()
}

/// Generates an array identity (UUID version 4): 122 random bits.
pub(crate) fn new_array_id(environment: &dyn Environment) -> Uuid {
    let mut random = [0; 16];
    environment.fill_random(&mut random);
    Builder::from_random_bytes(random).into_uuid()
}

/// Lets the other tasks of this thread run.
pub(crate) async fn yield_now() {
    let mut yielded = false;
    std::future::poll_fn(|context| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await
}

/// CHAP secret. Debug output hides it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// Takes the text unchanged; `control` validates it where it is used.
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// Secret text, for authentication.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Generates a secret: 16 characters of 64, hence 96 bits. That is the least that RFC 7143
    /// §9.2.1 demands and the most that Windows accepts.
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
