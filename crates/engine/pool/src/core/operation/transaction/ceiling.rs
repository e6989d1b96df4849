//! Ceilings: by how many blocks a transaction makes an address space grow.
//!
//! The growth is exact, so that a ceiling below what is used refuses growth alone: blocks that are mapped after
//! all changes, less those that are mapped before, and the promises that allotments gain. A block of an allotment
//! takes its promise along when it becomes mapped, and gets one when it no longer is. The map pages that become
//! due when blocks of an allotment or of its neighbourhood are freed are not counted.

use crate::core::Core;
use crate::core::operation::is_zero;
use crate::interface::ObjectId;
use crate::interface::allotment::AllotmentChange;
use crate::interface::range::{BlockNumber, BlockRange};
use crate::map::promises::Raises;
use crate::mutations::{Mutation, leaves_out};
use crate::schedule::step::Step;
use crate::transaction::changes::{Changes, RangeChange};
use media::{BLOCK_BYTES, Media};
use smallvec::SmallVec;

/// Most blocks that a transaction which serves to free space may take above a ceiling.
const MOST_TO_FREE: u64 = 64;
/// Most pieces in which the changed blocks of a transaction are counted. Behind them a piece counts as mapped.
const MOST_PIECES: usize = 4096;

/// What objects with a ceiling may use after a transaction.
pub(super) type Limits = SmallVec<[Limit; 1]>;

/// What an object may use after a transaction.
pub(super) struct Limit {
    object: ObjectId,
    most_blocks: u64,
    /// Blocks that its allotments promised for map pages before.
    pages_promised: u64,
    changes_allotments: bool,
}

/// Changed blocks that have one origin.
struct Piece {
    /// First of the changed blocks.
    first: BlockNumber,
    count: u64,
    origin: Origin,
}

/// What blocks contain after all changes of ranges.
enum Origin {
    /// Of so many of them, not zeros.
    Content(u64),
    /// What an object has from this block on.
    Present(ObjectId, BlockNumber),
    /// As above, by a clone.
    Cloned(ObjectId, BlockNumber),
}

/// Blocks to be traced to their origin.
#[derive(Clone, Copy)]
struct Traced {
    /// First of the changed blocks.
    changed: BlockNumber,
    object: ObjectId,
    first: BlockNumber,
    count: u64,
    /// Number of changes of ranges that precede.
    before: usize,
    is_cloned: bool,
}

impl Traced {
    /// The blocks from `offset` on.
    fn part(self, offset: u64, count: u64) -> Self {
        Self { changed: self.changed + offset, first: self.first + offset, count, ..self }
    }
}

/// Adds the pieces of blocks.
fn trace(changes: &Changes, detects_zeros: bool, blocks: Traced, pieces: &mut Vec<Piece>) {
    let Traced { changed, object, first, count, is_cloned, .. } = blocks;
    if count == 0 {
        return;
    }
    if pieces.len() >= MOST_PIECES {
        return pieces.push(Piece { first: changed, count, origin: Origin::Content(count) });
    }
    for (number, range) in changes.ranges[..blocks.before].iter().enumerate().rev() {
        let (of, start, length) = range.changed();
        let (from, to) = (first.max(start), (first + count).min(start + length));
        if of != object || from >= to {
            continue;
        }
        let earlier = Traced { before: number, ..blocks };
        trace(changes, detects_zeros, earlier.part(0, from - first), pieces);
        let inside = earlier.part(from - first, to - from);
        match range {
            RangeChange::Zero { .. } => {
                pieces.push(Piece { first: inside.changed, count: inside.count, origin: Origin::Content(0) });
            }
            RangeChange::Payload { data, .. } => {
                let bytes = (from - start) as usize * BLOCK_BYTES..(to - start) as usize * BLOCK_BYTES;
                let blocks = data[bytes].chunks_exact(BLOCK_BYTES);
                let mapped = blocks.filter(|block| !(detects_zeros && is_zero(block))).count() as u64;
                pieces.push(Piece { first: inside.changed, count: inside.count, origin: Origin::Content(mapped) });
            }
            RangeChange::Clone { source, source_first, .. } => {
                let first = *source_first + (from - start);
                let cloned = Traced { object: *source, first, is_cloned: true, ..inside };
                trace(changes, detects_zeros, cloned, pieces);
            }
        }
        return trace(changes, detects_zeros, earlier.part(to - first, first + count - to), pieces);
    }
    let origin = if is_cloned { Origin::Cloned(object, first) } else { Origin::Present(object, first) };
    pieces.push(Piece { first: changed, count, origin });
}

