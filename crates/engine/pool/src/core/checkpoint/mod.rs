//! Checkpoints: freeze the map as it is between two operations, write it beside the old one while new operations go on, and flip the root.
//!
//! The order carries the engine's rules. A freeze closes the log, so that the replay point lies between frames. Pages and counts go to blocks that were free
//! at the previous checkpoint. Before the flip every record below the replay point is durable and every block whose oldest undestaged content lies below
//! it has been destaged (the finish rule). The flip releases only what was free at the freeze and not allocated since (the release rule).

pub(crate) mod pace;
pub(crate) mod root;

use crate::catalog::object::Dropped;
use crate::catalog::{DOCUMENTS, DROP_QUEUE, OBJECT_TABLE, stream};
use crate::checksum::crc32c;
use crate::content::blocks::Data;
use crate::core::Core;
use crate::core::checkpoint::pace::Pace;
use crate::core::checkpoint::root::{Root, TreeRoot};
use crate::core::completion::Io;
use crate::core::starved::Rewrite;
use crate::interface::Incident;
use crate::map::assign::Source;
use crate::map::page::Entry;
use crate::mutations::{Mutation, leaves_out};
use crate::space::{SpaceWrites, Stream};
use media::{BLOCK_BYTES, BlockAddress, Media};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Writes of a checkpoint with the medium at once.
const WRITES: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Writing,
    Destaging,
    Flushing,
    Swapping,
}

/// A checkpoint in flight.
pub struct Frozen {
    /// Records below this are covered.
    pub(crate) sequence: u64,
    epoch: u64,
    root: Root,
    pages: Vec<(u64, Rc<crate::map::page::Page>)>,
    blocks: SpaceWrites,
    in_flight: usize,
    stage: Stage,
    captured: BTreeMap<u64, (Data, u64)>,
    /// `captured` has been filled at least once.
    listed: bool,
    pub(crate) pace: Pace,
}

impl<M: Media> Core<M> {
    /// Starts or advances a checkpoint.
    pub(crate) fn step_checkpoint(&mut self) {
        if self.frozen.is_none() {
            if !self.checkpoint_wanted || self.stopped.is_some() {
                return;
            }
            if !self.freeze() {
                self.freeze_waits = self.freeze_waits.saturating_add(1);
                return;
            }
            self.freeze_waits = 0;
            self.checkpoint_wanted = false;
        }
        self.advance_checkpoint();
    }

    fn advance_checkpoint(&mut self) {
        let Some(frozen) = &mut self.frozen else { return };
        match frozen.stage {
            Stage::Writing => self.write_frozen(),
            Stage::Destaging => self.destage_frozen(),
            Stage::Flushing | Stage::Swapping => {}
        }
    }

    /// Freezes the map. False when something has to be read first; it is requested, and the freeze is tried again later.
    fn freeze(&mut self) -> bool {
        // What changes in the pool's own streams, block by block.
        let drops = self.drops_changed.then(|| stream::encode_drops(&self.drops, &self.parked));
        let documents = self.documents.encode_changed();
        let table = self.objects.changed_blocks();
        self.need.clear();
        let mut complete = true;
        let mut new = 0;
        let mut whole = |core: &mut Self, id: u64, bytes: &Option<Vec<u8>>| {
            let Some(bytes) = bytes else { return };
            let old = core.objects.length(id).div_ceil(BLOCK_BYTES as u64);
            let now = (bytes.len() as u64).div_ceil(BLOCK_BYTES as u64);
            new += now;
            complete &= core.plan_blocks(id, 0, now.max(old)).is_some();
        };
        whole(self, DROP_QUEUE, &drops);
        whole(self, DOCUMENTS, &documents);
        for block in &table {
            new += 1;
            complete &= self.plan_blocks(OBJECT_TABLE, *block, 1).is_some();
        }
        if !complete || !self.need.is_empty() {
            if let Some(reason) = self.need.damaged.take() {
                self.stop(reason);
            }
            self.issue_need_or_stop();
            return false;
        }
        let mut segments = Vec::new();
        if !self.space.prepare(new + self.need.allocations + 16, &mut segments) {
            if segments.is_empty() && self.discards_in_flight > 0 {
                // They bring blocks back.
                self.need.clear();
                return false;
            }
            if segments.is_empty() {
                let needed = new + self.need.allocations + 16;
                let (kept, left) = (self.checkpoint_blocks(), self.space.available());
                self.stop(format!(
                    "no space is left for a checkpoint: {needed} blocks are needed, {kept} were kept back, {left} are left"
                ));
            }
            self.need.clear();
            self.need.segments = segments;
            self.issue_need_or_stop();
            return false;
        }
        self.need.clear();
        if self.freeze_planned(drops, documents, &table).is_none() {
            self.stop("the map contradicts itself (checkpoint)");
            return false;
        }
        true
    }

