//! Report of registrations and reservations.

use super::*;
use crate::initiator_port;
use unit::{ReservationReport, ReservationType};

fn report(array: &Array) -> ReservationReport {
    array.unit(10).reservation_report()
}

#[test]
fn everyone_registered_is_told_with_key_port_and_role() {
    let array = Array::explicit();
    let (a, b) = (array.lun0(), array.on(array.b, 0));
    assert_eq!((report(&array).registrations.len(), report(&array).reserved_by), (0, None));
    register(&a, 0x11);
    register(&b, 0x22);
    assert_good(&out(&a, RESERVE, 5, 0x11, 0));
    let told = report(&array);
    assert_eq!(told.reservation_type, Some(ReservationType::WriteExclusiveRegistrantsOnly));
    let rows: Vec<_> = told.registrations.iter().map(|row| (row.key, row.holder)).collect();
    assert_eq!(rows, [(0x11, true), (0x22, false)]);
    assert_eq!((told.generation, told.persists, told.conflicts), (2, false, 0));
    let ports: Vec<_> = array.target.nexus_list().into_iter().map(|nexus| nexus.initiator_port).collect();
    for row in &told.registrations {
        let name = InitiatorPort::parse(&initiator_port(&row.registrant).unwrap());
        assert!(ports.iter().any(|port| InitiatorPort::parse(port) == name), "{row:?} of {ports:?}");
    }
    // With all registrants types every registrant is a holder.
    assert_good(&out(&a, RELEASE, 5, 0x11, 0));
    assert_good(&out(&a, RESERVE, 7, 0x11, 0));
    assert!(report(&array).registrations.iter().all(|row| row.holder));
}

#[test]
fn a_reserve_without_key_is_told_and_conflicts_are_counted() {
    let array = Array::new();
    assert_good(&array.lun0().command(&[0x16, 0, 0, 0, 0, 0]));
    assert_conflict(&array.on(array.b, 0).command(&[0x16, 0, 0, 0, 0, 0]));
    let told = report(&array);
    assert_eq!(array.target.nexus_of(told.reserved_by.unwrap()).map(|nexus| nexus.id), Some(array.a));
    assert_eq!((told.registrations.len(), told.conflicts), (0, 1));
}
