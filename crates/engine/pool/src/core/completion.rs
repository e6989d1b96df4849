//! Requests to the medium and what their completion means.

use crate::content::blocks::Data;
use crate::core::Core;
use crate::geometry::FANOUT;
use crate::interface::operation::{Failure, Operation, OperationId, operation_lba};
use crate::interface::{Incident, PoolError};
use crate::map::page::Page;
use crate::schedule::step::Key;
use block::BlockError;
use media::{BLOCK_BYTES, BlockAddress, Buffer, Completion, Done, Media, MediaError, Ticket};
use std::rc::Rc;

/// Leaves of the map (1 MiB each) in which the search for a damaged page's first block looks at most: 64 GiB of a range.
const LEAVES_SEARCHED: u64 = 65_536;

/// What a request to the medium was for.
pub(crate) enum Io {
    Page {
        address: u64,
        level: u8,
        crc: u32,
        retried: bool,
    },
    Segment {
        segment: u32,
        retried: bool,
    },
    Block {
        address: u64,
        crc: u32,
        retried: bool,
    },
    /// Blocks of an operation's read: (block within the object, CRC) for each block of the buffer.
    Read {
        operation: OperationId,
        blocks: Vec<(u64, u32)>,
        address: u64,
    },
    /// A read of the check under way.
    Check {
        generation: u64,
        read: crate::core::scan::online_check::CheckRead,
    },
    /// Blocks of an operation that verifies: block of the object, address, CRC.
    Verify {
        operation: OperationId,
        blocks: Vec<(u64, u64, u32)>,
    },
    Placed {
        operation: OperationId,
    },
    PlacedFlush {
        operations: Vec<OperationId>,
    },
    Frame {
        position: u64,
    },
    Destage {
        addresses: Vec<u64>,
        data: Vec<(u64, Data)>,
        retried: bool,
    },
    Checkpoint {
        blocks: usize,
        rewrite: crate::core::starved::Rewrite,
    },
    CheckpointFlush,
    Swap,
    Discard {
        address: u64,
        blocks: u64,
    },
}

impl<M: Media> Core<M> {
    pub(crate) fn ticket(&mut self, io: Io) -> Ticket {
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        self.io.insert(ticket, io);
        ticket
    }

    /// Requests everything in `need` that is not on its way already; returns what to wait for.
    pub(crate) fn issue_need(&mut self) -> Vec<Key> {
        let mut keys = Vec::new();
        let need = std::mem::take(&mut self.need);
        for &(address, level, crc) in &need.pages {
            let key = Key::Page(address);
            if self.first_to_wait(key) {
                let ticket = self.ticket(Io::Page { address, level, crc, retried: false });
                self.media.read(ticket, BlockAddress(address), self.stock.take(1));
            }
            keys.push(key);
        }
        for &segment in &need.segments {
            let key = Key::Segment(segment);
            let Some((address, _)) = self.space.source(segment) else { continue };
            if self.first_to_wait(key) {
                let ticket = self.ticket(Io::Segment { segment, retried: false });
                self.media.read(ticket, BlockAddress(address), self.stock.take(1));
            }
            keys.push(key);
        }
        for &(address, crc) in &need.blocks {
            let key = Key::Block(address);
            if self.first_to_wait(key) {
                let ticket = self.ticket(Io::Block { address, crc, retried: false });
                self.media.read(ticket, BlockAddress(address), self.stock.take(1));
            }
            keys.push(key);
        }
        self.need = need;
        self.need.clear();
        keys
    }

    /// True when nobody waits for `key` yet, so that it has to be requested.
    fn first_to_wait(&mut self, key: Key) -> bool {
        let first = !self.waiters.contains_key(&key);
        self.waiters.entry(key).or_default();
        first
    }

    /// True when something in `need` could not be read when the pool itself asked for it.
    pub(crate) fn need_is_unreadable(&self) -> bool {
        self.need_keys().any(|key| self.unreadable.contains_key(&key))
    }

    fn need_keys(&self) -> impl Iterator<Item = Key> {
        let pages = self.need.pages.iter().map(|page| Key::Page(page.0));
        pages.chain(self.need.segments.iter().map(|segment| Key::Segment(*segment)))
    }

