//! Object table: distant ids, many objects created and deleted, a damaged block.
use crate::common::{Rig, options};
use media::Fate;
use pool::{CatalogChange, Failure, ObjectId, ObjectInfo, ObjectKind, Operation, Options, PoolError};
use random::Random;
use std::collections::{BTreeMap, BTreeSet};

const SIZE_BYTES: u64 = 1 << 20;

fn create(id: ObjectId) -> CatalogChange {
    CatalogChange::CreateVolume { id, size_bytes: SIZE_BYTES }
}

/// Regression: opening read the whole length of the table, including holes, and refused a table
/// longer than the pool. A small pool with a snapshot every few seconds could not be opened after
/// some weeks.
#[test]
fn ids_far_apart_cost_neither_time_nor_memory() {
    let mut rig = Rig::with_log(2048 * 3, 256 << 10);
    let features = |rig: &Rig| u64::from_le_bytes(rig.disk.peek(0).0[16..24].try_into().unwrap());
    let mut ids = [16, 17, 5_000_000, (1 << 26) - 1].map(ObjectId).to_vec();
    rig.run(Operation::Catalog(ids.iter().map(|id| create(*id)).collect())).unwrap();
    rig.core.checkpoint().unwrap();
    assert_eq!(features(&rig), 0, "4 GiB are no news to older releases");
    ids.extend([1 << 26, (1 << 30) - 2].map(ObjectId));
    rig.run(Operation::Catalog(ids[4..].iter().map(|id| create(*id)).collect())).unwrap();
    rig.core.checkpoint().unwrap();
    assert_eq!(features(&rig), 1 << 9);
    rig.write(ObjectId((1 << 30) - 2), 3, 2, 9).unwrap();
    rig.core.checkpoint().unwrap();
    rig.assert_clean();
    let before = rig.disk.counters().reads;
    let mut rig = Rig::on(rig.disk.crashed_copy(|_| Fate::Applied), options(2)).unwrap();
    let reads = rig.disk.counters().reads - before;
    assert!(reads < 60, "{reads} reads");
    assert_eq!(rig.core.object_ids(), ids);
    assert_eq!(rig.read(ObjectId((1 << 30) - 2), 4, 1).unwrap()[..], [9; 4096]);
    // The last id is the largest one.
    rig.create(10);
    let id = rig.core.new_object_id();
    let refused = rig.change(CatalogChange::CreateVolume { id, size_bytes: SIZE_BYTES });
    assert!(matches!(refused, Err(Failure::Pool(PoolError::PoolFull))), "{refused:?}");
    for id in ids {
        rig.delete(id);
    }
    rig.settle();
    rig.assert_clean();
    let rig = rig.crash();
    assert_eq!(rig.core.object_ids(), [ObjectId((1 << 30) - 1)]);
}

/// Blocks of the table are added and removed in one checkpoint, so that pages above them become
/// empty and full.
#[test]
fn objects_that_come_and_go_in_great_numbers_are_what_they_should_be() {
    let mut rig = Rig::with_log(2048 * 60, 8 << 20);
    let mut expected = BTreeSet::new();
    let numbers = Random::new(1);
    let mut next = 16;
    for round in 0..24 {
        let ids: Vec<ObjectId> = match round % 3 {
            // One page of the map spans this many objects, as one contiguous run.
            0 => (next..next + 16_384).map(ObjectId).collect(),
            _ => {
                (0..400).map(|_| ObjectId(next + numbers.below(60_000))).collect::<BTreeSet<_>>().into_iter().collect()
            }
        };
        next = ids[ids.len() - 1].0 + 1;
        let keep = numbers.below(40);
        let gone: Vec<ObjectId> = expected.iter().copied().filter(|_| numbers.below(40) >= keep).collect();
        let changes = ids.iter().map(|id| create(*id));
        let changes: Vec<_> = changes.chain(gone.iter().map(|id| CatalogChange::DeleteObject { id: *id })).collect();
        for some in changes.chunks(2000) {
            rig.run(Operation::Catalog(some.to_vec())).unwrap();
        }
        expected.extend(ids);
        gone.iter().for_each(|id| assert!(expected.remove(id)));
        rig.core.checkpoint().unwrap();
        assert_eq!(rig.core.overdrawn_blocks(), 0);
        if round % 4 == 3 {
            rig.assert_clean();
            rig = rig.crash();
            assert!(rig.core.object_ids().iter().eq(&expected), "round {round}");
        }
    }
}

