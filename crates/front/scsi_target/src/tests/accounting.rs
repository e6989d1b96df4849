//! Commands of offload primitives that end before they are executed: counted, and in the log with
//! the reason.

use super::*;
use hex_literal::hex;
use unit::{AccessState, Primitive, Reason};

const WRITE_SAME_ZEROS: [u8; 16] = hex!("93 01 0000000000000000 00000008 00 00");

fn write_same(abort: AbortFlag, attribute: TaskAttribute) -> Request {
    Request {
        cdb: WRITE_SAME_ZEROS,
        data_out: Bytes::new(),
        expected_data_in: 0,
        expected_data_out: 0,
        attribute,
        abort,
    }
}

/// Commands and refusals of WRITE SAME on the first volume, and the reasons in the log.
fn told(array: &Array) -> (u64, u64, Vec<Reason>) {
    let rows = array.units.offload();
    let row = rows.iter().find(|row| row.volume == VolumeId(10) && row.primitive == Primitive::Zero);
    let (commands, refused) = row.map_or((0, 0), |row| (row.statistics.commands, row.statistics.refused));
    (commands, refused, array.units.refusals(0).into_iter().map(|entry| entry.reason).collect())
}

#[test]
fn a_command_that_is_aborted_before_it_begins_is_counted() {
    let array = Array::new();
    let abort = AbortFlag::default();
    abort.abort();
    let response = run(array.target.execute(array.a, [0; 8], write_same(abort, TaskAttribute::Simple)));
    assert_eq!(response.status, 0x40);
    assert_eq!(told(&array), (1, 1, vec![Reason::Aborted]));
}

#[test]
fn a_command_that_is_aborted_while_it_waits_is_counted() {
    let array = Array::new();
    array.volumes[0].hold(true);
    let context = &mut Context::from_waker(Waker::noop());
    let data = Bytes::from(pattern(1, 1));
    let mut write = Box::pin(array.lun0().request(&cdb16(0x8a, 0, 0, 1), data, 0, 512));
    assert!(write.as_mut().poll(context).is_pending());
    let abort = AbortFlag::default();
    let request = write_same(abort.clone(), TaskAttribute::Ordered);
    let mut waiting = Box::pin(array.target.execute(array.a, [0; 8], request));
    assert!(waiting.as_mut().poll(context).is_pending());
    abort.abort();
    assert_eq!(run(waiting).status, 0x40);
    assert_eq!(told(&array), (1, 1, vec![Reason::Aborted]));
    array.volumes[0].hold(false);
    assert_good(&run(write));
}

#[test]
fn a_command_for_the_content_before_a_roll_back_is_counted_as_cleared() {
    let array = Array::new();
    let before = array.target.arrival(array.a, [0; 8]);
    assert!(array.replace_device(VolumeId(10), MemoryDevice::new(10, BLOCKS)));
    array.settle(array.a);
    let counted = told(&array).0;
    let request = write_same(AbortFlag::default(), TaskAttribute::Simple);
    let response = run(array.target.execute_arrived(array.a, [0; 8], before, request));
    assert_check(&response, 0x06, 0x2f, 0x02);
    assert_eq!(told(&array), (counted + 1, 1, vec![Reason::Cleared]));
}

#[test]
fn a_command_that_the_port_does_not_permit_is_counted() {
    let array = Array::new();
    let port = |id| TargetPort { relative_identifier: id, portal_group_tag: id, group: 1 };
    let group = TargetPortGroup { state: AccessState::Standby, ..TargetPortGroup::new(1) };
    array.target.set_port_groups(vec![port(1), port(2)], vec![group]);
    array.settle(array.a);
    assert_check(&array.lun0().command(&WRITE_SAME_ZEROS), 0x02, 0x04, 0x0b);
    assert_eq!(told(&array), (1, 1, vec![Reason::NotAccessible]));
}

#[test]
fn a_command_during_a_sanitize_operation_is_counted_with_this_reason() {
    let array = Array::new();
    assert_good(&array.lun0().command(&hex!("48 82 0000000000 0000 00")));
    assert_check(&array.lun0().command(&WRITE_SAME_ZEROS), 0x02, 0x04, 0x1b);
    assert_eq!(told(&array), (1, 1, vec![Reason::Sanitizing]));
}

/// The host sends the command again: the condition says nothing about it.
#[test]
fn a_pending_unit_attention_is_no_refusal() {
    let array = Array::new();
    array.target.resized(VolumeId(10));
    assert_check(&array.lun0().command(&WRITE_SAME_ZEROS), 0x06, 0x2a, 0x09);
    assert_eq!(told(&array), (0, 0, vec![]));
    assert_good(&array.lun0().command(&WRITE_SAME_ZEROS));
    assert_eq!(told(&array), (1, 0, vec![]));
}
