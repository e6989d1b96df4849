//! Handling of completed requests.

use crate::checksum::Crc32c;
use crate::content::data::Data;
use crate::core::Core;
use crate::core::io::Io;
use crate::interface::operation::OperationId;
use crate::interface::{Incident, PoolError};
use crate::map::page::Page;
use crate::medium::read_result;
use crate::schedule::Key;
use block::BlockError;
use bytes::Bytes;
use media::Done;
use media::Media;
use media::MediaError;
use media::{Block, Buffer};
use media::{BlockAddress, Completion};
use smallvec::smallvec;

impl<M: Media> Core<M> {
    pub(super) fn complete(&mut self, mut completion: Completion) {
        let Some(io) = self.medium.take(completion.ticket) else { return };
        if !matches!(io, Io::Frame { .. }) {
            self.medium.recycle(&mut completion.result);
        }
        self.note_probe(completion.ticket, completion.result.is_ok());
        if let Err(error @ (MediaError::Fenced | MediaError::RootConflict { .. })) = &completion.result {
            let reason = error.to_string();
            return self.stop(reason);
        }
        if self.stopped.is_some() {
            // The failed request may have been one that a checkpoint in flight relies on.
            return;
        }
        let result = completion.result;
        match io {
            Io::Page { address, level, crc, retried } => self.page_read(address, level, crc, retried, result),
            Io::Segment { segment, retried } => self.segment_read(segment, retried, result),
            Io::Blocks { address, crcs, retried } => self.blocks_read(address, &crcs, retried, result),
            Io::Read { operation, blocks, address } => self.read_arrived(operation, &blocks, address, result),
            Io::Check { generation, read } => self.check_arrived(generation, read, result),
            Io::Verify { operation, blocks } => self.verified(operation, blocks, result),
            Io::Placed { operation, held: None } => self.placed_written(operation, result),
            Io::Placed { operation, held: Some(held) } => self.content_written(operation, held, result),
            Io::PlacedFlush { operations } => self.placed_flushed(operations, result),
            Io::Frame { position } => self.frame_written(position, result),
            Io::Confirm { position, frame } => match result {
                Err(MediaError::NoSpace { .. }) => self.park(Io::Confirm { position, frame }),
                result => self.frame_written(position, result.map(|_| Done::Written(None))),
            },
            Io::Destage { addresses, data, retried } => self.destage_written(addresses, data, retried, result),
            Io::Checkpoint { blocks, rewrite } => match result {
                Ok(_) => self.checkpoint_written(blocks),
                Err(MediaError::NoSpace { .. }) => {
                    self.park(Io::Checkpoint { blocks, rewrite });
                }
                Err(error) => self.stop(format!("a checkpoint write failed: {error}")),
            },
            Io::Discard(run) => self.discarded(run, &result),
            Io::CheckpointFlush => match result {
                // Of two concurrent flushes only one may report lost writes.
                Ok(_) if self.placed.is_flushing() => self.checkpoints.delay_flip(),
                Ok(_) => self.checkpoint_flushed(),
                Err(error) => self.stop(format!("a flush failed: {error}")),
            },
            Io::Swap => match result {
                Ok(_) => self.checkpoint_done(),
                Err(MediaError::NoSpace { .. }) => self.park(Io::Swap),
                Err(error) => self.stop(format!("the superblock could not be written: {error}")),
            },
        }
    }

    fn page_read(
        &mut self,
        address: BlockAddress,
        level: u8,
        crc: Crc32c,
        retried: bool,
        result: Result<Done, MediaError>,
    ) {
        let parsed = read_result(result).and_then(|buffer| {
            let page = Page::parse(&buffer, address, level, crc);
            self.medium.stock().give(buffer);
            page
        });
        match parsed {
            Ok(page) => {
                self.map.page_arrived(address, page);
                self.schedule.wake(Key::Page(address), None);
            }
            Err(_) if !retried => {
                self.counters.mismatches += 1;
                self.medium.read(Io::Page { address, level, crc, retried: true }, address, 1);
            }
            Err(reason) => self.page_failed(address, reason),
        }
    }

    /// Handles an unreadable map page. Operations that need it fail; scans skip it.
    fn page_failed(&mut self, address: BlockAddress, reason: String) {
        self.incidents.note(Incident::Metadata(reason.clone()));
        self.map.park_drops(address);
        let failure = PoolError::Damaged(reason.clone()).into();
        self.schedule.wake_surviving(Key::Page(address), failure, |pending| {
            let survives = pending.operation.survives_bad_pages();
            if survives {
                pending.progress.note_bad_page(address, &reason);
            }
            if !survives {
                pending.progress.bad_page = Some(address);
            }
            survives
        });
    }

    fn segment_read(&mut self, segment: u32, retried: bool, result: Result<Done, MediaError>) {
        let read = read_result(result);
        let arrived = read.is_ok();
        let key = Key::Segment(segment);
        let Err(reason) = read.and_then(|block| self.map.counts_arrived(segment, &block)) else {
            return self.schedule.wake(key, None);
        };
        if let (false, Some((address, _))) = (retried, self.map.space().source(segment)) {
            return self.medium.read(Io::Segment { segment, retried: true }, address, 1);
        }
        self.incidents.note(Incident::Metadata(reason.clone()));
        if arrived {
            self.map.give_up_counts(segment);
            self.schedule.wake(key, None);
        } else {
            self.map.lose_counts(segment, &reason);
            self.schedule.wake(key, Some(PoolError::Damaged(reason).into()));
        }
    }

