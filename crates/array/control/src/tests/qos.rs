use super::{Array, ESX01};
use crate::*;
use ::qos::{HostId, PolicyId, Report};
use std::rc::Rc;
use std::time::Duration;
use uuid::Uuid;

fn create(name: &str, iops: u64) -> QosPolicyCreate {
    QosPolicyCreate { name: name.to_owned(), iops: Some(iops), ..QosPolicyCreate::default() }
}

fn attach(policy: &str, volumes: &[&str], hosts: &[&str]) -> QosAttach {
    let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    QosAttach { policy: policy.to_owned(), volumes: names(volumes), hosts: names(hosts) }
}

fn detach(volumes: &[&str], hosts: &[&str]) -> QosDetach {
    let QosAttach { volumes, hosts, .. } = attach("", volumes, hosts);
    QosDetach { volumes, hosts }
}

/// Array with two volumes, a host and two policies.
fn array() -> Array {
    let array = Array::new();
    array.create("v1");
    array.create("v2");
    array.create_host("esx01", ESX01);
    array.run(create("bronze", 2000)).unwrap();
    array.run(create("gold", 50_000)).unwrap();
    array
}

fn id(array: &Array, policy: &str) -> PolicyId {
    let view = array.run(QosPolicyShow { policy: policy.to_owned() }).unwrap();
    PolicyId(view.record.id.as_u64_pair().1)
}

fn volume_id(array: &Array, name: &str) -> VolumeId {
    VolumeId(array.run(VolumeShow { volume: name.to_owned() }).unwrap().record.object.0)
}

/// Policy of a volume in the running target.
fn live_policy(array: &Array, volume: VolumeId) -> Option<PolicyId> {
    array.live.limits.volumes.borrow().get(&volume).copied()
}

fn host_id(array: &Array) -> HostId {
    HostId::of_record(array.run(HostShow { host: "esx01".to_owned() }).unwrap().record.id.as_u128())
}

#[test]
fn limits_reach_the_running_target_with_each_change_and_at_each_start() {
    let array = array();
    let burst = Some(Burst { per_second: 10_000, seconds: 30 });
    let set = QosPolicySet {
        policy: "bronze".to_owned(),
        iops_burst: Some(burst),
        bytes_per_second: Some(Some(100 << 20)),
        weight: Some(300),
        shared: Some(true),
        ..QosPolicySet::default()
    };
    array.run(set).unwrap();
    array.run(attach("bronze", &["v1", "v2"], &["esx01"])).unwrap();
    array.run(attach("gold", &["v2"], &[])).unwrap();
    let told = |array: &Array| {
        let limits = &array.live.limits;
        (limits.policies.borrow().clone(), limits.volumes.borrow().clone(), limits.hosts.borrow().clone())
    };
    let (policies, volumes, hosts) = told(&array);
    let (bronze, gold) = (id(&array, "bronze"), id(&array, "gold"));
    let (limits, shared) = policies[&bronze];
    let operations = limits.operations.unwrap();
    let lasts = operations.burst.unwrap().lasts;
    assert_eq!((operations.per_second, lasts, limits.weight, shared), (2000, Duration::from_secs(30), 300, true));
    assert_eq!(limits.bytes.unwrap().per_second, 100 << 20);
    assert_eq!(volumes[&volume_id(&array, "v1")], bronze);
    assert_eq!(volumes[&volume_id(&array, "v2")], gold, "a volume has one policy");
    assert_eq!(hosts[&host_id(&array)], bronze);
    let again = Array::over(Rc::clone(&array.catalog)).unwrap();
    assert_eq!(told(&again), (policies, volumes, hosts));
    let view = again.run(QosPolicyShow { policy: "bronze".to_owned() }).unwrap();
    assert_eq!((view.volumes, view.hosts), (vec!["v1".to_owned()], vec!["esx01".to_owned()]));
    again.run(detach(&["v1", "v2"], &["esx01"])).unwrap();
    let (_, volumes, hosts) = told(&again);
    assert!(volumes.is_empty() && hosts.is_empty());
}

