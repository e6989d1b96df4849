//! Large writes: their content goes straight to free space, and a record names the blocks.
//!
//! Where the blocks have their place below the pool already, content and record are written
//! together: the record says that replay must verify the blocks, and no record from it on is durable
//! before the content is (`log/mod.rs`, `core/recovery/contents.rs`). Elsewhere the record follows when
//! the content has been written and flushed: a refused or failed write then has no effect, and
//! many first writes share one commit of the file system below.

use super::edges::{Cut, Edges};
use super::write::{Inline, too_long};
use super::{acknowledged, broken, is_zero};
use crate::checksum::Crc32c;
use crate::core::Core;
use crate::core::admission::SMALL_BYTES;
use crate::core::io::Io;
use crate::core::progress::{Placed, Progress};
use crate::geometry::FANOUT;
use crate::interface::ObjectId;
use crate::interface::operation::{MAX_WRITE_BYTES, OperationId, Output};
use crate::interface::range::{BlockNumber, ByteRange};
use crate::log::record;
use crate::log::record::BlockWrite;
use crate::map::reserves::Ask;
use crate::mutations::{Mutation, leaves_out};
use crate::schedule::step::Step;
use crate::space::FreeRun;
use block::BlockError;
use bytes::Bytes;
use media::{BLOCK_BYTES, BlockAddress, FEATURE_UNCONFIRMED, Media};

/// Largest number of bytes whose records are written before their content is known to be durable.
/// Later records wait for them, those of small writes too, and recovery reads them.
const TOGETHER_BYTES: u64 = 2 << 20;

/// Content that goes straight to its place.
pub(super) struct Place {
    pub object: ObjectId,
    /// Blocks of the object.
    pub blocks: std::ops::Range<BlockNumber>,
    /// Their content.
    pub data: Bytes,
    /// Its record waits until it is durable.
    pub alone: bool,
}

impl<M: Media> Core<M> {
    /// Attempts a write above the size that goes through the log.
    pub(super) fn write_placed(
        &mut self,
        id: OperationId,
        object: ObjectId,
        offset: u64,
        data: &Bytes,
        durable: bool,
        progress: &mut Progress,
    ) -> Step {
        if data.len() > MAX_WRITE_BYTES {
            return Step::Fail(too_long(data.len(), MAX_WRITE_BYTES));
        }
        let cut = Cut::new(offset, offset + data.len() as u64);
        if progress.placed.is_none() {
            let blocks = cut.blocks.clone();
            let start = (blocks.start.offset() - offset) as usize;
            let middle = data.slice(start..start + cut.count() as usize * BLOCK_BYTES);
            match self.place(id, Place { object, blocks, data: middle, alone: false }, progress) {
                Ok(()) => {}
                Err(Step::Space) => return self.write_through_log(object, offset, data, durable, progress),
                Err(step) => return step,
            }
        }
        match progress.placed.as_ref().is_some_and(Placed::may_be_logged) {
            true => self.log_placed(id, object, offset, data, &cut, durable, progress),
            false => Step::Io,
        }
    }

