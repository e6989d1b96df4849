//! The trash: what is deleted returns whole, and goes for good when its time is over.

use super::space::codes;
use super::{Array, ESX01, volume};
use crate::*;
use futures_executor::block_on;
use jiff::SignedDuration;
use pool::PoolError;
use std::time::Duration;

const MIB: u64 = 1 << 20;

fn delete(name: &str) -> VolumeDelete {
    VolumeDelete { volume: name.to_owned(), ..VolumeDelete::default() }
}

fn restore(item: &str) -> TrashRestore {
    TrashRestore { item: item.to_owned(), ..TrashRestore::default() }
}

fn snapshot(array: &Array, source: &str, name: &str) -> SnapshotView {
    array.run(SnapshotCreate { volume: source.to_owned(), name: name.to_owned() }).unwrap()
}

fn show(name: &str) -> VolumeShow {
    VolumeShow { volume: name.to_owned() }
}

fn pool(array: &Array) -> PoolView {
    array.run(PoolShow { pool: "p0".to_owned() }).unwrap()
}

/// The sum of the pool, with the trash as one of its terms.
fn check_sum(array: &Array) -> PoolView {
    let view = pool(array);
    let terms = [view.unique_bytes, view.snapshot_bytes, view.token_bytes, view.trash.bytes, view.shared_bytes];
    let sum: u64 = terms.into_iter().map(Option::unwrap).sum();
    assert_eq!(view.space.used_bytes, view.space.metadata_bytes + sum, "{view:?}");
    view
}

/// Lets real time pass.
fn pass(array: &Array, seconds: u64) {
    let time = Duration::from_secs(seconds);
    array.environment.pass(time);
    let now = Environment::now(&*array.environment);
    array.environment.set_now(now + SignedDuration::try_from(time).unwrap());
}

fn set_trash(array: &Array, seconds: u32) {
    let set = PoolSet { pool: "p0".to_owned(), trash_seconds: Some(seconds), ..PoolSet::default() };
    array.run(set).unwrap();
}

#[test]
fn a_volume_returns_with_its_identity_its_snapshots_and_its_grants() {
    let array = Array::new();
    let before = array.create("v1");
    let object = before.object.id;
    array.catalog.set_mapped(object, 3 * MIB);
    let monday = snapshot(&array, "v1", "monday");
    array.create_host("esx01", ESX01);
    array.grant("v1", Some("esx01"), Some(7)).unwrap();
    assert_eq!(array.code(delete("v1")), "in-use");
    assert_eq!(array.code(VolumeDelete { revoke: true, ..delete("v1") }), "has-snapshots");
    array.live.published.borrow_mut().clear();
    let deleted = array.run(VolumeDelete { revoke: true, with_snapshots: true, ..delete("v1") }).unwrap();
    let trashed = deleted.trashed.unwrap();
    assert_eq!((trashed.name.as_str(), trashed.snapshots, trashed.record.grants.len()), ("v1", 1, 1));
    let published: Vec<Change> = array.live.published.borrow_mut().drain(..).collect();
    assert!(matches!(published[0], Change::AccessRevoked { lun: 7, .. }), "{published:?}");
    assert_eq!(published[1], Change::VolumeRemoved { object });
    // No document but that in the trash is left, and nothing finds the volume.
    assert_eq!(array.code(show("v1")), "not-found");
    assert_eq!(array.code(show(&before.record.id.to_string())), "not-found");
    assert_eq!((array.documents("volume/").len(), array.documents("snapshot/").len()), (0, 0));
    assert_eq!((array.documents("access/").len(), array.documents("trash/").len()), (0, 2));
    let clone = VolumeCreate { name: "c".to_owned(), source: Some("v1@monday".to_owned()), ..VolumeCreate::default() };
    assert_eq!(array.code(clone), "not-found");
    let view = check_sum(&array);
    assert_eq!((view.volumes, view.snapshots, view.trash.objects, view.provisioned_bytes), (0, 0, 2, 0));
    // A restart changes nothing.
    let array = Array::over(array.catalog).unwrap();
    assert_eq!(array.control.pool().provisioned_bytes(), 0);
    let restored = array.run(TrashRestore { grants: true, ..restore("v1") }).unwrap();
    assert_eq!((restored.noun, restored.snapshots, restored.grants), (Noun::Volume, 1, 1));
    let (after, _) = volume(array.run(show("v1")));
    assert_eq!((after.record, after.object), (before.record, array.control.object(object).unwrap()));
    assert_eq!((after.luns.len(), after.luns[0].lun), (1, 7));
    let again = array.run(SnapshotShow { snapshot: "v1@monday".to_owned() }).unwrap();
    assert_eq!(again.record, monday.record);
    assert_eq!(array.documents("trash/"), []);
    assert_eq!(array.control.pool().provisioned_bytes(), 1 << 30);
    let published = array.live.published.borrow().clone();
    assert_eq!(published[0], Change::VolumeAdded { object });
    assert!(matches!(published[1], Change::AccessGranted { lun: 7, .. }), "{published:?}");
    assert!(codes(&array).ends_with(&["trash-restored".to_owned()]));
}

