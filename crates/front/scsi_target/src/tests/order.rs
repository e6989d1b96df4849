//! Task attributes: ORDERED, HEAD OF QUEUE, ACA and codes that do not exist.

use super::*;
use hex_literal::hex;
use std::pin::Pin;

type Pending<'a> = Pin<Box<dyn Future<Output = Response> + 'a>>;

fn command<'a>(array: &'a Array, nexus: NexusId, attribute: TaskAttribute, bytes: &[u8], data: Vec<u8>) -> Pending<'a> {
    let lun = LogicalUnitNumber(0).encode();
    let expected_data_out = u32::try_from(data.len()).unwrap();
    let (cdb, data_out, abort) = (cdb(bytes), Bytes::from(data), AbortFlag::default());
    let request = Request { cdb, data_out, expected_data_in: 512, expected_data_out, attribute, abort };
    Box::pin(array.target.execute(nexus, lun, request))
}

fn poll(pending: &mut Pending<'_>) -> Option<Response> {
    match pending.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(response) => Some(response),
        Poll::Pending => None,
    }
}

#[test]
fn ordered_waits_and_is_waited_for() {
    let array = Array::new();
    let device = &array.volumes[0];
    device.hold(true);
    let read = cdb16(0x88, 0, 0, 1);
    let write = |value, attribute| command(&array, array.a, attribute, &cdb16(0x8a, 0, 0, 1), pattern(value, 1));
    let mut first = write(1, TaskAttribute::Simple);
    assert!(poll(&mut first).is_none());
    let mut ordered = command(&array, array.b, TaskAttribute::Ordered, &read, Vec::new());
    assert!(poll(&mut ordered).is_none(), "the write before it is not done");
    let mut later = command(&array, array.a2, TaskAttribute::Simple, &read, Vec::new());
    assert!(poll(&mut later).is_none(), "the ordered command before it is not done");
    let mut head = command(&array, array.a, TaskAttribute::HeadOfQueue, &read, Vec::new());
    assert_eq!(poll(&mut head).unwrap().data_in, pattern(0, 1), "the head of the queue waits for nobody");
    // Another logical unit has another task set.
    assert_good(&array.on(array.a, 1).command(&[0; 6]));
    device.hold(false);
    assert_good(&poll(&mut first).unwrap());
    assert!(poll(&mut later).is_none());
    assert_eq!(poll(&mut ordered).unwrap().data_in, pattern(1, 1));
    assert_eq!(poll(&mut later).unwrap().status, GOOD);
}

/// A command that is aborted while it waits, ORDERED or not, delays no other.
#[test]
fn what_is_dropped_is_not_waited_for() {
    let array = Array::new();
    array.volumes[0].hold(true);
    let mut write = command(&array, array.a, TaskAttribute::Simple, &cdb16(0x8a, 0, 0, 1), pattern(1, 1));
    assert!(poll(&mut write).is_none());
    let mut ordered = command(&array, array.a, TaskAttribute::Ordered, &[0; 6], Vec::new());
    assert!(poll(&mut ordered).is_none());
    drop(ordered);
    assert_good(&array.lun0().command(&[0; 6]));
}

#[test]
fn what_is_no_attribute_here_is_an_invalid_message() {
    let array = Array::new();
    let mut aca = command(&array, array.a, TaskAttribute::Invalid, &[0; 6], Vec::new());
    assert_check(&poll(&mut aca).unwrap(), 0x05, 0x49, 0x00);
    // An auto contingent allegiance cannot be established: NORMACA is 0, NACA in the CONTROL byte
    // is refused.
    assert_eq!(array.lun0().command(&hex!("120000006000")).data_in[3] & 0x20, 0);
    assert_field(&array.lun0().command(&hex!("000000000004")), true, 5);
}

/// PREEMPT AND ABORT waits for tasks of other nexuses; behind an ORDERED command these may wait for
/// PREEMPT AND ABORT.
#[test]
fn preempt_and_abort_lets_ordered_commands_pass() {
    let array = Array::new();
    let out = |path: Path<'_>, action: u8, key: u64, other: u64| {
        let mut list = [0; 24];
        list[..8].copy_from_slice(&key.to_be_bytes());
        list[8..16].copy_from_slice(&other.to_be_bytes());
        assert_good(&path.data_out(&[0x5f, action, 5, 0, 0, 0, 0, 0, 24, 0], &list));
    };
    out(array.lun0(), 0, 0, 1);
    out(array.on(array.b, 0), 0, 0, 2);
    array.volumes[0].hold(true);
    let mut write = command(&array, array.b, TaskAttribute::Simple, &cdb16(0x8a, 0, 0, 1), pattern(1, 1));
    assert!(poll(&mut write).is_none());
    let mut list = vec![0; 24];
    list[7] = 1;
    list[15] = 2;
    let mut preempt = command(&array, array.a, TaskAttribute::Simple, &[0x5f, 5, 5, 0, 0, 0, 0, 0, 24, 0], list);
    assert!(poll(&mut preempt).is_none());
    let mut ordered = command(&array, array.a, TaskAttribute::Ordered, &[0; 6], Vec::new());
    let mut behind = command(&array, array.b, TaskAttribute::Simple, &hex!("120000006000"), Vec::new());
    assert!(poll(&mut ordered).is_none() && poll(&mut behind).is_none());
    array.volumes[0].hold(false);
    assert!(poll(&mut write).is_some());
    assert_good(&poll(&mut ordered).unwrap());
    assert!(poll(&mut behind).is_some());
    assert_good(&poll(&mut preempt).unwrap());
}
