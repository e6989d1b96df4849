//! Allotments: space promised to ranges of an address space.

use crate::common::{BLOCK, Rig};
use block::BlockError;
use bytes::Bytes;
use media::{FEATURE_ALLOTMENTS, RootStore};
use pool::{
    ADDRESS_SPACE_BYTES, BlockNumber, BlockRange, ByteRange, CatalogChange, Failure, ObjectId, ObjectKind, Outcome,
    PoolError, Stability, View,
};
use random::Random;
use std::collections::BTreeSet;

/// Blocks of an address space.
const ALL: u64 = ADDRESS_SPACE_BYTES / BLOCK;

fn range(first: u64, count: u64) -> BlockRange {
    BlockRange::new(BlockNumber::new(first), count)
}

fn allot(rig: &mut Rig, object: ObjectId, first: u64, count: u64) -> Result<(), Failure> {
    rig.together(move |view| view.allot(object, range(first, count)))
}

fn release(rig: &mut Rig, object: ObjectId, first: u64, count: u64) -> Result<(), Failure> {
    rig.together(move |view| view.release(object, range(first, count)))
}

/// Allotted parts of a range, and the blocks that they promise.
fn seen(rig: &mut Rig, object: ObjectId, first: u64, count: u64) -> (Vec<(u64, u64)>, u64) {
    let of = range(first, count);
    let looked =
        move |view: &mut View<'_>| Ok(Outcome::Nothing((view.allotted(object, of)?, view.promised(object, of)?)));
    let (id, answer) = rig.core.transact(looked, Stability::Unstable);
    while rig.take(id).is_none() {
        rig.core.pump(1);
    }
    let (ranges, promised) = answer.take().unwrap();
    (ranges.iter().map(|range| (range.first.get(), range.count)).collect(), promised)
}

fn promised(rig: &Rig) -> u64 {
    rig.core.space().promised_bytes / BLOCK
}

/// Writes more content to another volume until the pool takes no more.
fn fill(rig: &mut Rig, other: ObjectId) {
    let mut at = rig.core.object(other).unwrap().mapped_bytes / BLOCK;
    for count in [64, 8, 1] {
        while rig.write(other, at, count, 7).is_ok() {
            at += count;
        }
    }
}

fn is_full(result: &Result<(), Failure>) -> bool {
    matches!(result, Err(Failure::Block(BlockError::PoolFull)))
}

#[test]
fn allotments_are_merged_cut_and_kept() {
    let mut rig = Rig::new(2048 * 4);
    let object = rig.create(ALL);
    assert_eq!(rig.core.media().features() & FEATURE_ALLOTMENTS, 0);
    allot(&mut rig, object, 100, 50).unwrap();
    assert!(rig.core.media().features() & FEATURE_ALLOTMENTS != 0);
    allot(&mut rig, object, 200, 50).unwrap();
    assert_eq!(seen(&mut rig, object, 0, 1000), (vec![(100, 50), (200, 50)], 100));
    assert_eq!(seen(&mut rig, object, 120, 90), (vec![(120, 30), (200, 10)], 40));
    allot(&mut rig, object, 140, 60).unwrap();
    assert_eq!(seen(&mut rig, object, 0, 1000), (vec![(100, 150)], 150));
    rig.write(object, 90, 20, 1).unwrap();
    assert_eq!(seen(&mut rig, object, 0, 1000), (vec![(100, 150)], 140));
    release(&mut rig, object, 105, 10).unwrap();
    assert_eq!(seen(&mut rig, object, 0, 1000), (vec![(100, 5), (115, 135)], 135));
    rig.assert_clean();
    let before = promised(&rig);
    let mut rig = rig.crash();
    assert_eq!(seen(&mut rig, object, 0, 1000), (vec![(100, 5), (115, 135)], 135));
    rig.assert_clean();
    rig.core.checkpoint().unwrap();
    let mut rig = rig.crash();
    assert_eq!((seen(&mut rig, object, 0, 1000), promised(&rig)), ((vec![(100, 5), (115, 135)], 135), before));
    rig.zero(object, 0, 1000).unwrap();
    assert_eq!(seen(&mut rig, object, 0, 1000), (vec![(100, 5), (115, 135)], 140));
    release(&mut rig, object, 0, ALL).unwrap();
    assert_eq!((seen(&mut rig, object, 0, 1000), promised(&rig)), ((vec![], 0), 0));
    allot(&mut rig, object, 100, 50).unwrap();
    rig.delete(object);
    assert_eq!(promised(&rig), 0);
    rig.settle();
    rig.assert_clean();
}

