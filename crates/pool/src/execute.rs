//! Execution of operations: validate, plan, find room, and change the map in one step.

use crate::admission::Ask;
use crate::assign::{Source, blocks_for, is_user_object};
use crate::blocks::Data;
use crate::completion::Io;
use crate::core::{Core, INLINE_BYTES};
use crate::interface::ObjectKind;
use crate::mutations::{Mutation, leaves_out};
use crate::object::Object;
use crate::operation::{Failure, MAX_WRITE_BYTES, Operation, OperationId, Output};
use crate::page::crc32c;
use crate::record::{self, BlockWrite};
use crate::space::Stream;
use crate::step::{Placed, Progress, Step};
use block::{BlockError, CompareOutcome, CopyOutcome, Extent, ProvisioningExtent};
use bytes::Bytes;
use media::{BLOCK_BYTES, BlockAddress, Media};
use std::rc::Rc;

const B: u64 = BLOCK_BYTES as u64;

pub(crate) fn broken() -> Step {
    Step::Fail(Failure::Block(BlockError::PoolStopped { reason: "the map contradicts itself".into() }))
}

/// True when all bytes are zero.
pub(crate) fn is_zero(bytes: &[u8]) -> bool {
    let (words, rest) = bytes.as_chunks::<64>();
    words.iter().all(|w| w.iter().fold(0, |a, b| a | b) == 0) && rest.iter().all(|b| *b == 0)
}

impl<M: Media> Core<M> {
    pub(crate) fn execute(&mut self, id: OperationId, operation: &Operation, progress: &mut Progress) -> Step {
        match operation {
            Operation::Read { object, offset, length } => self.read_step(id, *object, *offset, *length, progress),
            Operation::Write { object, offset, data, forced } => {
                if let Err(failure) = self.writable(*object, *offset, data.len() as u64) {
                    return Step::Fail(failure);
                }
                if data.is_empty() {
                    return Step::Done(Output::Done);
                }
                if data.len() <= INLINE_BYTES {
                    self.write_inline(*object, *offset, data, *forced, Output::Done, progress)
                } else {
                    self.write_placed(id, *object, *offset, data, *forced, progress)
                }
            }
            Operation::Zero { object, ranges, forced } => self.zero_step(*object, ranges, *forced, progress),
            Operation::Clone { source, source_offset, destination, destination_offset, length } => {
                self.clone_step(*source, *source_offset, *destination, *destination_offset, *length, progress)
            }
            Operation::CompareAndWrite { object, offset, compare, data, forced } => {
                self.compare_step(*object, *offset, compare, data, *forced, progress)
            }
            Operation::Flush => {
                progress.flush_sequence = Some(self.log.next_sequence());
                Step::Durable(Output::Done)
            }
            Operation::Provisioning { object, offset, limit } => self.provisioning_step(*object, *offset, *limit),
            Operation::Catalog(changes) => self.catalog_step(changes, progress),
            Operation::Unique { objects } => self.unique_step(objects, progress),
            Operation::ReclaimZeros { object, offset } => self.zeros_step(*object, *offset, progress),
            Operation::Verify { object, offset, anew } => self.verify_step(id, *object, *offset, *anew, progress),
            Operation::PlacesOf(blocks) => self.places_step(blocks, progress),
            Operation::CheckStep => self.check_step(id),
            Operation::Recount { object } => self.recount_step(*object, progress),
            Operation::Grow(growth) => self.grow_step(id, growth),
        }
    }

    /// The object, if the range lies inside it.
    pub(crate) fn readable(&self, object: u64, offset: u64, length: u64) -> Result<&Object, Failure> {
        let Some(o) = self.objects.get(&object).filter(|o| is_user_object(o.id)) else {
            return Err(BlockError::Gone.into());
        };
        if offset.checked_add(length).is_none_or(|end| end > o.size_bytes)
            || !offset.is_multiple_of(512)
            || !length.is_multiple_of(512)
        {
            let device_blocks = o.size_bytes / 512;
            return Err(BlockError::OutOfRange { lba: offset / 512, count: length / 512, device_blocks }.into());
        }
        Ok(o)
    }

