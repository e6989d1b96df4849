//! Multi-step commands whose logical units change meanwhile: each step checks again whether it may
//! run.

use super::extended_copy::List;
use super::extended_copy::lid4::{list4, with_id4};
use super::tokens::{Token, assert_token, populate, ranges, token_cdb};
use super::*;
use scsi::rod_token::{IMMED, write_using_token_list, zero_token};
use scsi::third_party_copy::{BlockToBlockSegment, ParameterListHeaderLid4};
use std::pin::Pin;

const ANY: Option<&str> = None;

type Pending<'a> = Pin<Box<dyn Future<Output = Response> + 'a>>;

fn poll<T>(future: Pin<&mut (impl Future<Output = T> + ?Sized)>) -> Option<T> {
    match future.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}

/// Starts a command of two steps that write blocks 0 to 7 and 8 to 15 of LUN 1, and holds it in its
/// first step.
fn begin<'a>(array: &'a Array, cdb: [u8; 16], data: Vec<u8>) -> (AbortFlag, Pending<'a>) {
    array.volumes[1].hold(true);
    let length = u32::try_from(data.len()).unwrap();
    let (abort, command) = array.on(array.a, 1).abortable(&cdb, Bytes::from(data), 0, length);
    let mut command: Pending<'a> = Box::pin(command);
    assert!(poll(command.as_mut()).is_none());
    (abort, command)
}

fn token_write<'a>(array: &'a Array, token: &Token) -> (AbortFlag, Pending<'a>) {
    let list = write_using_token_list(0, 0, token, &ranges(&[(0, 8), (8, 8)]));
    begin(array, token_cdb(0x11, 1, list.len()), list)
}

/// Starts an EXTENDED COPY of two steps to `destination` among 10, 11 and the receiver.
fn copy<'a>(array: &'a Array, source: u16, destination: u16) -> (AbortFlag, Pending<'a>) {
    let segment = |at| BlockToBlockSegment::new(source, destination, 8, at, at);
    let list = List::of(&[10, 11], &[segment(0), segment(8)]).bytes();
    begin(array, cdb16(0x83, 0, 0, u32::try_from(list.len()).unwrap()), list)
}

fn with_source() -> (Array, Token) {
    let array = Array::new();
    array.lun0().write(0, &pattern(1, 16));
    let token = populate(&array.lun0(), &[(0, 16)]);
    (array, token)
}

/// Asserts that only the first of two steps has written.
#[track_caller]
fn assert_one_step(array: &Array) {
    assert_eq!((array.volumes[1].calls(), array.volumes[1].mapped_blocks()), (1, 8));
}

/// Bug: a host could write until its WRITE USING TOKEN ended, although its access had been revoked.
#[test]
fn a_host_without_access_writes_no_further() {
    for destination in [1, 0xffff, 0x100, 0x101] {
        let (array, token) = with_source();
        let (_, mut command) = match destination {
            0x100 => token_write(&array, &token),
            0x101 => token_write(&array, &zero_token()),
            destination => copy(&array, 0, destination),
        };
        array.target.revoke(VolumeId(11), ANY);
        let mut settled = Box::pin(array.units.writes_done(VolumeId(11)));
        assert!(poll(settled.as_mut()).is_none(), "the first step is not done");
        array.volumes[1].hold(false);
        let response = run(&mut command);
        assert_check(&response, 0x05, 0x25, 0x00);
        assert!(poll(settled.as_mut()).is_some());
        assert_eq!(array.volumes[1].calls(), 1);
    }
}

#[test]
fn who_may_not_read_the_source_any_more_copies_no_further() {
    let (array, token) = with_source();
    let (_, command) = token_write(&array, &token);
    array.target.revoke(VolumeId(10), ANY);
    array.volumes[1].hold(false);
    assert_token(&run(command), 0x06);
    assert_one_step(&array);

    let (array, _) = with_source();
    let (_, command) = copy(&array, 0, 1);
    array.target.revoke(VolumeId(10), ANY);
    array.volumes[1].hold(false);
    assert_check(&run(command), 0x0a, 0x0d, 0x02);
    assert_one_step(&array);
}

