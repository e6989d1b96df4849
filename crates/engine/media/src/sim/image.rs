//! Content of a simulated disk: current content, durable content, and writes whose fate a crash
//! decides.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};
use std::rc::Rc;

use super::DiscardOutcome;
use super::random::{Random, fold};
use crate::{BLOCK_BYTES, Buffer};

const SECTOR_BYTES: usize = 512;
const SECTORS: usize = BLOCK_BYTES / SECTOR_BYTES;

/// Fate of one write that is not durable, at a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// All of it is stored.
    Applied,
    /// None of it is stored.
    Lost,
    /// A random subset of its blocks is stored.
    TornBlocks,
    /// A random subset of its 512-byte sectors is stored.
    TornSectors,
    /// Its first sectors, of a random number, are stored.
    Prefix,
}

/// Write or discard that is not durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PendingWrite {
    /// Identifier; later requests have larger ones.
    pub id: u64,
    /// First block.
    pub block: u64,
    /// Number of blocks.
    pub blocks: u64,
    /// Whether its completion was delivered.
    pub completed: bool,
}

/// Content of a block; `None` is zeros. Shared, so that copies of an image are cheap.
type Content = Option<Rc<[u8]>>;

#[derive(Clone, Default)]
struct Slot {
    current: Content,
    durable: Content,
    /// Sequence number of the write that stored `durable`.
    durable_sequence: u64,
}

/// One block of a completed write that is not durable.
#[derive(Clone)]
struct Pending {
    id: u64,
    sequence: u64,
    block: u64,
    content: Content,
}

/// Write that has not completed, as a crash sees it. Discards in flight have no content: they keep
/// the old content or leave zeros.
pub(super) struct InFlightWrite {
    pub(super) id: u64,
    block: u64,
    contents: Vec<Content>,
    discarded_blocks: u64,
}

impl InFlightWrite {
    pub(super) fn write(id: u64, block: u64, buffer: &Buffer) -> Self {
        Self {
            id,
            block,
            contents: buffer.as_blocks().iter().map(|block| content(&block.0)).collect(),
            discarded_blocks: 0,
        }
    }

    pub(super) fn discard(id: u64, block: u64, blocks: u64) -> Self {
        Self { id, block, contents: Vec::new(), discarded_blocks: blocks }
    }

    fn pending(&self) -> PendingWrite {
        let written = u64::try_from(self.contents.len()).unwrap_or_default();
        PendingWrite { id: self.id, block: self.block, blocks: written + self.discarded_blocks, completed: false }
    }
}

/// Hasher for block numbers.
#[derive(Clone, Copy, Default)]
pub(super) struct BlockHasher(u64);

impl Hasher for BlockHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }
    fn write_u64(&mut self, number: u64) {
        self.0 = fold(self.0 ^ number, 0x9e37_79b9_7f4a_7c15);
    }
}

type Slots = HashMap<u64, Slot, BuildHasherDefault<BlockHasher>>;

/// Content of the disk.
#[derive(Clone, Default)]
pub(super) struct Image {
    slots: Slots,
    /// Blocks not durable, in order of completion; the blocks of one write are together.
    pending: VecDeque<Pending>,
    /// Blocks of writes that a failed flush covered: no flush makes them durable any more, but a
    /// crash may still apply them.
    abandoned: Vec<Pending>,
    /// Sequence number of the last completed write.
    sequence: u64,
}

fn content(bytes: &[u8]) -> Content {
    match bytes.iter().all(|&byte| byte == 0) {
        true => None,
        false => Some(Rc::from(bytes)),
    }
}

fn show(content: &Content, into: &mut [u8]) {
    match content {
        Some(bytes) if bytes.len() == into.len() => into.copy_from_slice(bytes),
        _ => into.fill(0),
    }
}

impl Image {
    /// Sequence number that a flush requested now covers.
    pub(super) fn completed_writes(&self) -> u64 {
        self.sequence
    }

    pub(super) fn stored_blocks(&self) -> usize {
        self.slots.values().filter(|slot| slot.current.is_some()).count()
    }

    pub(super) fn stored(&self) -> Vec<u64> {
        let stored = self.slots.iter().filter(|(_, slot)| slot.current.is_some());
        let mut blocks: Vec<u64> = stored.map(|(block, _)| *block).collect();
        blocks.sort_unstable();
        blocks
    }

    pub(super) fn read(&self, block: u64, into: &mut [u8]) {
        match self.slots.get(&block) {
            Some(slot) => show(&slot.current, into),
            None => into.fill(0),
        }
    }

