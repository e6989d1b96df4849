//! Model of a pool: the content of each object, as a number for each 512-byte sector that is not
//! zero.
//!
//! Content lies in chunks of 64 sectors that clones share, and every change records how to undo it:
//! after a crash the lost changes are undone one by one, so that the model is never copied.

use crate::step::{Catalog, Pattern, Request};
use crate::transaction::Change;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::rc::Rc;

/// Bytes in a sector.
pub(crate) const SECTOR_BYTES: usize = 512;
/// Sectors in a block of the engine.
pub(crate) const BLOCK_SECTORS: u64 = 8;
/// Sectors in a chunk.
pub(crate) const CHUNK_SECTORS: u64 = 64;

/// Values of the sectors of a chunk; 0 is zeros.
type Chunk = [u64; CHUNK_SECTORS as usize];

/// Value of a sector written with `tag` at `sector`; it moves with the content when that is cloned.
pub(crate) fn value(tag: u32, pattern: Pattern, sector: u64) -> u64 {
    let zero = match pattern {
        Pattern::Data | Pattern::Twin => false,
        Pattern::Zeros => true,
        // Runs of blocks with and without content, which differ for each tag.
        Pattern::Mixed => (sector / BLOCK_SECTORS + u64::from(tag)) % 5 < 2,
    };
    let twin = if pattern == Pattern::Twin { TWIN } else { 0 };
    if zero { 0 } else { twin | (u64::from(tag) << 32) | (sector & 0xffff_ffff) }
}

/// Bit of the value of a sector that differs from the one without this bit in one word, by a multiple of the
/// polynomial of CRC-32C: the checksums of the two are equal. Tags stay below it.
const TWIN: u64 = 1 << 55;
/// The polynomial, in the order of the bits of a little-endian word.
const POLYNOMIAL: u64 = 1 | (0x82f6_3b78 << 1);

/// Words of a sector with this value.
fn words(value: u64) -> impl Iterator<Item = u64> {
    let (twin, value) = (value & TWIN != 0, value & !TWIN);
    (0..SECTOR_BYTES as u64 / 8).map(move |i| match value {
        0 => 0,
        _ => value.wrapping_add(i << 56) ^ if twin && i == 9 { POLYNOMIAL } else { 0 },
    })
}

/// Bytes of sectors with these values.
pub(crate) fn bytes_of(values: impl ExactSizeIterator<Item = u64>) -> Vec<u8> {
    let mut out = vec![0; values.len() * SECTOR_BYTES];
    for (sector, value) in out.chunks_exact_mut(SECTOR_BYTES).zip(values) {
        if value != 0 {
            for (word, number) in sector.as_chunks_mut::<8>().0.iter_mut().zip(words(value)) {
                *word = number.to_le_bytes();
            }
        }
    }
    out
}

/// Index of the first sector of `data` that does not have its value.
pub(crate) fn first_difference(values: &[u64], data: &[u8]) -> Option<usize> {
    data.chunks_exact(SECTOR_BYTES).zip(values).position(|(sector, value)| {
        !sector.as_chunks::<8>().0.iter().zip(words(*value)).all(|(word, number)| *word == number.to_le_bytes())
    })
}

fn mapped(chunk: &Chunk) -> u64 {
    chunk.chunks_exact(BLOCK_SECTORS as usize).map(|block| u64::from(block.iter().any(|value| *value != 0))).sum()
}

/// Object of the model.
#[derive(Clone, Debug, Default)]
pub struct Object {
    /// Size in sectors.
    pub sectors: u64,
    /// Whether the write cache is on.
    pub write_cache: bool,
    /// Whether it is read-only: a snapshot or a capture.
    pub snapshot: bool,
    /// Id of the object from which it was cloned; 0 for none.
    pub parent: u64,
    /// Percentage of shared content for which space is reserved; `None` for an unreserved volume.
    pub reserved: Option<u8>,
    /// Largest number of blocks that an address space may use.
    pub ceiling: Option<u64>,
    /// Hour before which a locked snapshot is not unlocked.
    pub locked: Option<u32>,
    /// Whether hosts cannot change it, although it is a volume.
    pub replica: bool,
    /// Number of 4 KiB blocks with any content.
    pub mapped: u64,
    /// Blocks for which space is promised.
    pub allotted: Rc<BTreeSet<u64>>,
    chunks: BTreeMap<u64, Rc<Chunk>>,
}

