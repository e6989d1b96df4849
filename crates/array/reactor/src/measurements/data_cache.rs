//! Use of the pool's cache of data blocks. The reactor notes it, and the management plane's scrapes
//! read it, on another thread.

use pool::DataCache;
use std::sync::atomic::{AtomicU64, Ordering};

/// Use of the cache as last noted.
#[derive(Debug, Default)]
pub struct NotedUse {
    hits: AtomicU64,
    misses: AtomicU64,
    evictions: AtomicU64,
    bytes: AtomicU64,
    limit_bytes: AtomicU64,
}

impl NotedUse {
    /// Notes the use. Only one thread does.
    pub fn note(&self, cache: &DataCache) {
        self.hits.store(cache.hits, Ordering::Relaxed);
        self.misses.store(cache.misses, Ordering::Relaxed);
        self.evictions.store(cache.evictions, Ordering::Relaxed);
        self.bytes.store(cache.bytes, Ordering::Relaxed);
        self.limit_bytes.store(cache.limit_bytes, Ordering::Relaxed);
    }

    /// Use as last noted. The numbers may be of different instants.
    pub fn last(&self) -> DataCache {
        DataCache {
            hits: self.hits.load(Ordering::Relaxed),
            misses: self.misses.load(Ordering::Relaxed),
            evictions: self.evictions.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
            limit_bytes: self.limit_bytes.load(Ordering::Relaxed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_use_is_kept() {
        let noted = NotedUse::default();
        let cache = DataCache { hits: 1, misses: 2, evictions: 3, bytes: 4, limit_bytes: 5 };
        noted.note(&DataCache { hits: 9, ..cache });
        noted.note(&cache);
        assert_eq!(noted.last(), cache);
    }
}
