use super::{Array, ESX01};
use crate::*;
use futures_executor::block_on;
use pool::{ADDRESS_SPACE_BYTES, Catalog};
use std::collections::BTreeSet;

fn share(name: &str) -> ShareCreate {
    ShareCreate::new(name)
}

fn grant_any(array: &Array, share: &str) {
    let (share, grantee) = (share.to_owned(), ExportGrantee::Any);
    let grant = ExportGrant { share, grantee, read_only: false, squash: None, anonymous: None, privileged_port: false };
    array.run(grant).unwrap();
}

#[test]
fn a_share_is_an_address_space_with_a_document() {
    let array = Array::new();
    let create = ShareCreate { owner: (1000, 100), mode: 0o2770, ..share("vms") };
    let Outcome { view, changed } = array.run(create).unwrap();
    assert!(changed);
    let record = &view.record;
    assert_eq!(array.catalog.object(record.object).unwrap().size_bytes, ADDRESS_SPACE_BYTES);
    let root = record.root;
    assert_eq!((root.uid, root.gid, root.mode, root.born), (1000, 100, 0o2770, record.created));
    assert_eq!((record.epoch, record.protocols, record.copy), (1, Protocols::ALL, CopyPolicy::Share));
    let published = array.live.published.borrow();
    assert_eq!(*published, [Change::ShareAdded { object: record.object }]);
    assert!(array.control.directory().share_of(record.object) == Some(record));
    let events = array.run(EventList { since: None, filter: EventFilter::default(), limit: 1 }).unwrap();
    assert!(events.iter().any(|event| event.code == "share-created" && event.subject == "vms"));
}

#[test]
fn creating_twice_returns_the_same_share() {
    let array = Array::new();
    let made = array.run(share("vms")).unwrap().view.record;
    let again = array.run(share("vms")).unwrap();
    assert_eq!((again.view.record, again.changed), (made, false));
    let error = array.run(ShareCreate { mode: 0o700, ..share("vms") }).unwrap_err();
    assert_eq!(error.to_string(), "share vms exists already with mode 0755");
    assert_eq!(array.code(ShareCreate { owner: (1, 0), ..share("vms") }), "exists");
    let protocols = Protocols { v3: false, v4: true };
    assert_eq!(array.code(ShareCreate { protocols, ..share("vms") }), "exists");
}

#[test]
fn each_share_has_its_own_identifier() {
    let array = Array::new();
    let made: BTreeSet<u64> =
        (0..20).map(|number| array.run(share(&format!("s{number}"))).unwrap().view.record.fsid).collect();
    assert_eq!(made.len(), 20);
    assert!(!made.contains(&0));
}

#[test]
fn what_the_pool_cannot_do_is_refused() {
    let array = Array::new();
    for (create, code) in [
        (ShareCreate { quota_bytes: Some((1 << 20) + 4096), ..share("vms") }, "invalid-quota"),
        (ShareCreate { quota_bytes: Some(0), ..share("vms") }, "invalid-quota"),
        (ShareCreate { quota_bytes: Some(u64::MAX), ..share("vms") }, "invalid-quota"),
        (ShareCreate { mode: 0o10000, ..share("vms") }, "invalid-mode"),
        (ShareCreate { protocols: Protocols { v3: false, v4: false }, ..share("vms") }, "no-protocol"),
        (ShareCreate { pool: Some("p9".to_owned()), ..share("vms") }, "not-found"),
        (share("a/b"), "invalid-name"),
    ] {
        assert_eq!(array.code(create), code);
    }
    assert!(array.live.published.borrow().is_empty());
    assert_eq!(array.catalog.documents("share/"), []);
}

#[test]
fn a_share_has_a_copy_policy_that_can_change() {
    let array = Array::new();
    let physical = ShareCreate { copy: CopyPolicy::Physical, ..share("vms") };
    assert_eq!(array.run(physical.clone()).unwrap().view.record.copy, CopyPolicy::Physical);
    assert!(!array.run(physical).unwrap().changed);
    assert_eq!(array.code(share("vms")), "exists");
    let set = ShareSet { share: "vms".to_owned(), copy: Some(CopyPolicy::Share), ..ShareSet::default() };
    assert_eq!(array.run(set).unwrap().record.copy, CopyPolicy::Share);
    assert!(!array.run(share("vms")).unwrap().changed);
}

