use super::*;
use hex_literal::hex;

#[test]
fn all_pages_come_with_a_block_descriptor() {
    let array = Array::new();
    let data = array.lun0().command(&hex!("1a 00 3f 00 ff 00")).data_in;
    assert_eq!(data[..12], hex!("37 00 10 08 00020000 00000200"));
    assert_eq!(data.len(), 0x38);
    assert_eq!((data[12], data[32], data[44]), (0x08, 0x0a, 0x1c));
    // Subpages add one page: logical block provisioning, without thresholds.
    let without = array.lun0().command(&hex!("5a 08 3f ff 000000 00ff 00")).data_in;
    assert_eq!(without[..8], hex!("0042 00 10 00 00 0000"));
    assert_eq!(without[without.len() - 16..], hex!("5c 02 000c 00 0000000000000000000000"));
    array.volumes[0].resize(1 << 33);
    let data = array.lun0().command(&hex!("1a 00 08 00 ff 00")).data_in;
    assert_eq!(data[4..12], hex!("ffffffff 00000200"));
}

#[test]
fn pages_have_their_lengths() {
    let array = Array::new();
    for (page, length) in [(0x08u8, 0x12u8), (0x0a, 0x0a), (0x1c, 0x0a)] {
        let data = array.lun0().command(&[0x1a, 0x08, page, 0, 0xff, 0]).data_in;
        assert_eq!((data[4], data[5], data.len()), (page, length, usize::from(length) + 6));
    }
    for cdb in
        [hex!("1a 08 2b 00 ff 00"), hex!("1a 08 1c 03 ff 00"), hex!("1a 08 3f 01 ff 00"), hex!("1a 08 08 02 ff 00")]
    {
        assert_eq!(array.lun0().command(&cdb).sense[12], 0x24);
    }
}

#[test]
fn page_control_selects_the_values() {
    let array = Array::new();
    array.volumes[0].set_write_cache(true);
    let flags = |control: u8| array.lun0().command(&[0x1a, 0x08, control << 6 | 0x08, 0, 0xff, 0]).data_in[6];
    assert_eq!((flags(0), flags(1), flags(2)), (0x04, 0x00, 0x00));
    assert_check(&array.lun0().command(&[0x1a, 0x08, 0xc8, 0, 0xff, 0]), 0x05, 0x39, 0x00);
    let changeable = array.lun0().command(&[0x1a, 0x08, 0x4a, 0, 0xff, 0]).data_in;
    assert_eq!(changeable[6..10], hex!("00 00 08 00"));
}

/// Only the administrator changes the write cache: WCE is reported, is not changeable, and MODE
/// SELECT may only repeat it.
#[test]
fn write_cache_enable_is_not_changed_by_hosts() {
    let array = Array::new();
    let list = |wce: u8| [&[0, 0, 0, 0, 0x08, 0x12, wce][..], &[0; 17]].concat();
    let select = hex!("15 10 0000 18 00");
    for enabled in [false, true] {
        array.volumes[0].set_write_cache(enabled);
        let (now, other) = if enabled { (4, 0) } else { (0, 4) };
        assert_good(&array.lun0().data_out(&select, &list(now)));
        assert_field(&array.lun0().data_out(&select, &list(other)), false, 6);
        assert_eq!(array.lun0().command(&[0x1a, 0x08, 0x08, 0, 0xff, 0]).data_in[6], now);
        assert_eq!(array.lun0().command(&hex!("12 01 86 0040 00")).data_in[6], now >> 2);
        assert_good(&array.on(array.b, 0).command(&[0; 6]));
    }
    array.target.mode_parameters_changed(VolumeId(10));
    assert_check(&array.lun0().command(&[0; 6]), 0x06, 0x2a, 0x01);
}

#[test]
fn software_write_protect_refuses_writes_until_cleared() {
    let array = Array::new();
    let path = array.lun0();
    let list = |protect: u8| [&hex!("0000 00 00 00 00 0000")[..], &[0x0a, 0x0a, 0, 0x10, protect, 0], &[0; 6]].concat();
    let select = hex!("55 10 0000000000 0014 00");
    assert_good(&path.data_out(&select, &list(8)));
    assert_check(&path.data_out(&cdb16(0x8a, 0, 0, 1), &pattern(1, 1)), 0x07, 0x27, 0x02);
    assert_eq!(path.command(&hex!("1a 00 3f 00 ff 00")).data_in[2], 0x90);
    assert_eq!(path.read(0, 1), pattern(0, 1));
    assert_good(&path.data_out(&select, &list(0)));
    path.write(0, &pattern(1, 1));
    assert_good(&path.data_out(&select, &list(8)));
    // A reset restores the default.
    array.target.logical_unit_reset(array.a, [0; 8]).unwrap();
    array.settle(array.a);
    path.write(0, &pattern(2, 1));
}

#[test]
fn mode_select_refuses_what_cannot_be_changed() {
    let array = Array::new();
    let path = array.lun0();
    let select = |list: &[u8]| {
        let cdb = [0x15, 0x10, 0, 0, u8::try_from(list.len()).unwrap(), 0];
        path.data_out(&cdb, list)
    };
    assert_good(&select(&[]));
    // D_SENSE.
    assert_field(&select(&hex!("00000000 0a 0a 04 10 00 00 000000000000")), false, 6);
    // RCD.
    assert_field(&select(&hex!("00000000 08 12 01 00 00000000 00000000 00000000 00000000")), false, 6);
    // Wrong page length, unknown page, subpage format.
    assert_field(&select(&hex!("00000000 0a 09 00 10 00 00 0000000000")), false, 5);
    assert_field(&select(&hex!("00000000 2b 00")), false, 4);
    assert_field(&select(&hex!("00000000 4a 01 0000")), false, 4);
    // Truncated lists.
    for list in [&hex!("000000")[..], &hex!("00000000 0a"), &hex!("00000000 0a 0a 00 10"), &hex!("00000008 0000")] {
        assert_check(&select(list), 0x05, 0x1a, 0x00);
    }
    // Block descriptors: the current values, or none.
    assert_good(&select(&hex!("00000008 00020000 00000200")));
    assert_good(&select(&hex!("00000008 00000000 00000000")));
    assert_field(&select(&hex!("00000008 00000001 00000200")), false, 4);
    assert_field(&select(&hex!("00000008 00000000 00001000")), false, 9);
    assert_field(&select(&hex!("00000007 00000000 000000")), false, 3);
    // SP: nothing can be saved.
    assert_field(&path.data_out(&hex!("15 11 0000 04 00"), &[0; 4]), true, 1);
    // Announced Data-Out shorter than the CDB says.
    assert_check(&path.data_out(&hex!("15 10 0000 10 00"), &[0; 4]), 0x05, 0x1a, 0x00);
}