impl<M: Media> Core<M> {
    /// Checks that the changes leave every address space below its ceiling, or smaller than it is. Returns how
    /// many blocks each that has one may use then. `Err`: what to do instead.
    pub(super) fn stays_below_ceilings(&mut self, changes: &Changes, raises: &Raises) -> Result<Limits, Step> {
        let mut limits = Limits::new();
        for (object, ceiling) in self.limited(changes) {
            let to_free = if changes.frees_space { MOST_TO_FREE } else { 0 };
            let split = self.raised_by_splits(changes, object);
            let most_blocks = ceiling.max(self.map.used_blocks(object)) + to_free + split;
            let pages_promised = self.map.allotments().pages_promised_to(object);
            let changes_allotments = self.changes_allotments(changes, object);
            limits.push(Limit { object, most_blocks, pages_promised, changes_allotments });
            let raised = raises.blocks_of(object);
            if most_growth(changes, object).is_some_and(|most| self.map.may_grow(object, most + raised).is_ok()) {
                continue;
            }
            self.map.forget_need();
            let growth = self.growth_of(changes, object);
            let Some(growth) = growth.filter(|_| self.map.need().is_empty()) else { return Err(Step::Wait) };
            let growth = growth.saturating_add_unsigned(raised).max(0).unsigned_abs();
            if growth <= to_free {
                continue;
            }
            self.map.may_grow(object, growth).map_err(|error| Step::Fail(error.into()))?;
        }
        Ok(limits)
    }

    /// Objects with a ceiling whose use of space the changes may change, with their ceilings in blocks. Most
    /// transactions have none.
    fn limited(&self, changes: &Changes) -> SmallVec<[(ObjectId, u64); 2]> {
        let contents = changes.contents.places().map(|(object, _)| *object);
        let changed = changes.ranges.iter().map(|range| range.changed().0);
        let sources = changes.ranges.iter().filter_map(RangeChange::source).map(|(source, _)| source);
        let allotted = changes.allotments.iter().map(|change| change.place().0);
        let all = contents.chain(changed).chain(sources).chain(allotted);
        let mut limited: SmallVec<[_; 2]> =
            all.filter_map(|object| Some((object, self.map.ceiling_blocks(object)?))).collect();
        limited.sort_unstable();
        limited.dedup();
        limited
    }

    /// Counts the blocks that address spaces use beyond their limits after the changes. Not counted are further
    /// promises for map pages, and all of them if the changes concern allotments.
    pub(super) fn note_limits(&mut self, limits: &Limits) {
        for limit in limits {
            let above = self.map.used_blocks(limit.object).saturating_sub(limit.most_blocks);
            let pages = self.map.allotments().pages_promised_to(limit.object);
            let not_counted = match limit.changes_allotments {
                true => pages,
                false => pages.saturating_sub(limit.pages_promised),
            };
            self.counters.above_ceilings += above.saturating_sub(not_counted);
        }
    }

    /// Most blocks by which promises rise because allotments are split: how many blocks of each part are shared is not
    /// known before they are counted.
    fn raised_by_splits(&self, changes: &Changes, object: ObjectId) -> u64 {
        let releases = changes.allotments.iter().filter_map(|change| match change {
            AllotmentChange::Release { object: of, range } if *of == object => Some(*range),
            _ => None,
        });
        releases.flat_map(|range| self.map.allotments().touching(object, range)).map(|(_, split)| split.shared).sum()
    }

    /// True if the changes change allotments of an object, or blocks that allotments have.
    fn changes_allotments(&self, changes: &Changes, object: ObjectId) -> bool {
        let reached = |of: ObjectId, first: BlockNumber, count: u64| {
            of == object && self.map.allotments().touching(of, BlockRange::new(first, count)).next().is_some()
        };
        let by_ranges = || {
            changes.ranges.iter().any(|range| {
                let (changed, first, count) = range.changed();
                reached(changed, first, count)
                    || range.source().is_some_and(|(source, first)| reached(source, first, count))
            })
        };
        let of_object = (object, BlockNumber::FIRST)..(object.next(), BlockNumber::FIRST);
        let by_contents = || {
            changes.contents.range(of_object).any(|((_, block), _)| self.map.allotments().at(object, *block).is_some())
        };
        changes.allotments.iter().any(|change| change.place().0 == object) || by_ranges() || by_contents()
    }

