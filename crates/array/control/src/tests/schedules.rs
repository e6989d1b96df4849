//! Schedules under a virtual clock: runs, missed and doubled times, restarts, retention.

use super::space::codes;
use super::{Array, volume};
use crate::schedules::keep::{Taken, surplus};
use crate::schedules::when::zone;
use crate::*;
use futures_executor::block_on;
use futures_util::FutureExt;
use jiff::{SignedDuration, Timestamp};
use pool::ObjectId;
use std::collections::BTreeSet;

const HOUR: SignedDuration = SignedDuration::from_hours(1);

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn schedule(name: &str, when: When, volumes: &[&str]) -> ScheduleCreate {
    ScheduleCreate {
        name: name.to_owned(),
        when,
        zone: None,
        volumes: volumes.iter().map(|&volume| volume.to_owned()).collect(),
        label: None,
        keep: Keep::default(),
        keep_last: None,
        lock_seconds: None,
    }
}

/// Looks at a time.
fn look(array: &Array, time: Timestamp) {
    array.environment.set_now(time);
    block_on(array.control.look());
}

/// Array with an hourly schedule of the volume `v1`, which keeps the snapshots of so many hours, after a number of
/// runs; with the time of the last one.
fn hourly(name: &str, start: &str, hourly: u16, runs: usize) -> (Array, Timestamp) {
    let array = Array::new();
    array.create("v1");
    let mut time = at(start);
    array.environment.set_now(time);
    let keep = Keep { hourly, ..Keep::default() };
    array.run(ScheduleCreate { keep, ..schedule(name, When::Every { seconds: 3600 }, &["v1"]) }).unwrap();
    for _ in 0..runs {
        time += HOUR;
        look(&array, time);
    }
    (array, time)
}

/// Names of the snapshots of a volume, the oldest first.
fn names(array: &Array, of: &str) -> Vec<String> {
    let mut views = array.run(SnapshotList { volume: Some(of.to_owned()), older_than: None }).unwrap();
    views.sort_by_key(|view| (view.record.created, view.record.object));
    views.into_iter().map(|view| view.record.name).collect()
}

fn show(array: &Array, name: &str) -> ScheduleRecord {
    array.run(ScheduleShow { schedule: name.to_owned() }).unwrap().record
}

/// A leap year of days with a missing and a doubled time, and a restart each five weeks: each day has
/// one run, and the rules leave what they leave of all runs together.
#[test]
fn a_year_has_each_run_once() {
    let mut array = Array::new();
    array.create("v1");
    let berlin = zone("Europe/Berlin").unwrap();
    array.environment.set_now(at("2027-12-31T12:00:00Z"));
    let keep = Keep { hourly: 0, daily: 7, weekly: 4, monthly: 12 };
    let create = ScheduleCreate {
        zone: Some("Europe/Berlin".to_owned()),
        keep,
        ..schedule("nightly", When::Daily { minute: 150 }, &["v1"])
    };
    array.run(create).unwrap();
    let (mut seen, mut time) = (BTreeSet::new(), at("2027-12-31T12:00:00Z"));
    while time < at("2028-12-31T12:00:00Z") {
        time += HOUR;
        look(&array, time);
        seen.extend(names(&array, "v1"));
        if time.as_second() / 3600 % 840 == 0 {
            array = Array::over(array.catalog).unwrap();
        }
    }
    assert_eq!(seen.len(), 366);
    assert!(seen.contains("nightly.2028-03-26T010000Z"), "02:30 does not exist: 03:00 does");
    assert!(seen.contains("nightly.2028-10-29T003000Z"), "02:30 exists twice");
    let all: Vec<Taken> = (1..)
        .zip(&seen)
        .map(|(number, name)| {
            let text = name.strip_prefix("nightly.").unwrap();
            let text = format!("{}:{}:{}", &text[..13], &text[13..15], &text[15..]);
            Taken { object: ObjectId(number), at: at(&text), is_held: false }
        })
        .collect();
    let gone = surplus(all.clone(), keep, 3, &berlin);
    let left = (1..).zip(&seen).filter(|(number, _)| gone.iter().all(|gone| gone.object != ObjectId(*number)));
    assert_eq!(names(&array, "v1"), left.map(|(_, name)| name.clone()).collect::<Vec<_>>());
    assert_eq!(names(&array, "v1").len(), 7 + 3 + 11);
    let last = show(&array, "nightly").last.unwrap();
    assert_eq!((last.taken, last.skipped), (1, 0));
}

