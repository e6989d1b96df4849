//! Dry runs: each says what the change then does, and changes nothing.

use super::space::codes;
use super::{Array, ESX01};
use crate::*;
use futures_executor::block_on;
use futures_util::FutureExt;

const MIB: u64 = 1 << 20;

/// Everything that a change could change.
fn state(array: &Array) -> (Vec<(String, String)>, usize, Vec<String>, u64) {
    let space = pool::Catalog::space(&*array.catalog);
    (array.documents(""), array.live.published.borrow().len(), codes(array), space.used_bytes)
}

/// What a change would do, which its dry run says without a trace.
fn dry<R: Rehearsed + Clone>(array: &Array, request: &R) -> Effect {
    let before = state(array);
    let effect = array.run(DryRun(request.clone())).unwrap();
    assert_eq!(state(array), before, "a dry run of {} left a trace", R::NAME);
    effect
}

/// Compares a dry run with the change that follows: the same refusal, or the same bytes, if the change frees them
/// at once.
fn compare<R: Rehearsed + Clone>(array: &Array, request: &R, at_once: bool) -> Effect {
    let effect = dry(array, request);
    let used = || pool::Catalog::space(&*array.catalog).used_bytes;
    let before = used();
    let result = array.run(request.clone()).map(drop);
    assert_eq!(result.err(), effect.problem, "{}", R::NAME);
    if at_once && effect.problem.is_none() {
        assert_eq!(Some(before - used()), effect.frees_bytes, "{}", R::NAME);
    }
    effect
}

fn delete(name: &str) -> VolumeDelete {
    VolumeDelete { volume: name.to_owned(), ..VolumeDelete::default() }
}

fn warnings(effect: &Effect) -> Vec<&'static str> {
    effect.warnings.iter().map(|warning| warning.code).collect()
}

fn broken(effect: &Effect) -> Vec<(&'static str, &str)> {
    effect.breaks.iter().map(|broken| (broken.kind.name(), broken.name.as_str())).collect()
}

fn snapshot(array: &Array, source: &str, name: &str) -> SnapshotView {
    array.run(SnapshotCreate { volume: source.to_owned(), name: name.to_owned() }).unwrap()
}

/// A volume in use, with a snapshot that has a clone, and a schedule.
fn busy_volume(array: &Array) {
    let object = array.create("v1").object.id;
    array.catalog.set_mapped(object, 3 * MIB);
    array.create_host("esx01", ESX01);
    array.grant("v1", Some("esx01"), Some(7)).unwrap();
    array.log_in(1, ESX01);
    array.log_in(2, "iqn.2026-01.org.example:stranger");
    snapshot(array, "v1", "monday");
    let clone = VolumeCreate { name: "c1".to_owned(), source: Some("v1@monday".to_owned()), ..VolumeCreate::default() };
    array.run(clone).unwrap();
    let nightly = ScheduleCreate {
        name: "nightly".to_owned(),
        when: When::Daily { minute: 120 },
        zone: None,
        volumes: vec!["v1".to_owned()],
        label: None,
        keep: Keep::default(),
        keep_last: None,
        lock_seconds: None,
    };
    array.run(nightly).unwrap();
}

#[test]
fn a_deletion_names_what_it_breaks_and_is_refused_as_its_dry_run_says() {
    let array = Array::new();
    busy_volume(&array);
    let effect = compare(&array, &delete("v1"), false);
    assert_eq!(effect.problem.unwrap().code(), "in-use");
    let revoking = VolumeDelete { revoke: true, ..delete("v1") };
    assert_eq!(compare(&array, &revoking, false).problem.unwrap().code(), "has-snapshots");
    let effect = compare(&array, &VolumeDelete { with_snapshots: true, ..revoking }, false);
    let kinds: Vec<&str> = effect.breaks.iter().map(|broken| broken.kind.name()).collect();
    assert_eq!(kinds, ["snapshot", "schedule", "access", "session"], "{:?}", effect.breaks);
    assert_eq!(
        broken(&effect)[..3],
        [("snapshot", "v1@monday"), ("schedule", "nightly"), ("access", "host esx01, LUN 7")]
    );
    assert!(effect.breaks[3].name.starts_with(ESX01), "the session of a host without a grant loses nothing");
    assert_eq!(warnings(&effect), ["clones-stay", "kept-in-trash"]);
    // What the trash has is freed when it is emptied.
    let effect = compare(&array, &TrashEmpty::default(), false);
    assert_eq!(broken(&effect), [("volume", "v1"), ("snapshot", "v1@monday")]);
}

