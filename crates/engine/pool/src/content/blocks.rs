//! Blocks of data in memory: dirty ones, whose only durable copy is in the log until they are
//! destaged to their place, and a bounded cache of clean ones. Both are keyed by physical block.

use crate::checksum::Crc32c;
use crate::clock;
use crate::content::cache::Cache;
use crate::content::data::Data;
use crate::mutations::{Mutation, leaves_out};
use media::{BLOCK_BYTES, BlockAddress};
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;

struct Dirty {
    data: Data,
    crc: Crc32c,
    /// Sequence number of the newest record of the block: its whole content, or a patch.
    newest: u64,
    /// Sequence number of the newest record that holds the whole content at its time.
    image: u64,
    /// Sequence number of the first record whose content is not yet at its place.
    oldest: u64,
    /// Sequence number of the content being written to its place.
    in_flight: Option<u64>,
    /// Sequence number of the first record after the one in flight.
    oldest_after: Option<u64>,
    /// The block was freed; kept only for a checkpoint that still names it.
    dead: bool,
    /// True while the block waits in a queue to be destaged.
    queued: bool,
}

/// Blocks in memory, dirty and clean.
#[derive(Default)]
pub struct Blocks {
    dirty: FxHashMap<BlockAddress, Dirty>,
    clean: Cache,
    /// Addresses that the present sweep has still to visit, descending.
    sweep: Vec<BlockAddress>,
    /// Addresses for further sweeps, in the order in which the blocks became dirty; those in front of
    /// `swept` are done. While a checkpoint is in flight, all blocks that it names are here or in the
    /// sweep, unless their content is in flight.
    queue: Vec<BlockAddress>,
    swept: usize,
    /// Addresses for the time after that.
    fresh: Vec<BlockAddress>,
    /// Memory of unused blocks, for reuse.
    spare: Vec<Data>,
    /// First sequence number after the checkpoint in flight: it names the content of records below
    /// this one.
    frozen_at: Option<u64>,
    /// First sequence number after the last freeze: the log keeps the records from it on until the next one is
    /// complete.
    epoch_start: u64,
    /// Number of dirty blocks whose oldest content that is not at its place is from such a record.
    named: usize,
    /// During replay: the image of each block that was destaged meanwhile.
    replayed: Option<FxHashMap<BlockAddress, u64>>,
    /// True if the medium is memory. A block is then cached at its second read: to read it again costs
    /// less than a copy that nobody uses.
    medium_is_memory: bool,
}

/// Largest number of addresses in a sweep. More would be sorted for too long at a time; neighbours
/// are mostly written shortly after one another.
const SWEEP: usize = 2048;
/// Largest number of addresses that one search for blocks to destage visits.
const VISITED: usize = 512;
/// Largest number of spare blocks.
const SPARE: usize = 256;

impl Blocks {
    /// Returns the content of a block if it is in memory. `crc` is the checksum in the map; a clean
    /// copy with another checksum is from an earlier use of the block.
    #[inline]
    pub fn get(&mut self, address: BlockAddress, crc: Crc32c) -> Option<Data> {
        if let Some(d) = self.dirty.get(&address)
            && !d.dead
        {
            return Some(d.data.clone());
        }
        self.clean.get(address, crc).cloned()
    }

    /// Copies the content of one block.
    pub fn copy_of(&mut self, content: &[u8; BLOCK_BYTES]) -> Data {
        if let Some(mut data) = self.spare.pop()
            && let Some(place) = data.get_mut()
        {
            *place = *content;
            return data;
        }
        Data::copy_of(content)
    }

    fn recycle(spare: &mut Vec<Data>, data: Data) {
        if spare.len() < SPARE && data.is_unshared() {
            spare.push(data);
        }
    }

    /// True if the only durable copy of the block is in the log.
    pub fn is_dirty(&self, address: BlockAddress) -> bool {
        self.dirty.contains_key(&address)
    }

    /// Stores new content, which record `sequence` holds.
    pub fn write(&mut self, address: BlockAddress, data: Data, crc: Crc32c, sequence: u64) {
        self.store((address, data, crc), sequence, sequence);
    }

    /// Stores the content after a patch, which record `sequence` holds; `image` is that of the content before.
    pub fn patch(&mut self, address: BlockAddress, data: Data, crc: Crc32c, sequence: u64, image: u64) {
        self.store((address, data, crc), sequence, image);
    }

