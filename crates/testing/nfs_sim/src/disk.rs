//! File systems that a server serves, and what a crash leaves of them.

use crate::rules;
use files::{Files, Root};
use random::Random;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use vfs::memory::{MemoryEngine, MemoryFileSystem};
use vfs::{FileSystem, FsError, Timestamp};

/// Most polls of a call of the file system.
const MOST_POLLS: u32 = 1_000_000;

/// A medium with one file system.
pub(crate) trait Disk {
    /// The file system in one run of the server.
    type Files: FileSystem + 'static;

    /// An empty one.
    fn new(seed: u64) -> Self;

    /// The file system after a start.
    fn open(&self) -> Self::Files;

    /// The server has crashed: what is not durable may be lost.
    fn crash(&self, random: &Random);
}

/// The file system in memory.
pub(crate) struct MemoryDisk(MemoryFileSystem);

impl Disk for MemoryDisk {
    type Files = MemoryFileSystem;

    fn new(_: u64) -> Self {
        let engine = MemoryEngine::new(rules::lie());
        engine.stutter();
        engine.expect_crashes();
        Self(engine.create(time(0)))
    }

    fn open(&self) -> MemoryFileSystem {
        self.0.clone()
    }

    fn crash(&self, _: &Random) {
        self.0.engine().restart(true);
    }
}

/// The file system of shares, over its engine in memory.
pub(crate) struct TreeDisk {
    engine: files::testing::MemoryEngine,
    object: files::Object,
}

impl Disk for TreeDisk {
    type Files = Files<files::testing::MemoryEngine>;

    fn new(seed: u64) -> Self {
        let engine = files::testing::MemoryEngine::new(seed, true);
        let object = engine.create();
        Self { engine, object }
    }

    fn open(&self) -> Self::Files {
        let root = Root { mode: 0o755, user: 0, group: 0, born: time(0) };
        Files::open(self.engine.clone(), self.object, root, false)
    }

    fn crash(&self, random: &Random) {
        self.engine.restart(random.index(self.engine.pending() + 1));
    }
}

/// Time of day, in seconds after the start of the simulation.
pub(crate) fn time(seconds: u32) -> Timestamp {
    Timestamp::new(1_000_000 + i64::from(seconds), 0).unwrap_or_default()
}

/// Result of a call to a file system that nothing else uses.
pub(crate) fn end<T>(call: impl Future<Output = Result<T, FsError>>) -> Result<T, FsError> {
    let mut call = pin!(call);
    for _ in 0..MOST_POLLS {
        if let Poll::Ready(result) = call.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return result;
        }
    }
    Err(FsError::Stopped { reason: "a call never returns".to_owned() })
}
