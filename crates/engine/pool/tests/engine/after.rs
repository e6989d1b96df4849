//! What follows a transaction in the same step.

use crate::common::{BLOCK, Rig, options};
use block::BlockError;
use bytes::Bytes;
use pool::{
    ADDRESS_SPACE_BYTES, Answer, BlockNumber, BlockRange, ByteRange, Failure, Missing, ObjectId, Options, Outcome,
    Stability, View,
};
use random::Random;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

fn at(number: u64) -> BlockNumber {
    BlockNumber::new(number)
}

fn finish<T>(rig: &mut Rig, (id, answer): (u64, Answer<T>)) -> Result<T, Failure> {
    for _ in 0..100_000 {
        if let Some((_, result)) = rig.take(id) {
            return result.map(|_| answer.take().unwrap());
        }
        rig.core.pump(1);
    }
    panic!("a transaction never ends");
}

/// Opens the pool of `rig` with nothing in memory, and hardly any of it.
fn cold(mut rig: Rig) -> Rig {
    rig.core.checkpoint().unwrap();
    Rig::on(rig.disk.clone(), Options { memory_bytes: 64 << 10, ..options(9) }).unwrap()
}

/// Adds 1 to a byte and returns it.
fn increment(object: ObjectId) -> impl FnMut(&mut View<'_>) -> Result<Outcome<u8>, Missing> {
    move |view: &mut View<'_>| {
        let number = view.block(object, at(5))?[0] + 1;
        view.edit(object, at(5), 0..1)?.fill(number);
        Ok(Outcome::Commit(number))
    }
}

#[test]
fn it_comes_right_after_the_execution() {
    let mut rig = Rig::new(8192);
    let a = rig.create(1000);
    rig.write(a, 5, 1, 1).unwrap();
    let mut rig = cold(rig);
    let order = Rc::new(RefCell::new(Vec::new()));
    let submitted: Vec<_> = (0..20)
        .map(|turn| {
            let order = Rc::clone(&order);
            let stability = if turn % 2 == 0 { Stability::Durable } else { Stability::Unstable };
            rig.core.transact_then(increment(a), stability, move |view, number| {
                let found = view.block(a, at(5)).map(|block| block[0]);
                order.borrow_mut().push((number, found));
                u32::from(number) * 2
            })
        })
        .collect();
    let doubled: u32 = submitted.into_iter().map(|one| finish(&mut rig, one).unwrap()).sum();
    assert_eq!(doubled, (2..22).sum::<u32>() * 2);
    assert_eq!(*order.borrow(), (2..22).map(|number| (number, Ok(number))).collect::<Vec<_>>());
}

#[test]
fn it_does_not_wait_until_the_changes_are_durable() {
    let mut rig = Rig::new(8192);
    let a = rig.create(1000);
    let called = Rc::new(Cell::new(0));
    let inside = Rc::clone(&called);
    let submitted = rig.core.transact_then(increment(a), Stability::Durable, move |_, number| inside.set(number));
    assert_eq!((called.get(), rig.take(submitted.0).is_none()), (1, true));
    finish(&mut rig, submitted).unwrap();
}

#[test]
fn it_sees_the_state_before_when_nothing_happens() {
    let mut rig = Rig::new(8192);
    let a = rig.create(1000);
    rig.write(a, 5, 1, 1).unwrap();
    let mut rig = cold(rig);
    let nothing = move |view: &mut View<'_>| {
        let mapped = view.mapped(a, BlockRange::new(at(0), 1000))?;
        view.edit(a, at(5), 0..1)?.fill(9);
        view.write(a, 0, Bytes::from_static(&[1; 9]))?;
        Ok(Outcome::Nothing(mapped))
    };
    let submitted = rig.core.transact_then(nothing, Stability::Durable, move |view, mapped| {
        Ok::<_, Missing>((mapped, view.block(a, at(5))?[0], view.mapped(a, BlockRange::new(at(0), 1000))?))
    });
    assert_eq!(finish(&mut rig, submitted), Ok(Ok((1, 1, 1))));
}

