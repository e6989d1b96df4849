//! Report of registrations and reservations.

use super::*;
use unit::ReservationType;

fn report(array: &Array) -> crate::ReservationReport {
    array.target.reservation_report(VolumeId(10)).unwrap()
}

#[test]
fn everyone_registered_is_told_with_key_port_and_role() {
    let array = Array::explicit();
    let (a, b) = (array.lun0(), array.on(array.b, 0));
    assert_eq!(report(&array), crate::ReservationReport::default());
    assert_eq!(array.target.reservation_report(VolumeId(99)), None);
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
        assert!(ports.contains(&format!("{},i,0x{:x}", row.initiator, row.isid)), "{row:?} of {ports:?}");
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
    let holder = told.reserved_by.unwrap();
    assert_eq!((holder.key, holder.holder), (0, true));
    assert_eq!((told.registrations.len(), told.conflicts), (0, 1));
}
