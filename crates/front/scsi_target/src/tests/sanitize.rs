//! SANITIZE: refusals, result, commands that work meanwhile, and the state after a failure and
//! after a power loss.

use super::*;
use hex_literal::hex;
use scsi::sanitize::Overwrite;
use unit::{PersistedSanitize, SanitizeMethod, StoreError};

fn array() -> (Array, Rc<TestStore>) {
    let array = Array::new();
    let store = Rc::clone(&array.store);
    (array, store)
}

/// Executes all steps of an operation.
fn finish(array: &Array) {
    while run(array.units.sanitize_step(VolumeId(10))).is_some() {}
}

const BLOCK_ERASE: [u8; 10] = hex!("48 82 0000000000 0000 00");
const EXIT: [u8; 10] = hex!("48 1f 0000000000 0000 00");
const TEST_UNIT_READY: [u8; 6] = [0; 6];

fn overwrite_cdb(length: usize) -> [u8; 10] {
    let [high, low] = u16::try_from(length).unwrap().to_be_bytes();
    [0x48, 0x81, 0, 0, 0, 0, 0, high, low, 0]
}

fn overwrite(path: &Path<'_>, count: u8, invert: bool, pattern: &[u8]) -> Response {
    let list = Overwrite { count, invert, pattern: pattern.to_vec() }.encode();
    path.data_out(&overwrite_cdb(list.len()), &list)
}

#[track_caller]
fn assert_in_progress(response: &Response, progress: u16) {
    assert_check(response, 0x02, 0x04, 0x1b);
    let [high, low] = progress.to_be_bytes();
    assert_eq!(response.sense[15..18], [0x80, high, low]);
}

#[test]
fn a_block_erase_leaves_zeros_that_are_not_mapped() {
    let (array, store) = array();
    let path = array.lun0();
    path.write(0, &pattern(1, 64));
    path.write(BLOCKS - 1, &pattern(2, 1));
    array.on(array.a, 1).write(0, &pattern(3, 1));
    assert_good(&path.command(&BLOCK_ERASE));
    assert_eq!(store.sanitizes_begun.get(), 1);
    let stored = store.sanitize.borrow().clone().expect("the next start goes on with it");
    assert_eq!(stored.client.as_deref(), Some("iqn.a"));
    assert_in_progress(&path.command(&TEST_UNIT_READY), 0);
    finish(&array);
    assert_good(&path.command(&TEST_UNIT_READY));
    assert_eq!((array.volumes[0].mapped_blocks(), store.sanitize.borrow().clone()), (0, None));
    assert_eq!(path.read(0, 64), pattern(0, 64));
    assert_eq!(array.on(array.a, 1).read(0, 1), pattern(3, 1));
    path.write(0, &pattern(4, 1));
    assert_eq!(path.read(0, 1), pattern(4, 1));
}

/// Mapped blocks are overwritten, unmapped ones share the pattern: every block reads as the
/// pattern.
#[test]
fn an_overwrite_leaves_its_pattern_everywhere() {
    let (array, _) = array();
    let path = array.lun0();
    for lba in [5, 3000, BLOCKS - 70] {
        path.write(lba, &pattern(1, 70));
    }
    for (count, invert, given) in [(1, false, vec![0xaa]), (2, true, vec![1, 2, 3]), (3, true, vec![7; 512])] {
        assert_good(&overwrite(&path, count, invert, &given));
        finish(&array);
        let block: Vec<u8> = given.iter().copied().cycle().take(512).collect();
        for lba in [0, 5, 75, 2047, 2048, 3000, 5000, BLOCKS - 70, BLOCKS - 1] {
            assert_eq!(path.read(lba, 1), block, "{lba}");
        }
    }
    assert_good(&overwrite(&path, 1, false, &[0]));
    finish(&array);
    assert_eq!(path.read(4000, 8), pattern(0, 8));
}