/// Undo record for one part of a change.
#[derive(Debug)]
pub(crate) enum Undo {
    Chunk { object: u64, index: u64, before: Option<Rc<Chunk>> },
    Header { object: u64, sectors: u64, write_cache: bool },
    Object { object: u64, before: Option<Box<Object>> },
    Reserved { object: u64, before: Option<u8> },
    Ceiling { object: u64, before: Option<u64> },
    Locked { object: u64, before: Option<u32> },
    Replica { object: u64, before: bool },
    Allotted { object: u64, before: Rc<BTreeSet<u64>> },
    Document { key: String, before: Option<Vec<u8>> },
}

impl Object {
    /// Numbers of the chunks with content.
    pub(crate) fn chunks(&self) -> impl Iterator<Item = u64> {
        self.chunks.keys().copied()
    }

    /// Replaces a chunk; returns the old one.
    fn put(&mut self, index: u64, chunk: Option<Rc<Chunk>>) -> Option<Rc<Chunk>> {
        let (count, before) = match chunk {
            Some(chunk) => (mapped(&chunk), self.chunks.insert(index, chunk)),
            None => (0, self.chunks.remove(&index)),
        };
        self.mapped = self.mapped + count - before.as_ref().map_or(0, |chunk| mapped(chunk));
        before
    }

    /// Values of a range.
    pub(crate) fn values(&self, start: u64, length: u64) -> Vec<u64> {
        let mut out = vec![0; length as usize];
        let end = start + length;
        for (index, chunk) in self.chunks.range(start / CHUNK_SECTORS..end.div_ceil(CHUNK_SECTORS)) {
            let first = index * CHUNK_SECTORS;
            let (from, to) = (first.max(start), (first + CHUNK_SECTORS).min(end));
            out[(from - start) as usize..(to - start) as usize]
                .copy_from_slice(&chunk[(from - first) as usize..(to - first) as usize]);
        }
        out
    }

    /// Number of 4 KiB blocks with content among `count` from `first` on.
    pub(crate) fn mapped_in(&self, first: u64, count: u64) -> u64 {
        let blocks = first..first + count;
        let chunks = first * BLOCK_SECTORS / CHUNK_SECTORS..(blocks.end * BLOCK_SECTORS).div_ceil(CHUNK_SECTORS);
        let stored = self.chunks.range(chunks).flat_map(|(index, chunk)| {
            let blocks = (index * CHUNK_SECTORS / BLOCK_SECTORS..).zip(chunk.chunks_exact(BLOCK_SECTORS as usize));
            blocks.filter(|(_, values)| values.iter().any(|value| *value != 0)).map(|(block, _)| block)
        });
        stored.filter(|block| blocks.contains(block)).count() as u64
    }

    /// Whether space is promised for all blocks of a range of sectors.
    pub(crate) fn is_allotted(&self, start: u64, length: u64) -> bool {
        let blocks = start / BLOCK_SECTORS..(start + length).div_ceil(BLOCK_SECTORS);
        self.allotted.range(blocks.clone()).count() as u64 == blocks.end - blocks.start
    }

    /// Allotted ranges of blocks, in order: first block and number.
    pub(crate) fn allotments(&self) -> Vec<(u64, u64)> {
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        for block in self.allotted.iter() {
            match ranges.last_mut() {
                Some((first, count)) if *first + *count == *block => *count += 1,
                _ => ranges.push((*block, 1)),
            }
        }
        ranges
    }