    pub(super) fn read_all(&self, block: u64, buffer: &mut Buffer) {
        for (block, into) in (block..).zip(buffer.as_blocks_mut()) {
            self.read(block, &mut into.0);
        }
    }

    /// Applies a completed write.
    pub(super) fn write(&mut self, id: u64, block: u64, buffer: &Buffer, durable: bool) {
        self.sequence += 1;
        for (block, from) in (block..).zip(buffer.as_blocks()) {
            self.put(id, block, content(&from.0), durable);
        }
    }

    fn put(&mut self, id: u64, block: u64, content: Content, durable: bool) {
        let slot = self.slots.entry(block).or_default();
        slot.current = content.clone();
        if durable {
            slot.durable = content;
            slot.durable_sequence = self.sequence;
        } else {
            self.pending.push_back(Pending { id, sequence: self.sequence, block, content });
        }
    }

    /// Applies a completed discard. It is as volatile as a write.
    pub(super) fn discard(&mut self, id: u64, block: u64, blocks: u64, outcome: DiscardOutcome, random: &mut Random) {
        self.sequence += 1;
        for block in self.stored_in(block, blocks) {
            let outcome = match outcome {
                DiscardOutcome::Any => match random.below(3) {
                    0 => DiscardOutcome::Old,
                    1 => DiscardOutcome::Zeros,
                    _ => DiscardOutcome::Garbage,
                },
                outcome => outcome,
            };
            match outcome {
                DiscardOutcome::Old | DiscardOutcome::Any => {}
                DiscardOutcome::Zeros => self.put(id, block, None, false),
                DiscardOutcome::Garbage => {
                    let mut garbage = [0; BLOCK_BYTES];
                    random.fill(&mut garbage);
                    self.put(id, block, content(&garbage), false);
                }
            }
        }
    }

    /// Blocks of a range that have a slot, ascending; the range may be far longer than the stored
    /// content.
    fn stored_in(&self, block: u64, blocks: u64) -> Vec<u64> {
        let end = block.saturating_add(blocks);
        if usize::try_from(blocks).is_ok_and(|blocks| blocks <= self.slots.len()) {
            return (block..end).filter(|block| self.slots.contains_key(block)).collect();
        }
        let mut stored: Vec<u64> = self.slots.keys().copied().filter(|at| (block..end).contains(at)).collect();
        stored.sort_unstable();
        stored
    }

    /// Makes every write completed up to `covers` durable.
    pub(super) fn flush(&mut self, covers: u64) {
        while let Some(front) = self.pending.front()
            && front.sequence <= covers
            && let Some(pending) = self.pending.pop_front()
        {
            let slot = self.slots.entry(pending.block).or_default();
            // A later durable write of the same block must not be undone.
            if pending.sequence > slot.durable_sequence {
                slot.durable = pending.content;
                slot.durable_sequence = pending.sequence;
            }
        }
    }

    /// Handles a failed flush of everything up to `covers`.
    pub(super) fn abandon(&mut self, covers: u64) {
        while let Some(front) = self.pending.front()
            && front.sequence <= covers
        {
            self.abandoned.extend(self.pending.pop_front());
        }
    }

    /// Applies a completed write that no flush makes durable any more.
    pub(super) fn write_abandoned(&mut self, id: u64, block: u64, buffer: &Buffer) {
        let before = self.pending.len();
        self.write(id, block, buffer, false);
        self.abandoned.extend(self.pending.drain(before..));
    }

    /// Changes stored content, durable or not.
    pub(super) fn damage(&mut self, block: u64, change: impl FnOnce(&mut [u8])) {
        let slot = self.slots.entry(block).or_default();
        let same = match (&slot.current, &slot.durable) {
            (Some(current), Some(durable)) => Rc::ptr_eq(current, durable),
            (None, None) => true,
            _ => false,
        };
        let mut bytes = [0; BLOCK_BYTES];
        show(&slot.current, &mut bytes);
        change(&mut bytes);
        slot.current = content(&bytes);
        if same {
            slot.durable = slot.current.clone();
        } else {
            // Not flushed yet: the newest pending content of the block gets the damage.
            let newest = self.pending.iter_mut().rev().find(|pending| pending.block == block);
            if let Some(pending) = newest {
                pending.content = slot.current.clone();
            }
        }
    }

    pub(super) fn truncate(&mut self, block_count: u64) {
        self.slots.retain(|&block, _| block < block_count);
        self.pending.retain(|pending| pending.block < block_count);
        self.abandoned.retain(|pending| pending.block < block_count);
    }

