use super::{Array, ESX01};
use crate::*;
use std::net::IpAddr;

fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn network(text: &str) -> ExportGrantee {
    ExportGrantee::Network(text.parse().unwrap())
}

fn named(host: &str) -> ExportGrantee {
    ExportGrantee::Host(host.to_owned())
}

fn grouped(group: &str) -> ExportGrantee {
    ExportGrantee::Group(group.to_owned())
}

fn to(grantee: ExportGrantee) -> ExportGrant {
    let share = "vms".to_owned();
    ExportGrant { share, grantee, read_only: false, squash: None, anonymous: None, privileged_port: false }
}

fn host(name: &str, addresses: &[&str]) -> HostCreate {
    let addresses = addresses.iter().map(|text| address(text)).collect();
    HostCreate { name: name.to_owned(), addresses, ..HostCreate::default() }
}

/// Share `vms`, hosts h1 and h2, and group g with both.
fn array() -> Array {
    let array = Array::new();
    array.run(ShareCreate::new("vms")).unwrap();
    array.run(host("h1", &["10.0.0.1", "fd00::1"])).unwrap();
    array.run(host("h2", &["10.0.0.2"])).unwrap();
    array.run(HostGroupCreate { name: "g".to_owned(), hosts: vec!["h1".to_owned(), "h2".to_owned()] }).unwrap();
    array.live.published.borrow_mut().clear();
    array
}

fn rules(array: &Array) -> Vec<ExportRule> {
    let directory = array.control.directory();
    let share = directory.shares().next().unwrap().id;
    directory.exports_of(share)
}

/// Changes since the last call that are about the share's rules.
fn told(array: &Array) -> usize {
    let object = array.control.directory().shares().next().unwrap().object;
    let published = array.live.published.take();
    published.iter().filter(|change| **change == Change::ExportsChanged { object }).count()
}

#[test]
fn a_rule_has_addresses_and_defaults_by_its_hosts() {
    let array = array();
    for grantee in [named("h1"), grouped("g"), network("10.0.0.0/24"), ExportGrantee::Any] {
        assert!(array.run(to(grantee)).unwrap().changed);
    }
    assert_eq!(told(&array), 4);
    let (one, two) = (vec![address("10.0.0.1"), address("fd00::1")], address("10.0.0.2"));
    let mut all = one.clone();
    all.push(two);
    let expected = [
        (ExportHosts::Host(one), Squash::None),
        (ExportHosts::Group(all), Squash::None),
        (ExportHosts::Network { address: address("10.0.0.0"), prefix_bits: 24 }, Squash::Root),
        (ExportHosts::Any, Squash::Root),
    ];
    let expected = expected.map(|(hosts, squash)| ExportRule {
        hosts,
        squash,
        read_only: false,
        anonymous: (65534, 65534),
        privileged_port: false,
    });
    assert_eq!(rules(&array), expected);
}

#[test]
fn a_grant_sets_the_whole_rule() {
    let array = array();
    let strict = ExportGrant {
        read_only: true,
        squash: Some(Squash::All),
        anonymous: Some((1, 2)),
        privileged_port: true,
        ..to(named("h1"))
    };
    let first = array.run(strict.clone()).unwrap().view.record;
    assert!(!array.run(strict).unwrap().changed);
    assert_eq!(told(&array), 1);
    let rule = rules(&array).remove(0);
    assert_eq!((rule.read_only, rule.squash, rule.anonymous), (true, Squash::All, (1, 2)));
    assert!(rule.privileged_port);
    let again = array.run(to(named("h1"))).unwrap();
    assert!(again.changed && again.view.record.created == first.created);
    assert_eq!((rules(&array).len(), rules(&array)[0].read_only), (1, false));
    assert_eq!(told(&array), 1);
}

#[test]
fn revoking_ends_one_rule_or_all() {
    let array = array();
    for grantee in [named("h1"), network("10.0.0.0/8"), network("10.0.0.0/24")] {
        array.run(to(grantee)).unwrap();
    }
    told(&array);
    let revoke = |grantee| ExportRevoke { share: "vms".to_owned(), grantee };
    array.run(revoke(Some(network("10.0.0.0/8")))).unwrap();
    assert_eq!((rules(&array).len(), told(&array)), (2, 1));
    assert_eq!(array.code(revoke(Some(network("10.0.0.0/8")))), "not-found");
    array.run(revoke(None)).unwrap();
    assert_eq!((rules(&array).len(), told(&array)), (0, 1));
    array.run(revoke(None)).unwrap();
    assert_eq!(told(&array), 0);
    assert_eq!(array.documents("export/").len(), 0);
}

#[test]
fn rules_follow_the_addresses_of_hosts_and_the_members_of_groups() {
    let array = array();
    array.run(to(grouped("g"))).unwrap();
    told(&array);
    let set = |addresses: &[&str]| HostSet {
        host: "h2".to_owned(),
        addresses: Some(addresses.iter().map(|text| address(text)).collect()),
        ..HostSet::default()
    };
    array.run(set(&["10.0.0.3"])).unwrap();
    assert_eq!(told(&array), 1);
    let hosts = |array: &Array| rules(array).remove(0).hosts;
    assert_eq!(hosts(&array), ExportHosts::Group(["10.0.0.1", "fd00::1", "10.0.0.3"].map(address).to_vec()));
    array.run(set(&["10.0.0.3"])).unwrap();
    assert_eq!(told(&array), 0);
    let leave = HostGroupSet { group: "g".to_owned(), remove: vec!["h1".to_owned()], ..HostGroupSet::default() };
    array.run(leave).unwrap();
    assert_eq!(told(&array), 1);
    assert_eq!(hosts(&array), ExportHosts::Group(vec![address("10.0.0.3")]));
}

