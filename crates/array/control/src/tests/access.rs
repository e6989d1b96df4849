use super::{Array, ESX01};
use crate::*;

const ESX02: &str = "iqn.1998-01.com.vmware:esx02";

fn array() -> Array {
    let array = Array::new();
    for name in ["v1", "v2", "v3"] {
        array.create(name);
    }
    array.create_host("esx01", ESX01);
    array.create_host("esx02", ESX02);
    array.live.published.borrow_mut().clear();
    array
}

fn code(array: &Array, volume: &str, host: Option<&str>, lun: Option<u16>) -> &'static str {
    array.grant(volume, host, lun).unwrap_err().code()
}

#[test]
fn the_lowest_free_number_of_the_host_is_chosen() {
    let array = array();
    assert_eq!(array.grant("v1", Some("esx01"), None), Ok(0));
    assert_eq!(array.grant("v2", Some("esx01"), Some(2)), Ok(2));
    assert_eq!(array.grant("v3", Some("esx01"), None), Ok(1));
    assert_eq!(array.grant("v3", Some("esx02"), None), Ok(0));
    assert_eq!(code(&array, "v1", Some("esx02"), Some(16384)), "invalid-lun");
    assert_eq!(array.grant("v1", Some("esx02"), Some(16383)), Ok(16383));
}

#[test]
fn general_grants_and_host_grants_do_not_clash() {
    let array = array();
    array.grant("v1", Some("esx01"), Some(0)).unwrap();
    assert_eq!(code(&array, "v2", None, Some(0)), "lun-taken");
    assert_eq!(array.grant("v2", None, None), Ok(1));
    assert_eq!(code(&array, "v3", Some("esx02"), Some(1)), "lun-taken");
    assert_eq!(array.grant("v3", Some("esx02"), None), Ok(0));
    assert_eq!(code(&array, "v2", Some("esx01"), None), "already-granted");
    assert_eq!(code(&array, "v1", None, None), "already-granted");
}

#[test]
fn granting_twice_is_granting_once() {
    let array = array();
    assert_eq!(array.grant("v1", Some("esx01"), Some(5)), Ok(5));
    assert_eq!(array.grant("v1", Some("esx01"), None), Ok(5));
    assert_eq!(code(&array, "v1", Some("esx01"), Some(6)), "already-granted");
    assert_eq!(array.live.published.borrow().len(), 1);
}

#[test]
fn an_initiator_sees_its_grants_and_the_general_ones() {
    let array = array();
    array.grant("v1", Some("esx01"), None).unwrap();
    array.grant("v2", None, None).unwrap();
    let luns = |initiator: &str| -> Vec<u16> {
        array.control.directory().nexus(initiator).logical_units.iter().map(|unit: &LogicalUnit| unit.lun).collect()
    };
    assert_eq!(luns(&ESX01.to_ascii_uppercase()), [0, 1]);
    assert_eq!(luns(ESX02), [1]);
    assert_eq!(luns("iqn.2020-01.org.stranger:x"), [1]);
}

#[test]
fn revoking_publishes_each_grant() {
    let array = array();
    array.grant("v1", Some("esx01"), None).unwrap();
    array.grant("v1", Some("esx02"), None).unwrap();
    array.live.published.borrow_mut().clear();
    array.run(AccessRevoke { volume: "v1".to_owned(), from: Revoke::All }).unwrap();
    let published = array.live.published.borrow();
    assert_eq!(published.iter().filter(|change| matches!(change, Change::AccessRevoked { lun: 0, .. })).count(), 2);
    let from = Revoke::From(Grantee::Host("esx01".to_owned()));
    assert_eq!(array.code(AccessRevoke { volume: "v1".to_owned(), from }), "not-found");
}

#[test]
fn numbers_go_on_above_255() {
    let array = Array::new();
    for number in 0..=256 {
        array.create(&format!("v{number}"));
        assert_eq!(array.grant(&format!("v{number}"), None, None), Ok(number));
    }
}

#[test]
fn the_list_can_be_narrowed() {
    let array = array();
    array.grant("v1", Some("esx01"), None).unwrap();
    array.grant("v1", Some("esx02"), None).unwrap();
    array.grant("v2", None, None).unwrap();
    let count = |volume: Option<&str>, grantee: Option<Grantee>| {
        let list = array.run(AccessList { volume: volume.map(str::to_owned), grantee }).unwrap();
        list.len()
    };
    assert_eq!(count(None, None), 3);
    assert_eq!(count(Some("v1"), None), 2);
    assert_eq!(count(None, Some(Grantee::Any)), 1);
    assert_eq!(count(Some("v2"), Some(Grantee::Host("esx01".to_owned()))), 0);
}

#[test]
fn what_is_open_to_everybody_is_an_alert_for_information() {
    let array = Array::new();
    array.create("v1");
    array.create_host("esx01", ESX01);
    array.grant("v1", Some("esx01"), None).unwrap();
    assert_eq!(array.alerts(), [""; 0]);
    array.create("scratch");
    array.grant("scratch", None, None).unwrap();
    let alert = array.run(AlertList).unwrap().remove(0);
    assert_eq!((alert.code, alert.severity), ("open-access", Severity::Info));
    assert_eq!(alert.message, "every host may use volume scratch, known or not");
    array.run(AccessRevoke { volume: "scratch".to_owned(), from: Revoke::All }).unwrap();
    assert_eq!(array.alerts(), [""; 0]);
}
