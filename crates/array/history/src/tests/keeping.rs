//! How long pages are kept, and how many.

use super::{one, second};
use crate::{Class, Error, Kind, Observation, Observed, Store, Tier, Value};
use random::Random;

const START: i64 = 1_800_000_000;

/// Observation of five minutes of some volumes, with values that compress badly.
fn busy(random: &Random, unix_seconds: i64, volumes: impl Iterator<Item = u32>) -> Observation {
    let value = |column| Value { column, kind: Kind::Rate, value: random.below(1 << 40) as f64 };
    let values = || ["a", "b", "c", "d", "e", "f", "g"].map(value).to_vec();
    let entities =
        volumes.map(|number| Observed { entity: format!("volume.{number:036}"), class: Class::Unit, values: values() });
    Observation { unix_seconds, interval_ms: 150_000, entities: entities.collect(), units_are_cut: false }
}

/// The file stays below its limit; the volumes that were used last keep their values. Fails without the
/// removal of pages, or if the estimate of their space were too low.
#[test]
fn the_file_stays_below_its_limit() {
    const LIMIT: u64 = 8 << 20;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("history.redb");
    let mut store = Store::open(&path, LIMIT, START).unwrap();
    let random = Random::new(1);
    let (mut removed, mut longest) = (0, 0);
    for step in 0..700 {
        let now = START + step * 300;
        // Volume 0 is used until the middle, and sixty others always.
        let volumes = (1..62).chain((step < 350).then_some(0));
        store.observe(&busy(&random, now, volumes.clone()));
        store.observe(&busy(&random, now + 150, volumes));
        if step % 3 == 2 {
            removed += store.flush(true, |_| true).unwrap().removed_by_limit;
        }
        longest = longest.max(std::fs::metadata(&path).unwrap().len());
    }
    assert!(removed > 0);
    assert!(longest <= LIMIT, "{longest} bytes");
    assert!(longest > LIMIT / 4, "{longest} bytes: the limit is hardly used");
    let known = |number: u32| {
        let entity = format!("volume.{number:036}");
        let mut query = one(Tier::Minutes, &entity, Class::Unit, START + 650 * 300, 50);
        query.series[0].column = "a".to_owned();
        query.series[0].kind = Kind::Level;
        store.query(&query).unwrap().series[0].iter().flatten().count()
    };
    assert!(known(1) + known(30) + known(61) > 0);
    assert_eq!(store.since(&format!("volume.{:036}", 0)), None, "the volume that was used least recently");
    // A lower limit at the next start shortens the file.
    assert!(std::fs::metadata(&path).unwrap().len() > LIMIT / 4);
    drop(store);
    let store = Store::open(&path, LIMIT / 4, START).unwrap();
    assert!(std::fs::metadata(&path).unwrap().len() <= LIMIT / 4);
    assert!(store.pages_bytes() < LIMIT / 4);
}

/// Pages go when they were recorded long ago, and those of deleted units after 30 days. Time in which
/// nothing was recorded counts for nothing.
#[test]
fn pages_go_by_time_of_recording() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = Store::open(&directory.path().join("history.redb"), 1 << 30, START).unwrap();
    let day = |day: i64, entity: &str| {
        let observation = second(START + day * 86_400, entity, Class::Unit, 1.0);
        Observation { interval_ms: 86_400_000, ..observation }
    };
    let known = |store: &Store, tier: Tier, entity: &str| {
        let query = one(tier, entity, Class::Unit, START, 1);
        let mut query = crate::Query { step_seconds: 400 * 86_400, ..query };
        query.series[0].kind = Kind::Level;
        store.query(&query).unwrap().series[0][0].is_some()
    };
    store.observe(&day(0, "kept"));
    store.observe(&day(0, "deleted"));
    for number in 0..120 {
        store.observe(&day(number, "other"));
        store.flush(true, |entity| entity != "deleted").unwrap();
        let found = Tier::ALL.map(|tier| (known(&store, tier, "kept"), known(&store, tier, "deleted")));
        match number {
            28 => assert_eq!(found, [(false, false), (true, true), (true, true)]),
            32 => assert_eq!(found, [(false, false), (false, false), (true, false)]),
            85 => assert_eq!(found[2], (true, false)),
            119 => assert_eq!(found[2], (false, false)),
            _ => {}
        }
    }
}

