//! View of a transaction over the engine in memory. It notices attempts that break the rules of [`View`].

use super::state::{Change, Edits, State};
use crate::engine::{BLOCK_BYTES, Block, Missing, Object, Room, View};
use crate::layout::address::BLOCKS;
use random::Random;
use rustc_hash::FxHashSet;
use smallvec::SmallVec;
use std::ops::Range;
use vfs::{Payload, Segment};

static ZEROS: Block = [0; BLOCK_BYTES as usize];

/// Most blocks that one attempt may look at.
const MOST_LOOKS: usize = 96;

/// What has to be loaded for a look: a block, or numbers of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Part {
    Block(Object, u64),
    Range(Object, u64),
}

/// Parts that a transaction has loaded; without a generator everything is in memory.
#[derive(Debug, Default)]
pub(super) struct Loaded<'a> {
    pub(super) parts: FxHashSet<Part>,
    pub(super) random: Option<&'a Random>,
}

/// Looks of an attempt. What follows it may repeat them, and none else.
#[derive(Debug, Default)]
pub(super) struct Looks {
    blocks: FxHashSet<(Object, u64)>,
    /// Ranges whose mapped blocks were counted.
    counted: FxHashSet<(Object, Range<u64>)>,
}

/// A view: of an attempt, or after the execution.
pub(super) struct MemoryView<'a, 'l> {
    state: &'a State,
    /// `None` after the execution.
    loaded: Option<&'a mut Loaded<'l>>,
    pub(super) edits: Edits,
    pub(super) changes: Vec<Change>,
    /// Blocks that may no longer be looked at.
    named: Vec<(Object, Range<u64>)>,
    /// Blocks that may no longer be edited.
    shared: Vec<(Object, Range<u64>)>,
    pub(super) looks: Looks,
}

impl<'a, 'l> MemoryView<'a, 'l> {
    pub(super) fn new(state: &'a State, loaded: &'a mut Loaded<'l>) -> Self {
        Self { loaded: Some(loaded), ..Self::after(state, Looks::default()) }
    }

    /// View after an execution whose attempt has looked at these.
    pub(super) fn after(state: &'a State, looks: Looks) -> Self {
        let (edits, changes, named, shared) = (Edits::new(), Vec::new(), Vec::new(), Vec::new());
        Self { state, loaded: None, edits, changes, named, shared, looks }
    }

    /// A look at blocks, of which a part may be missing.
    fn look(&mut self, object: Object, blocks: &Range<u64>, part: Part) -> Result<(), Missing> {
        for (of, named) in &self.named {
            let apart = *of != object || named.end <= blocks.start || blocks.end <= named.start;
            assert!(apart, "an attempt looks at {blocks:?} of {object:?} after it has named {named:?}");
        }
        let Some(loaded) = &mut self.loaded else { return Ok(()) };
        if loaded.random.is_some_and(|random| random.chance(50)) && loaded.parts.insert(part) {
            return Err(Missing::Wait);
        }
        Ok(())
    }

    fn look_at_block(&mut self, object: Object, block: u64) -> Result<(), Missing> {
        assert!(block < BLOCKS, "block {block:x} is beyond the object");
        let new = self.looks.blocks.insert((object, block));
        assert!(!new || self.loaded.is_some(), "block {block:x} may be missing after the transaction");
        assert!(self.looks.blocks.len() <= MOST_LOOKS, "an attempt looks at too many blocks");
        self.look(object, &(block..block + 1), Part::Block(object, block))?;
        if self.state.damaged.contains(&(object, block)) { Err(Missing::Damaged) } else { Ok(()) }
    }

    fn look_at_range(&mut self, object: Object, blocks: &Range<u64>) -> Result<(), Missing> {
        self.look(object, blocks, Part::Range(object, blocks.start))
    }

    fn change(&mut self, change: Change) {
        assert!(self.loaded.is_some(), "a change after the transaction: {change:?}");
        let blocks = |bytes: &Range<u64>| bytes.start / BLOCK_BYTES..bytes.end.div_ceil(BLOCK_BYTES);
        match &change {
            Change::Write(object, at, data) => self.named.push((*object, blocks(&(*at..at + data.length_bytes())))),
            Change::Zero(object, bytes) => self.named.push((*object, blocks(bytes))),
            Change::Share((source, from), (object, first), count) => {
                self.named.push((*object, *first..first + count));
                self.shared.push((*source, *from..from + count));
            }
            Change::Replace(object, source) => {
                self.named.push((*object, 0..u64::MAX));
                self.shared.push((*source, 0..u64::MAX));
            }
            Change::Allot(..) | Change::Release(..) => {}
        }
        self.changes.push(change);
    }
}

fn push(segments: &mut SmallVec<[Segment; 4]>, length_bytes: u64) {
    if length_bytes > 0 {
        segments.push(Segment::Hole { length_bytes });
    }
}

