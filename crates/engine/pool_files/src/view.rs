//! View of an attempt of `files` over that of an attempt of the pool.

use crate::payload::Joined;
use files::{Block, EngineError, Missing, Object, Outcome, Room, View};
use pool::{ADDRESS_SPACE_BYTES, BlockContent, BlockNumber, BlockRange, ByteRange, ObjectId};
use smallvec::SmallVec;
use std::ops::Range;
use vfs::{Payload, Segment};

const BLOCK_BYTES: u64 = files::BLOCK_BYTES;
/// Most blocks that a view holds.
const MOST_HELD: usize = 8;

/// What attempts of one transaction have in common.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// Blocks that cannot be read.
    unreadable: Vec<(ObjectId, BlockNumber)>,
    joined: Joined,
}

impl Known {
    /// Blocks that cannot be read.
    pub(crate) fn unreadable(&self) -> &[(ObjectId, BlockNumber)] {
        &self.unreadable
    }

    /// Notes a block that cannot be read. False if it is known: then not a look needs it, but a change.
    pub(crate) fn note_unreadable(&mut self, object: ObjectId, block: BlockNumber) -> bool {
        let new = !self.unreadable.contains(&(object, block));
        self.unreadable.push((object, block));
        new
    }

    fn look(&self, object: ObjectId, blocks: &Range<u64>) -> Result<(), Missing> {
        let meets = |(of, block): &(ObjectId, BlockNumber)| *of == object && blocks.contains(&block.get());
        if self.unreadable.iter().any(meets) { Err(Missing::Damaged) } else { Ok(()) }
    }
}

/// End of an attempt.
pub(crate) enum Attempted<T> {
    /// Its decision.
    Decided(Outcome<T>),
    /// It asked for something that is not possible.
    Failed(EngineError),
}

/// View of one attempt, or of what follows.
pub(crate) struct PoolView<'v, 'p> {
    view: &'v mut pool::View<'p>,
    known: &'v mut Known,
    /// Blocks that were looked at, and not edited since.
    held: SmallVec<[(Object, u64, BlockContent); MOST_HELD]>,
    /// Number of looks that were not held.
    looks: usize,
    missing: Option<pool::Missing>,
}

/// Object of the pool.
pub(crate) const fn id(object: Object) -> ObjectId {
    ObjectId(object.0)
}

/// Bytes as a range of the pool.
pub(crate) const fn byte_range(bytes: &Range<u64>) -> ByteRange {
    ByteRange::new(bytes.start, bytes.end.saturating_sub(bytes.start))
}

const fn range(blocks: &Range<u64>) -> BlockRange {
    BlockRange::new(BlockNumber::new(blocks.start), blocks.end.saturating_sub(blocks.start))
}

const fn blocks_of(bytes: &Range<u64>) -> Range<u64> {
    bytes.start / BLOCK_BYTES..bytes.end.div_ceil(BLOCK_BYTES)
}

fn gave_up() -> EngineError {
    EngineError::Internal { reason: "an attempt ended although nothing is missing".to_owned() }
}

impl<'v, 'p> PoolView<'v, 'p> {
    pub(crate) fn new(view: &'v mut pool::View<'p>, known: &'v mut Known) -> Self {
        Self { view, known, held: SmallVec::new(), looks: 0, missing: None }
    }

    /// End of the attempt, from what `files` returned.
    pub(crate) fn end<T>(&mut self, outcome: Result<Outcome<T>, Missing>) -> Result<Attempted<T>, pool::Missing> {
        if let Some(missing) = self.missing.take() {
            // Also where the attempt went on, because a change lacks something.
            return Err(missing);
        }
        match (outcome, self.known.unreadable.last()) {
            (Ok(outcome), _) => Ok(Attempted::Decided(outcome)),
            (Err(Missing::Damaged), Some((object, block))) => {
                Ok(Attempted::Failed(EngineError::Damaged { object: Object(object.0), block: block.get() }))
            }
            (Err(_), _) => Ok(Attempted::Failed(gave_up())),
        }
    }

    /// Looks at a block. Returns where it is held.
    fn hold(&mut self, object: Object, block: u64) -> Result<usize, Missing> {
        self.known.look(id(object), &(block..block + 1))?;
        let content = self.view.block(id(object), BlockNumber::new(block));
        let content = self.found(content)?;
        let at = if self.held.len() < MOST_HELD { self.held.len() } else { self.looks % MOST_HELD };
        if let Some(place) = self.held.get_mut(at) {
            *place = (object, block, content);
        } else {
            self.held.push((object, block, content));
        }
        self.looks += 1;
        Ok(at)
    }

    /// What a look without a transaction found.
    pub(crate) fn seen<T>(&mut self, found: Result<T, Missing>) -> Result<Result<T, EngineError>, pool::Missing> {
        match (self.missing.take(), found) {
            // Also where the look went on.
            (Some(missing), _) => Err(missing),
            (None, Ok(found)) => Ok(Ok(found)),
            (None, Err(_)) => Ok(Err(gave_up())),
        }
    }

