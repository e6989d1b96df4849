//! Clones of ranges, and captures: sub-trees are shared, no content moves.

use super::zero::merge;
use super::{ZEROS, broken};
use crate::core::B;

use crate::core::Core;
use crate::core::progress::Progress;
use crate::geometry::blocks_for;
use crate::interface::ObjectKind;
use crate::interface::operation::CopyOutcome;
use crate::interface::operation::Output;
use crate::log::record;
use crate::map::reserves::Ask;
use crate::schedule::step::Step;
use block::BlockError;
use media::Media;

impl<M: Media> Core<M> {
    pub(in crate::core) fn clone_step(
        &mut self,
        source: u64,
        source_offset: u64,
        destination: u64,
        destination_offset: u64,
        length: u64,
        progress: &mut Progress,
    ) -> Step {
        if let Err(failure) = self.readable(source, source_offset, length) {
            return Step::Fail(failure);
        }
        if let Err(failure) = self.writable(destination, destination_offset, length) {
            return Step::Fail(failure);
        }
        if length == 0 {
            return Step::Done(Output::Copied(CopyOutcome::default()));
        }
        debug_assert_eq!(source_offset % B, destination_offset % B);
        let end = destination_offset + length;
        let (first, last) = (destination_offset.div_ceil(B), end / B);
        let delta = source_offset.wrapping_sub(destination_offset);
        let mut parts = Vec::new();
        if first > last {
            parts.push((destination_offset, length));
        } else {
            if !destination_offset.is_multiple_of(B) {
                parts.push((destination_offset, first * B - destination_offset));
            }
            if !end.is_multiple_of(B) {
                parts.push((last * B, end - last * B));
            }
        }
        let count = last.saturating_sub(first);
        let mut complete = true;
        let mut new = 0;
        let mut edges = Vec::new();
        for (at, bytes) in parts {
            match self.map.plan_blocks(destination, at / B, 1) {
                Some(n) => new += n.max(1),
                None => complete = false,
            }
            let Some(content) = self.content(source, at.wrapping_add(delta) / B) else {
                complete = false;
                continue;
            };
            let from = (at % B) as usize;
            let piece = match &content {
                Some(data) => &data[from..from + bytes as usize],
                None => &ZEROS[..bytes as usize],
            };
            match self.sources(destination, at, piece) {
                Some(s) => edges.push((at / B, s)),
                None => complete = false,
            }
        }
        if count > 0 {
            complete &= self.map.plan_clone(source, (first * B).wrapping_add(delta) / B, destination, first, count);
        }
        if !complete || !self.map.need().is_empty() {
            return Step::Wait;
        }
        let promise = self.map.promise_of_sharing(source, destination, count);
        if let Err(step) = self.room(Ask { promise, ..self.map.ask_for(destination, new) }, progress) {
            return step;
        }
        if !self.log_takes(edges.len() * Self::inline_record_bytes(1) + 48) {
            return Step::LogFull;
        }
        let committed = (|| {
            if count > 0 {
                let source_first = (first * B).wrapping_add(delta) / B;
                self.map.assign_clone(source, source_first, destination, first, count)?;
                self.log.append(|out| record::encode_clone(out, source, source_first, destination, first, count));
            }
            for (block, sources) in &edges {
                self.commit_inline(destination, *block, sources)?;
            }
            Some(())
        })();
        if committed.is_none() {
            self.stop("the map contradicts itself (clone)");
            return broken();
        }
        let cloned_bytes = count * B;
        let outcome = CopyOutcome { cloned_bytes, copied_bytes: length - cloned_bytes };
        self.acknowledged(destination, false, Output::Copied(outcome))
    }

    pub(in crate::core) fn capture_step(
        &mut self,
        source: u64,
        capture: u64,
        ranges: &[(u64, u64)],
        progress: &mut Progress,
    ) -> Step {
        let is_capture = self.map.objects().get(capture).is_some_and(|object| object.kind == ObjectKind::Capture);
        if source == capture || !is_capture {
            return Step::Fail(BlockError::ReadOnly.into());
        }
        for &(first, count) in ranges {
            for object in [source, capture] {
                let Some(object) = self.map.objects().user(object) else {
                    return Step::Fail(BlockError::Gone.into());
                };
                if first.checked_add(count).is_none_or(|end| end > blocks_for(object.size_bytes)) {
                    let (lba, count) = (first.saturating_mul(B / 512), count.saturating_mul(B / 512));
                    let device_blocks = object.size_bytes / 512;
                    return Step::Fail(BlockError::OutOfRange { lba, count, device_blocks }.into());
                }
            }
        }
        let ranges = merge(ranges);
        let mut complete = true;
        for &(first, count) in &ranges {
            complete &= self.map.plan_clone(source, first, capture, first, count);
        }
        if !complete || !self.map.need().is_empty() {
            return Step::Wait;
        }
        let count = ranges.iter().map(|range| range.1).sum();
        let promise = self.map.promise_of_sharing(source, capture, count);
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
        for (first, count) in ranges {
            if self.map.assign_clone(source, first, capture, first, count).is_none() {
                self.stop("the map contradicts itself (capture)");
                return broken();
            }
            self.log.append(|out| record::encode_clone(out, source, first, capture, first, count));
        }
        // A capture need not outlive the run that created it, so its durability is not awaited.
        Step::Done(Output::Copied(CopyOutcome { cloned_bytes: count * B, copied_bytes: 0 }))
    }
}
