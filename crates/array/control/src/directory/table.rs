//! Table of records by key. Only the directory changes it, so that its index stays consistent.

use std::collections::BTreeMap;
use std::ops::RangeBounds;
use std::sync::Arc;

/// Records by key. Copies of the table share their records.
#[derive(Clone, Debug)]
pub(crate) struct Table<K, R>(BTreeMap<K, Arc<R>>);

impl<K, R> Default for Table<K, R> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<K: Ord, R> Table<K, R> {
    /// Record of a key.
    pub fn get(&self, key: &K) -> Option<&R> {
        self.0.get(key).map(|record| &**record)
    }

    /// True if the key has a record.
    pub fn contains_key(&self, key: &K) -> bool {
        self.0.contains_key(key)
    }

    /// Number of records.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// All records by key.
    pub fn values(&self) -> impl Iterator<Item = &R> + Clone {
        self.0.values().map(|record| &**record)
    }

    /// Records in a range of keys.
    pub fn range(&self, keys: impl RangeBounds<K>) -> impl Iterator<Item = &R> {
        self.0.range(keys).map(|(_, record)| &**record)
    }

    /// Inserts or removes a record and returns the previous one.
    pub(super) fn set(&mut self, key: K, record: Option<Arc<R>>) -> Option<Arc<R>> {
        match record {
            Some(record) => self.0.insert(key, record),
            None => self.0.remove(&key),
        }
    }
}
