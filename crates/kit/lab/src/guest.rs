//! A guest: a load on a virtual disk that knows its writes, and verifies every read.

use crate::bench::Bench;
use crate::content::{GRAIN, Ledger, stamped};
use crate::error::LabError;
use crate::host::Disk;
use crate::latency::Latency;
use crate::outcome::Round;
use crate::results::{Better, Unit};
use data_mover::Clock;
use futures_util::future;
use random::Random;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashSet};
use std::rc::Rc;
use std::time::Duration;

/// Order of the operations' offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Ascending from `from` on, starting over at the end of the disk.
    Sequential { from: u64 },
    /// Random offsets.
    Random,
}

/// Parameters of a guest's load.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    /// Number of operations in flight.
    pub(crate) depth: usize,
    pub(crate) order: Order,
    /// Percentage of operations that read.
    pub(crate) reads_percent: u64,
    /// Least and largest size of an operation in bytes; multiples of [`GRAIN`].
    pub(crate) bytes: (u64, u64),
    /// Pause between the end of an operation and the next one.
    pub(crate) pause: Duration,
}

impl Load {
    /// Sequential reads of 4 KiB without pauses.
    pub(crate) fn sequential_reads(depth: usize) -> Self {
        Self {
            depth,
            order: Order::Sequential { from: 0 },
            reads_percent: 100,
            bytes: (GRAIN, GRAIN),
            pause: Duration::ZERO,
        }
    }
}

/// Conditions for a guest to stop; the first one that holds counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Until {
    /// Set by the caller.
    pub(crate) flag: Rc<Cell<bool>>,
    /// Time of the clock.
    pub(crate) deadline: Option<Duration>,
    /// Number of operations of this run.
    pub(crate) operations: Option<u64>,
    /// The end of the disk, for a sequential load.
    pub(crate) end_of_disk: bool,
}

/// Operations over time.
#[derive(Debug)]
struct Series {
    begin: Duration,
    bucket: Duration,
    counts: Vec<u64>,
}

/// A guest on a virtual disk.
pub(crate) struct Guest {
    pub(crate) ledger: Ledger,
    disk: RefCell<Option<Rc<Disk>>>,
    load: Load,
    random: Random,
    clock: Rc<dyn Clock>,
    /// Grains of operations in flight: these never overlap, so that each read has one right answer.
    busy: RefCell<HashSet<u64>>,
    cursor: Cell<u64>,
    paused: Cell<bool>,
    in_flight: Cell<u32>,
    started: Cell<u64>,
    pub(crate) reads: Rc<Latency>,
    pub(crate) writes: Rc<Latency>,
    bytes: Cell<u64>,
    /// Chunks written while the disk is being copied; `None` when not tracked.
    dirty: RefCell<Option<BTreeSet<u64>>>,
    series: RefCell<Option<Series>>,
    /// Whether operations are counted.
    counting: Cell<bool>,
}

/// Size of a chunk of tracked writes, in bytes.
pub(crate) const DIRTY_BYTES: u64 = 64 << 10;
/// Period of checks while waiting.
const POLL_PERIOD: Duration = Duration::from_micros(500);

impl Guest {
    pub(crate) fn new(bench: &Bench, disk: Disk, ledger: Ledger, load: Load) -> Self {
        Self::sharing(bench, disk, ledger, load, (Rc::default(), Rc::default()))
    }

    /// Creates a guest whose reads and writes are counted together with those of other guests.
    pub(crate) fn sharing(
        bench: &Bench,
        disk: Disk,
        ledger: Ledger,
        load: Load,
        (reads, writes): (Rc<Latency>, Rc<Latency>),
    ) -> Self {
        let from = if let Order::Sequential { from } = load.order { from } else { 0 };
        Self {
            random: Random::new(ledger.seed),
            ledger,
            disk: RefCell::new(Some(Rc::new(disk))),
            load,
            clock: bench.clock.clone(),
            busy: RefCell::default(),
            cursor: Cell::new(from),
            paused: Cell::new(false),
            in_flight: Cell::new(0),
            started: Cell::new(0),
            reads,
            writes,
            bytes: Cell::new(0),
            dirty: RefCell::default(),
            series: RefCell::default(),
            counting: Cell::new(true),
        }
    }

    /// The disk, unless it was taken away.
    pub(crate) fn disk(&self) -> Result<Rc<Disk>, LabError> {
        self.disk.borrow().clone().ok_or_else(|| LabError::Impossible("the guest has no disk".into()))
    }

