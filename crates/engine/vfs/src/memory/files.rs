//! Content of regular files: reads, writes, holes, allocations, clones and copies.

use super::blocks::{BLOCK_BYTES, BlockId, Mapping, Owner};
use super::lies::Lie;
use super::state::State;
use crate::{
    Attributes, Call, Changed, Content, Copied, FsError, Limits, Payload, Seek, Segment, Sought, Space, SpaceReason,
    check_overlap, policy,
};
use bytes::Bytes;
use smallvec::SmallVec;
use std::ops::Range;

/// Most ranges of allocated blocks in one file.
const MOST_ALLOCATIONS: usize = 64;

/// Source of a clone or copy.
pub(super) struct From {
    pub(super) file: Owner,
    pub(super) offset_bytes: u64,
    pub(super) length_bytes: Option<u64>,
}

/// Blocks that a range of bytes touches.
fn touched(bytes: &Range<u64>) -> Range<u64> {
    bytes.start / BLOCK_BYTES..bytes.end.div_ceil(BLOCK_BYTES)
}

/// Position within a block, and within memory.
fn within(offset_bytes: u64) -> usize {
    usize::try_from(offset_bytes % BLOCK_BYTES).unwrap_or_default()
}

fn length(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

impl State {
    /// Mapping of a regular file; an error for other kinds.
    fn file(&self, owner: Owner) -> Result<&Mapping, FsError> {
        let inode = self.inode(owner)?;
        FsError::need_file(inode.kind())?;
        inode.mapping().ok_or(FsError::Stale)
    }

    /// Attributes of a regular file that may be read.
    fn readable(&self, call: Call<'_>, owner: Owner) -> Result<Attributes, FsError> {
        self.file(owner)?;
        let attributes = self.attributes(owner)?;
        if self.lies(Lie::ModeBitsIgnored) {
            return Ok(attributes);
        }
        policy::check_read(&attributes, call).map(|()| attributes)
    }

    /// Attributes of a regular file that may be written.
    pub(super) fn changeable(&self, call: Call<'_>, owner: Owner) -> Result<Attributes, FsError> {
        self.writable(owner.0)?;
        self.file(owner)?;
        let attributes = self.attributes(owner)?;
        if self.lies(Lie::ModeBitsIgnored) {
            return Ok(attributes);
        }
        let call = if self.lies(Lie::OpensAreNoRight) { Call::new(call.caller, call.now) } else { call };
        policy::check_write(&attributes, call).map(|()| attributes)
    }

    /// Ends a change of content: size, times, mode.
    fn complete(
        &mut self,
        call: Call<'_>,
        owner: Owner,
        before: &Attributes,
        size_bytes: u64,
    ) -> Result<Changed, FsError> {
        self.inode_mut(owner)?.attributes.size_bytes = size_bytes;
        self.clear_set_id(owner, call)?;
        self.touch_content(owner, call.now)?;
        self.changed(before, owner)
    }

    /// Clears set-id bits after a change by this caller.
    pub(super) fn clear_set_id(&mut self, owner: Owner, call: Call<'_>) -> Result<(), FsError> {
        if !self.lies(Lie::SetIdOutlivesWrites) {
            let inode = self.inode_mut(owner)?;
            inode.attributes.mode = policy::mode_after_change(&inode.attributes, call.caller);
        }
        Ok(())
    }

    pub(super) fn read(
        &mut self,
        call: Call<'_>,
        owner: Owner,
        offset_bytes: u64,
        length_bytes: u32,
        limits: &Limits,
    ) -> Result<Content, FsError> {
        let size = self.readable(call, owner)?.size_bytes;
        limits.check_io(u64::from(length_bytes))?;
        let wanted = offset_bytes.saturating_add(u64::from(length_bytes));
        let end = wanted.min(size);
        let segments = self.segments(self.file(owner)?, offset_bytes..end);
        if length_bytes > 0 {
            self.access(owner, call.now)?;
        }
        let end_of_file = if self.lies(Lie::EndIsSeenOnlyBehind) { wanted > size } else { wanted >= size };
        Ok(Content { segments, end_of_file, attributes: self.attributes(owner)? })
    }

    /// Content of a range inside a file.
    fn segments(&self, mapping: &Mapping, bytes: Range<u64>) -> SmallVec<[Segment; 4]> {
        let mut segments: SmallVec<[Segment; 4]> = SmallVec::new();
        let mut at = bytes.start;
        let hole = |segments: &mut SmallVec<[Segment; 4]>, length_bytes| {
            if length_bytes > 0 {
                segments.push(Segment::Hole { length_bytes });
            }
        };
        if bytes.is_empty() {
            return segments;
        }
        for (index, id) in mapping.blocks.range(touched(&bytes)) {
            let block = index * BLOCK_BYTES;
            let (from, until) = (block.max(at), (block + BLOCK_BYTES).min(bytes.end));
            hole(&mut segments, from - at);
            segments.push(Segment::Data(self.blocks.data(*id).slice(length(from - block)..length(until - block))));
            at = until;
        }
        hole(&mut segments, bytes.end - at);
        segments
    }

    pub(super) fn write(
        &mut self,
        call: Call<'_>,
        owner: Owner,
        offset_bytes: u64,
        data: &Payload,
        limits: &Limits,
    ) -> Result<Changed, FsError> {
        let before = self.changeable(call, owner)?;
        limits.check_io(data.length_bytes())?;
        let end = limits.end(offset_bytes, data.length_bytes())?;
        if data.length_bytes() == 0 && !self.lies(Lie::EmptyWritesCount) {
            return self.changed(&before, owner);
        }
        let bytes: Vec<u8> = data.pieces().concat();
        if self.lies(Lie::FullPoolTearsWrites) {
            let (first, rest) = bytes.split_at(bytes.len().min(length(BLOCK_BYTES)));
            self.step(owner.0, SpaceReason::Pool, |state| state.put(owner, offset_bytes, first))?;
            self.step(owner.0, SpaceReason::Pool, |state| state.put(owner, offset_bytes + BLOCK_BYTES, rest))?;
        } else {
            self.step(owner.0, SpaceReason::Pool, |state| state.put(owner, offset_bytes, &bytes))?;
        }
        self.complete(call, owner, &before, before.size_bytes.max(end))
    }

    /// Writes bytes into the blocks of a file.
    fn put(&mut self, owner: Owner, offset_bytes: u64, bytes: &[u8]) {
        let mut rest = bytes;
        let mut at = offset_bytes;
        while !rest.is_empty() {
            let room = length(BLOCK_BYTES - at % BLOCK_BYTES).min(rest.len());
            let (now, later) = rest.split_at(room);
            self.patch(owner, at / BLOCK_BYTES, within(at), now);
            (rest, at) = (later, at + room as u64);
        }
    }

    /// Changes bytes of one block. A block of zeros is not stored.
    fn patch(&mut self, owner: Owner, index: u64, at: usize, bytes: &[u8]) {
        let old = self.mapping(owner).and_then(|mapping| mapping.blocks.get(&index).copied());
        let mut block = old.map_or_else(|| vec![0; length(BLOCK_BYTES)], |id| self.blocks.data(id).to_vec());
        let (Some(part), stores_zeros) = (block.get_mut(at..at + bytes.len()), self.lies(Lie::ZerosAreStored)) else {
            return;
        };
        part.copy_from_slice(bytes);
        let zeros = block.iter().all(|byte| *byte == 0);
        let new = (!zeros || stores_zeros).then(|| self.blocks.add(Bytes::from(block)));
        if new.is_some() || old.is_some() {
            self.assign(owner, index, new);
        }
    }

    /// Makes bytes zero: whole blocks are unmapped.
    fn clear(&mut self, owner: Owner, bytes: Range<u64>) {
        if bytes.is_empty() {
            return;
        }
        let Some(mapping) = self.mapping(owner) else { return };
        let mapped: Vec<u64> = mapping.blocks.range(touched(&bytes)).map(|(index, _)| *index).collect();
        for index in mapped {
            let block = index * BLOCK_BYTES;
            let (from, until) = (block.max(bytes.start), (block + BLOCK_BYTES).min(bytes.end));
            if until - from == BLOCK_BYTES || self.lies(Lie::EdgesAreFreed) {
                self.assign(owner, index, None);
            } else {
                self.patch(owner, index, within(from), &vec![0; length(until - from)]);
            }
        }
    }

    /// Sets the size of a file.
    pub(super) fn resize(&mut self, owner: Owner, size_bytes: u64) -> Result<(), FsError> {
        let old = self.inode(owner)?.attributes.size_bytes;
        let cleared = if self.lies(Lie::TailsStay) { size_bytes.next_multiple_of(BLOCK_BYTES) } else { size_bytes };
        self.step(owner.0, SpaceReason::Pool, |state| {
            state.clear(owner, cleared..old);
            state.allot(owner, |allocated| allocated.remove(size_bytes.div_ceil(BLOCK_BYTES)..u64::MAX));
        })?;
        self.inode_mut(owner)?.attributes.size_bytes = size_bytes;
        Ok(())
    }

    pub(super) fn seek(&self, call: Call<'_>, owner: Owner, offset_bytes: u64, what: Seek) -> Result<Sought, FsError> {
        let attributes = self.readable(call, owner)?;
        let size = attributes.size_bytes;
        if offset_bytes >= size {
            return Err(FsError::BeyondEnd { size_bytes: size });
        }
        let mut blocks = self.file(owner)?.blocks.range(offset_bytes / BLOCK_BYTES..).map(|(index, _)| *index);
        let index = match what {
            Seek::Data => blocks.next().unwrap_or(u64::MAX / BLOCK_BYTES),
            Seek::Hole => {
                let first = offset_bytes / BLOCK_BYTES;
                blocks.zip(first..).take_while(|(mapped, index)| mapped == index).last().map_or(first, |(at, _)| at + 1)
            }
        };
        let from = if self.lies(Lie::SeeksGoBack) { 0 } else { offset_bytes };
        let found = (index * BLOCK_BYTES).max(from);
        Ok(Sought { offset_bytes: found.min(size), end_of_file: found >= size, attributes })
    }

    pub(super) fn zero(&mut self, call: Call<'_>, owner: Owner, bytes: Range<u64>) -> Result<Changed, FsError> {
        let before = self.changeable(call, owner)?;
        self.step(owner.0, SpaceReason::Pool, |state| {
            state.clear(owner, bytes.clone());
            if state.lies(Lie::ZeroEndsPromises) {
                state.allot(owner, |allocated| allocated.remove(touched(&bytes)));
            }
        })?;
        self.complete(call, owner, &before, before.size_bytes.max(bytes.end))
    }

    pub(super) fn allocate(&mut self, call: Call<'_>, owner: Owner, bytes: Range<u64>) -> Result<Changed, FsError> {
        let before = self.changeable(call, owner)?;
        let mut after = self.file(owner)?.allocated.clone();
        after.insert(touched(&bytes));
        if after.count() > MOST_ALLOCATIONS {
            return Err(FsError::NoSpace(SpaceReason::Allocations));
        }
        if !self.lies(Lie::AllocationsPromiseNothing) {
            self.step(owner.0, SpaceReason::Promise, |state| state.allot(owner, |allocated| *allocated = after))?;
        }
        self.complete(call, owner, &before, before.size_bytes.max(bytes.end))
    }

    pub(super) fn deallocate(&mut self, call: Call<'_>, owner: Owner, bytes: Range<u64>) -> Result<Changed, FsError> {
        let before = self.changeable(call, owner)?;
        if bytes.start >= before.size_bytes {
            return self.changed(&before, owner);
        }
        // The part of the last block behind the end belongs to the range.
        let end =
            if bytes.end >= before.size_bytes { before.size_bytes.next_multiple_of(BLOCK_BYTES) } else { bytes.end };
        self.step(owner.0, SpaceReason::Pool, |state| {
            state.clear(owner, bytes.start..end);
            let whole = bytes.start.div_ceil(BLOCK_BYTES)..end / BLOCK_BYTES;
            if !state.lies(Lie::PromisesOutliveDeallocation) {
                state.allot(owner, |allocated| allocated.remove(whole));
            }
        })?;
        let size = if self.lies(Lie::DeallocationCutsTheEnd) { bytes.start } else { before.size_bytes };
        self.complete(call, owner, &before, size)
    }

    /// Checks what clones and copies have in common. Returns both files and the length.
    fn check_transfer(
        &self,
        call: Call<'_>,
        from: &From,
        to: Owner,
        offset_bytes: u64,
        limits: &Limits,
    ) -> Result<(Attributes, u64), FsError> {
        let before = self.changeable(call, to)?;
        let source = self.readable(call, from.file)?;
        let range = crate::Source {
            file_system: &(),
            file: from.file.1,
            offset_bytes: from.offset_bytes,
            length_bytes: from.length_bytes,
        };
        let length = range.length_in(source.size_bytes)?;
        limits.end(offset_bytes, length)?;
        if from.file == to && !self.lies(Lie::OverlapsAccepted) {
            check_overlap(from.offset_bytes, offset_bytes, length)?;
        }
        Ok((before, length))
    }

    pub(super) fn clone_range(
        &mut self,
        call: Call<'_>,
        from: &From,
        to: Owner,
        offset_bytes: u64,
        limits: &Limits,
    ) -> Result<Changed, FsError> {
        let (before, length) = self.check_transfer(call, from, to, offset_bytes, limits)?;
        if length == 0 {
            return self.changed(&before, to);
        }
        let source_size = self.inode(from.file)?.attributes.size_bytes;
        if !self.lies(Lie::ClonesNeedNoAlignment) {
            limits.check_clone(from.offset_bytes, offset_bytes, length, source_size)?;
        }
        let blocks = touched(&(from.offset_bytes..from.offset_bytes + length));
        self.step(to.0, SpaceReason::Promise, |state| state.refer(from.file, blocks, to, offset_bytes / BLOCK_BYTES))?;
        if self.lies(Lie::ClonesTouchTheSource) && from.file != to {
            self.touch_content(from.file, call.now)?;
        }
        let size = before.size_bytes.max(offset_bytes + length);
        self.complete(call, to, &before, size)
    }

    /// Maps blocks of the destination as those of the source, in a step.
    fn refer(&mut self, source: Owner, blocks: Range<u64>, to: Owner, first: u64) {
        let numbers = |owner, range: Range<u64>| -> Vec<(u64, BlockId)> {
            let Some(mapping) = self.mapping(owner) else { return Vec::new() };
            mapping.blocks.range(range).map(|(index, id)| (*index, *id)).collect()
        };
        let replaced = numbers(to, first..first + (blocks.end - blocks.start));
        let mapped = numbers(source, blocks.clone());
        for (index, _) in replaced {
            if !self.lies(Lie::ClonesSkipHoles) {
                self.assign(to, index, None);
            }
        }
        for (index, id) in mapped {
            let copy = self.lies(Lie::ClonesCopy).then(|| self.blocks.data(id));
            let id = copy.map_or(id, |data| self.blocks.add(data));
            self.assign(to, index - blocks.start + first, Some(id));
        }
        if self.lies(Lie::PromiseOfOneSide) {
            self.allot(source, |allocated| allocated.remove(blocks));
        }
    }

    pub(super) fn copy_range(
        &mut self,
        call: Call<'_>,
        from: &From,
        to: Owner,
        offset_bytes: u64,
        limits: &Limits,
    ) -> Result<Copied, FsError> {
        let (before, length) = self.check_transfer(call, from, to, offset_bytes, limits)?;
        if length == 0 {
            return Ok(Copied { done_bytes: 0, shared_bytes: 0, destination: self.changed(&before, to)? });
        }
        let congruent = from.offset_bytes % BLOCK_BYTES == offset_bytes % BLOCK_BYTES;
        let done = if congruent { length } else { length.min(limits.move_bytes) };
        // Whole blocks between unaligned edges; none where nothing can be shared.
        let bytes = from.offset_bytes..from.offset_bytes + done;
        let start = bytes.start.next_multiple_of(BLOCK_BYTES).min(bytes.end);
        let end = (bytes.end / BLOCK_BYTES * BLOCK_BYTES).max(start);
        let middle = if congruent { start..end } else { bytes.end..bytes.end };
        let (head, tail) =
            (self.flat(from.file, bytes.start..middle.start)?, self.flat(from.file, middle.end..bytes.end)?);
        let at = |source: u64| offset_bytes + (source - bytes.start);
        let blocks = middle.start / BLOCK_BYTES..middle.end / BLOCK_BYTES;
        let first = at(middle.start) / BLOCK_BYTES;
        let wipes = self.lies(Lie::CopiesWipeTheRest);
        self.step(to.0, SpaceReason::Pool, |state| {
            state.put(to, offset_bytes, &head);
            state.refer(from.file, blocks, to, first);
            state.put(to, at(middle.end), &tail);
            if wipes {
                state.clear(to, at(bytes.end)..at(bytes.end).next_multiple_of(BLOCK_BYTES));
            }
        })?;
        let destination = self.complete(call, to, &before, before.size_bytes.max(offset_bytes + done))?;
        Ok(Copied { done_bytes: done, shared_bytes: middle.end - middle.start, destination })
    }

    /// Bytes of a range, holes as zeros.
    fn flat(&self, owner: Owner, bytes: Range<u64>) -> Result<Vec<u8>, FsError> {
        let mut flat = Vec::new();
        for segment in self.segments(self.file(owner)?, bytes) {
            match segment {
                Segment::Data(data) => flat.extend_from_slice(&data),
                Segment::Hole { length_bytes } => flat.resize(flat.len() + length(length_bytes), 0),
            }
        }
        Ok(flat)
    }

    pub(super) fn space(&mut self, owner: Owner) -> Result<Space, FsError> {
        self.inode(owner)?;
        let mapped_bytes = self.mapping(owner).map_or(0, |mapping| mapping.blocks.len() as u64) * BLOCK_BYTES;
        let promised_bytes = self.promised_to(owner) * BLOCK_BYTES;
        let freed_bytes = if self.lies(Lie::SharedBytesAreFreed) {
            mapped_bytes + promised_bytes
        } else {
            self.freed_without(owner) * BLOCK_BYTES
        };
        Ok(Space { mapped_bytes, promised_bytes, freed_bytes })
    }
}
