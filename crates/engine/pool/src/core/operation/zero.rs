//! Zeroing and unmapping: whole blocks of the ranges are removed, partial blocks at their ends are
//! overwritten.

use super::edges::{Cut, Edges};
use super::write::inline_source;
use super::{ZEROS, acknowledged, broken};
use crate::content::data::Data;
use crate::core::B;
use crate::core::Core;
use crate::core::progress::Progress;
use crate::interface::ObjectId;
use crate::interface::operation::Output;
use crate::interface::range::{BlockNumber, BlockRange, ByteRange, merge};
use crate::log::record;
use crate::map::assign::Source;
use crate::schedule::step::Step;
use media::Media;

impl<M: Media> Core<M> {
    pub(in crate::core) fn zero_step(
        &mut self,
        object: ObjectId,
        ranges: &[ByteRange],
        forced: bool,
        progress: &mut Progress,
    ) -> Step {
        let mut durable = forced;
        for &ByteRange { offset, length } in ranges {
            match self.writable(object, offset, length, progress.origin) {
                Ok(write_cache) => durable |= !write_cache,
                Err(failure) => return Step::Fail(failure),
            }
        }
        // Overlapping edges of several ranges would need each other's results; therefore the ranges
        // are merged first.
        let ranges = merge(ranges);
        let (edges, runs) = self.plan_zeros(object, &ranges);
        if edges.waits || !self.map.need().is_empty() {
            return Step::Wait;
        }
        if let Err(step) = self.room(self.map.ask_to_free(object, edges.new), progress) {
            return step;
        }
        if !self.log_takes(Self::edges_record_bytes(&edges) + runs.len() * 32) {
            return Step::LogFull;
        }
        let committed = (|| {
            for BlockRange { first, count } in runs {
                self.map.assign_zero(object, first, count)?;
                self.log.append(|out| record::encode_zero(out, object, first, count));
            }
            self.commit_edges(object, &edges)
        })();
        if committed.is_none() {
            self.stop("the map contradicts itself (zero)");
            return broken();
        }
        acknowledged(durable, Output::Done)
    }

    /// Plans to zero merged ranges. Also returns their whole blocks.
    fn plan_zeros(&mut self, object: ObjectId, ranges: &[ByteRange]) -> (Edges, Vec<BlockRange>) {
        let mut edges = Edges::default();
        let mut runs = Vec::new();
        let size = self.map.objects().length(object);
        for &ByteRange { offset, length } in ranges {
            let end = offset + length;
            // The last block of a volume may be short: zeroing up to the end covers it as a whole.
            let cut = Cut::new(offset, if end == size { end.next_multiple_of(B) } else { end });
            if cut.count() > 0 {
                edges.waits |= !self.map.plan_pieces(object, cut.blocks.start, cut.count());
                runs.push(BlockRange::new(cut.blocks.start, cut.count()));
            }
            for ByteRange { offset: at, length: bytes } in cut.edges {
                let Some(entry) = self.map.lookup(object, BlockNumber::of_byte(at)) else {
                    edges.waits = true;
                    continue;
                };
                match edges.contents.last_mut() {
                    _ if entry.is_empty() => {}
                    // Two ranges end and begin in one block: both apply to its content.
                    Some((block, content)) if *block == BlockNumber::of_byte(at) => merge_zero(content, at, bytes),
                    _ => self.plan_edge(&mut edges, object, at, &ZEROS[..bytes as usize]),
                }
            }
        }
        (edges, runs)
    }
}

/// Zeroes `bytes` bytes at `at` of the one block in `sources`.
pub(super) fn merge_zero(sources: &mut [Source], at: u64, bytes: u64) {
    for source in sources {
        if let Source::Inline(data, _) = source {
            let mut content = **data;
            let from = (at % B) as usize;
            content[from..from + bytes as usize].fill(0);
            *source = inline_source(Data::copy_of(&content), true);
        }
    }
}
