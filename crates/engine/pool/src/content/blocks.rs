//! Blocks of data in memory: those whose only durable copy is in the log (dirty, to be destaged to their place) and a bounded cache of
//! clean ones. Both are keyed by physical block.

use media::BLOCK_BYTES;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::collections::hash_map::Entry;
use std::rc::Rc;

/// Content of one block.
pub type Data = Rc<[u8; BLOCK_BYTES]>;

struct Dirty {
    data: Data,
    crc: u32,
    /// Sequence number of the record that holds `data`.
    newest: u64,
    /// Sequence number of the first record whose content is not at its place.
    oldest: u64,
    /// Content on its way to its place.
    in_flight: Option<u64>,
    /// First record after the one in flight.
    oldest_after: Option<u64>,
    /// The block was freed: keep only for a checkpoint that still names it.
    dead: bool,
}

struct Clean {
    data: Data,
    crc: u32,
    referenced: bool,
}

/// Blocks in memory.
#[derive(Default)]
pub struct Blocks {
    dirty: FxHashMap<u64, Dirty>,
    clean: FxHashMap<u64, Clean>,
    clock: VecDeque<u64>,
    /// Addresses that the sweep in progress has still to visit, descending.
    sweep: Vec<u64>,
    /// Memory of blocks that nobody needs any more.
    spare: Vec<Data>,
    /// What the checkpoint in flight froze: it names the content of records below this one.
    frozen_at: Option<u64>,
}

/// Spare blocks that are kept.
const SPARE: usize = 256;

impl Blocks {
    /// Content of a block if it is in memory. `crc` is what the map says: a clean copy may be of an earlier use of the block.
    #[inline]
    pub fn get(&mut self, address: u64, crc: u32) -> Option<Data> {
        if let Some(d) = self.dirty.get(&address)
            && !d.dead
        {
            return Some(d.data.clone());
        }
        let clean = self.clean.get_mut(&address).filter(|c| c.crc == crc)?;
        clean.referenced = true;
        Some(clean.data.clone())
    }

    /// A copy of the content of one block.
    pub fn copy_of(&mut self, content: &[u8; BLOCK_BYTES]) -> Data {
        if let Some(mut data) = self.spare.pop()
            && let Some(place) = Rc::get_mut(&mut data)
        {
            *place = *content;
            return data;
        }
        Rc::new(*content)
    }

    fn recycle(spare: &mut Vec<Data>, data: Data) {
        if spare.len() < SPARE && Rc::strong_count(&data) == 1 {
            spare.push(data);
        }
    }

    /// True when the block's durable copy is only in the log.
    pub fn is_dirty(&self, address: u64) -> bool {
        self.dirty.contains_key(&address)
    }

