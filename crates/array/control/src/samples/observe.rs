//! What the management plane records of a sample, and of counters.

use super::series::{EntitySample, array_values, unit_entity, unit_values};
use crate::error::ControlError;
use crate::facts::Facts;
use crate::read::Read;
use jiff::Timestamp;
use std::collections::BTreeSet;

/// Reads the newest sample as values of entities; the reply is `None` before the first one.
#[derive(Clone, Debug)]
pub struct SampleObserve;

/// A sample as values of entities.
#[derive(Clone, Debug, PartialEq)]
pub struct ObservedSample {
    /// End of the interval.
    pub at: Timestamp,
    /// Length of the interval in milliseconds.
    pub interval_ms: u64,
    /// True if volumes and shares that were used least are not in it.
    pub is_cut: bool,
    /// Values.
    pub entities: Vec<EntitySample>,
}

impl Read for SampleObserve {
    type Reply = Option<ObservedSample>;
    const NAME: &'static str = "sample-observe";

    fn answer(&self, facts: &dyn Facts) -> Result<Self::Reply, ControlError> {
        let Some(sample) = facts.samples().and_then(|samples| samples.latest()) else { return Ok(None) };
        let mut entities = array_values(sample, facts);
        entities.extend(unit_values(sample, facts));
        let (at, interval_ms, is_cut) = (sample.at, sample.interval_ms, sample.is_cut);
        Ok(Some(ObservedSample { at, interval_ms, is_cut, entities }))
    }
}

/// Reads the array's counters of offload since its start, by name: `PRIMITIVE.COUNTER` and
/// `PRIMITIVE.refused.REASON`. Those of deleted volumes and shares are in them.
#[derive(Clone, Debug)]
pub struct OffloadCountersRead;

impl Read for OffloadCountersRead {
    type Reply = Vec<(String, u64)>;
    const NAME: &'static str = "offload-counters";

    fn answer(&self, facts: &dyn Facts) -> Result<Self::Reply, ControlError> {
        let mut all = Vec::new();
        for (primitive, of) in &facts.totals().offload {
            let counters = [
                ("commands", of.commands),
                ("ok", of.ok),
                ("refused", of.refused),
                ("errors", of.errors),
                ("bytes", of.bytes),
                ("host_bytes_avoided", of.host_bytes_avoided),
            ];
            let name = primitive.name();
            all.extend(counters.map(|(counter, number)| (format!("{name}.{counter}"), number)));
            let reasons = of.refusals.given();
            all.extend(reasons.map(|(reason, number)| (format!("{name}.refused.{}", reason.code()), number)));
        }
        Ok(all)
    }
}

/// Reads the entities of all volumes and shares.
#[derive(Clone, Debug)]
pub struct UnitEntities;

impl Read for UnitEntities {
    type Reply = BTreeSet<String>;
    const NAME: &'static str = "unit-entities";

    fn answer(&self, facts: &dyn Facts) -> Result<Self::Reply, ControlError> {
        let directory = facts.directory();
        let volumes = directory.volumes().map(|volume| volume.object);
        let objects = volumes.chain(directory.shares().map(|share| share.object));
        Ok(objects.filter_map(|object| unit_entity(object, facts)).collect())
    }
}
