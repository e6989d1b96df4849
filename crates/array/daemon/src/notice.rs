//! What anybody can cause any number of times: counted always, and told once in a while.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// Time between two lines of the log about the same thing.
const INTERVAL: Duration = Duration::from_secs(10);

/// Something that happens.
#[derive(Debug, Default)]
pub(crate) struct Notice {
    total: Cell<u64>,
    told: Cell<u64>,
    told_at: Cell<Option<Instant>>,
}

impl Notice {
    /// It has happened once more. When it is to be told: how often it happened since it was told last, this time included.
    pub fn count(&self, now: Instant) -> Option<u64> {
        self.total.set(self.total.get().saturating_add(1));
        if self.told_at.get().is_some_and(|at| now.saturating_duration_since(at) < INTERVAL) {
            return None;
        }
        self.told_at.set(Some(now));
        Some(self.total.get() - self.told.replace(self.total.get()))
    }

    /// How often it has happened.
    pub fn total(&self) -> u64 {
        self.total.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_told_at_once_and_then_once_in_a_while() {
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
