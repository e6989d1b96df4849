//! The map's part in a checkpoint: the epoch ends at one instant. Afterwards its pages are sealed, which
//! gives them and the pointers to them their checksums, in slices and while operations continue.
//!
//! The pool's own streams have their blocks when the epoch ends, since counts and map must agree. The
//! content of the object table and of the drop queue has the checksums of root pages, so it is encoded
//! after the pages of operations are sealed; the pages above it are sealed last.

use crate::catalog::{ALLOTMENTS, DOCUMENTS, DROP_QUEUE, OBJECT_TABLE};
use crate::checksum::Crc32c;
use crate::geometry::{PATH_PAGES, index_in};
use crate::interface::ObjectId;
use crate::interface::range::BlockNumber;
use crate::map::Map;
use crate::map::pages::SealedPages;
use media::{BLOCK_BYTES, BlockAddress};

/// Work of entering checksums into the pointers of an interior page, or of encoding a block of the
/// pool's own streams, compared with sealing a leaf.
const POINTERS: usize = 4;

/// What a slice of the sealing does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Seals the pages that operations placed.
    Pages,
    /// Completes pointers in pages of the present epoch.
    Pointers,
    /// Stores changed objects.
    Table,
    /// Completes pointers to the root pages of objects that have changed in the present epoch.
    Roots,
    /// Stores detached sub-trees.
    Queue,
    /// Completes pointers to detached sub-trees.
    Drops,
    /// Seals the pages of the pool's own streams.
    OwnPages,
}

/// Result of a slice of the sealing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Slice {
    /// Work done; sealing a leaf is 1.
    pub work: usize,
    /// Number of pages that were sealed or need not be.
    pub pages: usize,
    /// True if everything is sealed.
    pub done: bool,
}

impl Slice {
    /// Notes that a page was considered; returns `phase`, which goes on.
    fn note_page(&mut self, level: u8, phase: Phase) -> Phase {
        self.pages += 1;
        self.work += if level == 0 { 1 } else { 2 * POINTERS };
        phase
    }
}

impl Map {
    /// Number of pages changed in this epoch at each level. Called before the pool's own streams are
    /// changed, for [`Self::end_epoch`].
    pub fn placed_pages(&self) -> [usize; PATH_PAGES] {
        self.pages.placed()
    }

    /// Ends the epoch, of which operations placed the first `of_operations` pages; returns the number of
    /// its pages. The pool's own streams have their blocks. [`Self::seal`] must follow until it is done.
    pub fn end_epoch(&mut self, of_operations: [usize; PATH_PAGES]) -> usize {
        self.objects.end_epoch();
        self.drops.end_epoch();
        self.sealing = Some(Phase::Pages);
        self.pages.end_epoch(of_operations)
    }

    /// True while pages are still to be sealed.
    pub fn is_sealing(&self) -> bool {
        self.sealing.is_some()
    }

    /// Seals for about as much `work`. Hands each encoded block of the object table and of the drop
    /// queue to `write`. `None`: the map contradicts itself.
    pub fn seal(&mut self, work: usize, write: &mut impl FnMut(BlockAddress, &[u8; BLOCK_BYTES])) -> Option<Slice> {
        let mut slice = Slice::default();
        while slice.work < work
            && let Some(phase) = self.sealing
        {
            let next = match phase {
                Phase::Pages => match self.pages.seal_next(false) {
                    Some(level) => slice.note_page(level, phase),
                    None => Phase::Pointers,
                },
                Phase::Pointers => {
                    slice.work += POINTERS;
                    if self.pages.complete_next() { phase } else { Phase::Table }
                }
                Phase::Table => {
                    slice.work += POINTERS;
                    let pages = &self.pages;
                    match self.objects.next_table_block(|pointer| pages.completed(pointer)) {
                        Some((block, content)) => self.store(OBJECT_TABLE, block, &content, write, phase)?,
                        None => Phase::Roots,
                    }
                }
                Phase::Roots => {
                    slice.work += 1;
                    let pages = &self.pages;
                    let more = self.objects.complete_next(|pointer| pages.completed(pointer));
                    if more { phase } else { Phase::Queue }
                }
                Phase::Queue => {
                    slice.work += POINTERS;
                    let pages = &self.pages;
                    match self.drops.next_block(|pointer| pages.completed(pointer)) {
                        Some((block, content)) => self.store(DROP_QUEUE, block, &content, write, phase)?,
                        None => Phase::Drops,
                    }
                }
                Phase::Drops => {
                    slice.work += POINTERS;
                    let pages = &self.pages;
                    let more = self.drops.complete_next(|pointer| pages.completed(pointer));
                    if more { phase } else { Phase::OwnPages }
                }
                Phase::OwnPages => match self.pages.seal_next(true) {
                    Some(level) => slice.note_page(level, phase),
                    None => {
                        self.end_sealing();
                        break;
                    }
                },
            };
            self.sealing = Some(next);
        }
        slice.done = self.sealing.is_none();
        Some(slice)
    }

    fn end_sealing(&mut self) {
        for id in [OBJECT_TABLE, DOCUMENTS, DROP_QUEUE, ALLOTMENTS] {
            let pages = &self.pages;
            self.objects.complete_root(id, |pointer| pages.completed(pointer));
        }
        self.objects.end_sealing();
        self.sealing = None;
    }

    /// Hands a block of one of the pool's own streams to `write`, and enters its checksum into the map of
    /// the epoch that has ended. A block of zeros has no place there. Returns the phase that follows.
    fn store(
        &mut self,
        stream: ObjectId,
        block: BlockNumber,
        content: &[u8; BLOCK_BYTES],
        write: &mut impl FnMut(BlockAddress, &[u8; BLOCK_BYTES]),
        then: Phase,
    ) -> Option<Phase> {
        let (leaf, _) = self.pointer(stream, block, 0)?;
        if leaf.is_empty() {
            return Some(then);
        }
        let entry = &mut self.pages.page_mut(leaf.address)?.entries[index_in(block, 0)];
        if !entry.is_empty() {
            *entry = entry.with_crc(Crc32c::of(content));
            write(entry.address(), content);
        }
        Some(then)
    }

    /// Takes the sealed pages, which the checkpoint writes.
    pub fn take_sealed(&mut self) -> SealedPages {
        self.pages.end_sealing()
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