    /// New content, held by record `sequence`.
    pub fn write(&mut self, address: u64, data: Data, crc: u32, sequence: u64) {
        self.clean.remove(&address);
        match self.dirty.entry(address) {
            Entry::Occupied(mut entry) => {
                let d = entry.get_mut();
                Self::recycle(&mut self.spare, std::mem::replace(&mut d.data, data));
                d.crc = crc;
                d.newest = sequence;
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
                    oldest: sequence,
                    in_flight: None,
                    oldest_after: None,
                    dead: false,
                });
            }
        }
    }

    /// The blocks are about to be written past this cache.
    pub fn place(&mut self, addresses: std::ops::Range<u64>) {
        for address in addresses {
            self.clean.remove(&address);
        }
    }

    /// Caches content read from, or written to, its place.
    pub fn cache(&mut self, address: u64, data: Data, crc: u32) {
        if !self.dirty.contains_key(&address)
            && self.clean.insert(address, Clean { data, crc, referenced: false }).is_none()
        {
            self.clock.push_back(address);
        }
    }

    /// The block lost its last reference. Its content is dropped, unless the checkpoint in flight still names it.
    ///
    /// A clean copy may stay: it is of no use under another checksum, and [`Blocks::place`] removes it before the block holds something else.
    pub fn free(&mut self, address: u64) {
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

    /// Up to `limit` addresses, ascending, that may be destaged: records below `durable` are durable. Sweeps over the addresses again and again;
    /// each sweep sees the blocks that were dirty when it began.
    pub fn destageable(&mut self, durable: u64, limit: usize) -> Vec<u64> {
        if self.sweep.is_empty() {
            self.sweep.extend(self.dirty.iter().filter(|(_, d)| d.newest < durable).map(|(a, _)| *a));
            self.sweep.sort_unstable_by_key(|address| std::cmp::Reverse(*address));
        }
        let mut found = Vec::new();
        while found.len() < limit
            && let Some(address) = self.sweep.pop()
        {
            if self.dirty.get(&address).is_some_and(|d| d.in_flight.is_none() && d.newest < durable) {
                found.push(address);
            }
        }
        found
    }

    /// Every block whose oldest undestaged content is older than record `before`: address, newest content and its record; those with content in flight
    /// have `None`.
    pub fn older_than(&self, before: u64) -> Vec<(u64, Option<(Data, u64)>)> {
        let mut found: Vec<_> = self
            .dirty
            .iter()
            .filter(|(_, d)| d.oldest < before)
            .map(|(a, d)| (*a, d.in_flight.is_none().then(|| (d.data.clone(), d.newest))))
            .collect();
        found.sort_unstable_by_key(|(a, _)| *a);
        found
    }

    /// Content of a dirty block to write to its place now.
    pub fn begin_destage(&mut self, address: u64) -> Option<Data> {
        let d = self.dirty.get_mut(&address)?;
        d.in_flight = Some(d.newest);
        d.oldest_after = None;
        Some(d.data.clone())
    }

    /// As `begin_destage`, for content captured earlier that came from record `sequence`.
    pub fn begin_destage_of(&mut self, address: u64, sequence: u64) -> bool {
        let Some(d) = self.dirty.get_mut(&address) else { return false };
        if d.in_flight.is_some() {
            return false;
        }
        d.in_flight = Some(sequence);
        d.oldest_after = (d.newest > sequence).then_some(sequence + 1);
        true
    }

    /// A checkpoint froze: it names the content of records below `sequence`.
    pub fn freeze(&mut self, sequence: u64) {
        self.frozen_at = Some(sequence);
    }

    /// The checkpoint in flight is durable.
    pub fn thaw(&mut self) {
        self.frozen_at = None;
    }

    /// The content that was in flight is at its place.
    pub fn end_destage(&mut self, address: u64) {
        let Some(d) = self.dirty.get_mut(&address) else { return };
        let Some(sequence) = d.in_flight.take() else { return };
        let named = self.frozen_at.is_some_and(|t| d.oldest_after.unwrap_or(sequence + 1) < t);
        if d.newest <= sequence || (d.dead && !named) {
            let Some(d) = self.dirty.remove(&address) else { return };
            if !d.dead {
                self.cache(address, d.data, d.crc);
            } else {
                Self::recycle(&mut self.spare, d.data);
            }
        } else {
            d.oldest = d.oldest_after.take().unwrap_or(sequence + 1);
        }
    }

    /// Drops clean blocks until at most `limit` remain, least recently used first.
    pub fn evict(&mut self, limit: usize) {
        while self.clean.len() > limit {
            let Some(address) = self.clock.pop_front() else { return };
            match self.clean.get_mut(&address) {
                Some(c) if c.referenced => {
                    c.referenced = false;
                    self.clock.push_back(address);
                }
                Some(_) => {
                    if let Some(clean) = self.clean.remove(&address) {
                        Self::recycle(&mut self.spare, clean.data);
                    }
                }
                None => {}
            }
        }
        if self.clock.len() > 2 * limit + 1024 {
            self.clock.retain(|a| self.clean.contains_key(a));
        }
    }
}
