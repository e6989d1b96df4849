//! Detached sub-trees: they are no longer referenced, and their references are given back in the
//! background.

use crate::catalog::object::Dropped;
use crate::catalog::stream::{self, DROP_BYTES, DROPS_PER_BLOCK};
#[cfg(test)]
use crate::checksum::Crc32c;
use crate::geometry::Pointer;
use crate::interface::range::BlockNumber;
use media::BLOCK_BYTES;

/// Queue of detached sub-trees.
#[derive(Default)]
pub(crate) struct Drops {
    queue: Vec<Dropped>,
    /// Sub-trees with an unreadable page or unreadable counts: their space stays in use until a
    /// repair.
    parked: Vec<Dropped>,
    /// Number of blocks mapped below the queue.
    mapped: u64,
    /// True if the stored form is out of date.
    changed: bool,
    /// True if references were given back since the last freeze.
    given_back: bool,
    /// Queue that the checkpoint in flight stores.
    frozen: Option<Frozen>,
    /// Number of entries of the queue whose checksums are known since the last freeze.
    completed: usize,
}

/// Number of blocks mapped below these sub-trees, each counted as often as it is shared.
fn sum(queue: &[Dropped]) -> u64 {
    queue.iter().fold(0, |sum, dropped| sum.saturating_add(dropped.mapped))
}

/// The queue as it was when an epoch ended. Entries are taken from its end, so most of it is still in
/// its place.
struct Frozen {
    /// Number of entries that the queue still has in their places.
    kept: usize,
    /// Entries behind them, the last one first.
    taken: Vec<Dropped>,
    parked: Vec<Dropped>,
    /// Number of blocks that have been encoded.
    encoded: usize,
}

impl Frozen {
    /// Keeps the entries from `at` on, which are about to change.
    fn keep(&mut self, at: usize, queue: &[Dropped]) {
        if at < self.kept {
            self.taken.extend(queue[at..self.kept].iter().rev());
            self.kept = at;
        }
    }

    fn len(&self) -> usize {
        self.kept + self.taken.len() + self.parked.len()
    }

    fn get(&self, at: usize, queue: &[Dropped]) -> Option<Dropped> {
        match (at.checked_sub(self.kept), self.taken.len()) {
            (None, _) => queue.get(at).copied(),
            (Some(behind), taken) if behind < taken => self.taken.get(taken - 1 - behind).copied(),
            (Some(behind), taken) => self.parked.get(behind - taken).copied(),
        }
    }
}

impl Drops {
    /// Loads a stored queue.
    pub fn load(stored: &[u8]) -> Result<Self, String> {
        let queue = stream::decode_drops(stored)?;
        let mapped = sum(&queue);
        Ok(Self { queue, mapped, ..Self::default() })
    }

    /// The queue, without parked sub-trees.
    pub fn queue(&self) -> &[Dropped] {
        &self.queue
    }

    /// The queue, with parked sub-trees.
    pub fn all(&self) -> impl Iterator<Item = &Dropped> {
        self.queue.iter().chain(&self.parked)
    }

    /// Length of the stored form in bytes.
    pub fn stored_bytes(&self) -> u64 {
        (self.queue.len() + self.parked.len()) as u64 * 16
    }

    /// Number of blocks mapped below the queue.
    pub fn mapped(&self) -> u64 {
        self.mapped
    }

    /// True if references were given back since the last freeze.
    pub fn given_back(&self) -> bool {
        self.given_back
    }

    /// Adds a sub-tree.
    pub fn push(&mut self, dropped: Dropped) {
        self.mapped = self.mapped.saturating_add(dropped.mapped);
        self.queue.push(dropped);
        self.changed = true;
    }

    /// Takes a sub-tree out of the queue, to give back the reference to its root.
    pub fn take(&mut self, at: usize) -> Dropped {
        self.before_change(at);
        let dropped = self.queue.swap_remove(at);
        self.mapped = self.mapped.saturating_sub(dropped.mapped);
        (self.changed, self.given_back) = (true, true);
        dropped
    }

    /// Parks sub-trees that cannot be walked.
    pub fn park(&mut self, which: impl Fn(&Dropped) -> bool) {
        if !self.queue.iter().any(&which) {
            return;
        }
        self.before_change(0);
        for dropped in self.queue.extract_if(.., |dropped| which(dropped)) {
            self.mapped = self.mapped.saturating_sub(dropped.mapped);
            self.parked.push(dropped);
        }
    }

