//! A guest that verifies its data: several requests in flight, mostly writes, each block with its
//! place and a version. A read must return the last acknowledged version, or the version of a
//! write that is in flight or has failed.

use crate::mirror::Mirror;
use bytes::Bytes;
use data_mover::{Clock, Device};
use datastore::DatastoreError;
use random::Random;
use random::sector::{self, Content, SECTOR_BYTES};
use std::cell::{Cell, RefCell};
use std::time::Duration;
use thiserror::Error;

/// Parameters of the guest's load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadOptions {
    /// Seed of the sequence of requests.
    pub seed: u64,
    /// Requests in flight.
    pub depth: u64,
    /// Size of a block in bytes: whole sectors.
    pub block_bytes: u64,
    /// Largest number of blocks per request.
    pub request_blocks: u64,
    /// Percentage of requests that are writes.
    pub write_percent: u64,
    /// Pause between two requests of a task.
    pub pause: Duration,
}

impl Default for LoadOptions {
    fn default() -> Self {
        Self { seed: 1, depth: 4, block_bytes: 4096, request_blocks: 8, write_percent: 70, pause: Duration::ZERO }
    }
}

/// Error found by the guest.
#[derive(Debug, Error)]
pub enum LoadError {
    /// A block holds another version than the acknowledged one.
    #[error("lost write: block {block} holds version {found}, but version {acknowledged} was acknowledged")]
    Lost {
        /// Number of the block.
        block: u64,
        /// Version read.
        found: u64,
        /// Version acknowledged.
        acknowledged: u64,
    },
    /// A block holds data that the guest never wrote there.
    #[error("block {block} holds data that was never written there")]
    Foreign {
        /// Number of the block.
        block: u64,
    },
    /// A request failed.
    #[error(transparent)]
    Disk(#[from] DatastoreError),
}

/// End time and duration of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// End time by the clock of the host.
    pub ended: Duration,
    /// Duration.
    pub took: Duration,
    /// Whether it was a write.
    pub write: bool,
}

/// Versions of a block: the last acknowledged one, and one that may be there instead.
#[derive(Clone, Copy, Debug, Default)]
struct Block {
    acknowledged: u64,
    /// Version of a write that is in flight or has failed; 0 for none.
    doubtful: u64,
}

/// A guest that verifies its data.
pub struct Load {
    options: LoadOptions,
    blocks: RefCell<Vec<Block>>,
    samples: RefCell<Vec<Sample>>,
    next_version: Cell<u64>,
    stop: Cell<bool>,
}

/// Content of a block; version 0 is zeros.
fn content(seed: u64, block: u64, version: u64, bytes: u64) -> Vec<u8> {
    match version {
        0 => vec![0; usize::try_from(bytes).unwrap_or(0)],
        version => sector::stamped(seed, block * bytes, bytes, version),
    }
}

impl Load {
    /// Creates a guest of a disk of `size` bytes that reads as zeros.
    pub fn new(options: LoadOptions, size: u64) -> Self {
        let blocks = usize::try_from(size / options.block_bytes.max(1)).unwrap_or(0);
        Self {
            options,
            blocks: RefCell::new(vec![Block::default(); blocks]),
            samples: RefCell::default(),
            next_version: Cell::new(1),
            stop: Cell::new(false),
        }
    }

    /// Makes [`Self::run`] return once the requests in flight have ended.
    pub fn stop(&self) {
        self.stop.set(true);
    }

    /// All requests so far.
    pub fn samples(&self) -> Vec<Sample> {
        self.samples.borrow().clone()
    }

    /// Writes every block once; ends early when `stop` returns true.
    pub async fn fill<D: Device>(&self, disk: &Mirror<D>, stop: &dyn Fn() -> bool) -> Result<(), LoadError> {
        let blocks = self.blocks.borrow().len() as u64;
        let step = ((1 << 20) / self.options.block_bytes).max(1);
        for first in (0..blocks).step_by(usize::try_from(step).unwrap_or(1)) {
            if stop() {
                break;
            }
            self.write(disk, first, step.min(blocks - first)).await?;
        }
        Ok(())
    }

