//! Commands that were admitted before a change end before its response, and tasks of preempted
//! nexuses are ended.

use super::*;
fn request<'a>(
    path: &Path<'a>,
    service_action: u8,
    kind: u8,
    key: u64,
    other: u64,
) -> impl Future<Output = Response> + use<'a> {
    let list = basic(key, other, 0);
    path.request(&out_cdb(service_action, kind, list.len()), Bytes::from(list), 0, 24)
}

#[test]
fn a_change_waits_for_writes_that_were_admitted_and_for_no_others() {
    for service_action in [RESERVE, PREEMPT, PREEMPT_AND_ABORT, CLEAR] {
        let array = Array::new();
        let (a, b) = (array.lun0(), array.on(array.b, 0));
        register(&a, 1);
        register(&b, 2);
        let context = &mut Context::from_waker(Waker::noop());
        array.volumes[0].hold(true);
        let mut write = Box::pin(a.request(&cdb16(0x8a, 0, 0, 1), Bytes::from(pattern(1, 1)), 0, 512));
        assert!(write.as_mut().poll(context).is_pending());
        let mut change = Box::pin(request(&b, service_action, 1, 2, 1));
        assert!(change.as_mut().poll(context).is_pending());
        let mut later = Box::pin(b.request(&cdb16(0x8a, 0, 8, 1), Bytes::from(pattern(2, 1)), 0, 512));
        let _pending = later.as_mut().poll(context);
        array.volumes[0].hold(false);
        assert!(change.as_mut().poll(context).is_pending(), "the write is not done");
        assert_good(&run(write));
        assert_good(&run(change));
        let after = a.data_out(&cdb16(0x8a, 0, 16, 1), &pattern(3, 1));
        match service_action {
            RESERVE => assert_conflict(&after),
            _ => assert_eq!(after.status, CHECK_CONDITION, "the unit attention first"),
        }
    }
}

#[test]
fn preempt_and_abort_ends_the_tasks_of_those_it_preempts() {
    let array = Array::new();
    array.transport.holds_aborts.set(true);
    for (nexus, key) in [(array.a, 1), (array.a2, 1), (array.b, 2)] {
        register(&array.on(nexus, 0), key);
    }
    let b = array.on(array.b, 0);
    assert_good(&out(&b, RESERVE, 7, 2, 0));
    let context = &mut Context::from_waker(Waker::noop());
    let mut preempt = Box::pin(request(&b, PREEMPT_AND_ABORT, 7, 2, 1));
    assert!(preempt.as_mut().poll(context).is_pending());
    let aborted = array.transport.aborted.borrow().clone();
    let nexuses: Vec<_> = aborted.iter().map(|(volume, of)| (*volume, array.target.nexuses_of(of))).collect();
    assert_eq!(nexuses, [(VolumeId(10), vec![array.a, array.a2])]);
    // The change has taken effect already, and does not delay other commands.
    assert_eq!(attention(&array.lun0()), REGISTRATIONS_PREEMPTED);
    assert_conflict(&array.lun0().data_out(&cdb16(0x8a, 0, 0, 1), &pattern(1, 1)));
    assert_eq!(keys(&b).1, [2]);
    array.transport.holds_aborts.set(false);
    assert_good(&run(preempt));
    assert_good(&out(&b, PREEMPT_AND_ABORT, 7, 2, 0));
    assert_eq!(array.transport.aborted.borrow().len(), 1, "nobody was preempted");
}

/// Two nexuses that abort each other would wait for each other permanently.
#[test]
fn a_preempt_and_abort_that_is_aborted_waits_no_longer() {
    let array = Array::new();
    array.transport.holds_aborts.set(true);
    register(&array.lun0(), 1);
    register(&array.on(array.b, 0), 2);
    let context = &mut Context::from_waker(Waker::noop());
    let list = basic(1, 2, 0);
    let cdb = out_cdb(PREEMPT_AND_ABORT, 1, list.len());
    let (abort, preempt) = array.lun0().abortable(&cdb, Bytes::from(list), 0, 24);
    let mut preempt = Box::pin(preempt);
    assert!(preempt.as_mut().poll(context).is_pending());
    abort.abort();
    assert!(preempt.as_mut().poll(context).is_ready());
}
