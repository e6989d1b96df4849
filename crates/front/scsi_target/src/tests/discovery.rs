use super::*;
use hex_literal::hex;

fn inquiry(path: &Path<'_>, page: Option<u8>, allocation: u16) -> Response {
    let [high, low] = allocation.to_be_bytes();
    path.command(&[0x12, u8::from(page.is_some()), page.unwrap_or(0), high, low, 0])
}

#[test]
fn standard_inquiry_announces_what_esxi_looks_for() {
    let array = Array::new();
    let response = inquiry(&array.lun0(), None, 96);
    assert_good(&response);
    let data = response.data_in;
    assert_eq!(data.len(), 96);
    assert_eq!(data[..8], hex!("00 00 06 02 5b 18 10 02"));
    assert_eq!(&data[8..32], b"WINDLASSVOLUME          ");
    assert_eq!(data[58..66], hex!("00a0 0460 04c0 0960"));
}

#[test]
fn a_short_allocation_length_truncates_and_changes_nothing() {
    let array = Array::new();
    let response = inquiry(&array.lun0(), None, 5);
    assert_eq!((response.data_in.as_ref(), response.transfer_bytes), (&hex!("00 00 06 02 5b")[..], 5));
}

#[test]
fn a_page_code_without_evpd_is_refused() {
    let array = Array::new();
    assert_field(&array.lun0().command(&[0x12, 0, 0x83, 0, 96, 0]), true, 2);
    assert_field(&inquiry(&array.lun0(), Some(0xc5), 255), true, 2);
}

#[test]
fn every_listed_page_exists_and_has_its_length() {
    let array = Array::new();
    let list = inquiry(&array.lun0(), Some(0), 255).data_in;
    assert_eq!(list[3..], hex!("08 00 80 83 86 8f b0 b1 b2"));
    for page in &list[4..] {
        let data = inquiry(&array.lun0(), Some(*page), 1024).data_in;
        assert_eq!(data[1], *page);
        assert_eq!(usize::from(u16::from_be_bytes([data[2], data[3]])) + 4, data.len());
    }
}

#[test]
fn block_limits_are_those_enforced() {
    let array = Array::new();
    let data = inquiry(&array.lun0(), Some(0xb0), 64).data_in;
    assert_eq!(
        data[..44],
        hex!("00 b0 003c 01 01 0008 00008000 00000800 00000000 00100000 00000100 00000008 80000000 000000000000ffff")
    );
    let data = inquiry(&array.lun0(), Some(0xb2), 64).data_in;
    assert_eq!(data.as_ref(), hex!("00 b2 0004 0b e4 02 00"));
}

#[test]
fn designators_name_the_unit_equally_on_every_port() {
    let array = Array::new();
    let one = inquiry(&array.on(array.a, 0), Some(0x83), 1024).data_in;
    let two = inquiry(&array.on(array.a2, 0), Some(0x83), 1024).data_in;
    assert_eq!(one[4..8], hex!("01 03 00 10"));
    assert_eq!(one[8..24], naa(10));
    assert_eq!(one[4..44], two[4..44]);
    assert_ne!(one, two);
    assert!(one.len() < 255, "libiscsi reads 255 bytes");
    let other = inquiry(&array.on(array.a, 1), Some(0x83), 1024).data_in;
    assert_eq!(other[8..24], naa(11));
}

#[test]
fn third_party_copy_page_lists_the_commands_that_exist() {
    let array = Array::new();
    let data = inquiry(&array.lun0(), Some(0x8f), 1024).data_in;
    // Each descriptor is a type, a length, and data whose length is a multiple of four bytes.
    let mut descriptors = std::collections::BTreeMap::new();
    let mut rest = &data[4..];
    while let [a, b, c, d, ..] = *rest {
        let length = usize::from(u16::from_be_bytes([c, d]));
        assert_eq!(length % 4, 0);
        descriptors.insert(u16::from_be_bytes([a, b]), &rest[4..4 + length]);
        rest = &rest[4 + length..];
    }
    assert_eq!(
        descriptors.keys().copied().collect::<Vec<_>>(),
        [0x0000, 0x0001, 0x0004, 0x0008, 0x000c, 0x0106, 0x0108, 0x8001, 0xc001]
    );
    let commands = hex!("11 83 05 00 01 10 11 1c 84 08 00 01 03 04 05 06 07 08 00 00");
    assert_eq!(descriptors[&0x0001][..18], commands[..18]);
    assert_eq!(descriptors[&0x0008][..6], hex!("05 02 07 0a 0d e4"));
    let limits = Limits::default().tokens;
    let block_limits = hex!("000000000000 0020 00000258 0000003c 0000000002000000 0000000002000000");
    assert_eq!(descriptors[&0x0000][..32], block_limits);
    assert_eq!(limits.blocks, 0x200_0000);
    let features = descriptors[&0x0106];
    assert_eq!((features.len(), &features[..12]), (0x5c, &[0; 12][..]));
    assert_eq!(features[12..24], hex!("00000000 00000e10 00000258"));
    assert_eq!(features[42..60], hex!("0030 00 00 002c 0000 0008 0000000400000000"));
    let types = descriptors[&0x0108];
    assert_eq!((types.len(), &types[..8], types[8]), (132, &hex!("0000 0080 00800000")[..], 0x03));
    assert_eq!((&types[68..72], types[72]), (&hex!("ffff0001")[..], 0x02));
    assert_eq!(descriptors[&0xc001][..5], hex!("00004000 09"));
}