impl View for MemoryView<'_, '_> {
    fn block(&mut self, object: Object, block: u64) -> Result<&Block, Missing> {
        self.look_at_block(object, block)?;
        if let Some(edited) = self.edits.get(&(object, block)) {
            return Ok(edited);
        }
        let data = self.state.at(object, block).and_then(|mapped| mapped.data.first_chunk());
        Ok(data.unwrap_or(&ZEROS))
    }

    fn edit(&mut self, object: Object, block: u64, bytes: Range<usize>) -> Result<&mut [u8], Missing> {
        assert!(self.loaded.is_some(), "an edit after the transaction");
        let is_shared = self.shared.iter().any(|(of, blocks)| *of == object && blocks.contains(&block));
        assert!(!is_shared, "an attempt edits block {block:x} of {object:?} after it has shared it");
        let before = *self.block(object, block)?;
        let edited = self.edits.entry((object, block)).or_insert_with(|| Box::new(before));
        Ok(&mut edited[bytes])
    }

    fn read(&mut self, object: Object, bytes: Range<u64>) -> Result<SmallVec<[Segment; 4]>, Missing> {
        let mut segments = SmallVec::new();
        assert!(bytes.end - bytes.start <= 1 << 20, "a read of {bytes:?}");
        if bytes.is_empty() {
            return Ok(segments);
        }
        let blocks = bytes.start / BLOCK_BYTES..bytes.end.div_ceil(BLOCK_BYTES);
        self.look_at_range(object, &blocks)?;
        let mut at = bytes.start;
        for (block, mapped) in self.state.range(object, blocks) {
            if self.state.damaged.contains(&(object, *block)) {
                return Err(Missing::Damaged);
            }
            let start = block * BLOCK_BYTES;
            let (from, until) = (start.max(at), (start + BLOCK_BYTES).min(bytes.end));
            push(&mut segments, from - at);
            segments.push(Segment::Data(mapped.data.slice((from - start) as usize..(until - start) as usize)));
            at = until;
        }
        push(&mut segments, bytes.end - at);
        Ok(segments)
    }

    fn mapped(&mut self, object: Object, blocks: Range<u64>) -> Result<u64, Missing> {
        let new = self.looks.counted.insert((object, blocks.clone()));
        assert!(!new || self.loaded.is_some(), "the number of {blocks:x?} may be missing after the transaction");
        self.look_at_range(object, &blocks)?;
        Ok(self.state.range(object, blocks).count() as u64)
    }

    fn next_mapped(&mut self, object: Object, blocks: Range<u64>) -> Result<u64, Missing> {
        self.look_at_range(object, &blocks)?;
        Ok(self.state.range(object, blocks.clone()).next().map_or(blocks.end, |(block, _)| *block))
    }

    fn next_unmapped(&mut self, object: Object, blocks: Range<u64>) -> Result<u64, Missing> {
        self.look_at_range(object, &blocks)?;
        let mapped = self.state.range(object, blocks.clone()).map(|(block, _)| *block);
        let run = mapped.zip(blocks.start..).take_while(|(mapped, at)| mapped == at).count() as u64;
        Ok((blocks.start + run).min(blocks.end))
    }

    fn allotted(&mut self, object: Object, blocks: Range<u64>) -> Vec<Range<u64>> {
        self.state.allotted(object, &blocks)
    }

    fn promised(&mut self, object: Object, blocks: Range<u64>) -> Result<u64, Missing> {
        self.look_at_range(object, &blocks)?;
        Ok(self.state.promised(object, &blocks))
    }

    fn room(&mut self, object: Object) -> Result<Room, Missing> {
        let free_blocks = self.state.capacity.saturating_sub(self.state.taken());
        let all = 0..BLOCKS;
        let used_blocks = self.mapped(object, all.clone())? + self.promised(object, all)?;
        Ok(Room { total_blocks: self.state.capacity, free_blocks, used_blocks })
    }

    /// Objects have no ceiling.
    fn frees_space(&mut self) {}

    fn write(&mut self, object: Object, offset_bytes: u64, data: Payload) {
        self.change(Change::Write(object, offset_bytes, data));
    }

    fn zero(&mut self, object: Object, bytes: Range<u64>) {
        self.change(Change::Zero(object, bytes));
    }

    fn share(&mut self, from: (Object, u64), to: (Object, u64), blocks: u64) {
        self.change(Change::Share(from, to, blocks));
    }

    fn replace(&mut self, object: Object, by: Object) {
        self.change(Change::Replace(object, by));
    }

    fn allot(&mut self, object: Object, blocks: Range<u64>) {
        self.change(Change::Allot(object, blocks));
    }

    fn release(&mut self, object: Object, blocks: Range<u64>) {
        self.change(Change::Release(object, blocks));
    }
}
