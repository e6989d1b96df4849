//! Clones and copies: ranges that share blocks, and edges that are copied as bytes.

use super::{Draft, LIMITS, Target, touched};
use crate::engine::{BLOCK_BYTES, Object, shared_span};
use crate::halt::Step;
use crate::layout::address::Region;
use crate::layout::inode::Inode;
use crate::memory::Memory;
use crate::share::Share;
use bytes::Bytes;
use smallvec::SmallVec;
use std::ops::Range;
use vfs::{Call, Changed, Copied, FileId, FsError, Payload, Segment, Source, check_overlap};

/// Most entries of the map that one clone or copy changes, without those at its edges.
const MOST_ENTRIES: u64 = 2048;

/// Source of a clone or copy.
#[derive(Clone, Copy)]
pub(crate) struct From<'a> {
    pub memory: &'a Memory,
    pub file: FileId,
    pub offset_bytes: u64,
    pub length_bytes: Option<u64>,
}

/// Range to clone or copy, after all checks.
struct Transfer {
    target: Target,
    source: Inode,
    length: u64,
    /// Source and destination are one file.
    within: bool,
}

/// A copy that was named.
#[derive(Clone)]
pub(crate) struct CopyDraft {
    draft: Draft,
    done_bytes: u64,
    shared_bytes: u64,
}

impl CopyDraft {
    pub(crate) fn finish(self, share: &mut Share<'_>) -> Step<Copied> {
        let destination: Changed = self.draft.finish(share)?;
        Ok(Copied { done_bytes: self.done_bytes, shared_bytes: self.shared_bytes, destination })
    }
}

impl Share<'_> {
    /// `call` has to have the right to read the source, `change` the right to change the destination.
    fn check_transfer(
        &mut self,
        (call, change): (Call<'_>, Call<'_>),
        from: &From<'_>,
        to: FileId,
        offset_bytes: u64,
    ) -> Step<Transfer> {
        let target = self.changeable(change, to)?;
        let (source, _) = self.other(from.memory).readable(call, from.file)?;
        let range = Source {
            file_system: &(),
            file: from.file,
            offset_bytes: from.offset_bytes,
            length_bytes: from.length_bytes,
        };
        let length = range.length_in(source.size_bytes)?;
        LIMITS.end(offset_bytes, length)?;
        let within = from.memory.object() == self.object() && from.file == to;
        if within {
            check_overlap(from.offset_bytes, offset_bytes, length)?;
        }
        Ok(Transfer { target, source, length, within })
    }

    /// Clones a range. `calls`: one with the right to read the source, one with the right to change the destination.
    pub(crate) fn clone_range(
        &mut self,
        calls: (Call<'_>, Call<'_>),
        from: &From<'_>,
        to: FileId,
        offset_bytes: u64,
    ) -> Step<Draft> {
        let Transfer { mut target, source, length, within } = self.check_transfer(calls, from, to, offset_bytes)?;
        if length == 0 {
            return Ok(Draft::new(to, &target.before, target.inode));
        }
        LIMITS.check_clone(from.offset_bytes, offset_bytes, length, source.size_bytes)?;
        let limit_bytes = shared_at_once(from.offset_bytes, offset_bytes);
        if length > limit_bytes {
            return Err(FsError::TooLong { bytes: length, limit_bytes }.into());
        }
        let end = offset_bytes + length;
        let region = self.reach(to, &mut target.inode, end)?;
        let blocks = touched(&(from.offset_bytes..from.offset_bytes + length));
        let source = if within { Some(region) } else { source.region };
        self.refer((from.memory.object(), source), blocks, region, offset_bytes / BLOCK_BYTES);
        self.complete(calls.1, target, end)
    }

    /// Maps blocks of a region, from `first` on, as those of the source.
    fn refer(&mut self, (object, source): (Object, Option<Region>), blocks: Range<u64>, to: Region, first: u64) {
        if let Some(source) = source.filter(|_| !blocks.is_empty()) {
            let own = self.object();
            let count = blocks.end - blocks.start;
            self.name().share((object, source.first() + blocks.start), (own, to.first() + first), count);
        }
    }

    pub(crate) fn copy_range(
        &mut self,
        call: Call<'_>,
        from: &From<'_>,
        to: FileId,
        offset_bytes: u64,
    ) -> Step<CopyDraft> {
        let checked = self.check_transfer((call, call), from, to, offset_bytes)?;
        let Transfer { mut target, source, length, within } = checked;
        if length == 0 {
            let draft = Draft::new(to, &target.before, target.inode);
            return Ok(CopyDraft { draft, done_bytes: 0, shared_bytes: 0 });
        }
        let congruent = from.offset_bytes % BLOCK_BYTES == offset_bytes % BLOCK_BYTES;
        let limit_bytes =
            if congruent { shared_at_once(from.offset_bytes, offset_bytes) } else { LIMITS.io_bytes.into() };
        let done_bytes = length.min(limit_bytes);
        let bytes = from.offset_bytes..from.offset_bytes + done_bytes;
        let middle = whole_blocks(&bytes, congruent);
        // The edges are read before anything moves.
        let mut looks = self.other(from.memory);
        let head = looks.segments(from.file, &source, bytes.start..middle.start)?;
        let tail = looks.segments(from.file, &source, middle.end..bytes.end)?;
        let region = self.reach(to, &mut target.inode, offset_bytes + done_bytes)?;
        let at = |source: u64| offset_bytes + (source - bytes.start);
        self.put_segments(head, region.byte(offset_bytes));
        let source = if within { Some(region) } else { source.region };
        let blocks = middle.start / BLOCK_BYTES..middle.end / BLOCK_BYTES;
        self.refer((from.memory.object(), source), blocks, region, at(middle.start) / BLOCK_BYTES);
        self.put_segments(tail, region.byte(at(middle.end)));
        let draft = self.complete(call, target, offset_bytes + done_bytes)?;
        Ok(CopyDraft { draft, done_bytes, shared_bytes: middle.end - middle.start })
    }

    /// Writes segments one behind the other, as one change. Blocks of zeros are not stored, so that holes become holes.
    fn put_segments(&mut self, segments: SmallVec<[Segment; 4]>, at: u64) {
        let object = self.object();
        if let [Segment::Hole { length_bytes }] = &segments[..] {
            return self.name().zero(object, at..at + length_bytes);
        }
        let bytes = |segment| match segment {
            Segment::Data(data) => data,
            Segment::Hole { length_bytes } => Bytes::from(vec![0; usize::try_from(length_bytes).unwrap_or(0)]),
        };
        let data: Payload = segments.into_iter().map(bytes).collect();
        if data.length_bytes() > 0 {
            self.name().write(object, at, data);
        }
    }
}

