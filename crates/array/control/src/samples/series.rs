//! Series of values that samples have: their names, units and meanings.

use super::ring::{IoSample, PrimitiveSample, Sample};
use crate::error::ControlError;
use crate::facts::Facts;
use crate::read::Read;
use jiff::Timestamp;
use pool::{ObjectId, ObjectInfo, PoolSpace};
use unit::Primitive;
use uuid::Uuid;

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

impl<S> Metric<S> {
    /// True for a rate, which is 0 while nothing happens; false for a level, which is unknown then.
    pub fn is_rate(&self) -> bool {
        self.unit.ends_with("/s")
    }
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

/// Values of volumes and shares that only the stored history has.
const SPACE: &[Metric<ObjectInfo>] =
    &[metric("mapped_bytes", "B", "Bytes with stored content", |object, _| Some(object.mapped_bytes as f64))];

/// Values of pools; only the stored history has them.
const POOL: &[Metric<PoolSpace>] = &[
    metric(USED_BYTES, "B", "Bytes in use or kept back", |space, _| Some(space.used_bytes as f64)),
    metric("free_bytes", "B", "Bytes that can take new data", |space, _| Some(space.free_bytes as f64)),
    metric("size_bytes", "B", "Size of the pool", |space, _| Some(space.size_bytes as f64)),
    metric("metadata_bytes", "B", "Bytes of log, maps and reserves", |space, _| Some(space.metadata_bytes as f64)),
];
/// Name of the value of a pool from which forecasts are made.
pub(crate) const USED_BYTES: &str = "used_bytes";

/// Place of a series in the stored history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeriesPlace {
    /// Entity: `array`, `pool.NAME`, `primitive.NAME`, `volume.ID` or `share.ID`.
    pub entity: String,
    /// Name of the value.
    pub column: &'static str,
    /// True for volumes and shares, whose history is coarser and shorter.
    pub is_unit: bool,
    /// True for a rate, which is 0 while nothing happens; false for a level, which is unknown then.
    pub is_rate: bool,
}

