//! Pages of the documents' index that a checkpoint writes; they are blocks of one of the pool's own
//! streams.

use crate::catalog::DOCUMENTS;
use crate::catalog::documents::Stored;
use crate::catalog::stream::encode_documents;
use crate::content::data::Data;
use crate::geometry::{FANOUT, STREAM_LEVEL, blocks_for, index_in, page_span};
use crate::index::{ApplyError, Batch, Block, Full, IndexRoot, Node, PAGES, PageNumber, Source, apply, block_of};
use crate::interface::ObjectId;
use crate::interface::range::BlockNumber;
use crate::map::Map;
use media::BLOCK_BYTES;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::rc::Rc;

/// Changes of the documents that a freeze writes.
pub(crate) struct DocumentPages {
    /// Stored form after the freeze.
    pub stored: Stored,
    /// Length of the stream in bytes after the freeze.
    pub length: u64,
    /// Lower bound of the free pages of the index after the freeze.
    pub first_hole: PageNumber,
    /// Blocks of the stream to write.
    pub writes: BTreeMap<PageNumber, Box<Block>>,
    /// Blocks of the stream that become free.
    pub freed: BTreeSet<PageNumber>,
}

/// Pages of an index in a stream; those that are not in memory are noted in the map's need.
struct StreamPages<'a> {
    map: &'a mut Map,
    stream: ObjectId,
    /// True if the stream has other content, which the index replaces: every page counts as free.
    anew: bool,
}

impl StreamPages<'_> {
    fn block(&mut self, number: PageNumber) -> Option<Data> {
        let entry = self.map.lookup(self.stream, block_of(number))?;
        if entry.is_empty() {
            self.broken(format!("index page {number}: it is not stored"));
            return None;
        }
        self.map.content_of(&entry)
    }
}

impl Source for StreamPages<'_> {
    fn node(&mut self, number: PageNumber, level: u8) -> Option<Rc<Node>> {
        let block = self.block(number)?;
        let reason = match Node::decode(&block[..], number) {
            Ok(node) if node.level == level => return Some(Rc::new(node)),
            Ok(node) => format!("index page {number}: it is at level {}, not {level}", node.level),
            Err(reason) => reason,
        };
        self.broken(reason);
        None
    }

    fn hole(&mut self, from: PageNumber) -> Option<Result<PageNumber, Full>> {
        let mut at = from.max(1);
        while at < PAGES && !self.anew {
            let (pointer, _) = self.map.pointer(self.stream, block_of(at), 0)?;
            if pointer.is_empty() {
                break;
            }
            let page = self.map.page(pointer)?;
            let rest = page.entries.iter().skip(index_in(block_of(at), 0));
            match (at..).zip(rest).find(|(_, entry)| entry.is_empty()) {
                Some((hole, _)) => return Some(Ok(hole)),
                None => at = (at / FANOUT as u32 + 1) * FANOUT as u32,
            }
        }
        Some(if at < PAGES { Ok(at) } else { Err(Full) })
    }

    fn broken(&mut self, reason: String) {
        self.map.need.damaged_index = Some(reason);
    }
}

impl Map {
    /// Returns the changes that a freeze writes; the inner `None`: nothing has changed. The outer
    /// `None`: the need lists the data to read first, or the damage. `keep_list`: a list stays a
    /// list.
    pub(crate) fn documents_to_write(&mut self, keep_list: bool) -> Option<Option<DocumentPages>> {
        let Some(changes) = self.documents.to_store() else { return Some(None) };
        let old_blocks = blocks_for(self.objects.length(DOCUMENTS));
        let (root, anew) = match self.documents.stored() {
            Stored::List if keep_list => return Some(Some(self.list_to_write(old_blocks))),
            Stored::List => (IndexRoot::default(), true),
            // Every document is in memory.
            Stored::Index(_) if self.documents.damage().is_some() => (IndexRoot::default(), true),
            Stored::Index(root) => (root, false),
        };
        let first_hole = self.documents.first_hole();
        let applied = apply(&mut StreamPages { map: self, stream: DOCUMENTS, anew }, root, &changes, first_hole)?;
        let Batch { root, writes, mut freed, first_hole, .. } = match applied {
            Ok(batch) => batch,
            Err(error) => {
                match error {
                    ApplyError::Full => self.need.damaged = Some("the index of the documents is full".to_owned()),
                    ApplyError::Broken => {
                        let reason = || "the index of the documents contradicts itself".to_owned();
                        self.need.damaged_index.get_or_insert_with(reason);
                    }
                }
                return None;
            }
        };
        let end = writes.last_key_value().map_or(0, |(number, _)| u64::from(*number) + 1);
        if anew {
            // Everything that the stream held goes; the index may have taken blocks that it used.
            let mapped = self.mapped_blocks(DOCUMENTS, old_blocks)?;
            freed.extend(mapped.into_iter().filter(|block| !writes.contains_key(block)));
        }
        Some(Some(DocumentPages {
            stored: Stored::Index(root),
            length: if anew { end } else { end.max(old_blocks) } * BLOCK_BYTES as u64,
            first_hole: freed.range(1..).next().map_or(first_hole, |freed| first_hole.min(*freed)),
            writes,
            freed,
        }))
    }