    /// Result of a look.
    fn found<T>(&mut self, result: Result<T, pool::Missing>) -> Result<T, Missing> {
        result.map_err(|missing| {
            self.missing.get_or_insert(missing);
            Missing::Wait
        })
    }

    /// Notes what a change lacks. The attempt ends with it.
    fn named(&mut self, result: Result<(), pool::Missing>) {
        if let Err(missing) = result {
            self.missing.get_or_insert(missing);
        }
    }
}

impl View for PoolView<'_, '_> {
    fn block(&mut self, object: Object, block: u64) -> Result<&Block, Missing> {
        let held = self.held.iter().position(|(of, number, _)| *number == block && *of == object);
        let at = match held {
            Some(at) => at,
            None => self.hold(object, block)?,
        };
        self.held.get(at).map(|(_, _, content)| &**content).ok_or(Missing::Wait)
    }

    fn edit(&mut self, object: Object, block: u64, bytes: Range<usize>) -> Result<&mut [u8], Missing> {
        self.known.look(id(object), &(block..block + 1))?;
        self.held.retain(|(of, number, _)| *number != block || *of != object);
        match self.view.edit(id(object), BlockNumber::new(block), bytes) {
            Ok(bytes) => Ok(bytes),
            Err(missing) => {
                self.missing.get_or_insert(missing);
                Err(Missing::Wait)
            }
        }
    }

    fn read(&mut self, object: Object, bytes: Range<u64>) -> Result<SmallVec<[Segment; 4]>, Missing> {
        self.known.look(id(object), &blocks_of(&bytes))?;
        let segments = self.view.read(id(object), byte_range(&bytes));
        let segments = self.found(segments)?;
        let segment = |segment| match segment {
            pool::Segment::Data(data) => Segment::Data(data),
            pool::Segment::Hole { length_bytes } => Segment::Hole { length_bytes },
        };
        Ok(segments.into_iter().map(segment).collect())
    }

    fn mapped(&mut self, object: Object, blocks: Range<u64>) -> Result<u64, Missing> {
        self.known.look(id(object), &blocks)?;
        let mapped = self.view.mapped(id(object), range(&blocks));
        self.found(mapped)
    }

    fn next_mapped(&mut self, object: Object, blocks: Range<u64>) -> Result<u64, Missing> {
        self.known.look(id(object), &blocks)?;
        let next = self.view.next_mapped(id(object), range(&blocks));
        self.found(next).map(BlockNumber::get)
    }

    fn next_unmapped(&mut self, object: Object, blocks: Range<u64>) -> Result<u64, Missing> {
        self.known.look(id(object), &blocks)?;
        let next = self.view.next_unmapped(id(object), range(&blocks));
        self.found(next).map(BlockNumber::get)
    }

    fn allotted(&mut self, object: Object, blocks: Range<u64>) -> Vec<Range<u64>> {
        match self.view.allotted(id(object), range(&blocks)) {
            Ok(found) => found.into_iter().map(|range| range.first.get()..range.first.get() + range.count).collect(),
            Err(missing) => {
                self.missing.get_or_insert(missing);
                Vec::new()
            }
        }
    }

    fn promised(&mut self, object: Object, blocks: Range<u64>) -> Result<u64, Missing> {
        self.known.look(id(object), &blocks)?;
        let promised = self.view.promised(id(object), range(&blocks));
        self.found(promised)
    }

    fn room(&mut self, object: Object) -> Result<Room, Missing> {
        let room = self.view.room(id(object));
        let pool::Room { total_blocks, free_blocks, used_blocks } = self.found(room)?;
        Ok(Room { total_blocks, free_blocks, used_blocks })
    }

    fn frees_space(&mut self) {
        self.view.frees_space();
    }

    fn write(&mut self, object: Object, offset_bytes: u64, data: Payload) {
        let data = self.known.joined.join(data);
        let named = self.view.write(id(object), offset_bytes, data);
        self.named(named);
    }

    fn zero(&mut self, object: Object, bytes: Range<u64>) {
        let named = self.view.zero(id(object), byte_range(&bytes));
        self.named(named);
    }

    fn share(&mut self, from: (Object, u64), to: (Object, u64), blocks: u64) {
        let place = |(object, block)| (id(object), BlockNumber::new(block));
        let named = self.view.clone_blocks(place(from), place(to), blocks);
        self.named(named);
    }

    fn replace(&mut self, object: Object, by: Object) {
        // The whole object, in entries of the highest level that ranges share.
        let first = BlockNumber::FIRST;
        let named = self.view.clone_blocks((id(by), first), (id(object), first), ADDRESS_SPACE_BYTES / BLOCK_BYTES);
        self.named(named);
        self.release(object, 0..ADDRESS_SPACE_BYTES / BLOCK_BYTES);
    }

    fn allot(&mut self, object: Object, blocks: Range<u64>) {
        let named = self.view.allot(id(object), range(&blocks));
        self.named(named);
    }

    fn release(&mut self, object: Object, blocks: Range<u64>) {
        let named = self.view.release(id(object), range(&blocks));
        self.named(named);
    }
}
