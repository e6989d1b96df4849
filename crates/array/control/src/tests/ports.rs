//! Portals and target port groups.

use super::*;
use crate::{AccessState, Change, PortGroupSet, PortGroupView, PortalSet, PortalView, RedirectRecord, StateOrigin};
use pool::PoolError;

fn portals(array: &Array) -> Vec<PortalView> {
    array.run(PortalList).unwrap()
}

fn groups(array: &Array) -> Vec<PortGroupView> {
    array.run(PortGroupList).unwrap()
}

fn move_portal(array: &Array, portal: &str, group: u16) -> Result<PortalView, ControlError> {
    array.run(PortalSet { portal: portal.into(), group: Some(group), ..PortalSet::default() })
}

fn set_state(array: &Array, group: u16, state: AccessState, force: bool) -> Result<PortGroupView, ControlError> {
    array.run(PortGroupSet { group, state: Some(state), preferred: None, force })
}

fn states(array: &Array) -> Vec<(u16, AccessState)> {
    groups(array).into_iter().map(|view| (view.record.identifier, view.record.state)).collect()
}

const ACTIVE: AccessState = AccessState::ActiveOptimized;
const STANDBY: AccessState = AccessState::Standby;

#[test]
fn portals_keep_their_identifiers_groups_and_states() {
    let array = Array::new();
    assert_eq!(portals(&array).iter().map(|view| (view.identifier, view.group)).collect::<Vec<_>>(), [(1, 1), (2, 1)]);
    move_portal(&array, "192.0.2.11:3260", 7).unwrap();
    assert_eq!(states(&array), [(1, ACTIVE), (7, ACTIVE)]);
    set_state(&array, 7, STANDBY, false).unwrap();
    array.run(PortGroupSet { group: 1, preferred: Some(true), ..PortGroupSet::default() }).unwrap();
    let redirect = RedirectRecord { address: "192.0.2.10:3260".into(), permanently: true };
    let set = PortalSet { portal: "2".into(), redirect: Some(Some(redirect.clone())), ..PortalSet::default() };
    array.run(set).unwrap();

    // After a restart with the portals in reverse order in the configuration.
    let array = Array::with_portals(array.catalog.clone(), &["192.0.2.11:3260", "192.0.2.10:3260"]).unwrap();
    let views = portals(&array);
    assert_eq!(views.iter().map(|view| (view.identifier, view.group)).collect::<Vec<_>>(), [(2, 7), (1, 1)]);
    assert_eq!(views[0].redirect, Some(redirect));
    assert_eq!(states(&array), [(1, ACTIVE), (7, STANDBY)]);
    let groups = groups(&array);
    assert_eq!((groups[0].record.preferred, groups[1].record.origin), (true, StateOrigin::Implicit));
    assert_eq!(groups[1].portals, ["192.0.2.11:3260"]);
    // A portal that replaces another gets its own identifier.
    let array = Array::with_portals(array.catalog.clone(), &["192.0.2.12:3260"]).unwrap();
    assert_eq!(portals(&array)[0].identifier, 3);
}

/// Regression: a pool without space for the document of a new portal prevented the start of the
/// array, and no host had a path. An identifier that is used but not recorded could be assigned to
/// another portal at the next start.
#[test]
fn a_new_portal_that_cannot_be_recorded_waits_while_the_others_serve() {
    let catalog = Array::new().catalog;
    catalog.fail_next.replace(Some(PoolError::PoolFull));
    let array = Array::with_portals(catalog, &["192.0.2.10:3260", "192.0.2.12:3260", "192.0.2.11:3260"]).unwrap();
    let identifiers = || array.control.directory().port_identifiers().to_vec();
    let alerts = || {
        let alerts = array.control.alerts().into_iter().filter(|alert| alert.code == "portal-unrecorded");
        alerts.map(|alert| alert.subject).collect::<Vec<_>>()
    };
    let told = |code: &str| {
        let events = array.run(EventList { since: None, filter: EventFilter::default(), limit: 1000 }).unwrap();
        events.into_iter().filter(|event| event.code == code).count()
    };
    let mirror = block_on(array.control.mirror());
    let in_mirror = || {
        let views = mirror.read(&PortalList).unwrap();
        views.iter().map(|view| (view.identifier, view.portal.listen.to_string())).collect::<Vec<_>>()
    };
    let recorded =
        |ports: &[(u16, &str)]| ports.iter().map(|(port, listen)| (*port, (*listen).to_owned())).collect::<Vec<_>>();
    assert_eq!(identifiers(), [1, 0, 2]);
    assert_eq!(in_mirror(), recorded(&[(1, "192.0.2.10:3260"), (2, "192.0.2.11:3260")]));
    assert_eq!(portals(&array).iter().map(|view| view.identifier).collect::<Vec<_>>(), [1, 2]);
    assert_eq!((alerts(), told("portal-unrecorded")), (vec!["192.0.2.12:3260".to_owned()], 1));
    move_portal(&array, "2", 7).unwrap();
    assert_eq!(states(&array), [(1, ACTIVE), (7, ACTIVE)]);

    array.catalog.fail_next.replace(Some(PoolError::PoolFull));
    block_on(array.control.look());
    assert_eq!((identifiers(), told("portal-unrecorded")), (vec![1, 0, 2], 1));

    // The portal is recorded once there is space.
    block_on(array.control.look());
    assert_eq!((identifiers(), alerts(), told("portal-recorded")), (vec![1, 3, 2], vec![], 1));
    let all = [(1, "192.0.2.10:3260"), (3, "192.0.2.12:3260"), (2, "192.0.2.11:3260")];
    assert_eq!(in_mirror(), recorded(&all), "every reader sees it, without a restart");
    assert!(array.live.published.borrow().contains(&Change::PortGroupsChanged));
    let again = Array::with_portals(array.catalog.clone(), &["192.0.2.12:3260", "192.0.2.10:3260"]).unwrap();
    assert_eq!(portals(&again).iter().map(|view| view.identifier).collect::<Vec<_>>(), [3, 1]);
}

