//! Writes and COMPARE AND WRITE that go through the log; large writes continue in `placed.rs`.

use super::{acknowledged, broken, is_zero};
use crate::checksum::Crc32c;
use crate::content::data::Data;
use crate::core::B;
use crate::core::Core;
use crate::core::admission::SMALL_BYTES;
use crate::core::operation::INLINE_BYTES;
use crate::core::progress::Progress;
use crate::interface::ObjectId;
use crate::interface::operation::{Failure, MAX_COMPARE_BYTES, OperationId, Output};
use crate::interface::range::BlockNumber;
use crate::log::record;
use crate::log::record::BlockWrite;
use crate::map::assign::Source;
use crate::map::reserves::{Ask, Purpose};
use crate::schedule::step::Step;
use block::{BlockError, CompareOutcome};
use bytes::Bytes;
use media::{BLOCK_BYTES, Media};

/// Kind of a change whose content goes through the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Inline {
    Write,
    CompareAndWrite,
}

impl Inline {
    /// Output of the operation.
    const fn output(self) -> Output {
        match self {
            Self::Write => Output::Done,
            Self::CompareAndWrite => Output::Compared(CompareOutcome::Written),
        }
    }
}

impl<M: Media> Core<M> {
    pub(in crate::core) fn write_step(
        &mut self,
        id: OperationId,
        object: ObjectId,
        offset: u64,
        data: &Bytes,
        forced: bool,
        progress: &mut Progress,
    ) -> Step {
        let durable = match self.writable(object, offset, data.len() as u64, progress.origin) {
            Ok(write_cache) => forced || !write_cache,
            Err(failure) => return Step::Fail(failure),
        };
        match data.len() {
            0 => Step::Done(Output::Done),
            1..=INLINE_BYTES => self.write_inline(object, offset, data, durable, Inline::Write, progress),
            _ => self.write_placed(id, object, offset, data, durable, progress),
        }
    }

    /// Returns the content of a block of an object; `None` if it has to be read first (noted in
    /// `need`), `Some(None)` for zeros.
    pub(super) fn content(&mut self, object: ObjectId, block: BlockNumber) -> Option<Option<Data>> {
        let entry = self.map.lookup(object, block)?;
        if entry.is_empty() {
            return Some(None);
        }
        self.map.content_of(&entry).map(Some)
    }

