//! Detached sub-trees: they are no longer referenced, and their references are given back in the
//! background.

use crate::catalog::object::Dropped;
use crate::catalog::stream;
use crate::checksum::Crc32c;
use media::BlockAddress;
use rustc_hash::FxHashMap;

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
}

impl Drops {
    /// Loads a stored queue.
    pub fn load(stored: &[u8]) -> Result<Self, String> {
        let queue = stream::decode_drops(stored)?;
        let mapped = queue.iter().map(|dropped| dropped.mapped).sum();
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
        self.mapped += dropped.mapped;
        self.queue.push(dropped);
        self.changed = true;
    }

    /// Takes a sub-tree out of the queue, to give back the reference to its root.
    pub fn take(&mut self, at: usize) -> Dropped {
        let dropped = self.queue.swap_remove(at);
        self.mapped = self.mapped.saturating_sub(dropped.mapped);
        (self.changed, self.given_back) = (true, true);
        dropped
    }

    /// Parks sub-trees that cannot be walked.
    pub fn park(&mut self, which: impl Fn(&Dropped) -> bool) {
        for dropped in self.queue.extract_if(.., |dropped| which(dropped)) {
            self.mapped = self.mapped.saturating_sub(dropped.mapped);
            self.parked.push(dropped);
        }
    }

    /// Drops sub-trees, for a repair.
    pub fn retain(&mut self, mut keep: impl FnMut(&Dropped) -> bool) {
        self.queue.retain(&mut keep);
        self.parked.retain(&mut keep);
        self.mapped = self.queue.iter().map(|dropped| dropped.mapped).sum();
        self.changed = true;
    }

    /// Encodes the stored form, if it has changed since the last freeze.
    pub fn encode_changed(&self) -> Option<Vec<u8>> {
        self.changed.then(|| stream::encode_drops(&self.queue, &self.parked))
    }

    /// Takes over the checksums of sealed root pages; `crcs` has them by address.
    pub fn seal_roots(&mut self, crcs: &FxHashMap<BlockAddress, Crc32c>) {
        for dropped in self.queue.iter_mut().chain(&mut self.parked) {
            if dropped.pointer.crc == Crc32c::NONE
                && let Some(crc) = crcs.get(&dropped.pointer.address)
            {
                dropped.pointer.crc = *crc;
            }
        }
    }

    /// Notes that the freeze has written the changes.
    pub fn note_frozen(&mut self) {
        (self.changed, self.given_back) = (false, false);
    }
}
