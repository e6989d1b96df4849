//! Conditions that any peer can cause repeatedly: always counted, and logged at most once per interval.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// Shortest time between two log lines about one condition.
const INTERVAL: Duration = Duration::from_secs(10);

/// Counter of a condition.
#[derive(Debug, Default)]
pub struct Notice {
    total: Cell<u64>,
    logged: Cell<u64>,
    logged_at: Cell<Option<Instant>>,
}

impl Notice {
    /// Counts one occurrence. If it is to be logged, returns the number of occurrences since the
    /// last log line, including this one.
    pub fn count(&self, now: Instant) -> Option<u64> {
        self.total.set(self.total.get().saturating_add(1));
        if self.logged_at.get().is_some_and(|at| now.saturating_duration_since(at) < INTERVAL) {
            return None;
        }
        self.logged_at.set(Some(now));
        Some(self.total.get() - self.logged.replace(self.total.get()))
    }

    /// Total number of occurrences.
    pub fn total(&self) -> u64 {
        self.total.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x() {
        let notice = Notice::default();
        let start = Instant::now();
        assert_eq!(notice.count(start), Some(1));
        for after in 1..100 {
            assert_eq!(notice.count(start + Duration::from_millis(after)), None);
        }
        assert_eq!(notice.count(start + INTERVAL), Some(100));
        assert_eq!(notice.count(start + INTERVAL), None);
        assert_eq!(notice.total(), 102);
    }
}