    /// Whether hosts may change its content.
    pub(crate) fn takes_writes(&self) -> bool {
        !self.snapshot && !self.replica
    }

    /// Numbers of the 4 KiB blocks of a range whose content is other than in `base`.
    pub(crate) fn blocks_other_than(&self, base: &Self, blocks: Range<u64>) -> Vec<u64> {
        const CHUNK_BLOCKS: u64 = CHUNK_SECTORS / BLOCK_SECTORS;
        let chunks = blocks.start / CHUNK_BLOCKS..blocks.end.div_ceil(CHUNK_BLOCKS);
        let of = |object: &Self| object.chunks.range(chunks.clone()).map(|(index, _)| *index).collect::<BTreeSet<_>>();
        let indexes = &of(self) | &of(base);
        let all = indexes.into_iter().flat_map(|index| index * CHUNK_BLOCKS..(index + 1) * CHUNK_BLOCKS);
        let inside = all.filter(|block| blocks.contains(block) && !self.shares_chunk(base, *block));
        let values = |object: &Self, block: u64| object.values(block * BLOCK_SECTORS, BLOCK_SECTORS);
        inside.filter(|block| values(self, *block) != values(base, *block)).collect()
    }

    /// Whether the chunk around a block has not been written in either of two objects since it was in one, or is
    /// empty in both.
    pub(crate) fn shares_chunk(&self, base: &Self, block: u64) -> bool {
        let chunk = |object: &Self| object.chunks.get(&(block * BLOCK_SECTORS / CHUNK_SECTORS)).map(Rc::as_ptr);
        chunk(self) == chunk(base)
    }

    /// Whether a 4 KiB block has content.
    pub(crate) fn is_mapped(&self, block: u64) -> bool {
        let sector = block * BLOCK_SECTORS;
        let at = (sector % CHUNK_SECTORS) as usize;
        self.chunks
            .get(&(sector / CHUNK_SECTORS))
            .is_some_and(|chunk| chunk[at..at + BLOCK_SECTORS as usize].iter().any(|value| *value != 0))
    }
}

/// Content of a pool.
#[derive(Clone, Debug, Default)]
pub struct Model {
    /// Objects by id.
    pub objects: BTreeMap<u64, Object>,
    /// Documents.
    pub documents: BTreeMap<String, Vec<u8>>,
    /// Whether zeros may be stored somewhere: mapped blocks are then no longer known from the
    /// content.
    pub stores_zeros: bool,
}

impl Model {
    /// Applies a change, and appends its undo records to `undo`.
    pub(crate) fn apply(&mut self, request: &Request, undo: &mut Vec<Undo>) {
        match request {
            Request::Write { object, start, length, tag, pattern, .. } => {
                self.set(*object, *start, *length, |sector| value(*tag, *pattern, sector), undo);
            }
            Request::WriteAsGroup { object, start, length, tag }
            | Request::CompareAndWrite { object, start, length, tag, .. } => {
                self.set(*object, *start, *length, |sector| value(*tag, Pattern::Data, sector), undo);
            }
            Request::Zero { object, ranges, .. } => {
                for (start, length) in ranges {
                    self.zero(*object, *start, *length, undo);
                }
            }
            Request::Clone { source, from, destination, to, length } => {
                self.share(*source, *from, *destination, *to, *length, undo);
            }
            Request::Capture { source, capture, ranges } => {
                for (first, count) in ranges {
                    let (start, length) = (first * BLOCK_SECTORS, count * BLOCK_SECTORS);
                    self.share(*source, start, *capture, start, length, undo);
                }
            }
            Request::Catalog(changes) => {
                for change in changes {
                    self.apply_catalog(change, undo);
                }
            }
            Request::Read { .. }
            | Request::Flush
            | Request::Provisioning { .. }
            | Request::Mapped { .. }
            | Request::Unique { .. }
            | Request::ReclaimZeros { .. }
            | Request::Reshare { .. }
            | Request::Verify { .. }
            | Request::PlacesOf { .. }
            | Request::Difference { .. }
            | Request::CheckStep
            | Request::Grow { .. }
            | Request::Recount { .. }
            // Applied with what it has seen.
            | Request::Transaction { .. } => {}
        }
    }

