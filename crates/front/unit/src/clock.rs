//! Time, as units need it.

/// Time, for latencies and the log of refusals.
pub trait Clock {
    /// Nanoseconds since a fixed instant; never decreases.
    fn monotonic_ns(&self) -> u64;
    /// Milliseconds since 1970-01-01 00:00 UTC.
    fn unix_ms(&self) -> u64;
}
