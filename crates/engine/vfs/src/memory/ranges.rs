//! Set of block numbers as ranges that neither overlap nor touch.

use std::collections::BTreeMap;
use std::ops::Range;

/// Ranges by their start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Ranges(BTreeMap<u64, u64>);

impl Ranges {
    /// Adds a range, which may overlap others.
    pub(super) fn insert(&mut self, range: Range<u64>) {
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
    pub(super) fn remove(&mut self, range: Range<u64>) {
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

    pub(super) fn iter(&self) -> impl Iterator<Item = Range<u64>> {
        self.0.iter().map(|(start, end)| *start..*end)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Number of ranges.
    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    /// Number of blocks in all ranges.
    pub(super) fn blocks(&self) -> u64 {
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
                model.extend(range);
            } else {
                ranges.remove(range.clone());
                model.retain(|number| !range.contains(number));
            }
            assert!(ranges.iter().flatten().eq(model.iter().copied()));
            assert_eq!(ranges.blocks(), model.len() as u64);
            let runs = model.iter().filter(|number| **number == 0 || !model.contains(&(**number - 1))).count();
            assert_eq!((ranges.count(), ranges.is_empty()), (runs, model.is_empty()));
        }
    }
}