    pub(crate) fn writable(&self, object: u64, offset: u64, length: u64) -> Result<(), Failure> {
        match self.readable(object, offset, length)?.kind {
            ObjectKind::Snapshot => Err(BlockError::ReadOnly.into()),
            _ => Ok(()),
        }
    }

    fn acknowledged(&self, object: u64, forced: bool, output: Output) -> Step {
        match self.objects.get(&object) {
            Some(o) if o.write_cache && !forced => Step::Done(output),
            _ => Step::Durable(output),
        }
    }

    /// True when blocks of zeros are not stored for this object.
    fn detects_zeros(&self, object: u64) -> bool {
        self.objects.get(&object).is_none_or(|o| o.zero_detection)
    }

    /// Content of a block of an object; `None` when it has to be read first (noted in `need`), `Some(None)` for zeros.
    fn content(&mut self, object: u64, block: u64) -> Option<Option<Data>> {
        let entry = self.lookup(object, block)?;
        if entry.is_empty() {
            return Some(None);
        }
        match self.blocks.get(entry.address(), entry.crc()) {
            Some(data) => Some(Some(data)),
            None => {
                self.need.blocks.push((entry.address(), entry.crc()));
                None
            }
        }
    }

    /// The blocks that a write of `data` at `offset` leaves, or `None` when old content has to be read first.
    fn sources(&mut self, object: u64, offset: u64, data: &[u8]) -> Option<Vec<Source>> {
        let first = offset / B;
        let last = (offset + data.len() as u64 - 1) / B;
        let mut sources = Vec::with_capacity((last - first + 1) as usize);
        let mut complete = true;
        let detect = self.detects_zeros(object);
        for block in first..=last {
            let from = (block * B).max(offset);
            let to = ((block + 1) * B).min(offset + data.len() as u64);
            let piece = &data[(from - offset) as usize..(to - offset) as usize];
            if piece.len() == BLOCK_BYTES {
                if detect && is_zero(piece) {
                    sources.push(Source::Zero);
                } else {
                    let content = self.blocks.copy_of(piece.first_chunk()?);
                    sources.push(Source::Inline(content, crc32c(piece)));
                }
                continue;
            }
            let mut content = [0u8; BLOCK_BYTES];
            match self.content(object, block) {
                None => {
                    complete = false;
                    continue;
                }
                Some(Some(old)) => content.copy_from_slice(&old[..]),
                Some(None) => {}
            }
            let at = (from % B) as usize;
            content[at..at + piece.len()].copy_from_slice(piece);
            sources.push(inline_source(content, detect));
        }
        complete.then_some(sources)
    }

    /// Applies a write of blocks whose content is in memory and logs it.
    fn commit_inline(&mut self, object: u64, first: u64, sources: &[Source]) -> Option<()> {
        let sequence = self.log.next_sequence();
        let written = self.assign_write(object, first, sources, sequence)?;
        let data = sources.iter().filter_map(|s| match s {
            Source::Inline(data, _) => Some(&**data),
            _ => None,
        });
        self.log.append(|out| record::encode_write(out, object, first, &written, data));
        Some(())
    }

    /// The usual write, made short: one whole block that is mapped, unshared and in a leaf that this epoch owns keeps its place, so that nothing
    /// has to be planned or allocated. False, with nothing done, for any other.
    fn overwrite(&mut self, object: u64, offset: u64, data: &[u8]) -> bool {
        let Ok(content) = <&[u8; BLOCK_BYTES]>::try_from(data) else { return false };
        let block = offset / B;
        if !offset.is_multiple_of(B) || is_zero(data) || !self.log_takes(Self::inline_record_bytes(1)) {
            return false;
        }
        let Some(leaf) = self.owned_leaf(object, block) else { return false };
        let Some(entry) = self.pages.get_mut(&leaf).map(|cached| &mut cached.page) else { return false };
        let place = &mut Rc::make_mut(entry).entries[crate::tree::index_in(block, 0)];
        let address = place.address();
        if address == 0 || self.space.count(address) != Some(1) {
            return false;
        }
        let crc = crc32c(data);
        *place = crate::page::Entry::block(address, crc);
        let copy = self.blocks.copy_of(content);
        let sequence = self.log.next_sequence();
        self.blocks.write(address, copy, crc, sequence);
        let written = [BlockWrite { address, crc, new: false }];
        self.log.append(|out| record::encode_write(out, object, block, &written, std::iter::once(content)));
        true
    }

