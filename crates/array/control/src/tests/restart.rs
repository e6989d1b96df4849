use super::{Array, ESX01, run_jobs};
use crate::*;
use futures_executor::block_on;
use pool::{Catalog, CatalogChange, ObjectId, PoolError};
use std::rc::Rc;

#[test]
fn everything_is_there_again_after_a_restart() {
    let array = Array::new();
    let before = array.create("v1");
    array.run(SnapshotCreate { volume: "v1".to_owned(), name: "monday".to_owned() }).unwrap();
    let chap = Some(ChapSet { user: "esx".to_owned(), secret: None, generate: false, mutual: None });
    let create = HostCreate { name: "esx01".to_owned(), iqns: vec![ESX01.to_owned()], chap, ..HostCreate::default() };
    array.run(create).unwrap();
    array.grant("v1", Some("esx01"), Some(9)).unwrap();
    let nexus = array.control.directory().nexus(ESX01);

    let again = Array::over(array.catalog.clone()).unwrap();
    assert_eq!(again.control.directory().nexus(ESX01), nexus);
    assert_eq!(again.control.directory().array(), array.control.directory().array());
    assert_eq!(again.control.directory().volumes().next(), Some(&before.record));
    let snapshots = again.run(SnapshotList::default()).unwrap();
    assert_eq!(snapshots[0].record.name, "monday");
}

#[test]
fn a_failed_commit_changes_nothing() {
    let array = Array::new();
    array.catalog.fail_next.replace(Some(PoolError::Stopped("write failed".to_owned())));
    let create = HostCreate { name: "esx01".to_owned(), iqns: vec![ESX01.to_owned()], ..HostCreate::default() };
    assert_eq!(array.code(create), "pool-stopped");
    assert_eq!(array.code(HostShow { host: "esx01".to_owned() }), "not-found");
    assert!(array.live.published.borrow().is_empty());
}

#[test]
fn contradicting_documents_are_refused_with_their_name() {
    for (key, value, word) in [
        ("volume/x", "{", "volume/x"),
        ("host/x", "{\"surprise\": 1}", "host/x"),
        (
            "volume/01997c2e-7b3c-7000-8000-000000000001",
            r#"{"id":"01997c2e-7b3c-7000-8000-000000000001","object":77,"name":"ghost",
                "naa":"602574c123456789800000000000002a","created":"2026-01-01T00:00:00Z","source":null}"#,
            "ghost",
        ),
        (
            "access/01997c2e-7b3c-7000-8000-000000000001/any",
            r#"{"volume":"01997c2e-7b3c-7000-8000-000000000001","host":null,"lun":4,"created":"2026-01-01T00:00:00Z"}"#,
            "LUN 4",
        ),
    ] {
        let array = Array::new();
        array.catalog.put_document(key, value);
        let error = Array::over(Rc::clone(&array.catalog)).err().unwrap();
        assert_eq!(error.code(), "damaged");
        assert!(error.to_string().contains(word), "{error}");
    }
}

#[test]
fn status_tells_when_the_pool_is_full_or_stopped() {
    let array = Array::new();
    let health = || {
        let status = array.run(StatusShow).unwrap();
        status.health
    };
    assert_eq!(health(), crate::Health::Healthy);
    array.catalog.size_bytes.set(64 << 20);
    assert_eq!(health(), crate::Health::Degraded);
    // Regression: the status lacked the reason.
    array.live.stopped.replace(Some("write failed".to_owned()));
    assert_eq!(health(), crate::Health::Failed);
    let status = array.run(StatusShow).unwrap();
    assert_eq!(status.pool.stopped.as_deref(), Some("write failed"));
    assert_eq!(status.target, "iqn.2026-01.org.example:test");
}

/// The start, the mirror and a job over all volumes took a list of all objects: a gigabyte with ten
/// million of them. Most of those have no document.
#[test]
fn no_list_of_all_objects_is_in_memory() {
    let array = Array::new();
    array.create("v1");
    array.run(SnapshotCreate { volume: "v1".to_owned(), name: "monday".to_owned() }).unwrap();
    array.catalog.add_objects(1_500);
    let again = Array::over(Rc::clone(&array.catalog)).unwrap();
    again.run(PoolReclaim { pool: "p0".to_owned(), share_percent: None }).unwrap();
    run_jobs(&again.control);
    let jobs = again.run(JobList).unwrap();
    let reclaimed = jobs.iter().find_map(|job| match job.report {
        JobReport::Reclaim(report) => Some(report.volumes),
        _ => None,
    });
    assert_eq!(reclaimed, Some(1_501));
    let most = again.catalog.most_listed.get();
    assert!((1..=1024).contains(&most), "{most} objects in one list");
    let mirror = block_on(again.control.mirror());
    assert_eq!(mirror.object_count(), 2);
    // Nor are those that appear later.
    let objects = (20_000..20_100).map(|id| CatalogChange::CreateVolume { id: ObjectId(id), size_bytes: 4096 });
    block_on(again.catalog.commit(objects.collect())).unwrap();
    again.create("v2");
    assert_eq!(mirror.object_count(), 3);
}

#[test]
fn captures_of_an_earlier_run_are_deleted() {
    let array = Array::new();
    let volume = array.create("v1").object.id;
    let captures =
        (0..300).map(|_| CatalogChange::CreateCapture { id: array.catalog.new_object_id(), size_bytes: 512 });
    block_on(array.catalog.commit(captures.collect())).unwrap();
    array.catalog.add_objects(3);
    assert_eq!(array.catalog.captures().len(), 300);
    let again = Array::over(Rc::clone(&array.catalog)).unwrap();
    assert!(again.catalog.captures().is_empty());
    let left = again.catalog.objects_from(ObjectId(0), usize::MAX);
    assert_eq!((left.len(), left.first().map(|object| object.id)), (4, Some(volume)));
}
