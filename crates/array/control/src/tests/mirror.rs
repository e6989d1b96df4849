//! The mirror gives the same replies as `control` after any change, without using `control`.

use super::*;
use pool::ObjectId;
use std::fmt::Debug;

/// Both replies must be equal.
#[track_caller]
fn same<R: Read + Clone>(array: &Array, mirror: &Mirror, request: &R)
where
    R::Reply: Debug,
{
    block_on(array.control.recount(mirror.stale_counts(request).unwrap().0));
    // The mirror answers first, because `control` publishes after its reply.
    let copy = mirror.read(request);
    let now = array.run(request.clone());
    assert_eq!(format!("{copy:#?}"), format!("{now:#?}"), "{}", <R as Read>::NAME);
}

/// All reads of volume v1, which may not exist, and of all objects.
#[track_caller]
fn everything_is_the_same(array: &Array, mirror: &Mirror) {
    let volume = || "v1".to_owned();
    same(array, mirror, &VolumeList::default());
    same(array, mirror, &VolumeShow { volume: volume() });
    same(array, mirror, &VolumeSpace { volume: volume() });
    same(array, mirror, &SnapshotTree { volume: volume() });
    same(array, mirror, &SnapshotList::default());
    same(array, mirror, &SnapshotList { volume: Some(volume()), older_than: None });
    same(array, mirror, &SnapshotShow { snapshot: "v1@monday".to_owned() });
    same(array, mirror, &PoolList);
    same(array, mirror, &PoolShow { pool: "p0".to_owned() });
    same(array, mirror, &HostList::default());
    same(array, mirror, &HostShow { host: "esx01".to_owned() });
    same(array, mirror, &HostGroupList);
    same(array, mirror, &HostGroupShow { group: "c1".to_owned() });
    same(array, mirror, &AccessList::default());
    same(array, mirror, &ShareList::default());
    same(array, mirror, &ShareShow { share: "s1".to_owned() });
    same(array, mirror, &ExportList::default());
    same(array, mirror, &SessionList::default());
    same(array, mirror, &PortalList);
    same(array, mirror, &PortGroupList);
    same(array, mirror, &PortGroupShow { group: 1 });
    same(array, mirror, &ReservationList::default());
    same(array, mirror, &ReservationShow { volume: volume() });
    same(array, mirror, &ShareSpace { share: "s1".to_owned() });
    same(array, mirror, &ShareIo { share: "s1".to_owned() });
    same(array, mirror, &OffloadStatistics::default());
    same(array, mirror, &OffloadStatistics { by_client: true, ..OffloadStatistics::default() });
    same(array, mirror, &OffloadLog { limit: 10, ..OffloadLog::default() });
    same(array, mirror, &JobList);
    same(array, mirror, &EventList { since: None, filter: EventFilter::default(), limit: 100 });
    same(array, mirror, &AlertList);
    same(array, mirror, &HealthShow);
    same(array, mirror, &MetricsShow);
    same(array, mirror, &VolumeMetricsShow { active: false });
    same(array, mirror, &VolumeMetricsShow { active: true });
}

fn set(group: &str) -> HostGroupSet {
    HostGroupSet { group: group.to_owned(), name: None, add: Vec::new(), remove: Vec::new() }
}