    fn inline_record_bytes(blocks: u64) -> usize {
        32 + blocks as usize * (12 + BLOCK_BYTES)
    }

    fn write_inline(
        &mut self,
        object: u64,
        offset: u64,
        data: &[u8],
        forced: bool,
        output: Output,
        progress: &mut Progress,
    ) -> Step {
        if self.overwrite(object, offset, data) {
            return self.acknowledged(object, forced, output);
        }
        let first = offset / B;
        let count = (offset + data.len() as u64 - 1) / B - first + 1;
        let sources = self.sources(object, offset, data);
        // Zeros may give pages back and make others necessary.
        self.need.once = sources.as_ref().is_some_and(|s| s.iter().all(|source| matches!(source, Source::Inline(..))));
        let planned = self.plan_blocks(object, first, count);
        self.need.once = false;
        let (Some(new), Some(sources)) = (planned, sources) else { return Step::Wait };
        if !self.need.is_empty() {
            return Step::Wait;
        }
        // Nothing new to store: an overwrite in place, or zeros. That must work in a full pool too.
        let new = new.min(sources.iter().filter(|s| matches!(s, Source::Inline(..))).count() as u64);
        let ask = self.ask_for(object, new);
        if let Err(step) = self.room(Ask { freeing: new == 0, ..ask }, progress) {
            return step;
        }
        if !self.log_takes(Self::inline_record_bytes(count)) {
            return Step::LogFull;
        }
        if self.commit_inline(object, first, &sources).is_none() {
            self.stop("the map contradicts itself (write)");
            return broken();
        }
        self.acknowledged(object, forced, output)
    }

    fn compare_step(
        &mut self,
        object: u64,
        offset: u64,
        compare: &[u8],
        data: &[u8],
        forced: bool,
        progress: &mut Progress,
    ) -> Step {
        if let Err(failure) = self.writable(object, offset, data.len() as u64) {
            return Step::Fail(failure);
        }
        if compare.len() != data.len() || data.len() > INLINE_BYTES * 8 {
            return Step::Fail(
                BlockError::OutOfRange { lba: offset / 512, count: data.len() as u64 / 512, device_blocks: 0 }.into(),
            );
        }
        if data.is_empty() {
            return Step::Done(Output::Compared(CompareOutcome::Written));
        }
        let end = offset + data.len() as u64;
        let mut complete = true;
        let mut difference = None;
        for block in offset / B..=(end - 1) / B {
            let from = (block * B).max(offset);
            let to = ((block + 1) * B).min(end);
            let expected = &compare[(from - offset) as usize..(to - offset) as usize];
            let at = (from % B) as usize;
            match self.content(object, block) {
                None => complete = false,
                Some(medium) => {
                    if difference.is_none() {
                        let found = match &medium {
                            Some(m) => {
                                let m = &m[at..at + expected.len()];
                                if m == expected { None } else { m.iter().zip(expected).position(|(a, b)| a != b) }
                            }
                            None => expected.iter().position(|b| *b != 0),
                        };
                        difference = found.map(|i| (from - offset) as u32 + i as u32);
                    }
                }
            }
        }
        if !complete {
            return Step::Wait;
        }
        if let Some(offset_bytes) = difference {
            return Step::Done(Output::Compared(CompareOutcome::Miscompare { offset_bytes }));
        }
        self.write_inline(object, offset, data, forced, Output::Compared(CompareOutcome::Written), progress)
    }

