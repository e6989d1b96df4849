//! Looks at ranges: their content, and their mapped blocks.

use super::{B, BlockContent, Held, View};
use crate::content::data::Data;
use crate::interface::ObjectId;
use crate::interface::range::{BlockNumber, BlockRange, ByteRange};
use crate::transaction::Missing;
use bytes::Bytes;
use media::BLOCK_BYTES;
use smallvec::SmallVec;
use std::ops::Range;

/// Largest number of bytes that an attempt reads.
pub(crate) const MOST_READ_BYTES: u64 = 1 << 20;

/// Piece of a read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Segment {
    /// Content of at most one block, which shares the memory of the cache.
    Data(Bytes),
    /// Bytes that are not mapped, at least one.
    Hole {
        /// Number of bytes.
        length_bytes: u64,
    },
}

impl View<'_> {
    /// Checks that blocks are inside of an object, whose last block may be short.
    pub(super) fn has_blocks(&mut self, object: ObjectId, blocks: BlockRange) -> Result<(), Missing> {
        let size_bytes = self.size_bytes(object)?;
        match blocks.first.checked_add(blocks.count) {
            Some(end) if end.get() <= size_bytes.div_ceil(B) => Ok(()),
            _ => {
                let ByteRange { offset, length } = blocks.bytes();
                self.inside(object, offset, length)
            }
        }
    }

    /// Content of bytes after the changes so far: data without a copy, and holes, none behind another.
    ///
    /// All reads of an attempt take at most 1 MiB. They return nothing before all of it is in memory at
    /// once. A waiting transaction keeps what it has seen there, however small the cache is: at most 257
    /// blocks for reads, beside those of other looks.
    pub fn read(&mut self, object: ObjectId, range: ByteRange) -> Result<SmallVec<[Segment; 4]>, Missing> {
        let ByteRange { offset, length } = range;
        self.inside(object, offset, length)?;
        self.read_bytes = self.read_bytes.saturating_add(length);
        if self.read_bytes > MOST_READ_BYTES {
            return Err(self.internal("a transaction reads too much"));
        }
        let mut segments = SmallVec::new();
        let mut complete = true;
        let end = offset + length;
        let mut at = offset;
        while at < end {
            let from = at % B;
            let until = (from + (end - at)).min(B);
            // Goes on where content is missing, so that all of it is read from the medium at once.
            match self.content(object, BlockNumber::of_byte(at)) {
                Ok(content) => push(&mut segments, content, from as usize..until as usize),
                Err(_) => complete = false,
            }
            at += until - from;
        }
        if complete { Ok(segments) } else { Err(Missing(())) }
    }

    /// Number of mapped blocks in a range. Edits and writes of up to 32 KiB so far are counted. A range of
    /// which this attempt has zeroed, shared or written other parts fails the transaction.
    ///
    /// Takes time in proportion to the depth of the map, and to the number of the range's parts of 16 TiB
    /// that have content.
    pub fn mapped(&mut self, object: ObjectId, blocks: BlockRange) -> Result<u64, Missing> {
        self.look_at(object, blocks)?;
        if blocks.count == 0 {
            return Ok(0);
        }
        let mut count = self.present.mapped(object, blocks);
        for (block, maps) in self.edited(object, blocks) {
            self.note_seen(object, block);
            let before = self.present.mapped(object, BlockRange::new(block, 1));
            count = count.zip(before).map(|(count, before)| count.saturating_sub(before) + u64::from(maps));
        }
        count.ok_or(Missing(()))
    }

    /// First mapped block of a range, or its end. What it sees and refuses is as for [`Self::mapped`].
    pub fn next_mapped(&mut self, object: ObjectId, blocks: BlockRange) -> Result<BlockNumber, Missing> {
        self.next(object, blocks, true)
    }

    /// First block of a range that is not mapped, or its end. What it sees and refuses is as for
    /// [`Self::mapped`].
    pub fn next_unmapped(&mut self, object: ObjectId, blocks: BlockRange) -> Result<BlockNumber, Missing> {
        self.next(object, blocks, false)
    }

    fn next(&mut self, object: ObjectId, blocks: BlockRange, mapped: bool) -> Result<BlockNumber, Missing> {
        self.look_at(object, blocks)?;
        let end = blocks.first + blocks.count;
        let mut edited = self.edited(object, blocks).into_iter().peekable();
        let mut from = blocks.first;
        while from < end {
            let found = match self.present.next(object, from, mapped) {
                Ok(found) => found.min(end),
                Err(reached) => {
                    self.note_seen(object, reached);
                    return Err(Missing(()));
                }
            };
            self.note_seen(object, found);
            // Edits decide about the blocks up to the one found.
            let mut overruled = false;
            while let Some((block, maps)) = edited.next_if(|(block, _)| *block <= found) {
                if maps == mapped {
                    return Ok(block);
                }
                overruled |= block == found;
            }
            if !overruled {
                return Ok(found);
            }
            from = found + 1;
        }
        Ok(end)
    }

    /// Checks a look at the map of a range, and notes that it needs the pages at both ends.
    pub(super) fn look_at(&mut self, object: ObjectId, blocks: BlockRange) -> Result<(), Missing> {
        self.has_blocks(object, blocks)?;
        if blocks.count == 0 {
            return Ok(());
        }
        if self.changes.range_reaches(object, blocks.first, blocks.count) {
            return Err(self.internal("a transaction asks what is mapped in a range that it has changed"));
        }
        self.note_seen(object, blocks.first);
        self.note_seen(object, blocks.first + (blocks.count - 1));
        Ok(())
    }

    fn note_seen(&mut self, object: ObjectId, block: BlockNumber) {
        if let Some(seen) = &mut self.seen {
            seen.push((object, block));
        }
    }

    /// Blocks of a range that edits gave content, each with whether it becomes mapped.
    fn edited(&self, object: ObjectId, blocks: BlockRange) -> SmallVec<[(BlockNumber, bool); 8]> {
        if self.changes.contents.is_empty() {
            return SmallVec::new();
        }
        let detects = self.present.detects_zeros(object);
        let maps = |data: &Data| !detects || data.iter().any(|byte| *byte != 0);
        let range = (object, blocks.first)..(object, blocks.first + blocks.count);
        let edited = self.changes.contents.range(range);
        edited.map(|((_, block), content)| (*block, maps(&content.data))).collect()
    }
}

/// Appends bytes of a block.
fn push(segments: &mut SmallVec<[Segment; 4]>, content: BlockContent, bytes: Range<usize>) {
    let length = bytes.len() as u64;
    match (content.0, segments.last_mut()) {
        (Held::Zeros, Some(Segment::Hole { length_bytes })) => *length_bytes += length,
        (Held::Zeros, _) => segments.push(Segment::Hole { length_bytes: length }),
        (Held::Data(data), _) if bytes.len() == BLOCK_BYTES => segments.push(Segment::Data(data.lend())),
        (Held::Data(data), _) => segments.push(Segment::Data(data.lend().slice(bytes))),
        (Held::Payload(payload), _) => segments.push(Segment::Data(payload.slice(bytes))),
    }
}