#[test]
fn documents_without_a_policy_are_those_of_older_releases() {
    let array = array();
    let has_policy = |array: &Array| {
        let documents = array.documents("volume/").into_iter().chain(array.documents("host/"));
        documents.filter(|(_, text)| text.contains("policy")).count()
    };
    assert_eq!(has_policy(&array), 0);
    array.run(attach("gold", &["v1"], &["esx01"])).unwrap();
    assert_eq!(has_policy(&array), 2);
    array.run(detach(&["v1"], &["esx01"])).unwrap();
    assert_eq!(has_policy(&array), 0);
}

#[test]
fn a_policy_in_use_is_deleted_by_force_only() {
    let array = array();
    array.run(attach("bronze", &["v1"], &["esx01"])).unwrap();
    let delete = |force| QosPolicyDelete { policy: "bronze".to_owned(), force };
    let error = array.run(delete(false)).unwrap_err();
    let users: Vec<(UserKind, &str)> = error.users().iter().map(|user| (user.kind, &*user.description)).collect();
    assert_eq!((error.code(), users), ("in-use", vec![(UserKind::Volume, "v1"), (UserKind::Host, "esx01")]));
    assert_eq!(array.run(DryRun(delete(false))).unwrap().problem.unwrap().code(), "in-use");
    assert_eq!(array.run(DryRun(delete(true))).unwrap().warnings[0].code, "limits-end");
    let (bronze, volume) = (id(&array, "bronze"), volume_id(&array, "v1"));
    array.run(delete(true)).unwrap();
    assert_eq!((live_policy(&array, volume), array.live.limits.hosts.borrow().len()), (None, 0));
    assert!(!array.live.limits.policies.borrow().contains_key(&bronze));
    let again = Array::over(Rc::clone(&array.catalog)).unwrap();
    assert!(again.run(VolumeShow { volume: "v1".to_owned() }).unwrap().limited.is_none());
    assert!(again.run(HostShow { host: "esx01".to_owned() }).unwrap().limited.is_none());
}

#[test]
fn the_trash_gives_a_volume_its_policy_again_if_there_still_is_one() {
    let array = array();
    array.run(attach("bronze", &["v1", "v2"], &[])).unwrap();
    let (bronze, v1, v2) = (id(&array, "bronze"), volume_id(&array, "v1"), volume_id(&array, "v2"));
    let delete = |name: &str| VolumeDelete { volume: name.to_owned(), ..VolumeDelete::default() };
    let restore = |name: &str| TrashRestore { item: name.to_owned(), ..TrashRestore::default() };
    array.run(delete("v1")).unwrap();
    assert_eq!(live_policy(&array, v1), None);
    let view = array.run(QosPolicyShow { policy: "bronze".to_owned() }).unwrap();
    assert_eq!(view.volumes, ["v2"], "what is in the trash does not use it");
    array.run(restore("v1")).unwrap();
    assert_eq!(live_policy(&array, v1), Some(bronze));
    array.run(delete("v1")).unwrap();
    array.run(delete("v2")).unwrap();
    array.run(QosPolicyDelete { policy: "bronze".to_owned(), force: false }).unwrap();
    let again = Array::over(Rc::clone(&array.catalog)).unwrap();
    again.run(restore("v2")).unwrap();
    assert_eq!(live_policy(&again, v2), None);
    Array::over(Rc::clone(&again.catalog)).unwrap();
}

#[test]
fn a_clone_does_not_inherit_and_a_change_of_a_volume_or_host_names_its_policy() {
    let array = array();
    let set = |policy: Option<&str>| VolumeSet {
        volume: "v1".to_owned(),
        policy: Some(policy.map(str::to_owned)),
        ..VolumeSet::default()
    };
    let view = array.run(set(Some("gold"))).unwrap();
    assert_eq!(view.limited.unwrap().policy, "gold");
    let clone = VolumeCreate { name: "c1".to_owned(), source: Some("v1".to_owned()), ..VolumeCreate::default() };
    assert!(array.run(clone).unwrap().view.limited.is_none());
    let host = HostSet { host: "esx01".to_owned(), policy: Some(Some("gold".to_owned())), ..HostSet::default() };
    assert_eq!(array.run(host).unwrap().limited.unwrap().policy, "gold");
    assert_eq!(array.live.limits.hosts.borrow().len(), 1);
    assert_eq!(array.code(set(Some("silver"))), "not-found");
    assert!(array.run(set(None)).unwrap().limited.is_none());
    array.run(HostDelete { host: "esx01".to_owned() }).unwrap();
    assert!(array.live.limits.hosts.borrow().is_empty());
}

