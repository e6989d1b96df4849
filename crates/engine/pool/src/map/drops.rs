//! Detached sub-trees: nothing refers to them any more, and their references are given back in the background.

use crate::catalog::object::Dropped;
use crate::catalog::stream;
use rustc_hash::FxHashMap;

/// The queue of detached sub-trees.
#[derive(Default)]
pub(crate) struct Drops {
    queue: Vec<Dropped>,
    /// Sub-trees that cannot be walked, because a page or counts cannot be read: their space stays in use until it is repaired.
    parked: Vec<Dropped>,
    /// Blocks mapped below the queue.
    mapped: u64,
    /// The stored form is out of date.
    changed: bool,
    /// Something was given back since the last freeze.
    given_back: bool,
}

impl Drops {
    /// Takes over a stored queue.
    pub fn load(stored: &[u8]) -> Result<Self, String> {
        let queue = stream::decode_drops(stored)?;
        let mapped = queue.iter().map(|dropped| dropped.mapped).sum();
        Ok(Self { queue, mapped, ..Self::default() })
    }

    /// The queue, without what is parked.
    pub fn queue(&self) -> &[Dropped] {
        &self.queue
    }

    /// The queue and what is parked.
    pub fn all(&self) -> impl Iterator<Item = &Dropped> {
        self.queue.iter().chain(&self.parked)
    }

    /// Length of the stored form in bytes.
    pub fn stored_bytes(&self) -> u64 {
        (self.queue.len() + self.parked.len()) as u64 * 16
    }

    /// Blocks mapped below the queue.
    pub fn mapped(&self) -> u64 {
        self.mapped
    }

    /// True when something was given back since the last freeze.
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

    /// Sets sub-trees aside that cannot be walked.
    pub fn park(&mut self, which: impl Fn(&Dropped) -> bool) {
        for dropped in self.queue.extract_if(.., |dropped| which(dropped)) {
            self.mapped = self.mapped.saturating_sub(dropped.mapped);
            self.parked.push(dropped);
        }
    }

    /// Forgets sub-trees, for a repair.
    pub fn retain(&mut self, mut keep: impl FnMut(&Dropped) -> bool) {
        self.queue.retain(&mut keep);
        self.parked.retain(&mut keep);
        self.mapped = self.queue.iter().map(|dropped| dropped.mapped).sum();
        self.changed = true;
    }

    /// The stored form, if it changed since the last freeze.
    pub fn encode_changed(&self) -> Option<Vec<u8>> {
        self.changed.then(|| stream::encode_drops(&self.queue, &self.parked))
    }

    /// Root pages were sealed: `crcs` has the checksums of pages by address.
    pub fn seal_roots(&mut self, crcs: &FxHashMap<u64, u32>) {
        for dropped in self.queue.iter_mut().chain(&mut self.parked) {
            if let Some(crc) = crcs.get(&dropped.address) {
                dropped.crc = *crc;
            }
        }
    }

    /// The freeze has written what changed.
    pub fn note_frozen(&mut self) {
        (self.changed, self.given_back) = (false, false);
    }
}
