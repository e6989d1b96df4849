//! Less frequent writes: ORWRITE and WRITE ATOMIC; also READ DEFECT DATA.

use super::*;
use block::{BlockDevice, Durability, Extent};
use hex_literal::hex;

fn atomic(lba: u64, count: u16) -> [u8; 16] {
    let mut cdb = cdb16(0x9c, 0, lba, 0);
    cdb[12..14].copy_from_slice(&count.to_be_bytes());
    cdb
}

#[test]
fn orwrite_keeps_every_bit_that_was_set() {
    let array = Array::new();
    array.lun0().write(4, &pattern(0x0f, 300));
    assert_good(&array.lun0().data_out(&cdb16(0x8b, 0x08, 2, 302), &pattern(0xa0, 302)));
    assert_eq!(array.lun0().read(2, 2), pattern(0xa0, 2));
    assert_eq!(array.lun0().read(4, 300), pattern(0xaf, 300));
    assert_eq!(array.lun0().read(304, 1), pattern(0, 1));
    assert_eq!(array.volumes[0].forced_writes(), 3);
}

#[test]
fn orwrite_loses_no_write_in_between() {
    let array = Array::new();
    array.volumes[0].hold(true);
    let request = array.lun0().request(&cdb16(0x8b, 0, 0, 1), Bytes::from(pattern(0x01, 1)), 0, 512);
    let mut request = pin!(request);
    // ORWRITE has read zeros and waits to write.
    assert!(request.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    let mut write = pin!(array.on(array.b, 0).request(&cdb16(0x8a, 0, 0, 1), Bytes::from(pattern(0x20, 1)), 0, 512));
    array.volumes[0].hold(false);
    assert!(write.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending(), "ORWRITE is under way");
    // A write that bypasses the commands waits for no lock.
    let (extent, data) = (Extent::new(0, 1), Bytes::from(pattern(0x10, 1)));
    run(array.volumes[0].write(extent, data, Durability::AsConfigured)).unwrap();
    assert_good(&run(request));
    assert_eq!(array.lun0().read(0, 1), pattern(0x11, 1));
    assert_good(&run(write));
    assert_eq!(array.lun0().read(0, 1), pattern(0x20, 1));
}

#[test]
fn what_does_not_fit_is_refused_and_changes_nothing() {
    let array = Array::new();
    let lun0 = array.lun0();
    for cdb in [cdb16(0x8b, 0, BLOCKS - 1, 2), atomic(BLOCKS - 1, 2)] {
        assert_check(&lun0.data_out(&cdb, &pattern(1, 2)), 0x05, 0x21, 0x00);
    }
    assert_field(&lun0.data_out(&atomic(0, 0x8001), &pattern(1, 1)), true, 12);
    assert_field(&lun0.data_out(&cdb16(0x8b, 0x20, 0, 1), &pattern(1, 1)), true, 1);
    // Partial data is refused by both commands.
    assert_check(&lun0.data_out_expecting(&atomic(0, 2), &pattern(1, 1), 512), 0x05, 0x24, 0x00);
    assert_check(&lun0.data_out_expecting(&cdb16(0x8b, 0, 0, 2), &pattern(1, 1), 512), 0x05, 0x24, 0x00);
    let mut bounded = atomic(0, 1);
    bounded[11] = 8;
    assert_field(&lun0.data_out(&bounded, &pattern(1, 1)), true, 11);
    assert_eq!(array.volumes[0].calls(), 0);
    for cdb in [cdb16(0x8b, 0, BLOCKS, 0), atomic(BLOCKS, 0)] {
        assert_good(&lun0.data_out(&cdb, &[]));
    }
}

#[test]
fn atomic_writes_are_one_call() {
    let array = Array::new();
    assert_good(&array.lun0().data_out(&atomic(8, 0x1000), &pattern(7, 0x1000)));
    assert_eq!(array.volumes[0].calls(), 1);
    assert_eq!(array.lun0().read(8 + 0xfff, 1), pattern(7, 1));
    let limits = array.lun0().command(&hex!("12 01 b0 00ff 00")).data_in;
    assert_eq!(limits[44..64], hex!("00008000 00000000 00000000 00000000 00000000"));
}

#[test]
fn there_are_no_defects() {
    let array = Array::new();
    let data = array.lun0().command(&hex!("37 00 1d 00000000 00ff 00")).data_in;
    assert_eq!(data.as_ref(), hex!("00 1d 0000"));
    let data = array.lun0().command(&hex!("b7 0b 00000000 000000ff 00 00")).data_in;
    assert_eq!(data.as_ref(), hex!("00 0b 0000 00000000"));
    assert_field(&array.lun0().command(&hex!("b7 0b 00000001 000000ff 00 00")), true, 2);
}