    fn write_placed(
        &mut self,
        id: OperationId,
        object: u64,
        offset: u64,
        data: &Bytes,
        forced: bool,
        progress: &mut Progress,
    ) -> Step {
        if data.len() > MAX_WRITE_BYTES {
            return Step::Fail(
                BlockError::OutOfRange { lba: offset / 512, count: data.len() as u64 / 512, device_blocks: 0 }.into(),
            );
        }
        let end = offset + data.len() as u64;
        let (first, last) = (offset.div_ceil(B), end / B);
        let Some(placed) = &progress.placed else {
            let step = self.place(id, object, offset, data, first..last, progress);
            return match step {
                Step::Space => self.write_through_log(object, offset, data, forced, progress),
                step => step,
            };
        };
        if !placed.flushed {
            return Step::Io;
        }
        let head = (!offset.is_multiple_of(B)).then(|| &data[..(first * B - offset) as usize]);
        let tail = (!end.is_multiple_of(B)).then(|| &data[(last * B - offset) as usize..]);
        let mut complete = self.plan_blocks(object, first, last - first).is_some();
        let mut new = 0;
        let mut edge = |core: &mut Self, at: u64, piece: Option<&[u8]>| match piece {
            None => Some(Vec::new()),
            Some(piece) => {
                match core.plan_blocks(object, at / B, 1) {
                    Some(blocks) => new += blocks,
                    None => complete = false,
                }
                core.sources(object, at, piece)
            }
        };
        let head_sources = edge(self, offset, head);
        let tail_sources = edge(self, last * B, tail);
        let (Some(head_sources), Some(tail_sources)) = (head_sources, tail_sources) else { return Step::Wait };
        if !complete || !self.need.is_empty() {
            return Step::Wait;
        }
        if let Err(step) = self.room(self.ask_to_free(object, new), progress) {
            return step;
        }
        let bytes = 2 * Self::inline_record_bytes(1) + 32 + (last - first) as usize * 12;
        if !self.log.could_fit(bytes) {
            return Step::Fail(BlockError::PoolStopped { reason: "the log is too small for this write".into() }.into());
        }
        if !self.log_takes(bytes) {
            return Step::LogFull;
        }
        let Some(placed) = progress.placed.take() else { return broken() };
        self.no_longer_in_flight(&placed);
        let middle: Vec<Source> = placed
            .blocks
            .iter()
            .map(|&(address, crc)| if address == 0 { Source::Zero } else { Source::Placed(address, crc) })
            .collect();
        let committed = (|| {
            let sequence = self.log.next_sequence();
            let written: Vec<BlockWrite> = self.assign_write(object, first, &middle, sequence)?;
            self.log.append(|out| record::encode_placed(out, object, first, &written));
            if !head_sources.is_empty() {
                self.commit_inline(object, offset / B, &head_sources)?;
            }
            if !tail_sources.is_empty() {
                self.commit_inline(object, last, &tail_sources)?;
            }
            Some(())
        })();
        if committed.is_none() {
            self.stop("the map contradicts itself (large write)");
            return broken();
        }
        self.acknowledged(object, forced, Output::Done)
    }

    /// A large write that finds no space for its blocks. It goes through the log instead, where what is mapped and unshared is overwritten in
    /// place, so that it works in a full pool.
    fn write_through_log(
        &mut self,
        object: u64,
        offset: u64,
        data: &Bytes,
        forced: bool,
        progress: &mut Progress,
    ) -> Step {
        let first = offset / B;
        let count = (offset + data.len() as u64 - 1) / B - first + 1;
        if !self.log.could_fit(Self::inline_record_bytes(count)) {
            return Step::Space;
        }
        self.need.clear();
        let planned = self.plan_blocks(object, first, count);
        match planned {
            None => Step::Wait,
            Some(_) if !self.need.is_empty() => Step::Wait,
            // Without new blocks, or with those that were promised; what stores more waits for the space to go the short way.
            Some(new) if new == 0 || self.ask_for(object, new).covered > 0 => {
                self.need.clear();
                self.write_inline(object, offset, data, forced, Output::Done, progress)
            }
            Some(_) => Step::Space,
        }
    }

