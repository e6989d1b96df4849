//! Creation and opening of a pool: loads the newest root, then replays the log with the code of
//! live operations.
//!
//! Recovery reads the log twice: first to find the blocks that records name (replay must not put
//! map pages there), then to replay, for which pages and counts are read ahead. In between it verifies
//! the content of the last records, which may not be at its place, and writes the last frames again,
//! which may not be durable. It may take checkpoints between frames, except where `dependent` says, and
//! write content to its place, so a pool with little space or memory recovers too, and a crash during
//! recovery only causes another recovery. A
//! checkpoint for which the file system below has no room waits, and replay continues in memory:
//! such a pool opens with parked writes. These functions block; only tools and start-up call them.

mod confirm;
mod contents;
mod dependent;
mod index;
pub(crate) mod lost;
mod read_ahead;
pub(crate) mod scanner;
mod table;
#[cfg(test)]
mod tests;

use crate::catalog::allotments::decode_table;
use crate::catalog::documents::{Documents, Stored};
use crate::catalog::stream::is_document;
use crate::catalog::{ALLOTMENTS, DOCUMENTS, DROP_QUEUE, FIRST_OBJECT, OBJECT_TABLE, is_user_object, stream};
use crate::checksum::{Crc32c, Crc64};
use crate::core::Core;
use crate::core::checkpoint::root::{Root, TreeRoot};
use crate::core::recovery::confirm::Doubtful;
use crate::core::recovery::dependent::Dependent;
use crate::core::recovery::read_ahead::{Ahead, AheadFrame};
use crate::core::recovery::scanner::{Scanner, records_of};
use crate::core::state::DamagedPage;
use crate::geometry::{NARROW_LEVEL, Pointer, blocks_for, level_for};
use crate::interface::allotment::AllotmentChange;
use crate::interface::operation::{MAX_VOLUME_BYTES, Options, is_ceiling, is_size};
use crate::interface::range::BlockNumber;
use crate::interface::{CatalogChange, Incident, ObjectId, PoolError};
use crate::log::patch::Patch;
use crate::log::record::{Record, Shared};
use crate::log::{Log, ReplayPoint};
use crate::map::Map;
use crate::map::drops::Drops;
use crate::map::space::Found;
use crate::medium::blocking;
use crate::medium::blocking::read_many;
use media::Fence;

use crate::medium::Medium;
use crate::mutations::{Mutation, leaves_out};
use crate::space::layout::{GROUP_ZONES, Layout, ZONE_SEGMENTS};
use crate::space::slot::SlotEntry;
use crate::space::{SpaceMap, unwritten};
use media::{
    BLOCK_BYTES, BlockAddress, Buffer, Done, FEATURE_ALLOTMENTS, FEATURE_CEILING, FEATURE_INDEX, FEATURE_LOCKS,
    FEATURE_PATCHES, FEATURE_REPLICAS, FEATURE_WIDE, Media, Ticket,
};
use std::collections::VecDeque;
use zerocopy::FromBytes;

/// Blocks that replay requests beyond its plan, so that allocation finds a good place.
const SPARE_BLOCKS: u64 = 8;
/// Shard and run that may write. Only one process at a time opens a pool.
const FENCE: Fence = Fence { epoch: 1 };

/// Result of opening a pool.
#[derive(Clone, Copy, Debug, Default)]
pub struct Opened {
    /// Number of records replayed.
    pub records: u64,
    /// Number of log bytes replayed.
    pub log_bytes: u64,
}

/// Callback with the number of log bytes replayed so far.
pub type Progress<'a> = &'a mut dyn FnMut(u64);

pub(crate) fn damaged(reason: impl Into<String>) -> PoolError {
    PoolError::Damaged(reason.into())
}

/// Root of an empty pool, for formatting. It names no data area: the first open takes all that the
/// medium offers.
pub fn initial_root(uuid: [u8; 16]) -> Vec<u8> {
    Root {
        uuid,
        epoch: 1,
        log_position: 0,
        log_sequence: 1,
        log_previous_crc: Crc64::NONE,
        next_object: FIRST_OBJECT,
        allocated_blocks: 0,
        metadata_blocks: 0,
        data_start: BlockAddress::NONE,
        data_end: BlockAddress::NONE,
        objects: TreeRoot::default(),
        documents: TreeRoot::default(),
        stored_documents: Stored::List,
        drops: TreeRoot::default(),
        allotments: TreeRoot::default(),
        clean: true,
        groups: Vec::new(),
    }
    .encode()
}

