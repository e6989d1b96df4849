//! Changes of the map that live operations and replay share: write blocks, zero a run, clone a run,
//! change the catalog.
//!
//! Each function requires that planning found all data in memory and enough free blocks. `None`
//! means that this was violated: the map may be half changed, and the caller stops the pool.

use crate::checksum::Crc32c;
use crate::content::data::Data;
use crate::interface::ObjectId;
use crate::interface::range::BlockNumber;

use crate::map::Map;

use crate::geometry::{FANOUT, entry_span, index_in, pages_of_run};
use crate::log::patch::{Patch, Patched};
use crate::log::record::BlockWrite;
use crate::map::page::Entry;
use crate::mutations::{Mutation, leaves_out};
use crate::space::{STICKY, Stream};
use media::{BLOCK_BYTES, BlockAddress};

/// Content of one block of a live write.
pub(crate) enum Source {
    /// All zeros: unmap the block.
    Zero,
    /// Content that goes into the log, with its CRC.
    Inline(Data, Crc32c),
    /// Content that is already at this block, with this CRC.
    Placed(BlockAddress, Crc32c),
}

/// Block that is overwritten in place: its address, and the checksum of the content before.
struct Entered {
    address: BlockAddress,
    before: Crc32c,
}

/// Block that was overwritten in place.
pub(crate) struct Replaced {
    pub address: BlockAddress,
    /// Checksum of the content before.
    pub before: Crc32c,
    /// Number of the record with whole content on which a patch builds; `None` if the record has to hold the whole
    /// content.
    pub image: Option<u64>,
}

impl Map {
    /// Replaces the content of one block that is mapped, unshared and in a leaf that this epoch
    /// owns, without planning or allocation. Returns the block's address; `None`, without effect,
    /// for any other block.
    #[inline]
    pub(crate) fn overwrite(
        &mut self,
        object: ObjectId,
        block: BlockNumber,
        content: &[u8; BLOCK_BYTES],
        crc: Crc32c,
        sequence: u64,
    ) -> Option<BlockAddress> {
        let Entered { address, .. } = self.enter_in_place(object, block, crc)?;
        let copy = self.content.copy_of(content);
        self.content.write(address, copy, crc, sequence);
        Some(address)
    }

    /// [`Self::overwrite`], with content that need not be copied. With `patches`, the record `sequence` will hold
    /// only what differs from the content before, if that is possible: then [`Replaced::image`] says so.
    pub(crate) fn replace(
        &mut self,
        (object, block): (ObjectId, BlockNumber),
        data: Data,
        crc: Crc32c,
        sequence: u64,
        patches: bool,
    ) -> Option<Replaced> {
        let Entered { address, before } = self.enter_in_place(object, block, crc)?;
        let image = if patches { self.content.image(address, before) } else { None };
        match image {
            Some(image) => self.content.patch(address, data, crc, sequence, image),
            None => self.content.write(address, data, crc, sequence),
        }
        self.allotments.wrote(object, block, 0, 0);
        Some(Replaced { address, before, image })
    }

    /// True if [`Self::replace`] replaces the content of a block.
    pub(crate) fn is_replaceable(&self, object: ObjectId, block: BlockNumber) -> bool {
        let leaf = self.owned_leaf(object, block).and_then(|leaf| self.pages.peek(leaf));
        leaf.is_some_and(|page| self.space.is_unshared(page.entries[index_in(block, 0)].address()))
    }

    /// Enters the checksum of new content of one block that is mapped, unshared and in a leaf that this epoch owns.
    #[inline]
    fn enter_in_place(&mut self, object: ObjectId, block: BlockNumber, crc: Crc32c) -> Option<Entered> {
        let leaf = self.owned_leaf(object, block)?;
        let place = &mut self.pages.page_mut(leaf)?.entries[index_in(block, 0)];
        let (address, before) = (place.address(), place.crc());
        if !self.space.is_unshared(address) {
            return None;
        }
        *place = Entry::block(address, crc);
        Some(Entered { address, before })
    }

