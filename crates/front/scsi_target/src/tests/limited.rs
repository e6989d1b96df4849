//! What limits have to know of commands, and what offloaded work costs.

use super::extended_copy::{List, list_between};
use super::*;
use crate::{Limited, OffloadCost, OffloadLimits};
use futures_util::future::LocalBoxFuture;
use hex_literal::hex;
use qos::Class;
use scsi::provisioning::unmap_parameter_list;
use scsi::third_party_copy::BlockToBlockSegment;
use std::cell::{Cell, RefCell};
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use unit::AbortFlag;

/// How limits apply to a command to LUN 0.
fn limited(array: &Array, bytes: &[u8], attribute: TaskAttribute, data_out: u32) -> Option<(Class, u64)> {
    let arrival = array.target.arrival(array.a, [0; 8]);
    let limited = array.target.limited(&cdb(bytes), attribute, arrival, data_out);
    limited.map(|Limited { volume, class, bytes }| {
        assert_eq!(volume, VolumeId(10));
        (class, bytes)
    })
}

fn simple(array: &Array, bytes: &[u8], data_out: u32) -> Option<(Class, u64)> {
    limited(array, bytes, TaskAttribute::Simple, data_out)
}

#[test]
fn reads_and_writes_wait_with_their_bytes() {
    let array = Array::new();
    let ordinary = |bytes| Some((Class::Ordinary, bytes));
    assert_eq!(simple(&array, &cdb16(0x88, 0, 0, 16), 0), ordinary(8192));
    assert_eq!(simple(&array, &hex!("28 00 00000000 00 0008 00"), 0), ordinary(4096));
    assert_eq!(simple(&array, &hex!("08 000000 00 00"), 0), ordinary(256 * 512));
    assert_eq!(simple(&array, &cdb16(0x8a, 0, 0, 16), 8192), ordinary(8192));
    assert_eq!(simple(&array, &cdb16(0x8a, 0, 0, 16), 512), ordinary(512), "only the announced part is stored");
    assert_eq!(simple(&array, &cdb16(0x88, 0, u64::MAX, 16), 0), ordinary(0), "it will be refused");
}

#[test]
fn offload_is_admitted_as_one_operation_and_locks_as_heartbeats() {
    let array = Array::new();
    assert_eq!(simple(&array, &cdb16(0x93, 0, 0, 0x1000), 512), Some((Class::Ordinary, 0)));
    assert_eq!(simple(&array, &cdb16(0x83, 0, 0, 100), 100), Some((Class::Ordinary, 0)));
    assert_eq!(simple(&array, &hex!("42 00 00000000 00 0018 00"), 24), Some((Class::Ordinary, 0)));
    let mut lock = cdb16(0x89, 0, 0, 0);
    lock[13] = 1;
    assert_eq!(simple(&array, &lock, 1024), Some((Class::Heartbeat, 1024)));
    let ordered = limited(&array, &lock, TaskAttribute::Ordered, 1024);
    assert_eq!(ordered, Some((Class::Ordinary, 1024)), "an ORDERED command overtakes nothing");
}

#[test]
fn everything_else_is_never_delayed_unless_it_is_ordered() {
    let array = Array::new();
    let commands: [&[u8]; 9] = [
        &hex!("00 00000000 00"),
        &hex!("12 00000000 00"),
        &hex!("a3 0a 00000000 00000100 00 00"),
        &hex!("5e 00 0000000000 0100 00"),
        &hex!("5f 00 0000000000 0018 00"),
        &hex!("16 00000000 00"),
        &hex!("35 00 00000000 00 0000 00"),
        &hex!("a0 00 00000000 00000100 00 00"),
        &hex!("ff 00000000 00"),
    ];
    for command in commands {
        assert_eq!(simple(&array, command, 0), None, "{command:02x?}");
        assert_eq!(limited(&array, command, TaskAttribute::HeadOfQueue, 0), None, "{command:02x?}");
        let ordered = limited(&array, command, TaskAttribute::Ordered, 0);
        let exists = command[0] != 0xff;
        assert_eq!(ordered, exists.then_some((Class::Behind, 0)), "{command:02x?}");
    }
}

#[test]
fn head_of_queue_goes_first_and_an_attribute_that_is_refused_waits_for_nothing() {
    let array = Array::new();
    let read = cdb16(0x88, 0, 0, 1);
    assert_eq!(limited(&array, &read, TaskAttribute::HeadOfQueue, 0), Some((Class::First, 512)));
    assert_eq!(limited(&array, &read, TaskAttribute::Invalid, 0), None);
}

#[test]
fn a_command_to_a_lun_without_a_unit_waits_for_nothing() {
    let array = Array::new();
    let arrival = array.target.arrival(array.a, [0, 9, 0, 0, 0, 0, 0, 0]);
    assert_eq!(array.target.limited(&cdb16(0x88, 0, 0, 1), TaskAttribute::Simple, arrival, 0), None);
}

/// Limits in which steps wait until there are permits, if they may have to wait.
#[derive(Default)]
struct Bench {
    nexus: Option<NexusId>,
    /// Costs that were charged, by volume.
    charged: Rc<RefCell<Vec<(u64, OffloadCost)>>>,
    /// Steps that were asked for.
    asked: Rc<Cell<u64>>,
    /// Steps that may begin; `None`: none waits.
    permits: Rc<Cell<Option<u64>>>,
}

impl OffloadLimits for Bench {
    fn charge(&self, nexus: NexusId, volume: VolumeId, cost: OffloadCost) {
        assert_eq!(Some(nexus), self.nexus);
        self.charged.borrow_mut().push((volume.0, cost));
    }