/// Waits for the completion of `ticket`; no other request may be outstanding.
pub(crate) fn await_ticket<M: Media>(media: &mut M, ticket: Ticket) -> Result<Done, PoolError> {
    blocking::await_ticket(media, ticket).map_err(|error| damaged(error.to_string()))
}

pub(crate) fn read_blocks<M: Media>(media: &mut M, address: BlockAddress, blocks: usize) -> Result<Buffer, PoolError> {
    media.read(0, address, Buffer::zeroed(blocks));
    match await_ticket(media, 0)? {
        Done::Read(buffer) => Ok(buffer),
        _ => Err(damaged("the medium answered a read with something else")),
    }
}

/// Number of index pages read at once.
const INDEX_PAGES_AT_ONCE: usize = 256;

/// Reads the current versions of index pages, many at once: `entries` tells which of them were
/// written, `place` gives their address. `take` gets number and content of each. Returns the
/// numbers of unusable pages, with the reason.
fn read_index<M: Media>(
    media: &mut M,
    entries: &[SlotEntry],
    place: impl Fn(u32, u8) -> BlockAddress,
    take: &mut dyn FnMut(usize, &[SlotEntry]),
) -> Vec<(u32, String)> {
    let written: Vec<(usize, BlockAddress)> = (entries.iter().enumerate())
        .filter_map(|(number, entry)| Some((number, place(number as u32, entry.slot()?))))
        .collect();
    let mut bad = Vec::new();
    for batch in written.chunks(INDEX_PAGES_AT_ONCE) {
        let requests: Vec<(BlockAddress, usize)> = batch.iter().map(|(_, block)| (*block, 1)).collect();
        for ((number, block), read) in batch.iter().zip(read_many(media, &requests)) {
            let crc = entries.get(*number).map_or(Crc32c::NONE, SlotEntry::crc);
            let good = |read: Result<Buffer, String>| match read? {
                buffer if Crc32c::of(&buffer) == crc => Ok(buffer),
                _ => Err(format!("block {block} fails its checksum")),
            };
            // Second attempt: the defect may have been in the transfer.
            let page = good(read).or_else(|reason| {
                let again = read_many(media, &[(*block, 1)]).pop().unwrap_or(Err(reason));
                good(again)
            });
            match page {
                Ok(page) => match <[SlotEntry]>::ref_from_bytes(&page) {
                    Ok(entries) => take(*number, entries),
                    Err(_) => bad.push((*number as u32, format!("block {block} is too short"))),
                },
                Err(reason) => bad.push((*number as u32, reason)),
            }
        }
    }
    bad
}

/// Reads the space index that the root names. With `trouble`, damaged pages are reported there,
/// count as never written, and are rewritten by the next checkpoint.
fn load_index<M: Media>(
    media: &mut M,
    layout: Layout,
    root: &Root,
    mut trouble: Option<&mut Vec<String>>,
) -> Result<SpaceMap, PoolError> {
    let mut stale = Vec::new();
    let mut judge = |bad: Vec<(u32, String)>, what: &str, zones_each: u32| {
        for (number, reason) in bad {
            let sentence = format!("{what}: {reason}");
            let Some(trouble) = &mut trouble else { return Err(damaged(sentence)) };
            trouble.push(sentence);
            stale.push(number * zones_each);
        }
        Ok(())
    };
    let copy = |from: &[SlotEntry], all: &mut [SlotEntry], at: usize| {
        all.iter_mut().skip(at).zip(from).for_each(|(to, from)| *to = *from);
    };
    let mut zones = vec![SlotEntry::default(); layout.zones() as usize];
    let bad =
        read_index(media, &root.groups, |group, slot| layout.group_index_block(group, slot), &mut |group, page| {
            copy(page, &mut zones, group * GROUP_ZONES as usize);
        });
    judge(bad, "the upper space index", GROUP_ZONES as u32)?;
    let mut index = unwritten(layout.segments());
    let bad = read_index(media, &zones, |zone, slot| layout.zone_index_block(zone, slot), &mut |zone, page| {
        copy(page, &mut index, zone * ZONE_SEGMENTS as usize);
    });
    judge(bad, "the space index", 1)?;
    let mut space = SpaceMap::new(layout);
    space.load_index(root.groups.clone(), zones, index, root.allocated_blocks);
    for zone in stale {
        space.distrust(zone);
    }
    Ok(space)
}

