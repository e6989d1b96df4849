//! What hosts did since the array started, in all.

use crate::live::UnitFacts;
use std::collections::BTreeMap;
use std::time::Duration;
use unit::{IoLatency, IoStatistics, OffloadStatistics, Primitive};

/// Reads and writes of several volumes or shares.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IoTotals {
    /// Numbers.
    pub io: IoStatistics,
    /// Latencies.
    pub latency: IoLatency,
    /// Commands in flight.
    pub in_flight: u64,
}

/// Sums over volumes and shares, those that were deleted among them. Of a deleted one, what it did
/// after the last publication is not counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Reads and writes of volumes.
    pub volumes: IoTotals,
    /// Reads and writes of shares.
    pub shares: IoTotals,
    /// Primitives that were used.
    pub offload: BTreeMap<Primitive, OffloadStatistics>,
    /// Commands that ended with RESERVATION CONFLICT.
    pub reservation_conflicts: u64,
    /// Delays of commands by limits.
    pub held: HeldTotals,
}

/// Delays by the limits of volumes and hosts, also of those that have no policy any more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeldTotals {
    /// Commands that have waited and then began.
    pub commands: u64,
    /// Time that they waited, together.
    pub time: Duration,
    /// Commands that wait now.
    pub waiting: u64,
}

impl HeldTotals {
    /// Adds all volumes and hosts of a report.
    pub(crate) fn add_all(&mut self, report: &qos::Report) {
        for held in report.volumes.values().chain(report.hosts.values()) {
            self.commands = self.commands.saturating_add(held.commands);
            self.time = self.time.saturating_add(held.time);
            self.waiting = self.waiting.saturating_add(held.waiting);
        }
    }

    /// Adds the volumes and hosts that have no policy any more, or that had none in between: their counts have ended or
    /// begun anew.
    pub(crate) fn add_ended(&mut self, before: &qos::Report, after: &qos::Report) {
        let volumes = before.volumes.iter().map(|(volume, held)| (held, after.volumes.get(volume)));
        let hosts = before.hosts.iter().map(|(host, held)| (held, after.hosts.get(host)));
        for (held, after) in volumes.chain(hosts) {
            if after.is_none_or(|after| after.commands < held.commands) {
                self.commands = self.commands.saturating_add(held.commands);
                self.time = self.time.saturating_add(held.time);
            }
        }
    }
}

impl IoTotals {
    fn add(&mut self, io: &IoStatistics, latency: &IoLatency) {
        self.io.reads = self.io.reads.saturating_add(io.reads);
        self.io.writes = self.io.writes.saturating_add(io.writes);
        self.io.read_bytes = self.io.read_bytes.saturating_add(io.read_bytes);
        self.io.written_bytes = self.io.written_bytes.saturating_add(io.written_bytes);
        self.io.reservation_conflicts = self.io.reservation_conflicts.saturating_add(io.reservation_conflicts);
        self.latency.read.merge(&latency.read);
        self.latency.write.merge(&latency.write);
    }
}

impl Totals {
    /// Adds a volume or share.
    pub(crate) fn add(&mut self, is_share: bool, unit: &UnitFacts) {
        if let Some(counters) = &unit.counters {
            let io = if is_share { &mut self.shares } else { &mut self.volumes };
            io.add(&counters.io, &counters.latency);
            io.in_flight = io.in_flight.saturating_add(counters.queue_depth);
        }
        for row in &unit.offload {
            self.offload.entry(row.primitive).or_default().merge(&row.counters);
        }
        self.reservation_conflicts = self.reservation_conflicts.saturating_add(unit.reservations.conflicts);
    }

    /// Adds a volume or share that is deleted.
    pub(crate) fn add_deleted(&mut self, is_share: bool, unit: &UnitFacts) {
        let in_flight = (self.volumes.in_flight, self.shares.in_flight);
        self.add(is_share, unit);
        (self.volumes.in_flight, self.shares.in_flight) = in_flight;
    }
}
