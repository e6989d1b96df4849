//! Clones of ranges, and captures: sub-trees are shared, no content moves.

use super::edges::{Cut, Edges};
use super::{ZEROS, acknowledged, broken};
use crate::core::B;

use crate::core::Core;
use crate::core::progress::Progress;
use crate::interface::operation::CopyOutcome;
use crate::interface::operation::Output;
use crate::interface::range::{BlockNumber, BlockRange, ByteRange, merge};
use crate::interface::{ObjectId, ObjectKind};
use crate::log::record;
use crate::map::promises::Raises;
use crate::map::reserves::Ask;
use crate::schedule::step::Step;
use block::BlockError;
use media::Media;

impl<M: Media> Core<M> {
    pub(in crate::core) fn clone_step(
        &mut self,
        source: ObjectId,
        source_offset: u64,
        destination: ObjectId,
        destination_offset: u64,
        length: u64,
        progress: &mut Progress,
    ) -> Step {
        if let Err(failure) = self.readable(source, source_offset, length) {
            return Step::Fail(failure);
        }
        let durable = match self.writable(destination, destination_offset, length, progress.origin) {
            Ok(write_cache) => !write_cache,
            Err(failure) => return Step::Fail(failure),
        };
        if length == 0 {
            return Step::Done(Output::Copied(CopyOutcome::default()));
        }
        debug_assert_eq!(source_offset % B, destination_offset % B);
        let cut = Cut::new(destination_offset, destination_offset + length);
        let delta = source_offset.wrapping_sub(destination_offset);
        let (first, count) = (cut.blocks.start, cut.count());
        let source_first = BlockNumber::of_byte(first.offset().wrapping_add(delta));
        let mut edges = self.plan_copied_edges(source, destination, delta, &cut);
        if count > 0 {
            edges.waits |= !self.map.plan_clone(source, source_first, destination, first, count);
        }
        if edges.waits || !self.map.need().is_empty() {
            return Step::Wait;
        }
        let Some(promise) = self.promise_of_clones(source, destination, &[(source_first, first, count)]) else {
            return Step::Wait;
        };
        if let Err(step) = self.room(Ask { promise, ..self.map.ask_for(destination, edges.new) }, progress) {
            return step;
        }
        if !self.log_takes(Self::edges_record_bytes(&edges) + 48) {
            return Step::LogFull;
        }
        let committed = (|| {
            if count > 0 {
                self.map.assign_clone(source, source_first, destination, first, count)?;
                self.log.append(|out| record::encode_clone(out, source, source_first, destination, first, count));
            }
            self.commit_edges(destination, &edges)
        })();
        if committed.is_none() {
            self.stop("the map contradicts itself (clone)");
            return broken();
        }
        let cloned_bytes = count * B;
        let outcome = CopyOutcome { cloned_bytes, copied_bytes: length - cloned_bytes };
        acknowledged(durable, Output::Copied(outcome))
    }

    /// Plans the parts of blocks at the ends of a clone: their content is copied. `delta`: distance
    /// in bytes from the destination to the source.
    fn plan_copied_edges(&mut self, source: ObjectId, destination: ObjectId, delta: u64, cut: &Cut) -> Edges {
        let mut edges = Edges::default();
        for &ByteRange { offset: at, length: bytes } in &cut.edges {
            let Some(content) = self.content(source, BlockNumber::of_byte(at.wrapping_add(delta))) else {
                // Planned all the same, so that the pages of both objects are read at once.
                self.map.plan_blocks(destination, BlockNumber::of_byte(at), 1);
                edges.waits = true;
                continue;
            };
            let from = (at % B) as usize;
            let piece = match &content {
                Some(data) => &data[from..from + bytes as usize],
                None => &ZEROS[..bytes as usize],
            };
            let before = edges.new;
            self.plan_edge(&mut edges, destination, at, piece);
            edges.new = edges.new.max(before + 1);
        }
        edges
    }

    /// Largest number of blocks that must be promised when ranges are shared, each given by its first block in the
    /// source and in the destination, and its length. `None` if data is missing.
    pub(in crate::core) fn promise_of_clones(
        &mut self,
        source: ObjectId,
        destination: ObjectId,
        ranges: &[(BlockNumber, BlockNumber, u64)],
    ) -> Option<u64> {
        let mut raises = Raises::default();
        let mut complete = true;
        for &(from, to, count) in ranges {
            complete &= self.map.raises_of_clone((source, from), (destination, to), count, &mut raises);
        }
        let count = ranges.iter().map(|(_, _, count)| count).sum();
        complete.then(|| self.map.promise_of_sharing(source, destination, count) + raises.blocks())
    }

    pub(in crate::core) fn capture_step(
        &mut self,
        source: ObjectId,
        capture: ObjectId,
        ranges: &[BlockRange],
        progress: &mut Progress,
    ) -> Step {
        let is_capture = self.map.objects().get(capture).is_some_and(|object| object.kind == ObjectKind::Capture);
        if source == capture || !is_capture {
            return Step::Fail(BlockError::ReadOnly.into());
        }
        for range in ranges {
            for object in [source, capture] {
                if let Err(failure) = self.has_blocks(object, *range) {
                    return Step::Fail(failure);
                }
            }
        }
        let ranges = merge(ranges);
        let mut complete = true;
        for &BlockRange { first, count } in &ranges {
            complete &= self.map.plan_clone(source, first, capture, first, count);
        }
        if !complete || !self.map.need().is_empty() {
            return Step::Wait;
        }
        let count: u64 = ranges.iter().map(|range| range.count).sum();
        let places: Vec<_> = ranges.iter().map(|range| (range.first, range.first, range.count)).collect();
        let Some(promise) = self.promise_of_clones(source, capture, &places) else { return Step::Wait };
        if let Err(step) = self.room(Ask { promise, ..self.map.ask_for(capture, 0) }, progress) {
            return step;
        }
        let bytes = ranges.len() * 48;
        if !self.log.could_fit(bytes) {
            return Step::Fail(BlockError::PoolFull.into());
        }
        if !self.log_takes(bytes) {
            return Step::LogFull;
        }
        for BlockRange { first, count } in ranges {
            if self.map.assign_clone(source, first, capture, first, count).is_none() {
                self.stop("the map contradicts itself (capture)");
                return broken();
            }
            self.log.append(|out| record::encode_clone(out, source, first, capture, first, count));
        }
        self.remembered.differences_mut().note_replaced(capture);
        // A capture need not outlive the run that created it, so its durability is not awaited.
        Step::Done(Output::Copied(CopyOutcome { cloned_bytes: count * B, copied_bytes: 0 }))
    }
}
