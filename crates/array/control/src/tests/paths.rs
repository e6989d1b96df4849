//! Alerts for lost paths.

use super::*;
use std::time::Duration;

const NODE1: &str = "iqn.1998-01.com.vmware:esx01";
const NODE2: &str = "iqn.1998-01.com.vmware:esx02";

/// Looks after some seconds, and returns the messages about lost paths.
fn look_after(array: &Array, seconds: u64) -> Vec<String> {
    array.environment.pass(Duration::from_secs(seconds));
    block_on(array.control.look());
    let alerts = array.run(AlertList).unwrap().into_iter();
    alerts.filter(|alert| alert.code == "path-lost").map(|alert| alert.message).collect()
}

/// Sessions of an initiator through two portals.
fn log_in_twice(array: &Array, id: u64, initiator: &str) {
    array.log_in(id, initiator);
    array.log_in(id + 1, initiator);
    array.live.sessions.borrow_mut().last_mut().unwrap().portal = "192.0.2.11:3260".parse().unwrap();
}

/// The machines of a cluster are one host: the portal that one of them had lost was still there through another.
#[test]
fn a_path_that_one_machine_of_a_cluster_lost_is_an_alert() {
    let array = Array::new();
    array.create_host("cluster", NODE1);
    let both = HostSet {
        host: "cluster".to_owned(),
        name: None,
        iqns: Some(vec![NODE1.to_owned(), NODE2.to_owned()]),
        addresses: None,
        chap: None,
        policy: None,
    };
    array.run(both).unwrap();
    log_in_twice(&array, 1, NODE1);
    log_in_twice(&array, 3, NODE2);
    assert_eq!(look_after(&array, 0), [""; 0]);
    let drop_session = |id| array.live.sessions.borrow_mut().retain(|session| session.id != id);
    drop_session(4);
    assert_eq!(look_after(&array, 20), [""; 0]);
    let one = format!("host cluster has 1 of 2 paths from initiator {NODE2}");
    assert_eq!(look_after(&array, 70), [one.as_str()]);
    drop_session(1);
    look_after(&array, 20);
    let two =
        format!("host cluster has 1 of 2 paths from initiator {NODE1}, and 1 other initiator has fewer paths too");
    assert_eq!(look_after(&array, 70), [two.as_str()], "one alert for each host");
    // A machine that is off has lost nothing.
    drop_session(3);
    assert_eq!(look_after(&array, 20), [format!("host cluster has 1 of 2 paths from initiator {NODE1}")]);
}

#[test]
fn the_only_initiator_of_a_host_is_not_named() {
    let array = Array::new();
    array.create_host("esx01", NODE1);
    log_in_twice(&array, 1, NODE1);
    look_after(&array, 0);
    array.live.sessions.borrow_mut().pop();
    look_after(&array, 20);
    assert_eq!(look_after(&array, 70), ["host esx01 has 1 of 2 paths"]);
}
