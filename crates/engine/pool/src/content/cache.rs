//! Cache of clean blocks, which a pass over a large volume does not empty (S3-FIFO: Yang et al.,
//! "FIFO queues are all you need for cache eviction", SOSP 2023).
//!
//! A block enters a short queue, *probation*. At its end it moves to the main queue if it was used
//! repeatedly meanwhile; otherwise it leaves, and only a mark of it stays. A block that is read again
//! while its mark is there enters the main queue directly. At the end of the main queue a block that
//! was used goes round again. So what is read once only ever displaces what is on probation.
//!
//! Probation is short even while the cache is not full: blocks that are used once pass through
//! memory that the processor's caches hold. Through the whole cache, each would evict the oldest
//! memory there is.

use crate::checksum::Crc32c;
use crate::content::data::Data;
use media::BlockAddress;
use rustc_hash::FxHashMap;

/// Part of the cache that probation takes: an eighth.
pub(crate) const PROBATION: usize = 8;
/// Uses that are counted.
const MOST_USES: u8 = 3;
/// Uses on probation that keep a block. One is not enough: neighbouring reads of parts of a block
/// use it twice in a single pass.
const ENOUGH_USES: u8 = 2;
/// Number that names no slot.
const NONE: u32 = u32::MAX;

/// Queue of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Queue {
    Probation,
    Main,
}

struct Slot {
    address: BlockAddress,
    crc: Crc32c,
    uses: u8,
    queue: Queue,
    /// As [`Cache::image`].
    image: u64,
    /// Neighbours in the queue.
    older: u32,
    newer: u32,
    /// Content; `None` in a vacant slot.
    data: Option<Data>,
}

/// Ends of a queue.
#[derive(Clone, Copy)]
struct Ends {
    oldest: u32,
    newest: u32,
    length: usize,
}

impl Ends {
    const EMPTY: Self = Self { oldest: NONE, newest: NONE, length: 0 };
}

/// Clean blocks in memory.
pub(crate) struct Cache {
    slots: Vec<Slot>,
    vacant: Vec<u32>,
    by_address: FxHashMap<BlockAddress, u32>,
    probation: Ends,
    main: Ends,
    marks: Marks,
    evicted: u64,
}

impl Default for Cache {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            vacant: Vec::new(),
            by_address: FxHashMap::default(),
            probation: Ends::EMPTY,
            main: Ends::EMPTY,
            marks: Marks::default(),
            evicted: 0,
        }
    }
}

impl Cache {
    /// Prepares for this number of blocks, so that no turn has to move the table later. Takes hardly
    /// any memory before the blocks are there.
    pub fn reserve(&mut self, blocks: usize) {
        self.by_address.reserve(blocks);
        self.slots.reserve(blocks);
    }

    /// Number of blocks.
    #[inline]
    pub fn len(&self) -> usize {
        self.by_address.len()
    }

    /// Number of blocks evicted so far.
    pub fn evicted(&self) -> u64 {
        self.evicted
    }

    /// Returns the content of a block if it is cached with this checksum, and notes the use.
    #[inline]
    pub fn get(&mut self, address: BlockAddress, crc: Crc32c) -> Option<&Data> {
        let slot = &mut self.slots[*self.by_address.get(&address)? as usize];
        if slot.crc != crc {
            return None;
        }
        slot.uses = (slot.uses + 1).min(MOST_USES);
        slot.data.as_ref()
    }

    /// Adds a block that was read, or replaces its content.
    pub fn insert(&mut self, address: BlockAddress, data: Data, crc: Crc32c) {
        let queue = if self.marks.take(address) { Queue::Main } else { Queue::Probation };
        self.insert_at((address, crc), data, queue, 0);
    }

    /// Number of the record of the log with the whole content of a block, of which the cached content with this
    /// checksum is made, by patches or as it is; 0 if none is known.
    pub fn image(&self, address: BlockAddress, crc: Crc32c) -> u64 {
        let slot = self.by_address.get(&address).map(|number| &self.slots[*number as usize]);
        slot.filter(|slot| slot.crc == crc).map_or(0, |slot| slot.image)
    }

