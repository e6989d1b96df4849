//! Transactions: several changes of several objects in one step.

use crate::common::{BLOCK, Rig, options};
use block::BlockError;
use bytes::Bytes;
use pool::{
    Answer, BlockNumber, ByteRange, CatalogChange, Failure, Missing, ObjectId, ObjectKind, Operation, Options, Outcome,
    Output, Stability, Transaction, View,
};
use random::Random;
use std::cell::Cell;
use std::rc::Rc;

fn at(number: u64) -> BlockNumber {
    BlockNumber::new(number)
}

fn content(byte: u8, bytes: u64) -> Bytes {
    Bytes::from(vec![byte; bytes as usize])
}

/// Result of an attempt of a test's transaction.
type Attempt = Result<Outcome<()>, Missing>;

/// Transaction without output.
fn doing(attempt: impl FnMut(&mut View<'_>) -> Attempt + 'static) -> impl Transaction<Output = ()> + 'static {
    attempt
}

impl Rig {
    fn finish<T>(&mut self, (id, answer): (u64, Answer<T>)) -> Result<T, Failure> {
        for _ in 0..100_000 {
            if let Some((_, result)) = self.take(id) {
                return result.map(|output| {
                    assert_eq!(output, Output::Done);
                    answer.take().unwrap()
                });
            }
            self.core.pump(1);
        }
        panic!("a transaction never finishes");
    }

    fn transact<T: Transaction + 'static>(&mut self, transaction: T) -> Result<T::Output, Failure> {
        let submitted = self.core.transact(transaction, Stability::Durable);
        self.finish(submitted)
    }

    fn commit(
        &mut self,
        mut change: impl FnMut(&mut View<'_>) -> Result<(), Missing> + 'static,
    ) -> Result<(), Failure> {
        self.transact(doing(move |view: &mut View<'_>| {
            change(view)?;
            Ok(Outcome::Commit(()))
        }))
    }

    fn bytes(&mut self, object: ObjectId, block: u64, count: u64) -> Vec<u8> {
        // First byte of each block.
        self.read(object, block, count).unwrap().chunks(BLOCK as usize).map(|block| block[0]).collect()
    }
}

#[test]
fn changes_of_several_objects_take_effect_together() {
    let mut rig = Rig::new(8192);
    let (a, b) = (rig.create(1000), rig.create(1000));
    rig.write(a, 0, 4, 1).unwrap();
    rig.write(a, 500, 4, 2).unwrap();
    rig.commit(move |view| {
        view.write(a, BLOCK / 2, content(3, BLOCK))?;
        view.zero(a, ByteRange::new(2 * BLOCK, 2 * BLOCK))?;
        view.clone_blocks((a, at(500)), (b, at(10)), 4)?;
        view.edit(b, at(900), 5..7)?.fill(4);
        Ok(())
    })
    .unwrap();
    let mut rig = rig.crash();
    let head = rig.read(a, 0, 4).unwrap();
    let half = BLOCK as usize / 2;
    assert!(head[..half].iter().all(|byte| *byte == 1) && head[half..3 * half].iter().all(|byte| *byte == 3));
    assert!(head[3 * half..4 * half].iter().all(|byte| *byte == 1) && head[4 * half..].iter().all(|byte| *byte == 0));
    assert_eq!(rig.bytes(b, 9, 6), [0, 2, 2, 2, 2, 0]);
    assert_eq!(rig.read(b, 900, 1).unwrap()[4..8], [0, 4, 4, 0]);
    rig.assert_clean();
}

#[test]
fn an_attempt_sees_its_own_changes() {
    let mut rig = Rig::new(8192);
    let (a, b) = (rig.create(1000), rig.create(1000));
    rig.write(a, 0, 8, 1).unwrap();
    rig.commit(move |view| {
        assert!(view.is_mapped(a, at(3))? && !view.is_mapped(b, at(3))?);
        view.zero(a, ByteRange::new(0, 4 * BLOCK))?;
        assert!(!view.is_mapped(a, at(3))?);
        view.edit(a, at(3), 8..9)?.fill(2);
        assert_eq!(view.block(a, at(3))?[7..10], [0, 2, 0]);
        view.clone_blocks((a, at(2)), (b, at(0)), 4)?;
        view.edit(a, at(3), 8..9)?.fill(3);
        view.write(a, 4 * BLOCK, content(4, BLOCK))?;
        assert_eq!((view.block(b, at(1))?[8], view.block(b, at(2))?[0]), (2, 1));
        Ok(())
    })
    .unwrap();
    let mut rig = rig.crash();
    assert_eq!(rig.bytes(a, 0, 6), [0, 0, 0, 0, 4, 1]);
    assert_eq!(rig.read(a, 3, 1).unwrap()[8], 3);
    assert_eq!(rig.bytes(b, 0, 5), [0, 0, 1, 1, 0]);
    assert_eq!(rig.read(b, 1, 1).unwrap()[8], 2);
    rig.assert_clean();
}