#[test]
fn wrong_limits_are_refused_with_their_field() {
    let array = array();
    let burst = |per_second, seconds| Some(Burst { per_second, seconds });
    let own = QosPolicyCreate { name: "p".to_owned(), ..QosPolicyCreate::default() };
    for (create, field) in [
        (QosPolicyCreate { iops: Some(99), ..own.clone() }, Some("iops")),
        (QosPolicyCreate { iops: Some(100), iops_burst: burst(100, 1), ..own.clone() }, Some("iops_burst")),
        (QosPolicyCreate { iops: Some(100), iops_burst: burst(200, 0), ..own.clone() }, Some("iops_burst")),
        (QosPolicyCreate { iops_burst: burst(200, 1), ..own.clone() }, Some("iops_burst")),
        (QosPolicyCreate { bytes_per_second: Some(1), ..own.clone() }, Some("bytes_per_second")),
        (
            QosPolicyCreate { bytes_per_second: Some(1 << 20), bytes_burst: burst(1 << 21, 3601), ..own.clone() },
            Some("bytes_burst"),
        ),
        (QosPolicyCreate { weight: Some(9), ..own.clone() }, Some("weight")),
        (own.clone(), None),
    ] {
        let error = array.run(create.clone()).unwrap_err();
        let parameters = error.parameters();
        let named = parameters.iter().find(|(name, _)| *name == "field").map(|(_, value)| value.as_str());
        assert_eq!((error.code(), named), ("invalid-limits", field), "{create:?}");
    }
    assert_eq!(array.code(QosPolicyCreate { name: "detach".to_owned(), ..create("x", 100) }), "invalid-name");
    assert_eq!(array.code(attach("bronze", &[], &[])), "invalid-setting");
    assert_eq!(array.code(attach("bronze", &["v1", "v9"], &[])), "not-found");
    assert!(array.live.limits.volumes.borrow().is_empty(), "all or none");
    let set = |change: QosPolicySet| QosPolicySet { policy: "bronze".to_owned(), ..change };
    assert_eq!(array.code(set(QosPolicySet { iops: Some(None), ..QosPolicySet::default() })), "invalid-limits");
    let both = QosPolicySet { bytes_per_second: Some(Some(1 << 20)), iops: Some(None), ..QosPolicySet::default() };
    assert_eq!(array.run(set(both)).unwrap().record.iops, None);
    assert!(!array.run(create("gold", 50_000)).unwrap().changed);
    assert_eq!(array.code(create("gold", 50_001)), "exists");
    let renamed = set(QosPolicySet { name: Some("gold".to_owned()), ..QosPolicySet::default() });
    assert_eq!(array.code(renamed), "exists");
}

#[test]
fn a_document_with_an_unknown_policy_is_refused() {
    let array = array();
    array.run(attach("gold", &["v1"], &[])).unwrap();
    let (key, _) = array.documents("qos-policy/").pop().unwrap();
    let gone = pool::CatalogChange::DeleteDocument { key };
    futures_executor::block_on(pool::Catalog::commit(&*array.catalog, vec![gone])).unwrap();
    assert_eq!(Array::over(Rc::clone(&array.catalog)).err().unwrap().code(), "damaged");
}

#[test]
fn a_policy_has_a_tag_that_an_attachment_leaves_alone() {
    let array = array();
    let show = || Tagged(QosPolicyShow { policy: "gold".to_owned() });
    let (_, tag) = array.run(show()).unwrap();
    array.run(attach("gold", &["v1"], &[])).unwrap();
    assert_eq!(array.run(show()).unwrap().1, tag);
    let set = |tag: &str| Guarded {
        request: QosPolicySet { policy: "gold".to_owned(), iops: Some(Some(60_000)), ..QosPolicySet::default() },
        tags: Some(vec![tag.to_owned()]),
    };
    array.run(set(&tag)).unwrap();
    assert_eq!(array.code(set(&tag)), "changed-meanwhile");
}

fn held(commands: u64, oldest_seconds: u64) -> Held {
    Held {
        commands,
        time: Duration::from_secs(commands),
        oldest: Duration::from_secs(oldest_seconds),
        ..Held::default()
    }
}

