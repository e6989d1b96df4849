//! Execution of a planned transaction: all changes, and all records, in one step. The log closes frames
//! between steps only, so the records are in one frame.

use super::plan::Run;
use crate::checksum::Crc32c;
use crate::core::Core;
use crate::core::progress::{Placed, Progress};
use crate::interface::ObjectId;
use crate::interface::range::BlockNumber;
use crate::log::patch::Patched;
use crate::log::record::{self, BlockWrite};
use crate::map::assign::{Replaced, Source};
use crate::mutations::{Mutation, leaves_out};
use crate::transaction::changes::{Changes, RangeChange};
use crate::transaction::contents::Content;
use crate::transaction::edits::Edits;
use media::{BLOCK_BYTES, FEATURE_PATCHES, Media};
use smallvec::SmallVec;

/// Bytes of the record of a range without content.
const RANGE_BYTES: usize = 48;

impl<M: Media> Core<M> {
    /// Largest number of bytes in the log that the changes take.
    pub(super) fn transaction_bytes(changes: &Changes) -> usize {
        let ranges = changes.ranges.iter().map(|range| match range {
            RangeChange::Payload { data, .. } => RANGE_BYTES + data.len() / BLOCK_BYTES * 12,
            RangeChange::Zero { .. } | RangeChange::Clone { .. } => RANGE_BYTES,
        });
        let allotments = record::allotment_bytes(changes.allotments.len());
        ranges.sum::<usize>() + changes.contents.len() * Self::inline_record_bytes(1) + allotments
    }

    /// Carries all changes out and logs them. `None` if the map contradicts itself.
    pub(super) fn commit_transaction(
        &mut self,
        changes: &Changes,
        runs: &[Run],
        placed: Option<&Placed>,
    ) -> Option<()> {
        for range in &changes.ranges {
            self.commit_range(range, placed)?;
            if leaves_out(Mutation::OneFrame) {
                self.log.close();
            }
        }
        // Zeros come last: no page becomes empty before another block of it gets content.
        for run in runs {
            self.commit_run(changes, run)?;
            if leaves_out(Mutation::OneFrame) {
                self.log.close();
            }
        }
        self.commit_allotments(&changes.allotments)
    }

    fn commit_run(&mut self, changes: &Changes, run: &Run) -> Option<()> {
        let &Run { object, first, count, zero } = run;
        if zero {
            let zeros: SmallVec<[Source; 4]> = (0..count).map(|_| Source::Zero).collect();
            return self.commit_inline(object, first, &zeros);
        }
        // Blocks since the last one that was replaced in place.
        let (mut since, mut sources) = (first, SmallVec::<[Source; 4]>::new());
        for ((_, block), content) in changes.contents.range((object, first)..(object, first + count)) {
            let crc = Crc32c::of(&content.data[..]);
            if !self.replace((object, *block), content, crc) {
                sources.push(Source::Inline(content.data.clone(), crc));
                continue;
            }
            self.commit_sources(object, since, &mut sources)?;
            since = *block + 1;
        }
        self.commit_sources(object, since, &mut sources)
    }

    fn commit_sources(
        &mut self,
        object: ObjectId,
        first: BlockNumber,
        sources: &mut SmallVec<[Source; 4]>,
    ) -> Option<()> {
        match sources.is_empty() {
            true => Some(()),
            false => self.commit_inline(object, first, &std::mem::take(sources)),
        }
    }

    /// Replaces the content of a block that may be overwritten in place, and logs the bytes that changed.
    /// False, without effect, for any other block.
    pub(super) fn replace(&mut self, (object, block): (ObjectId, BlockNumber), content: &Content, crc: Crc32c) -> bool {
        let sequence = self.log.next_sequence();
        let patches = matches!(content.edits, Edits::Parts(_)) && self.has_feature(FEATURE_PATCHES);
        let replaced = self.map.replace((object, block), content.data.clone(), crc, sequence, patches);
        let Some(Replaced { address, before, image }) = replaced else { return false };
        match (&content.edits, image) {
            (Edits::Parts(parts), Some(image)) => {
                let patched = Patched { object, block, address, image, before, after: crc };
                let left_out = usize::from(leaves_out(Mutation::PatchParts)).min(parts.len());
                let parts = &parts[..parts.len() - left_out];
                self.log.append(|out| record::encode_patch(out, &patched, parts, &content.data));
            }
            _ => {
                let written = [BlockWrite { address, crc, new: false }];
                let data = std::iter::once(&*content.data);
                self.log.append(|out| record::encode_write(out, object, block, &written, data));
            }
        }
        true
    }

    fn commit_range(&mut self, range: &RangeChange, placed: Option<&Placed>) -> Option<()> {
        match range {
            RangeChange::Zero { object, first, count } => {
                self.map.assign_zero(*object, *first, *count)?;
                self.log.append(|out| record::encode_zero(out, *object, *first, *count));
            }
            RangeChange::Clone { source, source_first, object, first, count } => {
                self.map.assign_clone(*source, *source_first, *object, *first, *count)?;
                self.log.append(|out| record::encode_clone(out, *source, *source_first, *object, *first, *count));
            }
            RangeChange::Payload { object, first, .. } => {
                let sources: Vec<Source> = placed?.sources();
                let sequence = self.log.next_sequence();
                let written = self.map.assign_write(*object, *first, &sources, sequence)?;
                // Its content is durable: a record that replay may give up must not split the frame.
                self.log.append(|out| record::encode_placed(out, *object, *first, &written, false));
            }
        }
        Some(())
    }

    /// Gives back the blocks of a payload that is not used.
    pub(in crate::core) fn give_back_placed(&mut self, progress: &mut Progress) {
        let Some(placed) = progress.placed.take() else { return };
        self.no_longer_in_flight(&placed);
        for (address, _) in placed.blocks {
            if !address.is_none() {
                self.map.give_back(address);
            }
        }
    }
}
