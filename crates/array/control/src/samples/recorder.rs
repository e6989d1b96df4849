//! Making of samples: differences of counters since the last one.

use super::ring::{ArraySample, IoSample, MAX_UNITS, PrimitiveSample, Sample, Samples};
use crate::live::{OffloadRow, SessionInfo, UnitFacts};
use jiff::Timestamp;
use pool::ObjectId;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use unit::{IoStatistics, LatencyHistogram, OffloadStatistics, Primitive};

/// Samples, and what happened since the last one.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    samples: Samples,
    pending: Pending,
}

/// Activity since the last sample.
#[derive(Debug, Default)]
struct Pending {
    since: Timestamp,
    io: Io,
    units: BTreeMap<ObjectId, Io>,
    primitives: BTreeMap<Primitive, Offload>,
    received_bytes: u64,
    sent_bytes: u64,
    /// Processor time of the threads that serve hosts, at the last sample; absent before the first.
    processor_ns: Option<u64>,
}

/// Reads and writes since the last sample.
#[derive(Clone, Debug, Default)]
struct Io {
    counters: IoStatistics,
    latency: LatencyHistogram,
}

/// One primitive since the last sample.
#[derive(Debug, Default)]
struct Offload {
    sample: PrimitiveSample,
    latency: LatencyHistogram,
}

