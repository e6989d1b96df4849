//! Clones of ranges: a run of one object takes over the blocks of a run of another, whole sub-trees
//! where their alignment agrees.

use crate::geometry::{FANOUT, index_in};
use crate::interface::ObjectId;
use crate::interface::range::BlockNumber;
use crate::map::Map;
use crate::map::page::Entry;
use media::BlockAddress;
use smallvec::SmallVec;
/// Level, first block and number of entries of each piece of a run that is in one map page.
type Pieces = SmallVec<[(u8, BlockNumber, usize); 8]>;
/// Entries of the pieces of a run, one piece after the other.
type Entries = SmallVec<[Entry; 32]>;

impl Map {
    /// Makes a run of the destination share the source's blocks. All source references are taken
    /// before the destination changes.
    pub(crate) fn assign_clone(
        &mut self,
        source: ObjectId,
        source_first: BlockNumber,
        destination: ObjectId,
        destination_first: BlockNumber,
        count: u64,
    ) -> Option<()> {
        let destination_level = self.root_of(destination)?.level;
        let source_level = self.root_of(source)?.level;
        let phase = source_first.distance_from(destination_first);
        self.pages.disown();
        let mut pieces = Pieces::new();
        Self::pieces(destination_level.min(source_level), destination_first, count, phase, |level, at, entries| {
            pieces.push((level, at, entries));
        });
        self.allotments_of_source_shared((source, source_first), (destination, destination_first), count)?;
        let mut gathered = Entries::with_capacity(pieces.iter().map(|piece| piece.2).sum());
        self.share_source(source, phase, &pieces, &mut gathered)?;
        let mut rest = &mut gathered[..];
        let mut shared = 0;
        for (level, at, entries) in pieces {
            let exchanged;
            (exchanged, rest) = rest.split_at_mut(entries);
            shared += self.exchange(destination, level, at, exchanged)?;
            self.allotted_pages_left(destination, (level, at, entries));
        }
        self.objects.more_shared(source, shared, crate::geometry::pages_of_run(count))?;
        self.objects.more_shared(destination, shared, crate::geometry::pages_of_run(count))
    }

    /// Takes a reference to all that the source's entries of `pieces` point to, and appends those
    /// entries to `gathered`. `phase`: distance in blocks from the destination to the source.
    #[inline]
    fn share_source(&mut self, source: ObjectId, phase: u64, pieces: &Pieces, gathered: &mut Entries) -> Option<()> {
        for &(level, at, entries) in pieces {
            // The piece is in one page of the destination, but may be in two of the source.
            let from = at.at_distance(phase);
            let mut done = 0;
            while done < entries {
                let block = from + done as u64 * crate::geometry::entry_span(level);
                let index = index_in(block, level);
                let n = (entries - done).min(FANOUT - index);
                match self.pointer(source, block, level)?.0.address {
                    BlockAddress::NONE => gathered.resize(gathered.len() + n, Entry::EMPTY),
                    address => {
                        let shared = &self.pages.peek(address)?.entries[index..index + n];
                        self.space.increment_all(shared.iter().map(Entry::address))?;
                        gathered.extend_from_slice(shared);
                    }
                }
                done += n;
            }
        }
        Some(())
    }

    /// Puts entries into the object's page at `level`, from that of block `at` on, and releases what
    /// was there. Returns the number of blocks mapped by the new entries.
    #[inline]
    fn exchange(&mut self, object: ObjectId, level: u8, at: BlockNumber, entries: &mut [Entry]) -> Option<u64> {
        let places = index_in(at, level)..index_in(at, level) + entries.len();
        if entries.iter().all(Entry::is_empty) {
            let address = self.pointer(object, at, level)?.0.address;
            if address.is_none() || self.pages.peek(address)?.entries[places.clone()].iter().all(Entry::is_empty) {
                return Some(0);
            }
        }
        let path = self.own_path(object, at, level)?;
        let after = self.mapped_by(level, entries)?;
        let page = self.pages.page_mut(path.page())?;
        let empty = page.mapped() == 0;
        page.entries[places].swap_with_slice(entries);
        self.pages.note_copied_pointers(level, path.page());
        self.allotted_entries_exchanged(object, (level, at), path.page(), entries)?;
        let before = if empty { 0 } else { self.mapped_by(level, entries)? };
        if before > 0 {
            for old in entries.iter().filter(|old| !old.is_empty()) {
                match level {
                    0 => {
                        self.release_block(old.address())?;
                    }
                    _ => self.drop_tree(old.child_pointer(level), old.mapped(level)),
                }
            }
        }
        self.finish_path(&path, after as i64 - before as i64)?;
        Some(after)
    }

    /// Plans a clone: like `assign_clone`, without changing anything. False if data is missing.
    pub(crate) fn plan_clone(
        &mut self,
        source: ObjectId,
        source_first: BlockNumber,
        destination: ObjectId,
        destination_first: BlockNumber,
        count: u64,
    ) -> bool {
        let (Some(root), Some(source_root)) = (self.root_of(destination), self.root_of(source)) else {
            return false;
        };
        let phase = source_first.distance_from(destination_first);
        let mut pieces = Pieces::new();
        Self::pieces(root.level.min(source_root.level), destination_first, count, phase, |level, at, entries| {
            pieces.push((level, at, entries))
        });
        let mut complete = true;
        if !root.is_empty() && pieces.len() > 1 {
            // A piece without mapped blocks may empty a page and those above it, which the next one then needs anew.
            // They are passing: as many pages come free.
            let pages = (pieces.len() as u64 - 1) * u64::from(root.level);
            self.need.allocations += pages;
            self.need.passing += pages;
        }
        // Sharing within one object may share a page that a later piece has to own, but only if
        // that piece goes deeper than another.
        let same_level = pieces.iter().all(|piece| Some(piece.0) == pieces.first().map(|first| first.0));
        let worst = source == destination && !same_level;
        for (level, at, entries) in pieces {
            let from = at.at_distance(phase);
            let mut i = 0u64;
            while i < entries as u64 {
                let block = from + i * crate::geometry::entry_span(level);
                let index = index_in(block, level);
                let n = (entries as u64 - i).min((FANOUT - index) as u64);
                complete &= self.plan_counts(source, block, level, n as usize);
                match self.pointer(source, block, level) {
                    None => complete = false,
                    Some((pointer, _)) if pointer.is_empty() => {}
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
            complete &= self.plan_counts(destination, at, level, entries);
        }
        complete & self.plan_allotments_of_clone((source, source_first), (destination, destination_first), count)
    }
}