/// Result of the first reading of the log.
#[derive(Default)]
struct Scanned {
    /// True if records name blocks, which must not be allocated before those are replayed.
    named: bool,
    /// Frames that no later frame declares durable.
    doubtful: VecDeque<Doubtful>,
    dependent: Dependent,
}

impl<M: Media> Core<M> {
    /// Opens a pool: loads the newest checkpoint and replays the log.
    pub fn open(media: M, options: Options, progress: Progress<'_>) -> Result<(Self, Opened), PoolError> {
        let (mut core, start) = Self::load(media, options, None)?;
        let opened = core.replay(start, progress)?;
        Ok((core, opened))
    }

    /// Loads the newest checkpoint; returns the start of replay. With `trouble`, a damaged space
    /// index is reported there and not refused.
    pub(crate) fn load(
        mut media: M,
        options: Options,
        trouble: Option<&mut Vec<String>>,
    ) -> Result<(Self, ReplayPoint), PoolError> {
        media.load_root(0);
        let Done::Root(blob, version) = await_ticket(&mut media, 0)? else {
            return Err(damaged("the medium answered a root load with something else"));
        };
        let mut root = Root::decode(&blob).map_err(damaged)?;
        if root.stored_documents != Stored::List && media.features() & FEATURE_INDEX == 0 {
            return Err(damaged("the root names an index of the documents, but the superblock lacks its feature bit"));
        }
        if root.data_end.is_none() {
            root.data_start = media.data_start();
            root.data_end = media.data_end();
            let layout = Layout { start: root.data_start, end: root.data_end };
            if layout.groups() as usize > crate::core::checkpoint::root::MAX_GROUPS {
                return Err(damaged("a pool of more than 512 TiB is not supported"));
            }
            root.groups = vec![SlotEntry::default(); layout.groups() as usize];
        }
        if !root.allotments.pointer().is_empty() && media.features() & FEATURE_ALLOTMENTS == 0 {
            return Err(damaged("the root names a table of allotments, but the superblock lacks its feature bit"));
        }
        let root = root;
        let layout = Layout { start: root.data_start, end: root.data_end };
        if layout.start != media.data_start() || layout.end > media.data_end() || layout.start >= layout.end {
            return Err(damaged(format!(
                "the pool's data area is blocks {} to {}, the device offers {} to {}",
                layout.start,
                layout.end,
                media.data_start(),
                media.data_end()
            )));
        }
        if root.groups.len() != layout.groups() as usize {
            return Err(damaged("the root's space index does not fit its data area"));
        }
        media.seal(&FENCE, 0);
        await_ticket(&mut media, 0)?;

        let mut space = load_index(&mut media, layout, &root, trouble)?;

        let capacity = media.log_bytes();
        let log = Log::new(capacity, root.log_position, root.log_position, root.log_sequence, root.log_previous_crc);
        if options.discard {
            space.track_discards();
        }
        let map = Map::new(space, root.epoch, root.metadata_blocks);
        let mut core = Self::new(Medium::new(media, FENCE), options, root.uuid, map, log, version);
        core.map.raise_next_id(root.next_object);
        let streams = [
            (OBJECT_TABLE, root.objects),
            (DOCUMENTS, root.documents),
            (DROP_QUEUE, root.drops),
            (ALLOTMENTS, root.allotments),
        ];
        for (id, tree) in streams {
            core.map.load_stream(id, tree.pointer(), tree.length());
        }
        core.load_streams(root.stored_documents)?;

        let start = ReplayPoint {
            position: root.log_position,
            sequence: root.log_sequence,
            previous_crc: root.log_previous_crc,
        };
        Ok((core, start))
    }

