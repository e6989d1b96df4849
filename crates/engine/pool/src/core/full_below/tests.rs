#![expect(clippy::unwrap_used, reason = "tests")]

use crate::core::B;
use crate::{ByteRange, CatalogChange, Core, Failure, ObjectId, Operation, Options, Output, PoolError, initial_root};
use block::BlockError;
use media::{
    BLOCK_BYTES, BlockAddress, Buffer, Capabilities, Completion, Fate, Fence, FormatOptions, LocalMedia, LogStore,
    Media, MediaError, RootStore, SegmentStore, SimDisk, SimOptions, Ticket,
};
use std::cell::Cell;
use std::collections::{HashSet, VecDeque};
use std::rc::Rc;

/// Sparse file on a file system that can be full: then only blocks written before can be written.
struct Thin {
    inner: LocalMedia<SimDisk>,
    full: Rc<Cell<bool>>,
    written: HashSet<u64>,
    refused: VecDeque<Completion>,
    /// Blocks that were never written count as ones that have their place.
    claimed: bool,
}

impl Thin {
    /// Gives the blocks their place, or refuses the write.
    fn has_place(&mut self, ticket: Ticket, address: BlockAddress, buffer: &Buffer) -> bool {
        let blocks = address.get()..address.get() + buffer.blocks() as u64;
        if self.full.get() && blocks.clone().any(|block| !self.written.contains(&block)) {
            let error =
                MediaError::NoSpace { operation: "write", address: address.get(), blocks: buffer.blocks() as u64 };
            self.refused.push_back(Completion { ticket, result: Err(error) });
            return false;
        }
        self.written.extend(blocks);
        true
    }
}

impl SegmentStore for Thin {
    fn read(&mut self, ticket: Ticket, address: BlockAddress, buffer: Buffer) {
        self.inner.read(ticket, address, buffer);
    }
    fn write(&mut self, fence: &Fence, ticket: Ticket, address: BlockAddress, buffer: Buffer) {
        if self.has_place(ticket, address, &buffer) {
            self.inner.write(fence, ticket, address, buffer);
        }
    }
    fn write_durable(&mut self, fence: &Fence, ticket: Ticket, address: BlockAddress, buffer: Buffer) {
        if self.has_place(ticket, address, &buffer) {
            self.inner.write_durable(fence, ticket, address, buffer);
        }
    }
    fn has_room(&mut self, address: BlockAddress, blocks: u64) -> bool {
        (address.get()..address.get() + blocks).all(|block| self.claimed || self.written.contains(&block))
    }
    fn flush(&mut self, fence: &Fence, ticket: Ticket) {
        self.inner.flush(fence, ticket);
    }
    fn discard(&mut self, fence: &Fence, ticket: Ticket, address: BlockAddress, blocks: u64) {
        for block in address.get()..address.get() + blocks {
            self.written.remove(&block);
        }
        self.inner.discard(fence, ticket, address, blocks);
    }
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }
    fn block_count(&self) -> u64 {
        self.inner.block_count()
    }
    fn data_start(&self) -> BlockAddress {
        self.inner.data_start()
    }
    fn data_end(&self) -> BlockAddress {
        self.inner.data_end()
    }
}

impl LogStore for Thin {
    fn log_bytes(&self) -> u64 {
        self.inner.log_bytes()
    }
    fn append(&mut self, fence: &Fence, ticket: Ticket, offset_bytes: u64, frame: Buffer) {
        self.inner.append(fence, ticket, offset_bytes, frame);
    }
    fn read_log(&mut self, ticket: Ticket, offset_bytes: u64, buffer: Buffer) {
        self.inner.read_log(ticket, offset_bytes, buffer);
    }
    fn seal(&mut self, fence: &Fence, ticket: Ticket) {
        self.inner.seal(fence, ticket);
    }
}

impl RootStore for Thin {
    fn load_root(&mut self, ticket: Ticket) {
        self.inner.load_root(ticket);
    }
    fn require_features(&mut self, incompatible: u64) {
        self.inner.require_features(incompatible);
    }
    fn features(&self) -> u64 {
        self.inner.features()
    }
    fn swap_root(&mut self, fence: &Fence, ticket: Ticket, version: u64, root: &[u8]) {
        self.inner.swap_root(fence, ticket, version, root);
    }
}