/// Longest range between two offsets, congruent modulo a block, that one step can share. It ends where an entry of the
/// map ends.
///
/// The offsets alone decide: the regions of S and larger files are aligned to their size, and ranges of smaller files
/// have few blocks.
pub(crate) const fn shared_at_once(from_bytes: u64, to_bytes: u64) -> u64 {
    let entry_bytes = shared_span(from_bytes / BLOCK_BYTES, to_bytes / BLOCK_BYTES) * BLOCK_BYTES;
    (from_bytes / entry_bytes + MOST_ENTRIES) * entry_bytes - from_bytes
}

/// Whole blocks between unaligned edges, which can be shared. Otherwise an empty range at the end.
fn whole_blocks(bytes: &Range<u64>, congruent: bool) -> Range<u64> {
    if !congruent {
        return bytes.end..bytes.end;
    }
    let start = bytes.start.next_multiple_of(BLOCK_BYTES).min(bytes.end);
    start..(bytes.end / BLOCK_BYTES * BLOCK_BYTES).max(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_shares_few_entries_of_the_map() {
        let most = MOST_ENTRIES;
        assert_eq!(shared_at_once(0, 4096), most << 12);
        assert_eq!(shared_at_once(4096, 8192), most << 12);
        assert_eq!(shared_at_once(5000, 904), (most << 12) - 904, "the end is aligned");
        assert_eq!(shared_at_once(0, 1 << 20), most << 20);
        assert_eq!(shared_at_once(4096, (1 << 20) + 4096), (most << 20) - 4096);
        assert_eq!(shared_at_once(1 << 28, 1 << 36), most << 28);
        assert!(shared_at_once(0, 0) > LIMITS.file_bytes && shared_at_once(LIMITS.file_bytes, 0) > LIMITS.file_bytes);
    }

    #[test]
    fn whole_blocks_lie_between_the_edges() {
        assert_eq!(whole_blocks(&(100..9000), true), 4096..8192);
        assert_eq!(whole_blocks(&(0..8192), true), 0..8192);
        assert_eq!(whole_blocks(&(100..200), true), 200..200);
        assert_eq!(whole_blocks(&(4000..4100), true), 4096..4096);
        assert_eq!(whole_blocks(&(0..8192), false), 8192..8192);
    }
}
