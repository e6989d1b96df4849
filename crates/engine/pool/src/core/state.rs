//! State of a pool in use: its parts, and their common queries.

use crate::catalog::is_user_object;
use crate::catalog::object::Object;
use crate::core::LBAS_PER_BLOCK;
use crate::core::checkpoint::frozen::Checkpoints;
use crate::core::growing::Growing;
use crate::core::incidents::Incidents;
use crate::core::io::Io;
use crate::core::parked::ParkedWrites;
use crate::core::progress::{PlacedWrites, Progress};
use crate::core::scan::online_check::OnlineCheck;
use crate::core::scan::remembered::Remembered;
use crate::core::turn::{Turn, TurnWork};
use crate::interface::operation::{Failure, OperationId, Options, Output};
use crate::interface::range::BlockNumber;
use crate::interface::{BlockId, Incident, ObjectId, ObjectInfo, ObjectKind, Place, PoolSpace};
use crate::log::{Log, ReplayPoint};
use crate::map::Map;
use crate::map::reserves::DROP_GROWTH;
use crate::medium::Medium;
use crate::schedule::Schedule;
use block::BlockError;
use bytes::Bytes;
use media::Media;
use media::{BLOCK_BYTES, BlockAddress};
use std::collections::BTreeMap;

/// Counters since the pool was opened.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counters {
    /// Number of log frames written.
    pub frames: u64,
    /// Number of log bytes written.
    pub log_bytes: u64,
    /// Number of blocks destaged.
    pub destaged: u64,
    /// Number of checkpoints completed.
    pub checkpoints: u64,
    /// Number of map pages written by checkpoints.
    pub pages_written: u64,
    /// Bytes written by checkpoints: map pages, counts and indexes, the pool's own streams.
    pub checkpoint_bytes: u64,
    /// Number of map pages and blocks given back by the drop queue.
    pub reclaimed: u64,
    /// Number of blocks discarded to the file system or device below the pool.
    pub discarded: u64,
    /// Number of reads whose checksum did not match at first.
    pub mismatches: u64,
    /// Number of blocks of reads that were in memory.
    pub cache_hits: u64,
    /// Number of blocks of reads that were read from the medium.
    pub cache_misses: u64,
    /// Most pages and blocks that one transaction needed in memory at once while it waited.
    pub most_pins: usize,
    /// Most pages and blocks that all transactions held in memory at once.
    pub all_pins: usize,
    /// Blocks that transactions took beyond those that they asked for: 0.
    pub unplanned: u64,
    /// Blocks by which transactions have made address spaces grow beyond what a plan allows: 0. Map pages that are
    /// promised to allotments may exceed a ceiling, and transactions that free space have a margin.
    pub above_ceilings: u64,
    /// Most reads, one after the other, for which one transaction waited.
    pub most_waits: u16,
}

/// Part of an object's properties.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ObjectSettings {
    pub kind: ObjectKind,
    pub size_bytes: u64,
    pub write_cache: bool,
    pub is_replica: bool,
}

/// Use of the cache of data blocks. Blocks whose only durable copy is in the log are in memory too,
/// and not part of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DataCache {
    /// Blocks of reads that were in memory, cached or not yet at their place.
    pub hits: u64,
    /// Blocks of reads that were read from the medium.
    pub misses: u64,
    /// Blocks evicted.
    pub evictions: u64,
    /// Content of the blocks that are cached now, in bytes.
    pub bytes: u64,
    /// Most content that may be cached now, in bytes.
    pub limit_bytes: u64,
}

/// The pool: a single-threaded state machine over a medium.
pub struct Core<M: Media> {
    pub(super) options: Options,
    pub(super) uuid: [u8; 16],
    pub(super) medium: Medium<M, Io>,
    pub(super) map: Map,
    pub(super) log: Log,
    pub(super) schedule: Schedule<Progress>,
    pub(super) checkpoints: Checkpoints,
    pub(super) placed: PlacedWrites,
    pub(super) parked: ParkedWrites,
    pub(super) turn: Turn,
    pub(super) growing: Option<Growing>,
    pub(super) online_check: Option<Box<OnlineCheck>>,
    pub(super) incidents: Incidents,
    pub(super) remembered: Remembered,
    /// Number of pages that a scan may process in one turn.
    pub(super) scan_pages: usize,
    pub(super) discards_in_flight: usize,
    /// Replay point of a checkpoint taken now, during replay of the log.
    pub(super) replaying: Option<ReplayPoint>,
    /// Page that the last blocking load found damaged.
    pub(super) damaged_page: Option<DamagedPage>,
    /// Reason for the stop.
    pub(super) stopped: Option<String>,
    pub(super) counters: Counters,
}