impl Media for Thin {
    fn submit(&mut self) {
        self.inner.submit();
    }
    fn poll(&mut self) -> Option<Completion> {
        self.refused.pop_front().or_else(|| self.inner.poll())
    }
    fn wait(&mut self) {
        if self.refused.is_empty() {
            self.inner.wait();
        }
    }
}

fn options() -> Options {
    Options { memory_bytes: 2 << 20, incarnation: 1, ..Options::default() }
}

fn made(seed: u64) -> (SimDisk, Core<Thin>, Rc<Cell<bool>>) {
    let disk = SimDisk::new(SimOptions::new(seed, 2048 * 8));
    let uuid = [7; 16];
    let format = FormatOptions { uuid, log_bytes: 1 << 20, root: initial_root(uuid), overwrite: false };
    let inner = LocalMedia::format(disk.clone(), format).unwrap();
    let full = Rc::new(Cell::new(false));
    let thin = Thin { inner, full: full.clone(), written: HashSet::new(), refused: VecDeque::new(), claimed: false };
    (disk, Core::open(thin, options(), &mut |_| {}).unwrap().0, full)
}

fn run<M: Media>(core: &mut Core<M>, operation: Operation) -> Result<Output, Failure> {
    run_with_background(core, operation, 1)
}

/// Runs an operation and, in each turn, background work on up to `pages` pages.
fn run_with_background<M: Media>(core: &mut Core<M>, operation: Operation, pages: usize) -> Result<Output, Failure> {
    let id = core.submit(operation);
    for _ in 0..100_000 {
        core.pump(pages);
        if let Some(result) = core.take_finished(id) {
            return result;
        }
        core.medium.media_mut().wait();
    }
    panic!("an operation never ended");
}

fn write<M: Media>(
    core: &mut Core<M>,
    object: ObjectId,
    block: u64,
    count: usize,
    byte: u8,
) -> Result<Output, Failure> {
    let data = vec![byte; BLOCK_BYTES * count].into();
    run(core, Operation::Write { object, offset: block * B, data, forced: true })
}

fn holds<M: Media>(core: &mut Core<M>, object: ObjectId, block: u64, byte: u8) {
    match run(core, Operation::Read { object, offset: block * B, length: BLOCK_BYTES }) {
        Ok(Output::Data(data)) => assert!(data.iter().all(|found| *found == byte), "block {block}"),
        other => panic!("{other:?}"),
    }
}

/// Pool as the next start finds it after a kill, on the same file system.
fn killed(disk: &SimDisk, core: &Core<Thin>) -> Core<Thin> {
    let inner = LocalMedia::open(disk.crashed_copy(|_| Fate::Applied)).unwrap();
    let written = core.media().written.clone();
    let thin = Thin { inner, full: core.media().full.clone(), written, refused: VecDeque::new(), claimed: false };
    Core::open(thin, Options { incarnation: 2, ..options() }, &mut |_| {}).unwrap().0
}