/// A clock that is wrong for a while, years ahead or behind, costs nothing of what was recorded before and after.
#[test]
fn a_clock_that_jumps_loses_nothing() {
    for jump in [10 * 365 * 86_400, -10 * 365 * 86_400, i64::MAX - START - 10_000] {
        let directory = tempfile::tempdir().unwrap();
        let mut store = Store::open(&directory.path().join("history.redb"), 1 << 30, START).unwrap();
        for at in 0..9_000 {
            let is_wrong = (3_000..6_000).contains(&at);
            let unix_seconds = START + at + if is_wrong { jump } else { 0 };
            store.observe(&second(unix_seconds, "array", Class::Array, 2.0));
            if at % 60 == 0 {
                store.flush(at % 900 == 0, |_| true).unwrap();
            }
        }
        store.flush(true, |_| true).unwrap();
        let values = |from| store.query(&one(Tier::Seconds, "array", Class::Array, from, 300)).unwrap().series;
        assert_eq!(values(START)[0], vec![Some((2.0, 2.0)); 300], "jump {jump}");
        assert_eq!(values(START + 3_000)[0], vec![None; 300], "jump {jump}");
        assert_eq!(values(START + 6_000)[0], vec![Some((2.0, 2.0)); 300], "jump {jump}");
        assert_eq!(values((START + jump).saturating_add(3_000))[0][0], Some((2.0, 2.0)), "jump {jump}");
    }
}

#[test]
fn other_files_are_unreadable() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("history.redb");
    for content in [b"not a database".to_vec(), vec![0; 100_000], vec![0xa5; 100_000]] {
        std::fs::write(&path, content).unwrap();
        assert!(matches!(Store::open(&path, 1 << 30, START), Err(Error::Unreadable(_))));
    }
    assert!(matches!(Store::open(directory.path(), 1 << 30, START), Err(Error::Unusable(_))));
    // A file of a later format.
    std::fs::remove_file(&path).unwrap();
    drop(Store::open(&path, 1 << 30, START).unwrap());
    let database = redb::Database::create(&path).unwrap();
    let transaction = database.begin_write().unwrap();
    let state = redb::TableDefinition::<&str, u64>::new("state");
    transaction.open_table(state).unwrap().insert("format", 2).unwrap();
    transaction.commit().unwrap();
    drop(database);
    assert!(
        matches!(Store::open(&path, 1 << 30, START), Err(Error::Unreadable(reason)) if reason.contains("format is 2"))
    );
}

/// Names and values that do not belong into a page, times at the ends of the range.
#[test]
fn odd_observations_are_harmless() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = Store::open(&directory.path().join("history.redb"), 1 << 30, START).unwrap();
    for unix_seconds in [i64::MIN, -1, 0, i64::MAX] {
        store.observe(&second(unix_seconds, "", Class::Array, 1.0));
        store.observe(&second(unix_seconds, &"x".repeat(65), Class::Array, 1.0));
        store.observe(&second(unix_seconds, "array", Class::Array, f64::NAN));
        store.flush(true, |_| true).unwrap();
        let query = one(Tier::Hours, "array", Class::Array, unix_seconds, 1000);
        let values = store.query(&crate::Query { step_seconds: u64::MAX, ..query }).unwrap();
        assert_eq!(values.series[0].len(), 1000);
    }
    assert_eq!(store.since("array"), None);
}

#[test]
fn a_range_has_the_tier_that_fits() {
    let day = 86_400;
    let tier = |age, step, class| Tier::for_range(age, step, class);
    assert_eq!(tier(3600, 12, Class::Array), Tier::Seconds);
    assert_eq!(tier(3600, 12, Class::Unit), Tier::Minutes);
    assert_eq!(tier(day, 288, Class::Array), Tier::Seconds);
    assert_eq!(tier(day, 300, Class::Array), Tier::Minutes);
    assert_eq!(tier(7 * day, 2016, Class::Array), Tier::Minutes);
    assert_eq!(tier(30 * day, 8640, Class::Array), Tier::Hours);
    assert_eq!(tier(31 * day, 10, Class::Array), Tier::Hours);
    assert_eq!(tier(5000 * day, 10, Class::Unit), Tier::Hours);
}
