//! What is recorded: samples, once a second, and counters.

use super::{Message, Recording};
use crate::report::report;
use control::{
    EntitySample, ForecastView, ManagementCondition, ManagementReport, OffloadCountersRead, PoolList, SampleObserve,
    SlowCommands, SlowCommandsShow, UnitEntities,
};
use history::{Class, Kind, Observation, Observed, Value};
use jiff::{SignedDuration, Timestamp};
use reactor::ArrayHandle;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// Samples between two reads of counters.
const COUNTERS_EVERY: u64 = 10;
/// Samples between two forecasts, and before the first one.
const FORECAST_EVERY: u64 = 3600;
const FORECAST_FIRST: u64 = 60;
/// Samples between two looks at how slow commands are.
const SLOW_EVERY: u64 = 10;
/// A pool that is full within this time is an alert.
const FULL_SOON: SignedDuration = SignedDuration::from_hours(14 * 24);
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
    let mut feeder =
        Feeder { recording, array, number: 0, counted: BTreeMap::new(), is_full_soon: false, is_slow: false };
    let mut samples = feeder.array.samples();
    loop {
        tokio::select! {
            changed = samples.changed() => {
                if changed.is_err() || !feeder.hand_over(false).await {
                    break;
                }
                if feeder.number % FORECAST_EVERY == FORECAST_FIRST {
                    feeder.foresee().await;
                }
                if feeder.number.is_multiple_of(SLOW_EVERY) {
                    feeder.look_for_slow_commands().await;
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
    /// True while the alert holds that a pool is full soon.
    is_full_soon: bool,
    /// True while the alert holds that commands are slow.
    is_slow: bool,
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

    /// Reports a pool that is full soon, and that none is any more.
    async fn foresee(&mut self) {
        let Ok(pools) = self.array.read(PoolList).await else { return };
        let now = Timestamp::now();
        let mut soon = None;
        for pool in pools {
            match self.recording.forecast(&self.array, pool.name.clone()).await {
                Ok(forecast) => soon = soon.or_else(|| full_soon(&pool.name, &forecast, now)),
                // The alert about the history says why there is none.
                Err(_unforeseen) => return,
            }
        }
        let event = soon.clone().filter(|_| !self.is_full_soon);
        if soon.is_some() || self.is_full_soon {
            self.is_full_soon = soon.is_some();
            let report = ManagementReport { condition: ManagementCondition::PoolFullSoon, event, alert: soon };
            if let Err(error) = self.array.call(report).await {
                tracing::warn!(%error, "the forecast of a pool could not be reported");
            }
        }
    }

    /// Reports commands that are slow, and that they are not any more.
    async fn look_for_slow_commands(&mut self) {
        let Ok(mirror) = self.array.mirror().await else { return };
        let Ok(found) = mirror.read(&SlowCommandsShow) else { return };
        let slow = found.filter(|found| found.holds(self.is_slow));
        let event = slow.filter(|_| !self.is_slow).map(|found| slow_in_words(&found));
        if event.is_some() || (slow.is_none() && self.is_slow) {
            self.is_slow = slow.is_some();
            report(&self.array, ManagementCondition::CommandsSlow, event.clone(), event).await;
        }
    }

    /// Differences to what is recorded.
    fn increments(&self, counters: &[(String, u64)]) -> Vec<(String, u64)> {
        let before = |name: &String| self.counted.get(name).copied().unwrap_or(0);
        let increment = |(name, number): &(String, u64)| (name.clone(), number.saturating_sub(before(name)));
        counters.iter().map(increment).filter(|(_, number)| *number > 0).collect()
    }
}

/// Words about a pool that is full soon.
fn full_soon(pool: &str, forecast: &ForecastView, now: Timestamp) -> Option<String> {
    let full_at = forecast.full_at.filter(|at| at.duration_since(now) <= FULL_SOON)?;
    let days = |at: Timestamp| at.duration_since(now).as_hours().max(0).div_euclid(24);
    let (about, earliest) = (days(full_at), forecast.full_earliest.map_or(0, days));
    let latest = forecast.full_latest.map_or_else(|| "later".to_owned(), |at| days(at).to_string());
    Some(format!("pool {pool} is full in about {about} days ({earliest} to {latest}) if it goes on growing as it did"))
}

/// Words about commands that are slow.
fn slow_in_words(found: &SlowCommands) -> String {
    let time = |us: u32| api::duration::measured(Duration::from_micros(us.into()));
    let (limit, present) = (time(found.limit_us), time(found.p99_us));
    format!("99 % of the reads and writes take up to {present}, and for five minutes more than {limit}")
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

#[cfg(test)]
mod tests {
    use super::{FULL_SOON, full_soon};
    use control::ForecastView;
    use jiff::{SignedDuration, Timestamp};

    #[test]
    fn a_pool_that_is_full_within_two_weeks_is_reported() {
        let now = Timestamp::UNIX_EPOCH;
        let full =
            |hours: i64| ForecastView { full_at: Some(now + SignedDuration::from_hours(hours)), ..Default::default() };
        assert_eq!(full_soon("p0", &ForecastView::default(), now), None);
        assert_eq!(full_soon("p0", &full(FULL_SOON.as_hours() + 1), now), None);
        let words = full_soon("p0", &full(9 * 24 + 5), now).unwrap_or_default();
        assert_eq!(words, "pool p0 is full in about 9 days (0 to later) if it goes on growing as it did");
        let at = |days: i64| Some(now + SignedDuration::from_hours(days * 24));
        let band = ForecastView { full_earliest: at(7), full_latest: at(12), ..full(9 * 24) };
        assert!(full_soon("p0", &band, now).is_some_and(|words| words.contains("9 days (7 to 12)")));
    }
}
