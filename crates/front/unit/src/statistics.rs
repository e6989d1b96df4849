//! Counters and latencies of a volume's commands.

use crate::offload::{OffloadStatistics, Primitive};
use std::cell::{Cell, RefCell};

/// Latencies in buckets that double: bucket `i` counts those below 2^i microseconds that no smaller bucket counts; the last counts
/// everything longer too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LatencyHistogram {
    /// Counts, not cumulative.
    pub buckets: [u64; Self::BUCKETS],
    /// Number of latencies.
    pub count: u64,
    /// Their sum in nanoseconds.
    pub sum_ns: u64,
}

impl LatencyHistogram {
    /// Number of buckets: the last begins at 2^26 µs, about a minute.
    pub const BUCKETS: usize = 28;

    /// Upper bound of a bucket in microseconds, exclusive.
    pub const fn upper_bound_us(bucket: u32) -> u64 {
        1 << bucket
    }

    /// Adds one latency.
    pub fn record(&mut self, latency_ns: u64) {
        let us = latency_ns / 1000;
        let bucket = usize::try_from(u64::BITS - us.leading_zeros()).unwrap_or(usize::MAX).min(Self::BUCKETS - 1);
        if let Some(count) = self.buckets.get_mut(bucket) {
            *count += 1;
        }
        self.count += 1;
        self.sum_ns = self.sum_ns.saturating_add(latency_ns);
    }

    /// The upper bound in microseconds of the bucket that holds the given quantile (0 to 1); 0 when nothing was recorded.
    pub fn quantile_us(&self, quantile: f64) -> u64 {
        let mut below = 0u64;
        for (bucket, count) in (0u32..).zip(self.buckets) {
            below += count;
            if count > 0 && below as f64 >= quantile * self.count as f64 {
                return Self::upper_bound_us(bucket);
            }
        }
        0
    }
}

impl Default for LatencyHistogram {
    fn default() -> Self {
        Self { buckets: [0; Self::BUCKETS], count: 0, sum_ns: 0 }
    }
}

/// Reads and writes of a volume since it was added.
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

/// All counters of one volume.
#[derive(Debug, Default)]
pub struct Statistics {
    io: Cell<IoStatistics>,
    latency: RefCell<IoLatency>,
    /// Commands of any kind in flight.
    in_flight: Cell<u64>,
    offload: RefCell<[OffloadStatistics; Primitive::COUNT]>,
}

/// Command in flight, from [`Statistics::enter`] until it is dropped.
#[derive(Debug)]
pub struct CommandInFlight<'a>(&'a Cell<u64>);

impl Drop for CommandInFlight<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get().saturating_sub(1));
    }
}

impl Statistics {
    /// Reads and writes so far.
    pub fn io(&self) -> IoStatistics {
        self.io.get()
    }

    /// Latencies of reads and writes so far.
    pub fn latency(&self) -> IoLatency {
        self.latency.borrow().clone()
    }

    /// Counters of each offload primitive, in the order of [`Primitive::ALL`].
    pub fn offload(&self) -> [OffloadStatistics; Primitive::COUNT] {
        self.offload.borrow().clone()
    }

    /// Commands in flight.
    pub fn commands_in_flight(&self) -> u64 {
        self.in_flight.get()
    }

    /// Counts a command as in flight until the result is dropped.
    pub fn enter(&self) -> CommandInFlight<'_> {
        self.in_flight.set(self.in_flight.get() + 1);
        CommandInFlight(&self.in_flight)
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
        change(primitive.of_mut(&mut self.offload.borrow_mut()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_fall_into_doubling_buckets() {
        let mut histogram = LatencyHistogram::default();
        for ns in [0, 999, 1_000, 1_999, 2_000, 1_000_000, u64::MAX] {
            histogram.record(ns);
        }
        assert_eq!(histogram.buckets.get(..3), Some(&[2, 2, 1][..]));
        assert_eq!(histogram.buckets.get(10), Some(&1));
        assert_eq!(histogram.buckets.last(), Some(&1));
        assert_eq!(histogram.quantile_us(0.5), 2);
    }
}