/// Regression: on a file system that a log file had filled, the array could not start, even after a
/// clean stop: replay takes a checkpoint when memory is short, and one without room stopped the
/// pool. Every volume was offline, for reads too, until there was room.
#[test]
fn a_pool_opens_and_serves_while_the_file_system_below_is_still_full() {
    for seed in 0..8 {
        let (disk, mut core, full) = made(seed);
        let id = core.new_object_id();
        run(&mut core, Operation::Catalog(vec![CatalogChange::CreateVolume { id, size_bytes: 1 << 40 }])).unwrap();
        write(&mut core, id, 0, 64, 1).unwrap();
        core.checkpoint().unwrap();
        full.set(true);
        let refused = Err(Failure::Block(BlockError::PoolFull));
        // Places far apart need as many map pages as blocks, so that replay is short of memory.
        let place = |block: u64| (block + 1) << 16;
        let acknowledged = (0..400).find(|block| write(&mut core, id, place(*block), 1, 2) == refused).unwrap();
        let overwritten = (0..64).find(|block| write(&mut core, id, *block, 1, 4) == refused).unwrap_or(64);

        // Two rounds: the second start finds the state that the first one left.
        let mut again = killed(&disk, &core);
        for round in 0..2 {
            assert!(again.stopped().is_none());
            for block in 0..acknowledged {
                holds(&mut again, id, place(block), 2);
            }
            for block in 0..64 {
                holds(&mut again, id, block, if block < overwritten { 4 } else { 1 });
            }
            let large = write(&mut again, id, 5000, 64, 3);
            assert_eq!(large, Err(BlockError::PoolFull.into()), "seed {seed}, round {round}");
            // End of a clean stop: it cannot write everything, and loses nothing.
            assert_eq!(again.checkpoint(), Err(PoolError::PoolFull));
            assert!(again.has_parked_writes() && again.stopped().is_none());
            if round == 0 {
                let Thin { inner, full, written, .. } = again.into_media();
                let thin = Thin { inner, full, written, refused: VecDeque::new(), claimed: false };
                again = Core::open(thin, Options { incarnation: 3, ..options() }, &mut |_| {}).unwrap().0;
            }
        }

        full.set(false);
        for _ in 0..1000 {
            again.pump(1);
            again.medium.media_mut().wait();
        }
        assert!(!again.has_parked_writes());
        write(&mut again, id, 9000, 20, 5).unwrap();
        again.checkpoint().unwrap();
        assert!(again.check(true, &mut |_| {}).unwrap().is_clean());
        for block in 0..acknowledged {
            holds(&mut again, id, place(block), 2);
        }
    }
}

#[test]
fn a_full_file_system_stops_nothing_and_nothing_is_lost() {
    for seed in 0..8 {
        let (disk, mut core, full) = made(seed);
        let id = core.new_object_id();
        run(&mut core, Operation::Catalog(vec![CatalogChange::CreateVolume { id, size_bytes: 1 << 40 }])).unwrap();
        write(&mut core, id, 0, 256, 1).unwrap();
        core.checkpoint().unwrap();

        // Acknowledged before the pool notices, because the log has room.
        full.set(true);
        let mut noticed = None;
        for block in 0..400u64 {
            match write(&mut core, id, 1000 + block, 1, 2) {
                Ok(_) => {}
                Err(Failure::Block(BlockError::PoolFull)) => {
                    noticed = Some(block);
                    break;
                }
                other => panic!("{other:?}"),
            }
        }
        let acknowledged = noticed.expect("it was noticed");
        assert!(core.has_parked_writes() && core.stopped().is_none());
        assert_eq!(core.checkpoint(), Err(PoolError::PoolFull));
        // Large writes notice on their own.
        assert_eq!(write(&mut core, id, 5000, 64, 3), Err(BlockError::PoolFull.into()));
        // Overwrites, reads and UNMAP continue until the log is full.
        let mut overwritten = 0;
        for block in 0..256 {
            match write(&mut core, id, block, 1, 4) {
                Ok(_) => overwritten += 1,
                Err(Failure::Block(BlockError::PoolFull)) => break,
                other => panic!("{other:?}"),
            }
        }
        holds(&mut core, id, 255, if overwritten == 256 { 4 } else { 1 });
        holds(&mut core, id, 1000, 2);
        assert!(core.stopped().is_none());

        // After a kill in this state, the next start replays everything.
        let crashed = LocalMedia::open(disk.crashed_copy(|_| Fate::Applied)).unwrap();
        let mut other = Core::open(crashed, options(), &mut |_| {}).unwrap().0;
        for block in 0..acknowledged {
            holds(&mut other, id, 1000 + block, 2);
        }
        assert!(other.check(true, &mut |_| {}).unwrap().is_clean());

        // Space is available again: the pool continues by itself.
        full.set(false);
        for _ in 0..1000 {
            core.pump(1);
            core.medium.media_mut().wait();
        }
        assert!(!core.has_parked_writes());
        write(&mut core, id, 9000, 20, 5).unwrap();
        core.checkpoint().unwrap();
        assert!(core.check(true, &mut |_| {}).unwrap().is_clean());
        for block in 0..acknowledged {
            holds(&mut core, id, 1000 + block, 2);
        }
        for block in 0..overwritten {
            holds(&mut core, id, block, 4);
        }
        drop(core);
        let mut core = Core::open(LocalMedia::open(disk.crash()).unwrap(), options(), &mut |_| {}).unwrap().0;
        assert!(core.check(true, &mut |_| {}).unwrap().is_clean());
        holds(&mut core, id, 9019, 5);
    }
}

