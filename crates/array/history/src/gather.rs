//! Observations, and the rows that they become.

use crate::class::{Class, Kind};
use crate::page::Cell;
use crate::tier::Tier;
use std::collections::BTreeMap;

/// Longest name of an entity.
pub const MAX_NAME_BYTES: usize = 64;
/// Entity that says for how long there were observations at all.
pub(crate) const PRESENCE: &str = "";
/// Column with the time that counts for the entity alone, beside that of [`PRESENCE`].
pub(crate) const OWN_TIME: &str = "";
/// Largest number of rows that wait for a flush; above it, the oldest are dropped.
const MAX_WAITING: usize = 65_536;

/// What happened in an interval.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observation {
    /// End of the interval in seconds since 1970.
    pub unix_seconds: i64,
    /// Length of the interval.
    pub interval_ms: u32,
    /// Entities with values.
    pub entities: Vec<Observed>,
    /// True if units without an entry may have had values too.
    pub units_are_cut: bool,
}

/// Values of an entity in an interval.
#[derive(Clone, Debug, PartialEq)]
pub struct Observed {
    /// Name; at most [`MAX_NAME_BYTES`], not empty. Others are left out.
    pub entity: String,
    /// Class; always the same for the entity.
    pub class: Class,
    /// Values, each name once.
    pub values: Vec<Value>,
}

/// Named value in an interval. Values that are not finite are left out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Value {
    /// Name.
    pub column: &'static str,
    /// Kind; always the same for the name.
    pub kind: Kind,
    /// Value.
    pub value: f64,
}

/// Values of an entity in a step of a tier.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    pub tier: Tier,
    pub entity: String,
    pub class: Class,
    pub step: i64,
    pub cells: Vec<(&'static str, Cell)>,
}

/// Sum over a step.
#[derive(Clone, Copy, Debug)]
struct Sum {
    kind: Kind,
    /// Values times milliseconds.
    weighted: f64,
    ms: u64,
    max: f64,
}

#[derive(Debug)]
struct Gathered {
    class: Class,
    /// Milliseconds of intervals that count for this entity alone: others were left out of them.
    own_ms: u64,
    sums: BTreeMap<&'static str, Sum>,
}

/// Step of a tier that goes on.
#[derive(Debug)]
struct Bucket {
    tier: Tier,
    step: i64,
    /// Milliseconds in which absent values are known to be 0, by class.
    array_ms: u64,
    units_ms: u64,
    entities: BTreeMap<String, Gathered>,
}

/// Steps that go on, and finished rows that are not stored yet.
#[derive(Debug, Default)]
pub(crate) struct Gathering {
    open: Vec<Bucket>,
    waiting: Vec<Row>,
}

impl Gathering {
    /// Adds an observation.
    pub fn add(&mut self, observation: &Observation) {
        for tier in Tier::ALL {
            let step = tier.step_of(observation.unix_seconds);
            let open = self.open.iter().position(|bucket| bucket.tier == tier);
            let at = match open {
                Some(at) if self.open.get(at).is_some_and(|bucket| bucket.step == step) => at,
                Some(at) => {
                    // Another step: later, or earlier after the clock was set back.
                    let bucket = std::mem::replace(&mut self.open[at], Bucket::new(tier, step));
                    self.waiting.extend(bucket.rows());
                    at
                }
                None => {
                    self.open.push(Bucket::new(tier, step));
                    self.open.len() - 1
                }
            };
            if let Some(bucket) = self.open.get_mut(at) {
                bucket.add(observation);
            }
        }
        let surplus = self.waiting.len().saturating_sub(MAX_WAITING);
        self.waiting.drain(..surplus);
    }

    /// Ends the steps that go on; what follows in them becomes rows of its own.
    pub fn close(&mut self) {
        for bucket in self.open.drain(..) {
            self.waiting.extend(bucket.rows());
        }
    }

    /// Finished rows that are not stored yet.
    pub fn waiting(&self) -> &[Row] {
        &self.waiting
    }

    /// Notes that all finished rows are stored.
    pub fn stored(&mut self) {
        self.waiting.clear();
    }