    fn load_streams(&mut self, documents: Stored) -> Result<(), PoolError> {
        self.load_table()?;
        let documents = match documents {
            Stored::List => Documents::load_list(&self.read_stream(DOCUMENTS)?).map_err(damaged)?,
            Stored::Index(root) => Documents::load_index(root, self.load_documents(root)?),
        };
        let drops = self.read_stream(DROP_QUEUE)?;
        self.map.load_streams(documents, Drops::load(&drops).map_err(damaged)?);
        let allotments = self.read_stream(ALLOTMENTS)?;
        self.map.load_allotments(decode_table(&allotments).map_err(damaged)?).map_err(damaged)
    }

    /// Reads one of the pool's own streams, and counts its mapped blocks.
    fn read_stream(&mut self, id: ObjectId) -> Result<Vec<u8>, PoolError> {
        let Some(object) = self.map.objects().get(id) else { return Ok(Vec::new()) };
        let length = object.size_bytes;
        if length > stream::MAX_STREAM_BYTES.min(self.map.space().usable() * BLOCK_BYTES as u64) {
            return Err(damaged(format!("the root gives the pool's stream {id} a length of {length} bytes")));
        }
        let blocks = length.div_ceil(BLOCK_BYTES as u64);
        let mut out = Vec::new();
        for block in 0..blocks {
            let entry = loop {
                self.map.forget_need();
                match self.map.lookup(id, BlockNumber::new(block)) {
                    Some(entry) => break entry,
                    None => self.load_need()?,
                }
            };
            if entry.is_empty() {
                out.resize(out.len() + BLOCK_BYTES, 0);
                continue;
            }
            let content = read_blocks(self.medium.media_mut(), entry.address(), 1)?;
            if Crc32c::of(&content) != entry.crc() {
                return Err(damaged(format!("catalog block {} fails its checksum", entry.address())));
            }
            out.extend_from_slice(&content);
        }
        self.count_mapped(id)?;
        out.truncate(length as usize);
        Ok(out)
    }

    /// Counts the mapped blocks of one of the pool's own streams.
    fn count_mapped(&mut self, id: ObjectId) -> Result<(), PoolError> {
        let root = self.map.root_of(id).unwrap_or_default();
        let mapped = if root.is_empty() {
            0
        } else {
            loop {
                self.map.forget_need();
                match self.map.page(root) {
                    Some(page) => break page.mapped(),
                    None => self.load_need()?,
                }
            }
        };
        self.map.set_mapped(id, mapped);
        Ok(())
    }

    /// Reads everything in `need`, blocking.
    fn load_need(&mut self) -> Result<(), PoolError> {
        let need = self.map.take_need();
        if let Some(reason) = need.damaged {
            return Err(damaged(reason));
        }
        for Pointer { address, level, crc } in need.pages {
            if self.map.pages().peek(address).is_some() {
                continue;
            }
            let mut tries = 0;
            loop {
                let block = read_blocks(self.medium.media_mut(), address, 1)?;
                match crate::map::page::Page::parse(&block, address, level, crc) {
                    Ok(page) => break self.map.page_arrived(address, page),
                    Err(reason) if tries > 0 => {
                        self.damaged_page = Some(DamagedPage { address, reason: reason.clone() });
                        return Err(damaged(reason));
                    }
                    Err(_) => tries += 1,
                }
            }
        }
        for (address, crc) in need.blocks {
            self.load_content(address, crc)?;
        }
        for segment in need.segments {
            let Some((address, _)) = self.map.space().source(segment) else { continue };
            let block = read_blocks(self.medium.media_mut(), address, 1)?;
            if self.map.counts_arrived(segment, &block).is_err() {
                let block = read_blocks(self.medium.media_mut(), address, 1)?;
                if let Err(reason) = self.map.counts_arrived(segment, &block) {
                    self.incidents.note(Incident::Metadata(reason));
                    self.map.give_up_counts(segment);
                }
            }
        }
        Ok(())
    }

    /// Reads content of a block that replay has destaged, blocking.
    fn load_content(&mut self, address: BlockAddress, crc: Crc32c) -> Result<(), PoolError> {
        for _attempt in 0..2 {
            let block = read_blocks(self.medium.media_mut(), address, 1)?;
            if let Some(content) = block.first_chunk().filter(|content| Crc32c::of(&content[..]) == crc) {
                self.map.content_arrived(address, content, crc);
                return Ok(());
            }
        }
        Err(damaged(format!("block {address} fails its checksum, and a patch in the log builds on it")))
    }

