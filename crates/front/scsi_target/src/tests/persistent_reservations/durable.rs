//! APTPL: stored state, time of storing, and failures of the store.

use super::*;
use crate::registrant;
use unit::{PersistedRegistration, PersistedReservations, ReservationType, StoreError};

fn with_store() -> (Array, Rc<TestStore>) {
    let array = Array::new();
    let store = Rc::clone(&array.store);
    (array, store)
}

fn capability_bytes(path: &Path<'_>) -> (u8, u8) {
    let data = reserve_in(path, 0x02, 8).data_in;
    (data[2], data[3])
}

#[test]
fn what_persists_is_kept_and_comes_back() {
    let (array, store) = with_store();
    let (a, b) = (array.lun0(), array.on(array.b, 0));
    assert_eq!(capability_bytes(&a), (0x1d, 0x80));
    register(&a, 1);
    assert_eq!(store.reservation_calls.get(), 0);
    assert_good(&reserve_out(&b, REGISTER, 0, &basic(0, 2, 0x01)));
    assert_eq!(capability_bytes(&a), (0x1d, 0x81));
    assert_good(&out(&b, RESERVE, 6, 2, 0));
    let kept = store.reservations.borrow().clone().unwrap();
    let of = |port: &str, key, holder| PersistedRegistration { registrant: registrant(port, 1).unwrap(), key, holder };
    let expected = [of("iqn.a,i,0x000000000001", 1, false), of("iqn.b,i,0x000000000001", 2, true)];
    assert_eq!(
        (kept.registrations.as_slice(), kept.reservation_type.map(ReservationType::number)),
        (&expected[..], Some(6))
    );

    let again = Array::new();
    assert!(again.units.restore_reservations(VolumeId(10), &kept));
    let (a, b) = (again.lun0(), again.on(again.b, 0));
    assert_eq!((keys(&b), reservation(&b)), ((0, vec![1, 2]), Some((2, 6))));
    assert_conflict(&again.on(again.a2, 0).command(&cdb16(0x88, 0, 0, 1)));
    a.write(0, &pattern(1, 1));
    assert!(!again.units.restore_reservations(VolumeId(99), &kept));
    let broken = PersistedReservations { registrations: Vec::new(), ..kept };
    assert!(!again.units.restore_reservations(VolumeId(10), &broken));
}

#[test]
fn the_last_registration_decides_whether_anything_persists() {
    let (array, store) = with_store();
    let a = array.lun0();
    assert_good(&reserve_out(&a, REGISTER, 0, &basic(0, 1, 0x01)));
    assert!(store.reservations.borrow().is_some());
    assert_good(&out(&array.on(array.b, 0), REGISTER, 0, 0, 2));
    assert_eq!(*store.reservations.borrow(), None);
    assert_eq!(capability_bytes(&a), (0x1d, 0x80));
    assert_good(&reserve_out(&a, REGISTER_AND_IGNORE, 0, &basic(0, 1, 0x01)));
    assert_eq!(store.reservations.borrow().as_ref().unwrap().registrations.len(), 2);
    assert_good(&out(&a, CLEAR, 0, 1, 0));
    assert_eq!(*store.reservations.borrow(), None);
}

#[test]
fn the_answer_and_the_effect_wait_for_the_store() {
    let (array, store) = with_store();
    let (a, b) = (array.lun0(), array.on(array.b, 0));
    assert_good(&reserve_out(&a, REGISTER, 0, &basic(0, 1, 0x01)));
    store.holds_reservations.set(true);
    let context = &mut Context::from_waker(Waker::noop());
    let list = basic(1, 0, 0);
    let mut reserve = Box::pin(a.request(&out_cdb(RESERVE, 1, 24), Bytes::from(list), 0, 24));
    assert!(reserve.as_mut().poll(context).is_pending());
    assert_eq!(reservation(&b), None);
    b.write(0, &pattern(1, 1));
    // The next change, of either kind, waits for this one.
    let mut register = Box::pin(b.request(&out_cdb(REGISTER, 0, 24), Bytes::from(basic(0, 2, 1)), 0, 24));
    let mut reserve_6 = Box::pin(b.request(&hex!("16 00 0000 00 00"), Bytes::new(), 0, 0));
    assert!(register.as_mut().poll(context).is_pending());
    assert!(reserve_6.as_mut().poll(context).is_pending());
    store.holds_reservations.set(false);
    assert_good(&run(reserve));
    assert_good(&run(register));
    assert_conflict(&run(reserve_6));
    assert_conflict(&b.data_out(&cdb16(0x8a, 0, 0, 1), &pattern(1, 1)));
}

#[test]
fn what_cannot_be_kept_does_not_happen() {
    let (array, store) = with_store();
    let (a, b) = (array.lun0(), array.on(array.b, 0));
    assert_good(&reserve_out(&a, REGISTER, 0, &basic(0, 1, 0x01)));
    for (error, key, asc, ascq) in [(StoreError::NoRoom, 0x05, 0x55, 0x04), (StoreError::Failed, 0x04, 0x44, 0x00)] {
        store.error.set(Some(error));
        assert_check(&reserve_out(&b, REGISTER, 0, &basic(0, 2, 0x01)), key, asc, ascq);
        assert_check(&out(&a, RESERVE, 1, 1, 0), key, asc, ascq);
        assert_check(&out(&a, REGISTER, 0, 1, 0), key, asc, ascq);
        assert_check(&out(&a, CLEAR, 0, 1, 0), key, asc, ascq);
    }
    assert_eq!((keys(&a), reservation(&a)), ((1, vec![1]), None));
    store.error.set(None);
    assert_good(&out(&a, RESERVE, 1, 1, 0));
}
