//! Locked snapshots: no request and no clock deletes one before its time (K1).

use super::Array;
use crate::record::Document;
use crate::trusted_time::hour::{full_hour, hour_of};
use crate::*;
use futures_executor::block_on;
use futures_util::FutureExt;
use jiff::{SignedDuration, Timestamp};
use pool::{CatalogChange, Hour, PoolError};
use random::Random;
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(86_400);

fn lock(snapshot: &str, until: Timestamp) -> SnapshotLock {
    SnapshotLock { snapshot: snapshot.to_owned(), until }
}

fn take(array: &Array, name: &str) -> SnapshotView {
    array.run(SnapshotCreate { volume: "v1".to_owned(), name: name.to_owned() }).unwrap()
}

fn all() -> SnapshotList {
    SnapshotList { volume: None, older_than: None }
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
    let end = full_hour(now) + SignedDuration::from_hours(48);
    assert_eq!(array.code(lock("v1@s", now - SignedDuration::from_secs(9))), "invalid-setting");
    assert_eq!(array.code(lock("v1@s", now + SignedDuration::from_hours(24 * 4000))), "invalid-setting");
    assert_eq!(array.run(lock("v1@s", end)).unwrap().record.locked_until, Some(end));
    let error = array.run(delete(false)).unwrap_err();
    assert_eq!((error.code(), error.class()), ("locked", Class::Conflict));
    assert!(error.to_string().starts_with("snapshot v1@s is locked until 2026-"), "{error}");
    assert_eq!(array.code(delete(true)), "locked");
    assert_eq!(array.code(lock("v1@s", end - SignedDuration::from_secs(3600))), "locked");
    // Ends are full hours.
    let earlier = lock("v1@s", end - SignedDuration::from_secs(1));
    assert_eq!(array.run(earlier).unwrap().record.locked_until, Some(end));
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
    pass(&array, DAY + HOUR);
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
    array.environment.pass(DAY + HOUR);
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
    pass(&again, DAY + HOUR);
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

/// The pool refuses what a defect of `control` would ask for.
#[test]
fn the_pool_itself_deletes_no_locked_snapshot() {
    let array = Array::new();
    array.create("v1");
    let object = take(&array, "s").record.object;
    let now = Environment::now(&*array.environment);
    array.run(lock("v1@s", now + SignedDuration::from_hours(2))).unwrap();
    let until = array.control.object(object).unwrap().locked_until.unwrap();
    let commit = |changes| block_on(array.control.catalog().commit(changes));
    let delete = CatalogChange::DeleteObject { id: object };
    assert_eq!(commit(vec![delete.clone()]), Err(PoolError::Locked { object, until }));
    let early = Hour::new(until.get() - 1).unwrap();
    let unlock = |now| CatalogChange::Unlock { id: object, now };
    assert_eq!(commit(vec![unlock(early), delete.clone()]), Err(PoolError::Locked { object, until }));
    assert_eq!(commit(vec![unlock(until), delete]), Ok(()));
}

/// A schedule locks the object in the commit that takes the snapshot, and removes it when both allow it.
#[test]
fn snapshots_of_a_schedule_are_locked_from_the_beginning() {
    let array = Array::new();
    array.create("v1");
    let schedule = ScheduleCreate {
        name: "often".to_owned(),
        when: When::Every { seconds: 3600 },
        zone: None,
        volumes: vec!["v1".to_owned()],
        label: None,
        keep: Keep { hourly: 1, ..Keep::default() },
        keep_last: Some(1),
        lock_seconds: Some(7200),
    };
    array.run(schedule).unwrap();
    for _ in 0..6 {
        pass(&array, HOUR);
        block_on(array.control.look());
        block_on(array.control.look());
        for view in array.run(all()).unwrap() {
            let is_locked = array.control.object(view.record.object).unwrap().locked_until.is_some();
            assert!(is_locked, "{}", view.record.name);
        }
    }
    // Those whose lock is over are gone.
    let left = array.run(all()).unwrap().len();
    assert!((2..=4).contains(&left), "{left}");
}

/// A release that kept locks in documents alone left objects without one, and ends within hours.
#[test]
fn locks_of_an_older_release_are_adopted_by_the_pool() {
    let array = Array::new();
    array.create("v1");
    let record = take(&array, "s").record;
    let now = Environment::now(&*array.environment);
    let end = full_hour(now) + SignedDuration::from_mins(2 * 24 * 60 - 20);
    let older = SnapshotRecord { locked_until: Some(end), ..record.clone() };
    block_on(array.control.catalog().commit(vec![older.put().unwrap(), array.control.put_time().unwrap()])).unwrap();
    assert_eq!(array.control.object(record.object).unwrap().locked_until, None);
    for _ in 0..2 {
        let again = Array::over(std::rc::Rc::clone(&array.catalog)).unwrap();
        let kept = again.control.object(record.object).unwrap().locked_until.unwrap();
        assert_eq!(kept, hour_of(full_hour(end)).unwrap());
        let shown = again.run(SnapshotShow { snapshot: "v1@s".to_owned() }).unwrap().record.locked_until;
        assert_eq!(shown, Some(full_hour(end)));
    }
}

/// Snapshot v1@s, locked for 40 hours by its document alone.
fn locked_by_older_release() -> (Array, SnapshotRecord) {
    let array = Array::new();
    array.create("v1");
    let record = take(&array, "s").record;
    let end = full_hour(Environment::now(&*array.environment)) + SignedDuration::from_hours(40);
    let older = SnapshotRecord { locked_until: Some(end), ..record.clone() };
    block_on(array.control.catalog().commit(vec![older.put().unwrap(), array.control.put_time().unwrap()])).unwrap();
    (array, record)
}

/// The error of the commit went nowhere: nothing said that the pool itself would delete these snapshots.
#[test]
fn locks_that_cannot_be_adopted_are_an_event() {
    let (array, record) = locked_by_older_release();
    *array.catalog.fail_next.borrow_mut() = Some(PoolError::PoolFull);
    let again = Array::over(std::rc::Rc::clone(&array.catalog)).unwrap();
    assert_eq!(again.control.object(record.object).unwrap().locked_until, None);
    let list = EventList { since: None, filter: EventFilter::default(), limit: 100 };
    let events = again.run(list).unwrap();
    let event = events.iter().find(|event| event.code == "locks-not-adopted").unwrap();
    assert!(
        event.message.starts_with("1 locked snapshots of an older release could not be locked"),
        "{}",
        event.message
    );
    let restarted = Array::over(again.catalog).unwrap();
    assert!(restarted.control.object(record.object).unwrap().locked_until.is_some(), "the next start tries again");
}

/// The same for a snapshot that went to the trash with its volume.
#[test]
fn locks_in_the_trash_are_adopted_by_the_pool() {
    let (array, record) = locked_by_older_release();
    let array = Array::over(array.catalog).unwrap();
    // As an older release left it.
    let unlock = CatalogChange::Unlock { id: record.object, now: Hour::MAX };
    let volume = VolumeDelete { volume: "v1".to_owned(), with_snapshots: true, ..VolumeDelete::default() };
    array.run(volume).unwrap();
    block_on(array.control.catalog().commit(vec![unlock])).unwrap();
    let array = Array::over(array.catalog).unwrap();
    assert!(array.control.object(record.object).unwrap().locked_until.is_some());
    assert_eq!(array.code(TrashEmpty { item: None }), "locked");
}