    /// Reads the log to its end. Keeps the blocks that its records name from being allocated.
    fn scan(&mut self, scanner: &mut Scanner) -> Result<Scanned, PoolError> {
        let mut scanned = Scanned::default();
        while let Some((info, content)) = scanner.next(self.medium.media_mut())? {
            for (record, sequence) in records_of(&content).zip(info.first_sequence..) {
                match record? {
                    Record::Write { blocks, .. } => {
                        for block in blocks.iter().filter(|b| b.new && !leaves_out(Mutation::Reserve)) {
                            self.map.forbid_block(block.address);
                            scanned.named = true;
                        }
                    }
                    Record::Patch(patch) => scanned.dependent.note(patch.patched.image, sequence),
                    Record::Zero { .. } | Record::Clone { .. } | Record::Catalog(..) | Record::Allotments(_) => {}
                }
            }
            let doubtful = &mut scanned.doubtful;
            while doubtful.front().is_some_and(|before: &Doubtful| before.end_sequence() <= info.durable_sequence) {
                doubtful.pop_front();
            }
            doubtful.push_back(Doubtful { info, content });
        }
        Ok(scanned)
    }

    pub(crate) fn replay(&mut self, start: ReplayPoint, progress: Progress<'_>) -> Result<Opened, PoolError> {
        let capacity = self.media().log_bytes();
        let mut scanner = Scanner::new(capacity, self.uuid, start);
        let Scanned { named, mut doubtful, mut dependent } = self.scan(&mut scanner)?;
        scanner.prove_end(self.medium.media_mut())?;
        let (chain, end) = (scanner.point(), self.settle_contents(&mut doubtful, scanner.point())?);
        if end.sequence != chain.sequence {
            scanner.end_at(end);
            scanner.prove_end(self.medium.media_mut())?;
        }
        let doubtful = self.confirm(doubtful)?;
        if end.sequence != chain.sequence {
            match doubtful.is_empty() {
                true => self.end_log(end)?,
                false => return Err(PoolError::PoolFull),
            }
        }
        let mut opened = Opened::default();
        let mut ahead = Ahead::new(Scanner::new(capacity, self.uuid, start));
        self.replaying = Some(start);
        self.map.set_replaying(true);
        if self.map.space().is_stale() {
            // A repair takes effect before anything else is written.
            self.request_checkpoint();
            self.run_checkpoint()?;
        }
        loop {
            if !dependent.excludes(ahead.point().sequence) || leaves_out(Mutation::PatchBase) {
                self.make_room(ahead.point())?;
            } else if self.memory_is_full() && doubtful.is_empty() {
                self.destage_replayed()?;
                self.evict();
            }
            if ahead.point().sequence == end.sequence {
                break;
            }
            let Some(AheadFrame { info, content, .. }) = self.next_frame_of(&mut ahead)? else { break };
            let mut sequence = info.first_sequence;
            for record in records_of(&content) {
                self.replay_record(&record?, sequence)?;
                sequence += 1;
                opened.records += 1;
            }
            if sequence != info.first_sequence + u64::from(info.records) {
                return Err(damaged("a log frame holds another number of records than it says"));
            }
            opened.log_bytes += content.len() as u64;
            progress(opened.log_bytes);
        }
        if ahead.point().sequence != end.sequence {
            return Err(damaged("the log changed while it was read"));
        }
        self.replaying = None;
        self.map.set_replaying(false);
        self.map.request_recount();
        self.map.restore_deficits();
        if named {
            self.map.permit_all_blocks();
        }
        self.log.resume(end.position, end.sequence, end.previous_crc);
        self.confirm_later(doubtful);
        Ok(opened)
    }

    /// Takes a checkpoint before a frame is replayed, if memory or space demands it.
    fn make_room(&mut self, point: ReplayPoint) -> Result<(), PoolError> {
        let tight = self.map.space().available() < self.map.reserve_blocks() && self.map.space().pinned() > 0;
        if !tight && !self.map_calls_for_checkpoint() && !self.memory_is_full() {
            return Ok(());
        }
        self.replaying = Some(point);
        self.request_checkpoint();
        match self.run_checkpoint() {
            // The file system below is full. Writes without room wait, as in a running pool, and
            // the rest is replayed in memory: reads, and writes to allocated blocks, must not wait
            // until there is room. The log limits the amount of memory.
            Err(PoolError::PoolFull) => Ok(()),
            outcome => outcome,
        }
    }

