use super::*;
use hex_literal::hex;

fn persistent_reserve_in(path: &Path<'_>, service_action: u8, allocation_length: u16) -> Response {
    let [high, low] = allocation_length.to_be_bytes();
    path.command(&[0x5e, service_action, 0, 0, 0, 0, 0, high, low, 0])
}

#[test]
fn nobody_is_registered_and_nothing_is_reserved() {
    let array = Array::new();
    for service_action in [0x00, 0x01, 0x03] {
        let response = persistent_reserve_in(&array.lun0(), service_action, 1024);
        assert_good(&response);
        assert_eq!(response.data_in.as_ref(), hex!("00000000 00000000"));
    }
}

#[test]
fn capabilities_name_no_reservation_type() {
    let array = Array::new();
    let response = persistent_reserve_in(&array.lun0(), 0x02, 1024);
    assert_good(&response);
    assert_eq!(response.data_in.as_ref(), hex!("0008 00 80 0000 0000"));
    let cut = persistent_reserve_in(&array.lun0(), 0x02, 2);
    assert_eq!((cut.data_in.as_ref(), cut.transfer_bytes), (&hex!("0008")[..], 2));
}

#[test]
fn other_service_actions_do_not_exist() {
    let array = Array::new();
    for service_action in 0x04..=0x1f {
        assert_field(&persistent_reserve_in(&array.lun0(), service_action, 1024), true, 1);
    }
}

#[test]
fn a_reservation_of_spc_2_conflicts() {
    let array = Array::new();
    assert_good(&array.lun0().command(&hex!("16 00 0000 00 00")));
    assert_eq!(persistent_reserve_in(&array.on(array.b, 0), 0x00, 8).status, RESERVATION_CONFLICT);
}