    /// All rows that are not stored yet, also of the steps that go on, of an entity in a tier.
    pub fn rows_of(&self, tier: Tier, entity: &str) -> impl Iterator<Item = Row> {
        let waiting = self.waiting.iter().filter(move |row| row.tier == tier && row.entity == entity).cloned();
        let open = self.open.iter().filter(move |bucket| bucket.tier == tier);
        waiting.chain(open.filter_map(move |bucket| bucket.row(entity)))
    }
}

impl Bucket {
    const fn new(tier: Tier, step: i64) -> Self {
        Self { tier, step, array_ms: 0, units_ms: 0, entities: BTreeMap::new() }
    }

    fn add(&mut self, observation: &Observation) {
        let ms = u64::from(observation.interval_ms);
        self.array_ms += ms;
        self.units_ms += if observation.units_are_cut { 0 } else { ms };
        for observed in &observation.entities {
            let name = &observed.entity;
            let is_wanted = self.tier.kept_seconds(observed.class) > 0;
            if !is_wanted || name == PRESENCE || name.len() > MAX_NAME_BYTES {
                continue;
            }
            if !self.entities.contains_key(name) {
                let new = Gathered { class: observed.class, own_ms: 0, sums: BTreeMap::new() };
                self.entities.insert(name.clone(), new);
            }
            if let Some(gathered) = self.entities.get_mut(name) {
                gathered.own_ms += if observation.units_are_cut && gathered.class == Class::Unit { ms } else { 0 };
                observed.values.iter().for_each(|value| gathered.add(value, ms));
            }
        }
    }

    /// Row of one entity.
    fn row(&self, entity: &str) -> Option<Row> {
        if entity == PRESENCE {
            return Some(self.presence());
        }
        let gathered = self.entities.get(entity)?;
        self.row_of(entity.to_owned(), gathered)
    }

    fn rows(self) -> Vec<Row> {
        let presence = self.presence();
        let rows = self.entities.iter().filter_map(|(entity, gathered)| self.row_of(entity.clone(), gathered));
        rows.chain([presence]).collect()
    }

    /// Row of an entity; `None` if it has no values.
    fn row_of(&self, entity: String, gathered: &Gathered) -> Option<Row> {
        let whole_ms = gathered.own_ms + self.known_ms(gathered.class);
        let mut cells: Vec<_> = gathered.sums.iter().map(|(column, sum)| (*column, sum.cell(whole_ms))).collect();
        if cells.is_empty() {
            return None;
        }
        if gathered.own_ms > 0 {
            cells.push((OWN_TIME, weight(gathered.own_ms)));
        }
        Some(Row { tier: self.tier, entity, class: gathered.class, step: self.step, cells })
    }

    fn presence(&self) -> Row {
        let cells = Class::ALL.into_iter().map(|class| (class.presence(), weight(self.known_ms(class)))).collect();
        Row { tier: self.tier, entity: PRESENCE.to_owned(), class: Class::Array, step: self.step, cells }
    }

    const fn known_ms(&self, class: Class) -> u64 {
        match class {
            Class::Array => self.array_ms,
            Class::Unit => self.units_ms,
        }
    }
}

/// Cell that says a time alone.
fn weight(ms: u64) -> Cell {
    Cell { weight_ms: u32::try_from(ms).unwrap_or(u32::MAX), average: 0.0, max: 0.0 }
}

impl Gathered {
    fn add(&mut self, value: &Value, ms: u64) {
        if !value.value.is_finite() {
            return;
        }
        let new = Sum { kind: value.kind, weighted: 0.0, ms: 0, max: f64::NEG_INFINITY };
        let sum = self.sums.entry(value.column).or_insert(new);
        sum.weighted += value.value * ms as f64;
        sum.ms += ms;
        sum.max = sum.max.max(value.value);
    }
}

impl Sum {
    /// Mean and maximum. `whole_ms`: time of the step in which the value was known or 0.
    fn cell(&self, whole_ms: u64) -> Cell {
        let ms = match self.kind {
            Kind::Rate => whole_ms.max(self.ms),
            Kind::Level => self.ms,
        };
        let average = if ms == 0 { 0.0 } else { self.weighted / ms as f64 };
        Cell { weight_ms: u32::try_from(ms).unwrap_or(u32::MAX), average: average as f32, max: self.max as f32 }
    }
}