/// Each change is in the mirror without any publication besides the one before its reply.
#[test]
fn a_reader_sees_each_change_that_was_answered() {
    let array = Array::new();
    array.create("v0");
    let mirror = block_on(array.control.mirror());
    let check = || everything_is_the_same(&array, &mirror);
    check();
    let v1 = array.create("v1").object.id;
    check();
    array.create_host("esx01", ESX01);
    array.run(HostGroupCreate { name: "c1".to_owned(), hosts: vec!["esx01".to_owned()] }).unwrap();
    check();
    array.grant("v0", None, Some(3)).unwrap();
    let group = Grantee::Group("c1".to_owned());
    array.run(AccessGrant { volume: "v1".to_owned(), grantee: group.clone(), lun: None }).unwrap();
    check();
    array.run(HostGroupSet { remove: vec!["esx01".to_owned()], ..set("c1") }).unwrap();
    array.run(HostSet { host: "esx01".to_owned(), name: Some("esx02".to_owned()), ..HostSet::default() }).unwrap();
    check();
    array.catalog.set_mapped(v1, 1 << 20);
    array.run(SnapshotCreate { volume: "v1".to_owned(), name: "monday".to_owned() }).unwrap();
    let clone = VolumeCreate { name: "v2".to_owned(), source: Some("v1@monday".to_owned()), ..VolumeCreate::default() };
    array.run(clone).unwrap();
    check();
    array.run(VolumeSet { volume: "v2".to_owned(), size_bytes: Some(2 << 30), ..VolumeSet::default() }).unwrap();
    array.run(VolumeSet { volume: "v2".to_owned(), name: Some("v3".to_owned()), ..VolumeSet::default() }).unwrap();
    array.run(PoolSet { pool: "p0".to_owned(), warn_percent: Some(1), ..PoolSet::default() }).unwrap();
    check();
    let s1 = array.run(ShareCreate::new("s1")).unwrap().view.object.id;
    array.catalog.set_mapped(s1, 1 << 20);
    let (share, grantee) = ("s1".to_owned(), ExportGrantee::Group("c1".to_owned()));
    let export = ExportGrant { share, grantee, read_only: true, squash: None, anonymous: None, privileged_port: false };
    array.run(export).unwrap();
    check();
    array.run(ShareSet { share: "s1".to_owned(), new_handles: true, ..ShareSet::default() }).unwrap();
    array.run(ExportRevoke { share: "s1".to_owned(), grantee: None }).unwrap();
    check();
    array.run(ShareDelete { share: "s1".to_owned(), with_snapshots: false, now: true }).unwrap();
    array.run(PortalSet { portal: "2".to_owned(), group: Some(7), force: true, ..PortalSet::default() }).unwrap();
    array.run(PortGroupSet { group: 7, state: Some(AccessState::Standby), ..PortGroupSet::default() }).unwrap();
    array.run(PoolScrub { pool: "p0".to_owned(), share_percent: None }).unwrap();
    run_jobs(&array.control);
    block_on(array.control.publish_facts());
    check();
    array.run(AccessRevoke { volume: "v1".to_owned(), from: Revoke::All }).unwrap();
    array.run(HostGroupDelete { group: "c1".to_owned() }).unwrap();
    array
        .run(VolumeDelete { volume: "v1".to_owned(), with_snapshots: true, now: true, ..VolumeDelete::default() })
        .unwrap();
    check();
}

#[test]
fn an_entry_of_the_offload_log_that_grew_is_published_again() {
    let array = Array::new();
    let volume = array.create("v1").object.id;
    array.live.refusals.replace((0..3).map(|sequence| super::offload::refusal(sequence, volume)).collect());
    let mirror = block_on(array.control.mirror());
    let log = OffloadLog { limit: 10, ..OffloadLog::default() };
    let counts = || {
        let entries = mirror.read(&log).unwrap();
        entries.iter().map(|view| (view.entry.sequence, view.entry.count)).collect::<Vec<_>>()
    };
    assert_eq!(counts(), [(0, 1), (1, 1), (2, 1)]);
    array.live.refusals.borrow_mut()[1].count = 7;
    array.live.refusals.borrow_mut().push(super::offload::refusal(3, volume));
    block_on(array.control.publish_facts());
    assert_eq!(counts(), [(0, 1), (1, 7), (2, 1), (3, 1)]);
    same(&array, &mirror, &log);
}

