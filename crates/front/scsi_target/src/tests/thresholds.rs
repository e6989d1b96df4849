//! Soft thresholds: logical block provisioning mode page and log page, and recipients of the unit
//! attention.

use super::*;
use hex_literal::hex;
use unit::SoftThreshold;

/// Array with thresholds: half of the available space in the log page, and 3 MiB of the volume.
fn array() -> Array {
    let array = Array::new();
    let both = vec![SoftThreshold::Available { bytes: (5 << 29) + 5 }, SoftThreshold::Used { bytes: (3 << 20) - 5 }];
    array.store.thresholds.borrow_mut().insert(VolumeId(10), both);
    array
}

const SENSE: [u8; 6] = hex!("1a 08 1c 02 ff 00");
const PAGE: [u8; 32] = hex!("5c 02 001c 00 0000000000000000000000 80 01 0000 00000a00 81 02 0000 00000003");

/// The mode page counts in the same unit as log page 0Ch.
#[test]
fn descriptors_count_what_the_log_page_counts() {
    let array = array();
    let page = |control: u8| array.lun0().command(&[0x1a, 0x08, control << 6 | 0x1c, 2, 0xff, 0]).data_in[4..].to_vec();
    assert_eq!(page(0), PAGE);
    assert_eq!(page(2), PAGE);
    let changeable = page(1);
    assert_eq!(changeable[..5], hex!("5c 02 001c 01"));
    assert!(changeable[5..].iter().all(|byte| *byte == 0) && changeable.len() == PAGE.len());
    assert_check(&array.lun0().command(&hex!("1a 08 dc 02 ff 00")), 0x05, 0x39, 0x00);
    let log = array.lun0().command(&hex!("4d 00 4c 00 00 0000 00ff 00")).data_in;
    assert_eq!((&log[4..6], &log[8..12]), (&hex!("0001")[..], &hex!("00001400")[..]));
    assert_eq!(
        array.on(array.a, 1).command(&SENSE).data_in[4..],
        PAGE[..16].iter().enumerate().map(|(at, byte)| if at == 3 { 0x0c } else { *byte }).collect::<Vec<u8>>()
    );
    // Both subpages of the page.
    let both = array.lun0().command(&hex!("1a 08 1c ff ff 00")).data_in;
    assert_eq!((both[4], both[16], both.len()), (0x1c, 0x5c, 4 + 12 + 32));
}

#[test]
fn a_host_changes_who_hears_and_nothing_else() {
    let array = array();
    let path = array.lun0();
    let select = |list: &[u8]| {
        path.data_out(&[0x15, 0x10, 0, 0, u8::try_from(list.len() + 4).unwrap(), 0], &[&[0; 4], list].concat())
    };
    let mut single = PAGE;
    single[4] = 1;
    assert_good(&select(&single));
    assert_check(&array.on(array.b, 0).command(&[0; 6]), 0x06, 0x2a, 0x01);
    array.settle(array.a2);
    assert_eq!(path.command(&SENSE).data_in[4..], single);
    // One nexus gets the unit attention.
    let told = || {
        let heard = [array.a, array.a2, array.b]
            .into_iter()
            .filter(|nexus| array.on(*nexus, 0).command(&[0; 6]).status != GOOD);
        heard.count()
    };
    array.target.soft_threshold_reached(Some(VolumeId(10)));
    assert_eq!((told(), told()), (1, 0));
    assert_good(&select(&PAGE));
    array.settle(array.a2);
    array.settle(array.b);
    array.target.soft_threshold_reached(Some(VolumeId(10)));
    assert_eq!((told(), told()), (3, 0));

    // Only the administrator sets thresholds; the fields of the page header have to be correct.
    for (at, byte) in [(16, 0x00), (17, 0x02), (23, 0x01), (5, 0x01)] {
        let mut other = PAGE;
        other[at] = byte;
        assert_field(&select(&other), false, u16::try_from(at).unwrap() + 4);
    }
    let mut longer = PAGE;
    longer[3] = 0x24;
    assert_field(&select(&longer), false, 4 + 2);
    assert_check(&select(&PAGE[..20]), 0x05, 0x1a, 0x00);
    assert_check(&select(&PAGE[..3]), 0x05, 0x1a, 0x00);
    // Page 0 in subpage format, and a subpage that does not exist.
    assert_field(&select(&hex!("5c 00 0000")), false, 4);
    assert_field(&select(&hex!("5c 03 0000")), false, 4);
    // A reset restores the default.
    assert_good(&select(&single));
    array.target.logical_unit_reset(array.a, [0; 8]).unwrap();
    array.settle(array.a);
    assert_eq!(path.command(&SENSE).data_in[4..], PAGE);
}