#[test]
fn edits_of_one_block_are_one_write() {
    let mut rig = Rig::new(8192);
    let a = rig.create(1000);
    rig.write(a, 7, 1, 1).unwrap();
    let before = rig.core.next_sequence();
    rig.commit(move |view| {
        for byte in 0..9 {
            view.edit(a, at(7), 100 * byte..100 * byte + 1)?.fill(9);
        }
        view.write(a, 8 * BLOCK, content(2, BLOCK))
    })
    .unwrap();
    assert_eq!(rig.core.next_sequence(), before + 2, "a record of each of two blocks");
    assert_eq!(rig.read(a, 7, 1).unwrap().iter().filter(|byte| **byte == 9).count(), 9);
}

#[test]
fn a_zeroed_edge_keeps_the_rest_of_its_block() {
    let mut rig = Rig::new(8192);
    let a = rig.create(1000);
    rig.write(a, 0, 3, 1).unwrap();
    rig.commit(move |view| view.zero(a, ByteRange::new(100, 2 * BLOCK))).unwrap();
    rig.commit(move |view| view.zero(a, ByteRange::new(2 * BLOCK + 200, 5))).unwrap();
    let found = rig.read(a, 0, 3).unwrap();
    let (first, last) = (100, 2 * BLOCK as usize + 100);
    for (index, byte) in found.iter().enumerate() {
        let zero = (first..last).contains(&index) || (last + 100..last + 105).contains(&index);
        assert_eq!(*byte, u8::from(!zero), "byte {index}");
    }
    // What is not mapped stays so.
    rig.commit(move |view| view.zero(a, ByteRange::new(50 * BLOCK + 1, 5))).unwrap();
    assert_eq!(rig.core.object(a).unwrap().mapped_bytes, 2 * BLOCK);
}

#[test]
fn nothing_changes_when_the_transaction_says_so_or_fails() {
    let mut rig = Rig::new(8192);
    let a = rig.create(1000);
    rig.write(a, 0, 1, 1).unwrap();
    let snapshot = rig.clone_of(a, ObjectKind::Snapshot).unwrap();
    let gone = rig.core.new_object_id();
    let before = rig.core.next_sequence();
    let nothing = rig.transact(move |view: &mut View<'_>| {
        view.edit(a, at(0), 0..1)?.fill(9);
        Ok(Outcome::Nothing(view.block(a, at(0))?[0]))
    });
    assert_eq!(nothing, Ok(9));
    let mut fails = |change: fn(&mut View<'_>, ObjectId) -> Result<(), Missing>, second: ObjectId| {
        rig.commit(move |view| {
            view.edit(a, at(0), 0..1)?.fill(9);
            change(view, second)
        })
        .unwrap_err()
    };
    let error = fails(|view, gone| view.write(gone, 0, content(1, 9)), gone);
    assert_eq!(error, Failure::Block(BlockError::Gone));
    let error = fails(|view, a| view.zero(a, ByteRange::new(1000 * BLOCK - 1, 2)), a);
    assert!(matches!(error, Failure::Block(BlockError::OutOfRange { .. })), "{error:?}");
    let error = fails(|view, a| view.block(a, at(1000)).map(|_| ()), a);
    assert!(matches!(error, Failure::Block(BlockError::OutOfRange { .. })), "{error:?}");
    let error = fails(|view, a| view.clone_blocks((a, at(0)), (a, at(u64::MAX)), 2), a);
    assert!(matches!(error, Failure::Block(BlockError::OutOfRange { .. })), "{error:?}");
    let error = fails(|view, snapshot| view.edit(snapshot, at(0), 0..1).map(|_| ()), snapshot);
    assert_eq!(error, Failure::Block(BlockError::ReadOnly));
    // A refusal counts even if the transaction goes on.
    let error = fails(
        |view, a| {
            let _ = view.edit(a, at(0), 5..BLOCK as usize + 1);
            Ok(())
        },
        a,
    );
    assert!(matches!(error, Failure::Block(BlockError::Internal { .. })), "{error:?}");
    assert_eq!(rig.core.next_sequence(), before);
    assert_eq!(rig.bytes(a, 0, 1), [1]);
}

