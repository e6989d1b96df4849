//! The checkpoint in flight, and state that survives between checkpoints.

use crate::content::data::Data;
use crate::core::checkpoint::pace::Pace;
use crate::core::checkpoint::root::Root;
use crate::map::pages::SealedPages;
use crate::space::SpaceWrites;
use media::{BlockAddress, Buffer};
use std::collections::VecDeque;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Writing,
    Destaging,
    Flushing,
    Swapping,
    /// The checkpoint is in force, and blocks that it does not name are released.
    Releasing,
}

/// Checkpoint in flight.
pub(crate) struct Frozen {
    /// The checkpoint covers records below this sequence number.
    pub(super) sequence: u64,
    pub(super) epoch: u64,
    pub(super) root: Root,
    /// Pages to write; none before all are sealed.
    pub(super) pages: SealedPages,
    /// Blocks of the pool's own streams to write.
    pub(super) blocks: SpaceWrites,
    /// Number of writes in flight on the medium.
    pub(super) in_flight: usize,
    pub(super) stage: Stage,
    /// Content to destage when its record is durable: address, content, record.
    pub(super) captured: VecDeque<(BlockAddress, Data, u64)>,
    pub(super) pace: Pace,
}

/// Checkpoints: the one in flight, and the request for the next one.
#[derive(Default)]
pub(crate) struct Checkpoints {
    pub(super) frozen: Option<Frozen>,
    pub(super) wanted: bool,
    /// Number of times that a checkpoint could not start because data had to be read first.
    pub(super) freeze_waits: u16,
    /// The checkpoint is flushed, and flips when the flush of large writes has also succeeded.
    pub(super) flip_waits: bool,
    /// Number of blocks being destaged.
    pub(super) destaging: usize,
    /// Version of the root in force.
    pub(super) root_version: u64,
}

impl Checkpoints {
    /// State without a checkpoint in flight; `root_version` is in force.
    pub fn new(root_version: u64) -> Self {
        Self { root_version, ..Self::default() }
    }

    /// Blocks of the pool's own streams that the checkpoint in flight has not handed to the medium yet.
    pub fn blocks_to_write(&self) -> impl Iterator<Item = (BlockAddress, &Buffer)> {
        self.frozen.iter().flat_map(|frozen| frozen.blocks.iter().map(|(address, buffer)| (*address, buffer)))
    }

    /// True while a checkpoint is in flight.
    #[inline]
    pub fn in_flight(&self) -> bool {
        self.frozen.is_some()
    }

    /// True while a checkpoint is requested or in flight.
    pub fn is_due(&self) -> bool {
        self.wanted || self.in_flight()
    }

    /// Requests a checkpoint soon; true if none was requested before.
    pub fn request(&mut self) -> bool {
        !std::mem::replace(&mut self.wanted, true)
    }

    /// Number of times that the next checkpoint could not start because data had to be read first.
    pub fn freeze_waits(&self) -> u16 {
        self.freeze_waits
    }

    /// Notes that pages or blocks of the checkpoint in flight were written.
    pub fn note_progress(&mut self, written: usize) {
        if let Some(frozen) = &mut self.frozen {
            frozen.pace.progress(written);
        }
    }

    /// Largest number of bytes of the log that may be in use now, if a checkpoint in flight limits
    /// it.
    #[inline]
    pub fn log_limit(&self) -> Option<u64> {
        self.frozen.as_ref().map(|frozen| frozen.pace.allowed())
    }

    /// Notes that blocks were destaged.
    pub fn note_destaged(&mut self, blocks: usize) {
        self.destaging -= blocks;
        self.note_progress(blocks);
    }

    /// Delays the flip until the flush of large writes has ended.
    pub fn delay_flip(&mut self) {
        self.flip_waits = true;
    }

    /// True if the flip waited for the flush of large writes, which has ended; resets the flag.
    pub fn take_delayed_flip(&mut self) -> bool {
        std::mem::take(&mut self.flip_waits)
    }
}