    /// Second half of a large write: it takes effect, and its record is logged.
    #[expect(clippy::too_many_arguments, reason = "the operation, its cut and its progress")]
    fn log_placed(
        &mut self,
        id: OperationId,
        object: ObjectId,
        offset: u64,
        data: &Bytes,
        cut: &Cut,
        durable: bool,
        progress: &mut Progress,
    ) -> Step {
        let mut edges = Edges::default();
        for &ByteRange { offset: at, length: bytes } in &cut.edges {
            let from = (at - offset) as usize;
            self.plan_edge(&mut edges, object, at, &data[from..from + bytes as usize]);
        }
        edges.waits |= !self.map.plan_placed(object, cut.blocks.start, cut.count());
        if progress.placed.as_ref().is_some_and(Placed::has_zeros) {
            self.map.plan_recreated(object, cut.blocks.start, cut.count());
        }
        if edges.waits || !self.map.need().is_empty() {
            return Step::Wait;
        }
        let ask = self.map.ask_to_free(object, edges.new);
        if let Err(step) = self.room(ask, progress) {
            return step;
        }
        let bytes = Self::edges_record_bytes(&edges) + 32 + cut.count() as usize * 12;
        if !self.log.could_fit(bytes) {
            return Step::Fail(BlockError::Internal { reason: "the log is too small for this write".into() }.into());
        }
        if !self.log_takes(bytes) {
            return Step::LogFull;
        }
        let Some(placed) = progress.placed.take() else { return broken() };
        self.no_longer_in_flight(&placed);
        let middle = placed.sources();
        let available = self.map.space().available();
        let committed = (|| {
            let sequence = self.log.next_sequence();
            let first = cut.blocks.start;
            let written: Vec<BlockWrite> = self.map.assign_write(object, first, &middle, sequence)?;
            let unconfirmed = placed.together && placed.writes > 0;
            if unconfirmed {
                self.await_content(id, &placed);
            }
            self.log.append(|out| record::encode_placed(out, object, first, &written, unconfirmed));
            self.commit_edges(object, &edges)
        })();
        if committed.is_none() {
            self.stop("the map contradicts itself (large write)");
            return broken();
        }
        self.note_taken(available, ask);
        acknowledged(durable, Output::Done)
    }

    /// Handles a large write that finds no space for its blocks: it goes through the log instead,
    /// where mapped and unshared blocks are overwritten in place, so that it works in a full pool.
    fn write_through_log(
        &mut self,
        object: ObjectId,
        offset: u64,
        data: &Bytes,
        durable: bool,
        progress: &mut Progress,
    ) -> Step {
        let first = BlockNumber::of_byte(offset);
        let count = BlockNumber::of_byte(offset + data.len() as u64 - 1) - first + 1;
        if !self.log.could_fit(Self::inline_record_bytes(count)) {
            return Step::Space;
        }
        self.map.forget_need();
        let planned = self.map.plan_blocks(object, first, count);
        match planned {
            None => Step::Wait,
            Some(_) if !self.map.need().is_empty() => Step::Wait,
            // Admits writes without new blocks, with promised blocks, and small overwrites; a write
            // that stores more waits for space on the direct path.
            Some(new)
                if new == 0
                    || self.map.ask_for(object, new).covered > 0
                    || (self.map.need().fresh == 0 && data.len() <= SMALL_BYTES) =>
            {
                self.map.forget_need();
                self.write_inline(object, offset, data, durable, Inline::Write, progress)
            }
            Some(_) => Step::Space,
        }
    }

    /// First half of a large write: its aligned blocks go to free space. `Err`: what to do instead.
    pub(super) fn place(&mut self, id: OperationId, what: Place, progress: &mut Progress) -> Result<(), Step> {
        let Place { object, blocks, data, alone } = what;
        let (pieces, _) = data.as_chunks::<BLOCK_BYTES>();
        let detect = self.detects_zeros(object);
        let zero: Vec<bool> = pieces.iter().map(|piece| detect && is_zero(piece)).collect();
        let n = zero.iter().filter(|z| !**z).count() as u64;
        let ask = self.ask_to_place(object, &blocks, &zero)?;
        self.map.forget_need();
        self.room(ask, progress)?;
        let runs = self.take_runs(&zero)?;
        let bytes = n * BLOCK_BYTES as u64;
        let together = n > 0 && !alone && self.goes_together(&runs, bytes);
        let mut blocks = vec![(BlockAddress::NONE, Crc32c::NONE); pieces.len()];
        for &(at, FreeRun { address, blocks: run }) in &runs {
            let (at, run) = (at, run as usize);
            let mut buffer = self.medium.stock().take(run);
            for (k, piece) in pieces[at..at + run].iter().enumerate() {
                buffer.as_blocks_mut()[k].0.copy_from_slice(piece);
                blocks[at + k] = (address + k as u64, Crc32c::of(piece));
            }
            if together {
                let content = data.slice(at * BLOCK_BYTES..(at + run) * BLOCK_BYTES);
                self.medium.write_held(Io::Placed { operation: id, held: Some((address, content)) }, address, buffer);
            } else {
                self.medium.write(Io::Placed { operation: id, held: None }, address, buffer);
            }
        }
        let flushed = runs.is_empty() || leaves_out(Mutation::DataBeforeLog);
        let open_bytes = if together { bytes } else { 0 };
        let writes = runs.len() as u32;
        let placed = Placed { blocks, writes, flushed, together, open_bytes, object, covered: ask.covered_blocks };
        self.now_in_flight(&placed);
        progress.placed = Some(placed);
        Ok(())
    }

