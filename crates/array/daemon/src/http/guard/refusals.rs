//! Changes refused for want of rights: one is recorded for each caller and operation in a while.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Time between two records of the same caller and operation.
pub(super) const REFUSAL_INTERVAL: Duration = Duration::from_secs(10);

/// Kind and name of a caller, and name of an operation.
type Key = (&'static str, String, &'static str);

/// Refusals since the last record of their caller and operation.
#[derive(Default)]
pub(in crate::http) struct Refusals(Mutex<HashMap<Key, u64>>);

impl Refusals {
    fn counts(&self) -> MutexGuard<'_, HashMap<Key, u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a refusal. True if it is to be recorded: there was none lately.
    pub(super) fn is_first(&self, key: &Key) -> bool {
        let mut counts = self.counts();
        match counts.get_mut(key) {
            Some(count) => {
                *count = count.saturating_add(1);
                false
            }
            None => counts.insert(key.clone(), 0).is_none(),
        }
    }

    /// Refusals since the last record. `None` if there were none: the next is a first one again.
    pub(super) fn left_out(&self, key: &Key) -> Option<u64> {
        let mut counts = self.counts();
        let count = counts.get_mut(key).map(std::mem::take).filter(|count| *count > 0);
        if count.is_none() {
            counts.remove(key);
        }
        count
    }
}
