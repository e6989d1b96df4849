//! End of an epoch: plans the changes of the pool's own streams, finds their blocks, and ends the epoch
//! between two operations. What follows goes in slices.

use crate::catalog::{ALLOTMENTS, DOCUMENTS, DROP_QUEUE, OBJECT_TABLE};
use crate::checksum::Crc32c;
use crate::core::Core;
use crate::core::checkpoint::SPARE_BLOCKS;
use crate::core::checkpoint::frozen::{Frozen, Stage};
use crate::core::checkpoint::pace::Pace;
use crate::core::checkpoint::root::{Root, TreeRoot};
use crate::core::io::Io;
use crate::core::operation::is_zero;
use crate::geometry::blocks_for;
use crate::index::block_of;
use crate::interface::range::BlockNumber;
use crate::interface::{Incident, ObjectId};
use crate::log::ReplayPoint;
use crate::map::assign::Source;
use crate::map::documents::DocumentPages;
use crate::map::pages::SealedPages;
use crate::map::space::Found;
use crate::space::SpaceWrites;
use media::{BLOCK_BYTES, Buffer, Media};
use std::collections::{BTreeSet, VecDeque};

impl<M: Media> Core<M> {
    /// Freezes the map. Returns false if data must be read first: the read is issued, and the
    /// freeze is retried later.
    pub(super) fn freeze(&mut self) -> bool {
        // Changes of the pool's own streams, block by block.
        self.map.forget_need();
        let drops = self.map.drops().has_changed().then(|| self.map.drops().stored_bytes());
        let table = self.map.objects().changed_blocks().clone();
        let keep_list = self.options.list_documents || !self.map.index_has_room();
        let documents = self.map.documents_to_write(keep_list);
        let mut complete = documents.is_some();
        let documents = documents.flatten();
        let mut new = 0;
        if let Some(bytes) = drops {
            let old = blocks_for(self.map.objects().length(DROP_QUEUE));
            let now = blocks_for(bytes);
            new += now;
            complete &= self.map.plan_blocks(DROP_QUEUE, BlockNumber::FIRST, now.max(old)).is_some();
        }
        if let Some(DocumentPages { writes, freed, .. }) = &documents {
            new += writes.len() as u64;
            let touched: BTreeSet<_> = writes.keys().chain(freed).map(|page| block_of(*page)).collect();
            complete &= self.map.plan_stream(DOCUMENTS, touched.into_iter());
        }
        let allotments: Vec<BlockNumber> = self.map.allotments().table().changed_blocks().collect();
        new += allotments.len() as u64;
        complete &= self.map.plan_stream(ALLOTMENTS, allotments.into_iter());
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
        if self.freeze_planned(drops, documents, &table).is_none() {
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

    /// Ends the epoch as planned. `drops`: bytes of the drop queue, if it is to be written.
    fn freeze_planned(
        &mut self,
        drops: Option<u64>,
        documents: Option<DocumentPages>,
        table: &BTreeSet<BlockNumber>,
    ) -> Option<()> {
        let epoch = self.map.pages().epoch();
        let mut blocks: SpaceWrites = Vec::new();
        let of_operations = self.map.placed_pages();
        let placed = self.place_streams(drops, documents, table, &mut blocks)?;
        self.freeze_growth()?;
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
        let pages = self.map.end_epoch(of_operations);
        self.map.freeze_counts();
        self.turn.note_placed(placed);
        // A page is sealed and written.
        let work = 2 * pages + placed + self.map.space().counts_to_write() + self.map.content().dirty();
        let pace = Pace::new(self.log.used(), self.media().log_bytes(), work as u64);
        self.map.freeze_content(replay.sequence);
        self.checkpoints.frozen = Some(Frozen {
            sequence: replay.sequence,
            epoch,
            root,
            pages: SealedPages::new(),
            blocks,
            in_flight: 0,
            stage: Stage::Writing,
            captured: VecDeque::new(),
            pace,
        });
        self.map.note_stored();
        Some(())
    }

    /// Gives the changes of the pool's own streams their blocks in the map; returns their number. Adds
    /// those whose content is known to `blocks`: content with checksums of pages follows when these are
    /// sealed.
    fn place_streams(
        &mut self,
        drops: Option<u64>,
        documents: Option<DocumentPages>,
        table: &BTreeSet<BlockNumber>,
        blocks: &mut SpaceWrites,
    ) -> Option<usize> {
        let mut placed = table.len();
        if let Some(bytes) = drops {
            placed += self.place_drops(bytes)?;
        }
        if let Some(documents) = documents {
            placed += documents.writes.len() + documents.freed.len();
            self.write_documents(&documents, blocks)?;
        }
        placed += self.write_allotments(blocks)?;
        // Freed blocks come last, as `Map::plan_stream` demands.
        let mut unused = Vec::new();
        for block in table {
            match self.map.objects().is_unused(*block) {
                true => unused.push(*block),
                false => self.place_block(OBJECT_TABLE, *block)?,
            }
        }
        for block in unused {
            self.assign_block(OBJECT_TABLE, block, Source::Zero)?;
        }
        if let Some(last) = table.last() {
            self.map.extend_table(*last)?;
        }
        Some(placed)
    }

    /// Gives a drop queue of so many bytes its blocks; returns the number of blocks changed.
    fn place_drops(&mut self, bytes: u64) -> Option<usize> {
        let (old, now) = (blocks_for(self.map.objects().length(DROP_QUEUE)), blocks_for(bytes));
        for block in 0..now {
            self.place_block(DROP_QUEUE, BlockNumber::new(block))?;
        }
        // Block by block, because a detached sub-tree would belong into the drop queue that is
        // being written.
        for block in now..old {
            self.assign_block(DROP_QUEUE, BlockNumber::new(block), Source::Zero)?;
        }
        self.map.set_length(DROP_QUEUE, bytes)?;
        Some(now.max(old) as usize)
    }

    /// Gives a block of one of the pool's own streams a place; its content follows.
    fn place_block(&mut self, stream: ObjectId, block: BlockNumber) -> Option<()> {
        let address = self.map.take_block()?;
        self.assign_block(stream, block, Source::Placed(address, Crc32c::NONE))
    }

    fn assign_block(&mut self, stream: ObjectId, block: BlockNumber, source: Source) -> Option<()> {
        let before = self.map.objects().get(stream)?.mapped;
        self.map.assign_write(stream, block, &[source], 0)?;
        let after = self.map.objects().get(stream)?.mapped;
        self.map.count_metadata(after, before);
        Some(())
    }

    /// Root of the checkpoint of `epoch`, without what is known only when all is sealed and written.
    fn frozen_root(&self, epoch: u64, replay: ReplayPoint) -> Root {
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
            objects: TreeRoot::default(),
            documents: TreeRoot::default(),
            stored_documents: self.map.documents().stored(),
            drops: TreeRoot::default(),
            allotments: TreeRoot::default(),
            clean: false,
            groups: Vec::new(),
        }
    }

    /// Enters the trees of the pool's own streams into a root; their pages are sealed.
    pub(super) fn enter_trees(&self, root: &mut Root) {
        let tree = |id: ObjectId| {
            let object = self.map.objects().get(id);
            object.map_or(TreeRoot::default(), |o| TreeRoot::new(o.pointer(), o.size_bytes))
        };
        (root.objects, root.documents, root.drops) = (tree(OBJECT_TABLE), tree(DOCUMENTS), tree(DROP_QUEUE));
        root.allotments = tree(ALLOTMENTS);
    }

    /// Submits a sealed frame to the medium.
    pub(crate) fn append_frame(&mut self, position: u64, offset: u64, frame: Buffer) {
        self.counters.frames += 1;
        self.counters.log_bytes += frame.len() as u64;
        self.medium.append(Io::Frame { position }, offset, frame);
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

    /// Writes the changes of the table of allotments; returns the number of blocks. Freed blocks come last, as
    /// [`crate::map::Map::plan_stream`] demands.
    fn write_allotments(&mut self, blocks: &mut SpaceWrites) -> Option<usize> {
        let mut changed = self.map.take_changed_allotments();
        changed.sort_by_key(|(_, content)| is_zero(&content[..]));
        for (number, content) in &changed {
            self.write_stream_block(ALLOTMENTS, *number, content, blocks)?;
        }
        let end = self.map.allotments().table().blocks() * BLOCK_BYTES as u64;
        self.map.set_length(ALLOTMENTS, self.map.objects().length(ALLOTMENTS).max(end))?;
        Some(changed.len())
    }

    fn write_stream_block(
        &mut self,
        id: ObjectId,
        block: BlockNumber,
        content: &[u8; BLOCK_BYTES],
        writes: &mut SpaceWrites,
    ) -> Option<()> {
        if is_zero(content) {
            return self.assign_block(id, block, Source::Zero);
        }
        let address = self.map.take_block()?;
        let mut buffer = self.medium.stock().take(1);
        buffer.copy_from_slice(content);
        writes.push((address, buffer));
        self.assign_block(id, block, Source::Placed(address, Crc32c::of(content)))
    }
}
