//! Commands whose logical unit changes before their Data-Out has arrived.

use super::*;
use crate::Arrival;
use hex_literal::hex;

fn finish(array: &Array, arrival: Arrival, cdb: [u8; 16], data_out: Bytes) -> Response {
    let expected_data_out = u32::try_from(data_out.len()).unwrap();
    let expected_data_in = if expected_data_out == 0 { 4096 } else { 0 };
    let request = Request {
        cdb,
        data_out,
        expected_data_in,
        expected_data_out,
        attribute: TaskAttribute::Simple,
        abort: AbortFlag::default(),
    };
    run(array.target.execute_arrived(array.a, [0; 8], arrival, request))
}

#[test]
fn data_for_what_the_unit_held_before_a_roll_back_are_not_stored() {
    let array = Array::new();
    let write = cdb16(0x8a, 0, 0, 8);
    let data = Bytes::from(vec![7; 4096]);
    let before = array.target.arrival(array.a, [0; 8]);
    assert_good(&finish(&array, before, write, data.clone()));
    assert!(array.replace_device(VolumeId(10), MemoryDevice::new(10, BLOCKS)));
    array.settle(array.a);
    assert_check(&finish(&array, before, write, data.clone()), 0x06, 0x2f, 0x02);
    // A read has no data to lose, and a command that arrives now addresses the present content.
    let read = finish(&array, before, cdb16(0x88, 0, 0, 8), Bytes::new());
    assert_good(&read);
    assert!(read.data_in.iter().all(|byte| *byte == 0));
    assert_good(&finish(&array, array.target.arrival(array.a, [0; 8]), write, data));
}

#[test]
fn data_for_another_unit_of_the_same_number_are_not_stored() {
    let array = Array::new();
    let before = array.target.arrival(array.a, [0; 8]);
    array.target.revoke(VolumeId(10), None);
    let none = array.target.arrival(array.a, [0; 8]);
    array.target.set_access(VolumeId(12), Grant { initiator: None, lun: 0 }).unwrap();
    array.settle(array.a);
    let data = Bytes::from(vec![7; 4096]);
    for arrival in [before, none] {
        assert_check(&finish(&array, arrival, cdb16(0x8a, 0, 0, 8), data.clone()), 0x05, 0x25, 0x00);
    }
    assert!(array.lun0().command(&cdb16(0x88, 0, 0, 8)).data_in.iter().all(|byte| *byte == 0));
}

#[test]
fn the_default_self_test_is_the_only_one() {
    let array = Array::new();
    for cdb in [hex!("1d 04 00 0000 00"), hex!("1d 00 00 0000 00"), hex!("1d 17 00 0000 00")] {
        assert_good(&array.lun0().command(&cdb));
    }
    for cdb in [hex!("1d 20 00 0000 00"), hex!("1d 10 00 0004 00"), hex!("1d 08 00 0000 00"), hex!("1d 04 01 0000 00")]
    {
        assert_check(&array.lun0().command(&cdb), 0x05, 0x24, 0x00);
    }
}
