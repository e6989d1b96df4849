//! Who may take how much space: what is kept back for checkpoints, for freeing space, and for reserved volumes.
//!
//! From what can be allocated now, these parts are kept back in this order: what the next checkpoint takes at most, from everybody; what has
//! been promised to reserved volumes, from everybody else; the reserve for operations that free space (UNMAP, zeros, deletion), from
//! everything that stores something new; and the working reserve, from everything that grows. Its first half is for small overwrites of what is
//! mapped and shared with a snapshot or clone, all of it for compare-and-write there and for small documents: so locks, and what is known of who
//! may write, can still change when the pool is full. A page that is only moved to a new address passes: its old block comes back at the next
//! checkpoint.

use crate::core::Core;
use crate::core::progress::{Placed, Progress, Refused};
use crate::interface::PoolError;
use crate::interface::operation::Operation;
use crate::map::reserves::{Ask, DROP_GROWTH, Purpose};
use crate::schedule::step::Step;
use block::BlockError;
use media::{BLOCK_BYTES, Media};

/// How often an operation that nobody owes space looks for it again, once after each checkpoint.
const TRIES: u8 = 2;
/// The same for an operation that keeps nothing but what was promised, while enough is freed and waits for a checkpoint.
const ENTITLED_TRIES: u8 = 100;
/// The largest write that counts as a small overwrite, and by how much documents may grow in a full pool.
pub(crate) const SMALL_BYTES: usize = 64 << 10;

impl<M: Media> Core<M> {
    /// Checks that the blocks can be allocated now.
    pub(crate) fn room(&mut self, ask: Ask, progress: &mut Progress) -> Result<(), Step> {
        if self.starved() && ask.lasting > 0 && ask.purpose != Purpose::Freeing {
            return Err(Step::Space); // which fails while the file system is full
        }
        let available = self.map.space().available();
        let blocks = ask.lasting + ask.passing;
        let uncovered = ask.lasting.saturating_sub(ask.covered);
        let owed = self.map.objects().promises().owed.saturating_sub(ask.covered);
        let reserve = match ask.purpose {
            Purpose::Freeing => 0,
            Purpose::Locking => self.map.reserve_blocks(),
            Purpose::Overwriting => self.map.reserve_blocks() + self.map.working_blocks() / 2,
            Purpose::Growing => self.map.reserve_blocks() + self.map.working_blocks(),
        };
        let kept = match uncovered + ask.promise {
            0 if !ask.partly => 0,
            0 => owed,
            _ => owed + DROP_GROWTH + reserve,
        };
        let needed = blocks + ask.promise + kept + self.map.checkpoint_blocks();
        if available < needed || crate::mutations::allocation_fails() {
            let left = (available + ask.promise + blocks).saturating_sub(needed);
            progress.refused = Some(Refused {
                entitled: uncovered <= ask.taken && ask.promise == 0 && !ask.partly,
                needed,
                promise: (ask.promise > 0).then_some((ask.promise, left)),
            });
            return Err(Step::Space);
        }
        let mut segments = Vec::new();
        if self.map.space_mut().prepare(blocks, &mut segments) {
            return Ok(());
        }
        if segments.is_empty() {
            return Err(Step::Space);
        }
        self.map.need_mut().segments.extend(segments);
        Err(Step::Wait)
    }

    /// The blocks of a large write are taken, those that were promised among them.
    pub(crate) fn now_in_flight(&mut self, placed: &Placed) {
        self.placed.begin();
        self.map.objects_mut().change_in_flight(placed.object, |in_flight| in_flight + placed.covered);
    }

    /// A large write takes effect or fails.
    pub(crate) fn no_longer_in_flight(&mut self, placed: &Placed) {
        self.placed.end();
        self.map.objects_mut().change_in_flight(placed.object, |in_flight| in_flight - placed.covered);
    }

    /// True when a large write that has taken blocks can go on: it gives back what it did not need.
    pub(super) fn placed_go_on(&self) -> bool {
        let waiting = self.schedule.count_space_waiters(|pending| pending.progress.placed.is_some());
        self.placed.in_progress() > waiting
    }

    /// True when blocks are on their way to become allocatable.
    pub(super) fn space_is_coming(&self) -> bool {
        !self.map.drops().queue().is_empty() || self.map.space().pinned() > 0 || self.checkpoints.in_flight()
    }

    /// While operations wait for space, a check of the pool must not hold any back.
    pub(crate) fn let_go_of_held_space(&mut self) {
        if self.schedule.waits_for_space()
            && let Some(check) = &mut self.online_check
        {
            check.spoil();
        }
    }

    /// After a checkpoint every waiter tries once more; one that has tried twice fails: what had been freed when it came is released by then.
    /// Those whose space was promised go on as long as it is on its way.
    pub(crate) fn fail_or_retry_space(&mut self) {
        let coming = self.map.coming_blocks();
        let busy = self.placed_go_on();
        self.schedule.retry_space(|pending| {
            let refused = pending.progress.refused;
            let entitled = refused.is_some_and(|refused| refused.entitled);
            // What large writes under way do not need comes back.
            pending.progress.space_tries += u8::from(!(entitled && busy));
            // What was promised is there, but not released yet.
            let due = entitled && refused.is_some_and(|refused| coming >= refused.needed);
            if pending.progress.space_tries > if due { ENTITLED_TRIES } else { TRIES } {
                pending.fail(match (&pending.operation, refused.and_then(|refused| refused.promise)) {
                    (Operation::Catalog(_), Some((needed, left))) => PoolError::NoRoomForReservation {
                        needed_bytes: needed * BLOCK_BYTES as u64,
                        available_bytes: left * BLOCK_BYTES as u64,
                    }
                    .into(),
                    (Operation::Catalog(_), None) => PoolError::PoolFull.into(),
                    _ => BlockError::PoolFull.into(),
                });
            }
        });
    }

    /// True when an operation with records of `bytes` bytes may go into the log now.
    #[inline]
    pub(crate) fn log_takes(&self, bytes: usize) -> bool {
        // No checkpoint comes to an end while the file system is full: the whole log is there for that.
        self.log.fits(bytes) && (!self.is_paced(bytes) || self.starved())
    }

    /// True when an operation with records of `bytes` bytes would get ahead of the checkpoint or of destaging.
    #[inline]
    fn is_paced(&self, bytes: usize) -> bool {
        self.memory_is_full()
            || self.checkpoints.log_limit().is_some_and(|limit| self.log.used() + bytes as u64 > limit)
    }

    /// Blocks in memory that wait to be destaged, at most, unless hosts write faster than the medium takes them.
    #[inline]
    fn most_dirty(&self) -> usize {
        (self.options.memory_bytes / 8 / BLOCK_BYTES).max(8)
    }

    /// True when so much waits to be destaged, or has changed since a checkpoint in progress began, that no operation may add to it.
    #[inline]
    pub(crate) fn memory_is_full(&self) -> bool {
        self.map.content().dirty() >= 2 * self.most_dirty()
            || (self.checkpoints.in_flight() && self.map.pages().dirty_bytes() > self.options.memory_bytes / 8)
    }

    /// How many of `batch` blocks may be on their way to their places now: none while few wait, since what hosts overwrite soon need not be written
    /// twice; then more and more.
    pub(crate) fn destage_share(&self, batch: usize) -> usize {
        let most = self.most_dirty();
        let low = most / 2;
        let over = self.map.content().dirty().saturating_sub(low).min(most - low);
        (batch * over).div_ceil(most - low)
    }
}
