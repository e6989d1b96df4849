//! Pool on a simulated disk, for tests that drive the core.

use bytes::Bytes;
use media::{FormatOptions, LocalMedia, SimDisk, SimOptions};
use pool::{
    ByteRange, CatalogChange, Core, Failure, Missing, ObjectId, ObjectKind, Operation, Options, Outcome, Output,
    PoolError, Reservation, Stability, View,
};

pub const BLOCK: u64 = 4096;

pub struct Rig {
    pub disk: SimDisk,
    pub core: Core<LocalMedia<SimDisk>>,
    incarnation: u64,
    finished: Vec<(u64, Result<Output, Failure>)>,
}

impl Rig {
    /// Runs a transaction of these changes, durably.
    pub fn together(
        &mut self,
        changes: impl Fn(&mut View<'_>) -> Result<(), Missing> + 'static,
    ) -> Result<(), Failure> {
        let transaction = move |view: &mut View<'_>| changes(view).map(Outcome::Commit);
        let (id, _) = self.core.transact(transaction, Stability::Durable);
        for _ in 0..1_000_000 {
            if let Some((_, result)) = self.take(id) {
                return result.map(|_| ());
            }
            self.core.pump(1);
        }
        panic!("a transaction never finishes");
    }

    /// Creates a pool with a log of 1 MiB and `blocks` other blocks.
    pub fn new(blocks: u64) -> Self {
        Self::with_log(blocks, 1 << 20)
    }

    /// Creates a pool with a log of `log_bytes` and `blocks` other blocks.
    pub fn with_log(blocks: u64, log_bytes: u64) -> Self {
        let disk = SimDisk::new(SimOptions::immediate(7, blocks + log_bytes / BLOCK));
        let uuid = [7; 16];
        let format = FormatOptions { uuid, log_bytes, root: pool::initial_root(uuid), overwrite: false };
        let media = LocalMedia::format(disk.clone(), format).unwrap();
        let (core, _) = Core::open(media, options(1), &mut |_| {}).unwrap();
        Self { disk, core, incarnation: 1, finished: Vec::new() }
    }

    /// Opens the pool on a disk with these options.
    pub fn on(disk: SimDisk, options: Options) -> Result<Self, PoolError> {
        let media = LocalMedia::open(disk.clone()).unwrap();
        let incarnation = options.incarnation;
        let (core, _) = Core::open(media, options, &mut |_| {})?;
        Ok(Self { disk, core, incarnation, finished: Vec::new() })
    }

    /// Runs an operation to its end, with background work.
    pub fn run(&mut self, operation: Operation) -> Result<Output, Failure> {
        let id = self.core.submit(operation);
        for _ in 0..1_000_000 {
            if let Some((_, result)) = self.take(id) {
                return result;
            }
            self.core.pump(1);
        }
        panic!("an operation never finishes");
    }

    /// Takes the result of an operation, if it has finished.
    pub fn take(&mut self, id: u64) -> Option<(u64, Result<Output, Failure>)> {
        while let Some((found, result)) = self.core.poll_finished() {
            self.finished.push((found, result));
        }
        let at = self.finished.iter().position(|(found, _)| *found == id)?;
        Some(self.finished.swap_remove(at))
    }

    /// Opens the pool again after a clean end.
    pub fn reopen(&mut self) -> Core<LocalMedia<SimDisk>> {
        self.incarnation += 1;
        let media = LocalMedia::open(self.disk.clone()).unwrap();
        Core::open(media, options(self.incarnation), &mut |_| {}).unwrap().0
    }

    /// Opens the pool again and rebuilds its space map.
    pub fn repair(&mut self) {
        self.incarnation += 1;
        let media = LocalMedia::open(self.disk.clone()).unwrap();
        let (mut core, _, report) =
            Core::open_repairing(media, options(self.incarnation), 64 << 20, &mut |_| {}).unwrap();
        assert!(report.count > 0);
        core.checkpoint().unwrap();
        self.core = core;
    }

    pub fn disk_blocks(&self) -> u64 {
        use media::Disk;
        self.disk.block_count()
    }

    pub fn create(&mut self, blocks: u64) -> ObjectId {
        let id = self.core.new_object_id();
        self.change(CatalogChange::CreateVolume { id, size_bytes: blocks * BLOCK }).unwrap();
        id
    }

    pub fn clone_of(&mut self, source: ObjectId, kind: ObjectKind) -> Result<ObjectId, Failure> {
        let id = self.core.new_object_id();
        self.change(CatalogChange::CloneObject { source, id, kind })?;
        Ok(id)
    }

    pub fn delete(&mut self, id: ObjectId) {
        self.change(CatalogChange::DeleteObject { id }).unwrap();
    }

    pub fn reserve(&mut self, id: ObjectId, overwrite_percent: u8) -> Result<(), Failure> {
        let reservation = Some(Reservation { overwrite_percent });
        self.change(CatalogChange::SetReservation { id, reservation })
    }

    pub fn change(&mut self, change: CatalogChange) -> Result<(), Failure> {
        self.run(Operation::Catalog(vec![change])).map(|_| ())
    }

    /// Writes `count` blocks filled with `byte`.
    pub fn write(&mut self, object: ObjectId, block: u64, count: u64, byte: u8) -> Result<(), Failure> {
        let data = Bytes::from(vec![byte; (count * BLOCK) as usize]);
        self.run(Operation::Write { object, offset: block * BLOCK, data, forced: false }).map(|_| ())
    }

    pub fn zero(&mut self, object: ObjectId, block: u64, count: u64) -> Result<(), Failure> {
        let ranges = vec![ByteRange::new(block * BLOCK, count * BLOCK)];
        self.run(Operation::Zero { object, ranges, forced: false }).map(|_| ())
    }

    pub fn copy(&mut self, from: (ObjectId, u64), to: (ObjectId, u64), count: u64) -> Result<(), Failure> {
        let operation = Operation::Clone {
            source: from.0,
            source_offset: from.1 * BLOCK,
            destination: to.0,
            destination_offset: to.1 * BLOCK,
            length: count * BLOCK,
        };
        self.run(operation).map(|_| ())
    }

    pub fn read(&mut self, object: ObjectId, block: u64, count: u64) -> Result<Bytes, Failure> {
        let length = (count * BLOCK) as usize;
        match self.run(Operation::Read { object, offset: block * BLOCK, length })? {
            Output::Data(data) => Ok(data),
            other => panic!("{other:?}"),
        }
    }

    pub fn unique(&mut self, objects: &[ObjectId]) -> u64 {
        match self.run(Operation::Unique { objects: objects.to_vec() }).unwrap() {
            Output::Bytes(bytes) => bytes / BLOCK,
            other => panic!("{other:?}"),
        }
    }

    /// Gives back all detached sub-trees and takes checkpoints until no block is pinned.
    pub fn settle(&mut self) {
        for _ in 0..100_000 {
            self.core.pump(64);
            if !self.core.wants_turn() {
                break;
            }
        }
        assert!(!self.core.wants_turn());
        for _ in 0..3 {
            self.core.checkpoint().unwrap();
        }
    }

    /// Number of data blocks in use.
    pub fn data_blocks(&mut self) -> u64 {
        let space = self.core.space();
        (space.used_bytes - space.metadata_bytes) / BLOCK
    }

    pub fn assert_clean(&mut self) {
        let report = self.core.check(true, &mut |_| {}).unwrap();
        assert_eq!(report.findings, Vec::<String>::new());
    }

    /// Cuts the power and opens the pool again.
    pub fn crash(self) -> Self {
        let disk = self.disk.crash();
        let media = LocalMedia::open(disk.clone()).unwrap();
        let incarnation = self.incarnation + 1;
        let (core, _) = Core::open(media, options(incarnation), &mut |_| {}).unwrap();
        Self { disk, core, incarnation, finished: Vec::new() }
    }
}

pub fn options(incarnation: u64) -> Options {
    Options { memory_bytes: 16 << 20, incarnation, destage_batch: 64, ..Options::default() }
}