#[test]
fn missed_runs_are_made_up_once() {
    let array = Array::new();
    array.create("v1");
    array.environment.set_now(at("2026-11-27T10:05:00Z"));
    array.run(schedule("gold", When::Every { seconds: 900 }, &["v1"])).unwrap();
    look(&array, at("2026-11-27T10:14:00Z"));
    assert_eq!(names(&array, "v1"), [""; 0]);
    look(&array, at("2026-11-27T10:15:10Z"));
    look(&array, at("2026-11-27T10:15:30Z"));
    assert_eq!(names(&array, "v1"), ["gold.2026-11-27T101500Z"]);
    assert!(!codes(&array).contains(&"schedule-late".to_owned()));
    // The array is off for four hours.
    let again = Array::over(array.catalog).unwrap();
    again.environment.set_now(at("2026-11-27T14:20:10Z"));
    assert!(again.alerts().contains(&"schedule-late"));
    look(&again, at("2026-11-27T14:20:20Z"));
    look(&again, at("2026-11-27T14:20:30Z"));
    assert_eq!(names(&again, "v1"), ["gold.2026-11-27T101500Z", "gold.2026-11-27T141500Z"]);
    assert_eq!(show(&again, "gold").next, at("2026-11-27T14:30:00Z"));
    assert!(codes(&again).contains(&"schedule-late".to_owned()));
    assert_eq!(again.alerts(), ["scrub-overdue"]);
}

/// A clock that is wrong by an hour or a year in either direction takes no snapshot from anybody, and
/// runs go on when it is right again.
#[test]
fn clock_steps_wipe_nothing() {
    for step in [1, -1, 24 * 365, -24 * 365].map(SignedDuration::from_hours) {
        let (array, time) = hourly("h", "2026-11-27T10:00:30Z", 48, 10);
        let before = names(&array, "v1");
        assert_eq!(before.len(), 10);
        for hour in 1..=10 {
            look(&array, time + step + HOUR * hour);
        }
        look(&array, time + HOUR);
        let after = names(&array, "v1");
        assert!(before.iter().all(|name| after.contains(name)), "{step}: {after:?}");
        assert!(after.len() >= 19, "{step}: {after:?}");
        // Back in time, it is due each hour, also in those that were there before.
        for hour in 2..=6 {
            let now = time + HOUR * hour;
            look(&array, now);
            let due = now - SignedDuration::from_secs(30);
            assert_eq!(show(&array, "h").last.map(|last| (last.due, last.taken)), Some((due, 1)), "{step}");
        }
    }
}

#[test]
fn members_that_are_due_together_have_one_instant() {
    let array = Array::new();
    for name in ["v1", "v2", "v3"] {
        array.create(name);
    }
    let label = |name: &str, value: Option<&str>| VolumeSet {
        volume: name.to_owned(),
        labels: [("tier".to_owned(), value.map(str::to_owned))].into(),
        ..VolumeSet::default()
    };
    let (labelled, _) = volume(array.run(label("v2", Some("gold"))));
    assert_eq!(labelled.record.labels.get("tier").map(String::as_str), Some("gold"));
    assert_eq!(array.code(label("v2", Some("a b"))), "invalid-setting");
    array.run(ShareCreate::new("s1")).unwrap();
    array.environment.set_now(at("2026-11-27T10:05:00Z"));
    let gold = Some(Label { key: "tier".to_owned(), value: "gold".to_owned() });
    let create = ScheduleCreate { label: gold, ..schedule("g", When::Every { seconds: 900 }, &["v1", "s1", "v1"]) };
    let view = array.run(create.clone()).unwrap();
    assert_eq!((view.members, view.names), (3, vec!["s1".to_owned(), "v1".to_owned()]));
    assert_eq!(array.code(create), "exists");
    array.run(label("v3", Some("gold"))).unwrap();
    look(&array, at("2026-11-27T10:15:01Z"));
    let taken = array.run(SnapshotList::default()).unwrap();
    let (groups, times): (BTreeSet<_>, BTreeSet<_>) =
        taken.iter().map(|view| (view.record.group, view.record.created)).unzip();
    assert_eq!((taken.len(), groups.len(), times.len()), (4, 1, 1));
    assert!(taken.iter().all(|view| view.schedule.as_deref() == Some("g")));
    array.run(label("v2", None)).unwrap();
    array.run(ScheduleDelete { schedule: "g".to_owned() }).unwrap();
    look(&array, at("2026-11-27T11:15:01Z"));
    assert_eq!(array.run(SnapshotList::default()).unwrap().len(), 4);
}