/// `snapshot create NAME` names a volume or a share.
#[test]
fn volumes_and_shares_have_one_name_space() {
    let array = Array::new();
    array.create("v1");
    array.run(share("s1")).unwrap();
    let volume = VolumeCreate { name: "s1".to_owned(), size_bytes: Some(1 << 20), ..VolumeCreate::default() };
    assert_eq!(array.run(volume).unwrap_err().to_string(), "share s1 exists already");
    assert_eq!(array.run(share("v1")).unwrap_err().to_string(), "volume v1 exists already");
    let rename = VolumeSet { volume: "v1".to_owned(), name: Some("s1".to_owned()), ..VolumeSet::default() };
    assert_eq!(array.code(rename), "exists");
    let rename = ShareSet { share: "s1".to_owned(), name: Some("v1".to_owned()), ..ShareSet::default() };
    assert_eq!(array.code(rename), "exists");
}

#[test]
fn a_change_is_published_and_stored() {
    let array = Array::new();
    let before = array.run(share("vms")).unwrap().view.record;
    array.live.published.borrow_mut().clear();
    let protocols = Protocols { v3: true, v4: false };
    let set = ShareSet {
        share: "vms".to_owned(),
        name: Some("machines".to_owned()),
        protocols: Some(protocols),
        copy: None,
        new_handles: true,
        quota_bytes: None,
    };
    let view = array.run(set).unwrap();
    let after = ShareRecord { name: "machines".to_owned(), protocols, epoch: 2, ..before };
    assert_eq!(view.record, after);
    assert_eq!(*array.live.published.borrow(), [Change::ShareChanged { object: after.object }]);
    array.run(ShareSet { share: "machines".to_owned(), protocols: Some(protocols), ..ShareSet::default() }).unwrap();
    assert_eq!(array.live.published.borrow().len(), 1);
    let again = Array::over(array.catalog.clone()).unwrap();
    assert_eq!(again.control.directory().shares().collect::<Vec<_>>(), [&after]);
    let none = ShareSet {
        share: "machines".to_owned(),
        protocols: Some(Protocols { v3: false, v4: false }),
        ..ShareSet::default()
    };
    assert_eq!(array.code(none), "no-protocol");
}

#[test]
fn a_share_that_hosts_may_use_is_not_deleted() {
    let array = Array::new();
    let record = array.run(share("vms")).unwrap().view.record;
    grant_any(&array, "vms");
    let delete = || ShareDelete { share: "vms".to_owned(), with_snapshots: false, now: true };
    let error = array.run(delete()).unwrap_err();
    assert_eq!((error.code(), error.users().len()), ("in-use", 1));
    array.run(ExportRevoke { share: "vms".to_owned(), grantee: None }).unwrap();
    array.live.published.borrow_mut().clear();
    assert_eq!(array.run(delete()), Ok(Deleted { name: "vms".to_owned(), trashed: None }));
    assert_eq!(*array.live.published.borrow(), [Change::ShareRemoved { object: record.object }]);
    assert_eq!(array.catalog.object(record.object), None);
    assert_eq!(array.catalog.documents("share/"), []);
    assert_eq!(array.code(delete()), "not-found");
}

#[test]
fn a_failed_commit_leaves_no_share() {
    let array = Array::new();
    array.catalog.fail_next.replace(Some(pool::PoolError::Stopped("write failed".to_owned())));
    assert_eq!(array.code(share("vms")), "pool-stopped");
    assert!(array.run(ShareList::default()).unwrap().is_empty());
    assert!(array.live.published.borrow().is_empty());
}

