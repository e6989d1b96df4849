//! Re-sharing: blocks of a volume that have the same content as the corresponding blocks of another object, in places
//! of their own, give up these places and share those of the other object. A host that copies without offload leaves
//! such blocks.
//!
//! One step goes through one leaf. Equal checksums only select the blocks to compare: what is replaced has been
//! compared byte by byte in the attempt that replaces it, so a block that a host has written meanwhile keeps its
//! content. The change is an ordinary clone of blocks, with its record, and needs no format of its own.

use crate::checksum::Crc32c;
use crate::content::cache::PROBATION;
use crate::core::progress::Progress;
use crate::core::scan::cursor::{Enter, Resharing, Scan, Visit};
use crate::core::{B, Core};
use crate::geometry::{FANOUT, blocks_for, index_in, page_span};
use crate::interface::operation::{Output, Reshare};
use crate::interface::range::{BlockNumber, BlockRange};
use crate::interface::{ObjectId, ReshareStep};
use crate::log::record;
use crate::map::page::{Entry, Page};
use crate::map::reserves::{Ask, Purpose};
use crate::mutations::{Mutation, leaves_out};
use crate::schedule::step::Step;
use block::BlockError;
use media::{BlockAddress, Media};
use std::rc::Rc;

/// Bytes that the log record of a clone takes, at most.
const CLONE_BYTES: usize = 48;

/// What is known of the blocks of a leaf.
#[derive(Default)]
struct Found {
    step: ReshareStep,
    /// Runs of blocks to be replaced, in order.
    runs: Vec<BlockRange>,
    /// Number of blocks that are equal, or shared, or mapped on neither side.
    alike: usize,
    /// True if content has to be read first.
    waits: bool,
}

/// Blocks of the other object.
enum Beside {
    /// Leaf that has them.
    Leaf(Rc<Page>),
    /// Nothing is mapped there.
    Nothing,
    /// No readable page leads to them.
    Unreadable,
    /// Pages have to be read first.
    Wait,
}

/// Result of a comparison.
enum Comparison {
    Equal,
    Different,
    Unreadable,
    Wait,
}

impl Reshare {
    /// Distance in blocks from the volume to the other object, for [`BlockNumber::at_distance`].
    const fn distance(&self) -> u64 {
        (self.shift_bytes / B.cast_signed()).cast_unsigned()
    }
}

impl Found {
    /// True if a block can be added to the last run.
    fn extends(&self, block: BlockNumber, longest: u64) -> bool {
        self.runs.last().is_some_and(|run| run.first + run.count == block && run.count < longest)
    }

    /// Notes an equal block in a place of its own. A run is at most `longest` blocks long.
    fn replace(&mut self, block: BlockNumber, longest: u64) {
        self.alike += 1;
        match self.runs.last_mut() {
            Some(run) if run.first + run.count == block && run.count < longest => run.count += 1,
            _ => self.runs.push(BlockRange::new(block, 1)),
        }
    }
}

impl<M: Media> Core<M> {
    /// Shares the equal blocks of at most one leaf.
    pub(crate) fn reshare_step(&mut self, reshare: &Reshare, progress: &mut Progress) -> Step {
        let Reshare { object, with, .. } = *reshare;
        let checked = self.writable(object, 0, 0, progress.origin).and_then(|_| self.readable(with, 0, 0));
        if let Err(failure) = checked {
            return Step::Fail(failure);
        }
        if self.map.is_address_space(object) || self.map.is_address_space(with) {
            return Step::Fail(BlockError::ReadOnly.into());
        }
        if object == with && reshare.shift_bytes == 0 {
            return Step::Done(Output::Reshared(Box::default()));
        }
        let mut scan = progress.scan.take().unwrap_or_else(|| {
            let block = BlockNumber::of_byte(reshare.offset);
            Box::new(Scan { block, resharing: Some(Box::default()), ..Scan::default() })
        });
        let mut resharing = scan.resharing.take().unwrap_or_default();
        resharing.unreadable.extend(progress.bad_block.take());
        let step = self.reshare_leaf(reshare, &mut scan, &mut resharing, progress);
        if !matches!(step, Step::Done(_) | Step::Fail(_)) {
            scan.resharing = Some(resharing);
            progress.scan = Some(scan);
        }
        step
    }