    /// Notes the read of a block. True if it was read before within the reach of a mark, so that
    /// [`Self::insert`] adds it to the main queue.
    pub fn read_again(&mut self, address: BlockAddress) -> bool {
        let again = self.by_address.contains_key(&address) || self.marks.find(address).is_some();
        if !again {
            self.marks.put(address);
        }
        again
    }

    /// Adds a block that was written to its place. It begins on probation: blocks that are only
    /// written do not displace what is read. `image` is as in [`Self::image`].
    pub fn insert_written(&mut self, address: BlockAddress, data: Data, crc: Crc32c, image: u64) {
        self.insert_at((address, crc), data, Queue::Probation, image);
    }

    fn insert_at(&mut self, (address, crc): (BlockAddress, Crc32c), data: Data, queue: Queue, image: u64) {
        if let Some(number) = self.by_address.get(&address) {
            let slot = &mut self.slots[*number as usize];
            (slot.data, slot.crc, slot.uses, slot.image) = (Some(data), crc, 0, image);
            return;
        }
        let slot = Slot { address, crc, uses: 0, queue, image, older: NONE, newer: NONE, data: Some(data) };
        let number = match self.vacant.pop() {
            Some(number) => {
                self.slots[number as usize] = slot;
                number
            }
            None => {
                self.slots.push(slot);
                self.slots.len() as u32 - 1
            }
        };
        self.by_address.insert(address, number);
        self.append(queue, number);
    }

    /// Removes a block, whose content will change.
    #[inline]
    pub fn remove(&mut self, address: BlockAddress) -> Option<Data> {
        if self.by_address.is_empty() {
            return None;
        }
        let number = self.by_address.remove(&address)?;
        self.unlink(number);
        self.vacant.push(number);
        self.slots[number as usize].data.take()
    }

    /// Evicts blocks while more than `limit` remain or probation is too long, in at most `steps` steps:
    /// each evicts a block, moves it to the main queue or lets it go round again, as every `pinned` one.
    /// Passes the content of evicted blocks to `evicted`. Returns the number of steps.
    pub fn evict(
        &mut self,
        limit: usize,
        steps: usize,
        pinned: impl Fn(BlockAddress) -> bool,
        mut evicted: impl FnMut(Data),
    ) -> usize {
        self.marks.reach(limit);
        let mut step = 0;
        while step < steps {
            let from_probation = self.probation.length > limit / PROBATION || self.main.length == 0;
            if self.len() <= limit && self.probation.length <= limit / PROBATION {
                break;
            }
            step += 1;
            let number = if from_probation { self.probation.oldest } else { self.main.oldest };
            let slot = &mut self.slots[number as usize];
            let stays = if from_probation {
                let stays = slot.uses >= ENOUGH_USES;
                slot.uses = 0;
                stays
            } else {
                let stays = slot.uses > 0;
                slot.uses = slot.uses.saturating_sub(1);
                stays
            };
            let address = slot.address;
            if stays || pinned(address) {
                self.unlink(number);
                self.append(Queue::Main, number);
                continue;
            }
            if from_probation {
                self.marks.put(address);
            }
            self.evicted += 1;
            if let Some(data) = self.remove(address) {
                evicted(data);
            }
        }
        step
    }

    fn ends(&mut self, queue: Queue) -> &mut Ends {
        match queue {
            Queue::Probation => &mut self.probation,
            Queue::Main => &mut self.main,
        }
    }

    fn append(&mut self, queue: Queue, number: u32) {
        let ends = self.ends(queue);
        let older = std::mem::replace(&mut ends.newest, number);
        ends.length += 1;
        if older == NONE {
            ends.oldest = number;
        } else {
            self.slots[older as usize].newer = number;
        }
        let slot = &mut self.slots[number as usize];
        (slot.queue, slot.older, slot.newer) = (queue, older, NONE);
    }