    /// First half of a large write: its aligned blocks go to free space.
    fn place(
        &mut self,
        id: OperationId,
        object: u64,
        offset: u64,
        data: &Bytes,
        blocks: std::ops::Range<u64>,
        progress: &mut Progress,
    ) -> Step {
        let (first, count) = (blocks.start, blocks.end - blocks.start);
        let pieces: Vec<&[u8]> =
            blocks.map(|b| &data[(b * B - offset) as usize..((b + 1) * B - offset) as usize]).collect();
        let detect = self.detects_zeros(object);
        let zero: Vec<bool> = pieces.iter().map(|p| detect && is_zero(p)).collect();
        let n = zero.iter().filter(|z| !**z).count() as u64;
        let ask = if self.reserved(object).is_some() {
            // What was promised depends on what is mapped already.
            let Some(new) = self.plan_blocks(object, first, count) else { return Step::Wait };
            if !self.need.is_empty() {
                return Step::Wait;
            }
            let new = new.min(n);
            let ask = self.ask_for(object, new);
            // What is overwritten elsewhere comes back.
            Ask { passing: ask.passing + n - new, ..ask }
        } else {
            Ask { lasting: n + n / 256 + 4, ..Ask::default() }
        };
        self.need.clear();
        if let Err(step) = self.room(ask, progress) {
            return step;
        }
        let mut blocks = Vec::with_capacity(pieces.len());
        let mut writes = 0;
        let limit = (self.media.capabilities().max_request_bytes / BLOCK_BYTES).clamp(1, 256) as u64;
        let mut i = 0;
        while i < pieces.len() {
            if zero[i] {
                blocks.push((0, 0));
                i += 1;
                continue;
            }
            let want = zero[i..].iter().take_while(|z| !**z).count() as u64;
            let Some((address, run)) = self.space.allocate_run(Stream::Large, want.min(limit)) else {
                self.stop("the space map promised blocks that it does not have");
                return broken();
            };
            self.blocks.place(address..address + run);
            let mut buffer = self.stock.take(run as usize);
            for k in 0..run as usize {
                buffer.as_blocks_mut()[k].0.copy_from_slice(pieces[i + k]);
                blocks.push((address + k as u64, crc32c(pieces[i + k])));
                self.space.reserve(address + k as u64);
            }
            let ticket = self.ticket(Io::Placed { operation: id });
            self.media.write(&self.fence, ticket, BlockAddress(address), buffer);
            writes += 1;
            i += run as usize;
        }
        let flushed = writes == 0 || leaves_out(Mutation::DataBeforeLog);
        let placed = Placed { blocks, writes, flushed, object, covered: ask.covered_blocks };
        self.now_in_flight(&placed);
        progress.placed = Some(placed);
        if flushed { Step::Again } else { Step::Io }
    }

