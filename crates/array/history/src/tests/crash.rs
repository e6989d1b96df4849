//! Crashes: the file opens, and what was synced is there.

use super::medium::Medium;
use super::{one, second};
use crate::{Class, Store, Tier};
use random::Random;
use redb::Builder;

const START: i64 = 1_800_000_000;

fn open(medium: &Medium) -> Store {
    let database = Builder::new().create_with_backend(medium.clone()).unwrap();
    Store::over(database, 1 << 30, START).unwrap()
}

/// A crash after any number of minutes, with any of the later writes on the disk: opens, and has every
/// second up to the last synced write. Fails if a synced write were not synced, or a later one could
/// damage it.
#[test]
fn a_crash_costs_only_what_was_not_synced() {
    for seed in 0..12 {
        let random = Random::new(seed);
        let mut medium = Medium::default();
        let mut store = open(&medium);
        let (mut now, mut synced) = (START, START);
        let mut synced_count = 0;
        for minute in 0..60 {
            for _ in 0..60 {
                store.observe(&second(now, "array", Class::Array, 1.0));
                now += 1;
            }
            store.count(now, &[("calls".to_owned(), 1)]);
            let is_synced = minute % 15 == 14;
            store.flush(is_synced, |_| true).unwrap();
            if is_synced {
                synced = now;
                synced_count = *store.counters().all().get("calls").unwrap();
            }
            if random.chance(15) {
                let share = random.below(101);
                let after = medium.after_crash(|| random.chance(share));
                // The process is gone: nothing of it reaches the file any more.
                std::mem::forget(store);
                medium = after;
                store = open(&medium);
                let points = usize::try_from(synced - START).unwrap() / 10;
                let values = store.query(&one(Tier::Seconds, "array", Class::Array, START, points)).unwrap();
                let gaps = values.series[0].iter().filter(|value| **value != Some((1.0, 1.0))).count();
                assert_eq!(gaps, 0, "seed {seed}, minute {minute}");
                let calls = store.counters().all().get("calls").copied().unwrap_or_default();
                assert!(calls >= synced_count, "seed {seed}: {calls} of {synced_count} calls");
                assert_eq!(store.counters().since(), START);
                // What was lost may be observed anew; the test only needs seconds without gaps.
                now = synced;
            }
        }
    }
}

/// Damage of the file goes unnoticed, is an error, or a panic of redb that unwinds, so that an owner who catches it
/// goes on. Fails if such a panic ended the process.
#[test]
fn a_damaged_file_ends_no_process() {
    let medium = Medium::default();
    let mut store = open(&medium);
    for at in 0..40_000 {
        store.observe(&second(START + at, "array", Class::Array, at as f64));
    }
    store.flush(true, |_| true).unwrap();
    drop(store);
    let whole = medium.content();
    let random = Random::new(3);
    let (mut refused, mut panicked) = (0, 0);
    for _ in 0..100 {
        let mut damaged = whole.clone();
        for _ in 0..1 + random.below(64) {
            let at = random.index(damaged.len());
            damaged[at] = random.byte();
        }
        let look = move || {
            let database = Builder::new().create_with_backend(Medium::of(damaged))?;
            let mut store = Store::over(database, 1 << 30, START)?;
            store.query(&one(Tier::Seconds, "array", Class::Array, START, 1000))?;
            store.observe(&second(START, "array", Class::Array, 1.0));
            store.flush(true, |_| true).map(drop)
        };
        match std::panic::catch_unwind(std::panic::AssertUnwindSafe(look)) {
            Ok(Ok(())) => {}
            Ok(Err(_)) => refused += 1,
            Err(_) => panicked += 1,
        }
    }
    assert!(refused > 0, "{refused} refused, {panicked} panicked");
}
