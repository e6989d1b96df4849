//! Checkpoints: freeze the map between two operations, write it beside the old one while new
//! operations run, and flip the root.
//!
//! The order implements the engine's rules. A freeze closes the log, so that the replay point is
//! between frames. Pages and counts go to blocks that were free at the previous checkpoint. Before
//! the flip every record below the replay point is durable, and every block whose oldest undestaged
//! content is below it has been destaged (the finish rule). The flip releases only blocks that were
//! free at the freeze and have not been allocated since (the release rule).

pub(crate) mod frozen;
pub(crate) mod pace;
pub(crate) mod root;
#[cfg(test)]
mod tests;

use crate::catalog::documents::Stored;
use crate::catalog::stream::MAX_STREAM_BYTES;
use crate::catalog::{DOCUMENTS, DROP_QUEUE, OBJECT_TABLE};
use crate::checksum::Crc32c;
use crate::content::blocks::Data;
use crate::core::Core;
use crate::core::checkpoint::frozen::Frozen;
use crate::core::checkpoint::frozen::Stage;
use crate::core::checkpoint::pace::Pace;
use crate::core::checkpoint::root::{Root, TreeRoot};
use crate::core::io::{Io, Rewrite};
use crate::core::operation::is_zero;
use crate::geometry::blocks_for;
use crate::index::block_of;
use crate::interface::range::BlockNumber;
use crate::interface::{Incident, ObjectId};
use crate::map::space::Found;

use crate::log::ReplayPoint;
use crate::map::assign::Source;
use crate::map::documents::DocumentPages;

use crate::map::pages::SealedPage;
use crate::mutations::{Mutation, leaves_out};
use crate::space::SpaceWrites;
use media::{BLOCK_BYTES, FEATURE_INDEX, Media, Ticket};
use media::{BlockAddress, Buffer};
use std::collections::BTreeMap;
use std::collections::BTreeSet;

/// Largest number of concurrent writes of a checkpoint.
const WRITES: usize = 64;
/// Blocks that a freeze requests beyond its plan.
const SPARE_BLOCKS: u64 = 16;

impl<M: Media> Core<M> {
    /// Starts or advances a checkpoint.
    pub(crate) fn step_checkpoint(&mut self) {
        if !self.checkpoints.in_flight() {
            if !self.checkpoints.wanted || self.stopped.is_some() {
                return;
            }
            if !self.freeze() {
                self.checkpoints.freeze_waits = self.checkpoints.freeze_waits.saturating_add(1);
                return;
            }
            self.checkpoints.freeze_waits = 0;
            self.checkpoints.wanted = false;
        }
        self.advance_checkpoint();
    }

    fn advance_checkpoint(&mut self) {
        let Some(frozen) = &mut self.checkpoints.frozen else { return };
        match frozen.stage {
            Stage::Writing => self.write_frozen(),
            Stage::Destaging => self.destage_frozen(),
            Stage::Flushing | Stage::Swapping => {}
        }
    }

    /// Freezes the map. Returns false if data must be read first: the read is issued, and the
    /// freeze is retried later.
    fn freeze(&mut self) -> bool {
        // Changes of the pool's own streams, block by block.
        self.map.forget_need();
        let drops = self.map.drops().encode_changed();
        let table = self.map.objects().changed_blocks();
        let keep_list = self.options.list_documents || !self.map.index_has_room();
        let documents = self.map.documents_to_write(keep_list);
        let mut complete = documents.is_some();
        let documents = documents.flatten();
        let mut new = 0;
        if let Some(bytes) = &drops {
            let old = blocks_for(self.map.objects().length(DROP_QUEUE));
            let now = blocks_for(bytes.len() as u64);
            new += now;
            complete &= self.map.plan_blocks(DROP_QUEUE, BlockNumber::FIRST, now.max(old)).is_some();
        }
        if let Some(DocumentPages { writes, freed, .. }) = &documents {
            new += writes.len() as u64;
            let touched: BTreeSet<_> = writes.keys().chain(freed).map(|page| block_of(*page)).collect();
            complete &= self.map.plan_stream(DOCUMENTS, touched.into_iter());
        }
        new += table.len() as u64;
        complete &= self.map.plan_stream(OBJECT_TABLE, table.iter().copied());
        if !complete || !self.map.need().is_empty() {
            if let Some(reason) = self.map.take_damage() {
                self.stop(reason);
            }
            self.note_index_damage();
            self.issue_need_or_stop();
            return false;
        }
        if !self.find_space_to_freeze(new + self.map.need().allocations + SPARE_BLOCKS) {
            return false;
        }
        self.map.forget_need();
        if self.freeze_planned(drops.is_some(), documents, &table).is_none() {
            self.stop("the map contradicts itself (checkpoint)");
            return false;
        }
        true
    }

