//! What is recorded: samples, once a second, and counters.

use super::{Message, Recording};
use control::{EntitySample, ManagementReport, OffloadCountersRead, SampleObserve, UnitEntities};
use history::{Class, Kind, Observation, Observed, Value};
use reactor::ArrayHandle;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// Samples between two reads of counters.
const COUNTERS_EVERY: u64 = 10;
/// Samples between two reads of the units that exist.
const UNITS_EVERY: u64 = 600;
/// Longest time that writing may take when the array stops.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);

/// Hands each sample to the thread of the history, and its reports to the array, until the array ends or `stop`
/// does; then waits until everything is written.
pub(crate) async fn feed(
    recording: Recording,
    array: ArrayHandle,
    mut reports: mpsc::Receiver<ManagementReport>,
    mut stop: oneshot::Receiver<()>,
) {
    let mut feeder = Feeder { recording, array, number: 0, counted: BTreeMap::new() };
    let mut samples = feeder.array.samples();
    loop {
        tokio::select! {
            changed = samples.changed() => {
                if changed.is_err() || !feeder.hand_over(false).await {
                    break;
                }
            }
            Some(report) = reports.recv() => {
                if let Err(error) = feeder.array.call(report).await {
                    tracing::warn!(%error, "the state of the history could not be reported");
                }
            }
            _ = &mut stop => {
                feeder.hand_over(true).await;
                break;
            }
        }
    }
    if tokio::time::timeout(STOP_TIMEOUT, feeder.recording.stop()).await.is_err() {
        tracing::warn!("the history could not be written in time");
    }
}

struct Feeder {
    recording: Recording,
    array: ArrayHandle,
    /// Samples so far.
    number: u64,
    /// Counters of this run that are recorded.
    counted: BTreeMap<String, u64>,
}

impl Feeder {
    /// Hands over the newest sample. `last`: only counters, since the sample is known. False if the array has ended.
    async fn hand_over(&mut self, last: bool) -> bool {
        let Ok(mirror) = self.array.mirror().await else { return false };
        let Ok(sample) = mirror.read(&SampleObserve) else { return false };
        let Some(sample) = sample else { return true };
        let is_time = last || self.number.is_multiple_of(COUNTERS_EVERY);
        let counters = if is_time { mirror.read(&OffloadCountersRead).unwrap_or_default() } else { Vec::new() };
        if self.number.is_multiple_of(UNITS_EVERY)
            && let Ok(units) = mirror.read(&UnitEntities)
        {
            self.recording.offer(Message::Exist(units));
        }
        self.number += 1;
        let unix_seconds = sample.at.as_second();
        let increments = self.increments(&counters);
        let observation = if last {
            Observation { unix_seconds, ..Observation::default() }
        } else {
            let interval_ms = u32::try_from(sample.interval_ms).unwrap_or(u32::MAX);
            let entities = sample.entities.into_iter().map(observed).collect();
            Observation { unix_seconds, interval_ms, entities, units_are_cut: sample.is_cut }
        };
        // Counters that were not handed over are handed over with the next sample.
        if self.recording.offer(Message::Observe(observation, increments)) {
            self.counted.extend(counters);
        }
        true
    }

    /// Differences to what is recorded.
    fn increments(&self, counters: &[(String, u64)]) -> Vec<(String, u64)> {
        let before = |name: &String| self.counted.get(name).copied().unwrap_or(0);
        let increment = |(name, number): &(String, u64)| (name.clone(), number.saturating_sub(before(name)));
        counters.iter().map(increment).filter(|(_, number)| *number > 0).collect()
    }
}

fn observed(sample: EntitySample) -> Observed {
    let EntitySample { entity, is_unit, values } = sample;
    let value = |(column, is_rate, value)| Value { column, kind: kind(is_rate), value };
    let class = if is_unit { Class::Unit } else { Class::Array };
    Observed { entity, class, values: values.into_iter().map(value).collect() }
}

/// Kind of a value.
pub(crate) const fn kind(is_rate: bool) -> Kind {
    if is_rate { Kind::Rate } else { Kind::Level }
}