    fn freeze_planned(
        &mut self,
        drops: Option<Vec<u8>>,
        documents: Option<Vec<u8>>,
        table: &std::collections::BTreeSet<u64>,
    ) -> Option<()> {
        let mut crcs = FxHashMap::default();
        let dirty = self.seal_pages(0, &mut crcs);
        self.objects.seal_roots(&crcs);
        let mut drops = drops;
        let mut resealed = false;
        for dropped in self.drops.iter_mut().chain(&mut self.parked) {
            if let Some(crc) = crcs.get(&dropped.address) {
                dropped.crc = *crc;
                resealed = true;
            }
        }
        if resealed && drops.is_some() {
            drops = Some(stream::encode_drops(&self.drops, &self.parked));
        }
        let mut blocks: SpaceWrites = Vec::new();
        if let Some(bytes) = &drops {
            self.write_stream(DROP_QUEUE, bytes, &mut blocks)?;
            self.drops_changed = false;
        }
        if let Some(bytes) = &documents {
            self.write_stream(DOCUMENTS, bytes, &mut blocks)?;
            self.documents.note_frozen();
        }
        for block in table {
            let content = self.objects.table_block(*block);
            self.write_stream_block(OBJECT_TABLE, *block, &content, &mut blocks)?;
        }
        if let Some(last) = table.last() {
            let length = self.objects.length(OBJECT_TABLE).max((last + 1) * BLOCK_BYTES as u64);
            self.objects.set_length(OBJECT_TABLE, length)?;
        }
        self.objects.note_frozen();
        self.given_back = false;
        let own = self.seal_pages(dirty, &mut crcs);
        for id in [OBJECT_TABLE, DOCUMENTS, DROP_QUEUE] {
            self.objects.seal_root(id, &crcs)?;
        }
        let pages: Vec<_> = self.dirty_pages[..own]
            .iter()
            .filter(|(_, a)| crcs.contains_key(a))
            .filter_map(|(_, a)| Some((*a, self.pages.get(a)?.page.clone())))
            .collect();
        self.counters.pages_written += pages.len() as u64;
        self.dirty_pages.clear();
        self.freeze_growth()?;
        blocks.extend(self.space.freeze());
        let (log_position, log_sequence, log_previous_crc) = match &self.replaying {
            Some(point) => (point.position, point.sequence, point.previous_crc),
            None => {
                for (position, offset, frame) in self.log.seal_all(&self.uuid, self.options.incarnation, self.epoch) {
                    self.counters.frames += 1;
                    self.counters.log_bytes += frame.len() as u64;
                    let ticket = self.ticket(Io::Frame { position });
                    self.media.append(&self.fence, ticket, offset, frame);
                }
                self.log.replay_point()
            }
        };
        let tree = |id: u64| {
            self.objects
                .get(id)
                .map_or(TreeRoot::default(), |o| TreeRoot::new(o.root, o.root_crc, o.level, o.size_bytes))
        };
        let layout = self.space.layout();
        let root = Root {
            uuid: self.uuid,
            epoch: self.epoch,
            log_position,
            log_sequence,
            log_previous_crc,
            next_object: self.objects.next_id(),
            allocated_blocks: self.space.allocated(),
            metadata_blocks: self.metadata_blocks,
            data_start: layout.start,
            data_end: layout.end,
            objects: tree(OBJECT_TABLE),
            documents: tree(DOCUMENTS),
            drops: tree(DROP_QUEUE),
            clean: false,
            groups: self.space.groups().to_vec(),
        };
        self.take_picture(self.epoch);
        let mut pages = pages;
        pages.sort_unstable_by_key(|(address, _)| std::cmp::Reverse(*address));
        let work = (pages.len() + blocks.len() + self.blocks.dirty()) as u64;
        let pace = Pace::new(self.log.used(), self.media.log_bytes(), work);
        self.frozen = Some(Frozen {
            sequence: log_sequence,
            epoch: self.epoch,
            root,
            pages,
            blocks,
            in_flight: 0,
            stage: Stage::Writing,
            captured: BTreeMap::new(),
            listed: false,
            pace,
        });
        self.epoch += 1;
        self.note_stored();
        self.owned.clear();
        Some(())
    }

