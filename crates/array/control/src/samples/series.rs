//! Series of values that samples have: their names, units and meanings.

use super::ring::{IoSample, PrimitiveSample, Sample};
use crate::error::ControlError;
use crate::facts::Facts;
use crate::read::Read;
use jiff::Timestamp;
use pool::ObjectId;
use unit::Primitive;

/// Kind of value of samples `S`.
pub struct Metric<S: 'static> {
    /// Last word of the name of a series.
    pub name: &'static str,
    /// Unit of the values.
    pub unit: &'static str,
    /// Definition, for people.
    pub help: &'static str,
    /// Value in an interval of this many seconds; `None` if it has none.
    value: fn(&S, f64) -> Option<f64>,
}

impl<S> std::fmt::Debug for Metric<S> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.name)
    }
}

const fn metric<S>(
    name: &'static str,
    unit: &'static str,
    help: &'static str,
    value: fn(&S, f64) -> Option<f64>,
) -> Metric<S> {
    Metric { name, unit, help, value }
}

fn rate(number: u64, seconds: f64) -> Option<f64> {
    Some(number as f64 / seconds)
}

/// Values of volumes and shares, and of the whole array.
const IO: &[Metric<IoSample>] = &[
    metric("read_ops", "1/s", "Completed reads", |io, seconds| rate(u64::from(io.reads), seconds)),
    metric("write_ops", "1/s", "Completed writes", |io, seconds| rate(u64::from(io.writes), seconds)),
    metric("read_bytes", "B/s", "Bytes that reads returned", |io, seconds| rate(io.read_bytes, seconds)),
    metric("written_bytes", "B/s", "Bytes that writes stored", |io, seconds| rate(io.written_bytes, seconds)),
    metric("latency_p50", "us", "Half of the reads and writes took no longer", |io, _| {
        io.known(io.p50_us).map(f64::from)
    }),
    metric("latency_p99", "us", "99 % of the reads and writes took no longer", |io, _| {
        io.known(io.p99_us).map(f64::from)
    }),
];

/// Values of the whole array alone.
const ARRAY: &[Metric<Sample>] = &[
    metric(
        "received_bytes",
        "B/s",
        "Bytes that the portals received: Data-Out without the last second of ended sessions, and what NFS wrote",
        |of, seconds| rate(of.array.received_bytes, seconds),
    ),
    metric(
        "sent_bytes",
        "B/s",
        "Bytes that the portals sent: Data-In without the last second of ended sessions, and what NFS read",
        |of, seconds| rate(of.array.sent_bytes, seconds),
    ),
    metric("network_bytes", "B/s", "Host line: bytes over the network, both ways", |of, seconds| {
        rate(of.array.received_bytes.saturating_add(of.array.sent_bytes), seconds)
    }),
    metric(
        "offloaded_bytes",
        "B/s",
        "Array line: bytes that offload commands copied, zeroed or freed",
        |of, seconds| rate(of.array.offloaded_bytes, seconds),
    ),
    metric("queue_depth", "1", "SCSI commands in flight; calls of NFS are not counted", |of, _| {
        Some(of.array.queue_depth as f64)
    }),
    metric("busy", "1", "Share of one processor that the threads which serve hosts used", |of, _| {
        of.array.busy_per_mille.map(|busy| f64::from(busy) / 1000.0)
    }),
];

/// Values of primitives.
const PRIMITIVE: &[Metric<PrimitiveSample>] = &[
    metric("commands", "1/s", "Commands answered", |of, seconds| rate(of.commands, seconds)),
    metric("refused", "1/s", "Commands refused", |of, seconds| rate(of.refused, seconds)),
    metric("bytes", "B/s", "Bytes that the commands processed", |of, seconds| rate(of.bytes, seconds)),
    metric("host_bytes_avoided", "B/s", "Bytes that hosts did not have to transfer", |of, seconds| {
        rate(of.host_bytes_avoided, seconds)
    }),
    metric("latency_p99", "us", "99 % of the commands took no longer", |of, _| {
        (of.commands > 0).then_some(of.p99_us as f64)
    }),
];