    /// Requests what the pool itself needs. It stops when nothing of that can be read: without, it cannot go on.
    pub(crate) fn issue_need_or_stop(&mut self) {
        let mut reasons = self.need_keys().map(|key| self.unreadable.get(&key).cloned());
        match reasons.next().flatten() {
            Some(reason) if reasons.all(|reason| reason.is_some()) => {
                drop(reasons);
                self.stop(reason);
            }
            _ => {
                drop(reasons);
                self.issue_need();
            }
        }
    }

    fn wake(&mut self, key: Key, failure: Option<Failure>) {
        let waiters = self.waiters.remove(&key).unwrap_or_default();
        if let (Some(failure), true) = (&failure, waiters.is_empty()) {
            let reason = match failure {
                Failure::Block(error) => error.to_string(),
                Failure::Pool(error) => error.to_string(),
            };
            self.unreadable.insert(key, reason);
        }
        for id in waiters {
            let Some(pending) = self.operations.get_mut(&id) else { continue };
            pending.waiting = pending.waiting.saturating_sub(1);
            if let Some(failure) = &failure {
                pending.failed.get_or_insert_with(|| failure.clone());
            }
            if pending.waiting == 0 {
                self.ready.push_back(id);
            }
        }
    }

    /// A map page cannot be read. Operations that need it fail; scans go around it.
    fn page_failed(&mut self, address: u64, reason: String) {
        let key = Key::Page(address);
        self.note_incident(Incident::Metadata(reason.clone()));
        self.park_drops(|dropped| dropped.address == address);
        let mut failing = Vec::new();
        for id in self.waiters.remove(&key).unwrap_or_default() {
            match self.operations.get_mut(&id) {
                Some(pending) if pending.operation.survives_bad_pages() => {
                    if let Some(scan) = &mut pending.progress.scan {
                        scan.bad_pages.push((address, reason.clone()));
                    }
                    pending.waiting = pending.waiting.saturating_sub(1);
                    if pending.waiting == 0 {
                        self.ready.push_back(id);
                    }
                }
                Some(pending) => {
                    pending.progress.bad_page = Some(address);
                    failing.push(id);
                }
                None => {}
            }
        }
        self.waiters.insert(key, failing);
        self.wake(key, Some(PoolError::Damaged(reason).into()));
    }

