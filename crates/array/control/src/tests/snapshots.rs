use super::{Array, ESX01, volume};
use crate::SnapshotError;
use crate::*;

fn take(array: &Array, volume: &str, name: &str) -> SnapshotView {
    array.run(SnapshotCreate { volume: volume.to_owned(), name: name.to_owned() }).unwrap()
}

fn show(name: &str) -> SnapshotShow {
    SnapshotShow { snapshot: name.to_owned() }
}

#[test]
fn names_are_unique_within_a_volume() {
    let array = Array::new();
    array.create("v1");
    array.create("v2");
    let first = take(&array, "v1", "monday");
    array.run(show("monday")).unwrap();
    take(&array, "v2", "monday");
    let error = array.run(show("monday")).unwrap_err();
    let candidates = "v1@monday, v2@monday".to_owned();
    assert_eq!(error, SnapshotError::AmbiguousName { name: "monday".to_owned(), candidates }.into());
    array.run(show("v2@monday")).unwrap();
    array.run(show(&first.record.id.to_string())).unwrap();
    assert_eq!(array.code(show("v1@tuesday")), "not-found");
}

/// Regression: `snapshot create` with an existing name reported success and took no snapshot. A
/// nightly job with a constant name thus relied on a backup that was a year old.
#[test]
fn a_snapshot_of_an_existing_name_is_refused() {
    let array = Array::new();
    array.create("v1");
    array.create("v2");
    let first = take(&array, "v1", "nightly");
    let create = SnapshotCreate { volume: "v1".to_owned(), name: "nightly".to_owned() };
    let error = array.run(create).unwrap_err();
    let said = format!("snapshot v1@nightly exists already, taken {:.0}", first.record.created);
    assert_eq!((error.code(), error.to_string()), ("exists", said));
    let volumes = ["v2", "v1"].map(str::to_owned).to_vec();
    assert_eq!(array.code(SnapshotGroup { volumes, name: "nightly".to_owned() }), "exists");
    let all = array.run(SnapshotList::default()).unwrap();
    assert_eq!(all.len(), 1);
}

#[test]
fn a_snapshot_can_be_cloned_and_then_deleted() {
    let array = Array::new();
    array.create("v1");
    take(&array, "v1", "monday");
    let source = Some("v1@monday".to_owned());
    let create = VolumeCreate { name: "clone".to_owned(), source, ..VolumeCreate::default() };
    let (clone, _) = volume(array.run(create));
    assert_eq!(clone.source.unwrap().name.as_deref(), Some("v1@monday"));
    let view = array.run(show("monday")).unwrap();
    assert_eq!(view.dependents, ["clone"]);
    array.run(SnapshotDelete { snapshot: "v1@monday".to_owned(), now: true }).unwrap();
    volume(array.run(VolumeShow { volume: "clone".to_owned() }));
}

#[test]
fn a_volume_with_snapshots_is_deleted_only_with_them() {
    let array = Array::new();
    array.create("v1");
    take(&array, "v1", "monday");
    let delete =
        |with_snapshots| VolumeDelete { volume: "v1".to_owned(), with_snapshots, now: true, ..VolumeDelete::default() };
    assert_eq!(array.code(delete(false)), "has-snapshots");
    array.run(delete(true)).unwrap();
    let left = array.run(SnapshotList::default()).unwrap();
    assert!(left.is_empty());
}

fn group(volumes: &[&str], name: &str) -> SnapshotGroup {
    SnapshotGroup { volumes: volumes.iter().map(|&volume| volume.to_owned()).collect(), name: name.to_owned() }
}

#[test]
fn a_group_is_taken_at_one_instant_or_not_at_all() {
    let array = Array::new();
    array.create("v1");
    array.create("v2");
    let views = array.run(group(&["v1", "v2", "v1"], "nightly")).unwrap();
    assert_eq!(views.len(), 2);
    assert!(views[0].record.group.is_some() && views[0].record.group == views[1].record.group);
    assert_eq!(views[0].record.created, views[1].record.created);
    assert_eq!(array.code(group(&["v2", "v1"], "nightly")), "exists");
    array.create("v3");
    assert_eq!(array.code(group(&["v1", "v3"], "nightly")), "exists");
    assert_eq!(array.code(group(&["v3", "v4"], "weekly")), "not-found");
    assert_eq!(array.code(group(&[], "weekly")), "invalid-setting");
    array.catalog.fail_next.replace(Some(pool::PoolError::PoolFull));
    assert_eq!(array.code(group(&["v1", "v3"], "weekly")), "no-space");
    let all = array.run(SnapshotList::default()).unwrap();
    assert_eq!(all.len(), 2);
}

fn roll_back(volume: &str, snapshot: &str) -> VolumeRollback {
    VolumeRollback { volume: volume.to_owned(), snapshot: snapshot.to_owned(), ..VolumeRollback::default() }
}