    /// Reads and writes until [`Self::stop`] is called or an error is found.
    pub async fn run<D: Device>(&self, disk: &Mirror<D>, clock: &dyn Clock) -> Result<(), LoadError> {
        let tasks = (0..self.options.depth.max(1)).map(|task| self.task(disk, clock, task));
        futures_util::future::try_join_all(tasks).await.map(drop)
    }

    /// Sends one request at a time. Each task has every `depth`-th run of blocks to itself.
    async fn task<D: Device>(&self, disk: &Mirror<D>, clock: &dyn Clock, task: u64) -> Result<(), LoadError> {
        let options = &self.options;
        let random = Random::new(options.seed ^ task << 48);
        let each = options.request_blocks.max(1);
        let runs = self.blocks.borrow().len() as u64 / each / options.depth.max(1);
        if runs == 0 {
            return Ok(());
        }
        while !self.stop.get() {
            let run = random.below(runs) * options.depth.max(1) + task;
            let from = random.below(each);
            let count = 1 + random.below(each - from);
            let write = random.below(100) < options.write_percent;
            let begun = clock.now();
            match write {
                true => self.write(disk, run * each + from, count).await?,
                false => self.check(disk, run * each + from, count).await?,
            }
            let ended = clock.now();
            self.samples.borrow_mut().push(Sample { ended, took: ended.saturating_sub(begun), write });
            if !options.pause.is_zero() {
                clock.sleep(options.pause).await;
            }
        }
        Ok(())
    }

    async fn write<D: Device>(&self, disk: &Mirror<D>, first: u64, count: u64) -> Result<(), LoadError> {
        let version = self.next_version.replace(self.next_version.get() + 1);
        let bytes = self.options.block_bytes;
        let mut data = Vec::new();
        for block in first..first + count {
            data.extend(content(self.options.seed, block, version, bytes));
        }
        let set = |change: fn(&mut Block, u64)| {
            let mut blocks = self.blocks.borrow_mut();
            for block in blocks.iter_mut().skip(usize::try_from(first).unwrap_or(usize::MAX)).take(count as usize) {
                change(block, version);
            }
        };
        set(|block, version| block.doubtful = version);
        disk.write(first * bytes, Bytes::from(data)).await?;
        set(|block, version| *block = Block { acknowledged: version, doubtful: 0 });
        Ok(())
    }

    async fn check<D: Device>(&self, disk: &Mirror<D>, first: u64, count: u64) -> Result<(), LoadError> {
        let bytes = self.options.block_bytes;
        let data = disk.read(first * bytes, count * bytes).await?;
        let blocks = self.blocks.borrow();
        let known = blocks.iter().skip(usize::try_from(first).unwrap_or(usize::MAX));
        for ((block, found), known) in (first..).zip(data.chunks(usize::try_from(bytes).unwrap_or(1))).zip(known) {
            let is = |version: u64| found == content(self.options.seed, block, version, bytes);
            if is(known.acknowledged) || known.doubtful != 0 && is(known.doubtful) {
                continue;
            }
            let version = match Content::of(found.get(..SECTOR_BYTES).unwrap_or(found)) {
                Content::Zeros => Some(0),
                Content::Stamped(stamp) => Some(stamp.generation),
                _ => None,
            };
            return Err(match version.filter(|version| is(*version)) {
                Some(found) => LoadError::Lost { block, found, acknowledged: known.acknowledged },
                None => LoadError::Foreign { block },
            });
        }
        Ok(())
    }

    /// Reads all blocks and compares them with the acknowledged versions.
    pub async fn verify<D: Device>(&self, disk: &Mirror<D>) -> Result<(), LoadError> {
        let blocks = self.blocks.borrow().len() as u64;
        let step = ((1 << 20) / self.options.block_bytes).max(1);
        for first in (0..blocks).step_by(usize::try_from(step).unwrap_or(1)) {
            self.check(disk, first, step.min(blocks - first)).await?;
        }
        Ok(())
    }
}