#[test]
fn no_change_strands_a_host_unless_forced() {
    let array = Array::new();
    assert_eq!(set_state(&array, 1, STANDBY, false).unwrap_err().code(), "last-path");
    move_portal(&array, "2", 2).unwrap();
    array.create_host("esx01", ESX01);
    array.log_in(7, ESX01);
    // The only path of the host leads through port 1.
    set_state(&array, 2, STANDBY, false).unwrap();
    let error = set_state(&array, 1, AccessState::Unavailable, false).unwrap_err();
    assert_eq!((error.code(), error.users().len()), ("last-path", 0));
    set_state(&array, 2, ACTIVE, false).unwrap();
    let error = set_state(&array, 1, STANDBY, false).unwrap_err();
    assert_eq!(error.users()[0].description, "esx01: 1 active path, none of them afterwards");
    assert_eq!(error.help().unwrap(), "give them another path first, or force the change");
    let parameters = [("noun", "portal-group"), ("name", "1"), ("setting", "state"), ("value", "standby")];
    assert_eq!(error.parameters(), parameters.map(|(name, value)| (name, value.to_owned())));
    let first = array.live.sessions.borrow()[0].clone();
    array.live.sessions.borrow_mut().push(SessionInfo { id: 8, target_port: 2, ..first });
    set_state(&array, 1, STANDBY, false).unwrap();
    // The port must not be moved to an inactive group, either.
    let error = move_portal(&array, "2", 1).unwrap_err();
    assert_eq!(error.code(), "last-path");
    set_state(&array, 2, STANDBY, true).unwrap();
    // A host without an active path cannot lose one.
    set_state(&array, 1, AccessState::Unavailable, false).unwrap();
    assert_eq!(states(&array), [(1, AccessState::Unavailable), (2, STANDBY)]);
}

#[test]
fn a_change_that_is_not_durable_is_a_failed_transition() {
    let array = Array::new();
    move_portal(&array, "2", 2).unwrap();
    array.live.published.borrow_mut().clear();
    array.catalog.fail_next.replace(Some(PoolError::PoolFull));
    assert_eq!(set_state(&array, 2, STANDBY, false).unwrap_err().code(), "no-space");
    let begins = Change::PortGroupTransitionBegins { groups: vec![2] };
    assert_eq!(array.live.published.take(), [begins.clone(), Change::PortGroupTransitionFailed]);
    assert_eq!(states(&array), [(1, ACTIVE), (2, ACTIVE)]);
    set_state(&array, 2, STANDBY, false).unwrap();
    assert_eq!(array.live.published.take(), [begins, Change::PortGroupsChanged]);
    // A repeated request changes nothing.
    set_state(&array, 2, STANDBY, false).unwrap();
    assert_eq!(array.live.published.take(), []);
}

#[test]
fn hosts_set_states_explicitly() {
    let array = Array::new();
    move_portal(&array, "2", 2).unwrap();
    let set = |states: &[(u16, AccessState)]| block_on(array.control.set_port_group_states(states.to_vec()));
    set(&[(1, STANDBY), (2, AccessState::ActiveNonOptimized)]).unwrap();
    assert_eq!(states(&array), [(1, STANDBY), (2, AccessState::ActiveNonOptimized)]);
    assert_eq!(groups(&array)[0].record.origin, StateOrigin::Explicit);
    assert_eq!(set(&[(2, AccessState::Unavailable)]).unwrap_err().code(), "last-path");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let array = Array::new();
    let redirect_of = |portal: &str, address: &str| {
        let redirect = RedirectRecord { address: address.into(), permanently: false };
        let set = PortalSet { portal: portal.into(), redirect: Some(Some(redirect)), ..PortalSet::default() };
        array.run(set)
    };
    let redirect = |address: &str| redirect_of("1", address);
    assert_eq!(redirect("192.0.2.10:3260").unwrap_err().code(), "invalid-setting");
    assert_eq!(redirect("elsewhere").unwrap_err().code(), "invalid-setting");
    redirect_of("2", "192.0.2.10:3260").unwrap();
    assert_eq!(redirect("192.0.2.11:3260").unwrap_err().code(), "invalid-setting", "which sends them back");
    redirect("array-b.example.org:3260").unwrap();
    let none = PortalSet { portal: "1".into(), redirect: Some(None), ..PortalSet::default() };
    array.run(none).unwrap();
    assert_eq!(portals(&array)[0].redirect, None);
    assert_eq!(move_portal(&array, "1", 0).unwrap_err().code(), "invalid-setting");
    assert_eq!(move_portal(&array, "192.0.2.99:3260", 1).unwrap_err().code(), "not-found");
    assert_eq!(set_state(&array, 9, STANDBY, false).unwrap_err().code(), "not-found");
}

#[test]
fn the_configuration_names_groups_as_long_as_no_command_does() {
    let catalog = Rc::new(MemoryCatalog::default());
    let array =
        Array::with_groups(catalog.clone(), &[("192.0.2.10:3260", None), ("192.0.2.11:3260", Some(3))]).unwrap();
    assert_eq!(portals(&array).iter().map(|view| view.group).collect::<Vec<_>>(), [1, 3]);
    move_portal(&array, "2", 4).unwrap();
    let array = Array::with_groups(catalog, &[("192.0.2.10:3260", Some(2)), ("192.0.2.11:3260", Some(3))]).unwrap();
    assert_eq!(portals(&array).iter().map(|view| view.group).collect::<Vec<_>>(), [2, 4]);
}