    /// Returns the blocks after a write of `data` at `offset`, or `None` if old content has to be
    /// read first.
    pub(super) fn sources(&mut self, object: ObjectId, offset: u64, data: &[u8]) -> Option<Vec<Source>> {
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
                    let content = self.map.copy_of(piece.first_chunk()?);
                    sources.push(Source::Inline(content, Crc32c::of(piece)));
                }
                continue;
            }
            let mut content = [0u8; BLOCK_BYTES];
            match self.content(object, BlockNumber::new(block)) {
                None => {
                    complete = false;
                    continue;
                }
                Some(Some(old)) => content.copy_from_slice(&old[..]),
                Some(None) => {}
            }
            let at = (from % B) as usize;
            content[at..at + piece.len()].copy_from_slice(piece);
            sources.push(inline_source(Data::copy_of(&content), detect));
        }
        complete.then_some(sources)
    }

    /// Applies and logs a write of blocks whose content is in memory.
    pub(super) fn commit_inline(&mut self, object: ObjectId, first: BlockNumber, sources: &[Source]) -> Option<()> {
        let sequence = self.log.next_sequence();
        let written = self.map.assign_write(object, first, sources, sequence)?;
        let data = sources.iter().filter_map(|s| match s {
            Source::Inline(data, _) => Some(&**data),
            _ => None,
        });
        self.log.append(|out| record::encode_write(out, object, first, &written, data));
        Some(())
    }

    /// Fast path of the usual write: one whole block that is mapped, unshared and in a leaf that
    /// this epoch owns is overwritten in place, without planning or allocation. Returns false,
    /// without effect, for any other write.
    pub(super) fn overwrite(&mut self, object: ObjectId, offset: u64, data: &[u8]) -> bool {
        let Ok(content) = <&[u8; BLOCK_BYTES]>::try_from(data) else { return false };
        let block = BlockNumber::of_byte(offset);
        if !offset.is_multiple_of(B) || is_zero(data) || !self.log_takes(Self::inline_record_bytes(1)) {
            return false;
        }
        let crc = Crc32c::of(data);
        let sequence = self.log.next_sequence();
        let Some(address) = self.map.overwrite(object, block, content, crc, sequence) else { return false };
        let written = [BlockWrite { address, crc, new: false }];
        self.log.append(|out| record::encode_write(out, object, block, &written, std::iter::once(content)));
        true
    }

    pub(super) fn inline_record_bytes(blocks: u64) -> usize {
        32 + blocks as usize * (12 + BLOCK_BYTES)
    }

    pub(super) fn write_inline(
        &mut self,
        object: ObjectId,
        offset: u64,
        data: &[u8],
        durable: bool,
        kind: Inline,
        progress: &mut Progress,
    ) -> Step {
        if self.overwrite(object, offset, data) {
            return acknowledged(durable, kind.output());
        }
        let first = BlockNumber::of_byte(offset);
        let count = BlockNumber::of_byte(offset + data.len() as u64 - 1) - first + 1;
        let sources = self.sources(object, offset, data);
        // Zeros may free pages and make others necessary.
        let without_zeros =
            sources.as_ref().is_some_and(|s| s.iter().all(|source| matches!(source, Source::Inline(..))));
        let planned = match (without_zeros, &sources) {
            (true, _) => self.map.plan_content(object, first, count),
            (false, Some(sources)) => {
                let zero: Vec<bool> = sources.iter().map(|source| matches!(source, Source::Zero)).collect();
                self.map.plan_mixed(object, first, &zero)
            }
            (false, None) => self.map.plan_blocks(object, first, count),
        };
        let (Some(new), Some(sources)) = (planned, sources) else { return Step::Wait };
        if !self.map.need().is_empty() {
            return Step::Wait;
        }
        // No new blocks are stored by an overwrite in place or by zeros; these must work in a full
        // pool too.
        let new = new.min(sources.iter().filter(|s| matches!(s, Source::Inline(..))).count() as u64);
        let purpose = match kind {
            _ if new == 0 => Purpose::Freeing,
            _ if self.map.need().fresh > 0 => Purpose::Storing,
            Inline::CompareAndWrite => Purpose::Locking,
            Inline::Write if data.len() <= SMALL_BYTES => Purpose::Overwriting,
            Inline::Write => Purpose::Storing,
        };
        let ask = self.map.ask_for(object, new);
        if let Err(step) = self.room(Ask { purpose, ..ask }, progress) {
            return step;
        }
        if !self.log_takes(Self::inline_record_bytes(count)) {
            return Step::LogFull;
        }
        let available = self.map.space().available();
        if self.commit_inline(object, first, &sources).is_none() {
            self.stop("the map contradicts itself (write)");
            return broken();
        }
        self.note_taken(available, ask);
        acknowledged(durable, kind.output())
    }

    pub(in crate::core) fn compare_step(
        &mut self,
        object: ObjectId,
        offset: u64,
        compare: &[u8],
        data: &[u8],
        forced: bool,
        progress: &mut Progress,
    ) -> Step {
        let durable = match self.writable(object, offset, data.len() as u64, progress.origin) {
            Ok(write_cache) => forced || !write_cache,
            Err(failure) => return Step::Fail(failure),
        };
        if compare.len() != data.len() || data.len() > MAX_COMPARE_BYTES {
            return Step::Fail(too_long(compare.len().max(data.len()), MAX_COMPARE_BYTES));
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
            match self.content(object, BlockNumber::new(block)) {
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
        self.write_inline(object, offset, data, durable, Inline::CompareAndWrite, progress)
    }
}

/// Error for a call longer than a volume's [`block::Limits`] allow; both lengths in bytes.
pub(super) fn too_long(bytes: usize, most: usize) -> Failure {
    BlockError::TooLong { count: bytes as u64 / 512, limit: most as u64 / 512 }.into()
}

/// Returns the source for a block with this content.
pub(super) fn inline_source(content: Data, detect: bool) -> Source {
    if detect && is_zero(&content[..]) {
        return Source::Zero;
    }
    let crc = Crc32c::of(&content[..]);
    Source::Inline(content, crc)
}