    /// Notes damage of the index of the documents that the plan of a freeze met: the next attempt
    /// writes a new index. The blocks of the damaged one are not read for that.
    fn note_index_damage(&mut self) {
        // Only the index needs the content of blocks.
        let unreadable = self.schedule.why_block_unreadable(self.map.need()).cloned();
        let Some(reason) = self.map.take_index_damage().or(unreadable) else { return };
        if self.map.documents().damage().is_some() {
            return self.stop(reason);
        }
        self.map.forget_needed_content();
        self.incidents.note(Incident::Metadata(format!("{reason}; the index of the documents is written anew")));
        self.map.note_document_damage(reason);
    }

    /// Finds the blocks that a freeze allocates. Returns false if counts must be read first, or if
    /// there are none now.
    fn find_space_to_freeze(&mut self, needed: u64) -> bool {
        self.map.forget_need();
        let found = self.map.find_space(needed);
        if found == Found::Enough {
            return true;
        }
        if found == Found::TooFew {
            if self.discards_in_flight > 0 {
                // Discards in flight return their blocks.
                return false;
            }
            let (kept, left) = (self.map.checkpoint_blocks(), self.map.space().available());
            let damage = self.map.documents().damage().map(|damage| format!("{damage}; "));
            self.stop(format!(
                "{}no space is left for a checkpoint: {needed} blocks are needed, {kept} were kept back, {left} are left",
                damage.unwrap_or_default()
            ));
        }
        self.issue_need_or_stop();
        false
    }

    /// Freezes the map as planned. `drops`: write the drop queue as well.
    fn freeze_planned(
        &mut self,
        drops: bool,
        documents: Option<DocumentPages>,
        table: &BTreeSet<BlockNumber>,
    ) -> Option<()> {
        let epoch = self.map.pages().epoch();
        let mut blocks: SpaceWrites = Vec::new();
        let pages = self.freeze_map(drops, documents, table, &mut blocks)?;
        self.counters.pages_written += pages.len() as u64;
        self.freeze_growth()?;
        blocks.extend(self.map.freeze_counts());
        let replay = match self.replaying {
            Some(point) => point,
            None => {
                for (position, offset, frame) in self.log.seal_all(&self.uuid, self.options.incarnation, epoch) {
                    self.append_frame(position, offset, frame);
                }
                self.log.replay_point()
            }
        };
        let root = self.frozen_root(epoch, replay);
        if self.replaying.is_none()
            && let Some(check) = &mut self.online_check
        {
            check.take_picture(&self.map, epoch);
        }
        self.turn.note_frozen(pages.len() + blocks.len());
        let work = (pages.len() + blocks.len() + self.map.content().dirty()) as u64;
        let pace = Pace::new(self.log.used(), self.media().log_bytes(), work);
        self.map.freeze_content(replay.sequence);
        self.checkpoints.frozen = Some(Frozen {
            sequence: replay.sequence,
            epoch,
            root,
            pages,
            blocks,
            in_flight: 0,
            stage: Stage::Writing,
            captured: BTreeMap::new(),
            listed: false,
            pace,
        });
        self.map.note_stored();
        Some(())
    }