#[test]
fn what_is_wrong_in_the_command_is_told_and_nothing_begins() {
    let (array, store) = array();
    let path = array.lun0();
    path.write(0, &pattern(1, 1));
    // ZNR, reserved bytes, and a parameter list where none is allowed.
    assert_field(&path.command(&hex!("48 c2 0000000000 0000 00")), true, 1);
    for at in 2..7u16 {
        let mut cdb = BLOCK_ERASE;
        cdb[usize::from(at)] = 1;
        assert_field(&path.command(&cdb), true, at);
    }
    for cdb in [hex!("48 82 0000000000 0008 00"), hex!("48 1f 0000000000 0008 00")] {
        assert_field(&path.data_out(&cdb, &[0; 8]), true, 8);
    }
    // Cryptographic erase, and unassigned service actions.
    for service_action in [0x00u8, 0x03, 0x04, 0x1e] {
        let mut cdb = BLOCK_ERASE;
        cdb[1] = service_action;
        assert_field(&path.command(&cdb), true, 1);
    }
    for length in [0, 1, 4, 517] {
        assert_field(&path.data_out(&overwrite_cdb(length), &vec![1; length]), true, 7);
    }
    for list in [&hex!("00 00 0004 aaaaaaaa")[..], &hex!("01 00 0000 aaaaaaaa"), &hex!("41 00 0004 aaaaaaaa")] {
        assert_field(&path.data_out(&overwrite_cdb(8), list), true, 7);
    }
    assert_check(&path.data_out(&overwrite_cdb(7), &hex!("01 00 0004 aaaaaa")), 0x05, 0x1a, 0x00);
    assert_eq!(store.sanitizes_begun.get(), 0);
    store.error.set(Some(StoreError::NoRoom));
    assert_check(&path.command(&BLOCK_ERASE), 0x07, 0x27, 0x07);
    store.error.set(Some(StoreError::Failed));
    assert_check(&path.command(&BLOCK_ERASE), 0x04, 0x44, 0x00);
    assert_eq!((store.sanitizes_begun.get(), path.read(0, 1)), (0, pattern(1, 1)));
}

#[test]
fn only_what_tells_of_the_device_server_works_meanwhile() {
    let (array, _) = array();
    let path = array.lun0();
    path.write(0, &pattern(1, 4096));
    assert_good(&overwrite(&path, 1, false, &[0xaa]));
    // Half of the device, in steps of 1 MiB.
    for _ in 0..BLOCKS / 2048 / 2 {
        assert!(run(array.units.sanitize_step(VolumeId(10))).is_some());
    }
    for nexus in [array.a, array.b] {
        let path = array.on(nexus, 0);
        for cdb in [
            &TEST_UNIT_READY[..],
            &hex!("1b 00 00 00 01 00"),
            &hex!("16 00 00 00 00 00"),
            &hex!("25 00 00000000 000000 00"),
            &hex!("5e 00 0000000000 00ff 00"),
            &hex!("35 00 00000000 00 0000 00"),
            &cdb16(0x88, 0, 0, 1),
            &BLOCK_ERASE,
        ] {
            assert_in_progress(&path.command(cdb), 0x8000);
        }
        assert_in_progress(&path.data_out(&cdb16(0x8a, 0, 0, 1), &pattern(9, 1)), 0x8000);
        for cdb in [
            &hex!("12 00 00 00 ff 00")[..],
            &hex!("1a 00 3f 00 ff 00"),
            &hex!("4d 00 4c 00 00 0000 00ff 00"),
            &hex!("a0 00 00 000000 00000100 00 00"),
            &hex!("a3 0c 00 00 0000 00001000 00 00"),
        ] {
            assert_good(&Response { data_in: Bytes::new(), ..path.command(cdb) });
        }
        let sense = path.command(&hex!("03 00 0000 12 00"));
        assert_eq!(
            (sense.status, sense.data_in[2] & 0x0f, &sense.data_in[12..18]),
            (GOOD, 2, &hex!("041b00808000")[..])
        );
    }
    // Another logical unit is not affected, but this one fails as source or destination of a copy.
    assert_good(&array.on(array.a, 1).command(&TEST_UNIT_READY));
    finish(&array);
    let ready = path.command(&hex!("03 00 0000 12 00"));
    assert_eq!((ready.data_in[2], ready.data_in[12]), (0, 0));
}