    pub(crate) fn zero_step(
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
        // Overlapping edges of several ranges would need one another's results; they are executed from merged ranges.
        let ranges = merge(ranges);
        let mut edges: Vec<(u64, Vec<Source>)> = Vec::new();
        let mut middles = Vec::new();
        let mut complete = true;
        let mut new = 0;
        for &(offset, length) in &ranges {
            let end = offset + length;
            let size = self.objects.get(&object).map_or(0, |o| o.size_bytes);
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
                    complete &= self.plan_pieces(object, first, last - first);
                    middles.push((first, last - first));
                }
            }
            for (at, bytes) in parts {
                let Some(entry) = self.lookup(object, at / B) else {
                    complete = false;
                    continue;
                };
                if entry.is_empty() {
                    continue;
                }
                match self.plan_blocks(object, at / B, 1) {
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
        if !complete || !self.need.is_empty() {
            return Step::Wait;
        }
        if let Err(step) = self.room(self.ask_to_free(object, new), progress) {
            return step;
        }
        if !self.log_takes(edges.len() * Self::inline_record_bytes(1) + middles.len() * 32) {
            return Step::LogFull;
        }
        let committed = (|| {
            for (first, count) in middles {
                self.assign_zero(object, first, count)?;
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

    fn clone_step(
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
            match self.plan_blocks(destination, at / B, 1) {
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
            complete &= self.plan_clone(source, (first * B).wrapping_add(delta) / B, destination, first, count);
        }
        if !complete || !self.need.is_empty() {
            return Step::Wait;
        }
        let promise = self.promise_of_sharing(source, destination, count);
        if let Err(step) = self.room(Ask { promise, ..self.ask_for(destination, new) }, progress) {
            return step;
        }
        if !self.log_takes(edges.len() * Self::inline_record_bytes(1) + 48) {
            return Step::LogFull;
        }
        let committed = (|| {
            if count > 0 {
                let source_first = (first * B).wrapping_add(delta) / B;
                self.assign_clone(source, source_first, destination, first, count)?;
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

    fn provisioning_step(&mut self, object: u64, offset: u64, limit: usize) -> Step {
        let size = match self.readable(object, offset, 512) {
            Ok(object) => object.size_bytes,
            Err(failure) => return Step::Fail(failure),
        };
        let mut runs: Vec<ProvisioningExtent> = Vec::new();
        let end = blocks_for(size);
        let mut block = offset / B;
        let mut pages = 0;
        while block < end && pages < 1024 {
            let Some((root, root_level, _)) = self.root_of(object) else { return Step::Fail(BlockError::Gone.into()) };
            // The lowest page over this block, or the empty span in which it lies.
            let mut level = root_level;
            let mut found = None;
            if root != 0 {
                for at in (0..=root_level).rev() {
                    match self.pointer(object, block, at) {
                        None => return Step::Wait,
                        Some(((0, _, _), _)) => break,
                        Some((pointer, _)) => {
                            level = at;
                            found = Some(pointer);
                        }
                    }
                }
            }
            let (count, mapped) = match found {
                None => (end - block, false),
                Some(_) if level > 0 => {
                    let span = crate::page::entry_span(level);
                    ((block / span + 1) * span - block, false)
                }
                Some(pointer) => {
                    pages += 1;
                    let Some(page) = self.page(pointer) else { return Step::Wait };
                    let index = crate::tree::index_in(block, 0);
                    let mapped = !page.entries[index].is_empty();
                    let run = page.entries[index..].iter().take_while(|e| e.is_empty() != mapped).count();
                    (run as u64, mapped)
                }
            };
            let count = count.min(end - block);
            let from = (block * B).max(offset) / 512;
            let to = ((block + count) * B).min(size) / 512;
            let full = runs.len() == limit.max(1);
            match runs.last_mut() {
                Some(last) if last.mapped == mapped => last.extent.count += to - from,
                _ if full => break,
                _ => runs.push(ProvisioningExtent { extent: Extent::new(from, to - from), mapped }),
            }
            block += count;
        }
        Step::Done(Output::Provisioning(runs))
    }
}

static ZEROS: [u8; BLOCK_BYTES] = [0; BLOCK_BYTES];

/// Sorted, non-overlapping, non-adjacent ranges with the same union.
fn merge(ranges: &[(u64, u64)]) -> Vec<(u64, u64)> {
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

/// The source for a block with this content.
fn inline_source(content: [u8; BLOCK_BYTES], detect: bool) -> Source {
    if detect && is_zero(&content) {
        return Source::Zero;
    }
    let crc = crc32c(&content);
    Source::Inline(Rc::new(content), crc)
}

/// Zeroes `bytes` bytes at `at` of the one block in `sources`.
fn merge_zero(sources: &mut [Source], at: u64, bytes: u64) {
    for source in sources {
        if let Source::Inline(data, _) = source {
            let mut content = **data;
            let from = (at % B) as usize;
            content[from..from + bytes as usize].fill(0);
            *source = inline_source(content, true);
        }
    }
}