    pub(crate) fn complete(&mut self, mut completion: Completion) {
        let Some(io) = self.io.remove(&completion.ticket) else { return };
        if !matches!(io, Io::Frame { .. })
            && let Ok(Done::Written(written)) = &mut completion.result
            && let Some(buffer) = written.take()
        {
            self.stock.give(buffer);
        }
        self.note_probe(completion.ticket, completion.result.is_ok());
        let fenced = matches!(completion.result, Err(MediaError::Fenced | MediaError::RootConflict { .. }));
        if let (true, Err(error)) = (fenced, &completion.result) {
            let reason = error.to_string();
            self.stop(reason);
            return;
        }
        if self.stopped.is_some() {
            // What failed may have taken with it what a checkpoint in flight relies on.
            return;
        }
        match io {
            Io::Page { address, level, crc, retried } => {
                let parsed = read_result(completion.result).and_then(|buffer| {
                    let page = Page::parse(&buffer, address, level, crc);
                    self.stock.give(buffer);
                    page
                });
                match parsed {
                    Ok(page) => {
                        if !self.pages.contains_key(&address) {
                            self.insert_page(address, Rc::new(page));
                        }
                        self.wake(Key::Page(address), None);
                    }
                    Err(_) if !retried => {
                        self.counters.mismatches += 1;
                        let ticket = self.ticket(Io::Page { address, level, crc, retried: true });
                        self.media.read(ticket, BlockAddress(address), self.stock.take(1));
                    }
                    Err(reason) => self.page_failed(address, reason),
                }
            }
            Io::Segment { segment, retried } => {
                let read = read_result(completion.result);
                let arrived = read.is_ok();
                match read.and_then(|block| self.space.load(segment, &block)) {
                    Ok(()) => self.wake(Key::Segment(segment), None),
                    Err(reason) => {
                        if let (false, Some((address, _))) = (retried, self.space.source(segment)) {
                            let ticket = self.ticket(Io::Segment { segment, retried: true });
                            self.media.read(ticket, BlockAddress(address), self.stock.take(1));
                        } else {
                            self.note_incident(Incident::Metadata(reason.clone()));
                            let failure = match arrived {
                                true => {
                                    self.space.give_up(segment);
                                    None
                                }
                                false => {
                                    self.space.lose(segment, &reason);
                                    Some(PoolError::Damaged(reason).into())
                                }
                            };
                            self.wake(Key::Segment(segment), failure);
                        }
                    }
                }
            }
            Io::Block { address, crc, retried } => self.block_read(address, crc, retried, completion.result),
            Io::Read { operation, blocks, address } => self.read_arrived(operation, blocks, address, completion.result),
            Io::Check { generation, read } => self.check_arrived(generation, read, completion.result),
            Io::Verify { operation, blocks } => self.verified(operation, blocks, completion.result),
            Io::Placed { operation } => {
                // Nothing refers to the blocks yet, so that they could not be written harms only this operation.
                let failure = match completion.result {
                    Ok(_) => None,
                    Err(MediaError::NoSpace { .. }) => Some(BlockError::PoolFull),
                    Err(error) => return self.stop(format!("a data write failed: {error}")),
                };
                let Some(pending) = self.operations.get_mut(&operation) else { return };
                let Some(placed) = &mut pending.progress.placed else { return };
                placed.writes -= 1;
                let last = placed.writes == 0;
                if let Some(failure) = failure {
                    pending.failed.get_or_insert(failure.into());
                }
                match (last, pending.failed.is_some()) {
                    (false, _) => {}
                    (true, false) => self.placed_unflushed.push(operation),
                    (true, true) => self.ready.push_back(operation),
                }
            }
            Io::PlacedFlush { operations } => {
                self.placed_flush_in_flight = false;
                match completion.result {
                    Ok(_) => {
                        if std::mem::take(&mut self.flip_waits) {
                            self.checkpoint_flushed();
                        }
                        for id in operations {
                            self.placed_ready(id);
                        }
                    }
                    Err(error) => self.stop(format!("a flush failed: {error}")),
                }
            }
            Io::Frame { position } => match completion.result {
                Ok(done) => {
                    if let Done::Written(Some(buffer)) = done {
                        self.log.recycle(buffer);
                    }
                    self.log.frame_durable(position);
                    self.acknowledge();
                }
                Err(error) => self.stop(format!("a log write failed: {error}")),
            },
            Io::Destage { addresses, data, retried } => match completion.result {
                Ok(_) => {
                    let frozen_at = self.frozen.as_ref().map(|f| f.sequence);
                    if let Some(frozen) = &mut self.frozen {
                        frozen.pace.progress(addresses.len());
                    }
                    for address in addresses {
                        self.destage_in_flight -= 1;
                        self.counters.destaged += 1;
                        self.blocks.end_destage(address, true, frozen_at);
                    }
                }
                Err(MediaError::NoSpace { .. }) if self.replaying.is_none() => {
                    self.park(Io::Destage { addresses, data, retried });
                }
                Err(_) if !retried => self.write_destage(data, true),
                Err(error) => self.stop(format!("a destage write failed: {error}")),
            },
            Io::Checkpoint { blocks, rewrite } => match completion.result {
                Ok(_) => self.checkpoint_written(blocks),
                Err(MediaError::NoSpace { .. }) if self.replaying.is_none() => {
                    self.park(Io::Checkpoint { blocks, rewrite });
                }
                Err(error) => self.stop(format!("a checkpoint write failed: {error}")),
            },
            Io::Discard { address, blocks } => self.discarded(address, blocks, &completion.result),
            Io::CheckpointFlush => match completion.result {
                // Of two flushes at once only one may tell that writes were lost.
                Ok(_) if self.placed_flush_in_flight => self.flip_waits = true,
                Ok(_) => self.checkpoint_flushed(),
                Err(error) => self.stop(format!("a flush failed: {error}")),
            },
            Io::Swap => match completion.result {
                Ok(_) => self.checkpoint_done(),
                Err(error) => self.stop(format!("the superblock could not be written: {error}")),
            },
        }
    }

    fn block_read(&mut self, address: u64, crc: u32, retried: bool, result: Result<Done, MediaError>) {
        let key = Key::Block(address);
        if self.blocks.get(address, crc).is_some() {
            // Written while the read was on its way.
            self.wake(key, None);
            return;
        }
        match read_result(result) {
            Ok(buffer) if crate::checksum::crc32c(&buffer) == crc => {
                if let [block] = buffer.as_blocks() {
                    let data = self.blocks.copy_of(&block.0);
                    self.blocks.cache(address, data, crc);
                }
                self.stock.give(buffer);
                self.wake(key, None);
            }
            _ if !retried => {
                self.counters.mismatches += 1;
                let ticket = self.ticket(Io::Block { address, crc, retried: true });
                self.media.read(ticket, BlockAddress(address), self.stock.take(1));
            }
            // The operations plan again, since the block may have been overwritten meanwhile; one that still needs it fails.
            Ok(_) | Err(_) => {
                for id in self.waiters.get(&key).cloned().unwrap_or_default() {
                    if let Some(pending) = self.operations.get_mut(&id) {
                        pending.progress.bad_block = Some((address, crc));
                    }
                }
                self.wake(key, None);
            }
        }
    }