    /// Applies one change of a transaction.
    pub(crate) fn apply_change(&mut self, change: &Change, undo: &mut Vec<Undo>) {
        match change {
            Change::Look { .. } => {}
            Change::Write { object, start, length, tag, pattern } => {
                self.set(*object, *start, *length, |sector| value(*tag, *pattern, sector), undo);
            }
            Change::Edit { object, start, length, tag } => {
                self.set(*object, *start, *length, |sector| value(*tag, Pattern::Data, sector), undo);
            }
            Change::Zero { object, start, length } => self.zero(*object, *start, *length, undo),
            Change::Clone { source, from, destination, to, blocks } => {
                let [from, to, length] = [from, to, blocks].map(|blocks| blocks * BLOCK_SECTORS);
                self.share(*source, from, *destination, to, length, undo);
            }
            Change::Allot { object, first, blocks } => {
                self.allot(*object, |allotted| allotted.extend(*first..first + blocks), undo);
            }
            Change::Release { object, first, blocks } => {
                self.allot(*object, |allotted| allotted.retain(|at| !(*first..first + blocks).contains(at)), undo);
            }
        }
    }

    fn allot(&mut self, id: u64, change: impl FnOnce(&mut BTreeSet<u64>), undo: &mut Vec<Undo>) {
        let Some(object) = self.objects.get_mut(&id) else { return };
        undo.push(Undo::Allotted { object: id, before: object.allotted.clone() });
        change(Rc::make_mut(&mut object.allotted));
    }

    /// Zeroes a range. Zeroing to the end of a volume covers a short last block completely, including data
    /// that a capture left behind the end.
    fn zero(&mut self, object: u64, start: u64, length: u64, undo: &mut Vec<Undo>) {
        let sectors = self.objects.get(&object).map_or(0, |object| object.sectors);
        let end = start + length;
        let end = if end == sectors { end.next_multiple_of(BLOCK_SECTORS) } else { end };
        self.clear(object, start, end - start, undo);
    }