#[test]
fn a_volume_returns_to_its_snapshot_and_keeps_what_it_had_when_asked() {
    let array = Array::new();
    let object = array.create("v1").object.id;
    array.create("v2");
    array.catalog.set_mapped(object, 4096);
    take(&array, "v1", "monday");
    take(&array, "v2", "tuesday");
    array.catalog.set_mapped(object, 8192);
    let grow = VolumeSet { volume: "v1".to_owned(), size_bytes: Some(2 << 30), ..VolumeSet::default() };
    array.run(grow).unwrap();
    let rollback = VolumeRollback { keep: Some("before".to_owned()), ..roll_back("v1", "monday") };
    let (rolled, _) = volume(array.run(rollback.clone()));
    assert_eq!((rolled.object.mapped_bytes, rolled.object.size_bytes), (4096, 1 << 30));
    // Regression: a volume shrank without a word.
    let message = "volume v1 shrank from 2 GiB to 1 GiB, its size in snapshot monday".to_owned();
    assert_eq!(rolled.warnings, [Warning { code: "size-changed", message: message.clone() }]);
    let events = array.run(EventList { since: None, filter: EventFilter::default(), limit: 1 }).unwrap();
    assert!(events[0].message.ends_with(&message), "{}", events[0].message);
    let view = array.run(show("v1@before")).unwrap();
    assert_eq!((view.object.mapped_bytes, view.object.size_bytes), (8192, 2 << 30));
    let told = Change::VolumeRolledBack { object, size_bytes: 1 << 30 };
    assert_eq!(array.live.published.borrow().last(), Some(&told));
    assert_eq!(array.code(rollback), "exists");
    assert_eq!(array.code(roll_back("v1", "tuesday")), "not-found");
    assert_eq!(array.code(roll_back("v1", "v2@tuesday")), "not-found");
    assert_eq!(volume(array.run(roll_back("v1", "v1@monday"))).0.warnings, []);
    let (grown, _) = volume(array.run(roll_back("v1", "before")));
    assert_eq!(grown.warnings[0].message, "volume v1 grew from 1 GiB to 2 GiB, its size in snapshot before");
}

#[test]
fn a_volume_that_sessions_see_is_rolled_back_only_by_force() {
    let array = Array::new();
    array.create("v1");
    take(&array, "v1", "monday");
    array.create_host("esx01", ESX01);
    array.grant("v1", Some("esx01"), None).unwrap();
    // Access without a session is no obstacle.
    volume(array.run(roll_back("v1", "monday")));
    array.log_in(7, ESX01);
    let error = array.run(roll_back("v1", "monday")).unwrap_err();
    assert_eq!((error.code(), error.users().len()), ("in-use", 1));
    assert!(error.help().unwrap().ends_with("force the rollback"));
    assert_eq!(error.parameters(), [("volume", "v1".to_owned()), ("snapshot", "monday".to_owned())]);
    volume(array.run(VolumeRollback { force: true, ..roll_back("v1", "monday") }));
}

#[test]
fn a_tree_shows_what_descends_from_what() {
    let array = Array::new();
    array.create("v1");
    take(&array, "v1", "monday");
    let clone = |name: &str, source: &str| {
        let source = Some(source.to_owned());
        volume(array.run(VolumeCreate { name: name.to_owned(), source, ..VolumeCreate::default() }));
    };
    clone("c1", "v1@monday");
    take(&array, "c1", "s");
    clone("c2", "c1@s");
    take(&array, "v1", "tuesday");
    clone("c3", "v1");
    let tree = |volume: &str| {
        let rows = array.run(SnapshotTree { volume: volume.to_owned() }).unwrap();
        rows.into_iter().map(|row| (row.depth, row.name, row.dependents)).collect::<Vec<_>>()
    };
    let row = |depth, name: &str, dependents| (depth, name.to_owned(), dependents);
    assert_eq!(
        tree("v1"),
        [
            row(0, "v1", 3),
            row(1, "v1@monday", 1),
            row(2, "c1", 1),
            row(3, "c1@s", 1),
            row(4, "c2", 0),
            row(1, "v1@tuesday", 0),
            row(1, "c3", 0),
        ]
    );
    assert_eq!(tree("c2"), [row(0, "c2", 0)]);
}

/// The limit is one for all that take snapshots, and those in the trash count.
#[test]
fn the_number_of_snapshots_is_limited() {
    let array = Array::new();
    let volume = array.create("v1").record.id;
    let create = |name: &str| SnapshotCreate { volume: "v1".to_owned(), name: name.to_owned() };
    array.run(create("first")).unwrap();
    array.run(SnapshotDelete { snapshot: "v1@first".to_owned(), now: false }).unwrap();
    let record = |number: u64| {
        let id = uuid::Uuid::from_u128(number.into());
        let object = pool::ObjectId(1_000_000 + number);
        crate::SnapshotRecord::new(id, object, format!("s{number}"), volume, jiff::Timestamp::UNIX_EPOCH)
    };
    array.control.apply((0..65_534).map(|number| record(number).into()).collect());
    array.run(create("last")).unwrap();
    assert_eq!(array.code(create("more")), "invalid-setting");
    let group = SnapshotGroup { volumes: vec!["v1".to_owned()], name: "more".to_owned() };
    assert_eq!(array.code(group), "invalid-setting");
    let rollback = VolumeRollback {
        volume: "v1".to_owned(),
        snapshot: "last".to_owned(),
        force: false,
        keep: Some("more".to_owned()),
    };
    assert_eq!(array.code(rollback), "invalid-setting");
    array.run(TrashEmpty { item: None }).unwrap();
    array.run(create("more")).unwrap();
}