/// Source of the values of a series.
pub(super) enum Series {
    Array(&'static Metric<Sample>),
    ArrayIo(&'static Metric<IoSample>),
    Primitive(Primitive, &'static Metric<PrimitiveSample>),
    /// Volume or share, and the time at which it was created.
    Unit(ObjectId, Timestamp, &'static Metric<IoSample>),
}

fn find<S>(metrics: &'static [Metric<S>], name: &str) -> Option<&'static Metric<S>> {
    metrics.iter().find(|metric| metric.name == name)
}

impl Series {
    /// Finds a series by name: `array.METRIC`, `primitive.NAME.METRIC`, `volume.ID.METRIC` or
    /// `share.ID.METRIC`. Errors: `InvalidQuery`; `NotFound` for an unknown volume or share.
    pub fn parse(name: &str, facts: &dyn Facts) -> Result<Self, ControlError> {
        let unknown = || ControlError::InvalidQuery(format!("there is no series {name:?}"));
        let (kind, rest) = name.split_once('.').ok_or_else(unknown)?;
        if kind == "array" {
            let own = find(ARRAY, rest).map(Self::Array);
            return own.or_else(|| find(IO, rest).map(Self::ArrayIo)).ok_or_else(unknown);
        }
        let (of, metric) = rest.rsplit_once('.').ok_or_else(unknown)?;
        match kind {
            "primitive" => {
                let primitive = Primitive::ALL.into_iter().find(|primitive| primitive.name() == of);
                let metric = find(PRIMITIVE, metric);
                Ok(Self::Primitive(primitive.ok_or_else(unknown)?, metric.ok_or_else(unknown)?))
            }
            "volume" => {
                let metric = find(IO, metric).ok_or_else(unknown)?;
                let volume = facts.directory().volume(of)?;
                Ok(Self::Unit(volume.object, volume.created, metric))
            }
            "share" => {
                let metric = find(IO, metric).ok_or_else(unknown)?;
                let share = facts.directory().share(of)?;
                Ok(Self::Unit(share.object, share.created, metric))
            }
            _ => Err(unknown()),
        }
    }

    /// Unit of the values.
    pub fn unit(&self) -> &'static str {
        match self {
            Self::Array(metric) => metric.unit,
            Self::ArrayIo(metric) | Self::Unit(_, _, metric) => metric.unit,
            Self::Primitive(_, metric) => metric.unit,
        }
    }

    /// Value in a sample; `None` if it has none.
    pub fn value(&self, sample: &Sample) -> Option<f64> {
        let seconds = sample.interval_ms as f64 / 1000.0;
        match self {
            Self::Array(metric) => (metric.value)(sample, seconds),
            Self::ArrayIo(metric) => (metric.value)(&sample.array.io, seconds),
            Self::Primitive(primitive, metric) => {
                let used = sample.primitives.iter().find(|(other, _)| other == primitive);
                (metric.value)(&used.map(|(_, of)| *of).unwrap_or_default(), seconds)
            }
            Self::Unit(_, created, _) if sample.at <= *created => None,
            Self::Unit(object, _, metric) => (metric.value)(&sample.unit(*object)?, seconds),
        }
    }
}

/// Lists the names of all series, with units and definitions. `ID` stands for an id.
#[derive(Clone, Debug)]
pub struct SeriesList;

impl Read for SeriesList {
    type Reply = Vec<(String, &'static str, &'static str)>;
    const NAME: &'static str = "series-list";

    fn answer(&self, _facts: &dyn Facts) -> Result<Self::Reply, ControlError> {
        let io = |kind: &str| -> Self::Reply {
            let row = |metric: &Metric<IoSample>| (format!("{kind}.{}", metric.name), metric.unit, metric.help);
            IO.iter().map(row).collect()
        };
        let mut series = io("array");
        series.extend(ARRAY.iter().map(|metric| (format!("array.{}", metric.name), metric.unit, metric.help)));
        for primitive in Primitive::ALL {
            let row = |metric: &Metric<PrimitiveSample>| {
                (format!("primitive.{}.{}", primitive.name(), metric.name), metric.unit, metric.help)
            };
            series.extend(PRIMITIVE.iter().map(row));
        }
        series.extend(io("volume.ID"));
        series.extend(io("share.ID"));
        Ok(series)
    }
}
