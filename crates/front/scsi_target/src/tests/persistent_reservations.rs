//! PERSISTENT RESERVE IN and OUT, byte by byte.

mod conflicts;
mod durable;
mod fencing;
mod model;
mod out;
mod report;

use super::*;
use hex_literal::hex;
use scsi::persistent_reservation::{InitiatorPort, TransportId};

pub(super) const REGISTER: u8 = 0x00;
pub(super) const RESERVE: u8 = 0x01;
pub(super) const RELEASE: u8 = 0x02;
pub(super) const CLEAR: u8 = 0x03;
pub(super) const PREEMPT: u8 = 0x04;
pub(super) const PREEMPT_AND_ABORT: u8 = 0x05;
pub(super) const REGISTER_AND_IGNORE: u8 = 0x06;
pub(super) const REGISTER_AND_MOVE: u8 = 0x07;

pub(super) const TYPES: [u8; 6] = [1, 3, 5, 6, 7, 8];

pub(super) fn reserve_in(path: &Path<'_>, service_action: u8, allocation_length: u16) -> Response {
    let [high, low] = allocation_length.to_be_bytes();
    path.command(&[0x5e, service_action, 0, 0, 0, 0, 0, high, low, 0])
}

pub(super) fn out_cdb(service_action: u8, scope_and_type: u8, length: usize) -> [u8; 10] {
    let [a, b, c, d] = u32::try_from(length).unwrap().to_be_bytes();
    [0x5f, service_action, scope_and_type, 0, 0, a, b, c, d, 0]
}

pub(super) fn basic(key: u64, service_action_key: u64, flags: u8) -> Vec<u8> {
    [&key.to_be_bytes()[..], &service_action_key.to_be_bytes(), &[0, 0, 0, 0, flags, 0, 0, 0]].concat()
}

pub(super) fn reserve_out(path: &Path<'_>, service_action: u8, kind: u8, list: &[u8]) -> Response {
    path.data_out(&out_cdb(service_action, kind, list.len()), list)
}

/// Sends a service action with two keys and no flags.
pub(super) fn out(path: &Path<'_>, service_action: u8, kind: u8, key: u64, service_action_key: u64) -> Response {
    reserve_out(path, service_action, kind, &basic(key, service_action_key, 0))
}

/// Registers, in place of any earlier registration.
pub(super) fn register(path: &Path<'_>, key: u64) {
    assert_good(&out(path, REGISTER_AND_IGNORE, 0, 0, key));
}

#[track_caller]
pub(super) fn assert_conflict(response: &Response) {
    assert_eq!((response.status, response.sense.len()), (RESERVATION_CONFLICT, 0), "{:02x?}", response.sense);
}

/// PRGENERATION and keys from READ KEYS.
pub(super) fn keys(path: &Path<'_>) -> (u32, Vec<u64>) {
    let response = reserve_in(path, 0x00, 0xffff);
    assert_good(&Response { data_in: Bytes::new(), ..response.clone() });
    let data = response.data_in;
    assert_eq!(usize::try_from(u32::from_be_bytes(data[4..8].try_into().unwrap())).unwrap() + 8, data.len());
    let keys = data[8..].chunks(8).map(|key| u64::from_be_bytes(key.try_into().unwrap())).collect();
    (u32::from_be_bytes(data[..4].try_into().unwrap()), keys)
}

/// Key and type of the reservation from READ RESERVATION.
pub(super) fn reservation(path: &Path<'_>) -> Option<(u64, u8)> {
    let data = reserve_in(path, 0x01, 0xffff).data_in;
    match data.len() {
        8 => None,
        24 => Some((u64::from_be_bytes(data[8..16].try_into().unwrap()), data[21])),
        length => panic!("{length} bytes"),
    }
}

pub(super) fn transport_id(port: &str) -> Vec<u8> {
    TransportId::Port(InitiatorPort::parse(port).unwrap()).encode()
}

/// Next unit attention of the path, as ASC and ASCQ.
pub(super) fn attention(path: &Path<'_>) -> Option<(u8, u8)> {
    let response = path.command(&[0; 6]);
    (response.status == CHECK_CONDITION).then(|| {
        assert_eq!(response.sense[2], 0x06);
        (response.sense[12], response.sense[13])
    })
}

pub(super) const RESERVATIONS_PREEMPTED: Option<(u8, u8)> = Some((0x2a, 0x03));
pub(super) const RESERVATIONS_RELEASED: Option<(u8, u8)> = Some((0x2a, 0x04));
pub(super) const REGISTRATIONS_PREEMPTED: Option<(u8, u8)> = Some((0x2a, 0x05));

#[test]
fn nobody_is_registered_and_nothing_is_reserved() {
    let array = Array::new();
    for service_action in [0x00, 0x01, 0x03] {
        let response = reserve_in(&array.lun0(), service_action, 1024);
        assert_good(&response);
        assert_eq!(response.data_in.as_ref(), hex!("00000000 00000000"));
    }
}

#[test]
fn capabilities_name_every_type() {
    let array = Array::new();
    let response = reserve_in(&array.lun0(), 0x02, 1024);
    assert_good(&response);
    assert_eq!(response.data_in.as_ref(), hex!("0008 1d 80 ea01 0000"));
    let cut = reserve_in(&array.lun0(), 0x02, 2);
    assert_eq!((cut.data_in.as_ref(), cut.transfer_bytes), (&hex!("0008")[..], 2));
}

#[test]
fn other_service_actions_do_not_exist() {
    let array = Array::new();
    for service_action in 0x04..=0x1f {
        assert_field(&reserve_in(&array.lun0(), service_action, 1024), true, 1);
    }
    for service_action in 0x08..=0x1f {
        assert_field(&out(&array.lun0(), service_action, 0, 0, 1), true, 1);
    }
}

#[test]
fn a_reservation_of_spc_2_conflicts_with_both_even_for_its_holder() {
    let array = Array::new();
    assert_good(&array.lun0().command(&hex!("16 00 0000 00 00")));
    for nexus in [array.a, array.b] {
        assert_conflict(&reserve_in(&array.on(nexus, 0), 0x00, 8));
        assert_conflict(&out(&array.on(nexus, 0), REGISTER, 0, 0, 1));
    }
    assert_good(&array.lun0().command(&hex!("17 00 0000 00 00")));
    assert_good(&out(&array.lun0(), REGISTER, 0, 0, 1));
}

#[test]
fn full_status_tells_who_holds_what_through_which_port() {
    let array = Array::new();
    let (a, a2) = (array.on(array.a, 0), array.on(array.a2, 0));
    register(&a, 0x11);
    register(&a2, 0x22);
    assert_good(&out(&a2, RESERVE, 0x03, 0x22, 0));
    let data = reserve_in(&a, 0x03, 0xffff).data_in;
    let (first, second) = (transport_id("iqn.a,i,0x1"), transport_id("iqn.a,i,0x2"));
    let expected = [
        &hex!("00000002 00000068")[..],
        &hex!("0000000000000011 00000000 00 00 00000000 0001 0000001c"),
        &first,
        &hex!("0000000000000022 00000000 01 03 00000000 0002 0000001c"),
        &second,
    ]
    .concat();
    assert_eq!(data.as_ref(), expected);
    assert_eq!(first, [&hex!("45 00 0018")[..], b"iqn.a,i,0x000000000001\0\0"].concat());
}