#[test]
fn a_name_in_the_trash_is_free_and_grants_that_do_not_fit_are_told() {
    let array = Array::new();
    array.create("v1");
    array.create_host("esx01", ESX01);
    array.grant("v1", Some("esx01"), Some(7)).unwrap();
    array.run(VolumeDelete { revoke: true, ..delete("v1") }).unwrap();
    array.create("v1");
    array.grant("v1", Some("esx01"), Some(7)).unwrap();
    assert_eq!(array.code(restore("v1")), "exists");
    let old = TrashRestore { name: Some("v1-old".to_owned()), grants: true, ..restore("v1") };
    let restored = array.run(old).unwrap();
    assert_eq!((restored.name.as_str(), restored.grants, restored.warnings.len()), ("v1-old", 0, 1));
    assert_eq!(restored.warnings[0].code, "not-granted");
    array.run(delete("v1-old")).unwrap();
    let bad = TrashRestore { name: Some("a b".to_owned()), ..restore("v1-old") };
    assert_eq!(array.code(bad), "invalid-name");
    assert_eq!(array.code(TrashRestore { noun: Some(Noun::Share), ..restore("v1-old") }), "not-found");
}

#[test]
fn a_snapshot_returns_to_its_volume_only() {
    let array = Array::new();
    array.create("v1");
    let monday = snapshot(&array, "v1", "monday");
    let deleted = array.run(SnapshotDelete { snapshot: "v1@monday".to_owned(), now: false }).unwrap();
    assert_eq!(deleted.trashed.unwrap().name, "v1@monday");
    let tuesday = snapshot(&array, "v1", "monday");
    assert_eq!(array.code(restore("v1@monday")), "exists");
    let other = TrashRestore { name: Some("before".to_owned()), ..restore("v1@monday") };
    assert_eq!(array.run(other).unwrap().name, "v1@before");
    array.run(SnapshotDelete { snapshot: "v1@before".to_owned(), now: false }).unwrap();
    array.run(VolumeDelete { with_snapshots: true, ..delete("v1") }).unwrap();
    // Deleted alone, it does not return with the volume.
    let listed: Vec<_> = array.run(TrashList).unwrap().into_iter().map(|item| (item.name, item.snapshots)).collect();
    assert_eq!(listed, [("v1@before".to_owned(), 0), ("v1".to_owned(), 1)]);
    assert_eq!(array.code(restore("v1@before")), "source-missing");
    assert_eq!(array.run(restore("v1")).unwrap().snapshots, 1);
    assert_eq!(array.run(SnapshotShow { snapshot: "v1@monday".to_owned() }).unwrap().record, tuesday.record);
    assert_eq!(array.run(restore(&monday.record.id.to_string())).unwrap().name, "v1@before");
    // What is deleted for good takes its snapshots in the trash with it.
    array.run(SnapshotDelete { snapshot: "v1@before".to_owned(), now: false }).unwrap();
    array.run(VolumeDelete { with_snapshots: true, now: true, ..delete("v1") }).unwrap();
    assert_eq!(array.run(TrashList).unwrap(), []);
    assert_eq!(pool::Catalog::objects_from(&*array.catalog, pool::ObjectId(0), 9), []);
}

#[test]
fn a_share_returns_with_its_snapshots() {
    let array = Array::new();
    let record = array.run(ShareCreate::new("vms")).unwrap().view.record;
    snapshot(&array, "vms", "monday");
    let deleted = array.run(ShareDelete { share: "vms".to_owned(), with_snapshots: true, now: false }).unwrap();
    assert_eq!(deleted.trashed.unwrap().size_bytes, None);
    assert_eq!(array.code(ShareShow { share: "vms".to_owned() }), "not-found");
    assert_eq!(array.run(restore("vms")).unwrap().snapshots, 1);
    assert_eq!(array.run(ShareShow { share: "vms".to_owned() }).unwrap().record, record);
    assert_eq!(array.live.published.borrow().last(), Some(&Change::ShareAdded { object: record.object }));
}