    /// Remembers how long the streams are that the next checkpoint may have to take out of the map.
    pub(crate) fn note_stored(&mut self) {
        self.stored_bytes = self.objects.length(DROP_QUEUE) + self.objects.length(DOCUMENTS);
    }

    /// Computes the CRCs of the pages dirtied since index `from` of the list, children first, and stores them in their parents. Returns the
    /// length of the list.
    fn seal_pages(&mut self, from: usize, crcs: &mut FxHashMap<u64, u32>) -> usize {
        let epoch = self.epoch;
        let length = self.dirty_pages.len();
        let mut list: Vec<(u8, u64)> = self.dirty_pages[from..].to_vec();
        list.sort_unstable();
        list.dedup();
        for (level, address) in list {
            let Some(cached) = self.pages.get_mut(&address) else { continue };
            if cached.page.epoch() != epoch {
                continue;
            }
            let page = Rc::make_mut(&mut cached.page);
            if level > 0 {
                for entry in &mut page.entries {
                    if !entry.is_empty()
                        && let Some(crc) = crcs.get(&entry.address())
                    {
                        *entry = entry.with_crc(*crc);
                    }
                }
            }
            crcs.insert(address, page.seal());
        }
        length
    }

    fn write_stream(&mut self, id: u64, bytes: &[u8], writes: &mut SpaceWrites) -> Option<()> {
        let old = self.objects.length(id).div_ceil(BLOCK_BYTES as u64);
        let now = (bytes.len() as u64).div_ceil(BLOCK_BYTES as u64);
        for (i, chunk) in bytes.chunks(BLOCK_BYTES).enumerate() {
            let mut content = [0u8; BLOCK_BYTES];
            content[..chunk.len()].copy_from_slice(chunk);
            self.write_stream_block(id, i as u64, &content, writes)?;
        }
        // Block by block: a detached sub-tree would belong into the drop queue that is being written.
        for block in now..old {
            self.write_stream_block(id, block, &[0; BLOCK_BYTES], writes)?;
        }
        self.objects.set_length(id, bytes.len() as u64)?;
        Some(())
    }

    fn write_stream_block(
        &mut self,
        id: u64,
        block: u64,
        content: &[u8; BLOCK_BYTES],
        writes: &mut SpaceWrites,
    ) -> Option<()> {
        let source = if crate::core::operation::is_zero(content) {
            Source::Zero
        } else {
            let address = self.space.allocate(Stream::Metadata)?;
            self.space.reserve(address);
            let mut buffer = self.stock.take(1);
            buffer.copy_from_slice(content);
            writes.push((address, buffer));
            Source::Placed(address, crc32c(content))
        };
        let before = self.objects.get(id)?.mapped;
        self.assign_write(id, block, &[source], 0)?;
        let after = self.objects.get(id)?.mapped;
        self.count_metadata(after, before);
        Some(())
    }

    fn write_frozen(&mut self) {
        let Some(mut frozen) = self.frozen.take() else { return };
        while frozen.in_flight < WRITES {
            let rewrite = match frozen.blocks.pop() {
                Some((address, buffer)) => Rewrite::Blocks(address, buffer),
                None if frozen.pages.is_empty() => break,
                None => {
                    // Neighbouring pages go in one request.
                    let mut run = Vec::new();
                    while let Some((address, _)) = frozen.pages.last() {
                        if run.len() == 64 || run.last().is_some_and(|(last, _)| last + 1 != *address) {
                            break;
                        }
                        run.extend(frozen.pages.pop());
                    }
                    Rewrite::Pages(run)
                }
            };
            let (address, buffer) = rewrite.request(&self.stock);
            frozen.in_flight += 1;
            self.counters.checkpoint_bytes += buffer.len() as u64;
            let ticket = self.ticket(Io::Checkpoint { blocks: buffer.blocks(), rewrite });
            self.media.write(&self.fence, ticket, BlockAddress(address), buffer);
        }
        if frozen.in_flight == 0 {
            frozen.stage = Stage::Destaging;
        }
        let destaging = frozen.stage == Stage::Destaging;
        self.frozen = Some(frozen);
        if destaging {
            self.destage_frozen();
        }
    }

