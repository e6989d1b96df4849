use super::{Array, volume};
use crate::*;
use futures_executor::block_on;
use pool::{Catalog, PoolError};

fn registration(key: u64) -> RegistrationRecord {
    RegistrationRecord {
        registrant: "iqn.1998-01.com.vmware:esx01,i,0x00023d000001".to_owned(),
        target_port: 1,
        key,
        holder: key == 1,
    }
}

#[test]
fn reservations_are_there_again_and_go_with_their_volume() {
    let array = Array::new();
    let object = array.create("v1").record.object;
    block_on(array.control.store_reservations(object, vec![registration(u64::MAX), registration(1)], Some(7))).unwrap();
    block_on(array.control.store_reservations(object, vec![registration(1)], Some(5))).unwrap();
    let again = Array::over(array.catalog.clone()).unwrap();
    let kept = again.control.reservations().unwrap();
    assert_eq!(kept.len(), 1);
    assert_eq!((kept[0].0, kept[0].1.reservation_type), (object, Some(5)));
    assert_eq!(kept[0].1.registrations, [registration(1)]);

    let source = Some("v1".to_owned());
    let clone = VolumeCreate { name: "c1".to_owned(), source, ..VolumeCreate::default() };
    volume(again.run(clone));
    assert_eq!(again.control.reservations().unwrap().len(), 1, "a clone has none");

    again.run(VolumeDelete { volume: "v1".to_owned(), now: true, ..VolumeDelete::default() }).unwrap();
    assert!(again.control.reservations().unwrap().is_empty());
    let gone = block_on(again.control.store_reservations(object, vec![registration(1)], None)).unwrap_err();
    assert_eq!(gone.code(), "not-found");
}

#[test]
fn without_registrations_nothing_is_kept() {
    let array = Array::new();
    let object = array.create("v1").record.object;
    block_on(array.control.store_reservations(object, vec![registration(1)], None)).unwrap();
    array.catalog.fail_next.replace(Some(PoolError::PoolFull));
    let full = block_on(array.control.store_reservations(object, vec![registration(2)], None)).unwrap_err();
    assert_eq!(full.code(), "no-space");
    assert_eq!(array.control.reservations().unwrap()[0].1.registrations, [registration(1)]);
    let many: Vec<_> = (1..2000).map(registration).collect();
    assert_eq!(block_on(array.control.store_reservations(object, many, None)).unwrap_err().code(), "no-space");
    block_on(array.control.store_reservations(object, vec![], None)).unwrap();
    assert!(array.control.reservations().unwrap().is_empty());
}

/// Documents of earlier versions have these words.
#[test]
fn a_document_keeps_its_words() {
    let array = Array::new();
    let record = array.create("v1").record;
    block_on(array.control.store_reservations(record.object, vec![registration(1)], Some(5))).unwrap();
    let stored = array.catalog.document(&format!("reservations/{}", record.id)).unwrap();
    let words = r#"[{"initiator_port":"iqn.1998-01.com.vmware:esx01,i,0x00023d000001","relative_target_port":1,"key":1,"holder":true}]"#;
    let expected = format!(r#"{{"volume":"{}","registrations":{words},"reservation_type":5}}"#, record.id);
    assert_eq!(std::str::from_utf8(&stored), Ok(expected.as_str()));
}

#[test]
fn an_administrator_clears_what_hosts_have_left() {
    let array = Array::new();
    let object = array.create("v1").record.object;
    let of = |initiator: &str, holder| Registration {
        initiator: initiator.to_owned(),
        isid: 1,
        target_port: 1,
        key: 7,
        holder,
    };
    let left =
        Reservations { registrations: vec![of("iqn.x:a", true), of("iqn.x:b", false)], ..Reservations::default() };
    array.live.reservations.borrow_mut().insert(object.0, left);
    let clear = ReservationClear { volume: "v1".to_owned() };
    let effect = array.run(DryRun(clear.clone())).unwrap();
    let breaks: Vec<_> = effect.breaks.iter().map(|broken| (broken.kind.name(), broken.name.as_str())).collect();
    assert_eq!(breaks, [("registration", "iqn.x:a"), ("registration", "iqn.x:b")]);
    assert!(effect.breaks[0].why.contains("loses its reservation"));
    assert_eq!(array.run(clear.clone()).unwrap(), ("v1".to_owned(), 2));
    assert_eq!(array.run(DryRun(clear.clone())).unwrap(), Effect::default());
    assert_eq!(array.run(clear).unwrap().1, 0);
    assert_eq!(array.code(ReservationClear { volume: "v9".to_owned() }), "not-found");
}
