//! Set of block numbers as ranges that neither overlap nor touch.

use std::collections::BTreeMap;
use std::ops::Range;

/// Ranges by their start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ranges(BTreeMap<u64, u64>);

impl Ranges {
    /// Adds a range, which may overlap others.
    pub fn insert(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        let (mut start, mut end) = (range.start, range.end);
        while let Some((&at, &until)) = self.0.range(..=end).next_back().filter(|(_, until)| **until >= start) {
            (start, end) = (start.min(at), end.max(until));
            self.0.remove(&at);
        }
        self.0.insert(start, end);
    }

    /// Removes a range, of which only parts may be there.
    pub fn remove(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        while let Some((&at, &until)) = self.0.range(..range.end).next_back().filter(|(_, until)| **until > range.start)
        {
            self.0.remove(&at);
            if at < range.start {
                self.0.insert(at, range.start);
            }
            if until > range.end {
                self.0.insert(range.end, until);
            }
        }
    }

    /// All ranges, ascending.
    pub fn iter(&self) -> impl Iterator<Item = Range<u64>> {
        self.0.iter().map(|(start, end)| *start..*end)
    }

    /// True if there is no range.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Parts inside a range, ascending.
    pub fn within(&self, range: &Range<u64>) -> Vec<Range<u64>> {
        let parts = self.0.range(..range.end).map(|(start, end)| (*start).max(range.start)..(*end).min(range.end));
        parts.filter(|part| !part.is_empty()).collect()
    }

    /// Number of ranges.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Number of blocks in all ranges.
    pub fn blocks(&self) -> u64 {
        self.iter().map(|range| range.end - range.start).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use random::Random;
    use std::collections::BTreeSet;

    #[test]
    fn ranges_are_the_set_of_their_numbers() {
        let (mut ranges, mut model) = (Ranges::default(), BTreeSet::new());
        let random = Random::new(7);
        for _ in 0..2_000 {
            let start = random.below(60);
            let range = start..start + random.below(9);
            if random.chance(50) {
                ranges.insert(range.clone());
                model.extend(range.clone());
            } else {
                ranges.remove(range.clone());
                model.retain(|number| !range.contains(number));
            }
            assert!(ranges.iter().flatten().eq(model.iter().copied()));
            assert!(ranges.within(&(0..100)).into_iter().flatten().eq(model.iter().copied()));
            assert!(ranges.within(&range).into_iter().flatten().eq(model.range(range).copied()));
            assert_eq!(ranges.blocks(), model.len() as u64);
            let runs = model.iter().filter(|number| **number == 0 || !model.contains(&(**number - 1))).count();
            assert_eq!((ranges.count(), ranges.is_empty()), (runs, model.is_empty()));
        }
    }
}