/// Page with a wrong checksum, and the reason.
pub(crate) struct DamagedPage {
    pub address: BlockAddress,
    pub reason: String,
}

impl<M: Media> Core<M> {
    pub(super) fn new(
        medium: Medium<M, Io>,
        options: Options,
        uuid: [u8; 16],
        map: Map,
        log: Log,
        root_version: u64,
    ) -> Self {
        let mut core = Self {
            turn: Turn::new(options.turn_blocks),
            options,
            uuid,
            medium,
            map,
            log,
            schedule: Schedule::default(),
            checkpoints: Checkpoints::new(root_version),
            placed: PlacedWrites::default(),
            parked: ParkedWrites::default(),
            growing: None,
            online_check: None,
            incidents: Incidents::default(),
            remembered: Remembered::default(),
            scan_pages: 16,
            discards_in_flight: 0,
            replaying: None,
            damaged_page: None,
            stopped: None,
            counters: Counters::default(),
        };
        core.map.prepare_content(core.cached_blocks(), core.medium.answers_at_once());
        core
    }

    /// Medium, for its descriptor and statistics.
    pub fn media(&self) -> &M {
        self.medium.media()
    }

    /// Ends the core and returns the medium.
    pub fn into_media(self) -> M {
        self.medium.into_media()
    }

    /// Reason for the stop, if the pool has stopped.
    pub fn stopped(&self) -> Option<&str> {
        self.stopped.as_deref()
    }

    /// Counters since the pool was opened.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Use of the cache of data blocks since the pool was opened.
    pub fn data_cache(&self) -> DataCache {
        let content = self.map.content();
        DataCache {
            hits: self.counters.cache_hits,
            misses: self.counters.cache_misses,
            evictions: content.evicted(),
            bytes: (content.clean() * BLOCK_BYTES) as u64,
            limit_bytes: (self.cached_blocks() * BLOCK_BYTES) as u64,
        }
    }

    /// Starts to record the operations that take effect, for [`Core::take_effects`].
    pub fn record_effects(&mut self) {
        self.schedule.record_effects();
    }

    /// Operations in the order in which they took effect since the last call, each with the
    /// sequence number of the next record: the effect is part of every state recovered at or beyond
    /// it. A read is listed when it captures the state of the map, again for each repeated capture;
    /// it returns the content as of the last one.
    pub fn take_effects(&mut self) -> Vec<(OperationId, u64)> {
        self.schedule.take_effects()
    }

    /// Sequence number of the next log record.
    pub fn next_sequence(&self) -> u64 {
        self.log.next_sequence()
    }

    /// Takes the next result.
    pub fn poll_finished(&mut self) -> Option<(OperationId, Result<Output, Failure>)> {
        self.schedule.next_finished()
    }

    /// Takes the result of one operation, if it is available.
    #[cfg(test)]
    pub(crate) fn take_finished(&mut self, id: OperationId) -> Option<Result<Output, Failure>> {
        self.schedule.take_finished(id)
    }

    /// True if there is work that does not wait for the medium.
    pub fn busy(&self) -> bool {
        self.schedule.has_ready() || self.wants_turn() || self.log.has_work()
    }

    /// Number of operations that hosts submitted since the pool was opened.
    pub fn host_operations(&self) -> u64 {
        self.schedule.host_operations()
    }

    /// Urgency of background work for hosts, from 0 to 256: grows with the lack of space that this
    /// work would free.
    pub fn urgency(&self) -> u16 {
        if self.map.drops().queue().is_empty() {
            return 0;
        }
        // From a tenth of the pool down to a fiftieth.
        let (space, promised) = (self.map.space(), self.map.promised_blocks());
        let (from, to) = (space.usable() / 10, space.usable() / 50);
        let free = space.available().saturating_sub(promised);
        let missing = from.saturating_sub(free).min(from - to);
        (missing * 256 / (from - to).max(1)) as u16
    }

