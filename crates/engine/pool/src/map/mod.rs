//! The map: all state that a record of the log changes. Objects and their trees, reference counts,
//! content that is only in memory, documents, and detached sub-trees.
//!
//! [`Map`] owns these parts and knows no medium, log or operation: it notes data that has to be
//! read first in [`Need`]. A change is planned, which changes nothing, and then executed in one
//! step. Live operations and replay change the map through the same functions.

mod allotments;
pub(crate) mod assign;
mod ceilings;
mod changes;
pub(crate) mod checkpoint;
mod clone;
mod content;
pub(crate) mod counts;
pub(crate) mod documents;
pub(crate) mod drops;
pub(crate) mod due;
mod leaves;
pub(crate) mod need;
mod objects;
pub(crate) mod page;
pub(crate) mod pages;
mod pins;
pub(crate) mod promises;
pub(crate) mod reclaim;
pub(crate) mod reserves;
mod sealing;
pub(crate) mod space;
pub(crate) mod together;
mod tree;

use crate::catalog::DROP_QUEUE;
use crate::catalog::allotments::Allotments;
use crate::catalog::documents::Documents;
use crate::catalog::object::Dropped;
use crate::catalog::objects::Objects;
use crate::content::blocks::Blocks;
use crate::map::checkpoint::Phase;
use crate::map::documents::DocumentPages;
use crate::map::drops::Drops;
use crate::map::leaves::Leaves;
use crate::map::need::Need;
use crate::map::page::Page;
use crate::map::pages::Pages;
use crate::map::pins::Pins;
use crate::space::SpaceMap;
use media::BlockAddress;
use std::rc::Rc;

/// State that records change.
pub(crate) struct Map {
    pages: Pages,
    space: SpaceMap,
    content: Blocks,
    objects: Objects,
    documents: Documents,
    allotments: Allotments,
    drops: Drops,
    /// Number of blocks that hold map pages and catalog.
    metadata_blocks: u64,
    /// Length of the drop queue in the last checkpoint, in bytes.
    stored_bytes: u64,
    need: Need,
    leaves: Leaves,
    pins: Pins,
    /// What is to be sealed next of the epoch that has ended.
    sealing: Option<Phase>,
    /// True while sub-trees are detached that had been given back before a crash. Bounds of shared blocks and pages
    /// may have been counted without them.
    reclaims_again: bool,
}

impl Map {
    /// Creates the map of a checkpoint whose objects are not loaded yet.
    pub fn new(space: SpaceMap, epoch: u64, metadata_blocks: u64) -> Self {
        Self {
            pages: Pages::new(epoch),
            space,
            content: Blocks::default(),
            objects: Objects::new(),
            documents: Documents::default(),
            allotments: Allotments::default(),
            drops: Drops::default(),
            metadata_blocks,
            stored_bytes: 0,
            need: Need::default(),
            leaves: Leaves::default(),
            pins: Pins::default(),
            sealing: None,
            reclaims_again: true,
        }
    }

    /// Pages in memory.
    #[inline]
    pub fn pages(&self) -> &Pages {
        &self.pages
    }

    /// Adds a page that was read, unless it is in memory.
    pub fn page_arrived(&mut self, address: BlockAddress, page: Page) {
        if self.pages.peek(address).is_none() {
            self.pages.insert(address, Rc::new(page));
        }
    }

    /// Evicts clean pages, segments of counts and content of blocks, unless they are pinned, while more
    /// than these numbers remain, as far as one walk through each comes. Returns the number of entries considered.
    pub fn evict(&mut self, pages: usize, segments: usize, blocks: usize) -> usize {
        let pins = &self.pins;
        self.pages.evict(pages, |address| pins.contains(address))
            + self.space.evict(segments)
            + self.content.evict(blocks, |address| pins.contains(address))
    }

    /// Reference counts and allocation.
    #[inline]
    pub fn space(&self) -> &SpaceMap {
        &self.space
    }

    /// Reference counts and allocation, for tests that change them.
    #[cfg(test)]
    pub fn space_mut(&mut self) -> &mut SpaceMap {
        &mut self.space
    }

    /// Content in memory.
    #[inline]
    pub fn content(&self) -> &Blocks {
        &self.content
    }

    /// Objects.
    #[inline]
    pub fn objects(&self) -> &Objects {
        &self.objects
    }

    /// Objects, for tests that change them.
    #[cfg(test)]
    pub fn objects_mut(&mut self) -> &mut Objects {
        &mut self.objects
    }

    /// Documents.
    pub fn documents(&self) -> &Documents {
        &self.documents
    }

    /// Takes over the documents and detached sub-trees of the last checkpoint.
    pub fn load_streams(&mut self, documents: Documents, drops: Drops) {
        (self.documents, self.drops) = (documents, drops);
        self.note_stored();
    }

    /// Notes that the stored documents are damaged: the next freeze writes all of them.
    pub fn note_document_damage(&mut self, reason: String) {
        self.documents.note_damage(reason);
    }

    /// Notes that a freeze has written the documents in this form.
    pub fn note_documents_frozen(&mut self, pages: &DocumentPages) {
        self.documents.note_frozen(pages.stored, pages.first_hole);
    }

    /// Stores a document that no operation may store.
    #[cfg(test)]
    pub fn put_document(&mut self, key: &str, value: bytes::Bytes) {
        self.documents.put(key, value);
    }

    /// Detached sub-trees.
    #[inline]
    pub fn drops(&self) -> &Drops {
        &self.drops
    }

    /// Parks detached sub-trees whose root page is unreadable.
    pub fn park_drops(&mut self, page: BlockAddress) {
        self.drops.park(|dropped| dropped.pointer.address == page);
    }

    /// Forgets detached sub-trees, for a repair.
    pub fn retain_drops(&mut self, keep: impl FnMut(&Dropped) -> bool) {
        self.drops.retain(keep);
    }

    /// Data that planning found missing.
    #[inline]
    pub fn need(&self) -> &Need {
        &self.need
    }

    /// Forgets the data that planning found missing, and its counts: another plan begins.
    #[inline]
    pub fn forget_need(&mut self) {
        self.need.clear();
    }

    /// Takes the data that planning found missing, to read it.
    pub fn take_need(&mut self) -> Need {
        std::mem::take(&mut self.need)
    }

    /// Forgets the content of blocks that is needed.
    pub fn forget_needed_content(&mut self) {
        self.need.blocks.clear();
    }

    /// Notes that the counts of these segments are needed.
    pub fn need_segments(&mut self, segments: impl IntoIterator<Item = u32>) {
        self.need.segments.extend(segments);
    }

    /// Takes the contradiction in the stored map that planning met.
    pub fn take_damage(&mut self) -> Option<String> {
        self.need.damaged.take()
    }

    /// Takes the contradiction in the index of the documents that planning met.
    pub fn take_index_damage(&mut self) -> Option<String> {
        self.need.damaged_index.take()
    }

    /// Number of blocks that hold map pages and catalog.
    pub fn metadata_blocks(&self) -> u64 {
        self.metadata_blocks
    }

    /// Sets the number of blocks that hold map pages and catalog, as counted by a repair.
    pub fn set_metadata_blocks(&mut self, blocks: u64) {
        self.metadata_blocks = blocks;
    }

    /// Notes the length of the drop queue, which the next checkpoint may have to remove from the
    /// map.
    pub fn note_stored(&mut self) {
        self.stored_bytes = self.objects.length(DROP_QUEUE);
    }
}