/// The size of an address space says nothing about the space that it may take.
#[test]
fn a_share_is_in_no_sum_of_sizes() {
    let array = Array::new();
    array.create("v1");
    array.run(share("vms")).unwrap();
    let provisioned = |array: &Array| array.run(PoolList).unwrap()[0].provisioned_bytes;
    assert_eq!(provisioned(&array), 1 << 30);
    array.run(ShareDelete { share: "vms".to_owned(), with_snapshots: false, now: true }).unwrap();
    assert_eq!(provisioned(&array), 1 << 30);
}

#[test]
fn a_list_is_by_name_and_counts_the_space() {
    let array = Array::new();
    for name in ["b", "a"] {
        array.run(share(name)).unwrap();
    }
    let b = array.run(ShareShow { share: "b".to_owned() }).unwrap().record.object;
    array.catalog.set_mapped(b, 8192);
    let list = array.run(ShareList::default()).unwrap();
    let rows: Vec<(&str, u64, Option<u64>)> =
        list.iter().map(|view| (view.record.name.as_str(), view.object.mapped_bytes, view.unique_bytes)).collect();
    assert_eq!(rows, [("a", 0, Some(0)), ("b", 8192, Some(8192))]);
}

/// An older release knows neither kind of document, and no field of these.
#[test]
fn a_pool_without_shares_has_no_document_of_shares() {
    let array = Array::new();
    array.create("v1");
    array.create_host("esx01", ESX01);
    array.run(share("vms")).unwrap();
    grant_any(&array, "vms");
    array.run(ExportRevoke { share: "vms".to_owned(), grantee: None }).unwrap();
    array.run(ShareDelete { share: "vms".to_owned(), with_snapshots: false, now: true }).unwrap();
    assert_eq!(array.catalog.documents("share/"), []);
    assert_eq!(array.catalog.documents("export/"), []);
    let hosts = array.catalog.documents("host/");
    let text = String::from_utf8(hosts[0].1.to_vec()).unwrap();
    assert!(!text.contains("addresses"), "{text}");
}

#[test]
fn a_share_without_its_object_is_damage() {
    let array = Array::new();
    array.run(share("vms")).unwrap();
    let (key, value) = array.catalog.documents("share/").remove(0);
    let text = String::from_utf8(value.to_vec()).unwrap();
    let volume = array.create("v1").record.object;
    let object = array.control.directory().shares().next().unwrap().object;
    let other = text.replace(&format!("\"object\":{}", object.0), &format!("\"object\":{}", volume.0));
    assert_ne!(text, other);
    array.catalog.put_document(&key, &other);
    let error = Array::over(array.catalog.clone()).err().unwrap();
    assert!(error.to_string().contains("share vms has no address space"), "{error}");
}

fn snapshot(array: &Array, source: &str, name: &str) -> SnapshotView {
    array.run(SnapshotCreate { volume: source.to_owned(), name: name.to_owned() }).unwrap()
}

fn clone(source: &str, name: &str) -> ShareClone {
    ShareClone { source: source.to_owned(), name: name.to_owned() }
}

#[test]
fn snapshots_of_shares_are_like_those_of_volumes() {
    let array = Array::new();
    let object = array.run(share("vms")).unwrap().view.record.object;
    array.create("v1");
    array.catalog.set_mapped(object, 4096);
    let taken = snapshot(&array, "vms", "monday");
    assert_eq!((taken.volume.as_str(), taken.of_share), ("vms", true));
    assert_eq!(array.catalog.object(taken.record.object).unwrap().parent, Some(object));
    assert!(!snapshot(&array, "v1", "monday").of_share);
    assert_eq!(array.code(SnapshotCreate { volume: "vms".to_owned(), name: "monday".to_owned() }), "exists");
    let of =
        |source: &str| array.run(SnapshotList { volume: Some(source.to_owned()), older_than: None }).unwrap().len();
    assert_eq!((of("vms"), of("v1")), (1, 1));
    let group = SnapshotGroup { volumes: vec!["v1".to_owned(), "vms".to_owned()], name: "both".to_owned() };
    let both = array.run(group).unwrap();
    assert!(both[0].record.group.is_some() && both[0].record.group == both[1].record.group);
    let view = array.run(ShareShow { share: "vms".to_owned() }).unwrap();
    assert_eq!((view.snapshots, view.snapshot_bytes), (2, Some(0)));
    let again = Array::over(array.catalog.clone()).unwrap();
    let shown = again.run(SnapshotShow { snapshot: "vms@monday".to_owned() }).unwrap();
    assert_eq!(shown.record, taken.record);
    again.run(SnapshotDelete { snapshot: "vms@monday".to_owned(), now: true }).unwrap();
    assert_eq!(again.code(SnapshotShow { snapshot: "vms@monday".to_owned() }), "not-found");
}

