//! A table whose entries are found by an index and a comparison.

use std::cmp::Ordering;
use std::collections::VecDeque;

/// Place of an entry, and which of the entries that were at this place it is. Tests count the comparisons.
#[derive(Clone, Copy, Debug, Eq)]
pub(crate) struct Key {
    /// Place.
    pub index: u32,
    /// Number of the entry among those at this place; never 0.
    pub generation: u32,
}

impl Key {
    /// Before every key.
    pub(crate) const MIN: Self = Self { index: 0, generation: 0 };
    /// After every key.
    pub(crate) const MAX: Self = Self { index: u32::MAX, generation: u32::MAX };
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        #[cfg(test)]
        comparisons::add();
        (self.index, self.generation).cmp(&(other.index, other.generation))
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Comparisons of keys by this thread: a measure of the steps of an operation that does not depend on the machine.
#[cfg(test)]
pub(crate) mod comparisons {
    use std::cell::Cell;

    thread_local! {
        static COUNT: Cell<u64> = const { Cell::new(0) };
    }

    pub(super) fn add() {
        COUNT.with(|count| count.set(count.get() + 1));
    }

    /// Comparisons in an action.
    pub(crate) fn of(action: impl FnOnce()) -> u64 {
        let before = COUNT.with(Cell::get);
        action();
        COUNT.with(Cell::get) - before
    }
}

#[derive(Debug)]
struct Place<T> {
    generation: u32,
    value: Option<T>,
}

/// Entries by [`Key`]. A place is used again after all others that are free, so that generations rise slowly.
/// The caller limits the number of entries.
#[derive(Debug)]
pub(crate) struct Table<T> {
    places: Vec<Place<T>>,
    free: VecDeque<u32>,
}

impl<T> Table<T> {
    pub(crate) const fn new() -> Self {
        Self { places: Vec::new(), free: VecDeque::new() }
    }

    /// Number of entries.
    pub(crate) fn len(&self) -> u32 {
        // Indexes are of 32 bits, and so is their number.
        (self.places.len() - self.free.len()) as u32
    }

    /// Adds an entry, which may contain its key.
    pub(crate) fn insert(&mut self, value: impl FnOnce(Key) -> T) -> Key {
        if let Some(index) = self.free.pop_front()
            && let Some(place) = self.places.get_mut(index as usize)
        {
            place.generation = place.generation.checked_add(1).unwrap_or(1);
            let key = Key { index, generation: place.generation };
            place.value = Some(value(key));
            return key;
        }
        let index = u32::try_from(self.places.len()).unwrap_or(u32::MAX);
        let key = Key { index, generation: 1 };
        self.places.push(Place { generation: 1, value: Some(value(key)) });
        key
    }

    pub(crate) fn get(&self, key: Key) -> Option<&T> {
        let place = self.places.get(key.index as usize)?;
        place.value.as_ref().filter(|_| place.generation == key.generation)
    }

    pub(crate) fn get_mut(&mut self, key: Key) -> Option<&mut T> {
        let place = self.places.get_mut(key.index as usize)?;
        place.value.as_mut().filter(|_| place.generation == key.generation)
    }

    /// Key of the entry at a place.
    pub(crate) fn at(&self, index: u32) -> Option<Key> {
        let place = self.places.get(index as usize)?;
        place.value.as_ref().map(|_| Key { index, generation: place.generation })
    }

    pub(crate) fn remove(&mut self, key: Key) -> Option<T> {
        let place = self.places.get_mut(key.index as usize)?;
        if place.generation != key.generation {
            return None;
        }
        let value = place.value.take()?;
        self.free.push_back(key.index);
        Some(value)
    }

    /// Entries from an index on, ascending.
    pub(crate) fn iter_from(&self, index: u32) -> impl Iterator<Item = (Key, &T)> {
        let places = self.places.get(index as usize..).unwrap_or_default();
        // In this order the count does not advance beyond the last place.
        places.iter().zip(index..).filter_map(|(place, index)| {
            let value = place.value.as_ref()?;
            Some((Key { index, generation: place.generation }, value))
        })
    }

    /// Entries of at most `most` places from an index on, and the index behind these places; `None` at the end of the
    /// table.
    pub(crate) fn part_from(&self, index: u32, most: usize) -> (impl Iterator<Item = (Key, &T)>, Option<u32>) {
        let end = (index as usize).saturating_add(most);
        let next = u32::try_from(end).ok().filter(|_| end < self.places.len());
        (self.iter_from(index).take_while(move |(key, _)| (key.index as usize) < end), next)
    }

    /// All entries.
    #[cfg(test)]
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Key, &T)> {
        self.iter_from(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_removed_entry_is_not_found_under_its_old_key() {
        let mut table = Table::new();
        let one = table.insert(|key| key.index);
        assert_eq!(table.remove(one), Some(0));
        let two = table.insert(|key| key.index + 10);
        assert_eq!((two.index, two.generation), (0, 2));
        assert_eq!((table.get(one), table.get(two), table.len()), (None, Some(&10), 1));
        assert_eq!((table.remove(one), table.get_mut(one)), (None, None));
    }

    #[test]
    fn places_are_used_again_in_the_order_in_which_they_became_free() {
        let mut table = Table::new();
        let keys: Vec<Key> = (0..3).map(|value| table.insert(|_| value)).collect();
        table.remove(keys[1]);
        table.remove(keys[0]);
        assert_eq!(table.iter().map(|(key, _)| key.index).collect::<Vec<_>>(), [2]);
        assert_eq!((table.insert(|_| 7).index, table.insert(|_| 8).index, table.insert(|_| 9).index), (1, 0, 3));
        assert_eq!(table.iter_from(2).map(|(_, value)| *value).collect::<Vec<_>>(), [2, 9]);
        assert_eq!((table.at(3).map(|key| key.generation), table.at(4)), (Some(1), None));
    }
}