    /// Runs until the requested checkpoint is complete, blocking.
    fn run_checkpoint(&mut self) -> Result<(), PoolError> {
        let target = self.counters.checkpoints + 1;
        // An older one may have been in flight: the requested one starts when that is complete.
        while self.counters.checkpoints < target || self.checkpoints.in_flight() {
            self.pump(0);
            if let Some(reason) = &self.stopped {
                return Err(PoolError::Stopped(reason.clone()));
            }
            if self.has_parked_writes() && self.medium.in_flight() == 0 {
                return Err(PoolError::PoolFull);
            }
            if self.counters.checkpoints < target || self.checkpoints.in_flight() {
                self.medium.wait();
            }
        }
        Ok(())
    }

    /// Takes a checkpoint and waits for it: all acknowledged changes are then in the map, and a
    /// later open replays nothing.
    pub fn checkpoint(&mut self) -> Result<(), PoolError> {
        // A checkpoint in flight has frozen an older state.
        while self.checkpoints.in_flight() && self.stopped.is_none() {
            self.pump(0);
            if self.has_parked_writes() && self.medium.in_flight() == 0 {
                return Err(PoolError::PoolFull);
            }
            self.medium.wait();
        }
        self.request_checkpoint();
        self.run_checkpoint()
    }

    /// True if an operation could have written the record: its ranges are inside of volumes, and
    /// its objects can exist.
    fn is_possible(&self, record: &Record<'_>) -> bool {
        let inside = |object: ObjectId, first: BlockNumber, count: u64| {
            let end = first.checked_add(count);
            let object = self.map.objects().user(object);
            object.is_some_and(|object| end.is_some_and(|end| end.get() <= blocks_for(object.size_bytes)))
        };
        let new = |id: ObjectId| is_user_object(id) && id < stream::MAX_OBJECT && self.map.objects().get(id).is_none();
        let wide = self.media().features() & FEATURE_WIDE != 0;
        let marked = self.media().features() & FEATURE_ALLOTMENTS != 0;
        let ceilings = self.media().features() & FEATURE_CEILING != 0;
        let locks = self.media().features() & FEATURE_LOCKS != 0;
        let replicas = self.media().features() & FEATURE_REPLICAS != 0;
        let size = |size_bytes: u64| {
            let fits = wide || level_for(blocks_for(size_bytes)) <= NARROW_LEVEL;
            size_bytes > 0 && is_size(size_bytes) && fits
        };
        match record {
            Record::Write { object, first, blocks, .. } => inside(*object, *first, blocks.len() as u64),
            Record::Zero { object, first, count } => inside(*object, *first, *count),
            Record::Clone { source, source_first, destination, destination_first, count } => {
                inside(*source, *source_first, *count) && inside(*destination, *destination_first, *count)
            }
            Record::Patch(Patch { patched, .. }) => {
                self.media().features() & FEATURE_PATCHES != 0 && inside(patched.object, patched.block, 1)
            }
            Record::Allotments(changes) => marked && changes.iter().all(|change| self.map.takes_allotment(change)),
            Record::Catalog(changes, _) => changes.iter().all(|change| match change {
                CatalogChange::CreateVolume { id, size_bytes } | CatalogChange::CreateCapture { id, size_bytes } => {
                    new(*id) && size(*size_bytes)
                }
                CatalogChange::CloneObject { id, .. } => new(*id),
                CatalogChange::Resize { id, size_bytes } => {
                    is_user_object(*id) && size(*size_bytes) && *size_bytes <= MAX_VOLUME_BYTES
                }
                CatalogChange::DeleteObject { id }
                | CatalogChange::SetWriteCache { id, .. }
                | CatalogChange::SetZeroDetection { id, .. }
                | CatalogChange::SetReservation { id, .. }
                | CatalogChange::Rollback { id, .. } => is_user_object(*id),
                // The object is an address space after the changes before this one in the list.
                CatalogChange::SetCeiling { id, ceiling_bytes } => {
                    is_user_object(*id) && ceiling_bytes.is_none_or(|bytes| ceilings && is_ceiling(bytes))
                }
                CatalogChange::Lock { id, .. } | CatalogChange::Unlock { id, .. } => locks && is_user_object(*id),
                CatalogChange::SetReplica { id, .. } => replicas && is_user_object(*id),
                CatalogChange::PutDocument { key, value } => is_document(key.len(), value.len()),
                CatalogChange::DeleteDocument { .. } => true,
            }),
        }
    }