#[test]
fn a_share_with_snapshots_is_deleted_with_them_or_not_at_all() {
    let array = Array::new();
    array.run(share("vms")).unwrap();
    snapshot(&array, "vms", "monday");
    let delete = |with_snapshots| ShareDelete { share: "vms".to_owned(), with_snapshots, now: true };
    let error = array.run(delete(false)).unwrap_err();
    assert_eq!((error.code(), error.users().len()), ("has-snapshots", 1));
    array.run(delete(true)).unwrap();
    assert!(array.run(SnapshotList::default()).unwrap().is_empty());
    assert_eq!(array.catalog.objects_from(pool::ObjectId(0), 10), []);
}

#[test]
fn a_clone_has_the_content_and_its_own_handles() {
    let array = Array::new();
    let create = ShareCreate { owner: (5, 6), protocols: Protocols { v3: false, v4: true }, ..share("vms") };
    array.run(create).unwrap();
    let new_handles = ShareSet { share: "vms".to_owned(), new_handles: true, ..ShareSet::default() };
    let source = array.run(new_handles).unwrap().record;
    let taken = snapshot(&array, "vms", "monday").record;
    array.live.published.borrow_mut().clear();
    let one = array.run(clone("vms", "one")).unwrap();
    let two = array.run(clone("vms@monday", "two")).unwrap();
    for (view, object) in [(&one, source.object), (&two, taken.object)] {
        assert_eq!(array.catalog.object(view.record.object).unwrap().parent, Some(object));
        assert_eq!((view.record.root, view.record.protocols), (source.root, source.protocols));
        assert_eq!(view.record.epoch, 1);
        assert_ne!(view.record.fsid, source.fsid);
    }
    let added = [&one, &two].map(|view| Change::ShareAdded { object: view.record.object });
    assert_eq!(*array.live.published.borrow(), added);
    let names = [&one, &two].map(|view| view.source.clone().and_then(|source| source.name));
    assert_eq!(names, [Some("vms".to_owned()), Some("vms@monday".to_owned())]);
    let shown = array.run(SnapshotShow { snapshot: "vms@monday".to_owned() }).unwrap();
    assert_eq!(shown.dependents, ["two"]);
    let tree = array.run(SnapshotTree { volume: "vms".to_owned() }).unwrap();
    let names: Vec<(u64, &str)> = tree.iter().map(|node| (node.depth, node.name.as_str())).collect();
    assert_eq!(names, [(0, "vms"), (1, "vms@monday"), (2, "two"), (1, "one")]);
    assert!(tree.iter().all(|node| node.of_share));
    assert_eq!(array.code(clone("vms", "one")), "exists");
    assert_eq!(array.code(share("one")), "exists");
    let again = Array::over(array.catalog.clone()).unwrap();
    assert!(again.control.directory().share_of(two.record.object) == Some(&two.record));
}

