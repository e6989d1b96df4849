use super::{Array, ESX01, volume};
use crate::*;
use pool::{Catalog, ObjectId, PoolError};

fn create(name: &str, size_bytes: Option<u64>, source: Option<&str>) -> VolumeCreate {
    let source = source.map(str::to_owned);
    VolumeCreate { name: name.to_owned(), size_bytes, source, ..VolumeCreate::default() }
}

fn set(name: &str, change: VolumeSet) -> VolumeSet {
    VolumeSet { volume: name.to_owned(), ..change }
}

#[test]
fn a_volume_names_its_pool() {
    let array = Array::new();
    let in_pool = |pool: Option<&str>| VolumeCreate { pool: pool.map(str::to_owned), ..create("v1", Some(512), None) };
    let error = array.run(in_pool(Some("p9"))).unwrap_err();
    assert_eq!((error.code(), error.parameters()[1].1.as_str()), ("not-found", "p9"));
    let (view, created) = volume(array.run(in_pool(Some("p0"))));
    assert_eq!((view.pool.as_str(), created), ("p0", true));
    assert!(!volume(array.run(in_pool(None))).1, "the default pool is p0");
}

#[test]
fn creating_twice_returns_the_same_volume() {
    let array = Array::new();
    let (first, made) = volume(array.run(create("v1", Some(1 << 30), None)));
    assert!(made);
    let (second, made) = volume(array.run(create("v1", Some(1 << 30), None)));
    assert!(!made);
    assert_eq!((first.record.id, first.record.naa), (second.record.id, second.record.naa));
    let other = array.run(create("v1", Some(2 << 30), None)).unwrap_err();
    assert_eq!((other.code(), other.to_string().as_str()), ("exists", "volume v1 exists already with 1 GiB"));
    assert_eq!(array.live.published.borrow().len(), 1);
}

#[test]
fn names_and_ids_name_the_same_volume() {
    let array = Array::new();
    let made = array.create("v1");
    let (shown, _) = volume(array.run(VolumeShow { volume: made.record.id.to_string() }));
    assert_eq!(shown.record, made.record);
    assert_eq!(array.code(VolumeShow { volume: "v2".to_owned() }), "not-found");
}

#[test]
fn sizes_are_multiples_of_512_up_to_16_tib() {
    let array = Array::new();
    for size_bytes in [0, 511, 513, MAX_VOLUME_BYTES + 512, u64::MAX] {
        assert_eq!(array.code(create("v1", Some(size_bytes), None)), "invalid-size", "{size_bytes}");
    }
    assert_eq!(array.code(create("v1", None, None)), "size-missing");
    volume(array.run(create("v1", Some(MAX_VOLUME_BYTES), None)));
    volume(array.run(create("v2", Some(512), None)));
}

#[test]
fn designators_are_never_used_again() {
    let array = Array::new();
    let first = array.create("v1").record.naa;
    array.run(VolumeDelete { volume: "v1".to_owned(), now: true, ..VolumeDelete::default() }).unwrap();
    assert_ne!(array.create("v1").record.naa, first);
}

#[test]
fn clones_share_size_and_remember_their_source() {
    let array = Array::new();
    let source = array.create("template");
    let (clone, _) = volume(array.run(create("vm1", None, Some("template"))));
    assert_eq!(clone.object.size_bytes, source.object.size_bytes);
    assert_eq!(clone.object.parent, Some(source.object.id));
    assert_eq!(clone.source.unwrap().name.as_deref(), Some("template"));
    let (larger, _) = volume(array.run(create("vm2", Some(2 << 30), Some("template"))));
    assert_eq!(larger.object.size_bytes, 2 << 30);
    assert_eq!(array.code(create("vm3", Some(512), Some("template"))), "would-shrink");
    assert_eq!(array.code(create("vm3", None, Some("nothing"))), "not-found");
    assert_eq!(array.code(create("vm1", None, Some("vm2"))), "exists");
    array.run(VolumeDelete { volume: "template".to_owned(), now: true, ..VolumeDelete::default() }).unwrap();
    let (clone, _) = volume(array.run(VolumeShow { volume: "vm1".to_owned() }));
    assert_eq!(clone.source.unwrap().name, None);
}

