//! Samples of the last ten minutes.

use jiff::{SignedDuration, Timestamp};
use pool::ObjectId;
use std::cell::OnceCell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use unit::Primitive;

/// Age at which a sample is dropped.
pub(crate) const KEPT: SignedDuration = SignedDuration::from_mins(10);
/// Largest number of samples.
const MAX_SAMPLES: usize = 600;
/// Largest number of volumes and shares in a sample: those with the most reads and writes.
pub(super) const MAX_UNITS: usize = 512;
/// Time over which [`Samples::recent`] sums.
const RECENT: SignedDuration = SignedDuration::from_mins(1);

/// Activity of hosts in an interval of about a second.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// End of the interval.
    pub at: Timestamp,
    /// Length of the interval in milliseconds; not 0.
    pub interval_ms: u64,
    /// The whole array.
    pub array: ArraySample,
    /// Primitives that were used.
    pub primitives: Vec<(Primitive, PrimitiveSample)>,
    /// Volumes and shares that were read or written, by object.
    pub units: Vec<(ObjectId, IoSample)>,
    /// True if more were: those with the fewest reads and writes are not in [`Self::units`].
    pub is_cut: bool,
}

impl Sample {
    /// Reads and writes of a volume or share. `None` if they are not known: it is not among the busiest.
    pub fn unit(&self, object: ObjectId) -> Option<IoSample> {
        let used = self.units.binary_search_by_key(&object, |(other, _)| *other).ok();
        let known = used.and_then(|at| self.units.get(at)).map(|(_, io)| *io);
        known.or_else(|| (!self.is_cut).then(IoSample::default))
    }

    /// Number of an interval as a rate per second, rounded.
    pub fn per_second(&self, number: u64) -> u64 {
        per_second(number, self.interval_ms)
    }
}

/// Number of a time in milliseconds as a rate per second, rounded.
pub(super) fn per_second(number: u64, ms: u64) -> u64 {
    let rate = (u128::from(number) * 1000 + u128::from(ms / 2)) / u128::from(ms.max(1));
    u64::try_from(rate).unwrap_or(u64::MAX)
}

/// Reads and writes in an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IoSample {
    /// Completed reads.
    pub reads: u32,
    /// Completed writes.
    pub writes: u32,
    /// Latency in microseconds that half of the reads and writes did not exceed; 0 without any.
    pub p50_us: u32,
    /// Latency in microseconds that 99 % of the reads and writes did not exceed; 0 without any.
    pub p99_us: u32,
    /// Bytes that reads returned.
    pub read_bytes: u64,
    /// Bytes that writes stored.
    pub written_bytes: u64,
}

impl IoSample {
    /// Reads and writes.
    pub fn operations(&self) -> u64 {
        u64::from(self.reads) + u64::from(self.writes)
    }

    /// A latency of the interval; `None` without reads and writes.
    pub fn known(&self, us: u32) -> Option<u32> {
        (self.operations() > 0).then_some(us)
    }
}

/// The whole array in an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArraySample {
    /// Reads and writes.
    pub io: IoSample,
    /// Bytes that the portals received: Data-Out, and what NFS wrote. Those of an iSCSI session between
    /// the last publication and its end are not counted.
    pub received_bytes: u64,
    /// Bytes that the portals sent: Data-In, and what NFS read; sessions as above.
    pub sent_bytes: u64,
    /// Bytes that offload commands copied, zeroed or freed.
    pub offloaded_bytes: u64,
    /// SCSI commands in flight at the end.
    pub queue_depth: u64,
    /// Thousandths of the time that the threads which serve hosts used a processor, of one
    /// processor. Absent in the first sample: what these threads did before is not known.
    pub busy_per_mille: Option<u32>,
}

/// One primitive in an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PrimitiveSample {
    /// Commands answered.
    pub commands: u64,
    /// Commands refused.
    pub refused: u64,
    /// Bytes of volumes and shares that the commands processed.
    pub bytes: u64,
    /// Bytes that hosts did not have to transfer.
    pub host_bytes_avoided: u64,
    /// Latency in microseconds that 99 % of the commands did not exceed.
    pub p99_us: u64,
}

/// The last samples, oldest first.
#[derive(Debug, Default)]
pub struct Samples {
    ring: VecDeque<Arc<Sample>>,
    /// Sums of the last minute of each volume and share, once something has asked for them.
    recent: OnceCell<BTreeMap<ObjectId, Recent>>,
}

/// Reads and writes of one volume or share in the last minute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Recent {
    /// Reads and writes.
    pub operations: u64,
    /// Bytes read and written.
    pub bytes: u64,
    /// Longest [`IoSample::p99_us`].
    pub p99_us: u64,
}

impl Samples {
    /// Samples, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Arc<Sample>> {
        self.ring.iter()
    }

    /// The newest sample.
    pub fn latest(&self) -> Option<&Arc<Sample>> {
        self.ring.back()
    }

    /// Reads and writes of a volume or share in the last minute.
    pub(crate) fn recent(&self, object: ObjectId) -> Recent {
        self.recent.get_or_init(|| self.sums()).get(&object).copied().unwrap_or_default()
    }

    /// Volumes and shares by reads and writes in the last minute, most first, and the time in
    /// milliseconds that the samples of that minute cover.
    pub(super) fn busiest(&self) -> (Vec<(ObjectId, Recent)>, u64) {
        let sums = self.recent.get_or_init(|| self.sums());
        let mut busiest: Vec<_> = sums.iter().map(|(object, recent)| (*object, *recent)).collect();
        busiest.sort_by_key(|(object, recent)| (Reverse(recent.operations), *object));
        (busiest, self.last_minute().map(|sample| sample.interval_ms).fold(0, u64::saturating_add))
    }

    /// Samples of the last minute, newest first.
    fn last_minute(&self) -> impl Iterator<Item = &Arc<Sample>> {
        let at = self.latest().map(|sample| sample.at);
        let is_recent = move |sample: &&Arc<Sample>| at.is_some_and(|at| at.duration_since(sample.at) < RECENT);
        self.ring.iter().rev().take_while(is_recent)
    }

    /// Reads and writes of all volumes and shares in the last minute.
    fn sums(&self) -> BTreeMap<ObjectId, Recent> {
        let mut sums = BTreeMap::<ObjectId, Recent>::new();
        for sample in self.last_minute() {
            for (object, io) in &sample.units {
                let recent = sums.entry(*object).or_default();
                recent.operations += io.operations();
                recent.bytes = recent.bytes.saturating_add(io.read_bytes).saturating_add(io.written_bytes);
                recent.p99_us = recent.p99_us.max(u64::from(io.p99_us));
            }
        }
        sums
    }

    /// Adds a sample. If the clock was set back, the earlier samples are dropped.
    pub(super) fn push(&mut self, sample: Sample) {
        if self.ring.back().is_some_and(|last| last.at >= sample.at) {
            self.ring.clear();
        }
        let at = sample.at;
        self.ring.push_back(Arc::new(sample));
        while self.ring.len() > MAX_SAMPLES || self.ring.front().is_some_and(|first| at.duration_since(first.at) > KEPT)
        {
            self.ring.pop_front();
        }
        self.recent.take();
    }
}