    /// Space that a large write of these blocks asks for, some of which are zero. `Err`: what to do first.
    fn ask_to_place(
        &mut self,
        object: ObjectId,
        blocks: &std::ops::Range<BlockNumber>,
        zero: &[bool],
    ) -> Result<Ask, Step> {
        let n = zero.iter().filter(|zero| !**zero).count() as u64;
        let allotted = self.map.allotments().has(object);
        if self.map.objects().reserved(object).is_none() && !allotted {
            return Ok(Ask { lasting: n + n / 256 + 4, ..Ask::default() });
        }
        self.map.forget_need();
        // The promised number of blocks depends on the present mapping.
        let planned = match allotted {
            true => self.map.plan_mixed(object, blocks.start, zero),
            false => self.map.plan_blocks(object, blocks.start, blocks.end - blocks.start),
        };
        let Some(new) = planned.filter(|_| self.map.need().is_empty()) else { return Err(Step::Wait) };
        let new = new.min(n);
        let ask = self.map.ask_for(object, new);
        // Blocks that are overwritten by blocks elsewhere become free again.
        Ok(Ask { passing: ask.passing + n - new, ..ask })
    }

    /// Takes free blocks for those that are not `zero`: runs, each with the index of its first block.
    fn take_runs(&mut self, zero: &[bool]) -> Result<Vec<(usize, FreeRun)>, Step> {
        let limit = self.medium.request_blocks(FANOUT) as u64;
        let mut runs = Vec::new();
        let mut i = 0;
        while i < zero.len() {
            let want = zero[i..].iter().take_while(|z| !**z).count() as u64;
            if want == 0 {
                i += 1;
                continue;
            }
            let Some(run) = self.map.take_run(want.min(limit)) else {
                self.stop("the space map promised blocks that it does not have");
                return Err(broken());
            };
            runs.push((i, run));
            i += run.blocks as usize;
        }
        Ok(runs)
    }

    /// True if a large write logs its record while its content, `bytes` bytes, is being written to
    /// `runs`.
    fn goes_together(&mut self, runs: &[(usize, FreeRun)], bytes: u64) -> bool {
        if !self.medium.needs_flush() || self.placed.open_bytes() + bytes > TOGETHER_BYTES || self.has_parked_writes() {
            return false;
        }
        if !runs.iter().all(|(_, run)| self.medium.has_room(run.address, run.blocks)) {
            return false;
        }
        if self.media().features() & FEATURE_UNCONFIRMED != 0 {
            return true;
        }
        // Not before the superblock says so: an older release would not verify the content.
        self.medium.require_features(FEATURE_UNCONFIRMED);
        if self.placed.ask_for_feature() {
            self.checkpoints.request();
        }
        false
    }

    /// Notes that the record that is logged now names content that is still being written.
    fn await_content(&mut self, id: OperationId, placed: &Placed) {
        let sequence = self.log.next_sequence();
        if !leaves_out(Mutation::ContentBeforeReply) {
            self.log.await_content(sequence);
        }
        self.placed.note_logged(id, sequence, placed);
    }
}