    /// Writes the changes of the pool's own streams into the map and ends the epoch; returns the
    /// pages to write. Adds the streams' blocks to `blocks`.
    fn freeze_map(
        &mut self,
        drops: bool,
        documents: Option<DocumentPages>,
        table: &BTreeSet<BlockNumber>,
        blocks: &mut SpaceWrites,
    ) -> Option<Vec<SealedPage>> {
        let sealing = self.map.seal_changes();
        // Encoded again, because the checksums of the roots are known only now.
        if let (true, Some(bytes)) = (drops, self.map.drops().encode_changed()) {
            self.write_stream(DROP_QUEUE, &bytes, blocks)?;
        }
        if let Some(documents) = documents {
            self.write_documents(&documents, blocks)?;
        }
        // Freed blocks come last, as `Map::plan_stream` demands.
        let mut emptied = Vec::new();
        for block in table {
            let content = self.map.objects().table_block(*block);
            match is_zero(&content) {
                true => emptied.push((*block, content)),
                false => self.write_stream_block(OBJECT_TABLE, *block, &content, blocks)?,
            }
        }
        for (block, content) in emptied {
            self.write_stream_block(OBJECT_TABLE, block, &content, blocks)?;
        }
        if let Some(last) = table.last() {
            self.map.extend_table(*last)?;
        }
        self.map.end_epoch(sealing)
    }

    /// Root of the checkpoint of `epoch`.
    fn frozen_root(&self, epoch: u64, replay: ReplayPoint) -> Root {
        let tree = |id: ObjectId| {
            let object = self.map.objects().get(id);
            object.map_or(TreeRoot::default(), |o| TreeRoot::new(o.pointer(), o.size_bytes))
        };
        let space = self.map.space();
        let layout = space.layout();
        Root {
            uuid: self.uuid,
            epoch,
            log_position: replay.position,
            log_sequence: replay.sequence,
            log_previous_crc: replay.previous_crc,
            next_object: self.map.objects().next_id(),
            allocated_blocks: space.allocated(),
            metadata_blocks: self.map.metadata_blocks(),
            data_start: layout.start,
            data_end: layout.end,
            objects: tree(OBJECT_TABLE),
            documents: tree(DOCUMENTS),
            stored_documents: self.map.documents().stored(),
            drops: tree(DROP_QUEUE),
            clean: false,
            groups: space.groups().to_vec(),
        }
    }

    /// Submits a sealed frame to the medium.
    pub(crate) fn append_frame(&mut self, position: u64, offset: u64, frame: Buffer) {
        self.counters.frames += 1;
        self.counters.log_bytes += frame.len() as u64;
        self.medium.append(Io::Frame { position }, offset, frame);
    }

    fn write_stream(&mut self, id: ObjectId, bytes: &[u8], writes: &mut SpaceWrites) -> Option<()> {
        let old = self.map.objects().length(id).div_ceil(BLOCK_BYTES as u64);
        let now = (bytes.len() as u64).div_ceil(BLOCK_BYTES as u64);
        for (i, chunk) in bytes.chunks(BLOCK_BYTES).enumerate() {
            let mut content = [0u8; BLOCK_BYTES];
            content[..chunk.len()].copy_from_slice(chunk);
            self.write_stream_block(id, BlockNumber::new(i as u64), &content, writes)?;
        }
        // Block by block, because a detached sub-tree would belong into the drop queue that is
        // being written.
        for block in now..old {
            self.write_stream_block(id, BlockNumber::new(block), &[0; BLOCK_BYTES], writes)?;
        }
        self.map.set_length(id, bytes.len() as u64)?;
        Some(())
    }

    /// Writes the changes of the documents. Freed pages come last, as
    /// [`crate::map::Map::plan_stream`] demands.
    fn write_documents(&mut self, documents: &DocumentPages, blocks: &mut SpaceWrites) -> Option<()> {
        for (number, content) in &documents.writes {
            self.write_stream_block(DOCUMENTS, block_of(*number), content, blocks)?;
        }
        for number in &documents.freed {
            self.write_stream_block(DOCUMENTS, block_of(*number), &[0; BLOCK_BYTES], blocks)?;
        }
        self.map.set_length(DOCUMENTS, documents.length)?;
        self.map.note_documents_frozen(documents);
        Some(())
    }

    fn write_stream_block(
        &mut self,
        id: ObjectId,
        block: BlockNumber,
        content: &[u8; BLOCK_BYTES],
        writes: &mut SpaceWrites,
    ) -> Option<()> {
        let source = if is_zero(content) {
            Source::Zero
        } else {
            let address = self.map.take_block()?;
            let mut buffer = self.medium.stock().take(1);
            buffer.copy_from_slice(content);
            writes.push((address, buffer));
            Source::Placed(address, Crc32c::of(content))
        };
        let before = self.map.objects().get(id)?.mapped;
        self.map.assign_write(id, block, &[source], 0)?;
        let after = self.map.objects().get(id)?.mapped;
        self.map.count_metadata(after, before);
        Some(())
    }