    fn reshare_leaf(
        &mut self,
        reshare: &Reshare,
        scan: &mut Scan,
        resharing: &mut Resharing,
        progress: &mut Progress,
    ) -> Step {
        let (first, page) = match scan.visit(&mut self.map, reshare.object, |_, _, _| Enter::Yes) {
            Visit::Wait => return Step::Wait,
            Visit::End => {
                let step = ReshareStep { damaged: scan.bad_page_reasons(), ..ReshareStep::default() };
                return Step::Done(Output::Reshared(Box::new(step)));
            }
            Visit::Leaf(first, page) => (first, page),
        };
        let Some(found) = self.compare_leaf(reshare, scan, resharing, (first, &page)) else { return Step::Wait };
        let Found { mut step, mut runs, alike, waits } = found;
        if waits {
            return Step::Wait;
        }
        step.damaged = scan.bad_page_reasons();
        if reshare.compare_only || runs.is_empty() {
            return Step::Done(Output::Reshared(Box::new(step)));
        }
        if alike == FANOUT && self.may_share_page(reshare, first) {
            // The whole page is shared: its own space comes back as well.
            runs = vec![BlockRange::new(first, FANOUT as u64)];
        }
        match self.replace_runs(reshare, &runs, step.freed_bytes / B, progress) {
            Ok(()) => Step::Done(Output::Reshared(Box::new(step))),
            Err(step) => step,
        }
    }

    /// Compares the blocks of a leaf whose first block is `first` with those of the other object. `None` if pages
    /// have to be read first.
    fn compare_leaf(
        &mut self,
        reshare: &Reshare,
        scan: &Scan,
        resharing: &mut Resharing,
        (first, page): (BlockNumber, &Page),
    ) -> Option<Found> {
        let (distance, from) = (reshare.distance(), scan.block.max(first));
        let sizes = [reshare.object, reshare.with].map(|object| blocks_for(self.map.objects().length(object)));
        let is_own = self.owns_path(reshare.object, from)?;
        // Within one volume a run does not reach into its own source, and each step sees what the one before changed.
        let same = reshare.object == reshare.with;
        let longest = if same { distance.min(distance.wrapping_neg()) } else { FANOUT as u64 };
        let most = (self.cached_blocks() / PROBATION / 2).clamp(8, FANOUT);
        let next = first + FANOUT as u64;
        let mut found = Found::default();
        found.step.next = (next.get() < sizes[0]).then(|| next.offset());
        let mut beside: Option<(u64, Beside)> = None;
        let mut candidates = 0;
        for (block, entry) in first.onwards().zip(&page.entries).skip((from - first) as usize) {
            if block.get() >= sizes[0] {
                break;
            }
            let other = block.at_distance(distance);
            let entry_beside = if other.get() < sizes[1] {
                let leaf = other.page(0);
                if beside.as_ref().is_none_or(|(known, _)| *known != leaf) {
                    beside = Some((leaf, self.leaf_beside(reshare.with, other, scan)));
                }
                match &beside {
                    Some((_, Beside::Leaf(page))) => page.entries[index_in(other, 0)],
                    Some((_, Beside::Wait)) => return None,
                    Some((_, Beside::Unreadable)) => {
                        // What is there is not known: nothing of it is shared.
                        found.step.scanned_bytes += if entry.is_empty() { 0 } else { B };
                        found.step.unreadable_bytes += if entry.is_empty() { 0 } else { B };
                        continue;
                    }
                    Some((_, Beside::Nothing)) | None => Entry::EMPTY,
                }
            } else {
                Entry::EMPTY
            };
            if entry.is_empty() {
                found.alike += usize::from(entry_beside.is_empty());
                continue;
            }
            let is_candidate = !entry_beside.is_empty() && entry.address() != entry_beside.address();
            let remembered = leaves_out(Mutation::ComparedNow) && resharing.remembered.contains(&block);
            if is_candidate && (entry.crc() == entry_beside.crc() || remembered) {
                if candidates == most || (same && found.runs.len() == 1 && !found.extends(block, longest)) {
                    found.step.next = Some(block.offset());
                    break;
                }
                candidates += 1;
                found.step.scanned_bytes += B;
                let comparison = if remembered {
                    Comparison::Equal
                } else {
                    self.compare_blocks(reshare, (block, entry), (other, &entry_beside), &resharing.unreadable)
                };
                match comparison {
                    Comparison::Wait => found.waits = true,
                    Comparison::Unreadable => found.step.unreadable_bytes += B,
                    Comparison::Different => {
                        found.step.compared_bytes += B;
                        found.step.different_bytes += B;
                    }
                    Comparison::Equal => {
                        if leaves_out(Mutation::ComparedNow) {
                            resharing.remembered.insert(block);
                        }
                        found.step.compared_bytes += B;
                        found.step.shared_bytes += B;
                        self.map.need_counts(entry.address());
                        let is_last = is_own && self.map.space().count(entry.address()) == Some(1);
                        found.step.freed_bytes += if is_last { B } else { 0 };
                        found.replace(block, longest);
                    }
                }
                continue;
            }
            found.step.scanned_bytes += B;
            if entry.address() == entry_beside.address() {
                found.step.already_bytes += B;
                found.alike += 1;
            }
        }
        found.waits |= !self.map.need().is_empty();
        Some(found)
    }

