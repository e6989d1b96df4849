//! A pool on a simulated disk, for shares.

use crate::{PoolEngine, PoolFiles};
use bytes::Bytes;
use files::{Files, Object, Root};
use media::{FormatOptions, LocalMedia, SimDisk, SimOptions};
use pool::{
    ADDRESS_SPACE_BYTES, Catalog, CatalogChange, Core, ObjectId, ObjectKind, Options, Pool, PoolError, PoolSpace,
};
use random::Random;
use std::future::Future;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use vfs::{FsError, SpaceReason, Timestamp};

pub(super) type Media = LocalMedia<SimDisk>;
pub(super) type Share = PoolFiles<Media>;

/// Bytes of the log.
const LOG_BYTES: u64 = 8 << 20;
/// Size of the volume that fills a pool.
const FILLER_BYTES: u64 = 1 << 40;

pub(super) fn root() -> Root {
    Root { mode: 0o755, user: 0, group: 0, born: Timestamp::default() }
}

/// Pool with the engine of shares above it.
pub(super) struct Rig {
    pub(super) disk: SimDisk,
    pub(super) engine: PoolEngine<Media>,
    random: Rc<Random>,
    memory_bytes: usize,
    incarnation: u64,
    /// Volume that takes the space which should not be left, and its blocks in use.
    filler: Option<(ObjectId, u64)>,
}

fn open(disk: &SimDisk, memory_bytes: usize, incarnation: u64) -> Pool<Media> {
    let options = Options { memory_bytes, incarnation, destage_batch: 64, ..Options::default() };
    let media = LocalMedia::open(disk.clone()).unwrap_or_else(|error| panic!("{error}"));
    let (core, _) = Core::open(media, options, &mut |_| {}).unwrap_or_else(|error| panic!("{error}"));
    Pool::new(core)
}

fn engine(pool: Pool<Media>, random: &Rc<Random>) -> PoolEngine<Media> {
    let random = Rc::clone(random);
    PoolEngine::new(pool, move || {
        let mut bytes = [0; 16];
        random.fill(&mut bytes);
        bytes
    })
}

impl Rig {
    /// Formats a disk of `blocks` blocks. The pool has `memory_bytes` of memory.
    pub(super) fn new(seed: u64, blocks: u64, memory_bytes: usize) -> Self {
        let random = Rc::new(Random::new(seed));
        // Little memory comes with a disk that is slow, and answers in any order.
        let options =
            if memory_bytes < 1 << 20 { SimOptions::new(seed, blocks) } else { SimOptions::immediate(seed, blocks) };
        let disk = SimDisk::new(options);
        let uuid = [7; 16];
        let format = FormatOptions { uuid, log_bytes: LOG_BYTES, root: pool::initial_root(uuid), overwrite: false };
        LocalMedia::format(disk.clone(), format).unwrap_or_else(|error| panic!("{error}"));
        let engine = engine(open(&disk, memory_bytes, 1), &random);
        Self { disk, engine, random, memory_bytes, incarnation: 1, filler: None }
    }

    pub(super) fn pool(&self) -> &Pool<Media> {
        self.engine.pool()
    }

    /// Runs the pool for a turn.
    pub(super) fn turn(&self) {
        self.pool().pump(1);
    }

    /// Polls a call until it returns, and runs the pool meanwhile.
    pub(super) fn end<T>(&self, future: impl Future<Output = T>) -> T {
        self.end_within(future, 1_000_000).unwrap_or_else(|| panic!("a call never returns"))
    }

    /// Polls a call some times. `None`: it was given up before it returned.
    pub(super) fn end_within<T>(&self, future: impl Future<Output = T>, polls: u64) -> Option<T> {
        let mut future = pin!(future);
        for _ in 0..polls {
            if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                return Some(output);
            }
            self.turn();
        }
        None
    }

    pub(super) fn commit(&self, change: CatalogChange) -> Result<(), PoolError> {
        self.end(self.pool().commit(vec![change]))
    }

    /// Creates an empty share.
    pub(super) fn share(&self) -> Share {
        let id = self.pool().new_object_id();
        let created = self.commit(CatalogChange::CreateVolume { id, size_bytes: ADDRESS_SPACE_BYTES });
        assert_eq!(created, Ok(()));
        Files::open(self.engine.clone(), Object(id.0), root(), false)
    }

    /// Takes a snapshot of a share.
    pub(super) fn snapshot(&self, share: &Share) -> Result<Share, FsError> {
        let id = self.pool().new_object_id();
        let source = ObjectId(share.object().0);
        let cloned = self.commit(CatalogChange::CloneObject { source, id, kind: ObjectKind::Snapshot });
        cloned.map_err(|_| FsError::NoSpace(SpaceReason::Promise))?;
        Ok(Files::open(self.engine.clone(), Object(id.0), root(), true))
    }

    /// Opens the pool again, with what is on the disk, or with what is durable for certain.
    pub(super) fn restart(&mut self, crash: bool) {
        if crash {
            self.disk = self.disk.crash();
        } else {
            let checkpointed = self.pool().with_core(Core::checkpoint);
            assert_eq!(checkpointed, Ok(()));
        }
        self.incarnation += 1;
        self.engine = engine(open(&self.disk, self.memory_bytes, self.incarnation), &self.random);
    }

    /// Opens a share again after a restart.
    pub(super) fn reopened(&self, share: &Share) -> Share {
        let read_only = vfs::FileSystem::read_only(share);
        Files::open(self.engine.clone(), share.object(), root(), read_only)
    }

    /// Bytes that new content can take.
    pub(super) fn space(&self) -> PoolSpace {
        self.pool().space()
    }

    /// Makes all freed space free.
    pub(super) fn settle(&self) {
        for _ in 0..1000 {
            if !self.pool().pump(64) {
                break;
            }
        }
        for _ in 0..3 {
            assert_eq!(self.pool().with_core(Core::checkpoint), Ok(()));
        }
    }

    /// Fills the pool until at most `bytes` are left for new content.
    pub(super) fn leave(&mut self, bytes: u64) {
        self.settle();
        let (id, mut used) = self.filler.unwrap_or_else(|| {
            let id = self.pool().new_object_id();
            assert_eq!(self.commit(CatalogChange::CreateVolume { id, size_bytes: FILLER_BYTES }), Ok(()));
            (id, 0)
        });
        let volume = self.pool().volume(id);
        let mut most: u64 = 256;
        loop {
            let excess = self.space().available_bytes(0).saturating_sub(bytes) / 4096;
            if excess == 0 {
                break;
            }
            let blocks = excess.min(most);
            let data = Bytes::from(vec![used as u8 | 1; blocks as usize * 4096]);
            let extent = block::Extent::new(used * 8, blocks * 8);
            use block::BlockDevice;
            match self.end(volume.write(extent, data, block::Durability::Forced)) {
                Ok(()) => used += blocks,
                Err(block::BlockError::PoolFull) if blocks > 1 => most = blocks / 2,
                Err(block::BlockError::PoolFull) => break,
                Err(error) => panic!("the filler cannot be written: {error}"),
            }
        }
        self.filler = Some((id, used));
    }

    /// The pool is what it should be, once no request is in flight.
    pub(super) fn assert_clean(&self) {
        for _ in 0..1_000_000 {
            if self.pool().with_core(|core| core.idle()) {
                break;
            }
            self.turn();
        }
        let report = self.pool().with_core(|core| core.check(true, &mut |_| {}));
        let report = report.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(report.findings, Vec::<String>::new());
    }
}
