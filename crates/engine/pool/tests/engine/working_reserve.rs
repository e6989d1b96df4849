//! Working reserve: in a full pool locks, small overwrites and documents still change, and growth
//! is refused.
use crate::common::{BLOCK, Rig};
use block::{BlockError, CompareOutcome};
use bytes::Bytes;
use pool::{CatalogChange, Failure, ObjectId, ObjectKind, Operation, Output, PoolError};

const LOG_BYTES: u64 = 16 << 20;
/// Number of blocks in the pools: the reserve is a 256th, 40 blocks.
const BLOCKS: u64 = 2048 * 5;

fn is_full<T: std::fmt::Debug>(result: &Result<T, Failure>) -> bool {
    matches!(result, Err(Failure::Block(BlockError::PoolFull) | Failure::Pool(PoolError::PoolFull)))
}

/// Writes to a thin volume until the pool has no room for it.
fn fill(rig: &mut Rig, thin: ObjectId) {
    for block in 0..2 * BLOCKS {
        let written = rig.write(thin, block, 1, 3);
        if is_full(&written) {
            return;
        }
        written.unwrap();
    }
    panic!("the pool was never full");
}

fn put(rig: &mut Rig, key: &str, bytes: usize) -> Result<(), Failure> {
    rig.change(CatalogChange::PutDocument { key: key.into(), value: Bytes::from(vec![7; bytes]) })
}

/// Compares one block with `old`, and writes `new`.
fn compare_and_write(rig: &mut Rig, object: ObjectId, block: u64, old: u8, new: u8) -> Result<(), Failure> {
    let filled = |byte| Bytes::from(vec![byte; 512]);
    let operation = Operation::CompareAndWrite {
        object,
        offset: block * BLOCK,
        compare: filled(old),
        data: filled(new),
        forced: false,
    };
    match rig.run(operation)? {
        Output::Compared(CompareOutcome::Written) => Ok(()),
        other => panic!("{other:?}"),
    }
}

/// Regression: a cluster could not fence in a full pool. A change of persistent reservations with
/// APTPL replaces a document by one of the same size, which was counted as growth.
#[test]
fn documents_can_be_replaced_in_a_full_pool() {
    let mut rig = Rig::with_log(BLOCKS, LOG_BYTES);
    put(&mut rig, "reservations", 4000).unwrap();
    let thin = rig.create(2 * BLOCKS);
    fill(&mut rig, thin);
    for bytes in [4000, 4000, 100, 4000, 4500] {
        put(&mut rig, "reservations", bytes).unwrap();
    }
    put(&mut rig, "new", 300).unwrap();
    let id = rig.core.new_object_id();
    let created = rig.change(CatalogChange::CreateVolume { id, size_bytes: 1 << 20 });
    assert!(is_full(&created), "{created:?}");

    // Growth ends at a limit; replacements still succeed then, and space can be freed.
    let mut refused = None;
    for more in 0..100 {
        let added = put(&mut rig, &format!("more{more}"), 10_000);
        if is_full(&added) {
            refused = Some(more);
            break;
        }
        added.unwrap();
    }
    assert!(refused.is_some_and(|more| more > 1), "{refused:?}");
    put(&mut rig, "reservations", 4500).unwrap();
    put(&mut rig, "more0", 9_000).unwrap();
    assert!(is_full(&put(&mut rig, "reservations", 20_000)));
    rig.assert_clean();
    let mut rig = rig.crash();
    put(&mut rig, "reservations", 4500).unwrap();
    rig.zero(thin, 0, 1000).unwrap();
    put(&mut rig, "reservations", 20_000).unwrap();
    rig.write(thin, 0, 1, 9).unwrap();
    rig.assert_clean();
}

/// Creates a volume of 1 024 blocks, a snapshot of it, and then fills the pool.
fn shared_and_full() -> (Rig, ObjectId, ObjectId) {
    let mut rig = Rig::with_log(BLOCKS, LOG_BYTES);
    let volume = rig.create(2048);
    rig.write(volume, 0, 1024, 1).unwrap();
    rig.clone_of(volume, ObjectKind::Snapshot).unwrap();
    let thin = rig.create(2 * BLOCKS);
    fill(&mut rig, thin);
    (rig, volume, thin)
}

#[test]
fn locks_change_after_a_snapshot_in_a_full_pool() {
    let (mut rig, volume, thin) = shared_and_full();
    // Locks and a small overwrite of blocks that the snapshot shares.
    compare_and_write(&mut rig, volume, 0, 1, 2).unwrap();
    compare_and_write(&mut rig, volume, 0, 2, 3).unwrap();
    rig.write(volume, 1, 1, 4).unwrap();
    // Growth is refused.
    assert!(is_full(&compare_and_write(&mut rig, volume, 1500, 0, 1)));
    assert!(is_full(&rig.write(volume, 1500, 1, 1)));
    assert!(is_full(&rig.write(volume, 8, 17, 1)), "68 KiB is no small overwrite");
    assert!(is_full(&rig.write(volume, 1023, 2, 1)), "half of it grows");

    // Overwrites use half of the reserve, locks the rest.
    let mut overwritten = 1;
    while !is_full(&rig.write(volume, 1 + overwritten, 1, 4)) {
        overwritten += 1;
        assert!(overwritten < 100);
    }
    assert!(overwritten > 8, "{overwritten}");
    let mut locked = 0;
    while !is_full(&compare_and_write(&mut rig, volume, 200 + locked, 1, 5)) {
        locked += 1;
        assert!(locked < 100);
    }
    assert!(locked > 8, "{locked}");
    // Blocks that are no longer shared can be overwritten without limit.
    for round in 3..20 {
        compare_and_write(&mut rig, volume, 0, round, round + 1).unwrap();
        rig.write(volume, 1, overwritten, round).unwrap();
    }
    rig.assert_clean();

    // Freed space can be used at once.
    let mut rig = rig.crash();
    assert!(is_full(&compare_and_write(&mut rig, volume, 200 + locked, 1, 5)));
    rig.zero(thin, 0, 1000).unwrap();
    compare_and_write(&mut rig, volume, 200 + locked, 1, 5).unwrap();
    rig.write(volume, 1023, 2, 1).unwrap();
    rig.write(volume, 8, 17, 1).unwrap();
    rig.assert_clean();
}

#[test]
fn sixteen_blocks_are_a_small_overwrite() {
    let (mut rig, volume, _) = shared_and_full();
    rig.write(volume, 100, 16, 8).unwrap();
    assert_eq!(rig.read(volume, 115, 1).unwrap()[0], 8);
    rig.assert_clean();
}

/// Free space of the pool excludes the reserves.
#[test]
fn the_reserve_is_not_counted_as_free() {
    let (mut rig, volume, _) = shared_and_full();
    let full = rig.core.space();
    assert!(full.free_bytes < 400 << 10, "{full:?}");
    compare_and_write(&mut rig, volume, 0, 1, 2).unwrap();
    let after = rig.core.space();
    assert!(
        after.free_bytes <= full.free_bytes && after.used_bytes + after.free_bytes == after.size_bytes,
        "{after:?}"
    );
}