    pub(crate) fn flush_placed(&mut self) {
        if self.placed_unflushed.is_empty() || self.placed_flush_in_flight {
            return;
        }
        let operations = std::mem::take(&mut self.placed_unflushed);
        if self.media.capabilities().needs_flush {
            self.placed_flush_in_flight = true;
            let ticket = self.ticket(Io::PlacedFlush { operations });
            self.media.flush(&self.fence, ticket);
        } else {
            for id in operations {
                self.placed_ready(id);
            }
        }
    }

    fn placed_ready(&mut self, id: OperationId) {
        if let Some(pending) = self.operations.get_mut(&id) {
            if let Some(placed) = &mut pending.progress.placed {
                placed.flushed = true;
            }
            self.ready.push_back(id);
        }
    }

    /// The object and block through which an operation needs the old content at `address`.
    pub(crate) fn place_needed(&mut self, operation: &Operation, address: u64) -> Option<(u64, u64)> {
        let block = BLOCK_BYTES as u64;
        let ends = |offset: u64, length: u64| [offset / block, (offset + length.max(1) - 1) / block];
        let mut candidates: Vec<(u64, u64)> = Vec::new();
        match operation {
            Operation::Write { object, offset, data, .. } => {
                candidates.extend(ends(*offset, data.len() as u64).map(|at| (*object, at)));
            }
            Operation::CompareAndWrite { object, offset, data, .. } => {
                let [first, last] = ends(*offset, data.len() as u64);
                candidates.extend((first..=last).map(|at| (*object, at)));
            }
            Operation::Zero { object, ranges, .. } => {
                let ends = ranges.iter().flat_map(|(offset, length)| ends(*offset, *length));
                candidates.extend(ends.map(|at| (*object, at)));
            }
            Operation::Clone { source, source_offset, destination, destination_offset, length } => {
                candidates.extend(ends(*source_offset, *length).map(|at| (*source, at)));
                candidates.extend(ends(*destination_offset, *length).map(|at| (*destination, at)));
            }
            _ => {}
        }
        let found = candidates
            .into_iter()
            .find(|&(object, at)| self.lookup(object, at).is_some_and(|entry| entry.address() == address));
        self.need.clear();
        found
    }
}

impl<M: Media> Core<M> {
    /// The failure of an operation that needs a map page which cannot be read or contradicts itself. What a host asked for gets the LBA of the first
    /// block whose place is not known; administration gets the reason. `page`: the address of the page, if it is known.
    pub(crate) fn damage_of(&mut self, operation: &Operation, page: Option<u64>, reason: String) -> Failure {
        if !operation.has_an_lba() {
            return PoolError::Damaged(reason).into();
        }
        let lba = self.first_below(operation, page).unwrap_or(operation_lba(operation));
        BlockError::ReadFailed { lba }.into()
    }

    /// The first logical block of the operation that lies below `page`.
    fn first_below(&mut self, operation: &Operation, page: Option<u64>) -> Option<u64> {
        let page = page?;
        let mut leaves = 0;
        for (object, offset, length) in operation.spans() {
            let mut block = offset / BLOCK_BYTES as u64;
            let end = (offset + length).div_ceil(BLOCK_BYTES as u64);
            while block < end && leaves < LEAVES_SEARCHED {
                let known = self.lookup(object, block).is_some();
                let below = self.need.pages.iter().any(|needed| needed.0 == page);
                self.need.clear();
                if !known && below {
                    return Some((block * (BLOCK_BYTES as u64 / 512)).max(offset / 512));
                }
                block = (block / FANOUT as u64 + 1) * FANOUT as u64;
                leaves += 1;
            }
        }
        None
    }
}

pub(crate) fn read_result(result: Result<Done, MediaError>) -> Result<Buffer, String> {
    match result {
        Ok(Done::Read(buffer)) => Ok(buffer),
        Ok(_) => Err("the medium answered a read with something else".into()),
        Err(error) => Err(error.to_string()),
    }
}