/// ABORT TASK, a reset and a lost nexus end the waiting command, not the operation.
#[test]
fn the_operation_outlives_its_command_and_resets() {
    let (array, _) = array();
    let path = array.lun0();
    path.write(0, &pattern(1, 8));
    let context = &mut Context::from_waker(Waker::noop());
    let mut waits = hex!("48 02 0000000000 0000 00");
    let (abort, command) = path.abortable(&waits, Bytes::new(), 0, 0);
    let mut command = Box::pin(command);
    assert!(command.as_mut().poll(context).is_pending());
    assert_in_progress(&array.on(array.b, 0).command(&TEST_UNIT_READY), 0);
    abort.abort();
    assert!(command.as_mut().poll(context).is_ready());
    array.target.logical_unit_reset(array.a, [0; 8]).unwrap();
    assert_check(&path.command(&TEST_UNIT_READY), 0x06, 0x29, 0x03);
    assert_in_progress(&path.command(&TEST_UNIT_READY), 0);
    array.target.target_reset(array.a);
    array.target.detach_nexus(array.a);
    finish(&array);
    array.settle(array.b);
    assert_eq!(array.on(array.b, 0).read(0, 8), pattern(0, 8));

    // A command that is not aborted waits for the end.
    waits[1] = 0x22;
    let other = array.on(array.b, 0);
    let mut command = Box::pin(other.request(&waits, Bytes::new(), 0, 0));
    assert!(command.as_mut().poll(context).is_pending());
    finish(&array);
    let Poll::Ready(response) = command.as_mut().poll(context) else { panic!("it has ended") };
    assert_good(&response);
}

/// A write that was admitted before the operation began ends before anything is erased.
#[test]
fn writes_before_it_do_not_land_after_it() {
    let (array, _) = array();
    let path = array.lun0();
    array.volumes[0].hold(true);
    let context = &mut Context::from_waker(Waker::noop());
    let mut write = Box::pin(path.request(&cdb16(0x8a, 0, 0, 1), Bytes::from(pattern(1, 1)), 0, 512));
    assert!(write.as_mut().poll(context).is_pending());
    assert_good(&path.command(&BLOCK_ERASE));
    let mut step = Box::pin(array.units.sanitize_step(VolumeId(10)));
    assert!(step.as_mut().poll(context).is_pending());
    array.volumes[0].hold(false);
    assert!(step.as_mut().poll(context).is_pending(), "the write is not done");
    assert!(write.as_mut().poll(context).is_ready());
    assert!(step.as_mut().poll(context).is_ready());
    assert_eq!((path.read(0, 1), array.volumes[0].mapped_blocks()), (pattern(0, 1), 0));
}

#[test]
fn protection_and_reservations_stand_in_the_way() {
    let (array, store) = array();
    let (a, b) = (array.lun0(), array.on(array.b, 0));
    let list = Overwrite { count: 1, invert: false, pattern: vec![1] }.encode();
    let refused = |check: &dyn Fn(&Response)| {
        check(&a.command(&BLOCK_ERASE));
        check(&a.data_out(&overwrite_cdb(list.len()), &list));
    };
    array.volumes[0].set_read_only(true);
    refused(&|response| assert_check(response, 0x07, 0x27, 0x00));
    array.volumes[0].set_read_only(false);
    let protect = |on: u8| [&hex!("00000000 0a0a0010")[..], &[on], &[0; 7]].concat();
    assert_good(&b.data_out(&hex!("15 10 0000 10 00"), &protect(8)));
    assert_check(&a.command(&TEST_UNIT_READY), 0x06, 0x2a, 0x01);
    refused(&|response| assert_check(response, 0x07, 0x27, 0x02));
    assert_good(&b.data_out(&hex!("15 10 0000 10 00"), &protect(0)));
    array.settle(array.a);
    assert_good(&b.command(&hex!("16 00 00 00 00 00")));
    refused(&|response| assert_eq!(response.status, RESERVATION_CONFLICT));
    assert_eq!(a.command(&EXIT).status, RESERVATION_CONFLICT);
    assert_good(&b.command(&hex!("17 00 00 00 00 00")));
    assert_eq!(store.sanitizes_begun.get(), 0);
    assert_good(&a.command(&BLOCK_ERASE));
    finish(&array);
}