#[test]
fn the_trash_is_emptied_when_its_time_is_over() {
    let array = Array::new();
    for name in ["v1", "v2"] {
        let object = array.create(name).object.id;
        array.catalog.set_mapped(object, MIB);
    }
    array.run(delete("v1")).unwrap();
    set_trash(&array, 60);
    array.run(delete("v2")).unwrap();
    let view = check_sum(&array);
    assert_eq!((view.trash.bytes, view.unique_bytes), (Some(2 * MIB), Some(0)));
    block_on(array.control.look());
    assert_eq!(array.run(TrashList).unwrap().len(), 2);
    // The setting is for what is deleted later.
    pass(&array, 120);
    block_on(array.control.look());
    let left: Vec<String> = array.run(TrashList).unwrap().into_iter().map(|item| item.name).collect();
    assert_eq!(left, ["v1"]);
    assert_eq!(check_sum(&array).trash.bytes, Some(MIB));
    assert!(codes(&array).contains(&"trash-emptied".to_owned()));
    pass(&array, 90_000);
    block_on(array.control.look());
    assert_eq!((array.run(TrashList).unwrap(), check_sum(&array).trash.bytes), (Vec::new(), Some(0)));
}

/// Regression: a clock that was set forward emptied the trash.
#[test]
fn a_clock_that_is_set_empties_no_trash() {
    let array = Array::new();
    array.create("v1");
    array.run(delete("v1")).unwrap();
    block_on(array.control.look());
    let now = Environment::now(&*array.environment);
    let ahead = now + SignedDuration::from_hours(24 * 365);
    array.environment.set_now(ahead);
    array.environment.pass(Duration::from_secs(3600 * 23));
    block_on(array.control.look());
    assert_eq!(array.run(TrashList).unwrap().len(), 1);
    // A clock that is wrong at a start can be set within an hour.
    let again = Array::over(array.catalog).unwrap();
    again.environment.set_now(ahead);
    block_on(again.control.look());
    again.environment.set_now(now + SignedDuration::from_hours(23));
    again.environment.pass(Duration::from_secs(3500));
    block_on(again.control.look());
    assert_eq!(again.run(TrashList).unwrap().len(), 1);
    pass(&again, 3700);
    block_on(again.control.look());
    assert_eq!(again.run(TrashList).unwrap(), []);
}

#[test]
fn what_a_lock_keeps_does_not_keep_the_rest_of_the_trash() {
    let array = Array::new();
    for name in ["v1", "v2", "v3"] {
        array.create(name);
    }
    snapshot(&array, "v1", "s");
    let until = Environment::now(&*array.environment) + SignedDuration::from_hours(48);
    array.run(SnapshotLock { snapshot: "v1@s".to_owned(), until }).unwrap();
    array.run(VolumeDelete { with_snapshots: true, ..delete("v1") }).unwrap();
    array.run(delete("v2")).unwrap();
    array.run(delete("v3")).unwrap();
    assert_eq!(array.run(TrashEmpty { item: None }).unwrap(), ["v2", "v3"]);
    assert_eq!(array.code(TrashEmpty { item: None }), "locked");
    assert_eq!(array.run(TrashList).unwrap().len(), 1);
}

/// Regression: for up to a second, the space of the first deletion was not offered.
#[test]
fn a_deletion_offers_its_space_at_once() {
    let array = Array::new();
    array.create("v1");
    array.run(VolumeDelete { now: true, ..delete("v1") }).unwrap();
    assert!(!array.catalog.offer.is_made.get());
    array.create("v1");
    array.run(delete("v1")).unwrap();
    assert!(array.catalog.offer.is_made.get());
}

#[test]
fn a_name_of_two_kinds_is_restored_by_its_kind() {
    let array = Array::new();
    array.run(ShareCreate::new("x")).unwrap();
    array.run(ShareDelete { share: "x".to_owned(), with_snapshots: false, now: false }).unwrap();
    let of_volume = || TrashRestore { noun: Some(Noun::Volume), ..restore("x") };
    assert_eq!(array.code(of_volume()), "not-found");
    array.create("x");
    array.run(delete("x")).unwrap();
    assert_eq!(array.code(restore("x")), "ambiguous-name");
    assert_eq!(array.run(of_volume()).unwrap().noun, Noun::Volume);
}

