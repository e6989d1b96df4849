//! Destaging: content that only the log holds goes to its place.

use crate::content::data::Data;
use crate::core::Core;
use crate::core::checkpoint::frozen::Stage;
use crate::core::io::Io;
use crate::interface::PoolError;
use crate::mutations::{Mutation, leaves_out};
use media::{BlockAddress, Media};

impl<M: Media> Core<M> {
    /// True while ordinary destaging must not start new writes: the flip waits for those in flight.
    pub(crate) fn destage_paused(&self) -> bool {
        self.checkpoints.frozen.as_ref().is_some_and(|f| f.stage != Stage::Writing)
    }

    /// Destages the blocks that the finish rule demands, then flushes.
    ///
    /// A block is taken with the content that it has then, and written when the record of that is
    /// durable: hosts may overwrite it without end, and its newest record would never be.
    pub(super) fn destage_frozen(&mut self) {
        let Some(mut frozen) = self.checkpoints.frozen.take() else { return };
        let durable = self.log.durable_sequence();
        if self.replaying.is_none() && durable < frozen.sequence {
            self.checkpoints.frozen = Some(frozen);
            return;
        }
        let skip = leaves_out(Mutation::Finish);
        if (skip || self.map.content().named() == 0) && self.checkpoints.destaging == 0 {
            frozen.stage = Stage::Flushing;
            self.checkpoints.frozen = Some(frozen);
            return self.flush_frozen();
        }
        let early = self.replaying.is_some() || leaves_out(Mutation::LogBeforeDestage);
        let durable = if early { u64::MAX } else { durable };
        let room = self.options.destage_batch.saturating_sub(self.checkpoints.destaging);
        let limit = if room > 0 && !skip { room.min(self.turn.blocks_left()) } else { 0 };
        let mut batch = Vec::new();
        let mut more = false;
        if limit > 0 && frozen.captured.len() < self.options.destage_batch {
            let (taken, rest) = self.map.take_named(limit);
            more = rest;
            frozen.captured.extend(taken);
        }
        while batch.len() < limit
            && let Some((_, _, record)) = frozen.captured.front()
            && *record < durable
            && let Some((address, data, record)) = frozen.captured.pop_front()
        {
            if self.map.begin_destage_of(address, record) {
                batch.push((address, data));
            }
        }
        self.checkpoints.frozen = Some(frozen);
        if more && batch.is_empty() {
            self.turn.cut();
        }
        batch.sort_unstable_by_key(|(address, _)| *address);
        self.write_batch(batch);
    }

    fn flush_frozen(&mut self) {
        if self.medium.needs_flush() {
            self.medium.flush(Io::CheckpointFlush);
        } else {
            self.checkpoint_flushed();
        }
    }

    /// Destages dirty blocks whose record is durable, in the order of their addresses.
    pub(crate) fn destage(&mut self) {
        if self.destage_paused() || self.checkpoints.destaging >= self.options.destage_batch {
            return;
        }
        let limit = self.destage_share(self.options.destage_batch).saturating_sub(self.checkpoints.destaging);
        // Neighbours are written together, so small batches would cost more requests.
        let least = (self.options.destage_batch / 8).max(1);
        if limit < least {
            return;
        }
        let left = self.turn.blocks_left();
        if left < limit.min(least).min(self.options.turn_blocks) {
            return self.turn.cut();
        }
        let early = leaves_out(Mutation::LogBeforeDestage);
        let durable = if early { u64::MAX } else { self.log.durable_sequence() };
        let (batch, more) = self.map.begin_destage(durable, limit.min(left));
        if more || (batch.len() == left && left < limit) {
            self.turn.cut();
        }
        self.write_batch(batch);
    }

    /// Destages everything that replay has put into memory, blocking. The log that holds it is durable. Ends
    /// early where the file system below has no room.
    pub(crate) fn destage_replayed(&mut self) -> Result<(), PoolError> {
        loop {
            self.turn.begin();
            let (batch, more) = self.map.begin_destage(u64::MAX, self.options.destage_batch);
            if batch.is_empty() && !more && self.checkpoints.destaging == 0 {
                return Ok(());
            }
            self.write_batch(batch);
            if self.medium.in_flight() > 0 {
                self.medium.wait();
            }
            while let Some(completion) = self.medium.poll() {
                self.complete(completion);
            }
            if let Some(reason) = &self.stopped {
                return Err(PoolError::Stopped(reason.clone()));
            }
            if self.has_parked_writes() && self.medium.in_flight() == 0 {
                return Ok(());
            }
        }
    }

    fn write_batch(&mut self, batch: Vec<(BlockAddress, Data)>) {
        self.checkpoints.destaging += batch.len();
        self.turn.spend_blocks(batch.len());
        let mut run: Vec<(BlockAddress, Data)> = Vec::new();
        for item in batch {
            if run.len() == 64 || run.last().is_some_and(|(last, _)| *last + 1 != item.0) {
                self.write_destage(std::mem::take(&mut run), false);
            }
            run.push(item);
        }
        if !run.is_empty() {
            self.write_destage(run, false);
        }
    }

    pub(crate) fn write_destage(&mut self, run: Vec<(BlockAddress, Data)>, retried: bool) {
        let Some(&(address, _)) = run.first() else { return };
        let buffer = self.medium.stock().copy_of(run.iter().map(|(_, data)| data));
        let addresses = run.iter().map(|(a, _)| *a).collect();
        self.medium.write(Io::Destage { addresses, data: run, retried }, address, buffer);
    }
}
