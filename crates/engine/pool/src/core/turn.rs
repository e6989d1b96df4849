//! Work of one turn, and its bounds: a pump returns soon, even on a medium that answers at once,
//! so that the caller can serve hosts in between.

use crate::clock;
use crate::mutations::{Mutation, leaves_out};

/// Completions and attempts of operations in a turn; a small one takes 2 to 4 µs.
const TURN_STEPS: usize = 256;

/// Work done in a turn, as counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TurnWork {
    /// Blocks that checkpoints and destaging handed to the medium.
    pub blocks: usize,
    /// Completions handled and operations attempted.
    pub steps: usize,
    /// Entries of the caches of pages, counts and blocks that were considered for eviction.
    pub walked: usize,
    /// Pages and blocks that the freeze of a checkpoint sealed. Not bounded: they are sealed in one step.
    pub frozen: usize,
}

impl TurnWork {
    /// Most work of a turn in a pool that hands `blocks` blocks to the medium.
    pub const fn bound(blocks: usize) -> Self {
        Self { blocks, steps: TURN_STEPS, walked: 3 * clock::STEPS, frozen: usize::MAX }
    }

    /// True if nothing exceeds `bound`.
    pub const fn is_within(&self, bound: &Self) -> bool {
        self.blocks <= bound.blocks && self.steps <= bound.steps && self.walked <= bound.walked
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
}

impl Turn {
    /// Creates turns that hand at most `blocks` blocks to the medium.
    pub fn new(blocks: usize) -> Self {
        Self { blocks: blocks.max(1), work: TurnWork::default(), cut: false, reclaimed: false }
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
        let left = self.blocks.saturating_sub(self.work.blocks);
        self.cut |= left == 0;
        left
    }

    /// True once in a turn: detached sub-trees may be given back for hosts that wait for space.
    pub fn may_reclaim(&mut self) -> bool {
        !std::mem::replace(&mut self.reclaimed, true)
    }

    /// Notes pages and blocks that a freeze sealed; at least 1.
    pub fn note_frozen(&mut self, sealed: usize) {
        self.work.frozen += sealed.max(1);
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