#[test]
fn hosts_and_groups_of_rules_stay() {
    let array = array();
    array.run(to(named("h1"))).unwrap();
    array.run(to(grouped("g"))).unwrap();
    let error = array.run(HostGroupDelete { group: "g".to_owned() }).unwrap_err();
    assert_eq!(error.users().iter().map(|user| user.description.as_str()).collect::<Vec<_>>(), ["share vms"]);
    array.run(ExportRevoke { share: "vms".to_owned(), grantee: Some(grouped("g")) }).unwrap();
    array.run(HostGroupDelete { group: "g".to_owned() }).unwrap();
    let error = array.run(HostDelete { host: "h1".to_owned() }).unwrap_err();
    assert_eq!((error.code(), error.users().len()), ("in-use", 1));
    array.run(ExportRevoke { share: "vms".to_owned(), grantee: None }).unwrap();
    array.run(HostDelete { host: "h1".to_owned() }).unwrap();
}

#[test]
fn a_list_has_the_most_exact_rules_first() {
    let array = array();
    for grantee in [ExportGrantee::Any, network("10.0.0.0/8"), network("10.1.0.0/16"), grouped("g"), named("h1")] {
        array.run(to(grantee)).unwrap();
    }
    let words =
        |list: ExportList| -> Vec<String> { array.run(list).unwrap().iter().map(|view| view.grantee.word()).collect() };
    assert_eq!(words(ExportList::default()), ["h1", "group:g", "10.1.0.0/16", "10.0.0.0/8", "any"]);
    let one = ExportList { share: Some("vms".to_owned()), grantee: Some(network("10.0.0.0/8")) };
    assert_eq!(words(one), ["10.0.0.0/8"]);
    assert_eq!(array.code(ExportList { share: Some("v9".to_owned()), grantee: None }), "not-found");
    let view = array.run(ShareShow { share: "vms".to_owned() }).unwrap();
    assert_eq!(view.exports, array.run(ExportList::default()).unwrap());
}

#[test]
fn rules_are_there_again_after_a_restart() {
    let array = array();
    for grantee in [named("h1"), network("fd00::/64"), ExportGrantee::Any] {
        array.run(to(grantee)).unwrap();
    }
    let before = rules(&array);
    assert_eq!(rules(&Array::over(array.catalog.clone()).unwrap()), before);
}

#[test]
fn a_rule_about_a_missing_host_is_damage() {
    let array = array();
    array.run(to(named("h1"))).unwrap();
    let (key, value) = array.documents("export/").remove(0);
    let id = array.control.directory().host("h1").unwrap().id.to_string();
    let other = "00000000-0000-4000-8000-000000000002";
    array.catalog.put_document(&key.replace(&id, other), &value.replace(&id, other));
    let error = Array::over(array.catalog.clone()).err().unwrap();
    assert!(error.to_string().contains("about a share or a host that is not there"), "{error}");
}

/// A rule about a host that is known by its initiator names alone would have no effect.
#[test]
fn a_host_without_address_is_refused() {
    let array = array();
    array.create_host("esx01", ESX01);
    let error = array.run(to(named("esx01"))).unwrap_err();
    assert_eq!(error.to_string(), "host esx01 has no address, from which it could use a share");
    assert_eq!((rules(&array).len(), told(&array)), (0, 0));
    array.run(HostGroupCreate { name: "all".to_owned(), hosts: vec!["esx01".to_owned()] }).unwrap();
    array.run(to(grouped("all"))).unwrap();
    assert_eq!(rules(&array).remove(0).hosts, ExportHosts::Group(Vec::new()));
}

#[test]
fn an_address_belongs_to_one_host() {
    let array = array();
    assert_eq!(array.code(host("h3", &["10.0.0.1"])), "address-taken");
    assert_eq!(array.code(host("h3", &["::ffff:10.0.0.1"])), "address-taken");
    let own = HostSet { host: "h1".to_owned(), addresses: Some(vec![address("10.0.0.1")]), ..HostSet::default() };
    array.run(own).unwrap();
    array.run(host("h3", &["fd00::1"])).unwrap();
    for bad in ["0.0.0.0", "::", "255.255.255.255", "224.0.0.1", "ff02::1"] {
        assert_eq!(array.code(host("h4", &[bad])), "invalid-address", "{bad}");
    }
    let many: Vec<String> = (0..65).map(|number| format!("10.1.0.{number}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(array.code(host("h4", &many)), "invalid-address");
    array.run(host("h4", &many[..64])).unwrap();
}

#[test]
fn a_host_has_a_name_or_an_address() {
    let array = array();
    assert_eq!(array.code(host("h3", &[])), "host-unidentified");
    let bare = |iqns| HostSet { host: "h1".to_owned(), addresses: Some(Vec::new()), iqns, ..HostSet::default() };
    assert_eq!(array.code(bare(None)), "host-unidentified");
    array.run(bare(Some(vec![ESX01.to_owned()]))).unwrap();
    assert!(array.run(host("h2", &["10.0.0.2"])).is_ok_and(|outcome| !outcome.changed));
    assert_eq!(array.code(host("h2", &["10.0.0.9"])), "exists");
}