#[test]
fn an_unmapped_lun_says_so() {
    let array = Array::new();
    let nowhere = array.on(array.a, 200);
    let response = inquiry(&nowhere, None, 36);
    assert_good(&response);
    assert_eq!((response.data_in[0], response.data_in.len()), (0x7f, 36));
    assert_check(&nowhere.command(&[0; 6]), 0x05, 0x25, 0x00);
    assert_check(&nowhere.command(&cdb16(0x88, 0, 0, 1)), 0x05, 0x25, 0x00);
    let sense = nowhere.command(&[0x03, 0, 0, 0, 18, 0]);
    assert_eq!((sense.status, sense.data_in[2], sense.data_in[12]), (GOOD, 0x05, 0x25));
}

#[test]
fn report_luns_works_on_lun_0_even_when_it_is_unmapped() {
    let array = Array::new();
    let report = hex!("a0 00 00 000000 00004000 00 00");
    let response = array.lun0().command(&report);
    assert_eq!(response.data_in.as_ref(), hex!("00000010 00000000 0000000000000000 0001000000000000"));
    let cut = array.lun0().command(&hex!("a0 00 00 000000 00000010 00 00"));
    assert_eq!(cut.data_in.as_ref(), hex!("00000010 00000000 0000000000000000"));
    array.target.revoke(VolumeId(10), None);
    let response = array.lun0().command(&report);
    assert_eq!(response.data_in.as_ref(), hex!("00000008 00000000 0001000000000000"));
    assert_check(&array.lun0().command(&[0; 6]), 0x05, 0x25, 0x00);
}

#[test]
fn test_unit_ready_with_a_read_direction_moves_nothing() {
    let array = Array::new();
    let response = array.lun0().data_in(&[0; 6], 252);
    assert_good(&response);
    assert_eq!((response.data_in.len(), response.transfer_bytes), (0, 0));
}