/// Opens the pool of `rig` with nothing in memory.
fn cold(rig: Rig) -> Rig {
    let mut rig = rig;
    rig.core.checkpoint().unwrap();
    Rig::on(rig.disk.clone(), options(9)).unwrap()
}

#[test]
fn an_attempt_runs_again_until_all_it_needs_is_in_memory() {
    let mut rig = Rig::new(8192);
    let a = rig.create(100_000);
    for block in [0, 30_000, 70_000] {
        rig.write(a, block, 1, 1).unwrap();
    }
    let mut rig = cold(rig);
    let attempts = Rc::new(Cell::new(0));
    let counted = Rc::clone(&attempts);
    let sum = rig.transact(move |view: &mut View<'_>| {
        counted.set(counted.get() + 1);
        let mut sum = 0;
        for block in [0, 30_000, 70_000] {
            sum += view.block(a, at(block))?[0];
            view.edit(a, at(block), 1..2)?.fill(sum);
        }
        Ok(Outcome::Commit(sum))
    });
    assert_eq!(sum, Ok(3));
    assert!((4..=12).contains(&attempts.get()), "{} attempts", attempts.get());
    let pages: Vec<u8> = [0, 30_000, 70_000].map(|block| rig.read(a, block, 1).unwrap()[1]).into();
    assert_eq!(pages, [1, 2, 3]);
    assert!(rig.core.counters().most_pins > 3, "it has pinned pages and blocks");
}

#[test]
fn concurrent_transactions_and_writes_never_meet_half_way() {
    let mut rig = Rig::new(8192);
    let a = rig.create(100_000);
    rig.write(a, 0, 1, 1).unwrap();
    let mut rig = cold(rig);
    let increment = move |view: &mut View<'_>| {
        let number = view.block(a, at(0))?[9] + 1;
        view.edit(a, at(0), 9..10)?.fill(number);
        // The second block shows how often it has changed, and whose turn it was.
        view.write(a, 50_000 * BLOCK + u64::from(number), content(number, 1))?;
        Ok(Outcome::Commit(number))
    };
    let submitted: Vec<_> = (0..20)
        .map(|turn| {
            if turn == 10 {
                let data = content(100, BLOCK);
                rig.core.submit(Operation::Write { object: a, offset: 0, data, forced: false });
                rig.core.request_checkpoint();
            }
            rig.core.transact(increment, Stability::Unstable)
        })
        .collect();
    let mut numbers: Vec<u8> = submitted.into_iter().map(|one| rig.finish(one).unwrap()).collect();
    numbers.sort_unstable();
    // The write may come before any of them.
    let restart = numbers.iter().filter(|number| **number > 100).count() as u8;
    let first = numbers.iter().filter(|number| **number <= 100).count() as u8;
    let expected: Vec<u8> = (2..2 + first).chain(101..101 + restart).collect();
    assert_eq!(numbers, expected);
    let log = rig.read(a, 50_000, 1).unwrap();
    assert!(numbers.iter().all(|number| log[usize::from(*number)] == *number));
    rig.assert_clean();
}

#[test]
fn a_large_payload_appears_with_the_other_changes() {
    let mut rig = Rig::new(8192);
    let a = rig.create(10_000);
    rig.write(a, 0, 300, 1).unwrap();
    rig.settle();
    let before = rig.core.counters().log_bytes;
    let payload = content(7, 200 * BLOCK + 99);
    rig.commit(move |view| {
        view.write(a, 10 * BLOCK + 55, payload.clone())?;
        view.edit(a, at(5000), 0..8)?.fill(3);
        // It is seen, and may be changed.
        assert_eq!((view.block(a, at(10))?[54..56].to_vec(), view.block(a, at(20))?[0]), (vec![1, 7], 7));
        view.edit(a, at(20), 0..1)?.fill(8);
        view.clone_blocks((a, at(19)), (a, at(6000)), 3)
    })
    .unwrap();
    assert!(rig.core.counters().log_bytes - before < 40 * BLOCK, "the payload did not go through the log");
    let mut rig = rig.crash();
    let expected: Vec<u8> = (0..300)
        .flat_map(|block: u64| {
            (0..BLOCK).map(move |byte| match (block, block * BLOCK + byte) {
                (20, place) if place == 20 * BLOCK => 8,
                (_, place) if (10 * BLOCK + 55..210 * BLOCK + 154).contains(&place) => 7,
                _ => 1,
            })
        })
        .collect();
    assert!(rig.read(a, 0, 300).unwrap() == expected);
    assert_eq!(rig.read(a, 5000, 1).unwrap()[..9], [3, 3, 3, 3, 3, 3, 3, 3, 0]);
    assert_eq!(rig.bytes(a, 5999, 5), [0, 7, 8, 7, 0]);
    rig.assert_clean();
}

