//! Changes that an attempt has named, in the form in which they are carried out: changes of ranges in
//! their order, then content of single blocks, each block once.

use crate::content::data::Data;
use crate::interface::ObjectId;
use crate::interface::allotment::AllotmentChange;
use crate::interface::range::BlockNumber;
use crate::transaction::contents::{Content, Contents};
use bytes::Bytes;
use media::BLOCK_BYTES;

/// Largest number of changes of ranges in a transaction, and of changes of allotments.
pub(crate) const MOST_RANGES: usize = 32;
/// Largest number of single blocks that a transaction gives content.
pub(crate) const MOST_CONTENTS: usize = 1024;

/// Change of a range of blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RangeChange {
    /// The blocks become zeros.
    Zero { object: ObjectId, first: BlockNumber, count: u64 },
    /// The blocks of the destination share those of the source.
    Clone { source: ObjectId, source_first: BlockNumber, object: ObjectId, first: BlockNumber, count: u64 },
    /// The blocks get this content, which goes straight to its place.
    Payload { object: ObjectId, first: BlockNumber, data: Bytes, zeros: bool },
}

impl RangeChange {
    /// Object that changes, the first block that does, and the number of blocks.
    pub fn changed(&self) -> (ObjectId, BlockNumber, u64) {
        match self {
            Self::Zero { object, first, count } | Self::Clone { object, first, count, .. } => (*object, *first, *count),
            Self::Payload { object, first, data, .. } => (*object, *first, (data.len() / BLOCK_BYTES) as u64),
        }
    }

    /// Object whose blocks become shared, and the first of them, if the change is a clone.
    pub fn source(&self) -> Option<(ObjectId, BlockNumber)> {
        match self {
            Self::Clone { source, source_first, .. } => Some((*source, *source_first)),
            Self::Zero { .. } | Self::Payload { .. } => None,
        }
    }

    /// Distance in blocks from the first changed block to `block`, if that changes.
    fn offset_of(&self, (of, block): (ObjectId, BlockNumber)) -> Option<u64> {
        let (object, first, count) = self.changed();
        (of == object && block >= first && block - first < count).then(|| block - first)
    }

    /// True if the change may share or free a map page of the object.
    pub fn disturbs(&self, of: ObjectId) -> bool {
        let shares = self.source().is_some_and(|(source, _)| source == of);
        shares || (self.changed().0 == of && !matches!(self, Self::Payload { zeros: false, .. }))
    }
}

/// Content of a block after the changes.
pub(crate) enum Found {
    /// This content.
    Content(Data),
    /// Content of a payload.
    Payload(Bytes),
    /// Zeros.
    Zeros,
    /// That of a block as it is in the pool.
    Present(ObjectId, BlockNumber),
}

/// Changes of an attempt.
#[derive(Default)]
pub(crate) struct Changes {
    /// Changes of ranges, in order. They do not include `contents`.
    pub ranges: Vec<RangeChange>,
    /// Content of blocks after all of them.
    pub contents: Contents,
    /// Changes of allotments, in order, after everything else.
    pub allotments: Vec<AllotmentChange>,
    /// True if large payloads become contents, too.
    pub inline: bool,
    /// True if the changes serve to free space.
    pub frees_space: bool,
}