    fn replay_record(&mut self, record: &Record<'_>, sequence: u64) -> Result<(), PoolError> {
        if !self.is_possible(record) {
            return Err(damaged(format!("log record {sequence} is about what does not exist")));
        }
        if let Record::Allotments(changes) = record {
            // Each of them counts what the ones before it have left.
            return changes.iter().try_for_each(|change| self.replay_allotment(change, sequence));
        }
        self.damaged_page = None;
        let planned = self.plan_replay(record, sequence);
        if let (Err(_), Some(page)) = (&planned, self.damaged_page.take()) {
            for part in self.give_up(page, record)? {
                self.replay_record(&part, sequence)?;
            }
            return Ok(());
        }
        planned?;
        let done = match record {
            Record::Write { object, first, blocks, data } => {
                self.map.replay_write(*object, *first, blocks, *data, sequence)
            }
            Record::Zero { object, first, count } => self.map.assign_zero(*object, *first, *count),
            Record::Clone { source, source_first, destination, destination_first, count } => {
                self.map.assign_clone(*source, *source_first, *destination, *destination_first, *count)
            }
            Record::Patch(patch) => self.map.replay_patch(patch, sequence),
            Record::Allotments(_) => Some(()),
            Record::Catalog(changes, shared) => self.map.assign_catalog(changes).and_then(|()| {
                shared
                    .iter()
                    .try_for_each(|&Shared { object, blocks, pages }| self.map.set_shared(object, blocks, pages))
            }),
        };
        done.ok_or_else(|| damaged(format!("log record {sequence} contradicts the map")))
    }

    fn replay_allotment(&mut self, change: &AllotmentChange, sequence: u64) -> Result<(), PoolError> {
        let planned = self.load_planned(|map| map.plan_allotment(change))?;
        let done = planned.then(|| self.map.assign_allotment(change)).flatten();
        done.ok_or_else(|| damaged(format!("log record {sequence} contradicts the map")))
    }

    /// Loads all data that replaying a record needs.
    fn plan_replay(&mut self, record: &Record<'_>, sequence: u64) -> Result<(), PoolError> {
        let complete = self.load_planned(|map| match record {
            Record::Write { object, first, blocks, .. } => {
                for block in blocks.iter().filter(|b| !b.address.is_none()) {
                    map.need_counts(block.address);
                }
                map.plan_blocks(*object, *first, blocks.len() as u64).is_some()
            }
            Record::Zero { object, first, count } => map.plan_pieces(*object, *first, *count),
            Record::Clone { source, source_first, destination, destination_first, count } => {
                map.plan_clone(*source, *source_first, *destination, *destination_first, *count)
            }
            Record::Patch(Patch { patched, .. }) => {
                map.need_counts(patched.address);
                let planned = map.plan_blocks(patched.object, patched.block, 1).is_some();
                if let Some(entry) = map.lookup(patched.object, patched.block)
                    && entry.address() == patched.address
                {
                    let _in_memory = map.content_of(&entry);
                }
                planned
            }
            Record::Catalog(changes, _) => map.plan_catalog(changes),
            Record::Allotments(_) => true,
        })?;
        match complete {
            true => Ok(()),
            false => Err(damaged(format!("log record {sequence} names an object that does not exist"))),
        }
    }

    /// Repeats the plan, and loads the data that it needs, until nothing is missing, counts for its
    /// allocations included. False if the plan is incomplete although nothing is missing.
    pub(crate) fn load_planned(&mut self, plan: impl Fn(&mut Map) -> bool) -> Result<bool, PoolError> {
        loop {
            self.map.forget_need();
            let complete = plan(&mut self.map);
            if self.map.need().is_empty() {
                if !complete {
                    return Ok(false);
                }
                // A plan overestimates; the blocks that a record really uses were free when it was
                // written, and still are.
                let needed = self.map.need().allocations + SPARE_BLOCKS;
                if self.map.find_space(needed) != Found::Unread {
                    return Ok(true);
                }
            }
            self.load_need()?;
        }
    }
}