fn report(array: &Array, volumes: &[(VolumeId, Held)], host: Option<Held>) {
    let hosts = host.map(|held| (host_id(array), held)).into_iter().collect();
    *array.live.limits.report.borrow_mut() = Report { volumes: volumes.iter().copied().collect(), hosts };
}

#[test]
fn what_waits_for_long_is_an_alert_until_it_does_not() {
    let array = array();
    array.run(attach("bronze", &["v1"], &["esx01"])).unwrap();
    let v1 = volume_id(&array, "v1");
    let look = |array: &Array| {
        futures_executor::block_on(array.control.look());
        let alerts = array.run(AlertList).unwrap();
        alerts.into_iter().filter(|alert| alert.code == "qos-slow").collect::<Vec<_>>()
    };
    report(&array, &[(v1, held(1, 5))], None);
    assert!(look(&array).is_empty());
    report(&array, &[(v1, held(1, 6))], Some(held(1, 9)));
    let alerts = look(&array);
    let subjects: Vec<&str> = alerts.iter().map(|alert| alert.subject.as_str()).collect();
    assert_eq!(subjects, ["host esx01", "v1"]);
    assert!(alerts[1].message.contains("bronze"), "{}", alerts[1].message);
    report(&array, &[(v1, held(1, 7))], None);
    let later = look(&array);
    assert_eq!((later.len(), later[0].since), (1, alerts[1].since), "it lasts since the first look");
    array.run(detach(&["v1"], &[])).unwrap();
    assert!(look(&array).is_empty());
}

#[test]
fn counts_of_all_volumes_never_fall() {
    let array = array();
    let mirror = futures_executor::block_on(array.control.mirror());
    array.run(attach("bronze", &["v1", "v2"], &["esx01"])).unwrap();
    let (v1, v2) = (volume_id(&array, "v1"), volume_id(&array, "v2"));
    let totals = |array: &Array| {
        futures_executor::block_on(array.control.publish_facts());
        let held = mirror.read(&MetricsShow).unwrap().totals.held;
        (held.commands, held.time.as_secs())
    };
    report(&array, &[(v1, held(10, 0)), (v2, held(5, 0))], Some(held(4, 0)));
    assert_eq!(totals(&array), (19, 19));
    let view = mirror.read(&QosPolicyShow { policy: "bronze".to_owned() }).unwrap();
    assert_eq!((view.held.commands, view.held.time.as_secs()), (19, 19), "of volumes and of hosts");
    let metrics = mirror.read(&VolumeMetricsShow { active: false }).unwrap();
    let of_volumes: Vec<_> = metrics.volumes.iter().map(|volume| volume.held.map(|held| held.commands)).collect();
    assert_eq!(of_volumes, [Some(10), Some(5)]);
    array.run(detach(&["v1"], &[])).unwrap();
    report(&array, &[(v2, held(6, 0))], None);
    assert_eq!(totals(&array), (20, 20), "the host has nothing any more");
    report(&array, &[(v1, held(1, 0)), (v2, held(6, 0))], None);
    assert_eq!(totals(&array), (21, 21));
}

#[test]
fn changes_are_events_and_policies_are_found() {
    let array = array();
    array.run(attach("bronze", &["v1"], &["esx01"])).unwrap();
    array.run(detach(&["v1"], &["esx01"])).unwrap();
    array.run(detach(&["v1"], &[])).unwrap();
    array.run(QosPolicyDelete { policy: "bronze".to_owned(), force: false }).unwrap();
    let all = array.run(EventList { since: None, filter: EventFilter::default(), limit: 100 }).unwrap();
    let of_policies = all.iter().filter(|event| event.code.starts_with("qos-"));
    let codes: Vec<&str> = of_policies.map(|event| event.code.as_str()).collect();
    let (created, detached) = ("qos-policy-created", "qos-policy-detached");
    assert_eq!(codes, [created, created, "qos-policy-attached", detached, "qos-policy-deleted"]);
    for event in &all {
        assert!(explain::entry(explain::Kind::Event, &event.code).is_some(), "{}", event.code);
    }
    let found = array.run(Search { text: "GOL".to_owned() }).unwrap();
    assert_eq!((found[0].kind, found[0].name.as_str()), ("qos-policy", "gold"));
    let list = array.run(QosPolicyList).unwrap();
    assert_eq!(list.iter().map(|view| view.record.id).collect::<Vec<Uuid>>().len(), 1);
}
