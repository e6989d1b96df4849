//! Clock of a cache: the order in which its entries are considered for eviction, second chance
//! first. A walk takes a bounded number of steps, so an eviction may take several turns.

use std::collections::VecDeque;

/// Steps of one walk: about 100 µs.
pub(crate) const STEPS: usize = 2048;
/// Steps of one walk after all entries were visited twice and none could be evicted.
const IDLE_STEPS: usize = 16;
/// Further steps for each new entry, so that one that can be evicted is found while others cannot.
const STEPS_PER_ENTRY: usize = 8;
/// Entries without a cached value that the clock may have beyond those with one.
const STALE: usize = 1024;

/// Decision about one entry of a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The entry stays in the cache and on the clock.
    Kept,
    /// The entry was evicted.
    Evicted,
    /// There is no such entry, or it is on the clock again under a later number.
    Stale,
}

/// Clock over entries with keys `K`. Each entry has the number of its place, so that an entry that
/// left the cache and came back has one place only.
pub(crate) struct Clock<K> {
    places: VecDeque<(K, u64)>,
    next: u64,
    /// Steps since an entry was last evicted.
    fruitless: usize,
}

impl<K> Default for Clock<K> {
    fn default() -> Self {
        Self { places: VecDeque::new(), next: 0, fruitless: 0 }
    }
}

impl<K: Copy> Clock<K> {
    /// Adds an entry; returns the number of its place.
    pub fn add(&mut self, key: K) -> u64 {
        self.next += 1;
        self.fruitless = self.fruitless.saturating_sub(STEPS_PER_ENTRY);
        self.places.push_back((key, self.next));
        self.next
    }

    /// Notes that entries that could not be evicted can be now.
    pub fn restart(&mut self) {
        self.fruitless = 0;
    }

    /// Walks while `excess` entries are too many: `judge` evicts the entry with this key and number
    /// of its place, or says why not. Then walks on while more than half of the places are stale;
    /// `present` is the number of entries in the cache. Returns the number of steps.
    pub fn walk(
        &mut self,
        mut excess: usize,
        mut present: usize,
        mut judge: impl FnMut(K, u64, bool) -> Verdict,
    ) -> usize {
        let limit = (2 * self.places.len()).saturating_sub(self.fruitless).clamp(IDLE_STEPS, STEPS);
        let mut steps = 0;
        while steps < limit && (excess > 0 || self.places.len() > 2 * present + STALE) {
            let Some((key, place)) = self.places.pop_front() else { break };
            steps += 1;
            match judge(key, place, excess > 0) {
                Verdict::Kept => {
                    self.fruitless += usize::from(excess > 0);
                    self.places.push_back((key, place));
                }
                Verdict::Evicted => {
                    self.fruitless = 0;
                    excess = excess.saturating_sub(1);
                    present = present.saturating_sub(1);
                }
                Verdict::Stale => {}
            }
        }
        steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Eviction walked twice over all entries in every turn while none could be dropped.
    #[test]
    fn a_walk_is_short_and_a_fruitless_one_ends() {
        let mut clock = Clock::default();
        let count = 100_000;
        for key in 0..count {
            clock.add(key);
        }
        let mut steps = 0;
        for _ in 0..2 * count / STEPS + 1 {
            let walked = clock.walk(10, count, |_, _, _| Verdict::Kept);
            assert!(walked <= STEPS);
            steps += walked;
        }
        assert!(steps >= 2 * count);
        assert_eq!(clock.walk(10, count, |_, _, _| Verdict::Kept), IDLE_STEPS);
        clock.restart();
        assert_eq!(clock.walk(STEPS, count, |_, _, _| Verdict::Evicted), STEPS);
        assert_eq!(clock.walk(0, count, |_, _, _| Verdict::Kept), 0);
    }

    #[test]
    fn stale_places_are_forgotten() {
        let mut clock = Clock::default();
        let mut place = 0;
        for _ in 0..100_000 {
            place = clock.add(7);
            let judge = |_, of, _| if of == place { Verdict::Kept } else { Verdict::Stale };
            assert!(clock.walk(0, 1, judge) <= 4);
            assert!(clock.places.len() <= STALE + 3);
        }
        assert!(clock.places.iter().any(|(_, of)| *of == place));
    }
}