#[test]
fn a_payload_that_is_given_up_leaves_nothing() {
    let mut rig = Rig::new(8192);
    let a = rig.create(10_000);
    rig.settle();
    let free = rig.core.space().free_bytes;
    let payload = content(7, 200 * BLOCK);
    let mut attempts = 0;
    let outcome = rig.transact(move |view: &mut View<'_>| {
        attempts += 1;
        view.write(a, 0, payload.clone())?;
        Ok(if attempts == 1 { Outcome::Commit(attempts) } else { Outcome::Nothing(attempts) })
    });
    assert_eq!(outcome, Ok(2));
    rig.settle();
    assert_eq!((rig.core.space().free_bytes, rig.bytes(a, 0, 1)), (free, vec![0]));
    rig.assert_clean();
}

#[test]
fn a_payload_follows_a_transaction_that_changes_its_mind_about_the_place() {
    let mut rig = Rig::new(8192);
    let (a, b) = (rig.create(10_000), rig.create(10_000));
    let payload = content(7, 100 * BLOCK);
    let mut attempts = 0;
    rig.transact(doing(move |view: &mut View<'_>| {
        attempts += 1;
        match attempts {
            1 => view.write(a, 0, payload.clone())?,
            2 => view.write(a, 17, payload.clone())?,
            _ => view.write(b, 17, payload.clone())?,
        }
        Ok(Outcome::Commit(()))
    }))
    .unwrap();
    assert_eq!((rig.bytes(a, 0, 1), rig.bytes(b, 0, 2)), (vec![0], vec![0, 7]));
    rig.settle();
    rig.assert_clean();
}

#[test]
fn a_full_pool_refuses_a_transaction_as_a_whole_and_lets_it_overwrite_and_zero() {
    let mut rig = Rig::new(4096 + 1000);
    let a = rig.create(100_000);
    rig.write(a, 0, 1, 1).unwrap();
    let mut block = 1;
    while rig.write(a, block, 1, 2).is_ok() {
        block += 1;
    }
    let sequence = rig.core.next_sequence();
    let error = rig.commit(move |view| {
        view.edit(a, at(0), 0..1)?.fill(9);
        view.write(a, 90_000 * BLOCK, content(9, 1))
    });
    assert_eq!(error, Err(Failure::Block(BlockError::PoolFull)));
    assert_eq!((rig.core.next_sequence(), rig.bytes(a, 0, 1)), (sequence, vec![1]));
    rig.commit(move |view| {
        view.edit(a, at(0), 0..1)?.fill(9);
        view.zero(a, ByteRange::new(BLOCK, (block - 1) * BLOCK))
    })
    .unwrap();
    assert_eq!(rig.bytes(a, 0, 2), [9, 0]);
    rig.settle();
    rig.write(a, 1, 50, 2).unwrap();
    rig.assert_clean();
}

#[test]
fn a_large_payload_overwrites_in_a_full_pool() {
    let mut rig = Rig::new(4096 + 1000);
    let a = rig.create(100_000);
    rig.write(a, 0, 60, 1).unwrap();
    let mut block = 60;
    while rig.write(a, block, 1, 2).is_ok() {
        block += 1;
    }
    let payload = content(5, 50 * BLOCK);
    rig.commit(move |view| view.write(a, 3 * BLOCK, payload.clone())).unwrap();
    assert_eq!(rig.bytes(a, 2, 2), [1, 5]);
    let payload = content(5, 50 * BLOCK);
    let error = rig.commit(move |view| view.write(a, 50_000 * BLOCK, payload.clone()));
    assert_eq!(error, Err(Failure::Block(BlockError::PoolFull)));
}

