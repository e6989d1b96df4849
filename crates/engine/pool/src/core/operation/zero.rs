//! Zeroing and unmapping: whole blocks of the ranges are removed, partial blocks at their ends are
//! overwritten.

use super::write::inline_source;
use super::{ZEROS, broken};
use crate::core::B;
use crate::core::Core;
use crate::core::progress::Progress;
use crate::interface::operation::Output;
use crate::log::record;
use crate::map::assign::Source;
use crate::schedule::step::Step;
use media::Media;

impl<M: Media> Core<M> {
    pub(in crate::core) fn zero_step(
        &mut self,
        object: u64,
        ranges: &[(u64, u64)],
        forced: bool,
        progress: &mut Progress,
    ) -> Step {
        for &(offset, length) in ranges {
            if let Err(failure) = self.writable(object, offset, length) {
                return Step::Fail(failure);
            }
        }
        // Overlapping edges of several ranges would need each other's results; therefore the ranges
        // are merged first.
        let ranges = merge(ranges);
        let mut edges: Vec<(u64, Vec<Source>)> = Vec::new();
        let mut middles = Vec::new();
        let mut complete = true;
        let mut new = 0;
        for &(offset, length) in &ranges {
            let end = offset + length;
            let size = self.map.objects().get(object).map_or(0, |o| o.size_bytes);
            // The last block of a volume may be short: zeroing to the end takes it whole.
            let aligned_end = if end == size { end.next_multiple_of(B) } else { end };
            let (first, last) = (offset.div_ceil(B), aligned_end / B);
            let mut parts = Vec::new();
            if first > last {
                parts.push((offset, length));
            } else {
                if !offset.is_multiple_of(B) {
                    parts.push((offset, first * B - offset));
                }
                if !aligned_end.is_multiple_of(B) {
                    parts.push((last * B, end - last * B));
                }
                if last > first {
                    complete &= self.map.plan_pieces(object, first, last - first);
                    middles.push((first, last - first));
                }
            }
            for (at, bytes) in parts {
                let Some(entry) = self.map.lookup(object, at / B) else {
                    complete = false;
                    continue;
                };
                if entry.is_empty() {
                    continue;
                }
                match self.map.plan_blocks(object, at / B, 1) {
                    Some(n) => new += n,
                    None => complete = false,
                }
                match self.sources(object, at, &ZEROS[..bytes as usize]) {
                    Some(s) => match edges.last_mut() {
                        // Two ranges end and begin in one block: apply both to its content.
                        Some((block, last)) if *block == at / B => merge_zero(last, at, bytes),
                        _ => edges.push((at / B, s)),
                    },
                    None => complete = false,
                }
            }
        }
        if !complete || !self.map.need().is_empty() {
            return Step::Wait;
        }
        if let Err(step) = self.room(self.map.ask_to_free(object, new), progress) {
            return step;
        }
        if !self.log_takes(edges.len() * Self::inline_record_bytes(1) + middles.len() * 32) {
            return Step::LogFull;
        }
        let committed = (|| {
            for (first, count) in middles {
                self.map.assign_zero(object, first, count)?;
                self.log.append(|out| record::encode_zero(out, object, first, count));
            }
            for (block, sources) in &edges {
                self.commit_inline(object, *block, sources)?;
            }
            Some(())
        })();
        if committed.is_none() {
            self.stop("the map contradicts itself (zero)");
            return broken();
        }
        self.acknowledged(object, forced, Output::Done)
    }
}

/// Returns sorted, non-overlapping, non-adjacent ranges with the same union.
pub(super) fn merge(ranges: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let mut sorted: Vec<_> = ranges.iter().copied().filter(|r| r.1 > 0).collect();
    sorted.sort_unstable();
    let mut merged: Vec<(u64, u64)> = Vec::with_capacity(sorted.len());
    for (offset, length) in sorted {
        match merged.last_mut() {
            Some(last) if offset <= last.0 + last.1 => last.1 = last.1.max(offset + length - last.0),
            _ => merged.push((offset, length)),
        }
    }
    merged
}

/// Zeroes `bytes` bytes at `at` of the one block in `sources`.
pub(super) fn merge_zero(sources: &mut [Source], at: u64, bytes: u64) {
    for source in sources {
        if let Source::Inline(data, _) = source {
            let mut content = **data;
            let from = (at % B) as usize;
            content[from..from + bytes as usize].fill(0);
            *source = inline_source(content, true);
        }
    }
}
