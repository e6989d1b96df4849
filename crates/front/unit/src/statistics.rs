//! Counters and latencies of the commands of a volume or share.

use crate::latency::LatencyHistogram;
use crate::offload::{OffloadStatistics, VolumeOffload};
use crate::primitive::Primitive;
use block::VolumeId;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

/// Counters of a volume's reads and writes since it was added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IoStatistics {
    /// Completed reads.
    pub reads: u64,
    /// Bytes that reads returned.
    pub read_bytes: u64,
    /// Completed writes. In SCSI: WRITE, WRITE AND VERIFY, WRITE ATOMIC and ORWRITE.
    pub writes: u64,
    /// Bytes that writes stored.
    pub written_bytes: u64,
    /// Commands refused because of a reservation.
    pub reservation_conflicts: u64,
}

/// Latencies of the commands that [`IoStatistics`] counts, from admission to completion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IoLatency {
    /// Reads.
    pub read: LatencyHistogram,
    /// Writes.
    pub write: LatencyHistogram,
}

/// Direction of a command that [`IoStatistics`] counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Io {
    /// A read.
    Read,
    /// A write.
    Write,
}

impl IoLatency {
    /// Records the latency of one command.
    pub fn record(&mut self, io: Io, latency_ns: u64) {
        match io {
            Io::Read => self.read.record(latency_ns),
            Io::Write => self.write.record(latency_ns),
        }
    }
}

/// The units whose counters or reservations changed since they were taken, each once.
#[derive(Clone, Debug, Default)]
pub struct UsedUnits(Rc<RefCell<Vec<VolumeId>>>);

impl UsedUnits {
    /// At most `most` of them. Its [`Statistics::reported`] has to follow for each.
    pub fn take(&self, most: usize) -> Vec<VolumeId> {
        let mut used = self.0.borrow_mut();
        let kept = used.len().saturating_sub(most);
        used.split_off(kept)
    }
}

/// All counters of one volume or share.
#[derive(Debug)]
pub struct Statistics {
    volume: VolumeId,
    used: UsedUnits,
    /// The volume is among the used units.
    is_used: Cell<bool>,
    io: Cell<IoStatistics>,
    latency: RefCell<IoLatency>,
    /// Commands of any kind in flight.
    in_flight: Cell<u64>,
    offload: RefCell<BTreeMap<Primitive, OffloadStatistics>>,
}

/// Command in flight, from [`Statistics::enter`] until it is dropped.
#[derive(Debug)]
pub struct CommandInFlight<'a>(&'a Statistics);

impl Drop for CommandInFlight<'_> {
    fn drop(&mut self) {
        self.0.note_use();
        self.0.in_flight.set(self.0.in_flight.get().saturating_sub(1));
    }
}

impl Statistics {
    /// The counters of a volume or share, which is named in `used` when they change.
    pub fn new(volume: VolumeId, used: UsedUnits) -> Self {
        Self {
            volume,
            used,
            is_used: Cell::new(false),
            io: Cell::default(),
            latency: RefCell::default(),
            in_flight: Cell::new(0),
            offload: RefCell::default(),
        }
    }

    /// Names the volume among the used units: its counters or reservations change.
    #[inline]
    pub fn note_use(&self) {
        if !self.is_used.replace(true) {
            self.used.0.borrow_mut().push(self.volume);
        }
    }

    /// The volume was taken from the used units.
    pub fn reported(&self) {
        self.is_used.set(false);
    }

    /// Reads and writes so far.
    pub fn io(&self) -> IoStatistics {
        self.io.get()
    }

    /// Latencies of reads and writes so far.
    pub fn latency(&self) -> IoLatency {
        self.latency.borrow().clone()
    }

    /// Counters of each offload primitive that was used, in the order of [`Primitive::ALL`].
    pub fn offload(&self) -> BTreeMap<Primitive, OffloadStatistics> {
        self.offload.borrow().clone()
    }

    /// Counters of each offload primitive that was used, with the name of the volume or share.
    pub fn offload_rows(&self, name: &str, deleted: bool) -> Vec<VolumeOffload> {
        let row = |(primitive, statistics)| VolumeOffload {
            volume: self.volume,
            name: name.to_owned(),
            deleted,
            primitive,
            statistics,
        };
        self.offload().into_iter().map(row).collect()
    }

    /// Commands in flight.
    pub fn commands_in_flight(&self) -> u64 {
        self.in_flight.get()
    }

    /// Counts a command as in flight until the result is dropped.
    pub fn enter(&self) -> CommandInFlight<'_> {
        self.note_use();
        self.in_flight.set(self.in_flight.get() + 1);
        CommandInFlight(self)
    }

    /// Counts a read of `bytes`.
    pub fn count_read(&self, bytes: u64) {
        self.count(|io| {
            io.reads += 1;
            io.read_bytes += bytes;
        });
    }

    /// Counts a write of `bytes`.
    pub fn count_write(&self, bytes: u64) {
        self.count(|io| {
            io.writes += 1;
            io.written_bytes += bytes;
        });
    }

    /// Counts a command that was refused because of a reservation.
    pub fn count_conflict(&self) {
        self.count(|io| io.reservation_conflicts += 1);
    }

    fn count(&self, change: impl FnOnce(&mut IoStatistics)) {
        self.note_use();
        let mut io = self.io.get();
        change(&mut io);
        self.io.set(io);
    }

    /// Records the latency of a read or write.
    pub fn record_latency(&self, io: Io, latency_ns: u64) {
        self.latency.borrow_mut().record(io, latency_ns);
    }

    /// Changes the counters of a primitive.
    pub fn account(&self, primitive: Primitive, change: impl FnOnce(&mut OffloadStatistics)) {
        self.note_use();
        change(self.offload.borrow_mut().entry(primitive).or_default());
    }
}