impl Changes {
    /// Forgets all changes.
    pub fn clear(&mut self) {
        self.ranges.clear();
        self.contents.clear();
        self.allotments.clear();
        self.frees_space = false;
    }

    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty() && self.contents.is_empty() && self.allotments.is_empty()
    }

    /// True if there are more changes than one transaction takes.
    pub fn are_too_many(&self) -> bool {
        let ranges = self.ranges.len().max(self.allotments.len());
        ranges > MOST_RANGES || self.contents.len() > MOST_CONTENTS
    }

    /// True if a change of a range concerns one of `count` blocks.
    pub fn range_reaches(&self, of: ObjectId, from: BlockNumber, blocks: u64) -> bool {
        self.ranges.iter().any(|range| {
            let (object, first, count) = range.changed();
            object == of && first < from + blocks && from < first + count
        })
    }

    /// True if a change of a range changes or shares one of `count` blocks.
    pub fn reaches(&self, of: ObjectId, from: BlockNumber, blocks: u64) -> bool {
        let shares = self.ranges.iter().any(|range| {
            let (_, _, count) = range.changed();
            let meets = |(object, first)| object == of && first < from + blocks && from < first + count;
            range.source().is_some_and(meets)
        });
        shares || self.range_reaches(of, from, blocks)
    }

    /// Content that goes straight to its place: object, first block and bytes.
    pub fn payload(&self) -> Option<(ObjectId, BlockNumber, &Bytes)> {
        self.ranges.iter().find_map(|range| match range {
            RangeChange::Payload { object, first, data, .. } => Some((*object, *first, data)),
            RangeChange::Zero { .. } | RangeChange::Clone { .. } => None,
        })
    }

    /// Zeroes blocks.
    pub fn zero(&mut self, object: ObjectId, first: BlockNumber, count: u64) {
        self.forget_contents(object, first, count);
        self.ranges.push(RangeChange::Zero { object, first, count });
    }

    /// Gives blocks content that goes straight to its place. At most once in an attempt.
    pub fn place(&mut self, object: ObjectId, first: BlockNumber, data: Bytes, zeros: bool) {
        self.forget_contents(object, first, (data.len() / BLOCK_BYTES) as u64);
        self.ranges.push(RangeChange::Payload { object, first, data, zeros });
    }

    /// Shares blocks. Content that an earlier change gave a block of the source is given to the
    /// destination.
    pub fn share(
        &mut self,
        (source, source_first): (ObjectId, BlockNumber),
        (object, first): (ObjectId, BlockNumber),
        count: u64,
    ) {
        let from = (source, source_first)..(source, source_first + count);
        let moved: Vec<_> = self.contents.range(from).map(|((_, at), content)| (*at, content.data.clone())).collect();
        self.forget_contents(object, first, count);
        self.ranges.push(RangeChange::Clone { source, source_first, object, first, count });
        let place = |at| (object, first + (at - source_first));
        moved.into_iter().for_each(|(at, data)| self.contents.insert(place(at), Content::whole(data)));
    }

    fn forget_contents(&mut self, object: ObjectId, first: BlockNumber, count: u64) {
        self.contents.remove((object, first)..(object, first + count));
    }

    /// Content of a block after all changes.
    pub fn find(&self, object: ObjectId, block: BlockNumber) -> Found {
        if let Some(content) = self.contents.get((object, block)) {
            return Found::Content(content.data.clone());
        }
        let mut place = (object, block);
        for range in self.ranges.iter().rev() {
            let Some(offset) = range.offset_of(place) else { continue };
            match range {
                RangeChange::Zero { .. } => return Found::Zeros,
                RangeChange::Payload { data, .. } => {
                    let from = offset as usize * BLOCK_BYTES;
                    return Found::Payload(data.slice(from..from + BLOCK_BYTES));
                }
                RangeChange::Clone { source, source_first, .. } => place = (*source, *source_first + offset),
            }
        }
        Found::Present(place.0, place.1)
    }

    /// Places, besides `place` itself, from which the first `ranges` changes of ranges may have taken
    /// pages of the map over it.
    pub fn reached(&self, place: (ObjectId, BlockNumber), ranges: usize) -> Vec<(ObjectId, BlockNumber)> {
        let mut found: Vec<((ObjectId, BlockNumber), usize)> = vec![(place, ranges)];
        let mut at = 0;
        while let Some(&(of, before)) = found.get(at) {
            at += 1;
            for (number, range) in self.ranges[..before].iter().enumerate() {
                let RangeChange::Clone { source, source_first, .. } = range else { continue };
                let Some(offset) = range.offset_of(of) else { continue };
                let from = (*source, *source_first + offset);
                match found.iter_mut().find(|(known, _)| *known == from) {
                    // Known with all the changes that matter.
                    Some((_, known)) if *known >= number => {}
                    Some(_) | None => found.push((from, number)),
                }
            }
        }
        found.into_iter().skip(1).map(|(place, _)| place).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: ObjectId = ObjectId(8);
    const B: ObjectId = ObjectId(9);

    fn block(number: u64) -> BlockNumber {
        BlockNumber::new(number)
    }

    fn content(byte: u8) -> Content {
        Content::whole(Data::copy_of(&[byte; BLOCK_BYTES]))
    }

    fn found(changes: &Changes, object: ObjectId, number: u64) -> String {
        match changes.find(object, block(number)) {
            Found::Content(data) => format!("content {}", data[0]),
            Found::Payload(data) => format!("payload {}", data[0]),
            Found::Zeros => "zeros".into(),
            Found::Present(object, block) => format!("{object}:{block}"),
        }
    }

    #[test]
    fn the_last_change_of_a_block_counts() {
        let mut changes = Changes::default();
        changes.contents.insert((A, block(3)), content(1));
        assert_eq!(found(&changes, A, 3), "content 1");
        changes.zero(A, block(0), 8);
        assert_eq!(found(&changes, A, 3), "zeros");
        assert_eq!(found(&changes, A, 8), "8:8");
        assert_eq!(found(&changes, B, 3), "9:3");
        changes.contents.insert((A, block(3)), content(2));
        assert_eq!(found(&changes, A, 3), "content 2");
        changes.place(A, block(2), Bytes::from(vec![7; 2 * BLOCK_BYTES]), false);
        assert_eq!(found(&changes, A, 3), "payload 7");
        assert!(changes.contents.is_empty());
    }

    #[test]
    fn a_clone_takes_the_source_as_it_is_then() {
        let mut changes = Changes::default();
        changes.zero(A, block(10), 1);
        changes.contents.insert((A, block(11)), content(1));
        changes.contents.insert((B, block(1)), content(2));
        changes.share((A, block(10)), (B, block(0)), 4);
        assert_eq!(
            ["zeros", "content 1", "8:12"],
            [0, 1, 2].map(|at| found(&changes, B, at)).each_ref().map(|s| &s[..])
        );
        // Later changes of the source do not reach the destination.
        changes.zero(A, block(12), 1);
        changes.contents.insert((A, block(11)), content(3));
        assert_eq!(["content 1", "8:12"], [1, 2].map(|at| found(&changes, B, at)).each_ref().map(|s| &s[..]));
    }

    #[test]
    fn an_overlapping_clone_takes_all_of_its_source_first() {
        let mut changes = Changes::default();
        changes.contents.insert((A, block(2)), content(1));
        changes.share((A, block(0)), (A, block(1)), 4);
        let after = [0, 1, 2, 3, 4, 5].map(|at| found(&changes, A, at));
        assert_eq!(after, ["8:0", "8:0", "8:1", "content 1", "8:3", "8:5"]);
    }

    #[test]
    fn every_place_that_pages_may_come_from_is_reached() {
        let mut changes = Changes::default();
        changes.share((A, block(0)), (A, block(100)), 100);
        changes.share((A, block(100)), (B, block(0)), 10);
        assert_eq!(changes.reached((B, block(5)), 2), [(A, block(105)), (A, block(5))]);
        assert_eq!(changes.reached((B, block(5)), 1), []);
        assert_eq!(changes.reached((A, block(5)), 2), []);
        // The clone back does not go round in circles.
        changes.share((B, block(0)), (A, block(0)), 10);
        assert_eq!(changes.reached((A, block(5)), 3), [(B, block(5)), (A, block(105))]);
    }

    #[test]
    fn changes_disturb_the_objects_whose_pages_they_share_or_free() {
        let clone = RangeChange::Clone { source: A, source_first: block(0), object: B, first: block(0), count: 1 };
        assert!(clone.disturbs(A) && clone.disturbs(B) && !clone.disturbs(ObjectId(10)));
        let zero = RangeChange::Zero { object: A, first: block(0), count: 1 };
        assert!(zero.disturbs(A) && !zero.disturbs(B));
        let payload = |zeros| RangeChange::Payload { object: A, first: block(0), data: Bytes::new(), zeros };
        assert!(payload(true).disturbs(A) && !payload(false).disturbs(A));
    }
}