    /// Writes whose fate a crash would decide now: completed ones in order of completion, then
    /// those in flight in request order.
    pub(super) fn pending(&self, in_flight: &[InFlightWrite]) -> Vec<PendingWrite> {
        let mut writes: Vec<PendingWrite> = Vec::new();
        for pending in self.abandoned.iter().chain(&self.pending) {
            match writes.last_mut() {
                Some(write) if write.id == pending.id => write.blocks += 1,
                _ => writes.push(PendingWrite { id: pending.id, block: pending.block, blocks: 1, completed: true }),
            }
        }
        writes.extend(in_flight.iter().map(InFlightWrite::pending));
        writes
    }

    /// Applies a crash: each write that is not durable gets a fate, and only the resulting durable
    /// content remains.
    pub(super) fn crash(
        &mut self,
        in_flight: Vec<InFlightWrite>,
        choose: &mut dyn FnMut(&PendingWrite, &mut Random) -> Fate,
        random: &mut Random,
    ) {
        let writes = self.pending(&in_flight);
        let mut touched = Vec::new();
        let mut completed: VecDeque<Pending> = self.abandoned.drain(..).chain(self.pending.drain(..)).collect();
        let mut in_flight = in_flight.into_iter();
        for write in writes {
            let fate = choose(&write, random);
            let mut tear = Tear::new(fate, write.blocks, random);
            if write.completed {
                while completed.front().is_some_and(|pending| pending.id == write.id) {
                    let Some(pending) = completed.pop_front() else { break };
                    let mask = tear.next(random);
                    touched.push(pending.block);
                    let slot = self.slots.entry(pending.block).or_default();
                    if pending.sequence > slot.durable_sequence {
                        slot.durable = merge(&slot.durable, &pending.content, mask);
                    }
                }
                continue;
            }
            let Some(request) = in_flight.next() else { break };
            for (block, content) in (request.block..).zip(request.contents) {
                let mask = tear.next(random);
                if mask != 0 {
                    touched.push(block);
                    let slot = self.slots.entry(block).or_default();
                    slot.durable = merge(&slot.durable, &content, mask);
                }
            }
            if fate != Fate::Lost {
                for block in self.stored_in(request.block, request.discarded_blocks) {
                    if random.below(2) == 0
                        && let Some(slot) = self.slots.get_mut(&block)
                    {
                        slot.durable = None;
                        touched.push(block);
                    }
                }
            }
        }
        // In all other blocks current and durable content are equal.
        for block in touched {
            if let Some(slot) = self.slots.get_mut(&block) {
                slot.current = slot.durable.clone();
            }
        }
    }
}

/// Surviving sectors of each block of one write.
struct Tear {
    fate: Fate,
    /// Remaining sectors of the prefix.
    prefix: u64,
}

impl Tear {
    fn new(fate: Fate, blocks: u64, random: &mut Random) -> Self {
        let sectors = blocks.saturating_mul(SECTORS as u64);
        let prefix = if fate == Fate::Prefix { random.below(sectors.saturating_add(1)) } else { 0 };
        Self { fate, prefix }
    }

    /// Surviving sectors of the next block, one bit each.
    fn next(&mut self, random: &mut Random) -> u8 {
        match self.fate {
            Fate::Applied => u8::MAX,
            Fate::Lost => 0,
            Fate::TornBlocks => [0, u8::MAX][random.index(2)],
            Fate::TornSectors => u8::try_from(random.below(256)).unwrap_or_default(),
            Fate::Prefix => {
                let sectors = self.prefix.min(SECTORS as u64);
                self.prefix -= sectors;
                u8::try_from((1u16 << sectors) - 1).unwrap_or(u8::MAX)
            }
        }
    }
}

/// `new` where the mask has a bit, `old` elsewhere.
fn merge(old: &Content, new: &Content, mask: u8) -> Content {
    match mask {
        0 => return old.clone(),
        u8::MAX => return new.clone(),
        _ => {}
    }
    let (mut merged, mut other) = ([0; BLOCK_BYTES], [0; BLOCK_BYTES]);
    show(old, &mut merged);
    show(new, &mut other);
    let sectors = merged.chunks_exact_mut(SECTOR_BYTES).zip(other.chunks_exact(SECTOR_BYTES));
    for (sector, (into, from)) in sectors.enumerate() {
        if mask & (1 << sector) != 0 {
            into.copy_from_slice(from);
        }
    }
    content(&merged)
}
