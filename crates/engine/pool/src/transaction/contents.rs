//! Contents that a transaction gives to single blocks, in the order of their places. Those of the usual transaction,
//! a block or two, take no memory of their own.

use super::edits::Edits;
use crate::content::data::Data;
use crate::interface::ObjectId;
use crate::interface::range::BlockNumber;
use smallvec::SmallVec;
use std::ops::Range;

/// Content that a block gets.
#[derive(Clone)]
pub(crate) struct Content {
    pub data: Data,
    /// Parts that differ from the content that the block has in the pool.
    pub edits: Edits,
}

impl Content {
    /// Content that has nothing to do with what the block has in the pool.
    pub fn whole(data: Data) -> Self {
        Self { data, edits: Edits::Whole }
    }
}

/// A block of an object.
pub(crate) type Place = (ObjectId, BlockNumber);

/// Contents by place.
#[derive(Default)]
pub(crate) struct Contents(SmallVec<[(Place, Content); 2]>);

impl Contents {
    /// Number of blocks.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Index of a place; `Err`: of the first one behind it.
    fn find(&self, place: Place) -> Result<usize, usize> {
        self.0.binary_search_by_key(&place, |(place, _)| *place)
    }

    pub fn contains(&self, place: Place) -> bool {
        self.find(place).is_ok()
    }

    pub fn get(&self, place: Place) -> Option<&Content> {
        self.0.get(self.find(place).ok()?).map(|(_, content)| content)
    }

    pub fn get_mut(&mut self, place: Place) -> Option<&mut Content> {
        let index = self.find(place).ok()?;
        self.0.get_mut(index).map(|(_, content)| content)
    }

    /// Adds the content of a place, or replaces it.
    pub fn insert(&mut self, place: Place, content: Content) {
        match self.find(place) {
            Ok(index) => self.0[index].1 = content,
            Err(index) => self.0.insert(index, (place, content)),
        }
    }

    /// Indices of the places in a range.
    fn indices(&self, places: &Range<Place>) -> Range<usize> {
        let [start, end] = [places.start, places.end].map(|place| self.find(place).unwrap_or_else(|index| index));
        start..end.max(start)
    }

    /// Contents of the places in a range, in order.
    pub fn range(&self, places: Range<Place>) -> impl Iterator<Item = &(Place, Content)> {
        self.0[self.indices(&places)].iter()
    }

    /// Removes the contents of the places in a range.
    pub fn remove(&mut self, places: Range<Place>) {
        let indices = self.indices(&places);
        self.0.drain(indices);
    }

    /// All contents, in order.
    pub fn iter(&self) -> std::slice::Iter<'_, (Place, Content)> {
        self.0.iter()
    }

    /// All places, in order.
    pub fn places(&self) -> impl Iterator<Item = &Place> {
        self.0.iter().map(|(place, _)| place)
    }
}

impl<'a> IntoIterator for &'a Contents {
    type Item = &'a (Place, Content);
    type IntoIter = std::slice::Iter<'a, (Place, Content)>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use media::BLOCK_BYTES;
    use random::Random;
    use std::collections::BTreeMap;

    fn content(byte: u8) -> Content {
        Content::whole(Data::copy_of(&[byte; BLOCK_BYTES]))
    }

    #[test]
    fn contents_are_a_map_in_order() {
        let random = Random::new(5);
        let (mut contents, mut model) = (Contents::default(), BTreeMap::new());
        let place = |random: &Random| (ObjectId(random.below(3)), BlockNumber::new(random.below(20)));
        for step in 0..2000 {
            let at = place(&random);
            let (from, to) = (at.min(place(&random)), at.max(place(&random)));
            match random.below(5) {
                0 if from <= to => {
                    contents.remove(from..to);
                    model.retain(|place, _| *place < from || *place >= to);
                }
                1 => assert_eq!(contents.get(at).map(|content| content.data[0]), model.get(&at).copied()),
                2 if from <= to => {
                    let found: Vec<_> = contents.range(from..to).map(|(place, _)| *place).collect();
                    assert_eq!(found, model.range(from..to).map(|(place, _)| *place).collect::<Vec<_>>());
                }
                _ => {
                    contents.insert(at, content(step as u8));
                    model.insert(at, step as u8);
                }
            }
            assert_eq!((contents.len(), contents.contains(at)), (model.len(), model.contains_key(&at)));
            let all = contents.iter().map(|(place, content)| (*place, content.data[0]));
            assert!(all.eq(model.iter().map(|(place, byte)| (*place, *byte))));
        }
    }
}
