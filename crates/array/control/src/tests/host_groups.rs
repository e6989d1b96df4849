use super::{Array, ESX01};
use crate::*;

const ESX02: &str = "iqn.1998-01.com.vmware:esx02";

/// Array with two hosts, three volumes, and a group of the first host.
fn array() -> Array {
    let array = Array::new();
    for name in ["v1", "v2", "v3"] {
        array.create(name);
    }
    array.create_host("esx01", ESX01);
    array.create_host("esx02", ESX02);
    array.run(HostGroupCreate { name: "c1".to_owned(), hosts: vec!["esx01".to_owned()] }).unwrap();
    array
}

fn grant(array: &Array, volume: &str, lun: Option<u16>) -> Result<u16, ControlError> {
    let grantee = Grantee::Group("c1".to_owned());
    array.run(AccessGrant { volume: volume.to_owned(), grantee, lun }).map(|outcome| outcome.view.record.lun)
}

fn set(add: &[&str], remove: &[&str]) -> HostGroupSet {
    let names = |hosts: &[&str]| hosts.iter().map(|&host| host.to_owned()).collect();
    HostGroupSet { group: "c1".to_owned(), name: None, add: names(add), remove: names(remove) }
}

fn luns(array: &Array, initiator: &str) -> Vec<u16> {
    array.control.directory().nexus(initiator).logical_units.iter().map(|unit| unit.lun).collect()
}

#[test]
fn every_member_sees_the_group_s_volumes_as_the_same_numbers() {
    let array = array();
    array.grant("v3", Some("esx01"), Some(0)).unwrap();
    assert_eq!(grant(&array, "v1", None), Ok(1), "0 is taken for a member");
    assert_eq!(grant(&array, "v2", Some(7)), Ok(7));
    assert_eq!((luns(&array, ESX01), luns(&array, ESX02)), (vec![0, 1, 7], vec![]));
    array.live.published.borrow_mut().clear();
    let view = array.run(set(&["esx02"], &[])).unwrap();
    assert_eq!((view.hosts, luns(&array, ESX02)), (vec!["esx01".to_owned(), "esx02".to_owned()], vec![1, 7]));
    assert_eq!(array.live.published.borrow().as_slice(), [Change::HostGroupChanged { group: view.record.id }]);
    let (reached, to_esx01) = {
        let directory = array.control.directory();
        let objects: Vec<_> = directory.volumes().map(|volume| volume.object).collect();
        let grants = |object: &pool::ObjectId| directory.grants_of(*object);
        (
            objects.iter().map(|object| grants(object).len()).sum::<usize>(),
            grants(&objects[0]).get(&Some(ESX01.into())).copied(),
        )
    };
    assert_eq!((reached, to_esx01), (5, Some(1)));
    array.run(set(&[], &["esx01"])).unwrap();
    assert_eq!((luns(&array, ESX01), luns(&array, ESX02)), (vec![0], vec![1, 7]));
}

#[test]
fn what_a_member_sees_by_itself_is_in_the_way() {
    let array = array();
    array.grant("v1", Some("esx01"), Some(3)).unwrap();
    array.grant("v2", Some("esx02"), Some(4)).unwrap();
    let error = grant(&array, "v3", Some(3)).unwrap_err();
    assert_eq!(error.to_string(), "LUN 3 is taken by volume v1 for host esx01");
    assert_eq!(grant(&array, "v1", None).unwrap_err().code(), "already-granted");
    assert_eq!(grant(&array, "v3", Some(4)), Ok(4));
    let error = array.run(set(&["esx02"], &[])).unwrap_err();
    assert_eq!((error.code(), error.to_string().as_str()), ("lun-taken", "LUN 4 is taken by volume v2 for host esx02"));
    assert_eq!(luns(&array, ESX02), [4], "nothing was changed");
    assert_eq!(array.grant("v2", Some("esx01"), Some(4)).unwrap_err().code(), "lun-taken");
    assert_eq!(array.grant("v3", Some("esx01"), None).unwrap_err().code(), "already-granted");
    assert_eq!(array.grant("v3", None, None).unwrap_err().code(), "already-granted");
}

#[test]
fn a_host_in_two_groups_sees_no_number_twice() {
    let array = array();
    grant(&array, "v1", Some(0)).unwrap();
    array.run(HostGroupCreate { name: "c2".to_owned(), hosts: vec!["esx01".to_owned()] }).unwrap();
    let other = |lun| AccessGrant { volume: "v2".to_owned(), grantee: Grantee::Group("c2".to_owned()), lun };
    assert_eq!(array.code(other(Some(0))), "lun-taken");
    assert_eq!(array.run(other(None)).unwrap().view.record.lun, 1);
}

#[test]
fn revoking_and_deleting_follow_the_group() {
    let array = array();
    grant(&array, "v1", None).unwrap();
    let delete = || HostGroupDelete { group: "c1".to_owned() };
    let error = array.run(delete()).unwrap_err();
    assert_eq!((error.code(), error.users()[0].description.as_str()), ("in-use", "volume v1, LUN 0"));
    let error = array.run(HostDelete { host: "esx01".to_owned() }).unwrap_err();
    assert_eq!((error.code(), error.users()[0].kind), ("in-use", UserKind::HostGroup));
    assert_eq!(array.code(VolumeDelete { volume: "v1".to_owned(), now: true, ..VolumeDelete::default() }), "in-use");
    let from = Revoke::From(Grantee::Group("c1".to_owned()));
    array.run(AccessRevoke { volume: "v1".to_owned(), from }).unwrap();
    assert!(luns(&array, ESX01).is_empty());
    array.run(delete()).unwrap();
    array.run(HostDelete { host: "esx01".to_owned() }).unwrap();
    assert_eq!(array.code(HostGroupShow { group: "c1".to_owned() }), "not-found");
}

#[test]
fn a_group_is_there_again_after_a_restart() {
    let array = array();
    grant(&array, "v1", Some(5)).unwrap();
    array.run(set(&["esx02"], &[])).unwrap();
    let again = Array::over(array.catalog.clone()).unwrap();
    assert_eq!((luns(&again, ESX01), luns(&again, ESX02)), (vec![5], vec![5]));
    let shown = again.run(HostGroupList).unwrap();
    assert_eq!((shown[0].hosts.len(), shown[0].luns[0].lun), (2, 5));
}

#[test]
fn a_group_is_created_once() {
    let array = array();
    let create = |hosts: &[&str]| {
        let hosts = hosts.iter().map(|&host| host.to_owned()).collect();
        HostGroupCreate { name: "c1".to_owned(), hosts }
    };
    assert!(!array.run(create(&["esx01"])).unwrap().changed);
    assert_eq!(array.code(create(&["esx02"])), "exists");
    assert_eq!(array.code(create(&["esx09"])), "not-found");
    assert_eq!(array.code(set(&["esx02"], &["esx02"])), "invalid-setting");
    assert_eq!(array.code(HostGroupSet { name: Some("a b".to_owned()), ..set(&[], &[]) }), "invalid-name");
}
