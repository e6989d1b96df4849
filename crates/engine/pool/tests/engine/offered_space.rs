//! Space that the owner offers to free: writes wait for it instead of failing.
use crate::common::{BLOCK, Rig};
use block::BlockError;
use bytes::Bytes;
use pool::{CatalogChange, Failure, ObjectId, Operation};

/// Number of blocks in the pools.
const BLOCKS: u64 = 2048 * 5;

fn is_full<T: std::fmt::Debug>(result: &Result<T, Failure>) -> bool {
    matches!(result, Err(Failure::Block(BlockError::PoolFull)))
}

/// Pool without space for `thin`; deleting one of the others frees 1 024 blocks each.
fn full() -> (Rig, ObjectId, Vec<ObjectId>) {
    let mut rig = Rig::with_log(BLOCKS, 16 << 20);
    let others: Vec<ObjectId> = (0..2)
        .map(|_| {
            let id = rig.create(1024);
            rig.write(id, 0, 1024, 1).unwrap();
            id
        })
        .collect();
    let thin = rig.create(2 * BLOCKS);
    for block in 0..2 * BLOCKS {
        let written = rig.write(thin, block, 1, 3);
        if is_full(&written) {
            return (rig, thin, others);
        }
        written.unwrap();
    }
    panic!("the pool was never full");
}

fn write(object: ObjectId, block: u64, count: usize) -> Operation {
    let data = Bytes::from(vec![5; count * BLOCK as usize]);
    Operation::Write { object, offset: block * BLOCK, data, forced: false }
}

/// Pumps; true if the operation has ended successfully.
fn has_ended(rig: &mut Rig, id: u64) -> bool {
    for _ in 0..1000 {
        rig.core.pump(1);
        if let Some((_, result)) = rig.take(id) {
            result.unwrap();
            return true;
        }
    }
    false
}

#[test]
fn a_write_waits_while_space_is_offered_and_goes_on_when_it_is_free() {
    let (mut rig, thin, mut others) = full();
    assert!(!rig.core.take_space_wanted(), "no offer was made");
    rig.core.offer_space(true);
    assert!(!rig.core.take_space_wanted());
    let id = rig.core.submit(write(thin, BLOCKS, 256));
    assert!(!has_ended(&mut rig, id));
    assert!(rig.core.take_space_wanted());
    // Reads, and what frees space, go on meanwhile.
    rig.read(thin, 0, 1).unwrap();
    rig.delete(others.pop().unwrap());
    assert!(has_ended(&mut rig, id));
    assert!(!rig.core.take_space_wanted());
    rig.assert_clean();
}

/// Regression: the write failed before the checkpoint that released the space.
#[test]
fn the_space_of_the_last_deletion_reaches_the_write_though_the_offer_ends_before_its_checkpoint() {
    let (mut rig, thin, mut others) = full();
    rig.core.offer_space(true);
    let id = rig.core.submit(write(thin, BLOCKS, 256));
    assert!(!has_ended(&mut rig, id));
    assert!(rig.core.take_space_wanted());
    let deletion = rig.core.submit(Operation::Catalog(vec![CatalogChange::DeleteObject { id: others.pop().unwrap() }]));
    rig.core.offer_space(false);
    assert!(has_ended(&mut rig, id));
    assert!(has_ended(&mut rig, deletion));
    rig.assert_clean();
}

#[test]
fn one_deletion_after_the_other_makes_room_for_a_large_write() {
    let (mut rig, thin, mut others) = full();
    rig.core.offer_space(true);
    let ids: Vec<u64> = (0..6).map(|at| rig.core.submit(write(thin, BLOCKS + at * 256, 256))).collect();
    let mut deleted = 0;
    for id in ids {
        while !has_ended(&mut rig, id) {
            assert!(rig.core.take_space_wanted());
            rig.delete(others.pop().unwrap());
            deleted += 1;
        }
    }
    assert_eq!(deleted, 2);
    rig.assert_clean();
}

#[test]
fn a_write_fails_when_the_offer_is_withdrawn() {
    let (mut rig, thin, _) = full();
    rig.core.offer_space(true);
    let id = rig.core.submit(write(thin, BLOCKS, 1));
    assert!(!has_ended(&mut rig, id));
    // The owner's own changes do not wait: it could not free space meanwhile.
    let large = Bytes::from(vec![7; 60_000]);
    let put = |at: u64| CatalogChange::PutDocument { key: format!("d{at}"), value: large.clone() };
    assert!((0..100).any(|at| rig.change(put(at)).is_err()));
    rig.core.offer_space(false);
    let result = (0..1000).find_map(|_| {
        rig.core.pump(1);
        rig.take(id)
    });
    assert!(is_full(&result.unwrap().1));
    rig.assert_clean();
}
