use hex_literal::hex;

use super::*;

/// WRITE(16) of two blocks with 8 bytes of immediate data, as bytes and as fields, both ways.
#[test]
fn scsi_command() {
    let raw: RawHeader = hex!(
        "01 a1 0000 00 000008 0001000000000000 12345678 00000400 00000007 00000009"
        "8a 00 0000000000001000 00000002 00 00"
    );
    let header = ScsiCommand::from_wire(&raw);
    assert_eq!(BasicHeader::from_wire(&raw).opcode(), Opcode::SCSI_COMMAND);
    assert_eq!(header.flags, FINAL | WRITE | TaskAttribute::SIMPLE.0);
    assert_eq!(header.data_segment_length.get(), 8);
    assert_eq!(header.lun, [0, 1, 0, 0, 0, 0, 0, 0]);
    assert_eq!(header.initiator_task_tag.get(), 0x1234_5678);
    assert_eq!(header.expected_data_transfer_length.get(), 1024);
    assert_eq!(header.cmd_sn.get(), 7);
    assert_eq!(header.exp_stat_sn.get(), 9);
    assert_eq!(header.cdb[0], 0x8A);
    assert_eq!(header.to_wire(), raw);

    let mut built = ScsiCommand::from_wire(&blank(Opcode::SCSI_COMMAND.0, 0xA1, 0x1234_5678));
    built.data_segment_length = U24::new(8);
    built.lun = header.lun;
    built.expected_data_transfer_length = 1024.into();
    built.cmd_sn = 7.into();
    built.exp_stat_sn = 9.into();
    built.cdb = header.cdb;
    assert_eq!(built.to_wire(), raw);
}

#[test]
fn scsi_response() {
    let raw: RawHeader = hex!(
        "21 82 00 02 00 000014 0000000000000000 0000000a 00000000 00000005 00000006 00000085"
        "00000001 00000000 000000d7"
    );
    let header = ScsiResponse::from_wire(&raw);
    assert_eq!((header.flags, header.response, header.status), (FINAL | UNDERFLOW, 0, 2));
    assert_eq!(header.stat_sn.get(), 5);
    assert_eq!(header.exp_cmd_sn.get(), 6);
    assert_eq!(header.max_cmd_sn.get(), 0x85);
    assert_eq!(header.exp_data_sn.get(), 1);
    assert_eq!(header.residual_count.get(), 215);
    assert_eq!(header.to_wire(), raw);
}

#[test]
fn data_in_and_data_out() {
    let raw: RawHeader = hex!(
        "25 81 00 00 00 001000 0000000000000000 00000001 ffffffff 00000002 00000003 00000082"
        "00000004 00002000 00000000"
    );
    let header = DataIn::from_wire(&raw);
    assert_eq!(header.flags, FINAL | STATUS);
    assert_eq!(header.data_sn.get(), 4);
    assert_eq!(header.buffer_offset.get(), 0x2000);
    assert_eq!(header.to_wire(), raw);

    let raw: RawHeader = hex!(
        "05 80 0000 00 000200 0000000000000000 00000001 00000007 00000000 00000003 00000000"
        "00000001 00000400 00000000"
    );
    let header = DataOut::from_wire(&raw);
    assert_eq!(header.target_transfer_tag.get(), 7);
    assert_eq!(header.exp_stat_sn.get(), 3);
    assert_eq!(header.data_sn.get(), 1);
    assert_eq!(header.buffer_offset.get(), 0x400);
    assert_eq!(header.to_wire(), raw);
}

#[test]
fn r2t_and_reject() {
    let raw: RawHeader = hex!(
        "31 80 0000 00 000000 0001000000000000 00000009 00000005 00000002 00000003 00000082"
        "00000000 00010000 00040000"
    );
    let header = R2t::from_wire(&raw);
    assert_eq!(header.r2t_sn.get(), 0);
    assert_eq!(header.buffer_offset.get(), 65_536);
    assert_eq!(header.desired_data_transfer_length.get(), 262_144);
    assert_eq!(header.to_wire(), raw);

    let raw: RawHeader = hex!(
        "3f 80 04 00 00 000030 0000000000000000 ffffffff 00000000 00000002 00000003 00000082"
        "00000000 0000000000000000"
    );
    let header = Reject::from_wire(&raw);
    assert_eq!(RejectReason(header.reason), RejectReason::PROTOCOL_ERROR);
    assert_eq!(header.to_wire(), raw);
}