/// Regression: `volume clone` to the name of an earlier clone reported success and left the earlier
/// content. A nightly job with a constant name thus tested a copy that was a year old.
#[test]
fn a_clone_to_an_existing_name_is_refused() {
    let array = Array::new();
    array.create("template");
    let first = volume(array.run(create("vm1", None, Some("template")))).0;
    let events = || array.run(EventList { since: None, filter: EventFilter::default(), limit: 100 }).unwrap().len();
    let before = events();
    for size_bytes in [None, Some(1 << 30)] {
        let error = array.run(create("vm1", size_bytes, Some("template"))).unwrap_err();
        let said = format!("volume vm1 exists already, created {:.0}", first.record.created);
        assert_eq!((error.code(), error.to_string()), ("exists", said));
    }
    assert_eq!(events(), before);
    // An empty volume is another matter: the request names no content.
    assert!(!volume(array.run(create("template", Some(1 << 30), None))).1);
}

#[test]
fn a_clone_does_not_inherit_the_write_cache() {
    let array = Array::new();
    array.create("v1");
    volume(array.run(set("v1", VolumeSet { write_cache: Some(true), ..VolumeSet::default() })));
    let (clone, _) = volume(array.run(create("v2", None, Some("v1"))));
    assert!(!clone.object.write_cache);
}

#[test]
fn volumes_grow_and_do_not_shrink() {
    let array = Array::new();
    let object = array.create("v1").object.id;
    let grow = |size_bytes| set("v1", VolumeSet { size_bytes: Some(size_bytes), ..VolumeSet::default() });
    assert_eq!(volume(array.run(grow(2 << 30))).0.object.size_bytes, 2 << 30);
    let error = array.run(grow(1 << 30)).unwrap_err();
    let said = "volume v1 cannot have 1 GiB: it has 2 GiB, and volumes do not shrink";
    assert_eq!((error.code(), error.to_string().as_str()), ("would-shrink", said));
    assert_eq!(array.code(grow((2 << 30) + 1)), "invalid-size");
    volume(array.run(grow(2 << 30)));
    let resized = Change::VolumeResized { object, size_bytes: 2 << 30 };
    assert_eq!(array.live.published.borrow()[1..], [resized]);
}

#[test]
fn one_set_changes_everything_at_once_or_nothing() {
    let array = Array::new();
    array.create("v1");
    array.create("taken");
    let change = |name: &str| VolumeSet {
        name: Some(name.to_owned()),
        size_bytes: Some(4 << 30),
        write_cache: Some(true),
        ..VolumeSet::default()
    };
    assert_eq!(array.code(set("v1", change("taken"))), "exists");
    array.catalog.fail_next.replace(Some(PoolError::PoolFull));
    assert_eq!(array.code(set("v1", change("v2"))), "no-space");
    let (unchanged, _) = volume(array.run(VolumeShow { volume: "v1".to_owned() }));
    assert_eq!((unchanged.object.size_bytes, unchanged.object.write_cache), (1 << 30, false));
    let (changed, _) = volume(array.run(set("v1", change("v2"))));
    assert_eq!((changed.object.size_bytes, changed.object.write_cache), (4 << 30, true));
    assert_eq!(changed.record.name, "v2");
    assert_eq!(changed.record.naa, unchanged.record.naa);
}

