//! Objects of the engine in memory, and the execution of transactions.

use crate::engine::{BLOCK_BYTES, Block, EngineError, Object};
use bytes::Bytes;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::ops::Range;
use vfs::Payload;
use vfs::memory::Ranges;

/// Mapped block: a number that says which places share it, and its content.
#[derive(Clone, Debug)]
pub(super) struct Mapped {
    pub(super) id: u64,
    pub(super) data: Bytes,
}

/// Change named by a transaction.
#[derive(Clone, Debug)]
pub(super) enum Change {
    Write(Object, u64, Payload),
    Zero(Object, Range<u64>),
    Share((Object, u64), (Object, u64), u64),
    Replace(Object, Object),
    Allot(Object, Range<u64>),
    Release(Object, Range<u64>),
}

/// Edited blocks of a transaction.
pub(super) type Edits = BTreeMap<(Object, u64), Box<Block>>;

/// State before a change.
#[derive(Clone, Debug)]
enum Undo {
    Block(Object, u64, Option<Mapped>),
    Allotted(Object, Ranges),
}

/// Everything that a restart finds.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    objects: BTreeMap<Object, BTreeMap<u64, Mapped>>,
    /// Places that map a block.
    places: FxHashMap<u64, u64>,
    allotted: BTreeMap<Object, Ranges>,
    next: u64,
    pub(super) capacity: u64,
    /// Blocks that cannot be read.
    pub(super) damaged: FxHashSet<(Object, u64)>,
    /// How to undo the present transaction.
    undo: Vec<Undo>,
    /// How to undo transactions that are not durable, with their numbers.
    log: Vec<(u64, Vec<Undo>)>,
    executed: u64,
}

fn bytes_of(blocks: Range<u64>) -> Range<u64> {
    blocks.start * BLOCK_BYTES..blocks.end * BLOCK_BYTES
}

impl State {
    pub(super) fn add(&mut self) -> Object {
        let object = Object(self.objects.last_key_value().map_or(1, |(last, _)| last.0 + 1));
        self.objects.insert(object, BTreeMap::new());
        object
    }

    pub(super) fn map(&self, object: Object) -> impl Iterator<Item = (&u64, &Mapped)> {
        self.range(object, 0..u64::MAX)
    }

    pub(super) fn range(&self, object: Object, blocks: Range<u64>) -> impl Iterator<Item = (&u64, &Mapped)> {
        self.objects.get(&object).into_iter().flat_map(move |map| map.range(blocks.clone()))
    }

    pub(super) fn at(&self, object: Object, block: u64) -> Option<&Mapped> {
        self.objects.get(&object)?.get(&block)
    }

    pub(super) fn places(&self, id: u64) -> u64 {
        self.places.get(&id).copied().unwrap_or(0)
    }

    pub(super) fn allotted(&self, object: Object, blocks: &Range<u64>) -> Vec<Range<u64>> {
        self.allotted.get(&object).map(|ranges| ranges.within(blocks)).unwrap_or_default()
    }

    /// Blocks of the allotments in a range that are unmapped or shared.
    pub(super) fn promised(&self, object: Object, blocks: &Range<u64>) -> u64 {
        let parts = self.allotted(object, blocks).into_iter();
        let due = parts.map(|part| {
            let own = self.range(object, part.clone()).filter(|(_, mapped)| self.places(mapped.id) == 1).count();
            part.end - part.start - own as u64
        });
        due.sum()
    }

    /// Blocks that are mapped or promised.
    pub(super) fn taken(&self) -> u64 {
        let promised = self.allotted.keys().map(|object| self.promised(*object, &(0..u64::MAX)));
        self.places.len() as u64 + promised.sum::<u64>()
    }

    /// Mapped blocks of a range that nothing outside of it maps.
    pub(super) fn unique(&self, object: Object, blocks: Range<u64>) -> u64 {
        let mut inside: FxHashMap<u64, u64> = FxHashMap::default();
        for (_, mapped) in self.range(object, blocks) {
            *inside.entry(mapped.id).or_default() += 1;
        }
        inside.into_iter().filter(|(id, places)| self.places(*id) == *places).count() as u64
    }

    fn assign(&mut self, object: Object, block: u64, mapped: Option<Mapped>) {
        if let Some(mapped) = &mapped {
            *self.places.entry(mapped.id).or_default() += 1;
        }
        let map = self.objects.entry(object).or_default();
        let before = match mapped {
            Some(mapped) => map.insert(block, mapped),
            None => map.remove(&block),
        };
        if let Some(before) = &before {
            let places = self.places.entry(before.id).or_default();
            *places -= 1;
            if *places == 0 {
                self.places.remove(&before.id);
            }
        }
        self.undo.push(Undo::Block(object, block, before));
    }

    fn allot(&mut self, object: Object, change: impl FnOnce(&mut Ranges)) {
        let ranges = self.allotted.entry(object).or_default();
        let before = ranges.clone();
        change(ranges);
        self.undo.push(Undo::Allotted(object, before));
    }

