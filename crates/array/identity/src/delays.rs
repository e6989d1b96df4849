//! Delays after wrong passwords and tokens, by any key: an address or a name.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::{Duration, Instant};

/// Failures before there is a wait.
const FREE_FAILURES: u32 = 5;
/// Longest wait.
const MAX_WAIT: Duration = Duration::from_secs(60);
/// Time without a failure after which a key is forgotten.
const FORGET_AFTER: Duration = Duration::from_secs(600);
/// Largest number of keys; the one whose last failure is oldest is evicted.
const MAX_KEYS: usize = 1024;

/// Failures by key. After five, each one doubles the wait, up to a minute.
#[derive(Debug)]
pub struct Delays<K> {
    failures: HashMap<K, Failures>,
}

#[derive(Debug)]
struct Failures {
    count: u32,
    last: Instant,
    closed_until: Instant,
}

impl<K> Default for Delays<K> {
    fn default() -> Self {
        Self { failures: HashMap::new() }
    }
}

impl<K: Eq + Hash + Clone> Delays<K> {
    /// Seconds to wait before the next try; at least 1 if there is a wait.
    pub fn wait(&self, key: &K, now: Instant) -> Option<u64> {
        let closed_until = self.failures.get(key)?.closed_until;
        (now < closed_until).then(|| closed_until.duration_since(now).as_secs() + 1)
    }

    /// Notes a failure.
    pub fn failed(&mut self, key: K, now: Instant) {
        self.failures.retain(|_, entry| now.saturating_duration_since(entry.last) < FORGET_AFTER);
        if self.failures.len() >= MAX_KEYS
            && !self.failures.contains_key(&key)
            && let Some(oldest) = self.failures.iter().min_by_key(|(_, entry)| entry.last).map(|(key, _)| key.clone())
        {
            self.failures.remove(&oldest);
        }
        let entry = self.failures.entry(key).or_insert(Failures { count: 0, last: now, closed_until: now });
        entry.count = entry.count.saturating_add(1);
        entry.last = now;
        if entry.count > FREE_FAILURES {
            let doublings = (entry.count - FREE_FAILURES - 1).min(6);
            entry.closed_until = now + Duration::from_secs(1 << doublings).min(MAX_WAIT);
        }
    }

    /// Forgets the failures of a key that has succeeded.
    pub fn succeeded(&mut self, key: &K) {
        self.failures.remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::{Delays, MAX_KEYS};
    use std::time::{Duration, Instant};

    #[test]
    fn guessing_gets_slower_and_does_not_slow_others() {
        let mut delays = Delays::default();
        let mut now = Instant::now();
        for _ in 0..5 {
            delays.failed("a", now);
            assert_eq!(delays.wait(&"a", now), None);
        }
        for wait in [2, 3, 5, 9, 17, 33, 61, 61, 61] {
            delays.failed("a", now);
            assert_eq!(delays.wait(&"a", now), Some(wait));
        }
        assert_eq!(delays.wait(&"b", now), None);
        now += Duration::from_secs(60);
        assert_eq!(delays.wait(&"a", now), None);
        delays.failed("a", now);
        delays.succeeded(&"a");
        assert_eq!(delays.wait(&"a", now), None);
        delays.failed("a", now);
        delays.failed("b", now + Duration::from_secs(700));
        assert_eq!(delays.failures.len(), 1, "old failures are forgotten");
    }

    #[test]
    fn memory_is_bounded() {
        let mut delays = Delays::default();
        let now = Instant::now();
        (0..3000_u32).for_each(|number| delays.failed(number, now));
        assert_eq!(delays.failures.len(), MAX_KEYS);
    }
}