#[test]
fn a_damaged_block_of_the_table_keeps_the_pool_closed() {
    let mut rig = Rig::with_log(2048 * 3, 1 << 20);
    rig.run(Operation::Catalog((16..2000).map(ObjectId).map(create).collect())).unwrap();
    rig.core.checkpoint().unwrap();
    let disk = rig.disk.crashed_copy(|_| Fate::Applied);
    // Slot of a volume: kind, level 0 or 1, flags, no reservation; size 1 MiB.
    let is_slot = |slot: &[u8]| slot[0] == 1 && slot[16..24] == SIZE_BYTES.to_le_bytes();
    let blocks: Vec<u64> = disk.stored().into_iter().filter(|block| is_slot(&disk.peek(*block).0[64..128])).collect();
    assert!(blocks.len() > 30, "{blocks:?}");
    for block in blocks {
        let disk = disk.crashed_copy(|_| Fate::Applied);
        disk.damage(block, |content| content[70] ^= 1);
        match Rig::on(disk, options(2)).map(|_| ()) {
            Err(PoolError::Damaged(reason)) => assert_eq!(reason, format!("catalog block {block} fails its checksum")),
            other => panic!("{other:?}"),
        }
    }
}

/// Memory of a pool that keeps four objects in use.
fn with_little_memory(incarnation: u64) -> Options {
    Options { memory_bytes: 256 << 10, ..options(incarnation) }
}

/// What a host sees of an object; promises may shrink by themselves.
fn seen(info: ObjectInfo) -> ObjectInfo {
    ObjectInfo { promised_bytes: 0, ..info }
}

/// Every kind of change meets objects that were put to rest, most of them since the pool was opened.
#[test]
fn objects_that_rest_keep_all_that_was_changed() {
    let mut rig = Rig::with_log(2048 * 8, 1 << 20);
    let numbers = Random::new(3);
    let mut content: BTreeMap<ObjectId, u8> = BTreeMap::new();
    for round in 1..=6 {
        for n in 0..40 {
            let id = rig.create(20 + numbers.below(40));
            rig.write(id, 7, 3, n + 1).unwrap();
            content.insert(id, n + 1);
        }
        rig.core.checkpoint().unwrap();
        let ids: Vec<ObjectId> = content.keys().copied().collect();
        for id in ids {
            match numbers.below(12) {
                0 => {
                    rig.delete(id);
                    content.remove(&id);
                }
                1 => {
                    rig.write(id, 7, 3, round).unwrap();
                    content.insert(id, round);
                }
                2 => {
                    let clone = rig.clone_of(id, ObjectKind::Volume).unwrap();
                    content.insert(clone, content[&id]);
                }
                3 => rig.change(CatalogChange::Resize { id, size_bytes: (1 << 20) + (80 << 12) }).unwrap(),
                4 => rig.change(CatalogChange::SetWriteCache { id, enabled: true }).unwrap(),
                5 => rig.change(CatalogChange::SetZeroDetection { id, enabled: false }).unwrap(),
                6 => rig.reserve(id, 100).unwrap(),
                7 => rig.change(CatalogChange::SetReservation { id, reservation: None }).unwrap(),
                8 => {
                    let source = *content.keys().nth(numbers.below(content.len() as u64) as usize).unwrap();
                    rig.change(CatalogChange::Rollback { id, source }).unwrap();
                    content.insert(id, content[&source]);
                }
                _ => assert_eq!(rig.read(id, 8, 1).unwrap()[..], [content[&id]; 4096], "object {id}"),
            }
        }
        assert!(rig.core.object_ids().iter().eq(content.keys()), "round {round}");
        let known: Vec<_> = content.keys().map(|id| seen(rig.core.object(*id).unwrap())).collect();
        assert_eq!(rig.core.overdrawn_blocks(), 0);
        rig.assert_clean();
        let disk = rig.disk.crashed_copy(|_| Fate::Applied);
        rig = Rig::on(disk, with_little_memory(10 + u64::from(round))).unwrap();
        assert_eq!(content.keys().map(|id| seen(rig.core.object(*id).unwrap())).collect::<Vec<_>>(), known);
        for (id, byte) in &content {
            assert_eq!(rig.read(*id, 8, 1).unwrap()[..], [*byte; 4096], "object {id} in round {round}");
        }
    }
    for id in content.into_keys() {
        rig.delete(id);
    }
    rig.settle();
    rig.assert_clean();
    assert_eq!(rig.data_blocks(), 0);
}