#[test]
fn a_volume_in_use_is_not_deleted() {
    let array = Array::new();
    array.create("v1");
    array.create_host("esx01", ESX01);
    array.grant("v1", Some("esx01"), None).unwrap();
    array.log_in(7, &ESX01.to_ascii_uppercase());
    let error = array
        .run(VolumeDelete { volume: "v1".to_owned(), with_snapshots: true, now: true, ..VolumeDelete::default() })
        .unwrap_err();
    let ControlError::InUse { users, .. } = &error else { panic!("{error:?}") };
    assert_eq!(users[0].kind, UserKind::Access);
    assert_eq!(users[0].description, "host esx01, LUN 0");
    assert_eq!(users[1].kind, UserKind::Session);
    assert_eq!(users[1].description, "IQN.1998-01.COM.VMWARE:ESX01 from 192.0.2.77, no I/O yet (id 7)");
    assert_eq!(error.help().unwrap(), "revoke access first");
    assert_eq!(error.parameters(), [("noun", "volume".to_owned()), ("name", "v1".to_owned())]);
}

#[test]
fn the_list_is_by_name() {
    let array = Array::new();
    for name in ["b", "c", "a"] {
        array.create(name);
    }
    let volumes = array.run(VolumeList::default()).unwrap();
    assert_eq!(volumes.iter().map(|volume| volume.record.name.as_str()).collect::<Vec<_>>(), ["a", "b", "c"]);
}

/// Regression: `volume clone --size larger` was two commits. A crash between them left a clone of
/// the old size, and repeating the command failed with *exists already with N bytes*.
#[test]
fn a_crash_leaves_a_larger_clone_whole_or_not_at_all() {
    let larger = || create("v2", Some(2 << 30), Some("v1"));
    let mut commits = 0;
    loop {
        let array = Array::new();
        array.create("v1");
        let (array, done) = array.crash_after(commits, larger());
        match array.run(VolumeShow { volume: "v2".to_owned() }) {
            Err(error) => assert_eq!(
                (error.code(), array.catalog.objects_from(ObjectId(0), 9).len()),
                ("not-found", 1),
                "{commits}"
            ),
            found => {
                assert_eq!(volume(found).0.object.size_bytes, 2 << 30, "{commits}");
                array.run(VolumeDelete { volume: "v2".to_owned(), now: true, ..VolumeDelete::default() }).unwrap();
            }
        }
        assert_eq!(volume(array.run(larger())).0.object.size_bytes, 2 << 30, "{commits}");
        if done {
            break;
        }
        commits += 1;
    }
    assert!(commits > 0);
}

#[test]
fn a_clone_that_cannot_be_larger_is_not_created() {
    let array = Array::new();
    array.create("v1");
    array.catalog.fail_next.replace(Some(PoolError::PoolFull));
    assert_eq!(array.code(create("v2", Some(2 << 30), Some("v1"))), "no-space");
    assert_eq!(array.code(VolumeShow { volume: "v2".to_owned() }), "not-found");
    assert_eq!(array.catalog.objects_from(ObjectId(0), 9).len(), 1);
    assert_eq!(array.live.published.borrow().len(), 1);
    let (larger, made) = volume(array.run(create("v2", Some(2 << 30), Some("v1"))));
    assert_eq!((larger.object.size_bytes, made), (2 << 30, true));
    assert_eq!(array.live.published.borrow().last(), Some(&Change::VolumeAdded { object: larger.object.id }));
}

/// Regression: unique bytes are counted by traversing the map, and every list waited for a volume
/// with millions of map pages.
#[test]
fn nobody_waits_long_for_a_count_of_unique_bytes() {
    let array = Array::new();
    let made = array.create("v1");
    array.catalog.set_mapped(made.object.id, 4096);
    let unique = || {
        let volumes = array.run(VolumeList::default()).unwrap();
        volumes.iter().map(|volume| volume.unique_bytes).collect::<Vec<_>>()
    };
    assert_eq!(unique(), [Some(4096)]);
    array.create("v2");
    array.catalog.set_mapped(made.object.id, 8192);
    array.catalog.counting.set(true);
    // The first has its last count, the second none.
    assert_eq!(unique(), [Some(4096), Some(0)]);
    array.create("v3");
    assert_eq!(unique(), [Some(4096), Some(0), None]);
    array.catalog.counting.set(false);
    assert_eq!(unique(), [Some(8192), Some(0), Some(0)]);
}
