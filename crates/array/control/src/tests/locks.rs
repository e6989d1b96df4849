//! Locked snapshots: no request and no clock deletes one before its time (K1).

use super::Array;
use crate::*;
use futures_executor::block_on;
use futures_util::FutureExt;
use jiff::{SignedDuration, Timestamp};
use random::Random;
use std::time::Duration;

const DAY: Duration = Duration::from_secs(86_400);

fn lock(snapshot: &str, until: Timestamp) -> SnapshotLock {
    SnapshotLock { snapshot: snapshot.to_owned(), until }
}

fn take(array: &Array, name: &str) -> SnapshotView {
    array.run(SnapshotCreate { volume: "v1".to_owned(), name: name.to_owned() }).unwrap()
}

fn delete(now: bool) -> SnapshotDelete {
    SnapshotDelete { snapshot: "v1@s".to_owned(), now }
}

/// Lets real time pass.
fn pass(array: &Array, time: Duration) {
    array.environment.pass(time);
    let now = Environment::now(&*array.environment);
    array.environment.set_now(now + SignedDuration::try_from(time).unwrap());
}

#[test]
fn a_locked_snapshot_is_deleted_by_nobody_and_its_lock_only_becomes_longer() {
    let array = Array::new();
    array.create("v1");
    take(&array, "s");
    let now = Environment::now(&*array.environment);
    let end = now + SignedDuration::from_hours(48);
    assert_eq!(array.code(lock("v1@s", now - SignedDuration::from_secs(9))), "invalid-setting");
    assert_eq!(array.code(lock("v1@s", now + SignedDuration::from_hours(24 * 4000))), "invalid-setting");
    assert_eq!(array.run(lock("v1@s", end)).unwrap().record.locked_until, Some(end));
    let error = array.run(delete(false)).unwrap_err();
    assert_eq!((error.code(), error.class()), ("locked", Class::Conflict));
    assert!(error.to_string().starts_with("snapshot v1@s is locked until 2026-"), "{error}");
    assert_eq!(array.code(delete(true)), "locked");
    assert_eq!(array.code(lock("v1@s", end - SignedDuration::from_secs(1))), "locked");
    let end = array.run(lock("v1@s", end + SignedDuration::from_hours(1))).unwrap().record.locked_until.unwrap();
    // Its volume goes to the trash, but not out of it.
    let volume = |now| VolumeDelete { volume: "v1".to_owned(), with_snapshots: true, now, ..VolumeDelete::default() };
    assert_eq!(array.code(volume(true)), "locked");
    let trashed = array.run(volume(false)).unwrap().trashed.unwrap();
    assert_eq!(array.code(TrashEmpty { item: None }), "locked");
    pass(&array, DAY + DAY / 2);
    assert!(Environment::now(&*array.environment) > trashed.record.until);
    block_on(array.control.look());
    assert_eq!(array.run(TrashList).unwrap().len(), 1);
    // K3: hosts do not get its space either.
    array.catalog.offer.is_wanted.set(true);
    block_on(array.control.look_for_wanted_space(&mut 0));
    assert_eq!((array.run(TrashList).unwrap().len(), array.catalog.offer.is_made.get()), (1, false));
    // When the lock is over, the trash is emptied.
    pass(&array, DAY);
    assert!(array.control.trusted_now() > end);
    block_on(array.control.look());
    assert_eq!(array.run(TrashList).unwrap(), []);
}

#[test]
fn a_clock_that_is_set_ends_no_lock() {
    let array = Array::new();
    array.create("v1");
    take(&array, "s");
    let now = Environment::now(&*array.environment);
    array.run(lock("v1@s", now + SignedDuration::from_hours(48))).unwrap();
    block_on(array.control.look());
    // A year ahead, and a restart there.
    array.environment.set_now(now + SignedDuration::from_hours(24 * 365));
    assert_eq!(array.code(delete(true)), "locked");
    assert!(array.alerts().contains(&"clock-ahead"));
    let array = Array::over(array.catalog).unwrap();
    array.environment.set_now(now + SignedDuration::from_hours(24 * 365));
    assert_eq!(array.code(delete(true)), "locked");
    // Two days pass, as far as the array can measure.
    array.environment.pass(DAY);
    assert_eq!(array.code(delete(true)), "locked");
    array.environment.pass(DAY);
    array.run(delete(true)).unwrap();
    // Without locks nothing of it is stored.
    array.environment.pass(DAY);
    block_on(array.control.look());
    assert_eq!((array.documents("time"), array.alerts()), (Vec::new(), vec!["scrub-overdue"]));
}

