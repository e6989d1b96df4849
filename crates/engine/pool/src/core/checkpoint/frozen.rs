//! A checkpoint in flight, and what is known of checkpoints between them.

use crate::content::blocks::Data;
use crate::core::checkpoint::pace::Pace;
use crate::core::checkpoint::root::Root;
use crate::map::pages::SealedPage;
use crate::space::SpaceWrites;
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Writing,
    Destaging,
    Flushing,
    Swapping,
}

/// A checkpoint in flight.
pub(crate) struct Frozen {
    /// Records below this are covered.
    pub(super) sequence: u64,
    pub(super) epoch: u64,
    pub(super) root: Root,
    /// Pages to write, those of the highest address first.
    pub(super) pages: Vec<SealedPage>,
    /// Counts, indexes and blocks of the pool's own streams to write.
    pub(super) blocks: SpaceWrites,
    /// Writes with the medium.
    pub(super) in_flight: usize,
    pub(super) stage: Stage,
    /// Content to destage, and the record that it came from.
    pub(super) captured: BTreeMap<u64, (Data, u64)>,
    /// `captured` has been filled at least once.
    pub(super) listed: bool,
    pub(super) pace: Pace,
}

/// Checkpoints: the one in flight, and when the next one begins.
#[derive(Default)]
pub(crate) struct Checkpoints {
    pub(super) frozen: Option<Frozen>,
    pub(super) wanted: bool,
    /// How often a checkpoint could not start since something had to be read first.
    pub(super) freeze_waits: u16,
    /// The checkpoint is flushed, and flips when the flush of large writes has ended well too.
    pub(super) flip_waits: bool,
    /// Blocks on their way to their places.
    pub(super) destaging: usize,
    /// Version of the root in force.
    pub(super) root_version: u64,
}

impl Checkpoints {
    /// No checkpoint in flight; `root_version` is in force.
    pub fn new(root_version: u64) -> Self {
        Self { root_version, ..Self::default() }
    }

    /// True while a checkpoint is in flight.
    #[inline]
    pub fn in_flight(&self) -> bool {
        self.frozen.is_some()
    }

    /// Asks for a checkpoint soon; true when that is news.
    pub fn request(&mut self) -> bool {
        !std::mem::replace(&mut self.wanted, true)
    }

    /// How often the next checkpoint could not start since something had to be read first.
    pub fn freeze_waits(&self) -> u16 {
        self.freeze_waits
    }

    /// Pages or blocks of the checkpoint in flight were written.
    pub fn note_progress(&mut self, written: usize) {
        if let Some(frozen) = &mut self.frozen {
            frozen.pace.progress(written);
        }
    }

    /// Bytes of the log that may be in use now, if a checkpoint in flight limits them.
    #[inline]
    pub fn log_limit(&self) -> Option<u64> {
        self.frozen.as_ref().map(|frozen| frozen.pace.allowed())
    }

    /// Blocks have arrived at their places.
    pub fn note_destaged(&mut self, blocks: usize) {
        self.destaging -= blocks;
        self.note_progress(blocks);
    }

    /// The flip waits for the flush of large writes.
    pub fn delay_flip(&mut self) {
        self.flip_waits = true;
    }

    /// True when the flip waited for the flush of large writes, which has ended.
    pub fn take_delayed_flip(&mut self) -> bool {
        std::mem::take(&mut self.flip_waits)
    }
}