    pub(crate) fn checkpoint_written(&mut self, blocks: usize) {
        if let Some(frozen) = &mut self.frozen {
            frozen.in_flight -= 1;
            frozen.pace.progress(blocks);
        }
        self.advance_checkpoint();
    }

    /// True while ordinary destaging must not start new writes: the flip waits for those in flight.
    pub(crate) fn destage_paused(&self) -> bool {
        self.frozen.as_ref().is_some_and(|f| f.stage != Stage::Writing)
    }

    /// Destages what the finish rule demands, then flushes.
    fn destage_frozen(&mut self) {
        let Some(mut frozen) = self.frozen.take() else { return };
        let durable = self.log.durable_sequence();
        let mut finished = false;
        if self.replaying.is_some() || durable >= frozen.sequence {
            // Ordinary destaging is paused, so what is captured once stays complete but for what was in flight then.
            if !frozen.listed || (frozen.captured.is_empty() && self.destage_in_flight == 0) {
                frozen.listed = true;
                let skip = leaves_out(Mutation::Finish);
                let old = if skip { Vec::new() } else { self.blocks.older_than(frozen.sequence) };
                if old.is_empty() && self.destage_in_flight == 0 {
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
            let ready: Vec<u64> = frozen
                .captured
                .iter()
                .filter(|(_, (_, sequence))| *sequence < durable)
                .map(|(a, _)| *a)
                .take(self.options.destage_batch.saturating_sub(self.destage_in_flight))
                .collect();
            let mut batch = Vec::with_capacity(ready.len());
            for address in ready {
                if let Some((data, sequence)) = frozen.captured.remove(&address)
                    && self.blocks.begin_destage_of(address, sequence)
                {
                    batch.push((address, data));
                }
            }
            self.frozen = Some(frozen);
            if batch.is_empty() && !finished && self.destage_in_flight == 0 && self.frozen_is_drained() {
                // What was captured has been freed meanwhile; nothing in flight would bring us back here.
                return self.destage_frozen();
            }
            self.write_batch(batch);
        } else {
            self.frozen = Some(frozen);
        }
        if finished && let Some(frozen) = &mut self.frozen {
            frozen.stage = Stage::Flushing;
            if self.media.capabilities().needs_flush {
                let ticket = self.ticket(Io::CheckpointFlush);
                self.media.flush(&self.fence, ticket);
            } else {
                self.checkpoint_flushed();
            }
        }
    }

    fn frozen_is_drained(&self) -> bool {
        self.frozen.as_ref().is_some_and(|frozen| frozen.captured.is_empty())
    }

    pub(crate) fn checkpoint_flushed(&mut self) {
        let Some(frozen) = &mut self.frozen else { return };
        frozen.stage = Stage::Swapping;
        let root = frozen.root.encode();
        let ticket = self.ticket(Io::Swap);
        self.media.swap_root(&self.fence, ticket, self.root_version, &root);
    }

    pub(crate) fn checkpoint_done(&mut self) {
        let Some(frozen) = self.frozen.take() else { return };
        self.root_version += 1;
        self.committed_epoch = frozen.epoch;
        self.let_go_of_held_space();
        let hold = self.online_check.as_ref().is_some_and(|check| check.holds());
        self.space.release(hold);
        self.growth_done();
        self.log.truncate(frozen.root.log_position);
        self.counters.checkpoints += 1;
        self.unreadable.clear();
        self.retry_log();
        self.fail_or_retry_space();
    }

    /// Writes dirty blocks whose record is durable to their places, in the order of their addresses.
    pub(crate) fn destage(&mut self) {
        if self.destage_paused() || self.destage_in_flight >= self.options.destage_batch {
            return;
        }
        let limit = self.destage_share(self.options.destage_batch).saturating_sub(self.destage_in_flight);
        // Neighbours are written together, so a few at a time would cost more requests.
        if limit < (self.options.destage_batch / 8).max(1) {
            return;
        }
        let early = leaves_out(Mutation::LogBeforeDestage);
        let durable = if early { u64::MAX } else { self.log.durable_sequence() };
        let found = self.blocks.destageable(durable, limit);
        let batch = found.into_iter().filter_map(|a| Some((a, self.blocks.begin_destage(a)?))).collect();
        self.write_batch(batch);
    }

    fn write_batch(&mut self, batch: Vec<(u64, Data)>) {
        self.destage_in_flight += batch.len();
        let mut run: Vec<(u64, Data)> = Vec::new();
        for item in batch {
            if run.len() == 64 || run.last().is_some_and(|(last, _)| last + 1 != item.0) {
                self.write_destage(std::mem::take(&mut run), false);
            }
            run.push(item);
        }
        if !run.is_empty() {
            self.write_destage(run, false);
        }
    }

    pub(crate) fn write_destage(&mut self, run: Vec<(u64, Data)>, retried: bool) {
        let Some(&(address, _)) = run.first() else { return };
        let buffer = self.stock.copy_of(run.iter().map(|(_, data)| data));
        let addresses = run.iter().map(|(a, _)| *a).collect();
        let ticket = self.ticket(Io::Destage { addresses, data: run, retried });
        self.media.write(&self.fence, ticket, BlockAddress(address), buffer);
    }

    /// Gives back references of detached sub-trees: up to `pages` of them. Returns how many it did.
    pub(crate) fn reclaim(&mut self, pages: usize) -> usize {
        /// How many entries ahead are read while others wait.
        const WINDOW: usize = 64;
        let mut done = 0;
        let mut skip = 0;
        let mut keep_loading = true;
        while done < pages && skip < WINDOW && skip < self.drops.len() {
            let at = self.drops.len() - 1 - skip;
            let dropped = self.drops[at];
            self.need.clear();
            self.need_counts(dropped.address);
            let mut page = None;
            if self.need.is_empty() && self.space.count(dropped.address) == Some(1) {
                page = self.page((dropped.address, dropped.level, dropped.crc));
                if let (Some(page), 0) = (&page, dropped.level) {
                    self.need_counts_of(&page.entries);
                }
            }
            if !self.need.is_empty() {
                if let Some(reason) = self.need.damaged.take() {
                    self.note_incident(Incident::Metadata(reason));
                    self.park_drops(|other| other == &dropped);
                    continue;
                }
                // What cannot be read keeps its space, and does not keep the others waiting.
                if keep_loading && !self.need_is_unreadable() {
                    self.issue_need();
                    keep_loading = self.io.len() < 256;
                }
                skip += 1;
                continue;
            }
            self.drops.swap_remove(at);
            self.droppable_blocks = self.droppable_blocks.saturating_sub(dropped.mapped);
            (self.drops_changed, self.given_back) = (true, true);
            done += 1;
            self.counters.reclaimed += 1;
            if self.reclaim_one(dropped.address, dropped.level, page).is_none() {
                self.stop("the map contradicts itself (reclaim)");
                return done;
            }
        }
        self.need.clear();
        done
    }

    /// True when what was given back of detached sub-trees is worth a checkpoint, which makes it allocatable.
    pub(crate) fn much_given_back(&self) -> bool {
        /// 256 MiB.
        const MUCH: u64 = 65_536;
        self.given_back
            && self.drops.is_empty()
            && self.frozen.is_none()
            && self.space.pinned() >= MUCH.min(self.space.usable() / 64)
    }

    /// Sets detached sub-trees aside that cannot be walked.
    pub(crate) fn park_drops(&mut self, which: impl Fn(&Dropped) -> bool) {
        for dropped in self.drops.extract_if(.., |dropped| which(dropped)) {
            self.droppable_blocks = self.droppable_blocks.saturating_sub(dropped.mapped);
            self.parked.push(dropped);
        }
    }

    fn reclaim_one(&mut self, address: u64, level: u8, page: Option<Rc<crate::map::page::Page>>) -> Option<()> {
        let Some(page) = page else {
            self.space.decrement(address)?;
            return Some(());
        };
        if level == 0 {
            let addresses = page.entries.iter().map(Entry::address);
            if self.blocks.dirty() == 0 {
                self.space.unshare(addresses, |_| {})?;
            } else {
                let frozen_at = self.frozen.as_ref().map(|f| f.sequence);
                let blocks = &mut self.blocks;
                self.space.unshare(addresses, |address| blocks.free(address, frozen_at))?;
            }
        } else {
            for entry in page.entries.iter().filter(|e| !e.is_empty()) {
                self.drop_tree((entry.address(), level - 1, entry.crc()), entry.mapped());
            }
        }
        self.space.decrement(address)?;
        self.count_metadata(0, 1);
        self.pages.remove(&address);
        Some(())
    }
}