    fn unlink(&mut self, number: u32) {
        let Slot { queue, older, newer, .. } = self.slots[number as usize];
        match older {
            NONE => self.ends(queue).oldest = newer,
            older => self.slots[older as usize].newer = newer,
        }
        match newer {
            NONE => self.ends(queue).newest = older,
            newer => self.slots[newer as usize].older = older,
        }
        self.ends(queue).length -= 1;
    }
}

/// Marks of blocks that left probation unused: a table in which a later mark may displace an earlier
/// one. A mark lasts until as many others were made as the cache may have blocks.
#[derive(Default)]
struct Marks {
    /// Fingerprint of the address in the upper half, never 0; number of the mark in the lower half.
    table: Vec<u64>,
    made: u32,
    reach: u32,
}

impl Marks {
    /// Sets the number of later marks that end a mark.
    fn reach(&mut self, blocks: usize) {
        self.reach = u32::try_from(blocks).unwrap_or(u32::MAX);
    }

    /// Place of an address in the table, and its fingerprint.
    fn place(&self, address: BlockAddress) -> (usize, u64) {
        // Multiplicative hashing: neighbours are spread over the table.
        let hash = address.get().wrapping_mul(0x9e37_79b9_7f4a_7c15);
        ((hash >> (64 - self.table.len().trailing_zeros())) as usize, hash & 0xffff_ffff | 1)
    }

    fn put(&mut self, address: BlockAddress) {
        if self.table.len() < self.reach as usize {
            // Marks are hints: those of the smaller table are forgotten. The new one is untouched
            // memory.
            self.table = vec![0; (self.reach as usize).next_power_of_two().max(1024)];
        }
        if self.table.is_empty() {
            return;
        }
        self.made = self.made.wrapping_add(1);
        let (place, fingerprint) = self.place(address);
        self.table[place] = fingerprint << 32 | u64::from(self.made);
    }

    /// Place of the mark of a block, if there is one.
    fn find(&self, address: BlockAddress) -> Option<usize> {
        if self.table.is_empty() {
            return None;
        }
        let (place, fingerprint) = self.place(address);
        let mark = self.table[place];
        let found = mark >> 32 == fingerprint && self.made.wrapping_sub(mark as u32) < self.reach;
        found.then_some(place)
    }