#[test]
fn bytes_are_those_that_the_change_frees() {
    let array = Array::new();
    for (name, mapped) in [("v1", 3 * MIB), ("v2", 5 * MIB), ("v3", 7 * MIB)] {
        let object = array.create(name).object.id;
        array.catalog.set_mapped(object, mapped);
    }
    let effect = compare(&array, &VolumeDelete { now: true, ..delete("v1") }, true);
    assert_eq!((effect.frees_bytes, warnings(&effect)), (Some(3 * MIB), vec!["not-restorable"]));
    let to_trash = compare(&array, &delete("v2"), false);
    assert_eq!(to_trash.frees_bytes, Some(5 * MIB));
    compare(&array, &delete("v3"), false);
    let one = TrashEmpty { item: Some("v2".to_owned()) };
    assert_eq!(compare(&array, &one, true).frees_bytes, to_trash.frees_bytes);
    assert_eq!(compare(&array, &TrashEmpty::default(), true).frees_bytes, Some(7 * MIB));
    assert_eq!(compare(&array, &TrashEmpty::default(), true).frees_bytes, Some(0));
    // A count that takes long is absent, and no wrong number.
    let object = array.create("v4").object.id;
    array.catalog.set_mapped(object, MIB);
    array.catalog.counting.set(true);
    assert_eq!(dry(&array, &delete("v4")).frees_bytes, None);
}

#[test]
fn a_roll_back_says_what_is_lost_and_who_has_old_content() {
    let array = Array::new();
    busy_volume(&array);
    let back = VolumeRollback { volume: "v1".to_owned(), snapshot: "monday".to_owned(), ..VolumeRollback::default() };
    assert_eq!(compare(&array, &back, false).problem.unwrap().code(), "in-use");
    let forced = VolumeRollback { force: true, ..back };
    let effect = dry(&array, &forced);
    assert_eq!((broken(&effect)[0].0, broken(&effect).len(), warnings(&effect)), ("session", 1, vec!["content-lost"]));
    let kept = VolumeRollback { keep: Some("before".to_owned()), ..forced.clone() };
    let effect = compare(&array, &kept, false);
    assert_eq!((effect.frees_bytes, warnings(&effect)), (Some(0), vec!["content-kept"]));
    // The name of the kept snapshot is taken now.
    assert_eq!(compare(&array, &kept, false).problem.unwrap().code(), "exists");
    let bad = VolumeRollback { keep: Some("a b".to_owned()), ..forced.clone() };
    assert_eq!(array.code(DryRun(bad)), "invalid-name");
    let grown = VolumeSet { volume: "v1".to_owned(), size_bytes: Some(2 << 30), ..VolumeSet::default() };
    array.run(grown).unwrap();
    assert_eq!(warnings(&compare(&array, &forced, false)), ["size-changed", "content-lost"]);

    array.run(ShareCreate::new("s1")).unwrap();
    snapshot(&array, "s1", "monday");
    let back = ShareRollback { share: "s1".to_owned(), snapshot: "monday".to_owned(), keep: None };
    assert_eq!(warnings(&dry(&array, &back)), ["content-lost"]);
    // The change may be refused for the quota, which the dry run does not know.
    let quota = ShareSet { share: "s1".to_owned(), quota_bytes: Some(Some(1 << 40)), ..ShareSet::default() };
    array.run(quota).unwrap();
    assert_eq!(warnings(&dry(&array, &back)), ["content-lost", "quota-not-checked"]);
}