#[test]
fn an_immediate_one_ends_with_its_access_too() {
    let (array, token) = with_source();
    let mut background = Box::pin(array.target.run_background());
    let segments = [BlockToBlockSegment::new(0, 1, 8, 0, 0), BlockToBlockSegment::new(0, 1, 8, 8, 8)];
    let copy = list4(2, 0, ParameterListHeaderLid4::IMMED, &segments);
    let write = write_using_token_list(IMMED, 0, &token, &ranges(&[(0, 8), (8, 8)]));
    array.volumes[1].hold(true);
    let path = array.on(array.a, 1);
    assert_good(&path.data_out(&cdb16(0x83, 1, 0, u32::try_from(copy.len()).unwrap()), &copy));
    assert_good(&path.data_out(&token_cdb(0x11, 1, write.len()), &write));
    assert!(poll(background.as_mut()).is_none());
    array.target.revoke(VolumeId(11), ANY);
    array.volumes[1].hold(false);
    assert!(poll(background.as_mut()).is_none());
    array.settle_lun(array.a, 0);
    for id in [1, 2] {
        let status = array.lun0().command(&with_id4(0x84, 5, id)).data_in;
        assert_eq!(
            (status[5], status[12], &status[34..35], &status[44..46]),
            (2, CHECK_CONDITION, &[5][..], &[0x25, 0][..])
        );
    }
    assert_eq!(array.volumes[1].calls(), 2);
}

/// Bug: a copy that began before a roll-back wrote its remaining blocks over the restored content.
#[test]
fn a_copy_from_before_a_roll_back_writes_no_further() {
    for destination in [1, 0xffff, 0x100] {
        let (array, token) = with_source();
        let (_, command) =
            if destination == 0x100 { token_write(&array, &token) } else { copy(&array, 0, destination) };
        let restored = MemoryDevice::new(11, BLOCKS);
        array.replace_device(VolumeId(11), restored.clone());
        array.volumes[1].hold(false);
        assert_check(&run(command), 0x06, 0x2f, 0x02);
        assert_eq!(restored.calls(), 0);
        assert_one_step(&array);
    }
    // A volume about to be rolled back is not written any more.
    let (array, token) = with_source();
    let (_, mut command) = token_write(&array, &token);
    let mut cleared = Box::pin(array.units.clear_commands(VolumeId(11)));
    assert!(poll(cleared.as_mut()).is_none());
    array.volumes[1].hold(false);
    assert_check(&run(&mut command), 0x06, 0x2f, 0x02);
    assert!(poll(cleared.as_mut()).is_some());
    assert_one_step(&array);
    // The copy does not continue from another source than it began with.
    let (array, _) = with_source();
    let (_, command) = copy(&array, 0, 1);
    array.replace_device(VolumeId(10), MemoryDevice::new(10, BLOCKS));
    array.volumes[1].hold(false);
    assert_check(&run(command), 0x06, 0x2f, 0x02);
    assert_one_step(&array);
}

#[test]
fn a_pattern_from_before_a_roll_back_is_written_no_further() {
    let array = Array::new();
    let (_, command) = begin(&array, cdb16(0x93, 0, 0, 8192), pattern(1, 1));
    let restored = MemoryDevice::new(11, BLOCKS);
    array.replace_device(VolumeId(11), restored.clone());
    array.volumes[1].hold(false);
    assert_check(&run(command), 0x06, 0x2f, 0x02);
    assert_eq!((array.volumes[1].calls(), restored.calls()), (1, 0));
}

/// Bug: ABORT TASK, resets and logouts were answered only when the whole copy had ended.
#[test]
fn an_aborted_command_takes_no_further_step() {
    for kind in 0..3 {
        let (array, token) = with_source();
        let (abort, command) = match kind {
            0 => token_write(&array, &token),
            1 => copy(&array, 0, 1),
            _ => begin(&array, cdb16(0x93, 0, 0, 8192), pattern(1, 1)),
        };
        abort.abort();
        array.volumes[1].hold(false);
        assert_eq!(run(command).status, 0x40);
        assert_eq!(array.volumes[1].calls(), 1);
    }
}

/// Bug: a command that was aborted before its first poll (ABORT TASK in the same segment of the
/// stream) was executed all the same. Its response was not sent, so the unit attention in it was
/// lost, and a write took effect after the response to the function (SAM-5 §7.2).
#[test]
fn one_that_is_aborted_before_it_begins_has_no_effect() {
    let array = Array::new();
    array.target.mode_parameters_changed(VolumeId(10));
    let path = array.lun0();
    let (abort, ready) = path.abortable(&[0; 6], Bytes::new(), 0, 0);
    abort.abort();
    assert_eq!(run(ready).status, 0x40);
    assert_check(&path.command(&[0; 6]), 0x06, 0x2a, 0x01);
    let (abort, write) = path.abortable(&cdb16(0x8a, 0, 0, 1), Bytes::from(pattern(1, 1)), 0, 512);
    abort.abort();
    assert_eq!(run(write).status, 0x40);
    assert_eq!((path.read(0, 1), array.unit(10).statistics.io().writes), (pattern(0, 1), 0));
}