#[test]
fn without_a_trash_what_is_deleted_is_gone() {
    let array = Array::new();
    array.create("v1");
    let age = |seconds| PoolSet { pool: "p0".to_owned(), trash_seconds: Some(seconds), ..PoolSet::default() };
    assert_eq!(array.code(age(30 * 86_400 + 1)), "invalid-setting");
    set_trash(&array, 0);
    assert_eq!(array.run(delete("v1")).unwrap().trashed, None);
    assert_eq!(array.run(TrashList).unwrap(), []);
    let again = Array::over(array.catalog).unwrap();
    assert_eq!(pool(&again).trash.seconds, 0);
}

#[test]
fn the_trash_is_emptied_on_request() {
    let array = Array::new();
    for name in ["v1", "v2", "v3"] {
        array.create(name);
        array.run(delete(name)).unwrap();
    }
    let empty = |item: Option<&str>| array.run(TrashEmpty { item: item.map(str::to_owned) });
    assert_eq!(empty(Some("v2")).unwrap(), ["v2"]);
    assert_eq!(empty(Some("v2")).unwrap_err().code(), "not-found");
    array.catalog.fail_next.replace(Some(PoolError::PoolFull));
    assert_eq!(empty(None).unwrap_err().code(), "no-space");
    assert_eq!(empty(None).unwrap(), ["v1", "v3"]);
    assert_eq!(empty(None).unwrap(), [""; 0]);
    // Two of one name are told apart by their ids.
    for _ in 0..2 {
        array.create("v1");
        array.run(delete("v1")).unwrap();
    }
    assert_eq!(array.code(restore("v1")), "ambiguous-name");
    let id = array.run(TrashList).unwrap()[1].record.what.id();
    assert_eq!(array.run(restore(&id.to_string())).unwrap().id, id);
}

/// K2: to the trash and back is one commit. After a power loss everything is as before, or done.
#[test]
fn a_power_loss_leaves_the_volume_in_one_place() {
    let mut array = Array::new();
    array.create("v1");
    snapshot(&array, "v1", "monday");
    array.create_host("esx01", ESX01);
    array.grant("v1", Some("esx01"), Some(7)).unwrap();
    for commits in 0..4 {
        let all = VolumeDelete { with_snapshots: true, revoke: true, ..delete("v1") };
        array = array.crash_after(commits, all).0;
        let (here, there) = (array.run(show("v1")), array.run(TrashList).unwrap());
        match here {
            Ok(view) => assert_eq!((view.luns.len(), view.snapshots, there.len()), (1, 1, 0)),
            Err(_) => assert_eq!((there.len(), there[0].snapshots, there[0].record.grants.len()), (1, 1, 1)),
        }
        if array.run(show("v1")).is_err() {
            array = array.crash_after(commits, TrashRestore { grants: true, ..restore("v1") }).0;
            let (here, there) = (array.run(show("v1")), array.run(TrashList).unwrap());
            match here {
                Ok(view) => assert_eq!((view.luns.len(), view.snapshots, there.len()), (1, 1, 0)),
                Err(_) => {
                    assert_eq!(there.len(), 1);
                    array.run(TrashRestore { grants: true, ..restore("v1") }).unwrap();
                }
            }
        }
    }
}

/// The content of a volume that is being sanitized was to be destroyed.
#[test]
fn a_volume_that_is_being_sanitized_is_deleted_for_good() {
    let array = Array::new();
    let object = array.create("v1").object.id;
    let record = |volume| SanitizeRecord::of(volume);
    block_on(array.control.store_sanitize_operation(object, Some(record), None)).unwrap();
    assert_eq!(array.run(delete("v1")).unwrap().trashed, None);
    assert_eq!((array.run(TrashList).unwrap(), array.documents("sanitize/")), (Vec::new(), Vec::new()));
}

/// Regression: its snapshots were deleted for good with it, unasked.
#[test]
fn a_volume_that_is_being_sanitized_takes_no_snapshots_with_it_unasked() {
    let array = Array::new();
    let object = array.create("v1").object.id;
    snapshot(&array, "v1", "monday");
    block_on(array.control.store_sanitize_operation(object, Some(SanitizeRecord::of), None)).unwrap();
    let with = VolumeDelete { with_snapshots: true, ..delete("v1") };
    assert_eq!(array.code(with.clone()), "sanitized-with-snapshots");
    array.run(SnapshotDelete { snapshot: "v1@monday".to_owned(), now: false }).unwrap();
    assert_eq!(array.code(with.clone()), "sanitized-with-snapshots");
    assert_eq!(array.run(TrashList).unwrap().len(), 1);
    assert_eq!(array.run(VolumeDelete { now: true, ..with }).unwrap().trashed, None);
    assert_eq!(array.run(TrashList).unwrap(), []);
}