/// A schedule may name its volumes by a label: a deletion takes them from it as well.
#[test]
fn a_deletion_names_schedules_that_have_the_volume_by_label() {
    let array = Array::new();
    let label = Label { key: "tier".to_owned(), value: "gold".to_owned() };
    let labels = [(label.key.clone(), label.value.clone())];
    for (name, labels) in [("v1", Some(labels)), ("v2", None)] {
        let labels = labels.into_iter().flatten().collect();
        let size_bytes = Some(1 << 30);
        array.run(VolumeCreate { name: name.to_owned(), size_bytes, labels, ..VolumeCreate::default() }).unwrap();
    }
    let nightly = ScheduleCreate {
        name: "nightly".to_owned(),
        when: When::Daily { minute: 120 },
        zone: None,
        volumes: Vec::new(),
        label: Some(label),
        keep: Keep::default(),
        keep_last: None,
        lock_seconds: None,
    };
    array.run(nightly).unwrap();
    assert_eq!(broken(&dry(&array, &delete("v1"))), [("schedule", "nightly")]);
    assert_eq!(broken(&dry(&array, &delete("v2"))), []);
}

#[test]
fn a_change_of_a_volume_says_what_cannot_be_undone() {
    let array = Array::new();
    array.create("v1");
    let set = |change: VolumeSet| VolumeSet { volume: "v1".to_owned(), ..change };
    let grow = |size_bytes| set(VolumeSet { size_bytes: Some(size_bytes), ..VolumeSet::default() });
    let size_bytes = array.run(VolumeShow { volume: "v1".to_owned() }).unwrap().object.size_bytes;
    // A volume does not shrink in any state: an error, as of the change.
    assert_eq!(array.code(DryRun(grow(size_bytes / 2))), array.code(grow(size_bytes / 2)));
    let cached = VolumeSet { write_cache: Some(true), ..grow(2 * size_bytes) };
    assert_eq!(warnings(&compare(&array, &cached, false)), ["size-changed", "write-cache-on"]);
    assert_eq!(dry(&array, &cached), Effect::default());
    let thick = |size_bytes| VolumeSet { reserve: Some(Reserve::Thick), ..grow(size_bytes) };
    assert_eq!(warnings(&dry(&array, &thick(1 << 47))), ["size-changed", "no-space-to-keep"]);
    array.run(thick(2 * size_bytes)).unwrap();
    let thin = set(VolumeSet { reserve: Some(Reserve::Thin), ..VolumeSet::default() });
    assert_eq!(warnings(&compare(&array, &thin, false)), ["promise-ends"]);
    let taken = set(VolumeSet { name: Some("v2".to_owned()), ..VolumeSet::default() });
    array.create("v2");
    assert_eq!(compare(&array, &taken, false).problem.unwrap().code(), "exists");
}

/// Regression: the dry run of a change of labels said nothing of the schedule whose label went with it.
#[test]
fn a_change_of_labels_names_the_schedules_that_it_concerns() {
    let array = Array::new();
    array.create("v1");
    let schedule = |name: &str, value: &str| ScheduleCreate {
        name: name.to_owned(),
        when: When::Daily { minute: 120 },
        zone: None,
        volumes: Vec::new(),
        label: Some(Label { key: "tier".to_owned(), value: value.to_owned() }),
        keep: Keep::default(),
        keep_last: None,
        lock_seconds: None,
    };
    array.run(schedule("nightly", "gold")).unwrap();
    array.run(schedule("weekly", "silver")).unwrap();
    let label = |value: Option<&str>| VolumeSet {
        volume: "v1".to_owned(),
        labels: [("tier".to_owned(), value.map(str::to_owned))].into(),
        ..VolumeSet::default()
    };
    let joined = compare(&array, &label(Some("gold")), false);
    assert!(
        joined.breaks.is_empty()
            && joined.warnings[0].message.contains("schedule nightly takes snapshots of volume v1")
    );
    assert_eq!(warnings(&joined), ["schedule-joined"]);
    assert_eq!(compare(&array, &label(Some("gold")), false), Effect::default());
    let moved = compare(&array, &label(Some("silver")), false);
    assert_eq!((broken(&moved), warnings(&moved)), (vec![("schedule", "nightly")], vec!["schedule-joined"]));
    let left = compare(&array, &label(None), false);
    assert_eq!((broken(&left), warnings(&left)), (vec![("schedule", "weekly")], vec![]));
    // A member by name stays one.
    let by_name = ScheduleCreate { volumes: vec!["v1".to_owned()], label: None, ..schedule("hourly", "") };
    array.run(by_name).unwrap();
    assert_eq!(compare(&array, &label(Some("bronze")), false), Effect::default());
}