    /// Executes a live write of consecutive blocks. Decides for each block where it goes, and
    /// returns that for the log. `sequence` is the number of the record that will hold the inline
    /// content.
    pub(crate) fn assign_write(
        &mut self,
        object: ObjectId,
        first: BlockNumber,
        sources: &[Source],
        sequence: u64,
    ) -> Option<Vec<BlockWrite>> {
        let mut written = Vec::with_capacity(sources.len());
        let mut at = 0;
        while at < sources.len() {
            let block = first + at as u64;
            let index = index_in(block, 0);
            let n = self.allotments.run(object, block, (FANOUT - index).min(sources.len() - at) as u64) as usize;
            if sources[at..at + n].iter().all(|s| matches!(s, Source::Zero)) && self.leaf_is_empty(object, block)? {
                written.extend((0..n).map(|_| BlockWrite {
                    address: BlockAddress::NONE,
                    crc: Crc32c::NONE,
                    new: false,
                }));
                at += n;
                continue;
            }
            let early = leaves_out(Mutation::ClassAfterUnsharing).then(|| self.in_place(object, block, n));
            let path = self.own_path(object, block, 0)?;
            let mut delta = 0i64;
            let (mut parted, mut left_shared) = (0, 0);
            for (i, source) in sources[at..at + n].iter().enumerate() {
                let old = self.pages.peek(path.page())?.entries[index + i];
                let (entry, new) = match source {
                    Source::Zero => (Entry::EMPTY, false),
                    Source::Inline(data, crc) => {
                        let early = early.as_ref().is_some_and(|early| early.get(i) == Some(&true));
                        if !old.is_empty() && (early || self.space.count(old.address())? == 1) {
                            self.content.write(old.address(), data.clone(), *crc, sequence);
                            (Entry::block(old.address(), *crc), false)
                        } else {
                            let address = self.space.allocate(Stream::Small)?;
                            self.space.increment(address)?;
                            self.content.write(address, data.clone(), *crc, sequence);
                            (Entry::block(address, *crc), true)
                        }
                    }
                    Source::Placed(address, crc) => {
                        self.space.unreserve(*address, false);
                        self.space.increment(*address)?;
                        (Entry::block(*address, *crc), true)
                    }
                };
                delta += i64::from(!entry.is_empty()) - i64::from(!old.is_empty());
                self.pages.page_mut(path.page())?.entries[index + i] = entry;
                if !old.is_empty() && old.address() != entry.address() {
                    let left = self.release_block(old.address())?;
                    parted += u64::from(new && left > 0);
                    left_shared += u64::from(left > 0);
                }
                written.push(BlockWrite { address: entry.address(), crc: entry.crc(), new });
            }
            self.finish_path(&path, delta)?;
            self.objects.fewer_shared(object, self.off_bounds(parted))?;
            self.allotments.wrote(object, block, delta, self.off_bounds(left_shared));
            at += n;
        }
        Some(written)
    }

    /// Returns which blocks of a leaf have exactly one reference now.
    fn in_place(&mut self, object: ObjectId, block: BlockNumber, n: usize) -> Vec<bool> {
        let address = self.pointer(object, block, 0).map_or(BlockAddress::NONE, |(pointer, _)| pointer.address);
        let Some(page) = self.pages.peek(address).cloned() else { return Vec::new() };
        let entries = page.entries.iter().skip(index_in(block, 0)).take(n);
        entries.map(|entry| self.space.count(entry.address()) == Some(1)).collect()
    }

    fn leaf_is_empty(&mut self, object: ObjectId, block: BlockNumber) -> Option<bool> {
        let (pointer, _) = self.pointer(object, block, 0)?;
        Some(pointer.is_empty())
    }