    /// Removes the mark of a block; true if there was one.
    fn take(&mut self, address: BlockAddress) -> bool {
        let place = self.find(address);
        if let Some(place) = place {
            self.table[place] = 0;
        }
        place.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use media::BLOCK_BYTES;

    const LIMIT: usize = 1000;

    fn address(number: u64) -> BlockAddress {
        BlockAddress::new(number + 1)
    }

    /// Reads a block: true if it was cached.
    fn read(cache: &mut Cache, number: u64, data: &Data) -> bool {
        let address = address(number);
        if cache.get(address, Crc32c::NONE).is_some() {
            return true;
        }
        cache.insert(address, data.clone(), Crc32c::NONE);
        cache.evict(LIMIT, usize::MAX, |_| false, drop);
        false
    }

    /// One sequential pass over a large volume evicted everything that hosts used: the cache was a
    /// clock, on which a new block was as good as an old one.
    #[test]
    fn a_pass_does_not_evict_the_working_set() {
        let mut cache = Cache::default();
        let data = Data::copy_of(&[0; BLOCK_BYTES]);
        let working = 800;
        for _ in 0..5 {
            (0..working).for_each(|number| _ = read(&mut cache, number, &data));
        }
        // Each block twice: a host whose partition is not aligned reads it in two parts.
        for number in 10_000..110_000 {
            read(&mut cache, number, &data);
            read(&mut cache, number, &data);
        }
        let hits = (0..working).filter(|number| read(&mut cache, *number, &data)).count();
        assert!(hits as u64 > working * 95 / 100, "{hits} of {working}");
        assert!(cache.len() <= LIMIT);
    }

    /// What is used repeatedly displaces an old working set within a few passes.
    #[test]
    fn a_new_working_set_takes_over() {
        let mut cache = Cache::default();
        let data = Data::copy_of(&[0; BLOCK_BYTES]);
        for _ in 0..5 {
            (0..800).for_each(|number| _ = read(&mut cache, number, &data));
        }
        for _ in 0..8 {
            (10_000..10_800).for_each(|number| _ = read(&mut cache, number, &data));
        }
        let hits = (10_000..10_800).filter(|number| read(&mut cache, *number, &data)).count();
        assert!(hits > 760, "{hits} of 800");
    }

    /// What is only written, however often, leaves what is read.
    #[test]
    fn writes_do_not_evict_the_working_set() {
        let mut cache = Cache::default();
        let data = Data::copy_of(&[0; BLOCK_BYTES]);
        for _ in 0..5 {
            (0..800).for_each(|number| _ = read(&mut cache, number, &data));
        }
        for number in (10_000..11_000).cycle().take(20_000) {
            cache.remove(address(number));
            cache.insert_written(address(number), data.clone(), Crc32c::NONE, 0);
            cache.evict(LIMIT, usize::MAX, |_| false, drop);
        }
        let hits = (0..800).filter(|number| read(&mut cache, *number, &data)).count();
        assert!(hits > 760, "{hits} of 800");
    }

    /// Above a medium in memory each read of a large volume copied its blocks into the cache, which
    /// cost more than reading them again.
    #[test]
    fn the_second_read_of_a_block_is_again() {
        let mut cache = Cache::default();
        cache.evict(LIMIT, usize::MAX, |_| false, drop);
        assert!(!cache.read_again(address(1)));
        assert!(cache.read_again(address(1)));
        cache.insert(address(1), Data::copy_of(&[0; BLOCK_BYTES]), Crc32c::NONE);
        assert_eq!((cache.main.length, cache.probation.length), (1, 0));
        assert!(cache.read_again(address(1)));
        assert!(!cache.read_again(address(2)));
        (10..10 + 2 * LIMIT as u64).for_each(|number| _ = cache.read_again(address(number)));
        assert!(!cache.read_again(address(2)), "a mark has an end");
    }

    #[test]
    fn eviction_is_bounded_and_continues() {
        let mut cache = Cache::default();
        let data = Data::copy_of(&[0; BLOCK_BYTES]);
        for number in 0..5000 {
            cache.insert(address(number), data.clone(), Crc32c::NONE);
            (0..3).for_each(|_| _ = cache.get(address(number), Crc32c::NONE));
        }
        let mut steps = 0;
        loop {
            let walked = cache.evict(100, 64, |_| false, drop);
            steps += walked;
            if walked < 64 {
                break;
            }
            assert_eq!(walked, 64);
        }
        assert_eq!(cache.len(), 100);
        // Each block moves once and goes round at most three times.
        assert!(steps <= 5 * 5000, "{steps}");
        assert_eq!(cache.evict(100, 64, |_| false, drop), 0);
        assert_eq!(cache.evicted(), 4900);
    }

    /// The queues agree with a list, whatever is inserted, used, removed and evicted.
    #[test]
    fn queues_hold_what_the_table_holds() {
        let mut cache = Cache::default();
        let data = Data::copy_of(&[0; BLOCK_BYTES]);
        let random = random::Random::new(7);
        for _ in 0..50_000 {
            let number = random.below(300);
            match random.below(8) {
                0 => drop(cache.remove(address(number))),
                1 => drop(cache.evict(random.below(200) as usize, 16, |_| false, drop)),
                2..5 => cache.insert(address(number), data.clone(), Crc32c::new(random.below(2) as u32)),
                _ => drop(cache.get(address(number), Crc32c::new(random.below(2) as u32)).is_some()),
            }
            assert_eq!(cache.probation.length + cache.main.length, cache.len());
        }
        for queue in [Queue::Probation, Queue::Main] {
            let ends = *cache.ends(queue);
            let (mut at, mut before, mut length) = (ends.oldest, NONE, 0);
            while at != NONE {
                let slot = &cache.slots[at as usize];
                assert_eq!((slot.queue, slot.older), (queue, before));
                assert_eq!(cache.by_address.get(&slot.address), Some(&at));
                (before, at, length) = (at, slot.newer, length + 1);
            }
            assert_eq!((ends.newest, ends.length), (before, length));
        }
    }
}