    /// Gives the guest another disk, and returns the former one.
    pub(crate) fn replace_disk(&self, disk: Option<Disk>) -> Option<Rc<Disk>> {
        self.disk.replace(disk.map(Rc::new))
    }

    /// Runs the load.
    ///
    /// Errors: [`LabError::WrongData`] at the first read of unexpected data.
    pub(crate) async fn run(&self, until: &Until) -> Result<(), LabError> {
        self.started.set(0);
        future::try_join_all((0..self.load.depth.max(1)).map(|_| self.work(until))).await.map(drop)
    }

    /// Runs the load for a time.
    pub(crate) async fn run_for(&self, time: Duration) -> Result<(), LabError> {
        self.run(&Until { deadline: Some(self.clock.now() + time), ..Until::default() }).await
    }

    async fn work(&self, until: &Until) -> Result<(), LabError> {
        loop {
            if until.flag.get() || until.deadline.is_some_and(|deadline| self.clock.now() >= deadline) {
                return Ok(());
            }
            if self.paused.get() {
                self.clock.sleep(POLL_PERIOD).await;
                continue;
            }
            if until.operations.is_some_and(|most| self.started.get() >= most) {
                return Ok(());
            }
            let disk = self.disk()?;
            let Some((offset, bytes)) = self.next_place(disk.size(), until.end_of_disk) else { return Ok(()) };
            if !self.claim(offset, bytes) {
                // Another operation is there: retries with another place.
                drop(disk);
                self.clock.sleep(POLL_PERIOD).await;
                continue;
            }
            self.started.set(self.started.get() + 1);
            self.in_flight.set(self.in_flight.get() + 1);
            let done = self.one(&disk, offset, bytes).await;
            drop(disk);
            self.in_flight.set(self.in_flight.get() - 1);
            self.release(offset, bytes);
            done?;
            if !self.load.pause.is_zero() {
                self.clock.sleep(self.load.pause).await;
            }
        }
    }

    fn next_place(&self, size: u64, end_of_disk: bool) -> Option<(u64, u64)> {
        let (least, most) = self.load.bytes;
        let bytes = least + self.random.below((most - least) / GRAIN + 1) * GRAIN;
        match self.load.order {
            Order::Random => {
                Some((self.random.below((size.saturating_sub(bytes)) / GRAIN + 1) * GRAIN, bytes.min(size)))
            }
            Order::Sequential { from } => {
                let at = self.cursor.get();
                if at + bytes > size {
                    if end_of_disk || from + bytes > size {
                        return None;
                    }
                    self.cursor.set(from + bytes);
                    return Some((from, bytes));
                }
                self.cursor.set(at + bytes);
                Some((at, bytes))
            }
        }
    }

    fn grains(offset: u64, bytes: u64) -> std::ops::Range<u64> {
        offset / GRAIN..(offset + bytes).div_ceil(GRAIN)
    }

    fn claim(&self, offset: u64, bytes: u64) -> bool {
        let mut busy = self.busy.borrow_mut();
        if Self::grains(offset, bytes).any(|grain| busy.contains(&grain)) {
            return false;
        }
        busy.extend(Self::grains(offset, bytes));
        true
    }

    fn release(&self, offset: u64, bytes: u64) {
        let mut busy = self.busy.borrow_mut();
        for grain in Self::grains(offset, bytes) {
            busy.remove(&grain);
        }
    }

    async fn one(&self, disk: &Disk, offset: u64, bytes: u64) -> Result<(), LabError> {
        if self.random.below(100) < self.load.reads_percent {
            self.read(disk, offset, bytes).await
        } else {
            self.write(disk, offset, bytes).await
        }
    }

    /// Reads and compares.
    pub(crate) async fn read(&self, disk: &Disk, offset: u64, bytes: u64) -> Result<(), LabError> {
        let (begun, counts) = (self.clock.now(), self.counting.get());
        let data = disk.read(offset, bytes).await?;
        self.count(&self.reads, (begun, counts), bytes);
        self.ledger.check(offset, &data)
    }