    /// Replays a write record.
    pub(crate) fn replay_write(
        &mut self,
        object: ObjectId,
        first: BlockNumber,
        blocks: &[BlockWrite],
        data: Option<&[u8]>,
        sequence: u64,
    ) -> Option<()> {
        let mut contents = data.map(|d| d.as_chunks::<BLOCK_BYTES>().0.iter());
        let mut at = 0;
        while at < blocks.len() {
            let block = first + at as u64;
            let index = index_in(block, 0);
            let n = self.allotments.run(object, block, (FANOUT - index).min(blocks.len() - at) as u64) as usize;
            if blocks[at..at + n].iter().all(|b| b.address.is_none()) && self.leaf_is_empty(object, block)? {
                at += n;
                continue;
            }
            let path = self.own_path(object, block, 0)?;
            let mut delta = 0i64;
            let (mut parted, mut left_shared) = (0, 0);
            for (i, write) in blocks[at..at + n].iter().enumerate() {
                let old = self.pages.peek(path.page())?.entries[index + i];
                let entry = if write.address.is_none() { Entry::EMPTY } else { Entry::block(write.address, write.crc) };
                if write.new {
                    // Counts of a given-up segment stay at the limit.
                    if !matches!(self.space.increment(write.address)?, 1 | STICKY) {
                        return None;
                    }
                    self.space.put_into_use(write.address);
                    if contents.is_none() {
                        // Content of an earlier use of the block, which replay has not seen freed because
                        // its counts were given up.
                        self.content.free(write.address);
                        self.content.place(write.address, 1);
                    }
                } else if !write.address.is_none() && old.address() != write.address {
                    return None;
                }
                if !write.address.is_none()
                    && let Some(contents) = &mut contents
                {
                    let data = self.content.copy_of(contents.next()?);
                    self.content.write(write.address, data, write.crc, sequence);
                }
                delta += i64::from(!entry.is_empty()) - i64::from(!old.is_empty());
                self.pages.page_mut(path.page())?.entries[index + i] = entry;
                if !old.is_empty() && old.address() != entry.address() {
                    let left = self.release_block(old.address())?;
                    parted += u64::from(write.new && left > 0);
                    left_shared += u64::from(left > 0);
                }
            }
            self.finish_path(&path, delta)?;
            self.objects.fewer_shared(object, self.off_bounds(parted))?;
            self.allotments.wrote(object, block, delta, self.off_bounds(left_shared));
            at += n;
        }
        Some(())
    }

    /// Replays a patch. `None` too if the content on which it builds is not that of its image.
    pub(crate) fn replay_patch(&mut self, patch: &Patch<'_>, sequence: u64) -> Option<()> {
        let Patched { object, block, address, image, before, after } = patch.patched;
        let path = self.own_path(object, block, 0)?;
        let entry = &mut self.pages.page_mut(path.page())?.entries[index_in(block, 0)];
        if entry.address() != address || entry.crc() != before {
            return None;
        }
        *entry = Entry::block(address, after);
        self.finish_path(&path, 0)?;
        self.allotments.wrote(object, block, 0, 0);
        let content = self.content.get(address, before)?;
        if self.content.image(address, before) != Some(image) {
            return None;
        }
        let data = self.content.copy_of(&patch.applied_to(&content)?);
        self.content.patch(address, data, after, sequence, image);
        Some(())
    }

    /// Removes the mappings of a run: detaches whole sub-trees, and removes the rest entry by
    /// entry.
    pub(crate) fn assign_zero(&mut self, object: ObjectId, first: BlockNumber, count: u64) -> Option<()> {
        let root_level = self.root_of(object)?.level;
        let mut pieces = Vec::new();
        Self::pieces(root_level, first, count, 0, |level, at, entries| pieces.push((level, at, entries)));
        for (level, at, entries) in pieces {
            let (pointer, mapped) = self.pointer(object, at, level)?;
            if pointer.is_empty() || mapped == 0 {
                continue;
            }
            let from = index_in(at, level);
            let page = self.pages.peek(pointer.address)?;
            if page.entries[from..from + entries].iter().all(|e| e.is_empty()) {
                continue;
            }
            let path = self.own_path(object, at, level)?;
            let mut delta = 0i64;
            for i in from..from + entries {
                let old = self.pages.peek(path.page())?.entries[i];
                if old.is_empty() {
                    continue;
                }
                self.pages.page_mut(path.page())?.entries[i] = Entry::EMPTY;
                let block = at + (i - from) as u64 * entry_span(level);
                if level == 0 {
                    delta -= 1;
                    let left = self.release_block(old.address())?;
                    self.objects.fewer_shared(object, self.off_bounds(u64::from(left > 0)))?;
                    self.allotted_entry_replaced(object, (0, block), (old, left > 0), Entry::EMPTY)?;
                } else {
                    let mapped = self.mapped_by(level, &[old])?;
                    delta -= mapped as i64;
                    let shared = self.space.count(old.address()).is_some_and(|count| count > 1);
                    if shared {
                        self.objects.fewer_shared(object, self.off_bounds(mapped))?;
                    }
                    self.allotted_entry_replaced(object, (level, block), (old, shared), Entry::EMPTY)?;
                    self.drop_tree(old.child_pointer(level), mapped);
                }
            }
            if level > 0 {
                self.objects.more_shared(object, 0, pages_of_run(entries as u64 * entry_span(level)))?;
                self.allotted_pages_left(object, (level, at, entries));
            }
            self.finish_path(&path, delta)?;
        }
        Some(())
    }
}