/// A member without room is left out, said so once, and is due again the next time.
#[test]
fn a_member_without_room_is_skipped() {
    let array = Array::new();
    let objects = ["v1", "v2", "v3"].map(|name| array.create(name).object.id);
    array.environment.set_now(at("2026-11-27T10:05:00Z"));
    array.run(schedule("g", When::Every { seconds: 900 }, &["v1", "v2", "v3"])).unwrap();
    array.catalog.no_room.borrow_mut().insert(objects[1].0);
    look(&array, at("2026-11-27T10:15:01Z"));
    look(&array, at("2026-11-27T10:15:02Z"));
    let last = show(&array, "g").last.unwrap();
    assert_eq!((last.taken, last.skipped), (2, 1));
    assert!(last.reason.unwrap().contains("kept free"));
    assert_eq!(codes(&array).iter().filter(|code| *code == "schedule-failed").count(), 1);
    assert!(array.alerts().contains(&"schedule-failed"));
    array.catalog.no_room.borrow_mut().clear();
    look(&array, at("2026-11-27T10:30:01Z"));
    assert_eq!(show(&array, "g").last.unwrap().taken, 3);
    assert_eq!(array.alerts(), ["scrub-overdue"]);
    assert_eq!(names(&array, "v2"), ["g.2026-11-27T103000Z"]);
}

/// A run of more members than one commit has goes on after a power loss, and takes nothing twice.
#[test]
fn a_run_goes_on_after_a_power_loss() {
    for commits in 0..5 {
        let array = Array::new();
        let all: Vec<String> = (0..300).map(|number| format!("v{number}")).collect();
        all.iter().for_each(|name| drop(array.create(name)));
        array.environment.set_now(at("2026-11-27T10:05:00Z"));
        let volumes: Vec<&str> = all.iter().map(String::as_str).collect();
        array.run(schedule("g", When::Every { seconds: 900 }, &volumes)).unwrap();
        array.environment.set_now(at("2026-11-27T10:15:01Z"));
        array.catalog.crash_after.set(Some(commits));
        let _crashed = array.control.look().now_or_never();
        array.catalog.crash_after.set(None);
        let again = Array::over(array.catalog).unwrap();
        look(&again, at("2026-11-27T10:16:01Z"));
        let taken = again.run(SnapshotList::default()).unwrap();
        assert_eq!(taken.len(), 300, "{commits}");
        assert!(taken.iter().all(|view| view.record.name == "g.2026-11-27T101500Z"), "{commits}");
        let record = show(&again, "g");
        assert_eq!((record.last.unwrap().taken, record.run), (300, None), "{commits}");
    }
}

#[test]
fn a_schedule_runs_on_request_and_pauses() {
    let array = Array::new();
    array.create("v1");
    array.environment.set_now(at("2026-11-27T10:05:00Z"));
    array.run(schedule("g", When::Daily { minute: 0 }, &["v1"])).unwrap();
    array.environment.set_now(at("2026-11-27T10:06:00Z"));
    let view = array.run(ScheduleRun { schedule: "g".to_owned() }).unwrap();
    assert_eq!((view.record.next, view.snapshots), (at("2026-11-28T00:00:00Z"), 1));
    let set = |paused| ScheduleSet { schedule: "g".to_owned(), paused: Some(paused), ..ScheduleSet::default() };
    array.run(set(true)).unwrap();
    look(&array, at("2026-11-29T10:00:00Z"));
    assert_eq!(names(&array, "v1").len(), 1);
    array.run(set(false)).unwrap();
    look(&array, at("2026-11-29T10:00:00Z"));
    assert_eq!(names(&array, "v1").len(), 1, "what was due in the pause is not made up");
    for wrong in [
        ScheduleSet { keep_last: Some(0), ..set(false) },
        ScheduleSet { zone: Some("Mars".to_owned()), ..set(false) },
        ScheduleSet { when: Some(When::Every { seconds: 1 }), ..set(false) },
        ScheduleSet { volumes: Some(Vec::new()), ..set(false) },
    ] {
        assert_eq!(array.code(wrong), "invalid-setting");
    }
    assert_eq!(array.code(schedule(&"g".repeat(41), When::Daily { minute: 0 }, &["v1"])), "invalid-name");
    assert_eq!(array.code(schedule("h", When::Daily { minute: 0 }, &["nosuch"])), "not-found");
}