    #[inline]
    fn store(&mut self, (address, data, crc): (BlockAddress, Data, Crc32c), sequence: u64, image: u64) {
        if let Some(data) = self.clean.remove(address) {
            Self::recycle(&mut self.spare, data);
        }
        match self.dirty.entry(address) {
            Entry::Occupied(mut entry) => {
                let d = entry.get_mut();
                Self::recycle(&mut self.spare, std::mem::replace(&mut d.data, data));
                d.crc = crc;
                d.newest = sequence;
                d.image = image;
                d.dead = false;
                if d.in_flight.is_some() && d.oldest_after.is_none() {
                    d.oldest_after = Some(sequence);
                }
            }
            Entry::Vacant(entry) => {
                entry.insert(Dirty {
                    data,
                    crc,
                    newest: sequence,
                    image,
                    oldest: sequence,
                    in_flight: None,
                    oldest_after: None,
                    dead: false,
                    queued: true,
                });
                self.fresh.push(address);
            }
        }
    }

    /// Number of the record with the whole content of a block on which a patch of its content, with this checksum, may
    /// build: the log has held it since the last freeze, so replay meets both or neither.
    pub fn image(&self, address: BlockAddress, crc: Crc32c) -> Option<u64> {
        let image = match self.dirty.get(&address) {
            Some(dirty) => Some(dirty.image).filter(|_| !dirty.dead)?,
            None => match (self.clean.image(address, crc), &self.replayed) {
                (0, Some(replayed)) => replayed.get(&address).copied().unwrap_or(0),
                (image, _) => image,
            },
        };
        let kept = image >= self.epoch_start || leaves_out(Mutation::PatchImage);
        (image > 0 && kept).then_some(image)
    }

    /// Notes that the blocks are about to be written past this cache.
    pub fn place(&mut self, first: BlockAddress, count: u64) {
        for offset in 0..count {
            self.clean.remove(first + offset);
            if let Some(replayed) = &mut self.replayed {
                replayed.remove(&(first + offset));
            }
        }
    }

    /// Caches content that operations wait for, which was read from its place.
    pub fn cache(&mut self, address: BlockAddress, content: &[u8; BLOCK_BYTES], crc: Crc32c) {
        if !self.dirty.contains_key(&address) {
            let data = self.copy_of(content);
            self.clean.insert(address, data, crc);
        }
    }

    /// Caches a block that a host has read from its place. Returns the cached copy, or `None` if the
    /// block was not cached: it is dirty, or the medium is memory and this was its first read.
    pub fn cache_read(&mut self, address: BlockAddress, content: &[u8; BLOCK_BYTES], crc: Crc32c) -> Option<Data> {
        if self.dirty.contains_key(&address) || (self.medium_is_memory && !self.clean.read_again(address)) {
            return None;
        }
        let data = self.copy_of(content);
        self.clean.insert(address, data.clone(), crc);
        Some(data)
    }

    /// Handles the loss of the block's last reference: drops its content, unless the checkpoint in
    /// flight still names it.
    ///
    /// A clean copy may stay: it is not used under another checksum, and [`Blocks::place`] removes
    /// it before the block holds other content.
    pub fn free(&mut self, address: BlockAddress) {
        if let Some(d) = self.dirty.get_mut(&address) {
            d.dead = true;
            let named = self.frozen_at.is_some_and(|t| d.oldest < t);
            if !named
                && d.in_flight.is_none()
                && let Some(d) = self.dirty.remove(&address)
            {
                Self::recycle(&mut self.spare, d.data);
            }
        }
    }

    /// Number of dirty blocks.
    pub fn dirty(&self) -> usize {
        self.dirty.len()
    }

    /// Takes the next address of a sweep, over blocks named by the checkpoint in flight only, or over
    /// all. A sweep is short and goes through its blocks in the order of their addresses; the sweeps
    /// take the blocks in the order in which they became dirty.
    fn next_swept(&mut self, all: bool) -> Option<BlockAddress> {
        if self.sweep.is_empty() {
            if self.swept == self.queue.len() && all {
                self.queue.clear();
                self.swept = 0;
                std::mem::swap(&mut self.queue, &mut self.fresh);
            }
            let end = self.queue.len().min(self.swept + SWEEP);
            self.sweep.extend_from_slice(&self.queue[self.swept..end]);
            self.swept = end;
            self.sweep.sort_unstable_by_key(|address| std::cmp::Reverse(*address));
        }
        self.sweep.pop()
    }

    /// Queues a dirty block.
    fn requeue(&mut self, address: BlockAddress) {
        let Some(d) = self.dirty.get_mut(&address) else { return };
        d.queued = true;
        match self.frozen_at.is_some_and(|frozen| d.oldest < frozen) {
            true => self.queue.push(address),
            false => self.fresh.push(address),
        }
    }

    /// Starts to destage up to `limit` blocks, mostly in the order of their addresses, whose records
    /// below `durable` are durable. Returns the content to write to their places. The flag is true if
    /// it met only blocks that need no destaging any more, and there may be others.
    pub fn begin_destage(&mut self, durable: u64, limit: usize) -> (Vec<(BlockAddress, Data)>, bool) {
        let mut found = Vec::new();
        let (mut gone, mut live) = (0, 0);
        while found.len() < limit && gone + live < VISITED && live < self.dirty.len() {
            let Some(address) = self.next_swept(true) else { return (found, false) };
            let Some(d) = self.dirty.get_mut(&address).filter(|d| d.queued) else {
                gone += 1;
                continue;
            };
            live += 1;
            if d.newest >= durable {
                self.requeue(address);
                continue;
            }
            d.queued = false;
            d.in_flight = Some(d.newest);
            d.oldest_after = None;
            found.push((address, d.data.clone()));
        }
        let more = found.is_empty() && gone > 0;
        (found, more)
    }