    fn next_step(&self, nexus: NexusId, volume: VolumeId, abort: &AbortFlag) -> Option<LocalBoxFuture<'static, ()>> {
        assert_eq!((Some(nexus), volume), (self.nexus, VolumeId(10)));
        self.asked.set(self.asked.get() + 1);
        let (permits, abort) = (Rc::clone(&self.permits), abort.clone());
        permits.get()?;
        Some(Box::pin(std::future::poll_fn(move |context| {
            if abort.is_set_or_wakes(context.waker()) {
                return Poll::Ready(());
            }
            match permits.get() {
                Some(left @ 1..) => {
                    permits.set(Some(left - 1));
                    Poll::Ready(())
                }
                _ => Poll::Pending,
            }
        })))
    }
}

/// Costs that were charged to the first nexus, by volume.
fn charging(array: &Array) -> Rc<RefCell<Vec<(u64, OffloadCost)>>> {
    let bench = Bench { nexus: Some(array.a), ..Bench::default() };
    let charged = Rc::clone(&bench.charged);
    array.target.limit_offload(bench);
    charged
}

/// A clone of 16 MiB was charged as if it had moved as much.
#[test]
fn what_shares_storage_costs_nothing_more_and_what_is_moved_costs_its_bytes() {
    let array = Array::new();
    let charged = charging(&array);
    let path = array.lun0();
    path.write(0, &pattern(1, 256));
    let copy = |from, to| {
        let list = list_between([10, 11], 128, from, to);
        assert_good(&path.data_out(&cdb16(0x83, 0, 0, u32::try_from(list.len()).unwrap()), &list));
        charged.take()
    };
    assert_eq!(copy(0, 0), []);
    let bytes = 2 * 128 * 512;
    let cost = OffloadCost { operations: 4, bytes };
    assert_eq!(
        copy(0, 1),
        [(10, cost)],
        "4 times 16 KiB, read and written; the volume whose limits it waited for pays"
    );
}

#[test]
fn zeros_cost_nothing_more_and_patterns_cost_what_is_written() {
    let array = Array::new();
    let charged = charging(&array);
    let path = array.lun0();
    assert_good(&path.data_out(&cdb16(0x93, 0, 0, 4096), &pattern(0, 1)));
    assert_eq!(charged.take(), []);
    assert_good(&path.data_out(&cdb16(0x93, 0, 0, 4096), &pattern(7, 1)));
    let sum = charged.take().into_iter().fold((0, 0), |(operations, bytes), (volume, cost)| {
        assert_eq!(volume, 10);
        (operations + cost.operations, bytes + cost.bytes)
    });
    assert_eq!(sum, (128 + 1, 2 << 20), "128 times 16 KiB, and the second of two steps");
}

#[test]
fn each_further_range_of_an_unmap_costs_an_operation() {
    let array = Array::new();
    let charged = charging(&array);
    for (ranges, operations) in [(1, None), (32, Some(31))] {
        let ranges: Vec<_> = (0..ranges).map(|index| (index * 8, 8)).collect();
        let list = unmap_parameter_list(&ranges);
        let [high, low] = u16::try_from(list.len()).unwrap().to_be_bytes();
        assert_good(&array.lun0().data_out(&[0x42, 0, 0, 0, 0, 0, 0, high, low, 0], &list));
        let expected: Vec<_> =
            operations.map(|operations| (10, OffloadCost { operations, bytes: 0 })).into_iter().collect();
        assert_eq!(charged.take(), expected);
    }
}

/// Two segments of 8 blocks from LUN 0 to LUN 1, sent to LUN 0.
fn two_segments() -> Vec<u8> {
    let segment = |at| BlockToBlockSegment::new(0, 1, 8, at, at);
    List::of(&[10, 11], &[segment(0), segment(8)]).bytes()
}

#[test]
fn the_next_segment_of_a_copy_waits_for_limits_and_holds_nothing_meanwhile() {
    let array = Array::new();
    array.lun0().write(0, &pattern(1, 16));
    let bench = Bench { nexus: Some(array.a), ..Bench::default() };
    let (charged, asked, permits) = (Rc::clone(&bench.charged), Rc::clone(&bench.asked), Rc::clone(&bench.permits));
    array.target.limit_offload(bench);
    permits.set(Some(0));
    let list = two_segments();
    let cdb = cdb16(0x83, 0, 0, u32::try_from(list.len()).unwrap());
    for aborted in [false, true] {
        let length = u32::try_from(list.len()).unwrap();
        let (abort, command) = array.lun0().abortable(&cdb, Bytes::from(list.clone()), 0, length);
        let mut command = pin!(command);
        let mut context = Context::from_waker(Waker::noop());
        assert!(command.as_mut().poll(&mut context).is_pending());
        // Blocks of both segments, at the source and at the destination, can be written meanwhile.
        array.on(array.a, 1).write(0, &pattern(7, 16));
        array.lun0().write(8, &pattern(3, 8));
        if aborted {
            abort.abort();
        } else {
            permits.set(Some(1));
        }
        let Poll::Ready(response) = command.as_mut().poll(&mut context) else { panic!("it does not end") };
        let second = if aborted {
            assert_ne!(response.status, 0, "it was aborted");
            pattern(7, 16)[8 * 512..].to_vec()
        } else {
            assert_good(&response);
            pattern(3, 8)
        };
        assert_eq!(array.on(array.a, 1).read(8, 8), second);
    }
    assert_eq!((asked.get(), charged.take()), (2, vec![]), "each step was asked for, so that nothing is charged again");
}