#[test]
fn it_cannot_change_anything_and_is_not_called_after_a_failure() {
    let mut rig = Rig::new(8192);
    let a = rig.create(1000);
    let sequence = rig.core.next_sequence();
    let submitted = rig.core.transact_then(increment(a), Stability::Durable, move |view, _| {
        view.zero(a, ByteRange::new(0, 1000 * BLOCK)).is_err()
    });
    assert_eq!(finish(&mut rig, submitted), Ok(true));
    assert_eq!((rig.core.next_sequence(), rig.read(a, 5, 1).unwrap()[0]), (sequence + 1, 1));
    let called = Rc::new(Cell::new(false));
    let inside = Rc::clone(&called);
    let gone = rig.core.new_object_id();
    let submitted = rig.core.transact_then(increment(gone), Stability::Durable, move |_, _| inside.set(true));
    assert_eq!((finish(&mut rig, submitted), called.get()), (Err(Failure::Block(BlockError::Gone)), false));
}

/// Blocks of the ranges that files would have in an address space.
const RANGES: [(u64, u64); 3] = [(1 << 20, 1 << 20), (3 << 24, 1 << 24), (5 << 33, 1 << 33)];

/// Change of one of the ranges, at a block counted from its start.
#[derive(Clone, Copy, Debug)]
enum Change {
    Write { block: u64, byte: u8 },
    Zero { first: u64, count: u64 },
    Share { from: u64, to: u64, count: u64 },
}

fn drawn(random: &Random) -> Change {
    let place = || random.below(3) * 256 + random.below(3) * (1 << 16) + random.below(6);
    let count = [1, 5, 256, 1 << 16, 70_000][random.below(5) as usize];
    match random.below(3) {
        0 => Change::Write { block: place(), byte: 1 + random.below(200) as u8 },
        1 => Change::Zero { first: place(), count },
        _ => Change::Share { from: place(), to: place() + 4 * 256, count },
    }
}

fn name(view: &mut View<'_>, object: ObjectId, start: u64, change: Change) -> Result<(), Missing> {
    match change {
        Change::Write { block, byte } => {
            view.write(object, (start + block) * BLOCK, Bytes::from(vec![byte; BLOCK as usize]))
        }
        Change::Zero { first, count } => view.zero(object, ByteRange::new((start + first) * BLOCK, count * BLOCK)),
        Change::Share { from, to, count } => {
            view.clone_blocks((object, at(start + from)), (object, at(start + to)), count)
        }
    }
}

fn apply(model: &mut BTreeMap<u64, u8>, start: u64, change: Change) {
    match change {
        Change::Write { block, byte } => drop(model.insert(start + block, byte)),
        Change::Zero { first, count } => {
            model.retain(|block, _| !(start + first..start + first + count).contains(block))
        }
        Change::Share { from, to, count } => {
            let (from, to) = (start + from, start + to);
            let moved: Vec<_> =
                model.range(from..from + count).map(|(block, byte)| (block - from + to, *byte)).collect();
            model.retain(|block, _| !(to..to + count).contains(block));
            model.extend(moved);
        }
    }
}

/// What the attempt asked for is there after its changes too, with memory for next to nothing.
#[test]
fn it_finds_in_memory_what_the_attempt_looked_at() {
    let mut rig = Rig::with_log(2048 * 12, 4 << 20);
    let object = rig.create(ADDRESS_SPACE_BYTES / BLOCK);
    let random = Random::new(11);
    let mut model = BTreeMap::new();
    for (start, _) in RANGES {
        for block in [0, 3, 255, 256, 600, 1 << 16, (1 << 16) + 256] {
            rig.write(object, start + block, 1, 7).unwrap();
            model.insert(start + block, 7);
        }
    }
    // A block beside the changes, in which each transaction counts.
    rig.write(object, 9, 1, 0xff).unwrap();
    for round in 0..150 {
        rig = if round % 10 == 0 { cold(rig) } else { rig };
        let (start, count) = RANGES[random.below(3) as usize];
        let range = BlockRange::new(at(start), count);
        let changes: Vec<_> = (0..1 + random.below(3)).map(|_| drawn(&random)).collect();
        changes.iter().for_each(|change| apply(&mut model, start, *change));
        let told = format!("round {round}: {changes:?} of {start}");
        let attempt = move |view: &mut View<'_>| {
            view.mapped(object, range)?;
            view.edit(object, at(9), 0..1)?.fill(round);
            changes.iter().try_for_each(|change| name(view, object, start, *change))?;
            Ok(Outcome::Commit(()))
        };
        let submitted = rig.core.transact_then(attempt, Stability::Unstable, move |view, ()| {
            Ok::<_, Missing>((view.mapped(object, range)?, view.block(object, at(9))?[0]))
        });
        let expected = model.range(start..start + count).count() as u64;
        assert_eq!(finish(&mut rig, submitted), Ok(Ok((expected, round))), "{told}");
    }
    rig.settle();
    rig.assert_clean();
}