#[test]
fn what_has_no_allotments_is_refused() {
    let mut rig = Rig::new(2048 * 4);
    let (volume, object) = (rig.create(1000), rig.create(ALL));
    let snapshot = rig.clone_of(object, ObjectKind::Snapshot).unwrap();
    assert!(matches!(allot(&mut rig, volume, 0, 1), Err(Failure::Block(BlockError::Internal { .. }))));
    assert!(matches!(allot(&mut rig, snapshot, 0, 1), Err(Failure::Block(BlockError::ReadOnly))));
    assert!(matches!(allot(&mut rig, object, ALL - 1, 2), Err(Failure::Block(BlockError::OutOfRange { .. }))));
    assert!(is_full(&allot(&mut rig, object, 0, 2048 * 4)));
    assert_eq!((promised(&rig), seen(&mut rig, object, 0, ALL).0), (0, vec![]));
    allot(&mut rig, object, ALL - 2, 2).unwrap();
    allot(&mut rig, object, 5, 0).unwrap();
    assert_eq!(seen(&mut rig, object, 0, ALL).0, [(ALL - 2, 2)]);
    rig.assert_clean();
}

#[test]
fn a_write_into_an_allotted_range_finds_space_in_a_full_pool() {
    let mut rig = Rig::new(2048 * 3);
    let (object, other) = (rig.create(ALL), rig.create(1 << 20));
    allot(&mut rig, object, 1000, 300).unwrap();
    allot(&mut rig, object, 1 << 40, 20).unwrap();
    fill(&mut rig, other);
    assert!(is_full(&rig.write(object, 5000, 1, 1)));
    for block in 1000..1064 {
        rig.write(object, block, 1, 1).unwrap();
    }
    rig.write(object, 1064, 8, 1).unwrap();
    rig.write(object, 1072, 100, 1).unwrap();
    rig.together(move |view| {
        view.write(object, 1172 * BLOCK, Bytes::from(vec![1; 20 * BLOCK as usize]))?;
        view.write(object, (1 << 40) * BLOCK + 17, Bytes::from(vec![1; 6000]))
    })
    .unwrap();
    assert_eq!(seen(&mut rig, object, 0, ALL), (vec![(1000, 300), (1 << 40, 20)], 126));
    assert_eq!(rig.core.overdrawn_blocks(), 0);
    rig.assert_clean();
    // What is freed is promised again.
    rig.zero(object, 1000, 150).unwrap();
    fill(&mut rig, other);
    rig.write(object, 1000, 300, 2).unwrap();
    let mut rig = rig.crash();
    assert_eq!(rig.read(object, 1299, 1).unwrap()[0], 2);
    rig.assert_clean();
}

/// Story: with zeros in the same step, all content counted as unpromised, and a write of zeros that begins inside of a
/// block was refused in a full pool. It may need a page that the zeros have emptied.
#[test]
fn zeros_beside_a_write_leave_it_what_the_allotment_promises() {
    let mut rig = Rig::new(2048 * 3);
    let (object, other) = (rig.create(ALL), rig.create(1 << 20));
    allot(&mut rig, object, 1000, 300).unwrap();
    rig.write(object, 1010, 10, 1).unwrap();
    fill(&mut rig, other);
    rig.core.checkpoint().unwrap();
    fill(&mut rig, other);
    // The pages have changed since the checkpoint: they are not copied again.
    rig.write(object, 1020, 1, 1).unwrap();
    rig.together(move |view| {
        view.zero(object, ByteRange::new(1010 * BLOCK, 11 * BLOCK))?;
        view.edit(object, BlockNumber::new(1005), 0..8)?.fill(2);
        Ok(())
    })
    .unwrap();
    assert_eq!(rig.core.counters().unplanned, 0);
    assert_eq!(rig.core.overdrawn_blocks(), 0);
    assert_eq!(seen(&mut rig, object, 0, ALL), (vec![(1000, 300)], 299));
    // Beside the allotment nothing is promised.
    let beside = rig.together(move |view| {
        view.zero(object, ByteRange::new(1005 * BLOCK, BLOCK))?;
        view.edit(object, BlockNumber::new(5000), 0..8)?.fill(2);
        Ok(())
    });
    assert!(is_full(&beside), "{beside:?}");
    rig.assert_clean();
}