    /// Further blocks of an object that the changes map, without those for which allotments have a promise; less
    /// than 0 if they unmap more. `None` if data is missing.
    fn growth_of(&mut self, changes: &Changes, object: ObjectId) -> Option<i64> {
        let detects_zeros = self.detects_zeros(object);
        let mut growth = Some(0_i64);
        let mut add = |more: Option<i64>| growth = growth.zip(more).map(|(sum, more)| sum + more);
        for part in changed_ranges(changes, object) {
            let mut pieces = Vec::new();
            trace(changes, detects_zeros, all_of(changes, object, part), &mut pieces);
            for piece in pieces {
                add(self.growth_of_piece(object, piece));
            }
        }
        for ((_, block), content) in
            changes.contents.range((object, BlockNumber::FIRST)..(object.next(), BlockNumber::FIRST))
        {
            if self.map.allotments().at(object, *block).is_some() {
                continue;
            }
            let mut pieces = Vec::new();
            trace(changes, detects_zeros, all_of(changes, object, BlockRange::new(*block, 1)), &mut pieces);
            let after = i64::from(!(detects_zeros && is_zero(&content.data[..])));
            for piece in pieces {
                let before = match piece.origin {
                    Origin::Content(mapped) => Some(mapped),
                    Origin::Present(of, first) | Origin::Cloned(of, first) => {
                        self.map.mapped_in(of, BlockRange::new(first, 1))
                    }
                };
                add(before.map(|before| after - before as i64));
            }
        }
        growth
    }

    fn growth_of_piece(&mut self, object: ObjectId, piece: Piece) -> Option<i64> {
        let range = BlockRange::new(piece.first, piece.count);
        match piece.origin {
            Origin::Present(..) => Some(0),
            // Within allotments, the promises that a clone needs are counted with those of all changes.
            Origin::Cloned(source, first) => {
                if leaves_out(Mutation::Ceiling) {
                    return Some(0);
                }
                let before = self.map.mapped_in(object, range);
                let after = self.map.mapped_in(source, BlockRange::new(first, piece.count));
                Some(after? as i64 - before? as i64)
            }
            Origin::Content(mapped) => {
                let mut before = Some(0);
                let mut outside = 0;
                for gap in self.map.allotments().gaps(object, range) {
                    outside += gap.count;
                    before = before.zip(self.map.mapped_in(object, gap)).map(|(sum, mapped)| sum + mapped);
                }
                // Which of its blocks are zeros does not matter to allotments.
                Some(mapped.min(outside) as i64 - before? as i64)
            }
        }
    }
}

/// Most blocks by which the changes make an object grow, without promises. `None` if the map has to tell.
fn most_growth(changes: &Changes, object: ObjectId) -> Option<u64> {
    let contents =
        changes.contents.range((object, BlockNumber::FIRST)..(object.next(), BlockNumber::FIRST)).count() as u64;
    let of_ranges = changes.ranges.iter().filter(|range| range.changed().0 == object).map(|range| match range {
        RangeChange::Zero { .. } => Some(0),
        RangeChange::Payload { .. } => Some(range.changed().2),
        RangeChange::Clone { .. } => None,
    });
    of_ranges.sum::<Option<u64>>().map(|blocks| blocks + contents)
}

/// Blocks after all changes of ranges.
fn all_of(changes: &Changes, object: ObjectId, range: BlockRange) -> Traced {
    let BlockRange { first, count } = range;
    Traced { changed: first, object, first, count, before: changes.ranges.len(), is_cloned: false }
}

/// Ranges of an object that changes of ranges concern, united.
fn changed_ranges(changes: &Changes, object: ObjectId) -> Vec<BlockRange> {
    let of_object =
        changes.ranges.iter().map(RangeChange::changed).filter(|(of, _, count)| *of == object && *count > 0);
    let mut ranges: Vec<(BlockNumber, BlockNumber)> =
        of_object.map(|(_, first, count)| (first, first + count)).collect();
    ranges.sort_unstable();
    let mut united: Vec<(BlockNumber, BlockNumber)> = Vec::new();
    for (first, end) in ranges {
        match united.last_mut() {
            Some(last) if last.1 >= first => last.1 = last.1.max(end),
            _ => united.push((first, end)),
        }
    }
    united.into_iter().map(|(first, end)| BlockRange::new(first, end - first)).collect()
}