#[test]
fn one_that_is_aborted_or_loses_its_unit_does_not_wait_for_its_turn() {
    let array = Array::new();
    array.volumes[1].hold(true);
    let ordered = |abort: &AbortFlag| {
        let (cdb, data_out) = (cdb16(0x8a, 0, 0, 1), Bytes::from(pattern(1, 1)));
        let (attribute, abort) = (TaskAttribute::Ordered, abort.clone());
        let request = Request { cdb, data_out, expected_data_in: 0, expected_data_out: 512, attribute, abort };
        Box::pin(array.target.execute(array.a, LogicalUnitNumber(1).encode(), request))
    };
    let abort = AbortFlag::default();
    let mut first = ordered(&AbortFlag::default());
    assert!(poll(first.as_mut()).is_none());
    let mut second = ordered(&abort);
    let mut third = ordered(&AbortFlag::default());
    assert!(poll(second.as_mut()).is_none() && poll(third.as_mut()).is_none());
    abort.abort();
    assert_eq!(poll(second.as_mut()).unwrap().status, 0x40);
    drop(second);
    array.target.revoke(VolumeId(11), ANY);
    array.volumes[1].hold(false);
    assert_good(&run(first));
    assert_check(&run(third), 0x05, 0x25, 0x00);
    assert_eq!(array.volumes[1].calls(), 1);
}

/// Bug: a RESERVE of another host waited for a whole copy in the foreground, and for one step of a
/// copy in the background.
#[test]
fn a_reservation_waits_for_the_step_and_not_for_the_copy() {
    let (array, token) = with_source();
    for kind in 0..2 {
        let (_, mut command) = if kind == 0 { token_write(&array, &token) } else { copy(&array, 0, 1) };
        let other = array.on(array.b, 1);
        let mut reserve = Box::pin(other.request(&[0x16, 0, 0, 0, 0, 0], Bytes::new(), 0, 0));
        assert!(poll(reserve.as_mut()).is_none());
        array.volumes[1].hold(false);
        let response = run(&mut command);
        assert!(response.status == RESERVATION_CONFLICT || response.sense[2] == 0x0a, "{response:02x?}");
        assert_good(&run(reserve));
        assert_good(&other.command(&[0x17, 0, 0, 0, 0, 0]));
    }
}

/// Bug: LOGICAL UNIT RESET by one host ended copies of another host, between logical units that the
/// first one could not see.
#[test]
fn a_reset_ends_the_copies_that_the_unit_has_received() {
    let array = Array::new();
    let mut background = Box::pin(array.target.run_background());
    let segments = |at| [BlockToBlockSegment::new(1, 1, 8, 100, at), BlockToBlockSegment::new(1, 1, 8, 100, at + 8)];
    array.volumes[1].hold(true);
    for lun in [0, 1] {
        let list = list4(1 + u32::from(lun), 0, ParameterListHeaderLid4::IMMED, &segments(u64::from(lun) * 16));
        let path = array.on(array.b, lun);
        assert_good(&path.data_out(&cdb16(0x83, 1, 0, u32::try_from(list.len()).unwrap()), &list));
    }
    assert!(poll(background.as_mut()).is_none());
    let (unknown, received) = ([VolumeId(0)].into(), [VolumeId(10)].into());
    let mut others = Box::pin(array.target.stop_background_on(&unknown, None));
    assert!(poll(others.as_mut()).is_some());
    let preempted = [array.a];
    let mut not_preempted = Box::pin(array.target.stop_background_on(&received, Some(&preempted)));
    assert!(poll(not_preempted.as_mut()).is_some());
    let mut reset = Box::pin(array.target.stop_background_on(&received, None));
    assert!(poll(reset.as_mut()).is_none());
    array.volumes[1].hold(false);
    assert!(poll(background.as_mut()).is_none());
    assert!(poll(reset.as_mut()).is_some());
    let status = |id| array.on(array.b, 1).command(&with_id4(0x84, 5, id)).data_in[5];
    assert_eq!((status(1), status(2)), (0x60, 0x01));
}

/// Bug: a token with a short inactivity timeout expired while a command was writing it.
#[test]
fn a_token_is_not_inactive_while_it_is_used() {
    let (array, token) = with_source();
    let (_, command) = token_write(&array, &token);
    array.advance(1000);
    array.target.expire_tokens();
    array.volumes[1].hold(false);
    assert_good(&run(command));
    array.target.expire_tokens();
    assert_eq!(array.target.token_count(), 1);
    assert_good(&super::tokens::write(&array.on(array.a, 1), &token, 0, &[(0, 8)]));
}
