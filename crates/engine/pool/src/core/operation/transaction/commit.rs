//! Execution of a planned transaction: all changes, and all records, in one step. The log closes frames
//! between steps only, so the records are in one frame.

use super::plan::Run;
use crate::content::data::Data;
use crate::core::Core;
use crate::core::operation::write::inline_source;
use crate::core::progress::{Placed, Progress};
use crate::log::record;
use crate::map::assign::Source;
use crate::mutations::{Mutation, leaves_out};
use crate::transaction::changes::{Changes, RangeChange};
use media::{BLOCK_BYTES, Media};
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
        for Run { object, first, count, zero } in runs {
            let blocks = changes.contents.range((*object, *first)..(*object, *first + *count));
            let source = |data: &Data| if *zero { Source::Zero } else { inline_source(data.clone(), false) };
            let sources: SmallVec<[Source; 4]> = blocks.map(|(_, data)| source(data)).collect();
            self.commit_inline(*object, *first, &sources)?;
            if leaves_out(Mutation::OneFrame) {
                self.log.close();
            }
        }
        self.commit_allotments(&changes.allotments)
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