    /// True if background work waits for the medium.
    pub fn waits_for_medium(&self) -> bool {
        !self.schedule.has_later() && self.medium.in_flight() > 0
    }

    /// True if there is work for the next pump: background work, or what the last one left.
    pub fn wants_turn(&self) -> bool {
        self.is_cut() || self.wants_background()
    }

    /// True if there is background work.
    pub fn wants_background(&self) -> bool {
        self.schedule.has_later() || !self.map.drops().queue().is_empty()
    }

    /// True if the last pump left work that hosts may wait for, and that could be done at once: the
    /// next pump should follow as soon as hosts have been served.
    pub fn is_cut(&self) -> bool {
        self.turn.is_cut() && self.stopped.is_none()
    }

    /// Work of the last pump.
    pub fn turn_work(&self) -> TurnWork {
        self.turn.work()
    }

    /// True if no request is in flight and no operation waits for one.
    pub fn idle(&self) -> bool {
        self.medium.in_flight() == 0
            && !self.schedule.has_ready()
            && !self.log.has_work()
            && !self.checkpoints.in_flight()
            && !self.is_cut()
    }

    /// Blocks until the medium reports a completion or has no request. For tools; a reactor waits
    /// for the medium's descriptor.
    pub fn wait(&mut self) {
        self.medium.wait();
    }

    /// True while a checkpoint is requested or in flight.
    pub fn checkpoint_is_due(&self) -> bool {
        self.checkpoints.is_due()
    }

    /// Requests a checkpoint soon.
    pub fn request_checkpoint(&mut self) {
        self.checkpoints.request();
    }

    /// True while writes of the pool itself wait because the file system under it is full.
    /// Operations that store new data then fail with [`BlockError::PoolFull`]; the pool continues
    /// by itself when there is space again.
    #[inline]
    pub fn has_parked_writes(&self) -> bool {
        self.parked.any()
    }

    /// Stops the pool, which can no longer guarantee new data: every operation from now on fails.
    pub(crate) fn stop(&mut self, reason: impl Into<String>) {
        if self.stopped.is_some() {
            return;
        }
        let reason = reason.into();
        self.stopped = Some(reason.clone());
        self.schedule.fail_all(&Failure::Block(BlockError::PoolStopped { reason }));
    }

    /// Notes that an operation takes effect now.
    #[inline]
    pub(super) fn took_effect(&mut self, id: OperationId) {
        self.schedule.took_effect(id, self.log.next_sequence());
    }

    /// Takes the incidents since the last call.
    pub fn take_incidents(&mut self) -> Vec<Incident> {
        self.incidents.take()
    }

    /// Notes a bad block of an object, and returns the error for its read.
    pub(super) fn bad_block(&mut self, object: ObjectId, block: BlockNumber, address: BlockAddress) -> Failure {
        self.incidents.note(Incident::BadBlock(place(object, block, address)));
        BlockError::ReadFailed { lba: block.get() * LBAS_PER_BLOCK }.into()
    }

    /// Number of blocks that are owed to reserved volumes or kept for the next checkpoint, and
    /// neither free nor about to be: 0 unless the accounting of promises is wrong.
    pub fn overdrawn_blocks(&self) -> u64 {
        self.map.overdrawn_blocks()
    }

    /// Properties of an object.
    pub fn object(&self, id: ObjectId) -> Option<ObjectInfo> {
        self.map
            .objects()
            .read(id, |o| ObjectInfo {
                id: o.id,
                kind: o.kind,
                parent: o.parent,
                size_bytes: o.size_bytes,
                mapped_bytes: o.mapped * BLOCK_BYTES as u64,
                write_cache: o.write_cache,
                zero_detection: o.zero_detection,
                reservation: o.reservation,
                ceiling_bytes: o.ceiling_bytes,
                locked_until: o.locked_until(),
                is_replica: o.is_replica(),
                promised_bytes: (o.promised() + self.map.allotments().promised_to(id)) * BLOCK_BYTES as u64,
            })
            .filter(|_| is_user_object(id))
    }

