use super::persistent_reservations::{out, register};
use super::*;
use crate::TaskManagementError;
use hex_literal::hex;
use unit::{Primitive, Reason, ReservationHolder, ReservationType};

const RESERVE: [u8; 6] = hex!("16 00 0000 00 00");
const RELEASE: [u8; 6] = hex!("17 00 0000 00 00");

#[track_caller]
fn assert_conflict(response: &Response) {
    assert_eq!((response.status, response.sense.len()), (RESERVATION_CONFLICT, 0));
}

#[test]
fn a_reservation_keeps_other_nexuses_out() {
    let array = Array::new();
    let (a, b) = (array.on(array.a, 0), array.on(array.b, 0));
    assert_good(&a.command(&RESERVE));
    assert_good(&a.command(&RESERVE));
    assert_eq!(array.holder(10), Some(array.a));
    for cdb in [
        cdb(&RESERVE),
        cdb(&[0; 6]),
        cdb(&hex!("1a 00 3f 00 ff 00")),
        cdb16(0x88, 0, 0, 1),
        cdb16(0x8a, 0, 0, 1),
        cdb16(0x93, 0, 0, 1),
        cdb(&hex!("42 00 00000000 00 0018 00")),
        cdb(&hex!("83 00 0000000000000000 00000010 00 00")),
    ] {
        assert_conflict(&b.command(&cdb));
    }
    assert_conflict(&b.compare_and_write(0, &pattern(0, 1), &pattern(1, 1)));
    // The same host through its other port is another nexus.
    assert_conflict(&array.on(array.a2, 0).command(&cdb16(0x88, 0, 0, 1)));
    for cdb in [
        cdb(&hex!("12 00 00 0060 00")),
        cdb(&hex!("03 00 0000 12 00")),
        cdb(&hex!("a0 00 00 000000 00000100 00 00")),
        cdb(&RELEASE),
    ] {
        assert_good(&Response { data_in: Bytes::new(), ..b.command(&cdb) });
    }
    // RELEASE of another nexus had no effect.
    assert_conflict(&b.command(&RESERVE));
    assert_eq!(a.read(0, 1), pattern(0, 1));
    assert_good(&a.command(&RELEASE));
    assert_good(&b.command(&RESERVE));
    assert_eq!(array.unit(10).statistics.io().reservation_conflicts, 11);
    let reasons: Vec<_> = array.units.refusals(0).iter().map(|entry| (entry.primitive, entry.reason)).collect();
    let reserved = Reason::ReservedByAnother;
    assert_eq!(
        reasons,
        [
            (Primitive::Zero, reserved),
            (Primitive::Unmap, reserved),
            (Primitive::Xcopy, reserved),
            (Primitive::Ats, reserved)
        ]
    );
}

/// Regression: the log said "reserved by another initiator", and not by whom.
#[test]
fn the_log_names_the_holder_of_that_time() {
    let array = Array::new();
    let (a, b) = (array.lun0(), array.on(array.b, 0));
    let zero = || assert_conflict(&b.data_out(&cdb16(0x93, 0, 0, 8), &pattern(0, 1)));
    assert_good(&a.command(&RESERVE));
    zero();
    zero();
    assert_good(&a.command(&RELEASE));
    register(&array.on(array.a2, 0), 7);
    assert_good(&out(&array.on(array.a2, 0), 0x01, 1, 7, 0));
    zero();
    assert_good(&out(&array.on(array.a2, 0), 0x03, 0, 7, 0));
    let log: Vec<_> = array.units.refusals(0).into_iter().map(|entry| (entry.count, entry.holder)).collect();
    let holder =
        |registration| Some(ReservationHolder { volume: VolumeId(10), initiator: "iqn.a".to_owned(), registration });
    assert_eq!(log, [(2, holder(None)), (1, holder(Some((ReservationType::WriteExclusive, 7))))]);
}

#[test]
fn a_lost_nexus_holds_nothing() {
    let array = Array::new();
    assert_good(&array.lun0().command(&RESERVE));
    array.target.detach_nexus(array.a);
    assert_good(&array.on(array.b, 0).command(&RESERVE));
}

#[test]
fn revoked_access_gives_the_reservation_back() {
    let array = Array::new();
    let grant = Grant { initiator: Some("iqn.b".into()), lun: 1 };
    array.target.set_access(VolumeId(11), grant).unwrap();
    array.settle(array.b);
    assert_good(&array.on(array.a, 1).command(&RESERVE));
    array.target.revoke(VolumeId(11), None);
    assert_eq!(array.holder(11), None);
    assert_good(&array.on(array.b, 1).command(&RESERVE));
}

