//! Clones of ranges: a run of one object takes over the blocks of a run of another, whole sub-trees
//! where their alignment agrees.

use crate::geometry::FANOUT;
use crate::geometry::index_in;
use crate::map::Map;
use crate::map::page::Entry;
use smallvec::SmallVec;
/// Level, first block and number of entries of each piece of a run that is in one map page.
type Pieces = SmallVec<[(u8, u64, usize); 8]>;

impl Map {
    /// Makes a run of the destination share the source's blocks. All source references are taken
    /// before the destination changes.
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
        self.pages.disown();
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
                        let shared = &self.pages.peek(address)?.entries[index..index + n];
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
                if address == 0 || self.pages.peek(address)?.entries[from..from + entries].iter().all(Entry::is_empty) {
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
            let page = self.pages.page_mut(path.page())?;
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

    /// Plans a clone: like `assign_clone`, without changing anything. False if data is missing.
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
        // Sharing within one object may share a page that a later piece has to own, but only if
        // that piece goes deeper than another.
        let same_level = pieces.iter().all(|piece| Some(piece.0) == pieces.first().map(|first| first.0));
        let worst = source == destination && !same_level;
        for (level, at, entries) in pieces {
            let from = at.wrapping_add(phase);
            let mut i = 0u64;
            while i < entries as u64 {
                let block = from + i * crate::geometry::entry_span(level);
                let index = index_in(block, level);
                let n = (entries as u64 - i).min((FANOUT - index) as u64);
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
}