#[test]
fn a_snapshot_is_refused_if_its_promise_cannot_be_kept() {
    let mut rig = Rig::new(2048 * 3);
    let (object, other) = (rig.create(ALL), rig.create(1 << 20));
    allot(&mut rig, object, 0, 900).unwrap();
    rig.write(object, 0, 900, 1).unwrap();
    rig.write(other, 0, 1000, 1).unwrap();
    let before = (promised(&rig), seen(&mut rig, object, 0, 1000));
    let refused = rig.clone_of(object, ObjectKind::Snapshot);
    assert!(matches!(refused, Err(Failure::Pool(PoolError::NoRoomForReservation { .. }))), "{refused:?}");
    assert_eq!((promised(&rig), seen(&mut rig, object, 0, 1000)), before);
    rig.zero(other, 0, 1000).unwrap();
    rig.settle();
    let snapshot = rig.clone_of(object, ObjectKind::Snapshot).unwrap();
    assert_eq!(seen(&mut rig, object, 0, 1000).1, 900);
    fill(&mut rig, other);
    rig.write(object, 0, 1, 2).unwrap();
    rig.write(object, 1, 899, 2).unwrap();
    assert_eq!(rig.read(snapshot, 5, 1).unwrap()[0], 1);
    assert_eq!(seen(&mut rig, object, 0, 1000).1, 0);
    rig.assert_clean();
}

#[test]
fn the_overwrite_reserve_says_what_a_snapshot_leaves_promised() {
    let mut rig = Rig::new(2048 * 3);
    let (object, other) = (rig.create(ALL), rig.create(1 << 20));
    rig.reserve(object, 10).unwrap();
    allot(&mut rig, object, 0, 1200).unwrap();
    rig.write(object, 0, 1000, 1).unwrap();
    let snapshot = rig.clone_of(object, ObjectKind::Snapshot).unwrap();
    assert_eq!(seen(&mut rig, object, 0, 2000).1, 300);
    fill(&mut rig, other);
    rig.write(object, 0, 1, 2).unwrap();
    rig.write(object, 1, 199, 2).unwrap();
    assert_eq!(seen(&mut rig, object, 0, 2000).1, 100);
    assert!(is_full(&rig.write(object, 300, 500, 2)));
    rig.assert_clean();
    let mut rig = rig.crash();
    assert_eq!(seen(&mut rig, object, 0, 2000).1, 100);
    rig.core.checkpoint().unwrap();
    let mut rig = rig.crash();
    assert_eq!(seen(&mut rig, object, 0, 2000).1, 100);
    rig.zero(object, 0, 1000).unwrap();
    assert_eq!(seen(&mut rig, object, 0, 2000).1, 300);
    rig.delete(snapshot);
    rig.settle();
    // Space is promised anew where it is asked for.
    allot(&mut rig, object, 0, 1200).unwrap();
    assert_eq!(seen(&mut rig, object, 0, 2000).1, 1200);
    rig.assert_clean();
}

/// The first write after a snapshot also copies the block that describes the range, which is not allotted.
#[test]
fn what_lies_beside_an_allotment_is_promised_with_a_snapshot() {
    let mut rig = Rig::new(2048 * 3);
    let (object, other) = (rig.create(ALL), rig.create(1 << 20));
    let inode = 1 << 43;
    rig.write(object, inode, 1, 1).unwrap();
    allot(&mut rig, object, 0, 100).unwrap();
    rig.write(object, 0, 100, 1).unwrap();
    rig.clone_of(object, ObjectKind::Snapshot).unwrap();
    fill(&mut rig, other);
    for block in 0..100 {
        rig.together(move |view| {
            view.write(object, block * BLOCK, Bytes::from(vec![2; BLOCK as usize]))?;
            view.edit(object, BlockNumber::new(inode), 0..4)?.fill(9);
            Ok(())
        })
        .unwrap();
    }
    rig.assert_clean();
}