    /// Compares the content of two blocks with equal checksums, as it is now.
    fn compare_blocks(
        &mut self,
        reshare: &Reshare,
        (block, entry): (BlockNumber, &Entry),
        (other, entry_beside): (BlockNumber, &Entry),
        unreadable: &[(BlockAddress, Crc32c)],
    ) -> Comparison {
        if leaves_out(Mutation::CompareContent) {
            return Comparison::Equal;
        }
        let mut contents = [None, None];
        let sides = [(reshare.object, block, entry), (reshare.with, other, entry_beside)];
        for (content, (object, at, entry)) in contents.iter_mut().zip(sides) {
            *content = self.map.content_at(entry.address(), entry.crc());
            if content.is_none() && unreadable.contains(&(entry.address(), entry.crc())) {
                let _incident = self.bad_block(object, at, entry.address());
                return Comparison::Unreadable;
            }
            if content.is_none() {
                self.map.content_of(entry);
            }
        }
        match contents {
            [Some(one), Some(other)] if one[..] == other[..] => Comparison::Equal,
            [Some(_), Some(_)] => Comparison::Different,
            _ => Comparison::Wait,
        }
    }

    /// Leaf of an object that maps `block`.
    fn leaf_beside(&mut self, object: ObjectId, block: BlockNumber, scan: &Scan) -> Beside {
        let Some(mut pointer) = self.map.root_of(object) else { return Beside::Nothing };
        if block.get() >= page_span(pointer.level) {
            return Beside::Nothing;
        }
        loop {
            if pointer.is_empty() {
                return Beside::Nothing;
            }
            if scan.is_bad_page(pointer.address) {
                return Beside::Unreadable;
            }
            let Some(page) = self.map.page(pointer) else { return Beside::Wait };
            if pointer.level == 0 {
                return Beside::Leaf(page);
            }
            pointer = page.entries[index_in(block, pointer.level)].child_pointer(pointer.level);
        }
    }

    /// True if no other object reaches the leaf that maps `block`. `None` if data is missing.
    fn owns_path(&mut self, object: ObjectId, block: BlockNumber) -> Option<bool> {
        let mut pointer = self.map.root_of(object)?;
        let mut is_own = true;
        while !pointer.is_empty() {
            self.map.need_counts(pointer.address);
            is_own &= self.map.space().count(pointer.address) == Some(1);
            if pointer.level == 0 {
                break;
            }
            let page = self.map.page(pointer)?;
            pointer = page.entries[index_in(block, pointer.level)].child_pointer(pointer.level);
        }
        Some(is_own)
    }

    /// True if the leaf of the volume that begins at `first` may share the corresponding one. Not if space is
    /// promised to one of the two: blocks that are shared already would be promised once more.
    fn may_share_page(&self, reshare: &Reshare, first: BlockNumber) -> bool {
        let fits = |object: ObjectId, first: BlockNumber| {
            let reserved = self.map.objects().reserved(object).is_some();
            let blocks = blocks_for(self.map.objects().length(object));
            !reserved && first.checked_add(FANOUT as u64).is_some_and(|end| end.get() <= blocks)
        };
        let distance = reshare.distance();
        reshare.object != reshare.with
            && distance.is_multiple_of(FANOUT as u64)
            && fits(reshare.object, first)
            && fits(reshare.with, first.at_distance(distance))
    }

    /// Makes runs of the volume share the corresponding blocks. `freed`: blocks that nothing refers to afterwards.
    fn replace_runs(
        &mut self,
        reshare: &Reshare,
        runs: &[BlockRange],
        freed: u64,
        progress: &mut Progress,
    ) -> Result<(), Step> {
        let Reshare { object, with, .. } = *reshare;
        let distance = reshare.distance();
        let mut complete = true;
        for &BlockRange { first, count } in runs {
            complete &= self.map.plan_clone(with, first.at_distance(distance), object, first, count);
        }
        if !complete || !self.map.need().is_empty() {
            return Err(Step::Wait);
        }
        let places: Vec<_> = runs.iter().map(|run| (run.first.at_distance(distance), run.first, run.count)).collect();
        let Some(promise) = self.promise_of_clones(with, object, &places) else { return Err(Step::Wait) };
        let ask = Ask { promise, ..self.map.ask_for(object, 0) };
        // Where snapshots keep what is replaced, pages are taken and nothing comes back; nor where as much is promised.
        let frees = freed > ask.lasting + ask.promise;
        self.room(if frees { Ask { purpose: Purpose::Freeing, partial: false, ..ask } } else { ask }, progress)?;
        let bytes = runs.len() * CLONE_BYTES;
        if !self.log.could_fit(bytes) {
            return Err(Step::Fail(BlockError::PoolFull.into()));
        }
        if !self.log_takes(bytes) {
            return Err(Step::LogFull);
        }
        for &BlockRange { first, count } in runs {
            let from = first.at_distance(distance);
            if self.map.assign_clone(with, from, object, first, count).is_none() {
                self.stop("the map contradicts itself (re-sharing)");
                return Err(crate::core::operation::broken());
            }
            self.log.append(|out| record::encode_clone(out, with, from, object, first, count));
        }
        Ok(())
    }
}