    /// Properties of an object that every command of a host needs. [`Self::object`] costs more.
    #[inline]
    pub(crate) fn settings(&self, id: ObjectId) -> Option<ObjectSettings> {
        let settings = |object: &Object| ObjectSettings {
            kind: object.kind,
            size_bytes: object.size_bytes,
            write_cache: object.write_cache,
            is_replica: object.is_replica(),
        };
        self.map.objects().read(id, settings).filter(|_| is_user_object(id))
    }

    /// Takes at most `most` objects that changed since this last returned them.
    pub fn take_changed(&mut self, most: usize) -> Vec<ObjectId> {
        self.map.take_unreported(most)
    }

    /// Whether a block (4 KiB, counted from the start of the object) is mapped. `None` if a map
    /// page has to be read first, and for an object that does not exist.
    pub fn is_mapped(&mut self, object: ObjectId, block: BlockNumber) -> Option<bool> {
        let entry = self.map.lookup(object, block);
        self.map.forget_need();
        entry.map(|entry| !entry.is_empty())
    }

    /// Ids of all objects, sorted.
    pub fn object_ids(&self) -> Vec<ObjectId> {
        self.map.objects().user_ids().collect()
    }

    /// Properties of at most `most` objects from `id` on, by id.
    pub fn objects_from(&self, id: ObjectId, most: usize) -> Vec<ObjectInfo> {
        self.map.objects().user_ids_from(id).take(most).filter_map(|id| self.object(id)).collect()
    }

    /// Ids of all captures, sorted.
    pub fn capture_ids(&self) -> Vec<ObjectId> {
        self.map.objects().capture_ids().collect()
    }

    /// Largest id that was ever given to an object.
    pub fn last_object_id(&self) -> ObjectId {
        ObjectId(self.map.objects().next_id().0 - 1)
    }

    /// Returns an unused object id.
    pub fn new_object_id(&mut self) -> ObjectId {
        self.map.take_id()
    }

    /// All documents by key.
    pub fn documents(&self) -> &BTreeMap<String, Bytes> {
        self.map.documents().all()
    }

    /// Space of the pool. Blocks freed but not yet released, and detached sub-trees already walked, count as free.
    pub fn space(&self) -> PoolSpace {
        space_of(&self.map, self.below())
    }

    /// The medium below the pool, as its space depends on it.
    pub(super) fn below(&self) -> Below {
        Below { blocks: self.media().block_count(), is_full: self.parked.is_full_below() }
    }

    /// Number of this run.
    pub(crate) fn incarnation(&self) -> u64 {
        self.options.incarnation
    }

    /// Number of bytes of the log in use.
    pub fn log_used_bytes(&self) -> u64 {
        self.log.used()
    }
}

/// Medium below a pool.
#[derive(Clone, Copy)]
pub(super) struct Below {
    /// Its blocks.
    blocks: u64,
    /// True if the file system or thin device below is full.
    is_full: bool,
}

/// Space of a pool with this map.
pub(super) fn space_of(map: &Map, below: Below) -> PoolSpace {
    let block = BLOCK_BYTES as u64;
    let size = below.blocks * block;
    // Blocks kept back for freeing space, for checkpoints and for work in a full pool cannot
    // take new data.
    let kept = map.reserve_blocks() + map.working_blocks() + map.checkpoint_blocks() + DROP_GROWTH;
    let fixed = size - map.space().usable().saturating_sub(kept) * block;
    let used = (fixed + map.space().allocated() * block).min(size);
    PoolSpace {
        size_bytes: size,
        used_bytes: used,
        free_bytes: size - used,
        metadata_bytes: fixed + map.metadata_blocks() * block,
        promised_bytes: map.promised_blocks() * block,
        reclaimable_bytes: (map.space().pinned() + map.detached_blocks()) * block,
        full_below: below.is_full,
    }
}

/// Place of an object, as reported.
pub(super) fn place(object: ObjectId, block: BlockNumber, address: BlockAddress) -> Place {
    Place { object, offset_bytes: block.offset(), block: BlockId(address.get()) }
}