/// Regression: with a full log, operations of the pool itself were refused like those of hosts. The
/// count of a reserved volume's shared blocks was lost, and its result, which has no waiter, leaked
/// in the reactor's table of futures.
#[test]
fn internal_operations_wait_until_the_log_has_room() {
    let (_, mut core, full) = made(3);
    let [id, snapshot, filler] = [(); 3].map(|()| core.new_object_id());
    for (id, blocks) in [(id, 256), (filler, 64)] {
        run(&mut core, Operation::Catalog(vec![CatalogChange::CreateVolume { id, size_bytes: blocks * B }])).unwrap();
    }
    let reservation = Some(crate::Reservation { overwrite_percent: 100 });
    run(&mut core, Operation::Catalog(vec![CatalogChange::SetReservation { id, reservation }])).unwrap();
    write(&mut core, id, 0, 256, 1).unwrap();
    write(&mut core, filler, 0, 64, 1).unwrap();
    let kind = crate::ObjectKind::Snapshot;
    run(&mut core, Operation::Catalog(vec![CatalogChange::CloneObject { source: id, id: snapshot, kind }])).unwrap();
    core.checkpoint().unwrap();
    let promised = core.object(id).unwrap().promised_bytes;

    // The snapshot is deleted; its shared blocks are counted only when the log has no room left,
    // not even for a small record.
    full.set(true);
    let delete = Operation::Catalog(vec![CatalogChange::DeleteObject { id: snapshot }]);
    run_with_background(&mut core, delete, 0).unwrap();
    let refused = Err(Failure::Block(BlockError::PoolFull));
    let overwrite = |round: u64| Operation::Write {
        object: filler,
        offset: round % 64 * B,
        data: vec![round as u8 | 1; BLOCK_BYTES].into(),
        forced: true,
    };
    assert!((0..10_000).any(|round| run_with_background(&mut core, overwrite(round), 0) == refused));
    let zero =
        |block: u64| Operation::Zero { object: filler, ranges: vec![ByteRange::new(block * B, B)], forced: true };
    assert!((0..64).any(|block| run_with_background(&mut core, zero(block), 0) == refused), "the log is not full");
    assert!(core.has_parked_writes() && core.schedule.is_empty());
    for _ in 0..100 {
        core.pump(4);
        core.medium.media_mut().wait();
        assert_eq!(core.poll_finished(), None, "a result that no host waits for");
    }
    assert!(!core.schedule.is_empty(), "the count does not wait for the log");
    assert_eq!(core.object(id).unwrap().promised_bytes, promised);

    full.set(false);
    for _ in 0..1000 {
        core.pump(4);
        core.medium.media_mut().wait();
    }
    assert!(!core.has_parked_writes() && core.schedule.is_empty());
    assert!(core.object(id).unwrap().promised_bytes < promised);
}

/// Regression: the alert came only with the next checkpoint, and nothing explained why a large
/// write was refused for lack of space in the file system.
#[test]
fn a_refused_write_reports_that_the_file_system_below_is_full() {
    let (_, mut core, full) = made(5);
    let id = core.new_object_id();
    run(&mut core, Operation::Catalog(vec![CatalogChange::CreateVolume { id, size_bytes: 1 << 40 }])).unwrap();
    core.checkpoint().unwrap();
    let refused = Err(BlockError::PoolFull.into());
    full.set(true);
    assert!(!core.space().full_below);
    assert_eq!(write(&mut core, id, 0, 64, 1), refused);
    assert!(core.space().full_below, "the write was refused, and the pool does not report why");
    // The checkpoint that the refusal requested finds no space; a write that finds space ends the
    // state.
    assert_eq!(core.checkpoint(), Err(PoolError::PoolFull));
    full.set(false);
    for _ in 0..1000 {
        core.pump(1);
        core.medium.media_mut().wait();
    }
    write(&mut core, id, 0, 64, 1).unwrap();
    assert!(!core.space().full_below);
}