    fn blocks_read(&mut self, address: BlockAddress, crcs: &[Crc32c], retried: bool, result: Result<Done, MediaError>) {
        let buffer = read_result(result).ok();
        let content = buffer.as_ref().map(Buffer::as_blocks).unwrap_or_default();
        for (at, crc) in crcs.iter().enumerate() {
            self.block_read(address + at as u64, *crc, retried, content.get(at));
        }
        if let Some(buffer) = buffer {
            self.medium.stock().give(buffer);
        }
    }

    /// Handles the read of one block. `None`: it failed.
    fn block_read(&mut self, address: BlockAddress, crc: Crc32c, retried: bool, content: Option<&Block>) {
        let key = Key::Block(address);
        if self.map.content_at(address, crc).is_some() {
            // A write stored the content during the read.
            return self.schedule.wake(key, None);
        }
        match content {
            Some(block) if Crc32c::of(&block.0) == crc => {
                self.map.content_arrived(address, &block.0, crc);
                self.schedule.wake(key, None);
            }
            _ if !retried => {
                self.counters.mismatches += 1;
                self.medium.read(Io::Blocks { address, crcs: smallvec![crc], retried: true }, address, 1);
            }
            // The operations are planned again, since the block may have been overwritten
            // meanwhile; one that still needs it fails.
            Some(_) | None => {
                let reason = || PoolError::Damaged(format!("block {address} fails its checksum or cannot be read"));
                let failure = self.schedule.is_unawaited(key).then(|| reason().into());
                self.schedule.for_waiters(key, |pending| pending.progress.bad_block = Some((address, crc)));
                self.schedule.wake(key, failure);
            }
        }
    }

    fn placed_written(&mut self, id: OperationId, result: Result<Done, MediaError>) {
        // No record refers to the blocks yet, so a failed write affects only this operation.
        let failure = match result {
            Ok(_) => None,
            Err(MediaError::NoSpace { .. }) => Some(BlockError::PoolFull),
            Err(error) => return self.stop(format!("a data write failed: {error}")),
        };
        if failure.is_some() && self.parked.note_refused() {
            // The checkpoint finds out whether acknowledged data still fits below.
            self.checkpoints.request();
        }
        let Some(pending) = self.schedule.get_mut(id) else { return };
        let Some(placed) = &mut pending.progress.placed else { return };
        placed.writes -= 1;
        let last = placed.writes == 0;
        let placed_together = placed.together;
        if let Some(failure) = failure {
            pending.fail(failure.into());
        }
        match (last, pending.is_failing()) {
            (false, _) => {}
            (true, false) => {
                self.parked.note_placed();
                match placed_together {
                    // Durable on completion; the operation waits for what its record needs.
                    true => {}
                    false => self.placed.note_written(id),
                }
            }
            (true, true) => self.schedule.make_ready(id),
        }
    }

    /// Handles the write of content whose record goes together with it.
    fn content_written(&mut self, id: OperationId, held: (BlockAddress, Bytes), result: Result<Done, MediaError>) {
        if !self.placed.is_logged(id) {
            // The operation has not taken effect yet, and fails alone.
            self.medium.release_reads(held.0);
            return self.placed_written(id, result);
        }
        match result {
            Ok(_) => self.medium.release_reads(held.0),
            // The record is in the log: the content has to follow when there is room.
            Err(MediaError::NoSpace { .. }) => return self.park(Io::Placed { operation: id, held: Some(held) }),
            Err(error) => return self.stop(format!("a data write failed: {error}")),
        }
        if let Some(sequence) = self.placed.note_content(id) {
            self.log.content_durable(sequence);
            self.acknowledge_durable();
        }
    }

    /// Reports the operations whose records have become durable.
    fn acknowledge_durable(&mut self) {
        let durable = self.log.durable_sequence();
        self.placed.note_durable(durable);
        self.schedule.acknowledge(durable);
    }

    fn placed_flushed(&mut self, operations: Vec<OperationId>, result: Result<Done, MediaError>) {
        self.placed.set_flushing(false);
        if let Err(error) = result {
            return self.stop(format!("a flush failed: {error}"));
        }
        if self.checkpoints.take_delayed_flip() {
            self.checkpoint_flushed();
        }
        for id in operations {
            self.placed_ready(id);
        }
    }

    /// Flushes the written data of large writes.
    pub(super) fn flush_placed(&mut self) {
        let operations = self.placed.take_unflushed();
        if operations.is_empty() {
            return;
        }
        if self.medium.needs_flush() {
            self.placed.set_flushing(true);
            self.medium.flush(Io::PlacedFlush { operations });
        } else {
            for id in operations {
                self.placed_ready(id);
            }
        }
    }

    fn placed_ready(&mut self, id: OperationId) {
        if let Some(pending) = self.schedule.get_mut(id) {
            if let Some(placed) = &mut pending.progress.placed {
                placed.flushed = true;
            }
            self.schedule.make_ready(id);
        }
    }

    fn frame_written(&mut self, position: u64, result: Result<Done, MediaError>) {
        match result {
            Ok(done) => {
                if let Done::Written(Some(buffer)) = done {
                    self.log.recycle(buffer);
                }
                self.log.frame_durable(position);
                self.acknowledge_durable();
            }
            Err(error) => self.stop(format!("a log write failed: {error}")),
        }
    }

    fn destage_written(
        &mut self,
        addresses: Vec<BlockAddress>,
        data: Vec<(BlockAddress, Data)>,
        retried: bool,
        result: Result<Done, MediaError>,
    ) {
        match result {
            Ok(_) => {
                self.checkpoints.note_destaged(addresses.len());
                self.counters.destaged += addresses.len() as u64;
                for address in addresses {
                    self.map.end_destage(address);
                }
            }
            Err(MediaError::NoSpace { .. }) => {
                self.park(Io::Destage { addresses, data, retried });
            }
            Err(_) if !retried => self.write_destage(data, true),
            Err(error) => self.stop(format!("a destage write failed: {error}")),
        }
    }
}