    /// Stores a block; zeros are not stored.
    pub(super) fn put(&mut self, object: Object, block: u64, data: &[u8]) {
        let zeros = data.iter().all(|byte| *byte == 0);
        if zeros && self.at(object, block).is_none() {
            return;
        }
        self.next += 1;
        let mapped = Mapped { id: self.next, data: Bytes::copy_from_slice(data) };
        self.assign(object, block, (!zeros).then_some(mapped));
    }

    /// Changes bytes inside one block.
    fn patch(&mut self, object: Object, block: u64, at: usize, bytes: &[u8]) {
        let mut data = self.at(object, block).map_or_else(|| vec![0; BLOCK_BYTES as usize], |old| old.data.to_vec());
        data[at..at + bytes.len()].copy_from_slice(bytes);
        self.put(object, block, &data);
    }

    fn write(&mut self, object: Object, offset_bytes: u64, data: &Payload) {
        let mut at = offset_bytes;
        for piece in data.pieces() {
            let mut rest = &piece[..];
            while !rest.is_empty() {
                let room = (BLOCK_BYTES - at % BLOCK_BYTES).min(rest.len() as u64);
                let (now, later) = rest.split_at(room as usize);
                self.patch(object, at / BLOCK_BYTES, (at % BLOCK_BYTES) as usize, now);
                (rest, at) = (later, at + room);
            }
        }
    }

    fn zero(&mut self, object: Object, bytes: &Range<u64>) {
        let touched = bytes.start / BLOCK_BYTES..bytes.end.div_ceil(BLOCK_BYTES);
        let mapped: Vec<u64> = self.range(object, touched).map(|(block, _)| *block).collect();
        for block in mapped {
            let whole = bytes_of(block..block + 1);
            let (from, until) = (whole.start.max(bytes.start), whole.end.min(bytes.end));
            if from == whole.start && until == whole.end {
                self.assign(object, block, None);
            } else if from < until {
                self.patch(object, block, (from - whole.start) as usize, &vec![0; (until - from) as usize]);
            }
        }
    }

    fn share(&mut self, from: (Object, u64), to: (Object, u64), blocks: u64) {
        let source = self.range(from.0, from.1..from.1 + blocks);
        let source: Vec<_> = source.map(|(block, mapped)| (*block, mapped.clone())).collect();
        self.zero(to.0, &bytes_of(to.1..to.1 + blocks));
        for (block, mapped) in source {
            self.assign(to.0, block - from.1 + to.1, Some(mapped));
        }
    }

    fn execute_change(&mut self, change: Change) {
        match change {
            Change::Write(object, offset_bytes, data) => self.write(object, offset_bytes, &data),
            Change::Zero(object, bytes) => self.zero(object, &bytes),
            Change::Share(from, to, blocks) => self.share(from, to, blocks),
            Change::Replace(object, by) => {
                self.allot(object, |ranges| *ranges = Ranges::default());
                self.share((by, 0), (object, 0), 1 << 48);
            }
            Change::Allot(object, blocks) => self.allot(object, |ranges| ranges.insert(blocks)),
            Change::Release(object, blocks) => self.allot(object, |ranges| ranges.remove(blocks)),
        }
    }

    /// Executes a transaction, all or nothing. Returns its number.
    pub(super) fn execute(&mut self, edits: Edits, changes: Vec<Change>) -> Result<u64, EngineError> {
        let before = self.taken();
        self.undo.clear();
        for ((object, block), data) in edits {
            self.put(object, block, &data[..]);
        }
        changes.into_iter().for_each(|change| self.execute_change(change));
        self.end(before)
    }

    fn end(&mut self, before: u64) -> Result<u64, EngineError> {
        let undo = std::mem::take(&mut self.undo);
        let after = self.taken();
        if after > self.capacity && after > before {
            self.take_back(undo);
            return Err(EngineError::NoSpace);
        }
        self.executed += 1;
        self.log.push((self.executed, undo));
        Ok(self.executed)
    }

    /// Creates an object with the content of another one. Allotments are not part of it.
    pub(super) fn snapshot(&mut self, object: Object) -> Result<Object, EngineError> {
        let (before, snapshot) = (self.taken(), self.add());
        self.undo.clear();
        self.share((object, 0), (snapshot, 0), 1 << 48);
        let number = self.end(before)?;
        self.make_durable(number);
        Ok(snapshot)
    }

    fn take_back(&mut self, undo: Vec<Undo>) {
        for change in undo.into_iter().rev() {
            match change {
                Undo::Block(object, block, before) => self.assign(object, block, before),
                Undo::Allotted(object, before) => self.allot(object, |ranges| *ranges = before),
            }
        }
        self.undo.clear();
    }

    /// All transactions up to this one are durable.
    pub(super) fn make_durable(&mut self, number: u64) {
        self.log.retain(|(of, _)| *of > number);
    }

    pub(super) const fn executed(&self) -> u64 {
        self.executed
    }

    /// Number of transactions that are not durable.
    pub(super) fn pending(&self) -> usize {
        self.log.len()
    }

    /// Loses all transactions that are not durable, but the first ones of them.
    pub(super) fn crash(&mut self, kept: usize) {
        let lost = self.log.split_off(kept.min(self.log.len()));
        for (_, undo) in lost.into_iter().rev() {
            self.take_back(undo);
        }
        self.log.clear();
    }
}