#[test]
fn pinned_and_locked_snapshots_stay_whatever_the_rules_say() {
    let array = Array::new();
    array.create("v1");
    let mut time = at("2026-11-27T10:05:00Z");
    array.environment.set_now(time);
    let create = ScheduleCreate { keep_last: Some(2), ..schedule("g", When::Every { seconds: 3600 }, &["v1"]) };
    array.run(create).unwrap();
    let mut hours = |count| {
        for _ in 0..count {
            time += HOUR;
            array.environment.pass(std::time::Duration::from_secs(3600));
            look(&array, time);
        }
        names(&array, "v1")
    };
    let first = hours(1).remove(0);
    array.run(SnapshotPin { snapshot: format!("v1@{first}"), pinned: true }).unwrap();
    let second = hours(1).remove(1);
    let until = array.control.trusted_now() + HOUR * 5;
    array.run(SnapshotLock { snapshot: format!("v1@{second}"), until }).unwrap();
    assert_eq!(hours(4)[..2], [first.clone(), second.clone()]);
    assert_eq!(hours(3).len(), 3, "the lock is over");
    array.run(SnapshotPin { snapshot: format!("v1@{first}"), pinned: false }).unwrap();
    assert_eq!(hours(1).len(), 2);
}

/// A change of the rules removes at most 64 snapshots at a look, the oldest first.
#[test]
fn retention_is_budgeted() {
    let (array, time) = hourly("g", "2026-11-27T10:05:00Z", 200, 150);
    let all = names(&array, "v1");
    assert_eq!(all.len(), 150);
    let set = ScheduleSet { schedule: "g".to_owned(), keep: Some(Keep::default()), ..ScheduleSet::default() };
    array.run(set).unwrap();
    for left in [150 - 64, 150 - 128, 3, 3] {
        block_on(array.control.retire_snapshots());
        assert_eq!(names(&array, "v1"), all[150 - left..]);
    }
    // What changed rules remove can be restored; what the schedule removes next goes to the trash, too: who restores
    // and runs it does not delete for good. What it removes from then on is gone.
    assert_eq!(array.run(TrashList).unwrap().len(), 147);
    let restore = TrashRestore { item: format!("v1@{}", all[0]), ..TrashRestore::default() };
    assert_eq!(array.run(restore).unwrap().noun, Noun::Snapshot);
    let set = SnapshotPin { snapshot: format!("v1@{}", all[0]), pinned: true };
    array.run(set).unwrap();
    look(&array, time + HOUR);
    assert_eq!(names(&array, "v1").len(), 4);
    assert_eq!(array.run(TrashList).unwrap().len(), 147);
    assert!(!show(&array, "g").rules_changed);
    look(&array, time + HOUR * 2);
    assert_eq!(array.run(TrashList).unwrap().len(), 147);
}

/// Regression: a run that a restart continued took the place of the one missed meanwhile.
#[test]
fn a_run_that_a_restart_continues_leaves_the_missed_one() {
    let array = Array::new();
    let all: Vec<String> = (0..300).map(|number| format!("v{number}")).collect();
    all.iter().for_each(|name| drop(array.create(name)));
    array.environment.set_now(at("2026-11-27T10:05:00Z"));
    let volumes: Vec<&str> = all.iter().map(String::as_str).collect();
    array.run(schedule("g", When::Every { seconds: 900 }, &volumes)).unwrap();
    array.environment.set_now(at("2026-11-27T10:15:01Z"));
    array.catalog.crash_after.set(Some(1));
    let _crashed = array.control.look().now_or_never();
    array.catalog.crash_after.set(None);
    let again = Array::over(array.catalog).unwrap();
    assert!(show(&again, "g").run.is_some());
    look(&again, at("2026-11-27T14:20:10Z"));
    look(&again, at("2026-11-27T14:20:20Z"));
    assert_eq!(names(&again, "v299"), ["g.2026-11-27T101500Z", "g.2026-11-27T141500Z"]);
    assert_eq!(show(&again, "g").next, at("2026-11-27T14:30:00Z"));
}

/// Regression: they stayed for ever.
#[test]
fn the_rules_go_on_for_former_members() {
    let array = Array::new();
    ["v1", "v2"].into_iter().for_each(|name| drop(array.create(name)));
    let mut time = at("2026-11-27T10:05:00Z");
    array.environment.set_now(time);
    array.run(schedule("g", When::Every { seconds: 3600 }, &["v1", "v2"])).unwrap();
    for _ in 0..3 {
        time += HOUR;
        look(&array, time);
    }
    let set = ScheduleSet { schedule: "g".to_owned(), volumes: Some(vec!["v2".to_owned()]), ..ScheduleSet::default() };
    array.run(set).unwrap();
    let fewer = ScheduleSet { schedule: "g".to_owned(), keep_last: Some(1), ..ScheduleSet::default() };
    array.run(fewer).unwrap();
    look(&array, time);
    assert_eq!((names(&array, "v1"), names(&array, "v2").len()), (vec!["g.2026-11-27T130000Z".to_owned()], 1));
}