    fn write_frozen(&mut self) {
        let Some(mut frozen) = self.checkpoints.frozen.take() else { return };
        while frozen.in_flight < WRITES && !(frozen.blocks.is_empty() && frozen.pages.is_empty()) {
            let left = self.turn.blocks_left();
            if left == 0 {
                break;
            }
            let rewrite = match frozen.blocks.pop() {
                Some((address, buffer)) => Rewrite::Blocks(address, buffer),
                None => {
                    // Neighbouring pages form one request.
                    let mut run = Vec::new();
                    while let Some((address, _)) = frozen.pages.last() {
                        if run.len() == left.min(64) || run.last().is_some_and(|(last, _)| *last + 1 != *address) {
                            break;
                        }
                        run.extend(frozen.pages.pop());
                    }
                    Rewrite::Pages(run)
                }
            };
            let (address, buffer) = rewrite.request(self.medium.stock());
            frozen.in_flight += 1;
            self.turn.spend_blocks(buffer.blocks());
            self.counters.checkpoint_bytes += buffer.len() as u64;
            self.medium.write(Io::Checkpoint { blocks: buffer.blocks(), rewrite }, address, buffer);
        }
        if frozen.in_flight == 0 && frozen.blocks.is_empty() && frozen.pages.is_empty() {
            frozen.stage = Stage::Destaging;
        }
        let destaging = frozen.stage == Stage::Destaging;
        self.checkpoints.frozen = Some(frozen);
        if destaging {
            self.destage_frozen();
        }
    }

    pub(crate) fn checkpoint_written(&mut self, blocks: usize) {
        if let Some(frozen) = &mut self.checkpoints.frozen {
            frozen.in_flight -= 1;
            frozen.pace.progress(blocks);
        }
        self.advance_checkpoint();
    }

    /// True while ordinary destaging must not start new writes: the flip waits for those in flight.
    pub(crate) fn destage_paused(&self) -> bool {
        self.checkpoints.frozen.as_ref().is_some_and(|f| f.stage != Stage::Writing)
    }

    /// Destages the blocks that the finish rule demands, then flushes.
    fn destage_frozen(&mut self) {
        let Some(mut frozen) = self.checkpoints.frozen.take() else { return };
        let durable = self.log.durable_sequence();
        let mut finished = false;
        if self.replaying.is_some() || durable >= frozen.sequence {
            // Ordinary destaging is paused, so a captured list stays complete except for blocks
            // that were in flight then.
            if !frozen.listed || (frozen.captured.is_empty() && self.checkpoints.destaging == 0) {
                frozen.listed = true;
                let skip = leaves_out(Mutation::Finish);
                let old = if skip { Vec::new() } else { self.map.content().older_than(frozen.sequence) };
                if old.is_empty() && self.checkpoints.destaging == 0 {
                    finished = true;
                }
                for (address, content) in old {
                    if let Some(content) = content {
                        frozen.captured.entry(address).or_insert(content);
                    }
                }
            }
            let early = self.replaying.is_some() || leaves_out(Mutation::LogBeforeDestage);
            let durable = if early { u64::MAX } else { durable };
            let room = self.options.destage_batch.saturating_sub(self.checkpoints.destaging);
            let limit = match room > 0 && !frozen.captured.is_empty() {
                true => room.min(self.turn.blocks_left()),
                false => 0,
            };
            let ready: Vec<BlockAddress> = frozen
                .captured
                .iter()
                .filter(|(_, (_, sequence))| *sequence < durable)
                .map(|(a, _)| *a)
                .take(limit)
                .collect();
            let mut batch = Vec::with_capacity(ready.len());
            let any_ready = !ready.is_empty();
            for address in ready {
                if let Some((data, sequence)) = frozen.captured.remove(&address)
                    && self.map.begin_destage_of(address, sequence)
                {
                    batch.push((address, data));
                }
            }
            self.checkpoints.frozen = Some(frozen);
            if batch.is_empty() && !finished && self.checkpoints.destaging == 0 && self.frozen_is_drained() {
                // All captured blocks were freed meanwhile, and no write is in flight that would
                // call this again.
                return self.destage_frozen();
            }
            if batch.is_empty() && any_ready {
                // The blocks looked at were freed meanwhile, and the next ones follow in the next turn.
                self.turn.cut();
            }
            self.write_batch(batch);
        } else {
            self.checkpoints.frozen = Some(frozen);
        }
        if finished && let Some(frozen) = &mut self.checkpoints.frozen {
            frozen.stage = Stage::Flushing;
            if self.medium.needs_flush() {
                self.medium.flush(Io::CheckpointFlush);
            } else {
                self.checkpoint_flushed();
            }
        }
    }