    fn apply_catalog(&mut self, change: &Catalog, undo: &mut Vec<Undo>) {
        match change {
            Catalog::Create { id, sectors } => {
                let before = self.objects.insert(*id, Object { sectors: *sectors, ..Object::default() });
                undo.push(Undo::Object { object: *id, before: before.map(Box::new) });
            }
            Catalog::CreateCapture { id, sectors } => {
                let object = Object { sectors: *sectors, snapshot: true, ..Object::default() };
                let before = self.objects.insert(*id, object);
                undo.push(Undo::Object { object: *id, before: before.map(Box::new) });
            }
            Catalog::Clone { source, id, snapshot } => {
                let Some(object) = self.objects.get(source) else { return };
                let object = Object {
                    write_cache: false,
                    snapshot: *snapshot,
                    parent: *source,
                    reserved: None,
                    ceiling: None,
                    locked: None,
                    replica: false,
                    allotted: Rc::default(),
                    ..object.clone()
                };
                let before = self.objects.insert(*id, object);
                undo.push(Undo::Object { object: *id, before: before.map(Box::new) });
            }
            Catalog::Delete { id } => {
                let before = self.objects.remove(id);
                undo.push(Undo::Object { object: *id, before: before.map(Box::new) });
            }
            Catalog::Resize { id, sectors } => {
                // Space is allocated in blocks: content beyond the end of the last block is
                // dropped.
                let first = sectors.next_multiple_of(BLOCK_SECTORS);
                self.clear(*id, first, u64::MAX / 2 - first, undo);
                if let Some(object) = self.objects.get_mut(id) {
                    let (before, write_cache) = (object.sectors, object.write_cache);
                    undo.push(Undo::Header { object: *id, sectors: before, write_cache });
                    object.sectors = *sectors;
                }
            }
            Catalog::WriteCache { id, enabled } => {
                if let Some(object) = self.objects.get_mut(id) {
                    let (sectors, write_cache) = (object.sectors, object.write_cache);
                    undo.push(Undo::Header { object: *id, sectors, write_cache });
                    object.write_cache = *enabled;
                }
            }
            Catalog::Rollback { id, source } => {
                let (Some(object), Some(source)) = (self.objects.get(id), self.objects.get(source)) else { return };
                let (sectors, mapped, chunks) = (source.sectors, source.mapped, source.chunks.clone());
                let object = Object { sectors, mapped, chunks, allotted: Rc::default(), ..object.clone() };
                let before = self.objects.insert(*id, object);
                undo.push(Undo::Object { object: *id, before: before.map(Box::new) });
            }
            Catalog::Reserve { id, percent } => {
                if let Some(object) = self.objects.get_mut(id) {
                    undo.push(Undo::Reserved { object: *id, before: object.reserved });
                    object.reserved = *percent;
                }
            }
            Catalog::Ceiling { id, blocks } => {
                if let Some(object) = self.objects.get_mut(id) {
                    undo.push(Undo::Ceiling { object: *id, before: object.ceiling });
                    object.ceiling = *blocks;
                }
            }
            Catalog::Lock { id, until } => self.set_lock(*id, Some(*until), undo),
            Catalog::Unlock { id, .. } => self.set_lock(*id, None, undo),
            Catalog::Replica { id, enabled } => {
                if let Some(object) = self.objects.get_mut(id) {
                    undo.push(Undo::Replica { object: *id, before: object.replica });
                    object.replica = *enabled;
                }
            }
            Catalog::ZeroDetection { enabled, .. } => self.stores_zeros |= !enabled,
            Catalog::Put { key, tag, bytes } => {
                let key = document_key(*key);
                let before = self.documents.insert(key.clone(), document(*tag, *bytes));
                undo.push(Undo::Document { key, before });
            }
            Catalog::Remove { key } => {
                let key = document_key(*key);
                let before = self.documents.remove(&key);
                undo.push(Undo::Document { key, before });
            }
        }
    }

    fn set_lock(&mut self, id: u64, locked: Option<u32>, undo: &mut Vec<Undo>) {
        if let Some(object) = self.objects.get_mut(&id) {
            undo.push(Undo::Locked { object: id, before: object.locked });
            object.locked = locked;
        }
    }

    /// Object whose lock forbids the changes.
    pub(crate) fn forbids(&self, changes: &[Catalog]) -> Option<u64> {
        let mut locks = BTreeMap::new();
        for change in changes {
            let (Catalog::Delete { id }
            | Catalog::Resize { id, .. }
            | Catalog::Rollback { id, .. }
            | Catalog::Lock { id, .. }
            | Catalog::Unlock { id, .. }) = change
            else {
                continue;
            };
            let stored = || self.objects.get(id).and_then(|object| object.locked);
            let lock = locks.entry(*id).or_insert_with(stored);
            let is_allowed = match change {
                Catalog::Lock { until, .. } => lock.replace(*until).is_none_or(|before| before <= *until),
                Catalog::Unlock { now, .. } => lock.take().is_none_or(|until| until <= *now),
                _ => lock.is_none(),
            };
            if !is_allowed {
                return Some(*id);
            }
        }
        None
    }