/// K3: when the trash has nothing left, the oldest snapshots of schedules go before a host's write is refused.
#[test]
fn snapshots_of_schedules_make_room_for_hosts() {
    let (array, time) = hourly("g", "2026-11-23T10:00:00Z", 24, 20);
    let taken = names(&array, "v1");
    array.run(SnapshotCreate { volume: "v1".to_owned(), name: "mine".to_owned() }).unwrap();
    array.run(SnapshotPin { snapshot: format!("v1@{}", taken[0]), pinned: true }).unwrap();
    let until = time + SignedDuration::from_hours(48);
    array.run(SnapshotLock { snapshot: format!("v1@{}", taken[1]), until }).unwrap();
    array.create("gone");
    array.run(VolumeDelete { volume: "gone".to_owned(), ..VolumeDelete::default() }).unwrap();
    let mut held = 0;
    let mut look = |wanted: bool| {
        array.catalog.offer.is_wanted.set(wanted);
        block_on(array.control.look_for_wanted_space(&mut held));
        (array.run(TrashList).unwrap().len(), names(&array, "v1").len(), array.catalog.offer.is_made.get())
    };
    assert_eq!(look(false), (1, 21, true));
    // The trash goes first.
    assert_eq!(look(true), (0, 21, true));
    assert_eq!(look(false), (0, 21, true));
    assert_eq!([look(true).1, look(true).1], [13, 5]);
    // What cannot be deleted now is offered no longer: the write fails.
    array.catalog.fail_next.replace(Some(pool::PoolError::PoolFull));
    assert_eq!(look(true), (0, 5, false));
    assert_eq!(look(true).1, 3);
    assert_eq!(look(true), (0, 3, false));
    // Taken by hand, pinned, locked.
    assert_eq!(names(&array, "v1"), [taken[0].as_str(), &taken[1], "mine"]);
    let filter = EventFilter::default();
    let events = array.run(EventList { since: None, filter, limit: 200 }).unwrap();
    assert_eq!(events.iter().filter(|event| event.code == "snapshot-given-up").count(), 18);
}

/// The preview says what the rules then do, and changes nothing.
#[test]
fn a_preview_names_the_next_runs_and_what_the_rules_then_remove() {
    let (array, _) = hourly("gold", "2026-11-20T00:00:00Z", 24, 10);
    let keep = Keep { hourly: 4, ..Keep::default() };
    let before = (array.documents(""), names(&array, "v1"));
    let preview = SchedulePreview {
        schedule: Some("gold".to_owned()),
        keep: Some(keep),
        keep_last: Some(1),
        ..SchedulePreview::default()
    };
    let seen = array.run(preview.clone()).unwrap();
    assert_eq!((array.documents(""), names(&array, "v1")), before);
    assert_eq!((seen.kept, seen.removed, seen.next.len()), (4, 6, 5));
    let hours: Vec<i64> = seen.next.windows(2).map(|pair| pair[1].duration_since(pair[0]).as_secs()).collect();
    assert_eq!(hours, [3600; 4]);
    let rules =
        ScheduleSet { schedule: "gold".to_owned(), keep: Some(keep), keep_last: Some(1), ..ScheduleSet::default() };
    array.run(rules).unwrap();
    block_on(array.control.look());
    let mut kept: Vec<String> = seen.keeps.iter().map(|snapshot| snapshot.name.replace("v1@", "")).collect();
    kept.reverse();
    assert_eq!(names(&array, "v1"), kept);
    let new = SchedulePreview { when: Some(When::Daily { minute: 150 }), ..SchedulePreview::default() };
    let seen = array.run(SchedulePreview { zone: Some("Europe/Berlin".to_owned()), ..new.clone() }).unwrap();
    assert_eq!((seen.next.len(), seen.kept, seen.removed), (5, 0, 0));
    assert_eq!(array.code(SchedulePreview::default()), "invalid-setting");
    assert_eq!(array.code(SchedulePreview { zone: Some("Mars".to_owned()), ..new.clone() }), "invalid-setting");
    assert_eq!(array.code(SchedulePreview { keep_last: Some(0), ..new }), "invalid-setting");
    assert_eq!(array.code(SchedulePreview { schedule: Some("none".to_owned()), ..preview }), "not-found");
    assert_eq!(array.code(schedule("preview", When::Daily { minute: 0 }, &["v1"])), "invalid-name");
}