#[test]
fn a_volume_returns_only_within_the_limit_of_over_commitment() {
    let array = Array::new();
    let create =
        |name: &str| VolumeCreate { name: name.to_owned(), size_bytes: Some(60 << 30), ..VolumeCreate::default() };
    volume(array.run(create("v1")));
    let commitment = Some(Commitment::Percent(100));
    array.run(PoolSet { pool: "p0".to_owned(), commitment, ..PoolSet::default() }).unwrap();
    array.run(delete("v1")).unwrap();
    volume(array.run(create("v2")));
    assert_eq!(array.code(restore("v1")), "over-commitment");
    array.run(delete("v2")).unwrap();
    array.run(restore("v1")).unwrap();
}

#[test]
fn the_mirror_follows_the_trash() {
    let array = Array::new();
    let mirror = block_on(array.control.mirror());
    array.create("v1");
    array.run(delete("v1")).unwrap();
    let listed =
        |mirror: &Mirror| mirror.read(&TrashList).unwrap().into_iter().map(|item| item.name).collect::<Vec<_>>();
    assert_eq!(listed(&mirror), ["v1"]);
    assert_eq!(mirror.read(&VolumeList::default()).unwrap().len(), 0);
    array.run(restore("v1")).unwrap();
    assert_eq!((listed(&mirror), mirror.read(&VolumeList::default()).unwrap().len()), (Vec::new(), 1));
}

/// K3: the oldest goes first, one at a time, and only while hosts wait for space.
#[test]
fn the_trash_yields_its_space_to_hosts() {
    let array = Array::new();
    for name in ["v2", "v1", "v3"] {
        array.create(name);
        array.run(delete(name)).unwrap();
    }
    let mut held = 0;
    let mut look = |wanted: bool| {
        array.catalog.offer.is_wanted.set(wanted);
        block_on(array.control.look_for_wanted_space(&mut held));
        let left = array.run(TrashList).unwrap();
        (left.into_iter().map(|item| item.name).collect::<Vec<_>>(), array.catalog.offer.is_made.get())
    };
    assert_eq!(look(false).0.len(), 3);
    assert!(look(false).1);
    assert_eq!(look(true).0, ["v1", "v3"]);
    // What cannot be deleted now is offered no longer: the write fails.
    array.catalog.fail_next.replace(Some(PoolError::PoolFull));
    assert_eq!(look(true), (vec!["v1".to_owned(), "v3".to_owned()], false));
    assert!(look(false).1);
    // So it is if another request holds the lock for long, which may wait for space itself.
    let locked = block_on(array.control.lock_changes());
    let offered: Vec<bool> = (0..12).map(|_| look(true).1).collect();
    assert_eq!(offered, [[true; 9].as_slice(), &[false; 3]].concat());
    drop(locked);
    assert_eq!(look(true).0, ["v3"]);
    assert_eq!(look(true), (Vec::new(), false));
    assert_eq!(look(true), (Vec::new(), false));
    let events = array.run(EventList { since: None, filter: EventFilter::default(), limit: 100 }).unwrap();
    let told = events.iter().filter(|event| event.message.ends_with("before its time: hosts need its space"));
    assert_eq!(told.count(), 3);
}

fn set_lock(array: &Array, seconds: u32) -> Result<PoolView, ControlError> {
    array.run(PoolSet { pool: "p0".to_owned(), trash_lock_seconds: Some(seconds), ..PoolSet::default() })
}