/// What is known about an entity in an interval, for the stored history.
#[derive(Clone, Debug, PartialEq)]
pub struct EntitySample {
    /// Entity, as in [`SeriesPlace::entity`].
    pub entity: String,
    /// True for volumes and shares.
    pub is_unit: bool,
    /// Values: names, whether they are rates, and the values.
    pub values: Vec<(&'static str, bool, f64)>,
}

fn values_of<S>(metrics: &'static [Metric<S>], of: &S, seconds: f64) -> Vec<(&'static str, bool, f64)> {
    let value = |metric: &Metric<S>| Some((metric.name, metric.is_rate(), (metric.value)(of, seconds)?));
    metrics.iter().filter_map(value).collect()
}

/// Values of the array, its pool and its primitives in a sample.
pub(super) fn array_values(sample: &Sample, facts: &dyn Facts) -> Vec<EntitySample> {
    let seconds = sample.interval_ms as f64 / 1000.0;
    let mut values = values_of(IO, &sample.array.io, seconds);
    values.extend(values_of(ARRAY, sample, seconds));
    let part = |entity: String, values| EntitySample { entity, is_unit: false, values };
    let pool = values_of(POOL, &facts.pool().space, seconds);
    let mut entities = vec![part("array".to_owned(), values), part(pool_entity(facts.pool_name()), pool)];
    let primitives = sample.primitives.iter();
    entities.extend(
        primitives.map(|(primitive, of)| part(primitive_entity(*primitive), values_of(PRIMITIVE, of, seconds))),
    );
    entities
}

/// Values of the volumes and shares that were used in a sample.
pub(super) fn unit_values(sample: &Sample, facts: &dyn Facts) -> Vec<EntitySample> {
    let seconds = sample.interval_ms as f64 / 1000.0;
    let value = |(object, io): &(ObjectId, IoSample)| {
        let entity = unit_entity(*object, facts)?;
        let mut values = values_of(IO, io, seconds);
        values.extend(facts.object(*object).map(|object| values_of(SPACE, &object, seconds)).unwrap_or_default());
        Some(EntitySample { entity, is_unit: true, values })
    };
    sample.units.iter().filter_map(value).collect()
}

/// Entity of a volume or share.
pub(super) fn unit_entity(object: ObjectId, facts: &dyn Facts) -> Option<String> {
    let directory = facts.directory();
    let volume = directory.volume_of(object).map(|volume| volume_entity(volume.id));
    volume.or_else(|| directory.share_of(object).map(|share| share_entity(share.id)))
}

/// Entity of the volume with an id.
pub fn volume_entity(id: Uuid) -> String {
    format!("volume.{id}")
}

/// Entity of the share with an id.
pub fn share_entity(id: Uuid) -> String {
    format!("share.{id}")
}

/// Entity of a pool.
pub(crate) fn pool_entity(name: &str) -> String {
    format!("pool.{name}")
}

fn primitive_entity(primitive: Primitive) -> String {
    format!("primitive.{}", primitive.name())
}

/// Source of the values of a series.
pub(super) enum Series {
    Array(&'static Metric<Sample>),
    ArrayIo(&'static Metric<IoSample>),
    Primitive(Primitive, &'static Metric<PrimitiveSample>),
    /// Volume or share, and the time at which it was created.
    Unit(ObjectId, Timestamp, &'static Metric<IoSample>),
    /// Space of a volume or share, and the time at which it was created.
    Space(ObjectId, Timestamp, &'static Metric<ObjectInfo>),
    Pool(&'static Metric<PoolSpace>),
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
                let unit = |object, created| Self::of_unit(object, created, metric).ok_or_else(unknown);
                facts.directory().volume(of).and_then(|volume| unit(volume.object, volume.created))
            }
            "share" => {
                let unit = |object, created| Self::of_unit(object, created, metric).ok_or_else(unknown);
                facts.directory().share(of).and_then(|share| unit(share.object, share.created))
            }
            "pool" if of == facts.pool_name() => find(POOL, metric).map(Self::Pool).ok_or_else(unknown),
            _ => Err(unknown()),
        }
    }

    fn of_unit(object: ObjectId, created: Timestamp, metric: &str) -> Option<Self> {
        let io = find(IO, metric).map(|metric| Self::Unit(object, created, metric));
        io.or_else(|| find(SPACE, metric).map(|metric| Self::Space(object, created, metric)))
    }

    /// True if samples in memory have the values.
    pub const fn is_sampled(&self) -> bool {
        !matches!(self, Self::Space(..) | Self::Pool(_))
    }

    /// Time at which the volume or share was created.
    pub const fn created(&self) -> Option<Timestamp> {
        match self {
            Self::Unit(_, created, _) | Self::Space(_, created, _) => Some(*created),
            Self::Array(_) | Self::ArrayIo(_) | Self::Primitive(..) | Self::Pool(_) => None,
        }
    }

    /// Place in the stored history.
    pub fn place(&self, facts: &dyn Facts) -> SeriesPlace {
        let (entity, column, is_rate) = match self {
            Self::Array(metric) => ("array".to_owned(), metric.name, metric.is_rate()),
            Self::ArrayIo(metric) => ("array".to_owned(), metric.name, metric.is_rate()),
            Self::Primitive(primitive, metric) => (primitive_entity(*primitive), metric.name, metric.is_rate()),
            Self::Unit(object, _, metric) => {
                (unit_entity(*object, facts).unwrap_or_default(), metric.name, metric.is_rate())
            }
            Self::Space(object, _, metric) => {
                (unit_entity(*object, facts).unwrap_or_default(), metric.name, metric.is_rate())
            }
            Self::Pool(metric) => (pool_entity(facts.pool_name()), metric.name, metric.is_rate()),
        };
        SeriesPlace { entity, column, is_unit: self.created().is_some(), is_rate }
    }

    /// Unit of the values.
    pub fn unit(&self) -> &'static str {
        match self {
            Self::Array(metric) => metric.unit,
            Self::ArrayIo(metric) | Self::Unit(_, _, metric) => metric.unit,
            Self::Primitive(_, metric) => metric.unit,
            Self::Space(_, _, metric) => metric.unit,
            Self::Pool(metric) => metric.unit,
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
            Self::Space(..) | Self::Pool(_) => None,
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

    fn answer(&self, facts: &dyn Facts) -> Result<Self::Reply, ControlError> {
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
        let space = |kind: &str| -> Self::Reply {
            let row = |metric: &Metric<ObjectInfo>| (format!("{kind}.{}", metric.name), metric.unit, metric.help);
            SPACE.iter().map(row).collect()
        };
        for kind in ["volume.ID", "share.ID"] {
            series.extend(io(kind));
            series.extend(space(kind));
        }
        let pool = pool_entity(facts.pool_name());
        series.extend(POOL.iter().map(|metric| (format!("{pool}.{}", metric.name), metric.unit, metric.help)));
        Ok(series)
    }
}