#[test]
fn a_logical_unit_reset_frees_and_tells_everybody() {
    let array = Array::new();
    assert_good(&array.lun0().command(&RESERVE));
    let lun = [0; 8];
    assert_eq!(array.target.logical_unit_reset(array.b, lun), Ok(VolumeId(10)));
    for nexus in [array.a, array.a2, array.b] {
        assert_check(&array.on(nexus, 0).command(&[0; 6]), 0x06, 0x29, 0x03);
        assert_good(&array.on(nexus, 0).command(&[0; 6]));
        assert_good(&array.on(nexus, 1).command(&[0; 6]));
    }
    assert_good(&array.on(array.b, 0).command(&RESERVE));
    let nowhere = [0, 200, 0, 0, 0, 0, 0, 0];
    assert_eq!(array.target.logical_unit_reset(array.b, nowhere), Err(TaskManagementError::LunDoesNotExist));
    assert_eq!(array.target.abort_task_set(array.b, nowhere), Err(TaskManagementError::LunDoesNotExist));
    assert_eq!(array.target.abort_task_set(array.b, lun), Ok(VolumeId(10)));
}

#[test]
fn a_target_reset_resets_every_unit() {
    let array = Array::new();
    assert_good(&array.lun0().command(&RESERVE));
    assert_good(&array.on(array.a, 1).command(&RESERVE));
    array.target.target_reset(array.a);
    for lun in [0, 1] {
        assert_check(&array.on(array.b, lun).command(&RESERVE), 0x06, 0x29, 0x03);
        assert_good(&array.on(array.b, lun).command(&RESERVE));
    }
}

/// Bug: a target reset reached every logical unit, so one host could end the commands and drop the
/// reservation of another host with which it shares no logical unit.
#[test]
fn a_target_reset_leaves_alone_what_the_initiator_may_not_see() {
    let array = Array::new();
    array.target.set_access(VolumeId(12), Grant { initiator: Some("iqn.b".into()), lun: 2 }).unwrap();
    let other = array.on(array.b, 2);
    while other.command(&[0; 6]).status != GOOD {}
    assert_good(&other.command(&RESERVE));
    array.target.target_reset(array.a);
    assert_eq!(array.holder(12), Some(array.b));
    assert_good(&other.command(&[0; 6]));
    assert_check(&array.on(array.b, 0).command(&[0; 6]), 0x06, 0x29, 0x03);
    assert_eq!(array.target.volumes_of(array.a), [VolumeId(10), VolumeId(11)].into());
}

#[test]
fn a_cleared_task_set_is_told_to_those_who_lost_tasks() {
    let array = Array::new();
    assert_eq!(array.target.clear_task_set(array.a, [0; 8], &[array.a, array.b]), Ok(VolumeId(10)));
    assert_check(&array.on(array.b, 0).command(&[0; 6]), 0x06, 0x2f, 0x00);
    assert_good(&array.on(array.a, 0).command(&[0; 6]));
    assert_good(&array.on(array.a2, 0).command(&[0; 6]));
}

#[test]
fn reserve_waits_for_writes_that_were_admitted() {
    let array = Array::new();
    array.volumes[0].hold(true);
    let context = &mut Context::from_waker(Waker::noop());
    let mut cdb = cdb16(0x89, 0, 0, 0);
    cdb[13] = 1;
    let data = Bytes::from([pattern(0, 1), pattern(1, 1)].concat());
    let mut write = Box::pin(array.on(array.a, 0).request(&cdb, data, 0, 1024));
    assert!(write.as_mut().poll(context).is_pending());
    let mut reserve = Box::pin(array.on(array.b, 0).request(&RESERVE, Bytes::new(), 0, 0));
    assert!(reserve.as_mut().poll(context).is_pending());
    // No new command is admitted meanwhile.
    assert_conflict(&array.on(array.a, 0).command(&cdb16(0x88, 0, 0, 1)));
    array.volumes[0].hold(false);
    assert_good(&run(write));
    assert_good(&run(reserve));
    assert_conflict(&array.on(array.a, 0).compare_and_write(0, &pattern(1, 1), &pattern(2, 1)));
}

#[test]
fn an_aborted_reserve_leaves_no_reservation() {
    let array = Array::new();
    array.volumes[0].hold(true);
    let context = &mut Context::from_waker(Waker::noop());
    let data = Bytes::from(pattern(1, 1));
    let mut write = Box::pin(array.on(array.a, 0).request(&cdb16(0x8a, 0, 0, 1), data, 0, 512));
    assert!(write.as_mut().poll(context).is_pending());
    let mut reserve = Box::pin(array.on(array.b, 0).request(&RESERVE, Bytes::new(), 0, 0));
    assert!(reserve.as_mut().poll(context).is_pending());
    drop(reserve);
    assert_eq!(array.holder(10), None);
    array.volumes[0].hold(false);
    assert_good(&run(write));
}
