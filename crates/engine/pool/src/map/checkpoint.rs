//! The map's part in a checkpoint: changed pages are sealed, which gives them and the pointers to
//! them their checksums, and the epoch ends.

use crate::catalog::{DOCUMENTS, DROP_QUEUE, OBJECT_TABLE};
use crate::checksum::Crc32c;
use crate::map::Map;
use crate::map::pages::SealedPage;
use media::BlockAddress;
use rustc_hash::FxHashMap;

/// Pages sealed so far in a freeze.
pub(crate) struct Sealing {
    /// Checksums by address.
    crcs: FxHashMap<BlockAddress, Crc32c>,
    /// Number of changed pages that have been considered.
    considered: usize,
}

impl Map {
    /// Seals the pages that operations have changed. The checksums of the roots of objects and of
    /// detached sub-trees are known afterwards; the changes of the pool's own streams may follow.
    pub fn seal_changes(&mut self) -> Sealing {
        let mut crcs = FxHashMap::default();
        let considered = self.pages.seal(0, &mut crcs);
        self.objects.seal_roots(&crcs);
        self.drops.seal_roots(&crcs);
        Sealing { crcs, considered }
    }

    /// Seals the pages of the pool's own streams and ends the epoch; returns its pages, highest
    /// address first. The streams have all changes of objects, documents and detached sub-trees.
    pub fn end_epoch(&mut self, sealing: Sealing) -> Option<Vec<SealedPage>> {
        let Sealing { mut crcs, considered } = sealing;
        self.objects.note_frozen();
        self.drops.note_frozen();
        self.pages.seal(considered, &mut crcs);
        for id in [OBJECT_TABLE, DOCUMENTS, DROP_QUEUE] {
            self.objects.seal_root(id, &crcs)?;
        }
        Some(self.pages.freeze(&crcs))
    }

    /// Notes a freeze: the checkpoint names the content of records below `sequence`.
    pub fn freeze_content(&mut self, sequence: u64) {
        self.content.freeze(sequence);
    }

    /// Notes that the checkpoint of an epoch is durable: its pages may be evicted, and content that
    /// only the checkpoint before named is no longer kept.
    pub fn commit_epoch(&mut self, epoch: u64) {
        self.pages.commit(epoch);
        self.content.thaw();
    }
}