    fn frozen_is_drained(&self) -> bool {
        self.checkpoints.frozen.as_ref().is_some_and(|frozen| frozen.captured.is_empty())
    }

    pub(crate) fn checkpoint_flushed(&mut self) {
        let Some(frozen) = &mut self.checkpoints.frozen else { return };
        frozen.stage = Stage::Swapping;
        let long_table = frozen.root.objects.length() > MAX_STREAM_BYTES;
        if frozen.root.stored_documents != Stored::List || long_table {
            self.medium.require_features(FEATURE_INDEX);
        }
        self.swap_frozen_root();
    }

    /// Makes the root of the checkpoint in flight the one in force; repeated until there is room for
    /// it.
    pub(crate) fn swap_frozen_root(&mut self) -> Option<Ticket> {
        let root = self.checkpoints.frozen.as_ref()?.root.encode();
        Some(self.medium.swap_root(Io::Swap, self.checkpoints.root_version, &root))
    }

    pub(crate) fn checkpoint_done(&mut self) {
        let Some(frozen) = self.checkpoints.frozen.take() else { return };
        self.checkpoints.root_version += 1;
        self.map.commit_epoch(frozen.epoch);
        self.release_held_space();
        let hold = self.online_check.as_ref().is_some_and(|check| check.holds());
        self.map.release_blocks(hold);
        self.growth_done();
        self.log.truncate(frozen.root.log_position);
        self.counters.checkpoints += 1;
        self.parked.note_checkpoint();
        self.schedule.forget_unreadable();
        self.schedule.retry_log();
        self.fail_or_retry_space();
    }

    /// Destages dirty blocks whose record is durable, in the order of their addresses.
    pub(crate) fn destage(&mut self) {
        if self.destage_paused() || self.checkpoints.destaging >= self.options.destage_batch {
            return;
        }
        let limit = self.destage_share(self.options.destage_batch).saturating_sub(self.checkpoints.destaging);
        // Neighbours are written together, so small batches would cost more requests.
        let least = (self.options.destage_batch / 8).max(1);
        if limit < least {
            return;
        }
        let left = self.turn.blocks_left();
        if left < limit.min(least).min(self.options.turn_blocks) {
            return self.turn.cut();
        }
        let early = leaves_out(Mutation::LogBeforeDestage);
        let durable = if early { u64::MAX } else { self.log.durable_sequence() };
        let batch = self.map.begin_destage(durable, limit.min(left));
        if batch.len() == left && left < limit {
            self.turn.cut();
        }
        self.write_batch(batch);
    }

    fn write_batch(&mut self, batch: Vec<(BlockAddress, Data)>) {
        self.checkpoints.destaging += batch.len();
        self.turn.spend_blocks(batch.len());
        let mut run: Vec<(BlockAddress, Data)> = Vec::new();
        for item in batch {
            if run.len() == 64 || run.last().is_some_and(|(last, _)| *last + 1 != item.0) {
                self.write_destage(std::mem::take(&mut run), false);
            }
            run.push(item);
        }
        if !run.is_empty() {
            self.write_destage(run, false);
        }
    }

    pub(crate) fn write_destage(&mut self, run: Vec<(BlockAddress, Data)>, retried: bool) {
        let Some(&(address, _)) = run.first() else { return };
        let buffer = self.medium.stock().copy_of(run.iter().map(|(_, data)| data));
        let addresses = run.iter().map(|(a, _)| *a).collect();
        self.medium.write(Io::Destage { addresses, data: run, retried }, address, buffer);
    }
}