/// Regression: a rule of a host took the right to write that the rule of all hosts gave, and its dry run said nothing.
#[test]
fn a_narrower_rule_names_the_clients_that_lose_rights() {
    let array = Array::new();
    open_share(&array);
    let [own, other] = ["192.0.2.7", "192.0.2.8"].map(|address| address.parse().unwrap());
    array.run(HostCreate { name: "pve1".to_owned(), addresses: vec![own], ..HostCreate::default() }).unwrap();
    let rule = |grantee: ExportGrantee, read_only| ExportGrant {
        share: "s1".to_owned(),
        grantee,
        read_only,
        squash: Some(Squash::Root),
        anonymous: None,
        privileged_port: false,
    };
    let host = || ExportGrantee::Host("pve1".to_owned());
    assert_eq!(dry(&array, &rule(host(), false)), Effect::default());
    // Without a connection of the host, the rule is named.
    let narrower = dry(&array, &rule(host(), true));
    assert_eq!((broken(&narrower), warnings(&narrower)), (vec![], vec!["narrower-rule"]));
    assert!(narrower.warnings[0].message.contains("that of any host, which gives rw"), "{narrower:?}");
    array.live.nfs.replace(Some(crate::memory::live::MemoryNfs {
        addresses: vec![own, other],
        ..crate::memory::live::MemoryNfs::default()
    }));
    let narrower = compare(&array, &rule(host(), true), false);
    assert_eq!(broken(&narrower), [("session", "192.0.2.7 (pve1), connected to some share")]);
    // The rule of any host is replaced: the host with a rule of its own notices nothing.
    let replaced = compare(&array, &rule(ExportGrantee::Any, true), false);
    assert_eq!(broken(&replaced), [("access", "any host"), ("session", "192.0.2.8, connected to some share")]);
    // It gets more than before.
    assert_eq!(compare(&array, &rule(host(), false), false), Effect::default());
}

/// Share s1, which every host may read and write.
fn open_share(array: &Array) {
    array.run(ShareCreate::new("s1")).unwrap();
    let grant = ExportGrant {
        share: "s1".to_owned(),
        grantee: ExportGrantee::Any,
        read_only: false,
        squash: None,
        anonymous: None,
        privileged_port: false,
    };
    array.run(grant).unwrap();
}

#[test]
fn a_change_of_a_share_names_the_hosts_that_notice() {
    let array = Array::new();
    open_share(&array);
    let object = array.run(ShareShow { share: "s1".to_owned() }).unwrap().object.id;
    array.catalog.set_mapped(object, 3 * MIB);
    let set = |change: ShareSet| ShareSet { share: "s1".to_owned(), ..change };
    let quota = |bytes| set(ShareSet { quota_bytes: Some(bytes), ..ShareSet::default() });
    assert_eq!(warnings(&dry(&array, &quota(Some(3 * MIB)))), ["quota-used-up"]);
    assert_eq!(compare(&array, &quota(Some(4 * MIB)), false), Effect::default());
    assert_eq!(compare(&array, &quota(None), false), Effect::default());
    let stale = set(ShareSet { new_handles: true, ..ShareSet::default() });
    assert_eq!(broken(&compare(&array, &stale, false)), [("access", "any host")]);
    let renamed = set(ShareSet { name: Some("s2".to_owned()), ..ShareSet::default() });
    assert_eq!(broken(&compare(&array, &renamed, false)), [("access", "any host")]);
    assert_eq!(array.code(DryRun(renamed)), "not-found");
}

#[test]
fn a_revocation_names_the_sessions_that_lose_the_volume() {
    let array = Array::new();
    busy_volume(&array);
    let revoke = |from| AccessRevoke { volume: "v1".to_owned(), from };
    let effect = compare(&array, &revoke(Revoke::From(Grantee::Host("esx01".to_owned()))), false);
    assert_eq!((broken(&effect)[0], effect.breaks.len()), (("access", "host esx01, LUN 7"), 2));
    assert_eq!(array.code(DryRun(revoke(Revoke::From(Grantee::Any)))), "not-found");
    array.grant("v1", None, None).unwrap();
    // An initiator of no host sees it too now.
    assert_eq!(compare(&array, &revoke(Revoke::All), false).breaks.len(), 3);
    assert_eq!(compare(&array, &revoke(Revoke::All), false), Effect::default());

    open_share(&array);
    let share = ShareDelete { share: "s1".to_owned(), with_snapshots: true, now: false };
    assert_eq!(compare(&array, &share, false).problem.unwrap().code(), "in-use");
    let effect = compare(&array, &ExportRevoke { share: "s1".to_owned(), grantee: None }, false);
    assert_eq!(broken(&effect), [("access", "any host")]);
    assert_eq!(compare(&array, &share, false).problem, None);
}

