use super::{Array, volume};
use crate::{Action, ControlError, Reply, SnapshotView, VolumeCreate};

fn take(array: &Array, volume: &str, name: &str) -> (SnapshotView, bool) {
    let action = Action::SnapshotCreate { volume: volume.to_owned(), name: name.to_owned() };
    match array.run(action).unwrap() {
        Reply::Snapshot { view, created } => (*view, created),
        other => panic!("{other:?}"),
    }
}

fn show(name: &str) -> Action {
    Action::SnapshotShow { snapshot: name.to_owned() }
}

#[test]
fn names_are_unique_within_a_volume() {
    let array = Array::new();
    array.create("v1");
    array.create("v2");
    let (first, made) = take(&array, "v1", "monday");
    assert!(made);
    let (again, made) = take(&array, "v1", "monday");
    assert!(!made);
    assert_eq!(first.record, again.record);
    array.run(show("monday")).unwrap();
    take(&array, "v2", "monday");
    let error = array.run(show("monday")).unwrap_err();
    let candidates = "v1@monday, v2@monday".to_owned();
    assert_eq!(error, ControlError::AmbiguousName { name: "monday".to_owned(), candidates });
    array.run(show("v2@monday")).unwrap();
    array.run(show(&first.record.id.to_string())).unwrap();
    assert_eq!(array.code(show("v1@tuesday")), "not-found");
}

#[test]
fn a_snapshot_can_be_cloned_and_then_deleted() {
    let array = Array::new();
    array.create("v1");
    take(&array, "v1", "monday");
    let source = Some("v1@monday".to_owned());
    let create = VolumeCreate { name: "clone".to_owned(), source, ..VolumeCreate::default() };
    let (clone, _) = volume(array.run(Action::VolumeCreate(create)));
    assert_eq!(clone.source.unwrap().name.as_deref(), Some("v1@monday"));
    assert_eq!(take(&array, "v1", "monday").0.dependents, ["clone"]);
    array.run(Action::SnapshotDelete { snapshot: "v1@monday".to_owned() }).unwrap();
    volume(array.run(Action::VolumeShow { volume: "clone".to_owned() }));
}

#[test]
fn a_volume_with_snapshots_is_deleted_only_with_them() {
    let array = Array::new();
    array.create("v1");
    take(&array, "v1", "monday");
    let delete = |with_snapshots| Action::VolumeDelete { volume: "v1".to_owned(), with_snapshots };
    assert_eq!(array.code(delete(false)), "has-snapshots");
    array.run(delete(true)).unwrap();
    let Reply::Snapshots(left) = array.run(Action::SnapshotList { volume: None }).unwrap() else { panic!() };
    assert!(left.is_empty());
}
