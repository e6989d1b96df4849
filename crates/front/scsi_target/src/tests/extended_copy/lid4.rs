//! EXTENDED COPY (LID4) and its status, in the foreground and in the background.

use super::*;
use scsi::third_party_copy::ParameterListHeaderLid4 as Header;
use std::pin::pin;

pub(in crate::tests) fn list4(id: u32, usage: u8, flags: u8, segments: &[BlockToBlockSegment]) -> Vec<u8> {
    let list = List::of(&[10, 11], segments);
    let lengths =
        (u16::try_from(list.cscds.as_bytes().len()).unwrap(), u16::try_from(segments.as_bytes().len()).unwrap());
    let header = Header::new(id, usage, flags, lengths.0, lengths.1);
    [header.as_bytes(), list.cscds.as_bytes(), segments.as_bytes()].concat()
}

fn send4(path: &Path<'_>, list: &[u8]) -> Response {
    path.data_out(&cdb16(0x83, 1, 0, u32::try_from(list.len()).unwrap()), list)
}

/// Command with a list identifier of four bytes.
pub(in crate::tests) fn with_id4(opcode: u8, service_action: u8, id: u32) -> [u8; 16] {
    let allocation = if opcode == 0x84 { 1 << 16 } else { 0 };
    let mut cdb = cdb16(opcode, service_action, 0, allocation);
    cdb[2..6].copy_from_slice(&id.to_be_bytes());
    cdb
}

#[test]
fn copies_and_tells_in_both_forms() {
    let array = Array::new();
    let path = array.lun0();
    path.write(0, &pattern(1, 16));
    let list = list4(0x77, 0b00, 0, &[segment(8, 0, 0), segment(8, 8, 8)]);
    assert_good(&send4(&path, &list));
    assert_eq!(array.on(array.a, 1).read(0, 16), pattern(1, 16));
    let status = path.command(&with_id4(0x84, 5, 0x77)).data_in;
    assert_eq!(status.as_ref(), hex!("0000001c 01 01 0001 fffffffe 00 00 00 00 0000000000002000 0002 000000000000"));
    // Status of the same operation by an identifier of one byte.
    assert_eq!(receive(&path, 0, 0x77).data_in.as_ref(), hex!("00000008 01 0002 00 00002000"));
    assert_field(&path.command(&with_id4(0x84, 5, 0x177)), true, 2);
    assert_field(&array.on(array.b, 0).command(&with_id4(0x84, 5, 0x77)), true, 2);
    // A failure is reported with its sense data.
    let response = send4(&path, &list4(u32::MAX, 0b00, 0, &[segment(8, 0, 0), segment(8, BLOCKS, 0)]));
    assert_eq!((response.sense[2], &response.sense[10..12]), (0x0a, &[0, 1][..]));
    let status = path.command(&with_id4(0x84, 5, u32::MAX)).data_in;
    assert_eq!(status[5], 0x02);
    assert_eq!(
        (status[12], usize::from(status[13]), usize::from(status[14])),
        (CHECK_CONDITION, response.sense.len(), response.sense.len())
    );
    assert_eq!(status[24..26], [0, 1]);
    assert_eq!(status[32..], response.sense);
    let data = path.command(&with_id4(0x84, 6, u32::MAX)).data_in;
    assert_eq!(data[32 + response.sense.len()..], [0; 4]);
    // Results that may be discarded are discarded.
    assert_good(&send4(&path, &list4(5, 0b10, 0, &[segment(8, 0, 0)])));
    assert_field(&path.command(&with_id4(0x84, 5, 5)), true, 2);
}

#[test]
fn good_with_sense_data_when_asked_for() {
    let array = Array::new();
    let response = send4(&array.lun0(), &list4(1, 0b00, Header::G_SENSE, &[segment(8, 0, 0)]));
    assert_eq!((response.status, response.sense[2], response.sense[12], response.sense[13]), (GOOD, 0x0f, 0x00, 0x20));
}

#[test]
fn the_header_is_checked() {
    let array = Array::new();
    let path = array.lun0();
    let good = list4(1, 0b00, 0, &[segment(8, 0, 0)]);
    for (at, value, pointer) in [(0, 0, 0), (1, 0x08, 1), (1, 0x18, 20), (3, 0x1f, 2), (15, 0x04, 15), (16, 0xe4, 16)] {
        let mut list = good.clone();
        list[at] = value;
        assert_field(&send4(&path, &list), false, pointer);
    }
    for length in [1, 47, 48, 100, 139] {
        assert_check(&send4(&path, &good[..length]), 0x05, 0x1a, 0x00);
    }
    let mut inline = good.clone();
    inline[47] = 1;
    assert_check(&send4(&path, &inline), 0x05, 0x26, 0x0b);
    // IMMED without a list identifier is refused: the result could not be queried.
    assert_field(&send4(&path, &list4(0, 0b11, Header::IMMED, &[segment(8, 0, 0)])), false, 1);
    assert_good(&send4(&path, &list4(0, 0b11, 0, &[segment(8, 0, 0)])));
    assert_good(&send4(&path, &[]));
    assert_eq!(array.volumes[1].calls(), 1);
    let giant = cdb16(0x83, 1, 0, u32::MAX);
    assert_eq!(array.target.data_out_bytes(array.a, [0; 8], &giant, u32::MAX), 0);
    // The longest lists that are announced: 64 descriptors of each kind.
    let many = List::of(&[10; 64], &[segment(8, 0, 0); 64]);
    let header = Header::new(1, 0b00, 0, 64 * 32, 64 * 28);
    assert_good(&send4(&path, &[header.as_bytes(), many.cscds.as_bytes(), &many.segments.concat()].concat()));
}

