//! Work of one turn, and its bounds: a pump returns soon, even on a medium that answers at once,
//! so that the caller can serve hosts in between.

use crate::clock;
use crate::mutations::{Mutation, leaves_out};

/// Completions and attempts of operations in a turn; a small one takes 2 to 4 µs.
pub(crate) const TURN_STEPS: usize = 256;
/// Work of sealing and releasing in a turn without steps, for each block that a turn may hand to the
/// medium; sealing a leaf is 1, which takes 1 to 2 µs.
const FREEZE_PER_BLOCK: usize = 2;
/// Most work of the last slice beyond what is left.
const LAST_SLICE: usize = 8;
/// Blocks of the pool's own streams that get their places in the turn in which an epoch ends.
const PLACED: usize = 1024;

/// Work done in a turn, as counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TurnWork {
    /// Blocks that checkpoints and destaging handed to the medium.
    pub blocks: usize,
    /// Completions handled and operations attempted.
    pub steps: usize,
    /// Entries of the caches of pages, counts and blocks that were considered for eviction.
    pub walked: usize,
    /// Work for a checkpoint besides handing blocks to the medium: pages sealed, blocks of the pool's own
    /// streams encoded, segments of counts whose freed blocks were released.
    pub frozen: usize,
    /// Blocks of the pool's own streams that got their places because an epoch ended.
    pub placed: usize,
    /// True if an epoch ended.
    pub ended: bool,
}

impl TurnWork {
    /// Most work of a turn in a pool that hands `blocks` blocks to the medium.
    pub const fn bound(blocks: usize) -> Self {
        Self {
            blocks,
            steps: TURN_STEPS,
            walked: 3 * clock::STEPS,
            frozen: FREEZE_PER_BLOCK * blocks + LAST_SLICE,
            placed: PLACED,
            ended: true,
        }
    }

    /// True if nothing exceeds `bound`.
    pub const fn is_within(&self, bound: &Self) -> bool {
        self.blocks <= bound.blocks
            && self.steps <= bound.steps
            && self.walked <= bound.walked
            && self.frozen <= bound.frozen
            && self.placed <= bound.placed
    }
}

/// Turn in progress, or the last one.
pub(crate) struct Turn {
    blocks: usize,
    work: TurnWork,
    /// True if work was left for the next turn that could be done now.
    cut: bool,
    /// True if pages were given back for hosts that wait for space.
    reclaimed: bool,
    /// Answers of the medium that were taken since the last eviction, outside a turn.
    unpumped: usize,
}

impl Turn {
    /// Counts an answer of the medium that is taken outside a turn.
    #[inline]
    pub fn note_unpumped(&mut self) {
        self.unpumped += 1;
    }

    /// Answers of the medium that were taken since the last eviction, outside a turn.
    #[inline]
    pub fn unpumped(&self) -> usize {
        self.unpumped
    }

    /// Counts them from now on again.
    #[inline]
    pub fn evicted(&mut self) {
        self.unpumped = 0;
    }

    /// Creates turns that hand at most `blocks` blocks to the medium.
    pub fn new(blocks: usize) -> Self {
        Self { blocks: blocks.max(1), work: TurnWork::default(), cut: false, reclaimed: false, unpumped: 0 }
    }

    /// Begins a turn.
    pub fn begin(&mut self) {
        self.work = TurnWork::default();
        self.cut = false;
        self.reclaimed = false;
    }

    /// Work of the turn so far.
    pub fn work(&self) -> TurnWork {
        self.work
    }

    /// True if the turn left work that could be done now.
    #[inline]
    pub fn is_cut(&self) -> bool {
        self.cut
    }

    /// Notes that work is left that could be done now.
    pub fn cut(&mut self) {
        self.cut = true;
    }

    /// Blocks that may still be handed to the medium in this turn. Asked only for a purpose: the
    /// turn is cut if there are none.
    pub fn blocks_left(&mut self) -> usize {
        if leaves_out(Mutation::Turn) {
            return usize::MAX;
        }
        // A turn that seals much writes less.
        let left = self.blocks.saturating_sub(self.work.blocks + self.work.frozen / 4);
        self.cut |= left == 0;
        left
    }

    /// True once in a turn: detached sub-trees may be given back for hosts that wait for space.
    pub fn may_reclaim(&mut self) -> bool {
        !std::mem::replace(&mut self.reclaimed, true)
    }

    /// Work of sealing and releasing that may still be done in this turn; less of it after many steps.
    /// Asked only for a purpose: the turn is cut if there is none.
    pub fn freeze_left(&mut self) -> usize {
        if leaves_out(Mutation::Turn) {
            return usize::MAX;
        }
        let most = FREEZE_PER_BLOCK * self.blocks;
        let most = most.saturating_sub(2 * self.work.steps).max(most / 8).max(1);
        let left = most.saturating_sub(self.work.frozen);
        self.cut |= left == 0;
        left
    }

    /// Notes work for the freeze of a checkpoint.
    pub fn note_frozen(&mut self, work: usize) {
        self.work.frozen += work;
    }

    /// Notes the end of an epoch, at which blocks of the pool's own streams got their places.
    pub fn note_placed(&mut self, blocks: usize) {
        self.work.placed += blocks;
        self.work.ended = true;
    }

    /// Notes entries that were considered for eviction.
    pub fn note_walked(&mut self, entries: usize) {
        self.work.walked += entries;
    }

    /// Notes blocks that were handed to the medium.
    pub fn spend_blocks(&mut self, blocks: usize) {
        self.work.blocks += blocks;
    }

    /// Notes a step.
    #[inline]
    pub fn step(&mut self) {
        self.work.steps += 1;
    }

    /// True if no step is left.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.work.steps >= TURN_STEPS
    }
}