fn narrow(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

impl Io {
    fn add(&mut self, other: &Self) {
        self.counters.reads += other.counters.reads;
        self.counters.writes += other.counters.writes;
        self.counters.read_bytes = self.counters.read_bytes.saturating_add(other.counters.read_bytes);
        self.counters.written_bytes = self.counters.written_bytes.saturating_add(other.counters.written_bytes);
        self.latency.merge(&other.latency);
    }

    /// Reads and writes of a unit between two states of its counters.
    fn between(before: Option<&UnitFacts>, after: &UnitFacts) -> Self {
        let Some(now) = &after.counters else { return Self::default() };
        let mut latency = now.latency.read.clone();
        latency.merge(&now.latency.write);
        let Some(then) = before.and_then(|before| before.counters.as_ref()) else {
            return Self { counters: now.io, latency };
        };
        let mut earlier = then.latency.read.clone();
        earlier.merge(&then.latency.write);
        let counters = IoStatistics {
            reads: now.io.reads.saturating_sub(then.io.reads),
            writes: now.io.writes.saturating_sub(then.io.writes),
            read_bytes: now.io.read_bytes.saturating_sub(then.io.read_bytes),
            written_bytes: now.io.written_bytes.saturating_sub(then.io.written_bytes),
            ..IoStatistics::default()
        };
        Self { counters, latency: latency.since(&earlier) }
    }

    fn sample(&self) -> IoSample {
        IoSample {
            reads: narrow(self.counters.reads),
            writes: narrow(self.counters.writes),
            p50_us: narrow(self.latency.quantile_us(500)),
            p99_us: narrow(self.latency.quantile_us(990)),
            read_bytes: self.counters.read_bytes,
            written_bytes: self.counters.written_bytes,
        }
    }
}

impl Offload {
    fn add(&mut self, before: &OffloadStatistics, after: &OffloadStatistics) {
        let since = |counter: fn(&OffloadStatistics) -> u64| counter(after).saturating_sub(counter(before));
        self.sample.commands += since(|of| of.commands);
        self.sample.refused += since(|of| of.refused);
        self.sample.bytes = self.sample.bytes.saturating_add(since(|of| of.bytes));
        let avoided = since(|of| of.host_bytes_avoided);
        self.sample.host_bytes_avoided = self.sample.host_bytes_avoided.saturating_add(avoided);
        self.latency.merge(&after.latency.since(&before.latency));
    }
}

/// True if the bytes of a primitive count as work of the array in the place of hosts.
const fn moves_data(primitive: Primitive) -> bool {
    matches!(
        primitive,
        Primitive::Xcopy
            | Primitive::Zero
            | Primitive::Unmap
            | Primitive::Clone
            | Primitive::Copy
            | Primitive::Free
            | Primitive::WriteSame
    )
}

impl Recorder {
    /// Begins at this time, without samples.
    pub fn new(since: Timestamp) -> Self {
        Self { samples: Samples::default(), pending: Pending { since, ..Pending::default() } }
    }

    /// The last samples.
    pub const fn samples(&self) -> &Samples {
        &self.samples
    }

    /// Notes new counters of a volume, or of a share: its reads and writes are the bytes of its
    /// connections.
    pub fn note_unit(&mut self, id: ObjectId, is_share: bool, before: Option<&UnitFacts>, after: &UnitFacts) {
        let pending = &mut self.pending;
        let io = Io::between(before, after);
        if io.counters != IoStatistics::default() {
            pending.io.add(&io);
            pending.units.entry(id).or_default().add(&io);
        }
        if is_share {
            pending.received_bytes = pending.received_bytes.saturating_add(io.counters.written_bytes);
            pending.sent_bytes = pending.sent_bytes.saturating_add(io.counters.read_bytes);
        }
        let none = OffloadStatistics::default();
        for row in &after.offload {
            let is_same = |other: &&OffloadRow| other.primitive == row.primitive;
            let earlier = before.and_then(|before| before.offload.iter().find(is_same));
            let earlier = earlier.map_or(&none, |earlier| &earlier.counters);
            if *earlier != row.counters {
                pending.primitives.entry(row.primitive).or_default().add(earlier, &row.counters);
            }
        }
    }

    /// Notes new counters of a session.
    pub fn note_session(&mut self, before: Option<&SessionInfo>, after: &SessionInfo) {
        let since = |counter: fn(&SessionInfo) -> u64| counter(after).saturating_sub(before.map_or(0, counter));
        let pending = &mut self.pending;
        pending.received_bytes = pending.received_bytes.saturating_add(since(|session| session.written_bytes));
        pending.sent_bytes = pending.sent_bytes.saturating_add(since(|session| session.read_bytes));
    }

    /// Adds a sample of what happened up to `at`. If that is not after the last one, the next sample
    /// has it. `processor_ns`: processor time of the threads that serve hosts, so far.
    pub fn sample(&mut self, at: Timestamp, queue_depth: u64, processor_ns: u64) {
        let interval_ms = at.duration_since(self.pending.since).as_millis();
        if interval_ms == 0 {
            return;
        }
        let next = Pending { since: at, processor_ns: Some(processor_ns), ..Pending::default() };
        let pending = std::mem::replace(&mut self.pending, next);
        // If the clock was set back, the length of the interval is not known.
        let Ok(interval_ms) = u64::try_from(interval_ms) else { return };
        self.samples.push(pending.finish(at, interval_ms, queue_depth, processor_ns));
    }
}

impl Pending {
    fn finish(self, at: Timestamp, interval_ms: u64, queue_depth: u64, processor_ns: u64) -> Sample {
        let primitives: Vec<(Primitive, PrimitiveSample)> = self
            .primitives
            .into_iter()
            .map(|(primitive, of)| (primitive, PrimitiveSample { p99_us: of.latency.quantile_us(990), ..of.sample }))
            .collect();
        let moved = primitives.iter().filter(|(primitive, _)| moves_data(*primitive)).map(|(_, of)| of.bytes);
        let offloaded_bytes = moved.fold(0, u64::saturating_add);
        let mut units: Vec<(ObjectId, IoSample)> = self.units.into_iter().map(|(id, io)| (id, io.sample())).collect();
        let is_cut = units.len() > MAX_UNITS;
        if is_cut {
            units.sort_by_key(|(_, io)| Reverse(io.operations()));
            units.truncate(MAX_UNITS);
            units.sort_by_key(|(id, _)| *id);
        }
        units.shrink_to_fit();
        let busy_ns = self.processor_ns.map(|before| processor_ns.saturating_sub(before));
        let array = ArraySample {
            io: self.io.sample(),
            received_bytes: self.received_bytes,
            sent_bytes: self.sent_bytes,
            offloaded_bytes,
            queue_depth,
            busy_per_mille: busy_ns.map(|busy_ns| narrow(busy_ns / (interval_ms * 1000))),
        };
        Sample { at, interval_ms, array, primitives, units, is_cut }
    }
}