    /// Number of dirty blocks that must be destaged before the checkpoint in flight is complete.
    pub fn named(&self) -> usize {
        self.named
    }

    /// Takes up to `limit` blocks, mostly in the order of their addresses, that must be destaged before
    /// the checkpoint in flight is complete: address, newest content and its record. The caller destages
    /// each with [`Self::begin_destage_of`]. The flag is true if there may be more.
    pub fn take_named(&mut self, limit: usize) -> (Vec<(BlockAddress, Data, u64)>, bool) {
        let mut found = Vec::new();
        for _ in 0..VISITED {
            if found.len() == limit {
                break;
            }
            let Some(address) = self.next_swept(false) else { return (found, false) };
            let Some(d) = self.dirty.get_mut(&address).filter(|d| d.queued) else { continue };
            if self.frozen_at.is_none_or(|frozen| d.oldest >= frozen) {
                self.requeue(address);
                continue;
            }
            d.queued = false;
            found.push((address, d.data.clone(), d.newest));
        }
        (found, true)
    }

    /// Starts to destage content of a block that [`Self::take_named`] returned from record `sequence`;
    /// false if the block need not be destaged any more.
    pub fn begin_destage_of(&mut self, address: BlockAddress, sequence: u64) -> bool {
        let Some(d) = self.dirty.get_mut(&address) else { return false };
        if d.in_flight.is_some() {
            return false;
        }
        d.in_flight = Some(sequence);
        d.oldest_after = (d.newest > sequence).then_some(sequence + 1);
        true
    }

    /// Begins or ends a replay. Patches of it may build on content that it has destaged and evicted.
    pub fn set_replaying(&mut self, replaying: bool) {
        self.replayed = replaying.then(FxHashMap::default);
    }

    /// True while the log is replayed.
    pub fn is_replaying(&self) -> bool {
        self.replayed.is_some()
    }

    /// Notes a freeze: the checkpoint names the content of records below `sequence`, which is that of
    /// all blocks that are dirty now.
    pub fn freeze(&mut self, sequence: u64) {
        self.frozen_at = Some(sequence);
        self.epoch_start = sequence;
        self.named = self.dirty.len();
        self.queue.append(&mut self.fresh);
    }

    /// Notes that the checkpoint in flight is durable.
    pub fn thaw(&mut self) {
        self.frozen_at = None;
        self.named = 0;
    }

    /// Ends a destage: the content in flight is at its place.
    pub fn end_destage(&mut self, address: BlockAddress) {
        let Some(d) = self.dirty.get_mut(&address) else { return };
        let Some(sequence) = d.in_flight.take() else { return };
        let was_named = self.frozen_at.is_some_and(|t| d.oldest < t);
        let named = self.frozen_at.is_some_and(|t| d.oldest_after.unwrap_or(sequence + 1) < t);
        if d.newest <= sequence || (d.dead && !named) {
            self.named -= usize::from(was_named);
            let Some(d) = self.dirty.remove(&address) else { return };
            if let Some(replayed) = &mut self.replayed {
                replayed.insert(address, d.image);
            }
            if !d.dead && !self.medium_is_memory {
                self.clean.insert_written(address, d.data, d.crc, d.image);
            } else {
                Self::recycle(&mut self.spare, d.data);
            }
        } else {
            self.named -= usize::from(was_named && !named);
            d.oldest = d.oldest_after.take().unwrap_or(sequence + 1);
            if !d.queued {
                self.requeue(address);
            }
        }
    }

    /// Prepares for this number of clean blocks, and for the kind of medium below.
    pub fn prepare(&mut self, blocks: usize, medium_is_memory: bool) {
        self.clean.reserve(blocks);
        self.medium_is_memory = medium_is_memory;
    }

    /// Number of clean blocks.
    pub fn clean(&self) -> usize {
        self.clean.len()
    }

    /// Number of clean blocks evicted since the pool was opened.
    pub fn evicted(&self) -> u64 {
        self.clean.evicted()
    }

    /// Evicts clean blocks that are not `pinned` while more than `limit` remain, as far as one walk comes. Returns the
    /// number of its steps.
    pub fn evict(&mut self, limit: usize, pinned: impl Fn(BlockAddress) -> bool) -> usize {
        let Self { clean, spare, .. } = self;
        clean.evict(limit, clock::STEPS, pinned, |data| Self::recycle(spare, data))
    }
}
