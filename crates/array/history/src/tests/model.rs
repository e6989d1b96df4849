//! What was recorded comes back.

use crate::{Class, Kind, Observation, Observed, Query, Series, Store, Tier, Value};
use random::Random;
use std::collections::BTreeMap;

const START: i64 = 1_800_000_000;
const COLUMNS: [(&str, Kind); 2] = [("ops", Kind::Rate), ("latency", Kind::Level)];

/// Sums of a step: values times milliseconds, milliseconds, maximum.
#[derive(Clone, Copy, Default)]
struct Sum {
    weighted: f64,
    ms: f64,
    max: Option<f64>,
}

/// The plain list: observations that were made, and means over steps of any length.
fn expected(observations: &[Observation], entity: &str, at: usize, start: i64, step: i64) -> Vec<Option<(f64, f64)>> {
    let (column, kind) = COLUMNS[at];
    let mut steps = BTreeMap::<i64, (Sum, f64)>::new();
    for observation in observations {
        let ms = f64::from(observation.interval_ms);
        let (sum, presence) = steps.entry((observation.unix_seconds - start).div_euclid(step)).or_default();
        let observed = observation.entities.iter().find(|observed| observed.entity == entity);
        let value = observed.and_then(|observed| observed.values.iter().find(|value| value.column == column));
        let is_known = match kind {
            Kind::Rate => observed.is_some() || entity == "array" || !observation.units_are_cut,
            Kind::Level => false,
        };
        *presence += if is_known { ms } else { 0.0 };
        if let Some(value) = value {
            sum.weighted += value.value * ms;
            sum.ms += ms;
            sum.max = Some(sum.max.map_or(value.value, |max| max.max(value.value)));
        }
    }
    let value = |(sum, presence): &(Sum, f64)| match kind {
        Kind::Level => sum.max.map(|max| (sum.weighted / sum.ms, max)),
        Kind::Rate => (*presence > 0.0).then(|| (sum.weighted / presence, sum.max.unwrap_or(0.0))),
    };
    let last = steps.keys().next_back().copied().unwrap_or(0);
    (0..=last).map(|step| steps.get(&step).and_then(value)).collect()
}

fn random_observation(random: &Random, unix_seconds: i64) -> Observation {
    let units_are_cut = random.chance(5);
    let mut entities = Vec::new();
    for (entity, class) in [("array", Class::Array), ("volume.a", Class::Unit), ("volume.b", Class::Unit)] {
        if !random.chance(60) {
            continue;
        }
        let mut values = vec![Value { column: "ops", kind: Kind::Rate, value: random.below(5000) as f64 }];
        if random.chance(50) {
            values.push(Value { column: "latency", kind: Kind::Level, value: random.below(1 << 20) as f64 });
        }
        entities.push(Observed { entity: entity.to_owned(), class, values });
    }
    Observation { unix_seconds, interval_ms: 500 + random.below(1000) as u32, entities, units_are_cut }
}

/// Compares every tier with the list, at steps of the tier and at longer ones.
fn compare(store: &Store, observations: &[Observation], why: &str) {
    let series: [(&str, Class); 3] = [("array", Class::Array), ("volume.a", Class::Unit), ("volume.b", Class::Unit)];
    for tier in Tier::ALL {
        for step_seconds in [tier.step_seconds(), 3 * tier.step_seconds()] {
            let wanted: Vec<_> = series.iter().filter(|(_, class)| tier.kept_seconds(*class) > 0).collect();
            let query = Query {
                tier,
                from: START,
                step_seconds,
                points: 2000,
                series: wanted
                    .iter()
                    .flat_map(|(entity, class)| {
                        COLUMNS.map(|(column, kind)| Series {
                            entity: (*entity).to_owned(),
                            class: *class,
                            column: column.to_owned(),
                            kind,
                        })
                    })
                    .collect(),
            };
            let values = store.query(&query).unwrap();
            let mut replies = values.series.iter();
            for (entity, _) in wanted {
                for (at, (column, _)) in COLUMNS.iter().enumerate() {
                    let step = i64::try_from(values.step_seconds).unwrap();
                    let expected = expected(observations, entity, at, values.start, step);
                    let reply = replies.next().unwrap();
                    for (point, value) in reply.iter().enumerate() {
                        let wanted = expected.get(point).copied().flatten();
                        let is_close = match (value, wanted) {
                            (None, None) => true,
                            (Some((average, max)), Some((mean, most))) => {
                                (average - mean).abs() <= mean.abs() * 1e-4 + 1e-3 && (max - most).abs() <= most * 1e-6
                            }
                            _ => false,
                        };
                        assert!(
                            is_close,
                            "{why}: {tier:?}/{step} {entity}.{column} {point}: {value:?}, not {wanted:?}"
                        );
                    }
                }
            }
        }
    }
}

/// Hours with gaps, clocks that are set back, restarts in the middle of steps, flushes at any time. Fails
/// if a row were lost, counted twice, at another time, or merged without its weight.
#[test]
fn what_was_recorded_comes_back() {
    for seed in 0..8 {
        let random = Random::new(seed);
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("history.redb");
        let mut store = Store::open(&path, 1 << 30, START).unwrap();
        let mut observations = Vec::new();
        let mut now = START;
        for _ in 0..12_000 {
            now += match random.below(2000) {
                0 => 3600 + random.below(20_000) as i64,
                1 => -(random.below(2000) as i64).min(now - START),
                _ => 1,
            };
            let observation = random_observation(&random, now);
            store.observe(&observation);
            observations.push(observation);
            if random.chance(1) {
                store.flush(random.chance(20), |_| true).unwrap();
            }
            if random.below(2000) == 0 {
                store.flush(true, |_| true).unwrap();
                drop(store);
                store = Store::open(&path, 1 << 30, now).unwrap();
            }
        }
        compare(&store, &observations, &format!("seed {seed}, in use"));
        store.flush(true, |_| true).unwrap();
        drop(store);
        let store = Store::open(&path, 1 << 30, now).unwrap();
        compare(&store, &observations, &format!("seed {seed}, opened again"));
    }
}
