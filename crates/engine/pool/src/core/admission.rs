//! Admission of operations to space: reserves for checkpoints, for freeing space, and for reserved
//! volumes.
//!
//! Of the blocks that can be allocated now, these parts are kept back in this order: the maximal
//! need of the next checkpoint, from every operation; the blocks promised to reserved volumes, from
//! all others; the reserve for operations that free space (UNMAP, zeros, deletion), from every
//! operation that stores new data; and the working reserve, from every operation that grows. The
//! first half of the working reserve is for small overwrites of blocks that are mapped and shared
//! with a snapshot or clone; all of it is for compare-and-write there and for small documents. So
//! locks, and the registrations that decide who may write, can still change when the pool is full.
//! A page that only moves to a new address is admitted: its old block becomes free at the next
//! checkpoint.

use crate::core::Core;
use crate::core::progress::{Placed, Progress, Refused, RefusedPromise};
use crate::interface::PoolError;
use crate::interface::operation::Operation;
use crate::map::reserves::{Ask, DROP_GROWTH, Purpose};
use crate::map::space::Found;
use crate::schedule::step::Step;
use block::BlockError;
use media::{BLOCK_BYTES, Media};

/// Number of retries, one after each checkpoint, of an operation without promised space.
const TRIES: u8 = 2;
/// Number of retries of an operation that keeps only promised blocks, while enough blocks are freed
/// and wait for a checkpoint.
const ENTITLED_TRIES: u8 = 100;
/// Largest small overwrite, and largest growth of documents in a full pool, in bytes.
pub(crate) const SMALL_BYTES: usize = 64 << 10;

impl<M: Media> Core<M> {
    /// Checks that the blocks can be allocated now.
    pub(crate) fn room(&mut self, ask: Ask, progress: &mut Progress) -> Result<(), Step> {
        if self.has_parked_writes() && ask.lasting > 0 && ask.purpose != Purpose::Freeing {
            return Err(Step::Space); // which fails while the file system is full
        }
        let available = self.map.space().available();
        let blocks = ask.lasting + ask.passing;
        let uncovered = ask.lasting.saturating_sub(ask.covered);
        let owed = self.map.owed_blocks().saturating_sub(ask.covered);
        let reserve = match ask.purpose {
            Purpose::Freeing => 0,
            Purpose::Locking => self.map.reserve_blocks(),
            Purpose::Overwriting => self.map.reserve_blocks() + self.map.working_blocks() / 2,
            Purpose::Storing => self.map.reserve_blocks() + self.map.working_blocks(),
        };
        let kept = match uncovered + ask.promise {
            0 if !ask.partial => 0,
            0 => owed,
            _ => owed + DROP_GROWTH + reserve,
        };
        let needed = blocks + ask.promise + kept + self.map.checkpoint_blocks();
        if available < needed || crate::mutations::allocation_fails() {
            let left = (available + ask.promise + blocks).saturating_sub(needed);
            progress.refused = Some(Refused {
                entitled: uncovered <= ask.taken && ask.promise == 0 && !ask.partial,
                needed,
                promise: (ask.promise > 0).then_some(RefusedPromise { needed: ask.promise, left }),
            });
            return Err(Step::Space);
        }
        match self.map.find_space(blocks) {
            Found::Enough => Ok(()),
            Found::Unread => Err(Step::Wait),
            Found::TooFew => Err(Step::Space),
        }
    }

    /// Notes an operation that has taken blocks, of which `available` could be allocated before; counts those for
    /// which it had not asked.
    pub(crate) fn note_taken(&mut self, available: u64, ask: Ask) {
        let taken = available.saturating_sub(self.map.space().available());
        self.counters.unplanned += taken.saturating_sub(ask.lasting + ask.passing);
    }

    /// Notes that a large write has taken its blocks, promised ones among them.
    pub(crate) fn now_in_flight(&mut self, placed: &Placed) {
        self.placed.begin(placed);
        self.map.promise_taken(placed.object, placed.covered);
    }

    /// Notes that a large write takes effect or has failed.
    pub(crate) fn no_longer_in_flight(&mut self, placed: &Placed) {
        self.placed.end(placed);
        self.map.promise_settled(placed.object, placed.covered);
    }

    /// True if a large write that has taken blocks can continue; it gives back the blocks that it
    /// did not need.
    pub(super) fn placed_can_continue(&self) -> bool {
        let waiting = self.schedule.count_space_waiters(|pending| pending.progress.placed.is_some());
        self.placed.in_progress() > waiting
    }

    /// True if blocks are about to become allocatable: freed ones, or those kept back for documents
    /// that the next checkpoint stores.
    pub(super) fn space_is_coming(&self) -> bool {
        !self.map.drops().queue().is_empty()
            || self.map.space().pinned() > 0
            || self.map.documents().has_changed()
            || self.checkpoints.in_flight()
    }