#[test]
fn a_failure_is_left_as_ause_said() {
    for unrestricted in [false, true] {
        let (array, store) = array();
        let path = array.lun0();
        let ause = if unrestricted { 0x20 } else { 0 };
        let list = Overwrite { count: 1, invert: false, pattern: vec![1] }.encode();
        let mut cdb = overwrite_cdb(list.len());
        cdb[1] |= ause;
        array.volumes[0].set_full(true);
        assert_good(&path.data_out(&cdb, &list));
        finish(&array);
        assert_eq!(
            store.sanitize.borrow().as_ref().map(|kept| (kept.failed.is_some(), kept.unrestricted_exit)),
            Some((true, unrestricted))
        );
        for cdb in [&TEST_UNIT_READY[..], &cdb16(0x88, 0, 0, 1)] {
            assert_check(&path.command(cdb), 0x03, 0x31, 0x03);
        }
        let sense = path.command(&hex!("03 00 0000 12 00"));
        assert_eq!((sense.data_in[2], &sense.data_in[12..14]), (3, &hex!("3103")[..]));
        assert_eq!(path.command(&hex!("12 00 00 00 ff 00")).status, GOOD);
        if unrestricted {
            for (error, sense) in [(StoreError::NoRoom, (0x07, 0x27, 0x07)), (StoreError::Failed, (0x04, 0x44, 0x00))] {
                store.error.set(Some(error));
                assert_check(&path.command(&EXIT), sense.0, sense.1, sense.2);
                assert_check(&path.command(&TEST_UNIT_READY), 0x03, 0x31, 0x03);
            }
            store.error.set(None);
            assert_good(&path.command(&EXIT));
            assert_good(&path.command(&TEST_UNIT_READY));
        } else {
            assert_field(&path.command(&EXIT), true, 1);
            // Nor can another operation lift the restriction.
            let mut cdb = BLOCK_ERASE;
            cdb[1] |= 0x20;
            assert_field(&path.command(&cdb), true, 1);
            assert_good(&path.command(&BLOCK_ERASE));
            finish(&array);
            assert_good(&path.command(&TEST_UNIT_READY));
        }
        assert_eq!(*store.sanitize.borrow(), None);
        assert_good(&path.command(&EXIT));
    }
}

/// An operation whose end is not stored would, at the next start, erase blocks that were written
/// after it.
#[test]
fn an_end_that_cannot_be_kept_is_a_failure() {
    let (array, store) = array();
    assert_good(&array.lun0().command(&BLOCK_ERASE));
    store.error.set(Some(StoreError::Failed));
    finish(&array);
    assert_check(&array.lun0().command(&TEST_UNIT_READY), 0x03, 0x31, 0x03);
}

#[test]
fn after_a_loss_of_power_it_begins_anew() {
    let (array, store) = array();
    array.lun0().write(0, &pattern(1, 8));
    let method = SanitizeMethod::BlockErase;
    let kept = PersistedSanitize { method, unrestricted_exit: true, failed: None, client: None };
    store.sanitize.replace(Some(kept.clone()));
    assert!(!array.units.restore_sanitize(VolumeId(99), kept.clone()));
    assert!(array.units.restore_sanitize(VolumeId(10), kept.clone()));
    assert_in_progress(&array.lun0().command(&TEST_UNIT_READY), 0);
    finish(&array);
    assert_eq!((array.lun0().read(0, 8), store.sanitize.borrow().clone()), (pattern(0, 8), None));
    assert!(
        array.units.restore_sanitize(VolumeId(10), PersistedSanitize { failed: Some("a disk is gone".into()), ..kept })
    );
    assert_check(&array.lun0().command(&TEST_UNIT_READY), 0x03, 0x31, 0x03);
    assert_good(&array.lun0().command(&EXIT));
}

#[test]
fn the_logical_unit_may_go_away_meanwhile() {
    let (array, _) = array();
    let path = array.lun0();
    let context = &mut Context::from_waker(Waker::noop());
    let mut command = Box::pin(path.request(&hex!("48 02 0000000000 0000 00"), Bytes::new(), 0, 0));
    assert!(command.as_mut().poll(context).is_pending());
    array.remove(VolumeId(10));
    assert!(command.as_mut().poll(context).is_ready());
    assert_eq!(run(array.units.sanitize_step(VolumeId(10))), None);
}

/// A token holds the blocks as they were; it must not restore erased data.
#[test]
fn the_tokens_of_the_unit_end() {
    let (array, _) = array();
    let path = array.lun0();
    path.write(0, &pattern(1, 8));
    let token = tokens::populate(&path, &[(0, 8)]);
    assert_good(&path.command(&BLOCK_ERASE));
    finish(&array);
    // INVALID TOKEN OPERATION, TOKEN CANCELLED
    tokens::assert_token(&tokens::write(&path, &token, 0, &[(0, 8)]), 0x08);
    assert_eq!(path.read(0, 8), pattern(0, 8));
}