/// A volume and the content of a share do not become one another.
#[test]
fn volumes_and_shares_are_cloned_as_what_they_are() {
    let array = Array::new();
    array.create("v1");
    array.run(share("vms")).unwrap();
    snapshot(&array, "v1", "monday");
    snapshot(&array, "vms", "monday");
    for source in ["v1", "v1@monday"] {
        assert_eq!(array.code(clone(source, "new")), "source-is-volume", "{source}");
    }
    for source in ["vms", "vms@monday"] {
        let (name, source) = ("new".to_owned(), Some(source.to_owned()));
        assert_eq!(array.code(VolumeCreate { name, source, ..VolumeCreate::default() }), "source-is-share");
    }
    assert_eq!(array.code(clone("nothing", "new")), "not-found");
    let rollback = VolumeRollback { volume: "v1".to_owned(), snapshot: "vms@monday".to_owned(), ..Default::default() };
    assert_eq!(array.code(rollback), "not-found");
}

#[test]
fn a_rollback_is_a_transaction_of_the_file_system() {
    let array = Array::new();
    let object = array.run(share("vms")).unwrap().view.record.object;
    let monday = snapshot(&array, "vms", "monday").record.object;
    let rollback = |keep: Option<&str>| ShareRollback {
        share: "vms".to_owned(),
        snapshot: "monday".to_owned(),
        keep: keep.map(str::to_owned),
    };
    array.run(rollback(None)).unwrap();
    assert_eq!(array.run(rollback(Some("before"))).unwrap().snapshots, 2);
    assert_eq!(*array.live.rollbacks.done.borrow(), [(object, monday); 2]);
    assert_eq!(array.code(rollback(Some("before"))), "exists");
    for (error, code) in [
        (ShareRollbackError::NotOpen, "share-not-open"),
        (ShareRollbackError::Pool(pool::PoolError::PoolFull), "no-space"),
    ] {
        array.live.rollbacks.fail.replace(Some(error));
        assert_eq!(array.code(rollback(None)), code);
    }
    let missing = ShareRollback { share: "vms".to_owned(), snapshot: "friday".to_owned(), keep: None };
    assert_eq!(array.run(missing).unwrap_err().to_string(), "there is no snapshot vms@friday");
    assert_eq!(array.live.rollbacks.done.borrow().len(), 2);
    let events = array.run(EventList { since: None, filter: EventFilter::default(), limit: 1 }).unwrap();
    assert_eq!(events[0].message, "share vms rolled back to snapshot monday; its content before is in snapshot before");
}

/// `used = unique + snapshots + shared + metadata`, with volumes and shares.
#[test]
fn the_space_of_a_pool_has_its_shares() {
    let array = Array::new();
    let volume = array.create("v1").record.object;
    let object = array.run(share("vms")).unwrap().view.record.object;
    array.catalog.set_mapped(volume, 4096);
    array.catalog.set_mapped(object, 8192);
    let pool = array.run(PoolList).unwrap().remove(0);
    assert_eq!((pool.volumes, pool.shares, pool.mapped_bytes), (1, 1, 12288));
    assert_eq!((pool.unique_bytes, pool.shared_bytes), (Some(12288), Some(0)));
}

#[test]
fn a_quota_is_a_ceiling_of_the_share_and_of_its_clones() {
    let array = Array::new();
    let quota = |bytes| Some(Some(bytes));
    let create = ShareCreate { quota_bytes: Some(200 << 30), ..share("vms") };
    let made = array.run(create.clone()).unwrap().view;
    assert_eq!(made.object.ceiling_bytes, Some(200 << 30));
    assert!(!array.run(create).unwrap().changed);
    let error = array.run(share("vms")).unwrap_err();
    assert_eq!(error.to_string(), "share vms exists already with a quota of 200 GiB");
    let set = |quota_bytes| ShareSet { share: "vms".to_owned(), quota_bytes, ..ShareSet::default() };
    array.live.published.borrow_mut().clear();
    assert_eq!(array.run(set(quota(2 << 40))).unwrap().object.ceiling_bytes, Some(2 << 40));
    assert_eq!(array.run(set(None)).unwrap().object.ceiling_bytes, Some(2 << 40));
    let clone = ShareClone { source: "vms".to_owned(), name: "copy".to_owned() };
    assert_eq!(array.run(clone).unwrap().object.ceiling_bytes, Some(2 << 40));
    assert_eq!(array.code(set(quota(1000))), "invalid-quota");
    assert_eq!(array.run(set(Some(None))).unwrap().object.ceiling_bytes, None);
    // The file system asks the pool each time: nothing of its exports has changed.
    assert_eq!(array.live.published.borrow().len(), 1);
    let events = array.run(EventList { since: None, filter: EventFilter::default(), limit: 100 }).unwrap();
    let told = |text: &str| events.iter().any(|event| event.message == format!("share vms changed: {text}"));
    assert!(told("quota 2 TiB") && told("no quota"), "{events:?}");
    let clone = ShareClone { source: "vms".to_owned(), name: "free".to_owned() };
    assert_eq!(array.run(clone).unwrap().object.ceiling_bytes, None);
}