    /// Cancels the hold of an online check on freed blocks while operations wait for space.
    pub(crate) fn release_held_space(&mut self) {
        if self.schedule.waits_for_space()
            && let Some(check) = &mut self.online_check
        {
            check.spoil();
        }
    }

    /// Retries every operation that waits for space. One that has used up its
    /// retries fails: blocks that were free when it arrived have been released by then. Operations
    /// with promised space stay as long as that space is about to become free. While the owner offers
    /// to free space, operations of hosts stay, and are retried after each checkpoint; when the offer
    /// ends, they have all their retries again. True if there is one to attempt or to end.
    pub(crate) fn fail_or_retry_space(&mut self, after_checkpoint: bool) -> bool {
        let coming = self.map.coming_blocks();
        let busy = self.placed_can_continue();
        let is_offered = self.schedule.offer().is_made() && self.stopped.is_none();
        let mut is_wanted = false;
        let retried = self.schedule.retry_space(|pending| {
            let refused = pending.progress.refused;
            let entitled = refused.is_some_and(|refused| refused.entitled);
            // Large writes in flight give back unneeded blocks.
            pending.progress.space_tries += u8::from(!(entitled && busy));
            // The promised blocks are free, but not yet released.
            let due = entitled && refused.is_some_and(|refused| coming >= refused.needed);
            let most = if due { ENTITLED_TRIES } else { TRIES };
            let is_used_up = pending.progress.space_tries > most || pending.progress.awaits_offer;
            // Changes of the catalog and scans are the owner's own: it does not free space while it waits for them.
            if is_used_up && is_offered && pending.operation.is_change_of_a_host() {
                // When the offer ends, the space of the last deletion comes with the checkpoints after it.
                pending.progress.awaits_offer = true;
                pending.progress.space_tries = 0;
                is_wanted |= !after_checkpoint;
                return after_checkpoint;
            }
            if pending.progress.space_tries > most {
                pending.fail(match (&pending.operation, refused.and_then(|refused| refused.promise)) {
                    (Operation::Catalog(_) | Operation::Reshare(_), Some(RefusedPromise { needed, left })) => {
                        PoolError::NoRoomForReservation {
                            needed_bytes: needed * BLOCK_BYTES as u64,
                            available_bytes: left * BLOCK_BYTES as u64,
                        }
                        .into()
                    }
                    (Operation::Catalog(_), None) => PoolError::PoolFull.into(),
                    _ => BlockError::PoolFull.into(),
                });
            }
            true
        });
        if is_wanted {
            self.schedule.offer_mut().note_wanted();
        }
        retried
    }

    /// Makes or withdraws the owner's offer to free space that operations of hosts need.
    pub fn offer_space(&mut self, is_made: bool) {
        self.schedule.offer_mut().set(is_made);
    }

    /// True if an operation has waited for the owner's offer since the last call.
    pub fn take_space_wanted(&mut self) -> bool {
        self.schedule.offer_mut().take_wanted()
    }

    /// True if an operation with records of `bytes` bytes may go into the log now.
    #[inline]
    pub(crate) fn log_takes(&self, bytes: usize) -> bool {
        // No checkpoint completes while the file system is full: the whole log may be used in that
        // state.
        self.log.fits(bytes) && !self.log.awaits_much() && (!self.is_paced(bytes) || self.has_parked_writes())
    }

    /// True if an operation with records of `bytes` bytes would get ahead of the checkpoint or of
    /// destaging.
    #[inline]
    fn is_paced(&self, bytes: usize) -> bool {
        self.memory_is_full()
            || self.checkpoints.log_limit().is_some_and(|limit| self.log.used() + bytes as u64 > limit)
    }

    /// Target for the number of dirty blocks in memory; hosts exceed it if they write faster than
    /// the medium.
    #[inline]
    fn most_dirty(&self) -> usize {
        (self.options.memory_bytes / 8 / BLOCK_BYTES).max(8)
    }

    /// True if so many blocks are dirty, or so many pages have changed since the checkpoint in
    /// flight began, that no operation may add to them.
    #[inline]
    pub(crate) fn memory_is_full(&self) -> bool {
        self.map.content().dirty() >= 2 * self.most_dirty()
            || (self.checkpoints.in_flight() && self.map.pages().dirty_bytes() > self.options.memory_bytes / 8)
    }

    /// Number of blocks, out of `batch`, that may be destaged at a time: none while few are dirty,
    /// since hosts may overwrite them soon; then increasingly more.
    pub(crate) fn destage_share(&self, batch: usize) -> usize {
        let most = self.most_dirty();
        let low = most / 2;
        let over = self.map.content().dirty().saturating_sub(low).min(most - low);
        (batch * over).div_ceil(most - low)
    }
}
