//! Ranges that do not begin or end at a block: the whole blocks, and the parts of blocks at both
//! ends, which are overwritten through the log.

use crate::core::B;
use crate::core::Core;
use crate::interface::ObjectId;
use crate::interface::range::{BlockNumber, ByteRange};
use crate::map::assign::Source;
use media::Media;
use smallvec::SmallVec;
use std::ops::Range;

/// A byte range, cut at block boundaries.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Cut {
    /// Parts of single blocks at the ends.
    pub edges: SmallVec<[ByteRange; 2]>,
    /// Whole blocks between them; may be empty.
    pub blocks: Range<BlockNumber>,
}

impl Cut {
    /// Cuts the bytes from `start` to `end`, which must not be empty.
    pub fn new(start: u64, end: u64) -> Self {
        let (first, last) = (start.div_ceil(B), end / B);
        let mut edges = SmallVec::new();
        if first > last {
            edges.push(ByteRange::new(start, end - start));
            return Self { edges, blocks: BlockNumber::new(first)..BlockNumber::new(first) };
        }
        if !start.is_multiple_of(B) {
            edges.push(ByteRange::new(start, first * B - start));
        }
        if !end.is_multiple_of(B) {
            edges.push(ByteRange::new(last * B, end - last * B));
        }
        Self { edges, blocks: BlockNumber::new(first)..BlockNumber::new(last) }
    }

    /// Number of whole blocks.
    pub fn count(&self) -> u64 {
        self.blocks.end - self.blocks.start
    }
}

/// Planned overwrites of parts of blocks.
#[derive(Default)]
pub(super) struct Edges {
    /// Block and its new content.
    pub contents: SmallVec<[(BlockNumber, Vec<Source>); 2]>,
    /// Largest number of blocks that they allocate.
    pub new: u64,
    /// True if data must be read before the plan is complete.
    pub waits: bool,
}

impl<M: Media> Core<M> {
    /// Plans to overwrite the part of a block that begins at byte `at` of the object.
    pub(super) fn plan_edge(&mut self, edges: &mut Edges, object: ObjectId, at: u64, piece: &[u8]) {
        match self.map.plan_blocks(object, BlockNumber::of_byte(at), 1) {
            Some(new) => edges.new += new,
            None => edges.waits = true,
        }
        match self.sources(object, at, piece) {
            Some(sources) => edges.contents.push((BlockNumber::of_byte(at), sources)),
            None => edges.waits = true,
        }
    }

    /// Largest number of bytes in the log that [`Core::commit_edges`] takes.
    pub(super) fn edges_record_bytes(edges: &Edges) -> usize {
        edges.contents.len() * Self::inline_record_bytes(1)
    }

    /// Overwrites the parts of blocks as planned. `None` if the map contradicts itself.
    pub(super) fn commit_edges(&mut self, object: ObjectId, edges: &Edges) -> Option<()> {
        edges.contents.iter().try_for_each(|(block, sources)| self.commit_inline(object, *block, sources))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_cut_at_its_blocks() {
        for (start, end, edges, blocks) in [
            (0, B, &[][..], 0..1),
            (512, 1024, &[(512, 512)], 1..1),
            (512, B, &[(512, B - 512)], 1..1),
            (B, B + 512, &[(B, 512)], 1..1),
            (512, B + 512, &[(512, B - 512), (B, 512)], 1..1),
            (512, 3 * B, &[(512, B - 512)], 1..3),
            (B, 3 * B + 512, &[(3 * B, 512)], 1..3),
            (B - 512, 9 * B + 512, &[(B - 512, 512), (9 * B, 512)], 1..9),
        ] {
            let cut = Cut::new(start, end);
            let found: Vec<_> = cut.edges.iter().map(|edge| (edge.offset, edge.length)).collect();
            let blocks = BlockNumber::new(blocks.start)..BlockNumber::new(blocks.end);
            assert_eq!((&found[..], cut.blocks.clone()), (edges, blocks), "{start}..{end}");
            assert_eq!(cut.edges.iter().map(|edge| edge.length).sum::<u64>() + cut.count() * B, end - start);
        }
    }
}