#[test]
fn login() {
    let raw: RawHeader = hex!(
        "43 87 00 00 00 000100 00023d000001 0000 00000000 0001 0000 00000001 00000000"
        "00000000000000000000000000000000"
    );
    let header = LoginRequest::from_wire(&raw);
    assert_eq!(BasicHeader::from_wire(&raw).opcode(), Opcode::LOGIN_REQUEST);
    assert_eq!(header.opcode & IMMEDIATE, IMMEDIATE);
    assert_eq!(header.flags & TRANSIT, TRANSIT);
    assert_eq!(header.isid, [0, 2, 0x3D, 0, 0, 1]);
    assert_eq!(header.cid.get(), 1);
    assert_eq!(header.cmd_sn.get(), 1);
    assert_eq!(header.to_wire(), raw);

    let raw: RawHeader = hex!(
        "23 87 00 00 00 000040 00023d000001 0102 00000000 00000000 00000001 00000001 00000080"
        "02 03 00000000000000000000"
    );
    let header = LoginResponse::from_wire(&raw);
    assert_eq!(header.tsih.get(), 0x0102);
    let status = LoginStatus::new(header.status_class, header.status_detail);
    assert_eq!(status, LoginStatus::TARGET_NOT_FOUND);
    assert_eq!((status.class(), status.detail()), (2, 3));
    assert_eq!(header.to_wire(), raw);
}

#[test]
fn task_management_logout_nop_async() {
    let raw: RawHeader = hex!(
        "42 81 0000 00 000000 0001000000000000 00000011 00000010 00000007 00000008 00000006 00000000 0000000000000000"
    );
    let header = TaskManagementRequest::from_wire(&raw);
    assert_eq!(TaskManagementFunction(header.flags & 0x7F), TaskManagementFunction::ABORT_TASK);
    assert_eq!(header.referenced_task_tag.get(), 0x10);
    assert_eq!(header.ref_cmd_sn.get(), 6);
    assert_eq!(header.to_wire(), raw);

    let raw: RawHeader = hex!(
        "26 80 00 00 00 000000 0000000000000000 00000012 00000000 00000003 00000008 00000087 00000000 0002 0000 00000000"
    );
    assert_eq!(LogoutResponse::from_wire(&raw).time2wait.get(), 2);
    assert_eq!(LogoutResponse::from_wire(&raw).to_wire(), raw);

    let raw: RawHeader = hex!(
        "32 80 0000 00 000000 0000000000000000 ffffffff 00000000 00000003 00000008 00000087 01 00 0000 0000 0003 00000000"
    );
    let header = AsyncMessage::from_wire(&raw);
    assert_eq!(AsyncEvent(header.async_event), AsyncEvent::LOGOUT_REQUESTED);
    assert_eq!(header.parameter3.get(), 3);
    assert_eq!(header.to_wire(), raw);

    let raw: RawHeader = hex!(
        "20 80 0000 00 000000 0000000000000000 ffffffff 00000005 00000003 00000008 00000087 000000000000000000000000"
    );
    assert_eq!(NopIn::from_wire(&raw).target_transfer_tag.get(), 5);
    assert_eq!(NopIn::from_wire(&raw).to_wire(), raw);
}

#[test]
fn unknown_codes_survive() {
    assert_eq!(format!("{:?}", Opcode(0x1C)), "Opcode(0x1c)");
    assert_eq!(format!("{:?}", LoginStatus::TARGET_REMOVED), "TARGET_REMOVED");
}

#[test]
fn serial_numbers_wrap() {
    assert!(sn_before(0xFFFF_FFFF, 0));
    assert!(!sn_before(0, 0xFFFF_FFFF));
    assert!(!sn_before(5, 5));
}