#[test]
fn an_immediate_copy_goes_on_after_its_command() {
    let array = Array::new();
    let path = array.lun0();
    path.write(0, &pattern(1, 8));
    let context = &mut Context::from_waker(Waker::noop());
    let mut background = pin!(array.target.run_background());
    assert_good(&send4(&path, &list4(9, 0b00, Header::IMMED, &[segment(8, 0, 0)])));
    // A faulty list is reported at once.
    assert_check(&send4(&path, &list4(10, 0b00, Header::IMMED, &[segment(8, 0, 0); 65])), 0x05, 0x26, 0x08);
    assert_eq!(array.volumes[1].calls(), 0);
    assert_eq!(path.command(&with_id4(0x84, 5, 9)).data_in[5], 0x12);
    assert_check(&send4(&path, &list4(9, 0b00, 0, &[])), 0x05, 0x00, 0x16);
    assert!(background.as_mut().poll(context).is_pending());
    assert_eq!(path.command(&with_id4(0x84, 5, 9)).data_in[5], 0x01);
    assert_eq!(array.on(array.a, 1).read(0, 8), pattern(1, 8));
    let xcopy = statistics(&array, 11, Primitive::Xcopy);
    assert_eq!((xcopy.commands, xcopy.bytes), (0, 4096));
    // A failure is reported in the status.
    assert_good(&send4(&path, &list4(9, 0b00, Header::IMMED, &[segment(8, BLOCKS, 0)])));
    assert!(background.as_mut().poll(context).is_pending());
    let status = path.command(&with_id4(0x84, 5, 9)).data_in;
    assert_eq!((status[5], status[12], status[32 + 2]), (0x02, CHECK_CONDITION, 0x0a));
    assert_eq!(array.units.refusals(0).last().unwrap().reason, Reason::OutOfRange);
}

#[test]
fn an_operation_is_aborted_between_two_segments() {
    let array = Array::new();
    let path = array.lun0();
    path.write(0, &pattern(1, 16));
    let context = &mut Context::from_waker(Waker::noop());
    let mut background = pin!(array.target.run_background());
    let segments = [segment(8, 0, 0), segment(8, 8, 8)];
    assert_field(&path.command(&with_id4(0x83, 0x1c, 4)), true, 2);
    array.volumes[1].hold(true);
    assert_good(&send4(&path, &list4(4, 0b00, Header::IMMED, &segments)));
    assert!(background.as_mut().poll(context).is_pending());
    // The abort waits until the operation can have no effect any more.
    let mut abort = Box::pin(path.request(&with_id4(0x83, 0x1c, 4), Bytes::new(), 0, 0));
    assert!(abort.as_mut().poll(context).is_pending());
    array.volumes[1].hold(false);
    assert!(background.as_mut().poll(context).is_pending());
    assert_good(&run(abort));
    let status = path.command(&with_id4(0x84, 5, 4)).data_in;
    assert_eq!((status[5], status[12], &status[24..26]), (0x60, 0x40, &[0, 1][..]));
    assert_eq!(array.on(array.a, 1).read(0, 16), [pattern(1, 8), pattern(0, 8)].concat());
    assert_field(&path.command(&with_id4(0x83, 0x1c, 4)), true, 2);
    // An operation whose command was not answered yet ends with TASK ABORTED.
    array.volumes[1].hold(true);
    let list = Bytes::from(list4(6, 0b00, 0, &segments));
    let length = u32::try_from(list.len()).unwrap();
    let mut copying = Box::pin(path.request(&cdb16(0x83, 1, 0, length), list, 0, length));
    assert!(copying.as_mut().poll(context).is_pending());
    let mut abort = Box::pin(path.request(&with_id4(0x83, 0x1c, 6), Bytes::new(), 0, 0));
    assert!(abort.as_mut().poll(context).is_pending());
    array.volumes[1].hold(false);
    assert_eq!(run(copying).status, 0x40);
    assert_good(&run(abort));
    assert_eq!(array.units.refusals(0).last().unwrap().reason, Reason::Aborted);
}

#[test]
fn what_a_lost_nexus_has_in_the_background_is_stopped() {
    let array = Array::new();
    let path = array.lun0();
    let context = &mut Context::from_waker(Waker::noop());
    let mut background = pin!(array.target.run_background());
    array.volumes[1].hold(true);
    assert_good(&send4(&path, &list4(4, 0b00, Header::IMMED, &[segment(8, 0, 0), segment(8, 8, 8)])));
    assert!(background.as_mut().poll(context).is_pending());
    let mut stopped = pin!(array.target.stop_background_of(array.a));
    assert!(stopped.as_mut().poll(context).is_pending());
    array.volumes[1].hold(false);
    assert!(background.as_mut().poll(context).is_pending());
    assert!(stopped.as_mut().poll(context).is_ready());
    assert_eq!(array.volumes[1].calls(), 1);
    array.target.detach_nexus(array.a);
}