#[test]
fn what_the_quota_does_not_allow_says_how_much_is_left() {
    let array = Array::new();
    array.run(share("vms")).unwrap();
    let (needed_bytes, available_bytes) = (3 << 30, 1 << 20);
    *array.catalog.fail_next.borrow_mut() = Some(pool::PoolError::AboveCeiling { needed_bytes, available_bytes });
    let take = SnapshotCreate { volume: "vms".to_owned(), name: "monday".to_owned() };
    let error = array.run(take).unwrap_err();
    assert_eq!((error.code(), error.class()), ("quota-exceeded", Class::NoSpace));
    let text = "the quota of the share does not allow it: 3 GiB more would be used or promised, and 1 MiB are left";
    assert_eq!(error.to_string(), text);
}

#[test]
fn a_share_near_its_quota_raises_an_alert_at_the_thresholds_of_the_pool() {
    const GIB: u64 = 1 << 30;
    let array = Array::new();
    let object = array.run(ShareCreate { quota_bytes: Some(10 * GIB), ..share("vms") }).unwrap().view.object.id;
    let alerts = |array: &Array| -> Vec<(&'static str, Severity, String)> {
        block_on(array.control.look());
        block_on(array.control.look());
        let alerts = array.run(AlertList).unwrap();
        alerts.into_iter().map(|alert| (alert.code, alert.severity, alert.message)).collect()
    };
    let told = |array: &Array| -> Vec<String> {
        let filter = EventFilter::default();
        let events = array.run(EventList { since: None, filter, limit: 1000 }).unwrap();
        events.into_iter().filter(|event| event.code.starts_with("threshold")).map(|event| event.message).collect()
    };
    let share_threshold = |severity, percent: u64| {
        ("share-threshold", severity, format!("{percent} % of the quota of the share is used or promised"))
    };
    array.catalog.set_mapped(object, 7 * GIB);
    assert_eq!(alerts(&array), []);
    array.catalog.set_mapped(object, 8 * GIB);
    assert_eq!(alerts(&array), [share_threshold(Severity::Warning, 80)]);
    let again = Array::over(array.catalog.clone()).unwrap();
    array.catalog.set_mapped(object, 10 * GIB);
    assert_eq!(alerts(&again), [share_threshold(Severity::Critical, 100)]);
    let set = ShareSet { share: "vms".to_owned(), quota_bytes: Some(Some(20 * GIB)), ..ShareSet::default() };
    again.run(set.clone()).unwrap();
    assert_eq!(alerts(&again), []);
    again.run(ShareSet { quota_bytes: Some(Some(5 * GIB)), ..set.clone() }).unwrap();
    assert_eq!(alerts(&again), [share_threshold(Severity::Critical, 200)]);
    again.run(ShareSet { quota_bytes: Some(None), ..set }).unwrap();
    assert_eq!(alerts(&again), []);
    let words =
        ["80", "100", "50", "200"].map(|percent| format!("{percent} % of the quota of share vms is used or promised"));
    let [warned, critical, below, above] = words;
    let below = below + ": below its threshold again";
    assert_eq!(told(&again), [warned, critical, below, above, "share vms has no quota any more".to_owned()]);
    let reached = |change: &Change| matches!(change, Change::ThresholdReached { .. });
    assert!(!again.live.published.borrow().iter().any(reached), "no initiator uses a share");
}
