//! Limit of bytes per second.

use std::time::Duration;

/// Time for which the rate may be used at once.
const TOLERANCE: Duration = Duration::from_millis(50);

/// Keeps the instant at which everything that was sent is paid for.
#[derive(Debug, Default)]
pub(super) struct Throttle {
    bytes_per_second: Option<u64>,
    paid_at: Duration,
}

impl Throttle {
    /// Sets the limit; `None` for no limit, 0 stops.
    pub fn set(&mut self, bytes_per_second: Option<u64>) {
        self.bytes_per_second = bytes_per_second;
    }

    /// Instant from which a message may be sent; [`Duration::MAX`] while nothing may.
    pub fn opens(&self) -> Duration {
        match self.bytes_per_second {
            None => Duration::ZERO,
            Some(0) => Duration::MAX,
            Some(_) => self.paid_at.saturating_sub(TOLERANCE),
        }
    }

    /// Counts a message.
    pub fn take(&mut self, now: Duration, bytes: usize) {
        let Some(rate) = self.bytes_per_second.filter(|rate| *rate > 0) else { return };
        let nanoseconds = bytes as u128 * 1_000_000_000 / u128::from(rate);
        let lasts = Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX));
        self.paid_at = self.paid_at.max(now).saturating_add(lasts);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_held() {
        let (mut throttle, mut now, mut bytes) = (Throttle::default(), Duration::from_secs(7), 0);
        throttle.set(Some(1 << 20));
        while now < Duration::from_secs(17) {
            throttle.take(now, 65_536);
            bytes += 65_536;
            now = now.max(throttle.opens());
        }
        assert!((10 << 20..11 << 20).contains(&bytes), "{bytes}");
        throttle.set(Some(0));
        assert_eq!(throttle.opens(), Duration::MAX);
        throttle.set(None);
        assert_eq!(throttle.opens(), Duration::ZERO);
    }
}