    /// Copies the content of a range of the source to the destination.
    fn share(&mut self, source: u64, from: u64, destination: u64, to: u64, length: u64, undo: &mut Vec<Undo>) {
        let Some(object) = self.objects.get(&source) else { return };
        let mut content = Vec::new();
        for (index, chunk) in object.chunks.range(from / CHUNK_SECTORS..(from + length).div_ceil(CHUNK_SECTORS)) {
            let sectors = (index * CHUNK_SECTORS..).zip(chunk.iter());
            let inside = sectors.filter(|(sector, value)| **value != 0 && (from..from + length).contains(sector));
            content.extend(inside.map(|(sector, value)| (sector - from + to, *value)));
        }
        self.clear(destination, to, length, undo);
        for piece in content.chunk_by(|a, b| a.0 / CHUNK_SECTORS == b.0 / CHUNK_SECTORS) {
            let (Some(first), Some(last)) = (piece.first(), piece.last()) else { continue };
            let mut values = piece.iter().peekable();
            let next = |sector| values.next_if(|(at, _)| *at == sector).map_or(0, |(_, value)| *value);
            self.set(destination, first.0, last.0 - first.0 + 1, next, undo);
        }
    }

    /// Undoes a change of `apply`.
    pub(crate) fn undo(&mut self, undo: Vec<Undo>) {
        for part in undo.into_iter().rev() {
            match part {
                Undo::Chunk { object, index, before } => {
                    if let Some(object) = self.objects.get_mut(&object) {
                        object.put(index, before);
                    }
                }
                Undo::Header { object, sectors, write_cache } => {
                    if let Some(object) = self.objects.get_mut(&object) {
                        object.sectors = sectors;
                        object.write_cache = write_cache;
                    }
                }
                Undo::Reserved { object, before } => {
                    if let Some(object) = self.objects.get_mut(&object) {
                        object.reserved = before;
                    }
                }
                Undo::Ceiling { object, before } => {
                    if let Some(object) = self.objects.get_mut(&object) {
                        object.ceiling = before;
                    }
                }
                Undo::Locked { object, before } => {
                    if let Some(object) = self.objects.get_mut(&object) {
                        object.locked = before;
                    }
                }
                Undo::Replica { object, before } => {
                    if let Some(object) = self.objects.get_mut(&object) {
                        object.replica = before;
                    }
                }
                Undo::Allotted { object, before } => {
                    if let Some(object) = self.objects.get_mut(&object) {
                        object.allotted = before;
                    }
                }
                Undo::Object { object, before: Some(before) } => {
                    self.objects.insert(object, *before);
                }
                Undo::Object { object, before: None } => {
                    self.objects.remove(&object);
                }
                Undo::Document { key, before: Some(before) } => {
                    self.documents.insert(key, before);
                }
                Undo::Document { key, before: None } => {
                    self.documents.remove(&key);
                }
            }
        }
    }

    /// Sets the value of each sector of a range; `value` is called in order.
    fn set(&mut self, id: u64, start: u64, length: u64, mut value: impl FnMut(u64) -> u64, undo: &mut Vec<Undo>) {
        let Some(object) = self.objects.get_mut(&id) else { return };
        let end = start + length;
        let mut at = start;
        while at < end {
            let index = at / CHUNK_SECTORS;
            let first = index * CHUNK_SECTORS;
            let to = (first + CHUNK_SECTORS).min(end);
            let mut chunk = object.chunks.get(&index).map_or([0; CHUNK_SECTORS as usize], |chunk| **chunk);
            for sector in at..to {
                chunk[(sector - first) as usize] = value(sector);
            }
            let chunk = chunk.iter().any(|value| *value != 0).then(|| Rc::new(chunk));
            let before = object.put(index, chunk);
            undo.push(Undo::Chunk { object: id, index, before });
            at = to;
        }
    }

    /// Zeroes a range, which may be far longer than the stored content.
    fn clear(&mut self, id: u64, start: u64, length: u64, undo: &mut Vec<Undo>) {
        let Some(object) = self.objects.get(&id) else { return };
        let end = start + length;
        let chunks = object.chunks.range(start / CHUNK_SECTORS..end.div_ceil(CHUNK_SECTORS));
        let indexes: Vec<u64> = chunks.map(|(index, _)| *index).collect();
        for index in indexes {
            let from = (index * CHUNK_SECTORS).max(start);
            let to = (index * CHUNK_SECTORS + CHUNK_SECTORS).min(end);
            self.set(id, from, to.saturating_sub(from), |_| 0, undo);
        }
    }

