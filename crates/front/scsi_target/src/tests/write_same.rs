use super::compare_and_write::statistics;
use super::*;
use hex_literal::hex;
use unit::{Primitive, Reason};

#[test]
fn zeros_deallocate_with_or_without_unmap() {
    let array = Array::new();
    let path = array.lun0();
    for flags in [0x00, 0x08, 0x01, 0x09] {
        path.write(0, &pattern(1, 16));
        let data = if flags & 1 == 1 { Vec::new() } else { pattern(0, 1) };
        let response = path.data_out(&cdb16(0x93, flags, 0, 2048), &data);
        assert_good(&response);
        assert_eq!(response.transfer_bytes, data.len() as u64);
        assert_eq!(path.read(0, 16), pattern(0, 16));
        assert_eq!(array.volumes[0].mapped_blocks(), 0);
    }
    path.write(0, &pattern(1, 1));
    assert_good(&path.data_out(&hex!("41 00 00000000 00 0800 00"), &pattern(0, 1)));
    assert_eq!(array.volumes[0].mapped_blocks(), 0);
    let zero = statistics(&array, 10, Primitive::Zero);
    assert_eq!((zero.ok, zero.bytes), (5, 5 << 20));
    assert_eq!(zero.host_bytes_avoided, (5 << 20) - 3 * 512);
}

#[test]
fn other_data_is_written_even_with_unmap() {
    let array = Array::new();
    let path = array.lun0();
    for flags in [0x00, 0x08] {
        let byte = 0xa5 ^ flags;
        assert_good(&path.data_out(&cdb16(0x93, flags, 8, 5000), &pattern(byte, 1)));
        assert!(path.read(8, 5000) == pattern(byte, 5000));
        assert_eq!(path.read(7, 1), pattern(0, 1));
        assert_eq!(path.read(5008, 1), pattern(0, 1));
    }
}

#[test]
fn counts_are_checked() {
    let array = Array::new();
    let path = array.lun0();
    let block = pattern(0, 1);
    assert_field(&path.data_out(&cdb16(0x93, 0, 0, 0), &block), true, 10);
    assert_field(&path.data_out(&cdb16(0x93, 0, 0, 0x1_0000), &block), true, 10);
    assert_field(&path.data_out(&hex!("41 08 00000000 00 0000 00"), &block), true, 7);
    assert_check(&path.data_out(&cdb16(0x93, 0, BLOCKS - 1, 2), &block), 0x05, 0x21, 0x00);
    assert_check(&path.data_out(&cdb16(0x93, 0, u64::MAX, 1), &block), 0x05, 0x21, 0x00);
    let reasons: Vec<_> = array.units.refusals(0).iter().map(|entry| (entry.reason, entry.count)).collect();
    assert_eq!(
        reasons,
        [
            (Reason::InvalidField, 1),
            (Reason::OverLimit, 1),
            (Reason::InvalidField, 1), // of WRITE SAME (10)
            (Reason::OutOfRange, 2)
        ]
    );
    assert_eq!(statistics(&array, 10, Primitive::Zero).refused, 5);
}

#[test]
fn a_count_of_zero_may_mean_to_the_end() {
    let profile = Profile { write_same_to_end: true, ..Profile::default() };
    let array = Array::with(profile, Limits::default());
    let path = array.lun0();
    assert_eq!(path.command(&hex!("12 01 b0 0040 00")).data_in[4], 0);
    path.write(BLOCKS - 10, &pattern(1, 10));
    assert_good(&path.data_out(&cdb16(0x93, 0x08, BLOCKS - 5, 0), &pattern(0, 1)));
    assert_eq!(path.read(BLOCKS - 10, 10), [pattern(1, 5), pattern(0, 5)].concat());
    assert_field(&path.data_out(&cdb16(0x93, 0, 0, 0), &pattern(0, 1)), true, 10);
    assert_check(&path.data_out(&cdb16(0x93, 0, BLOCKS + 1, 0), &pattern(0, 1)), 0x05, 0x21, 0x00);
}

#[test]
fn unsupported_bits_are_refused() {
    let array = Array::new();
    // ANCHOR with and without UNMAP, PBDATA, LBDATA, WRPROTECT; NDOB does not exist in the 10-byte
    // form.
    for flags in [0x10, 0x18, 0x04, 0x02, 0x20] {
        assert_field(&array.lun0().data_out(&cdb16(0x93, flags, 0, 1), &pattern(0, 1)), true, 1);
    }
    assert_field(&array.lun0().data_out(&hex!("41 01 00000000 00 0001 00"), &[]), true, 1);
}

#[test]
fn the_payload_is_one_block() {
    let array = Array::new();
    for (flags, bytes) in [(0x00, 1024), (0x08, 256), (0x00, 0), (0x01, 512)] {
        assert_field(&array.lun0().data_out(&cdb16(0x93, flags, 0, 1), &vec![0; bytes]), true, 1);
    }
    assert_eq!(array.volumes[0].calls(), 0);
}