#[test]
fn trusted_time_is_stored_now_and_then_and_at_a_stop() {
    let array = Array::new();
    array.create("v1");
    take(&array, "s");
    block_on(array.control.look());
    assert_eq!(array.documents("time"), []);
    let now = Environment::now(&*array.environment);
    array.run(lock("v1@s", now + SignedDuration::from_hours(48))).unwrap();
    pass(&array, DAY);
    block_on(array.control.close());
    let again = Array::over(array.catalog).unwrap();
    again.environment.set_now(now + SignedDuration::from_hours(25));
    assert_eq!(again.code(delete(true)), "locked");
    pass(&again, DAY + Duration::from_secs(60));
    again.run(delete(true)).unwrap();
}

/// Regression: the time of day at the start was trusted while nothing was locked. A clock that was wrong
/// then made locks last for years, or impossible.
#[test]
fn a_clock_that_is_set_while_nothing_is_locked_is_trusted() {
    for days in [-300, 300] {
        let array = Array::new();
        array.create("v1");
        take(&array, "s");
        assert!(array.control.trusted_now() > Timestamp::UNIX_EPOCH);
        let now = Environment::now(&*array.environment) + SignedDuration::from_hours(24 * days);
        array.environment.set_now(now);
        array.run(lock("v1@s", now + SignedDuration::from_hours(25))).unwrap();
        pass(&array, DAY);
        assert_eq!(array.code(delete(true)), "locked");
        pass(&array, DAY / 12);
        array.run(delete(true)).unwrap();
    }
}

/// Regression: the document could be deleted just after the first lock had stored it.
#[test]
fn trusted_time_is_stored_under_the_lock_on_changes() {
    let array = Array::new();
    let changes = block_on(array.control.lock_changes());
    assert_eq!(array.control.keep_time(false).now_or_never(), None);
    drop(changes);
    assert_eq!(array.control.keep_time(false).now_or_never(), Some(()));
    // It is not due: no request is waited for.
    let changes = block_on(array.control.lock_changes());
    assert_eq!(array.control.keep_time(false).now_or_never(), Some(()));
    drop(changes);
}

/// K1, of any sequence of requests, clocks and restarts: as long as less real time than its lock has
/// passed since, the snapshot exists, and its lock does not end earlier.
#[test]
fn no_sequence_of_requests_and_clocks_ends_a_lock() {
    for seed in 0..40 {
        let random = Random::new(seed);
        let mut array = Array::new();
        array.create("v1");
        let object = take(&array, "s").record.object;
        let start = Environment::now(&*array.environment);
        let length = SignedDuration::from_hours(72);
        array.run(lock("v1@s", start + length)).unwrap();
        let mut real = Duration::ZERO;
        for _ in 0..60 {
            match random.below(9) {
                0 => drop(array.run(delete(random.chance(50)))),
                1 => {
                    let now = random.chance(50);
                    let volume =
                        VolumeDelete { volume: "v1".to_owned(), with_snapshots: true, now, ..VolumeDelete::default() };
                    drop(array.run(volume));
                }
                2 => drop(array.run(TrashEmpty { item: None })),
                3 => drop(array.run(TrashRestore { item: "v1".to_owned(), ..TrashRestore::default() })),
                4 => {
                    let step = random.below(86_400 * 800) as i64 - 86_400 * 400;
                    array.environment.set_now(start + SignedDuration::from_secs(step));
                }
                5 => {
                    let until = start + SignedDuration::from_secs(random.below(86_400 * 6) as i64);
                    drop(array.run(lock("v1@s", until)));
                }
                6 => array = Array::over(array.catalog).unwrap(),
                7 => {
                    let time = Duration::from_secs(random.below(3600));
                    real += time;
                    array.environment.pass(time);
                }
                _ => {
                    array.catalog.offer.is_wanted.set(random.chance(50));
                    block_on(array.control.look_for_wanted_space(&mut 0));
                    block_on(array.control.look());
                }
            }
            assert!(real < Duration::from_secs(71 * 3600));
            assert!(array.control.object(object).is_ok(), "seed {seed}");
        }
    }
}