/// Story: an administrator, or who has taken his place, deletes a volume for good. With a lock of the trash nobody
/// can, whatever the way, the clock and a restart; restoring is possible all the time.
#[test]
fn the_lock_of_the_trash_is_for_everybody_and_becomes_longer_only() {
    const DAY: u32 = 86_400;
    let array = Array::new();
    set_trash(&array, 2 * DAY);
    array.create("before");
    array.run(delete("before")).unwrap();
    assert_eq!(set_lock(&array, 3 * DAY).unwrap_err().code(), "invalid-setting");
    assert_eq!(set_lock(&array, DAY).unwrap().trash.lock_seconds, DAY);
    assert_eq!(set_lock(&array, DAY - 1).unwrap_err().code(), "locked");
    assert_eq!(set_lock(&array, 0).unwrap_err().code(), "locked");
    assert_eq!(
        array.code(PoolSet { pool: "p0".to_owned(), trash_seconds: Some(0), ..PoolSet::default() }),
        "invalid-setting"
    );
    // It is for what is deleted from then on.
    assert_eq!(array.run(TrashEmpty { item: Some("before".to_owned()) }).unwrap(), ["before"]);

    array.create("v1");
    array.run(SnapshotCreate { volume: "v1".to_owned(), name: "s".to_owned() }).unwrap();
    let now = VolumeDelete { volume: "v1".to_owned(), now: true, with_snapshots: true, ..VolumeDelete::default() };
    assert_eq!(array.code(now.clone()), "trash-locked");
    assert_eq!(array.code(SnapshotDelete { snapshot: "v1@s".to_owned(), now: true }), "trash-locked");
    let trashed = array.run(VolumeDelete { now: false, ..now }).unwrap().trashed.unwrap();
    let end = trashed.locked_until.unwrap();
    assert!(end >= trashed.record.deleted + SignedDuration::from_hours(24) && end <= trashed.record.until);
    let id = trashed.record.what.id().to_string();
    let empty = || array.run(TrashEmpty { item: Some(id.clone()) }).unwrap_err();
    assert!(empty().to_string().starts_with("volume v1 in the trash is locked until "), "{}", empty());
    assert_eq!(array.code(TrashEmpty::default()), "locked");

    // Neither a clock that is set forward nor hosts that need space end it.
    array.environment.set_now(end + SignedDuration::from_hours(24 * 30));
    block_on(array.control.empty_expired_trash());
    assert_eq!(empty().code(), "locked");
    array.catalog.offer.is_wanted.set(true);
    block_on(array.control.look_for_wanted_space(&mut 0));
    assert_eq!(empty().code(), "locked");

    let again = Array::over(array.catalog.clone()).unwrap();
    assert_eq!(again.code(TrashEmpty { item: Some(id.clone()) }), "locked");
    assert_eq!(set_lock(&again, DAY / 2).unwrap_err().code(), "locked");
    let back = again.run(restore(&id)).unwrap();
    assert_eq!((back.name.as_str(), back.snapshots), ("v1", 1));
    again.run(VolumeDelete { volume: "v1".to_owned(), with_snapshots: true, ..VolumeDelete::default() }).unwrap();
    // When its time has passed, it goes.
    block_on(again.control.empty_expired_trash());
    pass(&again, 2 * u64::from(DAY) + 2 * 3600);
    block_on(again.control.empty_expired_trash());
    assert_eq!(again.run(TrashList).unwrap(), []);
}

/// The alert looks at what is left when all that may go has gone. Fails if the locked bytes were not counted, or
/// those that others free were not left out.
#[test]
fn locks_that_fill_the_pool_are_an_alert_while_they_do() {
    let array = Array::new();
    let alerts = || -> Vec<&'static str> {
        block_on(array.control.look_at_locks());
        array
            .run(AlertList)
            .unwrap()
            .into_iter()
            .map(|alert| alert.code)
            .filter(|code| *code == "locks-fill-pool")
            .collect()
    };
    array.catalog.size_bytes.set(1 << 30);
    array.create("old");
    array.catalog.set_mapped(array.run(VolumeShow { volume: "old".to_owned() }).unwrap().object.id, 300 * MIB);
    array.run(delete("old")).unwrap();
    set_lock(&array, 3600).unwrap();
    let locked = array.create("gone").object.id;
    array.catalog.set_mapped(locked, 500 * MIB);
    array.run(delete("gone")).unwrap();
    let live = array.create("live").object.id;
    array.catalog.set_mapped(live, 150 * MIB);
    assert_eq!(alerts(), [""; 0], "the trash without a lock helps");
    array.run(TrashEmpty { item: Some("old".to_owned()) }).unwrap();
    array.catalog.set_mapped(live, 300 * MIB);
    assert_eq!(alerts(), [""; 0], "the pool is not critical");
    array.catalog.set_mapped(live, 420 * MIB);
    assert_eq!(alerts(), ["locks-fill-pool"]);
    pass(&array, 3 * 3600);
    assert_eq!(alerts(), [""; 0], "the lock is over");
}
