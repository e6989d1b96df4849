//! Pages of the file, as far as they are known in memory: which have to go, because of their age or
//! because of the limit.

use crate::class::Class;
use crate::tier::Tier;
use std::collections::BTreeMap;

/// Time for which pages of a unit that was deleted are kept.
const DELETED_SECONDS: u64 = 30 * 24 * 3600;
/// Least space that the file takes for an entry.
const LEAST_BYTES: u64 = 512;
/// Space that the file takes for one page of its own, at least.
const FILE_PAGE_BYTES: u64 = 4096;

/// Place of a page: tier, entity, and steps divided by those of a page.
pub(crate) type Key = (Tier, String, i64);

/// A page of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub class: Class,
    /// Lifetime of the store at the last change.
    pub lifetime_seconds: u64,
    pub bytes: u32,
}

impl Entry {
    /// Space in the file, rounded up: small values share pages of the file that are at least half full, and a
    /// large one has pages of its own, whose number is a power of two.
    const fn space(&self) -> u64 {
        let bytes = self.bytes as u64 + 128;
        if bytes * 2 <= FILE_PAGE_BYTES {
            return if bytes * 2 < LEAST_BYTES { LEAST_BYTES } else { bytes * 2 };
        }
        bytes.div_ceil(FILE_PAGE_BYTES).next_power_of_two() * FILE_PAGE_BYTES
    }
}

/// Pages of the file.
#[derive(Debug, Default)]
pub(crate) struct Footprint {
    pages: BTreeMap<Key, Entry>,
    space: u64,
}

impl Footprint {
    /// Space of all pages in the file, rounded up.
    pub const fn space(&self) -> u64 {
        self.space
    }

    pub fn insert(&mut self, key: Key, entry: Entry) {
        self.space += entry.space();
        if let Some(before) = self.pages.insert(key, entry) {
            self.space = self.space.saturating_sub(before.space());
        }
    }

    pub fn remove(&mut self, key: &Key) {
        if let Some(entry) = self.pages.remove(key) {
            self.space = self.space.saturating_sub(entry.space());
        }
    }

    /// Pages that are older than their tier keeps them, or whose unit was deleted 30 days ago.
    pub fn expired(&self, lifetime_seconds: u64, exists: impl Fn(&str) -> bool) -> Vec<Key> {
        let is_expired = |(key, entry): &(&Key, &Entry)| {
            let (tier, entity, _) = key;
            // A page may be changed for as long as it takes to fill it.
            let page_seconds = tier.step_seconds().saturating_mul(crate::page::PAGE_STEPS as u64);
            let mut kept = tier.kept_seconds(entry.class).saturating_add(page_seconds);
            if entry.class == Class::Unit && !exists(entity) {
                kept = kept.min(DELETED_SECONDS);
            }
            lifetime_seconds.saturating_sub(entry.lifetime_seconds) > kept
        };
        self.pages.iter().filter(is_expired).map(|(key, _)| key.clone()).collect()
    }

    /// Pages whose removal brings the space below a limit: the oldest of the unit that was used least
    /// recently, then of the next one; after those of all units, the oldest of the array, the finest first.
    pub fn surplus(&self, limit: u64) -> Vec<Key> {
        let mut over = self.space.saturating_sub(limit);
        if over == 0 {
            return Vec::new();
        }
        let mut used = BTreeMap::<&str, (u64, u64)>::new();
        for ((_, entity, _), entry) in self.pages.iter().filter(|(_, entry)| entry.class == Class::Unit) {
            let (last, space) = used.entry(entity).or_default();
            *last = entry.lifetime_seconds.max(*last);
            *space += entry.space();
        }
        // Among units that are in use, the one with fewest rows.
        let mut order: Vec<_> = self.pages.iter().collect();
        order.sort_by_key(|((tier, entity, _), entry)| match entry.class {
            Class::Unit => {
                let use_ = used.get(entity.as_str()).copied().unwrap_or_default();
                (false, use_, entity.as_str(), entry.lifetime_seconds, *tier)
            }
            Class::Array => (true, (tier.step_seconds(), 0), "", entry.lifetime_seconds, *tier),
        });
        let mut keys = Vec::new();
        for (key, entry) in order {
            if over == 0 {
                break;
            }
            over = over.saturating_sub(entry.space());
            keys.push(key.clone());
        }
        keys
    }

    /// Newest page of an entity in a tier: steps divided by those of a page.
    pub fn last_of(&self, tier: Tier, entity: &str) -> Option<i64> {
        let all = (tier, entity.to_owned(), i64::MIN)..=(tier, entity.to_owned(), i64::MAX);
        self.pages.range(all).next_back().map(|(key, _)| key.2)
    }

    /// Oldest page of an entity in its coarsest tier: steps divided by those of a page.
    pub fn first_of(&self, tier: Tier, entity: &str) -> Option<i64> {
        let from = (tier, entity.to_owned(), i64::MIN);
        let (key, _) = self.pages.range(from..).next()?;
        (key.0 == tier && key.1 == entity).then_some(key.2)
    }
}