#[test]
fn a_clone_raises_the_promise_of_both_sides() {
    let mut rig = Rig::new(2048 * 3);
    let (object, other) = (rig.create(ALL), rig.create(1 << 20));
    allot(&mut rig, object, 0, 600).unwrap();
    allot(&mut rig, object, 10_000, 600).unwrap();
    rig.write(object, 0, 600, 1).unwrap();
    assert_eq!(seen(&mut rig, object, 0, ALL).1, 600);
    rig.copy((object, 0), (object, 10_000), 600).unwrap();
    assert_eq!(seen(&mut rig, object, 0, ALL).1, 1200);
    rig.assert_clean();
    fill(&mut rig, other);
    rig.write(object, 0, 600, 2).unwrap();
    rig.write(object, 10_000, 600, 3).unwrap();
    assert_eq!((rig.read(object, 599, 1).unwrap()[0], rig.read(object, 10_599, 1).unwrap()[0]), (2, 3));
    // No room for the promises of another one.
    let before = (promised(&rig), seen(&mut rig, object, 0, ALL));
    assert!(is_full(&rig.copy((object, 0), (object, 10_000), 600)));
    let clone = rig.together(move |view| {
        view.clone_blocks((object, BlockNumber::new(0)), (object, BlockNumber::new(1 << 30)), 600)
    });
    assert!(is_full(&clone));
    assert_eq!((promised(&rig), seen(&mut rig, object, 0, ALL)), before);
    rig.assert_clean();
}

/// Random changes in three places; the check compares the allotments with the map, and a crash keeps all.
#[test]
fn random_changes_keep_the_numbers_true() {
    for seed in 0..12 {
        let random = Random::new(seed);
        let mut rig = Rig::new(2048 * 8);
        let object = rig.create(ALL);
        let places = [0, (1 << 32) - 300, 1 << 40];
        let mut allotted = BTreeSet::new();
        for step in 0..150 {
            let at = places[random.below(3) as usize] + random.below(600);
            let count = [1, 3, 40, 300][random.below(4) as usize];
            match random.below(9) {
                0 | 1 => {
                    allot(&mut rig, object, at, count).unwrap();
                    allotted.extend(at..at + count);
                }
                2 => {
                    release(&mut rig, object, at, count).unwrap();
                    allotted.retain(|block| !(at..at + count).contains(block));
                }
                3 | 4 => rig.write(object, at, count, 1 + step as u8).unwrap(),
                5 => rig.zero(object, at, count).unwrap(),
                6 => {
                    let to = places[random.below(3) as usize] + random.below(600);
                    rig.copy((object, at), (object, to), count).unwrap();
                }
                7 => {
                    let (to, then) = (places[random.below(3) as usize] + random.below(600), random.below(400));
                    rig.together(move |view| {
                        view.allot(object, range(at + then, count))?;
                        view.zero(object, ByteRange::new(at * BLOCK, count * BLOCK))?;
                        view.clone_blocks((object, BlockNumber::new(to)), (object, BlockNumber::new(at)), count)?;
                        view.release(object, range(to, 7))
                    })
                    .unwrap();
                    allotted.extend(at + then..at + then + count);
                    allotted.retain(|block| !(to..to + 7).contains(block));
                }
                _ => {
                    let snapshot = rig.clone_of(object, ObjectKind::Snapshot).unwrap();
                    if random.below(2) == 0 {
                        rig.change(CatalogChange::DeleteObject { id: snapshot }).unwrap();
                    }
                }
            }
            let sum: u64 = seen(&mut rig, object, 0, ALL).0.iter().map(|(_, count)| count).sum();
            assert_eq!(sum, allotted.len() as u64, "seed {seed} step {step}");
            if random.below(8) == 0 {
                let report = rig.core.check(false, &mut |_| {}).unwrap();
                assert_eq!(report.findings, Vec::<String>::new(), "seed {seed} step {step}");
            }
            if random.below(20) == 0 {
                rig = rig.crash();
                let report = rig.core.check(false, &mut |_| {}).unwrap();
                assert_eq!(report.findings, Vec::<String>::new(), "seed {seed} step {step} after a crash");
            }
        }
    }
}