    /// Mapped blocks of one of the pool's own streams among its first `blocks`.
    fn mapped_blocks(&mut self, stream: ObjectId, blocks: u64) -> Option<Vec<PageNumber>> {
        let (mut mapped, mut complete) = (Vec::new(), true);
        for start in (0..blocks).step_by(FANOUT) {
            let leaf = match self.pointer(stream, BlockNumber::new(start), 0) {
                Some((pointer, _)) if pointer.is_empty() => continue,
                Some((pointer, _)) => self.page(pointer),
                None => None,
            };
            complete &= leaf.is_some();
            for (block, entry) in (start..blocks).zip(leaf.iter().flat_map(|leaf| &leaf.entries)) {
                if !entry.is_empty() {
                    mapped.push(block as PageNumber);
                }
            }
        }
        complete.then_some(mapped)
    }

    /// Encodes the documents as a list.
    fn list_to_write(&self, old_blocks: u64) -> DocumentPages {
        let list = encode_documents(self.documents.all());
        let mut writes = BTreeMap::new();
        for (number, part) in (0..).zip(list.chunks(BLOCK_BYTES)) {
            let mut block = Box::new([0; BLOCK_BYTES]);
            block[..part.len()].copy_from_slice(part);
            if part.iter().any(|byte| *byte != 0) {
                writes.insert(number, block);
            }
        }
        let length = list.len() as u64;
        let blocks = blocks_for(length).max(old_blocks) as u32;
        let freed = (0..blocks).filter(|block| !writes.contains_key(block)).collect();
        DocumentPages { stored: Stored::List, length, first_hole: 1, writes, freed }
    }

    /// Plans to write and free blocks of one of the pool's own streams, given in ascending order.
    /// False if data is missing.
    ///
    /// Each page above them is counted once, which is correct if writes precede frees: a page that
    /// becomes empty in between would be created a second time.
    pub(crate) fn plan_stream(&mut self, stream: ObjectId, blocks: impl Iterator<Item = BlockNumber>) -> bool {
        let planned = (self.need.allocations, self.need.passing, self.need.fresh);
        let (mut complete, mut pages) = (true, 0);
        let mut leaf: Option<RangeInclusive<BlockNumber>> = None;
        let mut plan = |map: &mut Self, blocks: RangeInclusive<BlockNumber>| {
            let first = *blocks.start();
            let entries = index_in(first, 0)..index_in(*blocks.end(), 0) + 1;
            complete &= map.plan_path(stream, first, 0, entries, false).is_some();
            pages += 1;
        };
        let mut interior = None;
        let mut interiors = 0;
        for block in blocks {
            leaf = match leaf {
                Some(leaf) if leaf.end().page(0) == block.page(0) => Some(*leaf.start()..=block),
                other => {
                    other.into_iter().for_each(|leaf| plan(self, leaf));
                    Some(block..=block)
                }
            };
            if interior.replace(block.page(1)) != Some(block.page(1)) {
                interiors += 1;
            }
        }
        leaf.into_iter().for_each(|leaf| plan(self, leaf));
        (self.need.allocations, self.need.passing, self.need.fresh) = planned;
        // Leaves, the pages above them, and the root.
        self.need.allocations += pages + interiors + u64::from(pages > 0);
        complete
    }

    /// Largest number of pages that map the blocks of one of the pool's own streams of this length.
    pub(crate) const fn pages_of_stream(blocks: u64) -> u64 {
        let mut pages = 0;
        let mut level = 0;
        while level <= STREAM_LEVEL {
            pages += blocks.div_ceil(page_span(level));
            level += 1;
        }
        pages
    }
}
