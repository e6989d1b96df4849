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

    /// Parts inside a range.
    pub(super) fn within(&self, range: &Range<u64>) -> Vec<Range<u64>> {
        let parts = self.0.range(..range.end).map(|(start, end)| (*start).max(range.start)..(*end).min(range.end));
        parts.filter(|part| !part.is_empty()).collect()
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
            assert!(ranges.within(&(0..100)).into_iter().flatten().eq(model.iter().copied()));
            assert!(ranges.within(&range).into_iter().flatten().eq(model.range(range).copied()));
        }
    }
}