/// Hosts need not write again after a refusal: two checkpoints that find space suffice to end the
/// state, one does not.
#[test]
fn two_checkpoints_that_find_room_end_the_report_of_a_refused_write() {
    let (_, mut core, full) = made(6);
    let id = core.new_object_id();
    run(&mut core, Operation::Catalog(vec![CatalogChange::CreateVolume { id, size_bytes: 1 << 40 }])).unwrap();
    core.checkpoint().unwrap();
    full.set(true);
    assert_eq!(write(&mut core, id, 0, 64, 1), Err(BlockError::PoolFull.into()));
    full.set(false);
    // The refusal requested the first checkpoint.
    let checkpoints = core.counters().checkpoints;
    while core.counters().checkpoints == checkpoints {
        core.pump(1);
        core.medium.media_mut().wait();
    }
    assert!(core.space().full_below && !core.has_parked_writes());
    core.checkpoint().unwrap();
    assert!(!core.space().full_below);
}

/// A check read pages of the documents that waited to be written, and called them damaged.
#[test]
fn a_check_of_a_pool_that_is_full_below_finds_nothing_wrong() {
    let (_, mut core, full) = made(7);
    let put = |round: u8| CatalogChange::PutDocument { key: "document".to_owned(), value: vec![round; 8192].into() };
    run(&mut core, Operation::Catalog(vec![put(1)])).unwrap();
    core.checkpoint().unwrap();
    run(&mut core, Operation::Catalog(vec![put(2)])).unwrap();
    full.set(true);
    assert_eq!(core.checkpoint(), Err(PoolError::PoolFull));
    assert!(core.has_parked_writes());
    assert_eq!(core.check(true, &mut |_| {}).unwrap().findings, Vec::<String>::new());
}

/// A file system that does not write in place, or a thin device, may have no room for content whose
/// record is in the log already. Nothing is acknowledged meanwhile, and nothing is lost.
#[test]
fn content_that_finds_no_room_after_its_record_arrives_later() {
    for seed in 0..8 {
        let (disk, mut core, full) = made(seed);
        let id = core.new_object_id();
        run(&mut core, Operation::Catalog(vec![CatalogChange::CreateVolume { id, size_bytes: 1 << 30 }])).unwrap();
        core.medium.media_mut().claimed = true;
        // Permits records beside their content.
        write(&mut core, id, 0, 64, 1).unwrap();
        core.checkpoint().unwrap();
        assert_ne!(core.media().features() & media::FEATURE_UNCONFIRMED, 0);

        full.set(true);
        let large = |block: u64, byte: u8| {
            let data = vec![byte; BLOCK_BYTES * 64].into();
            Operation::Write { object: id, offset: block * B, data, forced: true }
        };
        let waiting = core.submit(large(0, 2));
        let read = core.submit(Operation::Read { object: id, offset: 0, length: BLOCK_BYTES });
        for _ in 0..50 {
            core.pump(1);
            core.medium.media_mut().wait();
        }
        assert!(core.has_parked_writes() && core.stopped().is_none());
        assert_eq!(core.take_finished(waiting), None);
        assert_eq!(write(&mut core, id, 1000, 64, 3), Err(BlockError::PoolFull.into()));
        // Killed in this state, the pool has the old content: the write was not acknowledged.
        let mut again = killed(&disk, &core);
        holds(&mut again, id, 0, 1);
        drop(again);

        full.set(false);
        let mut results = (None, None);
        for _ in 0..1000 {
            core.pump(1);
            core.medium.media_mut().wait();
            results.0 = results.0.or_else(|| core.take_finished(waiting));
            results.1 = results.1.or_else(|| core.take_finished(read));
        }
        assert_eq!(results.0, Some(Ok(Output::Done)));
        assert!(matches!(results.1, Some(Ok(Output::Data(data))) if data.iter().all(|byte| *byte == 2)));
        holds(&mut core, id, 63, 2);
        let mut again = killed(&disk, &core);
        holds(&mut again, id, 0, 2);
    }
}