#[test]
fn a_block_that_cannot_be_read_fails_the_transaction_with_its_place() {
    let mut rig = Rig::new(8192);
    let a = rig.create(1000);
    rig.write(a, 0, 1, 1).unwrap();
    rig.write(a, 77, 1, 0x5a).unwrap();
    rig.core.checkpoint().unwrap();
    let blocks = rig.disk_blocks();
    let damaged = (0..blocks).find(|block| rig.disk.peek(*block).0.iter().all(|byte| *byte == 0x5a));
    rig.disk.rot(damaged.unwrap(), 3);
    let mut rig = Rig::on(rig.disk.clone(), options(9)).unwrap();
    let error = rig.commit(move |view| {
        view.edit(a, at(0), 0..1)?.fill(9);
        view.edit(a, at(77), 0..1)?.fill(9);
        Ok(())
    });
    assert_eq!(error, Err(Failure::Unreadable { object: a, block: at(77) }));
    assert_eq!(rig.bytes(a, 0, 1), [1]);
}

#[test]
fn a_look_answers_at_once_or_not_at_all() {
    let mut rig = Rig::new(8192);
    let a = rig.create(1000);
    rig.write(a, 3, 1, 1).unwrap();
    assert_eq!(rig.core.try_view(|view| Ok(view.block(a, at(3))?[0])), Some(Ok(1)));
    assert_eq!(rig.core.try_view(|view| Ok(view.block(a, at(4))?[0])), Some(Ok(0)));
    let gone = rig.core.new_object_id();
    assert_eq!(rig.core.try_view(|view| view.size_bytes(gone)), Some(Err(BlockError::Gone)));
    let changed = rig.core.try_view(|view| view.zero(a, ByteRange::new(0, 9)));
    assert!(matches!(changed, Some(Err(BlockError::Internal { .. }))));
    let mut rig = cold(rig);
    assert_eq!(rig.core.try_view(|view| Ok(view.block(a, at(3))?[0])), None);
    let found = rig.transact(move |view: &mut View<'_>| Ok(Outcome::Nothing(view.block(a, at(3))?[0])));
    assert_eq!(found, Ok(1));
    assert_eq!(rig.core.try_view(|view| Ok(view.block(a, at(3))?[0])), Some(Ok(1)));
}

#[test]
fn unstable_changes_are_answered_at_once_and_lost_as_a_whole() {
    let mut rig = Rig::new(8192);
    let a = rig.create(1000);
    let submitted = rig.core.transact(
        doing(move |view: &mut View<'_>| {
            view.write(a, 0, content(1, BLOCK))?;
            view.write(a, 500 * BLOCK, content(1, BLOCK))?;
            Ok(Outcome::Commit(()))
        }),
        Stability::Unstable,
    );
    let (id, _) = rig.take(submitted.0).expect("it is answered without a pump");
    assert_eq!(id, submitted.0);
    assert_eq!((rig.bytes(a, 0, 1), rig.bytes(a, 500, 1)), (vec![1], vec![1]));
    let mut rig = rig.crash();
    let found = (rig.bytes(a, 0, 1)[0], rig.bytes(a, 500, 1)[0]);
    assert!(found == (0, 0) || found == (1, 1), "{found:?}");
}

/// Attempts were made again and again while reads evicted what the attempt before had seen.
#[test]
fn what_an_attempt_has_seen_stays_in_memory() {
    let mut rig = Rig::new(8192);
    let a = rig.create(10_000_000);
    let places: Vec<u64> = (0..40).map(|at| at * 200_003).collect();
    for place in &places {
        rig.write(a, *place, 1, 1).unwrap();
    }
    rig.core.checkpoint().unwrap();
    let small = Options { memory_bytes: 64 << 10, ..options(9) };
    let mut rig = Rig::on(rig.disk.clone(), small).unwrap();
    let attempts = Rc::new(Cell::new(0));
    let counted = Rc::clone(&attempts);
    let seen = places.clone();
    let (id, answer) = rig.core.transact(
        doing(move |view: &mut View<'_>| {
            counted.set(counted.get() + 1);
            for place in &seen[..10] {
                view.edit(a, at(*place), 0..1)?.fill(2);
            }
            Ok(Outcome::Commit(()))
        }),
        Stability::Durable,
    );
    let mut turn = 0;
    while rig.take(id).is_none() {
        for place in &places[10..] {
            rig.core.submit(Operation::Read { object: a, offset: place * BLOCK, length: BLOCK as usize });
        }
        rig.core.pump(1);
        turn += 1;
        assert!(turn < 1000, "it never ends");
    }
    answer.take().unwrap();
    // A root, and for each block a page of each lower level and its content; and counts.
    assert!(attempts.get() <= 1 + 3 * 10 + 2, "{} attempts", attempts.get());
    for (number, place) in places.iter().enumerate() {
        assert_eq!(rig.bytes(a, *place, 1), [if number < 10 { 2 } else { 1 }]);
    }
    rig.assert_clean();
}