    /// Values of a range; zeros for an object that does not exist.
    pub(crate) fn values(&self, object: u64, start: u64, length: u64) -> Vec<u64> {
        match self.objects.get(&object) {
            Some(object) => object.values(start, length),
            None => vec![0; length as usize],
        }
    }

    /// Replica whose content the request of a host changes.
    pub(crate) fn replica_changed_by(&self, request: &Request) -> Option<u64> {
        let changed: Vec<u64> = match request {
            Request::Write { object, .. } | Request::CompareAndWrite { object, .. } | Request::Zero { object, .. } => {
                vec![*object]
            }
            Request::Clone { destination, .. } => vec![*destination],
            Request::Transaction { changes, .. } => changes.iter().filter_map(Change::changed).collect(),
            _ => Vec::new(),
        };
        changed.into_iter().find(|id| self.objects.get(id).is_some_and(|object| object.replica))
    }

    /// Whether the reply to this request promises that it, and everything that took effect before
    /// it, is durable.
    pub(crate) fn reply_promises_durability(&self, request: &Request) -> bool {
        let cached = |object: &u64| self.objects.get(object).is_some_and(|object| object.write_cache);
        match request {
            Request::Write { object, forced, .. }
            | Request::CompareAndWrite { object, forced, .. }
            | Request::Zero { object, forced, .. } => *forced || !cached(object),
            Request::WriteAsGroup { object, .. } => !cached(object),
            Request::Clone { destination, .. } => !cached(destination),
            Request::Catalog(_) | Request::Flush => true,
            Request::Transaction { durable, .. } => *durable,
            _ => false,
        }
    }
}

/// Key of document number `key`. Some are long.
pub(crate) fn document_key(key: u8) -> String {
    let kind = if key % 8 == 6 { "kind/".repeat(key as usize % 45) } else { String::new() };
    format!("{kind}document/{key}")
}

/// Content of a document. One in eight is zeros.
pub(crate) fn document(tag: u32, bytes: u32) -> Vec<u8> {
    if tag % 8 == 7 {
        return vec![0; bytes as usize];
    }
    (0..bytes).map(|i| (tag.wrapping_mul(31).wrapping_add(i)) as u8).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn undoing_everything_leaves_nothing() {
        let mut model = Model::default();
        let mut undo = Vec::new();
        let requests = [
            Request::Catalog(vec![Catalog::Create { id: 16, sectors: 1000 }]),
            Request::Write { object: 16, start: 3, length: 200, tag: 1, pattern: Pattern::Data, forced: false },
            Request::Catalog(vec![Catalog::Clone { source: 16, id: 17, snapshot: true }]),
            Request::Clone { source: 16, from: 8, destination: 16, to: 80, length: 100 },
            Request::Zero { object: 16, ranges: vec![(0, 70)], forced: false },
            Request::Catalog(vec![Catalog::Resize { id: 16, sectors: 96 }, Catalog::Delete { id: 17 }]),
        ];
        for request in &requests {
            model.apply(request, &mut undo);
        }
        assert_eq!(model.objects[&16].mapped, 4);
        let counts = [(0, 12), (0, 10), (10, 1), (11, 8)].map(|(at, count)| model.objects[&16].mapped_in(at, count));
        assert_eq!(counts, [model.objects[&16].mapped, 2, 1, 1]);
        assert_eq!(model.values(16, 80, 1), [value(1, Pattern::Data, 8)]);
        model.undo(undo);
        assert!(model.objects.is_empty());
    }

    #[test]
    fn bytes_tell_their_sectors_apart() {
        let values = [value(1, Pattern::Data, 8), 0, value(1, Pattern::Data, 9)];
        let mut data = bytes_of(values.iter().copied());
        assert_eq!(first_difference(&values, &data), None);
        data[1030] ^= 1;
        assert_eq!(first_difference(&values, &data), Some(2));
    }
}