#[test]
fn hosts_groups_schedules_and_sessions_have_dry_runs() {
    let array = Array::new();
    busy_volume(&array);
    let host = HostDelete { host: "esx01".to_owned() };
    assert_eq!(compare(&array, &host, false).problem.unwrap().code(), "in-use");
    array.create_host("esx02", "iqn.2026-01.org.example:esx02");
    let hosts = vec!["esx02".to_owned()];
    array.run(HostGroupCreate { name: "g".to_owned(), hosts: hosts.clone() }).unwrap();
    array.create("v2");
    let grantee = Grantee::Group("g".to_owned());
    array.run(AccessGrant { volume: "v2".to_owned(), grantee: grantee.clone(), lun: Some(3) }).unwrap();
    let leave = HostGroupSet { group: "g".to_owned(), name: None, add: Vec::new(), remove: hosts };
    let effect = compare(&array, &leave, false);
    assert_eq!(
        (broken(&effect), effect.breaks[0].why.as_str()),
        (vec![("access", "host esx02")], "it loses volume v2, LUN 3")
    );
    let group = HostGroupDelete { group: "g".to_owned() };
    assert_eq!(compare(&array, &group, false).problem.unwrap().code(), "in-use");
    array.run(AccessRevoke { volume: "v2".to_owned(), from: Revoke::From(grantee) }).unwrap();
    assert_eq!(compare(&array, &group, false), Effect::default());
    assert_eq!(compare(&array, &HostDelete { host: "esx02".to_owned() }, false).breaks.len(), 1);
    array.run(ScheduleRun { schedule: "nightly".to_owned() }).unwrap();
    assert_eq!(dry(&array, &ScheduleDelete { schedule: "nightly".to_owned() }).problem, None);
    assert_eq!(dry(&array, &SessionDrop { id: 1 }).breaks.len(), 1);
    assert_eq!(array.code(DryRun(SessionDrop { id: 99 })), "not-found");
}

#[test]
fn a_reclaim_says_that_it_runs_already() {
    let array = Array::new();
    array.create("v1");
    let reclaim = VolumeReclaim { volume: "v1".to_owned(), share_percent: None };
    assert_eq!(warnings(&compare(&array, &reclaim, false)), ["not-known-before"]);
    assert_eq!(warnings(&dry(&array, &reclaim)), ["running-already"]);
    let all = PoolReclaim { pool: "p0".to_owned(), share_percent: None };
    assert_eq!(warnings(&compare(&array, &all, false)), ["not-known-before"]);
    assert_eq!(warnings(&dry(&array, &all)), ["running-already"]);
    assert_eq!(array.code(DryRun(PoolReclaim { pool: "p0".to_owned(), share_percent: Some(0) })), "invalid-setting");
}

/// A locked snapshot is refused by the dry run too, and a dry run checks the tag of its object.
#[test]
fn locks_and_tags_hold_for_dry_runs() {
    let array = Array::new();
    array.create("v1");
    snapshot(&array, "v1", "monday");
    let until = Environment::now(&*array.environment) + jiff::SignedDuration::from_hours(1);
    array.run(SnapshotLock { snapshot: "v1@monday".to_owned(), until }).unwrap();
    let delete = SnapshotDelete { snapshot: "v1@monday".to_owned(), now: false };
    assert_eq!(compare(&array, &delete, false).problem.unwrap().code(), "locked");
    let guarded = Guarded { request: DryRun(delete.clone()), tags: Some(vec!["other".to_owned()]) };
    assert_eq!(array.code(guarded), "changed-meanwhile");
    // It waits for a change in progress, as the change itself does.
    let held = block_on(array.control.lock_changes());
    let mut waiting = Box::pin(array.control.execute(DryRun(delete)));
    assert!(waiting.as_mut().now_or_never().is_none());
    drop(held);
    assert!(block_on(waiting).is_ok());
}