/// Change of bytes, and content for it.
#[derive(Clone, Debug)]
enum Change {
    Write { object: usize, offset: usize, bytes: Vec<u8> },
    Zero { object: usize, offset: usize, length: usize },
    Clone { from: (usize, usize), to: (usize, usize), blocks: usize },
}

fn drawn(random: &Random) -> Change {
    const SIZE: u64 = 1200 * BLOCK + 512;
    let object = random.below(2) as usize;
    let offset = random.below(if random.below(4) == 0 { SIZE } else { 3 * BLOCK });
    let length = 1 + random.below([9, 5000, 60_000, 2_000_000][random.below(4) as usize].min(SIZE - offset));
    match random.below(4) {
        0 => Change::Zero { object, offset: offset as usize, length: length as usize },
        1 => {
            let (from, to) = (random.below(40), random.below(40));
            let blocks = [1, 7, 300, 1100][random.below(4) as usize];
            Change::Clone { from: (object, from as usize), to: (random.below(2) as usize, to as usize), blocks }
        }
        _ => {
            let byte = random.below(256) as u8;
            let length = length.min(200_000) as usize;
            let bytes = (0..length).map(|at| byte.wrapping_add((at / 700) as u8)).collect();
            Change::Write { object, offset: offset as usize, bytes }
        }
    }
}

fn apply(contents: &mut [Vec<u8>; 2], change: &Change) {
    let block = BLOCK as usize;
    match change {
        Change::Write { object, offset, bytes } => {
            contents[*object][*offset..offset + bytes.len()].copy_from_slice(bytes);
        }
        Change::Zero { object, offset, length } => contents[*object][*offset..offset + length].fill(0),
        Change::Clone { from, to, blocks } => {
            let bytes = contents[from.0][from.1 * block..(from.1 + blocks) * block].to_vec();
            contents[to.0][to.1 * block..(to.1 + blocks) * block].copy_from_slice(&bytes);
        }
    }
}

/// Objects of an odd number of sectors, with changes at every byte.
#[test]
fn bytes_are_what_a_plain_model_says() {
    for seed in 0..4 {
        let random = Random::new(seed);
        let mut rig = Rig::with_log(4096 * 4, 4 << 20);
        let mut create = || {
            let id = rig.core.new_object_id();
            rig.change(CatalogChange::CreateVolume { id, size_bytes: 1200 * BLOCK + 512 }).unwrap();
            id
        };
        let objects = [create(), create()];
        let mut contents = [0, 1].map(|_| vec![0; (1200 * BLOCK + 512) as usize]);
        for _ in 0..15 {
            let changes: Vec<Change> = (0..1 + random.below(6)).map(|_| drawn(&random)).collect();
            changes.iter().for_each(|change| apply(&mut contents, change));
            let told = format!("seed {seed}: {} changes", changes.len());
            rig.commit(move |view| {
                for change in &changes {
                    match change {
                        Change::Write { object, offset, bytes } => {
                            view.write(objects[*object], *offset as u64, Bytes::from(bytes.clone()))?;
                        }
                        Change::Zero { object, offset, length } => {
                            view.zero(objects[*object], ByteRange::new(*offset as u64, *length as u64))?;
                        }
                        Change::Clone { from, to, blocks } => {
                            let place = |(object, block): (usize, usize)| (objects[object], at(block as u64));
                            view.clone_blocks(place(*from), place(*to), *blocks as u64)?;
                        }
                    }
                }
                Ok(())
            })
            .unwrap();
            if random.below(3) == 0 {
                rig.core.request_checkpoint();
            }
            for (object, content) in objects.iter().zip(&contents) {
                let read = Operation::Read { object: *object, offset: 0, length: content.len() };
                let Output::Data(found) = rig.run(read).unwrap() else { panic!() };
                let differs = found.iter().zip(content).position(|(a, b)| a != b);
                assert_eq!(differs, None, "{told}");
            }
        }
        assert_eq!(rig.core.counters().unplanned, 0);
        rig.assert_clean();
        rig = rig.crash();
        let read = Operation::Read { object: objects[1], offset: 0, length: contents[1].len() };
        assert!(matches!(rig.run(read), Ok(Output::Data(found)) if found == contents[1]));
    }
}
