//! Segments other than plain copies: held data, and verification.

use super::*;
use scsi::third_party_copy::{SEGMENT_BLOCK_TO_BLOCK_HOLD, VerifySegment};

fn hold(count: u16, from: u64, to: u64) -> BlockToBlockSegment {
    let mut segment = segment(count, from, to);
    segment.header.descriptor_type = SEGMENT_BLOCK_TO_BLOCK_HOLD;
    segment
}

#[test]
fn held_data_is_what_was_written_and_is_fetched_once() {
    let array = Array::new();
    let path = array.lun0();
    let data: Vec<u8> = (1..=40).flat_map(|byte| pattern(byte, 1)).collect();
    path.write(0, &data);
    let list = List::of(&[10, 11], &[segment(8, 0, 100), hold(40, 0, 0)]);
    assert_good(&copy(&path, &list.id(3, 0b00)));
    assert_eq!(array.on(array.a, 1).read(0, 40), data);
    // Data that was cut can be requested again.
    let response = path.command(&with_id(cdb16(0x84, 1, 0, 0x4003), 3));
    assert_eq!((response.data_in.len(), &response.data_in[..4]), (0x4003, &hex!("00004000")[..]));
    // The length is HELD DATA LIMIT: 16 KiB.
    let response = path.command(&with_id(cdb16(0x84, 1, 0, 1 << 16), 3));
    assert_eq!(response.data_in[..4], hex!("00004000"));
    assert_eq!(response.data_in[4..], data[..0x4000]);
    let again = path.command(&with_id(cdb16(0x84, 1, 0, 1 << 16), 3));
    assert_eq!(again.data_in.as_ref(), [0; 4]);
    assert_field(&path.command(&with_id(cdb16(0x84, 1, 0, 1 << 16), 4)), true, 2);
    // No data is held for a list whose results may be discarded.
    let list = List::of(&[10, 11], &[hold(8, 0, 0)]).id(3, 0b10);
    assert_good(&copy(&path, &list));
    assert_field(&path.command(&with_id(cdb16(0x84, 1, 0, 1 << 16), 3)), true, 2);
}

fn with_id(mut cdb: [u8; 16], id: u8) -> [u8; 16] {
    cdb[2] = id;
    cdb
}

#[test]
fn overlapping_ranges_are_copied_as_they_were_even_when_held() {
    let array = Array::new();
    let path = array.lun0();
    let data: Vec<u8> = (1..=80).flat_map(|byte| pattern(byte, 1)).collect();
    for (from, to) in [(0, 20), (20, 0)] {
        path.write(from, &data);
        assert_good(&copy(&path, &List::of(&[10, 10], &[hold(80, from, to)]).id(1, 0b00)));
        assert_eq!(path.read(to, 80), data);
    }
}

#[test]
fn a_cscd_is_verified() {
    let array = Array::new();
    let path = array.lun0();
    let verify = |index, flags| {
        let mut list = List::of(&[10, 11, 12], &[segment(8, 0, 0)]);
        list.segments.push(VerifySegment::new(index, flags).as_bytes().to_vec());
        list
    };
    assert_good(&copy(&path, &verify(1, 0)));
    assert_good(&copy(&path, &verify(1, VerifySegment::TUR)));
    assert_good(&copy(&path, &verify(0xffff, VerifySegment::TUR)));
    let response = copy(&path, &verify(2, 0));
    assert_check(&response, 0x0a, 0x0d, 0x02);
    assert_eq!(response.sense[10..12], [0, 1]);
    // A reservation of another nexus matters only with TUR.
    let list = |flags| List { segments: vec![VerifySegment::new(1, flags).as_bytes().to_vec()], ..verify(1, 0) };
    assert_good(&array.on(array.b, 1).command(&hex!("16 00 0000 00 00")));
    assert_good(&copy(&path, &list(0)));
    let response = copy(&path, &list(VerifySegment::TUR));
    assert_check(&response, 0x0a, 0x0d, 0x01);
    assert_eq!((response.sense[8], response.sense[18]), (18, RESERVATION_CONFLICT));
}
