//! Changes of the map that live operations and replay share: write blocks, zero a run, clone a run, change the catalog.
//!
//! Each function assumes that planning found everything in memory and enough free blocks. `None` means that this was not so: the map may be half
//! changed, and the caller stops the pool.

use crate::content::blocks::Data;
use crate::core::Core;

use crate::geometry::{FANOUT, index_in};
use crate::log::record::BlockWrite;
use crate::map::page::Entry;
use crate::mutations::{Mutation, leaves_out};
use crate::space::{STICKY, Stream};
use media::{BLOCK_BYTES, Media};
use smallvec::SmallVec;

/// Level, first block and number of entries of each piece of a run that lies in one map page.
type Pieces = SmallVec<[(u8, u64, usize); 8]>;

/// What a live write wants for one block.
pub(crate) enum Source {
    /// All zeros: unmap.
    Zero,
    /// The content goes into the log.
    Inline(Data, u32),
    /// The content already is at this block, with this CRC.
    Placed(u64, u32),
}

impl<M: Media> Core<M> {
    /// A live write of consecutive blocks. Decides for each block where it goes, and returns that for the log. `sequence` is the number of the
    /// record that will hold the inline content.
    pub(crate) fn assign_write(
        &mut self,
        object: u64,
        first: u64,
        sources: &[Source],
        sequence: u64,
    ) -> Option<Vec<BlockWrite>> {
        let mut written = Vec::with_capacity(sources.len());
        let mut at = 0;
        while at < sources.len() {
            let block = first + at as u64;
            let index = index_in(block, 0);
            let n = (256 - index).min(sources.len() - at);
            if sources[at..at + n].iter().all(|s| matches!(s, Source::Zero)) && self.leaf_is_empty(object, block)? {
                written.extend((0..n).map(|_| BlockWrite { address: 0, crc: 0, new: false }));
                at += n;
                continue;
            }
            let early = leaves_out(Mutation::ClassAfterUnsharing).then(|| self.in_place(object, block, n));
            let path = self.own_path(object, block, 0)?;
            let mut delta = 0i64;
            let mut parted = 0;
            for (i, source) in sources[at..at + n].iter().enumerate() {
                let old = self.pages.get(&path.page())?.page.entries[index + i];
                let (entry, new) = match source {
                    Source::Zero => (Entry::EMPTY, false),
                    Source::Inline(data, crc) => {
                        let early = early.as_ref().is_some_and(|early| early.get(i) == Some(&true));
                        if !old.is_empty() && (early || self.space.count(old.address())? == 1) {
                            self.blocks.write(old.address(), data.clone(), *crc, sequence);
                            (Entry::block(old.address(), *crc), false)
                        } else {
                            let address = self.space.allocate(Stream::Small)?;
                            self.space.increment(address)?;
                            self.blocks.write(address, data.clone(), *crc, sequence);
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
                self.page_mut(path.page())?.entries[index + i] = entry;
                if !old.is_empty() && old.address() != entry.address() {
                    let left = self.release_block(old.address())?;
                    parted += u64::from(new && left > 0);
                }
                written.push(BlockWrite { address: entry.address(), crc: entry.crc(), new });
            }
            self.finish_path(&path, delta)?;
            self.objects.fewer_shared(object, parted)?;
            at += n;
        }
        Some(written)
    }

    /// Which blocks of a leaf have one reference now.
    fn in_place(&mut self, object: u64, block: u64, n: usize) -> Vec<bool> {
        let address = self.pointer(object, block, 0).map_or(0, |(pointer, _)| pointer.0);
        let Some(page) = self.pages.get(&address).map(|cached| cached.page.clone()) else { return Vec::new() };
        let entries = page.entries.iter().skip(index_in(block, 0)).take(n);
        entries.map(|entry| self.space.count(entry.address()) == Some(1)).collect()
    }

    fn leaf_is_empty(&mut self, object: u64, block: u64) -> Option<bool> {
        let (pointer, _) = self.pointer(object, block, 0)?;
        Some(pointer.0 == 0)
    }

    /// Replays a write record.
    pub(crate) fn replay_write(
        &mut self,
        object: u64,
        first: u64,
        blocks: &[BlockWrite],
        data: Option<&[u8]>,
        sequence: u64,
    ) -> Option<()> {
        let mut contents = data.map(|d| d.as_chunks::<BLOCK_BYTES>().0.iter());
        let mut at = 0;
        while at < blocks.len() {
            let block = first + at as u64;
            let index = index_in(block, 0);
            let n = (256 - index).min(blocks.len() - at);
            if blocks[at..at + n].iter().all(|b| b.address == 0) && self.leaf_is_empty(object, block)? {
                at += n;
                continue;
            }
            let path = self.own_path(object, block, 0)?;
            let mut delta = 0i64;
            let mut parted = 0;
            for (i, write) in blocks[at..at + n].iter().enumerate() {
                let old = self.pages.get(&path.page())?.page.entries[index + i];
                let entry = if write.address == 0 { Entry::EMPTY } else { Entry::block(write.address, write.crc) };
                if write.new {
                    // Counts that were given up say no more than that.
                    if !matches!(self.space.increment(write.address)?, 1 | STICKY) {
                        return None;
                    }
                    self.space.permit(write.address);
                } else if write.address != 0 && old.address() != write.address {
                    return None;
                }
                if write.address != 0
                    && let Some(contents) = &mut contents
                {
                    self.blocks.write(write.address, std::rc::Rc::new(*contents.next()?), write.crc, sequence);
                }
                delta += i64::from(!entry.is_empty()) - i64::from(!old.is_empty());
                self.page_mut(path.page())?.entries[index + i] = entry;
                if !old.is_empty() && old.address() != entry.address() {
                    let left = self.release_block(old.address())?;
                    parted += u64::from(write.new && left > 0);
                }
            }
            self.finish_path(&path, delta)?;
            self.objects.fewer_shared(object, parted)?;
            at += n;
        }
        Some(())
    }

    /// Removes the mappings of a run: whole sub-trees are detached, the rest goes entry by entry.
    pub(crate) fn assign_zero(&mut self, object: u64, first: u64, count: u64) -> Option<()> {
        let (_, root_level, _) = self.root_of(object)?;
        let mut pieces = Vec::new();
        Self::pieces(root_level, first, count, 0, |level, at, entries| pieces.push((level, at, entries)));
        for (level, at, entries) in pieces {
            let (pointer, mapped) = self.pointer(object, at, level)?;
            if pointer.0 == 0 || mapped == 0 {
                continue;
            }
            let from = index_in(at, level);
            let page = &self.pages.get(&pointer.0)?.page;
            if page.entries[from..from + entries].iter().all(|e| e.is_empty()) {
                continue;
            }
            let path = self.own_path(object, at, level)?;
            let mut delta = 0i64;
            for i in from..from + entries {
                let old = self.pages.get(&path.page())?.page.entries[i];
                if old.is_empty() {
                    continue;
                }
                self.page_mut(path.page())?.entries[i] = Entry::EMPTY;
                if level == 0 {
                    delta -= 1;
                    let left = self.release_block(old.address())?;
                    self.objects.fewer_shared(object, u64::from(left > 0))?;
                } else {
                    delta -= old.mapped() as i64;
                    if self.space.count(old.address()).is_some_and(|count| count > 1) {
                        self.objects.fewer_shared(object, old.mapped())?;
                    }
                    self.drop_tree((old.address(), level - 1, old.crc()), old.mapped());
                }
            }
            if level > 0 {
                self.objects.more_shared(
                    object,
                    0,
                    crate::geometry::pages_of_run(entries as u64 * crate::geometry::entry_span(level)),
                )?;
            }
            self.finish_path(&path, delta)?;
        }
        Some(())
    }

    /// Makes a run of the destination share the source's blocks. All source references are taken before any destination changes.
    pub(crate) fn assign_clone(
        &mut self,
        source: u64,
        source_first: u64,
        destination: u64,
        destination_first: u64,
        count: u64,
    ) -> Option<()> {
        let (_, destination_level, _) = self.root_of(destination)?;
        let (_, source_level, _) = self.root_of(source)?;
        let phase = source_first.wrapping_sub(destination_first);
        self.owned.clear();
        let mut pieces = Pieces::new();
        Self::pieces(destination_level.min(source_level), destination_first, count, phase, |level, at, entries| {
            pieces.push((level, at, entries));
        });
        let mut gathered: SmallVec<[Entry; 32]> = SmallVec::with_capacity(pieces.iter().map(|piece| piece.2).sum());
        for &(level, at, entries) in &pieces {
            // The piece lies in one page of the destination, but perhaps in two of the source.
            let from = at.wrapping_add(phase);
            let mut done = 0;
            while done < entries {
                let block = from + done as u64 * crate::geometry::entry_span(level);
                let index = index_in(block, level);
                let n = (entries - done).min(FANOUT - index);
                match self.pointer(source, block, level)?.0.0 {
                    0 => gathered.resize(gathered.len() + n, Entry::EMPTY),
                    address => {
                        let shared = &self.pages.get(&address)?.page.entries[index..index + n];
                        self.space.share(shared.iter().map(Entry::address))?;
                        gathered.extend_from_slice(shared);
                    }
                }
                done += n;
            }
        }
        let mut rest = &mut gathered[..];
        let mut shared = 0;
        for (level, at, entries) in pieces {
            let exchanged;
            (exchanged, rest) = rest.split_at_mut(entries);
            let from = index_in(at, level);
            if exchanged.iter().all(Entry::is_empty) {
                let address = self.pointer(destination, at, level)?.0.0;
                if address == 0
                    || self.pages.get(&address)?.page.entries[from..from + entries].iter().all(Entry::is_empty)
                {
                    continue;
                }
            }
            let path = self.own_path(destination, at, level)?;
            let mapped = |entries: &[Entry]| -> i64 {
                match level {
                    0 => entries.iter().filter(|entry| !entry.is_empty()).count() as i64,
                    _ => entries.iter().map(|entry| entry.mapped() as i64).sum(),
                }
            };
            let after = mapped(exchanged);
            shared += after.unsigned_abs();
            let page = self.page_mut(path.page())?;
            let empty = page.mapped() == 0;
            page.entries[from..from + entries].swap_with_slice(exchanged);
            if empty {
                self.finish_path(&path, after)?;
                continue;
            }
            let before = mapped(exchanged);
            if before > 0 {
                for old in exchanged.iter().filter(|old| !old.is_empty()) {
                    match level {
                        0 => {
                            self.release_block(old.address())?;
                        }
                        _ => self.drop_tree((old.address(), level - 1, old.crc()), old.mapped()),
                    }
                }
            }
            self.finish_path(&path, after - before)?;
        }
        self.objects.more_shared(source, shared, crate::geometry::pages_of_run(count))?;
        self.objects.more_shared(destination, shared, crate::geometry::pages_of_run(count))
    }

    /// Plans a clone: like `assign_clone`, without changing anything. False when something is missing.
    pub(crate) fn plan_clone(
        &mut self,
        source: u64,
        source_first: u64,
        destination: u64,
        destination_first: u64,
        count: u64,
    ) -> bool {
        let (Some((_, dl, _)), Some((_, sl, _))) = (self.root_of(destination), self.root_of(source)) else {
            return false;
        };
        let phase = source_first.wrapping_sub(destination_first);
        let mut pieces = Pieces::new();
        Self::pieces(dl.min(sl), destination_first, count, phase, |level, at, entries| {
            pieces.push((level, at, entries))
        });
        let mut complete = true;
        // Sharing with oneself may share a page that a later piece has to own, but only if that piece goes deeper than another.
        let same_level = pieces.iter().all(|piece| Some(piece.0) == pieces.first().map(|first| first.0));
        let worst = source == destination && !same_level;
        for (level, at, entries) in pieces {
            let from = at.wrapping_add(phase);
            let mut i = 0u64;
            while i < entries as u64 {
                let block = from + i * crate::geometry::entry_span(level);
                let index = index_in(block, level);
                let n = (entries as u64 - i).min(256 - index as u64);
                match self.pointer(source, block, level) {
                    None => complete = false,
                    Some(((0, _, _), _)) => {}
                    Some((pointer, _)) => match self.page(pointer) {
                        None => complete = false,
                        Some(page) => {
                            self.need_counts_of(&page.entries[index..index + n as usize]);
                        }
                    },
                }
                i += n;
            }
            let index = index_in(at, level);
            complete &= self.plan_path(destination, at, level, index..index + entries, worst).is_some();
        }
        complete
    }

    /// What the object shares at most, as counted.
    pub(crate) fn set_shared(&mut self, id: u64, blocks: u64, pages: u64) -> Option<()> {
        self.objects.set_shared(id, blocks, pages)?;
        self.settle_deficit(id);
        Some(())
    }
}