#[test]
fn capacity_is_reported_in_both_forms() {
    let array = Array::new();
    let ten = array.lun0().command(&[0x25, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(ten.data_in.as_ref(), hex!("0001ffff 00000200"));
    let sixteen = array.lun0().command(&cdb16(0x9e, 0x10, 0, 32));
    assert_eq!(
        sixteen.data_in.as_ref(),
        hex!("000000000001ffff 00000200 00 00 c0 00 00000000000000000000000000000000")
    );
    assert_eq!(array.lun0().command(&cdb16(0x9e, 0x10, 0, 12)).data_in.len(), 12);
    array.volumes[0].resize(1 << 33);
    let ten = array.lun0().command(&[0x25, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(ten.data_in.as_ref(), hex!("ffffffff 00000200"));
}

#[test]
fn one_port_group_holds_every_port() {
    let array = Array::new();
    let report = hex!("a3 0a 00000000 00000400 00 00");
    let one = array.on(array.a, 0).command(&report);
    let two = array.on(array.a2, 0).command(&report);
    assert_eq!(one.data_in, two.data_in);
    assert_eq!(one.data_in.as_ref(), hex!("00000010 00 8f 0001 00 00 00 02 00000001 00000002"));
    let cut = array.lun0().command(&hex!("a3 0a 00000000 00000004 00 00"));
    assert_eq!(cut.data_in.as_ref(), hex!("00000010"));
    assert_check(&array.lun0().command(&hex!("a4 0a 00000000 00000000 00 00")), 0x05, 0x20, 0x00);
}

#[test]
fn operation_codes_are_reported_from_the_table() {
    let array = Array::explicit();
    for (opcode, service_action, length) in
        [(0x89, None, 16u8), (0x83, Some(0u8), 16), (0x84, Some(3), 16), (0x93, None, 16), (0x42, None, 10)]
    {
        let options = if service_action.is_some() { 2 } else { 1 };
        let mut cdb = cdb(&hex!("a3 0c 00 00 0000 00010000 00 00"));
        cdb[2] = options;
        cdb[3] = opcode;
        cdb[5] = service_action.unwrap_or(0);
        let data = array.lun0().command(&cdb).data_in;
        assert_eq!((data[1], data[3], data[4]), (3, length, opcode));
        if let Some(service_action) = service_action {
            assert_eq!(data[5], service_action);
        }
        // The other reporting option is an error for this command.
        cdb[2] = 3 - options;
        let response = array.lun0().command(&cdb);
        assert_eq!((response.status, response.sense[12]), (CHECK_CONDITION, 0x24));
    }
    let all = array.lun0().command(&hex!("a3 0c 00 00 0000 00010000 00 00")).data_in;
    assert_eq!(all.len(), 4 + 8 * crate::commands::commands().count());
    let unknown = array.lun0().command(&hex!("a3 0c 01 e7 0000 00010000 00 00")).data_in;
    assert_eq!(unknown.as_ref(), hex!("00 01 0000"));
    let timed = array.lun0().command(&hex!("a3 0c 81 00 0000 00010000 00 00")).data_in;
    assert_eq!(timed.as_ref(), hex!("00 83 0006 00 00 0000 00 00 000a 0000 00000000 00000000"));
    let functions = array.lun0().command(&hex!("a3 0d 00 000000 00000010 00 00")).data_in;
    assert_eq!(functions.as_ref(), hex!("da 00 00 00"));
}

#[test]
fn commands_that_do_not_exist_are_refused_as_such() {
    let array = Array::new();
    for opcode in [0xe7, 0x85, 0x4c] {
        assert_check(&array.lun0().command(&[opcode]), 0x05, 0x20, 0x00);
    }
    assert_field(&array.lun0().command(&[0x83, 0x1f]), true, 1);
    assert_field(&array.lun0().command(&[0x84, 0x1f]), true, 1);
}

#[test]
fn every_row_of_the_table_is_dispatched() {
    let array = Array::explicit();
    for row in crate::commands::commands() {
        let mut cdb = [0; 16];
        cdb[0] = row.opcode;
        cdb[1] = row.service_action.unwrap_or(0);
        let response = array.lun0().command(&cdb);
        array.settle(array.a);
        let unknown = response.status == CHECK_CONDITION && response.sense[12] == 0x20;
        assert!(!unknown, "{} is in the table but not executed", row.name);
    }
}

#[test]
fn a_new_nexus_meets_power_on_once_per_unit() {
    let array = Array::new();
    let c = array.target.attach_nexus("iqn.c,i,0x1", "iqn.c", 1);
    let path = array.on(c, 0);
    // INQUIRY, REPORT LUNS and REQUEST SENSE are executed and leave it pending.
    assert_good(&inquiry(&path, None, 36));
    assert_good(&path.command(&hex!("a0 00 00 000000 00004000 00 00")));
    assert_eq!(path.command(&[0x03, 0, 0, 0, 18, 0]).data_in[2], 0);
    assert_check(&path.command(&[0; 6]), 0x06, 0x29, 0x00);
    assert_good(&path.command(&[0; 6]));
    assert_check(&array.on(c, 1).command(&[0; 6]), 0x06, 0x29, 0x00);
    assert_eq!(array.target.nexus_list().len(), 4);
    array.target.detach_nexus(c);
    assert_eq!(array.target.nexus_list().len(), 3);
    assert_check(&path.command(&[0; 6]), 0x05, 0x25, 0x00);
}

#[test]
fn a_resize_is_announced_to_every_nexus() {
    let array = Array::new();
    array.volumes[0].resize(BLOCKS * 2);
    array.target.resized(VolumeId(10));
    for nexus in [array.a, array.a2, array.b] {
        assert_check(&array.on(nexus, 0).command(&[0; 6]), 0x06, 0x2a, 0x09);
        assert_good(&array.on(nexus, 0).command(&[0; 6]));
        assert_good(&array.on(nexus, 1).command(&[0; 6]));
    }
    assert_eq!(array.lun0().command(&cdb16(0x9e, 0x10, 0, 8)).data_in.as_ref(), (BLOCKS * 2 - 1).to_be_bytes());
}