    /// Writes a new generation.
    pub(crate) async fn write(&self, disk: &Disk, offset: u64, bytes: u64) -> Result<(), LabError> {
        let generation = self.ledger.next_generation(offset, bytes);
        let data = stamped(self.ledger.seed, offset, bytes, generation);
        let (begun, counts) = (self.clock.now(), self.counting.get());
        disk.write(offset, data).await?;
        self.count(&self.writes, (begun, counts), bytes);
        self.ledger.wrote(offset, bytes, generation);
        if let Some(dirty) = self.dirty.borrow_mut().as_mut() {
            dirty.extend(offset / DIRTY_BYTES..(offset + bytes).div_ceil(DIRTY_BYTES));
        }
        Ok(())
    }

    fn count(&self, latency: &Latency, (begun, counts): (Duration, bool), bytes: u64) {
        let now = self.clock.now();
        if counts {
            latency.record(now.saturating_sub(begun));
            self.bytes.set(self.bytes.get() + bytes);
        }
        if let Some(series) = self.series.borrow_mut().as_mut() {
            let bucket = now.saturating_sub(series.begin).as_nanos() / series.bucket.as_nanos().max(1);
            let bucket = usize::try_from(bucket).unwrap_or(usize::MAX).min(100_000);
            if series.counts.len() <= bucket {
                series.counts.resize(bucket + 1, 0);
            }
            if let Some(count) = series.counts.get_mut(bucket) {
                *count += 1;
            }
        }
    }

    /// Sets whether operations that begin from now on count. Their end does not matter: an
    /// operation slowed by some work may end after it.
    pub(crate) fn set_counting(&self, counting: bool) {
        self.counting.set(counting);
    }

    /// Restarts a sequential load at its first offset.
    pub(crate) fn rewind(&self) {
        if let Order::Sequential { from } = self.load.order {
            self.cursor.set(from);
        }
    }

    /// Resets the counts, after the warm-up.
    pub(crate) fn reset(&self) {
        self.reads.reset();
        self.writes.reset();
        self.bytes.set(0);
    }

    /// Starts counting operations over time, in buckets of this length.
    pub(crate) fn start_series(&self, bucket: Duration) {
        self.series.replace(Some(Series { begin: self.clock.now(), bucket, counts: Vec::new() }));
    }

    /// Rate of operations over time: (seconds since the start, operations per second). The last,
    /// incomplete bucket is left out.
    pub(crate) fn take_series(&self) -> Vec<(f64, f64)> {
        let Some(series) = self.series.take() else { return Vec::new() };
        let length = series.bucket.as_secs_f64();
        let whole = series.counts.len().saturating_sub(1).max(1);
        let point = |(at, count): (usize, &u64)| (at as f64 * length, *count as f64 / length);
        series.counts.iter().take(whole).enumerate().map(point).collect()
    }

    /// Adds rates over `seconds`, and latencies.
    pub(crate) fn put(&self, round: &mut Round, seconds: f64) {
        let seconds = seconds.max(f64::MIN_POSITIVE);
        for (latency, kind) in [(&self.reads, "read"), (&self.writes, "write")] {
            if latency.count() > 0 {
                round.put(&format!("{kind}_iops"), Unit::PerSecond, Better::Higher, latency.count() as f64 / seconds);
                latency.put(round, &format!("{kind}_"));
            }
        }
        let rate = self.bytes.get() as f64 / seconds;
        round.put("bytes_per_second", Unit::BytesPerSecond, Better::Higher, rate);
    }

    /// Starts tracking written chunks.
    pub(crate) fn track(&self) {
        self.dirty.replace(Some(BTreeSet::new()));
    }

    /// Chunks of [`DIRTY_BYTES`] written since the last call; tracking ends if `last` is set.
    pub(crate) fn take_dirty(&self, last: bool) -> BTreeSet<u64> {
        let next = (!last).then(BTreeSet::new);
        self.dirty.replace(next).unwrap_or_default()
    }

    /// Holds new operations back, and returns when none is in flight.
    pub(crate) async fn pause(&self) {
        self.paused.set(true);
        while self.in_flight.get() > 0 {
            self.clock.sleep(POLL_PERIOD).await;
        }
    }

    /// Lets operations continue.
    pub(crate) fn resume(&self) {
        self.paused.set(false);
    }

    /// Closes the disk. No operation may be running.
    pub(crate) async fn close(self) -> Result<Ledger, LabError> {
        let Self { disk, ledger, .. } = self;
        if let Some(disk) = disk.into_inner() {
            crate::host::sole(disk)?.close().await?;
        }
        Ok(ledger)
    }
}