    /// Drops sub-trees, for a repair.
    pub fn retain(&mut self, mut keep: impl FnMut(&Dropped) -> bool) {
        self.before_change(0);
        self.queue.retain(&mut keep);
        self.parked.retain(&mut keep);
        self.mapped = sum(&self.queue);
        self.changed = true;
    }

    /// Precedes a change of the entries from `at` on.
    fn before_change(&mut self, at: usize) {
        if let Some(frozen) = &mut self.frozen {
            frozen.keep(at, &self.queue);
        }
        self.completed = self.completed.min(at);
    }

    /// True if the stored form is out of date.
    pub fn has_changed(&self) -> bool {
        self.changed
    }

    /// Ends the epoch: if the queue has changed, it is to be stored as it is now.
    pub fn end_epoch(&mut self) {
        let frozen = || Frozen { kept: self.queue.len(), taken: Vec::new(), parked: self.parked.clone(), encoded: 0 };
        self.frozen = self.changed.then(frozen);
        self.completed = 0;
        (self.changed, self.given_back) = (false, false);
    }

    /// Next block of the queue as it was at the end of the epoch before, with the checksums of sealed
    /// pages, which `crc` knows: its number and content. `None` if all blocks have been encoded.
    pub fn next_block(&mut self, crc: impl Fn(Pointer) -> Pointer) -> Option<(BlockNumber, [u8; BLOCK_BYTES])> {
        let frozen = self.frozen.as_mut()?;
        let from = frozen.encoded * DROPS_PER_BLOCK;
        if from >= frozen.len() {
            self.frozen = None;
            return None;
        }
        let mut content = [0; BLOCK_BYTES];
        for (at, entry) in (from..frozen.len()).zip(content.as_chunks_mut::<DROP_BYTES>().0) {
            if let Some(dropped) = frozen.get(at, &self.queue) {
                stream::encode_drop(&Dropped { pointer: crc(dropped.pointer), ..dropped }, entry);
            }
        }
        frozen.encoded += 1;
        Some((BlockNumber::new(frozen.encoded as u64 - 1), content))
    }

    /// Enters the checksums of sealed pages into the next entries of the queue. False if all have
    /// theirs.
    pub fn complete_next(&mut self, crc: impl Fn(Pointer) -> Pointer) -> bool {
        if self.completed == 0 {
            self.parked.iter_mut().for_each(|dropped| dropped.pointer = crc(dropped.pointer));
        }
        let entries = self.queue.iter_mut().skip(self.completed).take(DROPS_PER_BLOCK);
        self.completed += entries.map(|dropped| dropped.pointer = crc(dropped.pointer)).count();
        self.completed < self.queue.len()
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use media::BlockAddress;

    fn dropped(address: u64) -> Dropped {
        let pointer = Pointer { address: BlockAddress::new(address), level: 1, crc: Crc32c::NONE };
        Dropped { pointer, mapped: address }
    }

    /// The checkpoint stores the queue as it was when its epoch ended, although it changes meanwhile.
    #[test]
    fn the_queue_is_stored_as_it_was() {
        let mut drops = Drops::default();
        (1..=1000).for_each(|address| drops.push(dropped(address)));
        drops.park(|dropped| dropped.mapped == 500);
        let expected: Vec<Dropped> = drops.all().copied().collect();
        drops.end_epoch();
        assert!(!drops.has_changed());
        let crc = |pointer: Pointer| Pointer { crc: Crc32c::new(pointer.address.get() as u32), ..pointer };
        let mut stored = Vec::new();
        for round in 0.. {
            (0..70).for_each(|_| {
                drops.take(drops.queue().len() - 1 - round * 7);
            });
            drops.push(dropped(2000 + round as u64));
            if round == 1 {
                drops.park(|dropped| dropped.mapped == 20);
            }
            let Some((number, content)) = drops.next_block(crc) else { break };
            assert_eq!(number.get(), round as u64);
            stored.extend_from_slice(&content);
        }
        stored.truncate(expected.len() * DROP_BYTES);
        let stored = stream::decode_drops(&stored).unwrap();
        let expected: Vec<_> = expected.into_iter().map(|d| Dropped { pointer: crc(d.pointer), ..d }).collect();
        assert_eq!(stored, expected);
        while drops.complete_next(crc) {}
        assert!(drops.all().all(|dropped| dropped.pointer == crc(dropped.pointer)));
    }
}