/// Activity of hosts reaches the mirror when it is published; unchanged facts are not sent again.
#[test]
fn what_hosts_do_is_published_when_it_changed() {
    let array = Array::new();
    let v1 = array.create("v1").object.id;
    array.live.reservations.borrow_mut().insert(v1.0, Reservations { conflicts: 3, ..Reservations::default() });
    let mirror = block_on(array.control.mirror());
    let sessions = || mirror.read(&SessionList::default()).unwrap().len();
    let mapped = || mirror.read(&VolumeShow { volume: "v1".to_owned() }).unwrap().object.mapped_bytes;
    array.log_in(7, ESX01);
    array.catalog.set_mapped(v1, 4096);
    array.live.stopped.replace(Some("the disk is gone".to_owned()));
    assert_eq!((sessions(), mapped()), (0, 0), "nothing is read behind the mirror's back");
    assert_eq!(mirror.read(&HealthShow).unwrap(), Health::Healthy);
    block_on(array.control.publish_facts());
    assert_eq!((sessions(), mapped()), (1, 4096));
    assert_eq!(mirror.read(&HealthShow).unwrap(), Health::Failed);
    array.live.sessions.borrow_mut().clear();
    array.live.stopped.take();
    block_on(array.control.publish_facts());
    assert_eq!(sessions(), 0);
    everything_is_the_same(&array, &mirror);
}

/// Units that hosts use again during a publication wait for the next one; publishing them at once
/// would never end on a busy array.
#[test]
fn a_publication_ends_although_hosts_go_on() {
    let array = Array::new();
    let mirror = block_on(array.control.mirror());
    // The double reports each of these units as used at every call.
    for number in 0..1024 {
        array.live.reservations.borrow_mut().insert(number, Reservations::default());
    }
    block_on(array.control.publish_facts());
    everything_is_the_same(&array, &mirror);
}

/// A count is repeated only if something has changed.
#[test]
fn counts_are_made_when_they_are_wanted_and_something_changed() {
    let array = Array::new();
    let v1 = array.create("v1").object.id;
    let mirror = block_on(array.control.mirror());
    let show = VolumeShow { volume: "v1".to_owned() };
    let unique = || mirror.read(&show).unwrap().unique_bytes;
    let (wanted, is_missing) = mirror.stale_counts(&show).unwrap();
    assert_eq!((wanted.as_slice(), is_missing), ([vec![v1]].as_slice(), true), "not counted since the mirror is there");
    block_on(array.control.recount(wanted.clone()));
    assert_eq!((unique(), mirror.stale_counts(&show).unwrap()), (Some(0), (Vec::new(), false)));
    array.catalog.damaged.borrow_mut().insert(v1.0);
    block_on(array.control.recount(wanted.clone()));
    assert_eq!(unique(), Some(0), "nothing changed, so nothing was walked");
    array.catalog.set_mapped(v1, 8192);
    block_on(array.control.publish_facts());
    assert_eq!(mirror.stale_counts(&show).unwrap(), (wanted.clone(), false));
    block_on(array.control.recount(wanted.clone()));
    assert_eq!(unique(), None, "it cannot be counted");
    array.catalog.damaged.borrow_mut().clear();
    array.catalog.set_mapped(v1, 4096);
    block_on(array.control.recount(wanted));
    assert_eq!(unique(), Some(4096));
    block_on(array.control.recount([vec![ObjectId(99)]]));
    array.catalog.set_mapped(v1, 12288);
    array.catalog.counting.set(true);
    block_on(array.control.recount([vec![v1]]));
    assert_eq!(unique(), Some(4096), "the last one, as long as the count goes on");
    array.catalog.counting.set(false);
    assert_eq!(mirror.stale_counts(&show).unwrap(), (vec![vec![v1]], false), "it was not finished");
    block_on(array.control.recount([vec![v1]]));
    block_on(array.control.publish_facts());
    assert_eq!((unique(), mirror.stale_counts(&show).unwrap()), (Some(12288), (Vec::new(), false)));
}

/// The mirror reports the end of the array instead of answering from old facts.
#[test]
fn a_mirror_of_an_array_that_ended_does_not_answer() {
    let array = Array::new();
    let mirror = block_on(array.control.mirror());
    drop(array);
    assert_eq!(mirror.read(&VolumeList::default()).unwrap_err(), ControlError::NotRunning);
}
