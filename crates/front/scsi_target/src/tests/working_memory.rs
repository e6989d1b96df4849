//! Memory that commands use besides their data: bounded for the whole target, shared among
//! initiators in turn.

use super::extended_copy::list_between;
use super::*;
use std::pin::Pin;

const MIB: u64 = 1 << 20;

type Pending<'a> = Pin<Box<dyn Future<Output = Response> + 'a>>;

fn array() -> Array {
    Array::with_working_memory(4 * MIB)
}

/// Polls all pending futures; returns how many have finished.
fn poll(pending: &mut Vec<Pending<'_>>) -> usize {
    let context = &mut Context::from_waker(Waker::noop());
    let before = pending.len();
    pending.retain_mut(|future| match future.as_mut().poll(context) {
        Poll::Ready(response) => {
            assert_good(&response);
            false
        }
        Poll::Pending => true,
    });
    before - pending.len()
}

fn out<'a>(path: Path<'a>, cdb: &[u8], data: Vec<u8>) -> Pending<'a> {
    let length = u32::try_from(data.len()).unwrap();
    Box::pin(path.request(cdb, Bytes::from(data), 0, length))
}

/// Commands of each kind that needs working memory, 1 MiB each, each on its own blocks.
fn commands<'a>(array: &'a Array, nexus: NexusId, kind: u8, count: u64) -> Vec<Pending<'a>> {
    let path = array.on(nexus, 0);
    let one = |index: u64| {
        let lba = index * 2048;
        match kind {
            0 => out(path, &cdb16(0x8f, 0, lba, 2048), Vec::new()),
            1 => out(path, &cdb16(0x93, 0, lba, 2048), pattern(0xaa, 1)),
            2 => {
                let list = list_between([10, 11], 2048, lba, lba + 1);
                out(path, &cdb16(0x83, 0, 0, u32::try_from(list.len()).unwrap()), list)
            }
            _ => out(path, &cdb16(0x8b, 0, lba, 128), pattern(0x55, 128)),
        }
    };
    (0..count).map(one).collect()
}

#[test]
fn commands_hold_no_more_than_the_target_has_to_work_with() {
    for kind in 0..4 {
        let array = array();
        array.volumes.iter().for_each(MemoryDevice::stutter);
        let mut pending = commands(&array, array.a, kind, 40);
        let mut most = 0;
        while !pending.is_empty() {
            poll(&mut pending);
            most = most.max(array.units.working_memory().used_bytes());
        }
        assert!((128 << 10..=4 * MIB).contains(&most), "kind {kind}: {most}");
        assert_eq!(array.units.working_memory().used_bytes(), 0);
    }
}

#[test]
fn an_initiator_with_many_commands_does_not_keep_another_from_its_turn() {
    let array = array();
    array.volumes[0].stutter();
    let mut many = commands(&array, array.a, 0, 40);
    poll(&mut many);
    let mut one = commands(&array, array.b, 0, 1);
    let mut others = 0;
    while !one.is_empty() {
        poll(&mut one);
        others += poll(&mut many);
    }
    assert!(others <= 8, "{others} were before it");
}

#[test]
fn a_command_that_is_aborted_while_it_waits_for_memory_leaves_its_place() {
    let array = array();
    array.volumes[0].stutter();
    let mut first = commands(&array, array.a, 0, 4);
    poll(&mut first);
    let mut waiting = commands(&array, array.b, 0, 1);
    poll(&mut waiting);
    let mut last = commands(&array, array.a2, 0, 1);
    poll(&mut last);
    drop(waiting);
    drop(first);
    while !last.is_empty() {
        poll(&mut last);
    }
    assert_eq!(array.units.working_memory().used_bytes(), 0);
}
