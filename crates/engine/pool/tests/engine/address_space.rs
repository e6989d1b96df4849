//! Address spaces: objects of 2⁶⁰ bytes, whose maps have six levels.
use crate::common::{BLOCK, Rig, options};
use crate::integrity::{places, verify};
use block::ProvisioningExtent;
use media::{FEATURE_WIDE, RootStore};
use pool::{
    ADDRESS_SPACE_BYTES, BlockNumber, BlockRange, CatalogChange, Failure, MAX_VOLUME_BYTES, ObjectId, ObjectKind,
    Operation, Output, PoolError,
};
use random::Random;
use std::collections::BTreeSet;

/// Blocks of an address space.
const ALL: u64 = ADDRESS_SPACE_BYTES / BLOCK;
/// Blocks below a page at level 3: 16 TiB, the largest part that an operation on a range shares.
const PART: u64 = 1 << 32;

fn space(rig: &mut Rig) -> ObjectId {
    rig.create(ALL)
}

fn bytes(rig: &mut Rig, object: ObjectId, blocks: &[u64]) -> Vec<u8> {
    blocks.iter().map(|block| rig.read(object, *block, 1).unwrap()[0]).collect()
}

/// Mapped blocks of a range, by the operation.
fn counted(rig: &mut Rig, object: ObjectId, first: u64, count: u64) -> Result<u64, Failure> {
    let range = BlockRange::new(BlockNumber::new(first), count);
    match rig.run(Operation::Mapped { object, range })? {
        Output::Bytes(bytes) => Ok(bytes / BLOCK),
        other => panic!("{other:?}"),
    }
}

fn runs(rig: &mut Rig, object: ObjectId, block: u64, limit: usize) -> Vec<(u64, u64, bool)> {
    match rig.run(Operation::Provisioning { object, offset: block * BLOCK, limit }).unwrap() {
        Output::Provisioning(runs) => {
            let blocks = |run: &ProvisioningExtent| (run.extent.lba.0 / 8, run.extent.count / 8, run.mapped);
            runs.iter().map(blocks).collect()
        }
        other => panic!("{other:?}"),
    }
}

fn mapped_of(rig: &Rig, object: ObjectId) -> u64 {
    rig.core.object(object).unwrap().mapped_bytes / BLOCK
}

#[test]
fn an_address_space_is_used_to_its_last_block() {
    let mut rig = Rig::new(2048 * 8);
    let object = space(&mut rig);
    assert!(rig.core.object(object).unwrap().is_address_space());
    assert!(rig.core.media().features() & FEATURE_WIDE != 0);
    let places: Vec<u64> = (1..8).map(|class| class << 45).chain([0, PART - 1, PART, 1 << 40, ALL - 1]).collect();
    for (index, place) in places.iter().enumerate() {
        rig.write(object, *place, 1, 1 + index as u8).unwrap();
    }
    assert!(rig.write(object, ALL, 1, 1).is_err());
    let snapshot = rig.clone_of(object, ObjectKind::Snapshot).unwrap();
    let clone = rig.clone_of(snapshot, ObjectKind::Volume).unwrap();
    rig.write(clone, ALL - 1, 1, 90).unwrap();
    rig.zero(clone, 0, PART).unwrap();
    let mut rig = rig.crash();
    let expected: Vec<u8> = (1..=12).collect();
    assert_eq!(bytes(&mut rig, object, &places), expected);
    assert_eq!(bytes(&mut rig, snapshot, &places), expected);
    assert_eq!(bytes(&mut rig, clone, &places[7..]), [0, 0, 10, 11, 90]);
    assert_eq!((mapped_of(&rig, object), mapped_of(&rig, clone)), (12, 10));
    rig.settle();
    rig.assert_clean();
    rig.change(CatalogChange::Rollback { id: clone, source: snapshot }).unwrap();
    assert_eq!(bytes(&mut rig, clone, &places), expected);
    for object in [object, snapshot, clone] {
        rig.delete(object);
    }
    rig.settle();
    assert_eq!(rig.data_blocks(), 0);
    rig.assert_clean();
}

#[test]
fn only_one_size_above_the_largest_volume_exists() {
    let mut rig = Rig::new(2048 * 4);
    let bad = |result: Result<(), Failure>| {
        assert!(matches!(result, Err(Failure::Pool(PoolError::BadSize { .. }))), "{result:?}");
    };
    for size_bytes in [MAX_VOLUME_BYTES + 512, ADDRESS_SPACE_BYTES - 512, ADDRESS_SPACE_BYTES + 512, u64::MAX - 511] {
        let id = rig.core.new_object_id();
        bad(rig.change(CatalogChange::CreateVolume { id, size_bytes }));
    }
    let (volume, object) = (rig.create(1000), space(&mut rig));
    let snapshot = rig.clone_of(object, ObjectKind::Snapshot).unwrap();
    bad(rig.change(CatalogChange::Resize { id: volume, size_bytes: ADDRESS_SPACE_BYTES }));
    bad(rig.change(CatalogChange::Resize { id: object, size_bytes: 1 << 30 }));
    bad(rig.change(CatalogChange::Rollback { id: volume, source: snapshot }));
    bad(rig.change(CatalogChange::Rollback { id: object, source: volume }));
    // The reservation of an address space is for its allotments.
    rig.reserve(object, 100).unwrap();
    assert_eq!(rig.core.space().promised_bytes, 0);
    rig.assert_clean();
}

/// Blocks that the tests map, at places far apart and next to one another, and around the bounds of pages
/// of every level.
fn scattered(random: &Random) -> u64 {
    let bound = random.below(8) << 45 | random.below(3) << 40 | random.below(3) << 32 | random.below(3) << 24;
    (bound + random.below(4) * 256 + random.below(8)).wrapping_sub(random.below(2) * 4) % ALL
}

#[test]
fn ranges_are_counted_exactly_and_runs_found() {
    let mut rig = Rig::with_log(2048 * 8, 4 << 20);
    let object = space(&mut rig);
    let random = Random::new(1);
    let mut model = BTreeSet::new();
    for _ in 0..600 {
        let place = scattered(&random);
        rig.write(object, place, 1, 7).unwrap();
        model.insert(place);
    }
    rig.settle();
    let mut rig = rig.crash();
    for _ in 0..2000 {
        let (a, b) = (scattered(&random), scattered(&random));
        let (first, end) = (a.min(b), a.max(b) + random.below(2));
        let expected = model.range(first..end).count() as u64;
        assert_eq!(counted(&mut rig, object, first, end - first).unwrap(), expected, "{first}..{end}");
        let mapped = model.contains(&first);
        let next = match mapped {
            true => (first..).find(|block| !model.contains(block)).unwrap(),
            false => model.range(first..).next().copied().unwrap_or(ALL),
        };
        let found = runs(&mut rig, object, first, 2);
        assert_eq!(found[0], (first, next - first, mapped), "{found:?}");
        assert!(found.len() == 2 || next == ALL);
    }
    assert_eq!(counted(&mut rig, object, 0, ALL).unwrap(), model.len() as u64);
    for (first, count) in [(ALL, 1), (0, ALL + 1), (u64::MAX, 1), (u64::MAX, u64::MAX)] {
        assert!(counted(&mut rig, object, first, count).is_err());
    }
    assert_eq!(counted(&mut rig, object, ALL, 0), Ok(0));
}

/// A range without a hole is passed over by its counts, however many pages map it.
#[test]
fn the_end_of_a_long_run_is_found_from_counts() {
    let mut rig = Rig::new(2048 * 4);
    let object = space(&mut rig);
    // One leaf, shared by all of two parts: 2³³ mapped blocks.
    rig.write(object, 0, 256, 1).unwrap();
    let mut have = 256;
    while have < 2 * PART {
        rig.copy((object, 0), (object, have), have).unwrap();
        have *= 2;
    }
    assert_eq!(mapped_of(&rig, object), have);
    assert_eq!(runs(&mut rig, object, 3, 8), [(3, have - 3, true), (have, ALL - have, false)]);
    assert_eq!(counted(&mut rig, object, 5, have + 5).unwrap(), have - 5);
    rig.zero(object, PART + 70_000, 1).unwrap();
    assert_eq!(runs(&mut rig, object, 0, 1), [(0, PART + 70_000, true)]);
    assert_eq!(runs(&mut rig, object, PART + 70_001, 1), [(PART + 70_001, PART - 70_001, true)]);
    let mut rig = rig.crash();
    assert_eq!(mapped_of(&rig, object), have - 1);
    rig.settle();
    rig.assert_clean();
}

#[test]
fn a_part_is_shared_as_one_page_and_counted_exactly() {
    let mut rig = Rig::new(2048 * 4);
    let object = space(&mut rig);
    for part in 0..3 {
        for block in 0..=part {
            rig.write(object, part * PART + (block << 24), 1, 1 + block as u8).unwrap();
        }
    }
    rig.settle();
    let metadata = rig.core.space().metadata_bytes;
    let to = (6 << 45) + 7 * PART;
    rig.copy((object, 0), (object, to), 3 * PART).unwrap();
    rig.settle();
    assert_eq!(mapped_of(&rig, object), 12);
    // One page at level 4, which names the three shared ones.
    assert_eq!((rig.core.space().metadata_bytes - metadata) / BLOCK, 1);
    for part in 0..3 {
        assert_eq!(counted(&mut rig, object, to + part * PART, PART).unwrap(), part + 1);
        assert_eq!(bytes(&mut rig, object, &[to + part * PART + (part << 24)]), [1 + part as u8]);
    }
    rig.zero(object, to + PART, PART).unwrap();
    rig.copy((object, 0), (object, to + 2 * PART), PART).unwrap();
    let mut rig = rig.crash();
    assert_eq!(mapped_of(&rig, object), 8);
    assert_eq!(counted(&mut rig, object, 6 << 45, 1 << 45).unwrap(), 2);
    rig.settle();
    rig.assert_clean();
}

/// A range above a page at level 4 is cut into parts that a page at level 3 maps.
#[test]
fn a_range_of_many_parts_is_cleared_and_cloned() {
    let mut rig = Rig::new(2048 * 4);
    let object = space(&mut rig);
    let places = [5, PART, 3 << 40, (3 << 40) + PART + 9, ALL / 2 - 1];
    for (index, place) in places.iter().enumerate() {
        rig.write(object, *place, 1, 1 + index as u8).unwrap();
    }
    rig.copy((object, 0), (object, ALL / 2), ALL / 2).unwrap();
    let moved = places.map(|place| place + ALL / 2);
    assert_eq!(bytes(&mut rig, object, &moved), [1, 2, 3, 4, 5]);
    rig.zero(object, 0, ALL / 2).unwrap();
    let mut rig = rig.crash();
    assert_eq!(bytes(&mut rig, object, &places), [0; 5]);
    assert_eq!(bytes(&mut rig, object, &moved), [1, 2, 3, 4, 5]);
    assert_eq!(mapped_of(&rig, object), 5);
    rig.settle();
    rig.assert_clean();
}

#[test]
fn a_part_and_a_volume_share() {
    let mut rig = Rig::new(2048 * 4);
    let (object, volume) = (space(&mut rig), rig.create(PART));
    let part = (6 << 45) + 5 * PART;
    for (index, place) in [0, 77, 1 << 24, PART - 1].into_iter().enumerate() {
        rig.write(volume, place, 1, 1 + index as u8).unwrap();
    }
    let before = rig.data_blocks();
    rig.copy((volume, 0), (object, part), PART).unwrap();
    assert_eq!((rig.data_blocks(), mapped_of(&rig, object)), (before, 4));
    rig.write(object, part + 77, 1, 9).unwrap();
    let other = rig.create(PART);
    rig.copy((object, part), (other, 0), PART).unwrap();
    let mut rig = rig.crash();
    assert_eq!(bytes(&mut rig, volume, &[0, 77, 1 << 24, PART - 1]), [1, 2, 3, 4]);
    assert_eq!(bytes(&mut rig, other, &[0, 77, 1 << 24, PART - 1]), [1, 9, 3, 4]);
    assert_eq!(mapped_of(&rig, other), 4);
    rig.delete(volume);
    rig.settle();
    rig.assert_clean();
    assert_eq!(rig.unique(&[object, other]), 4);
    assert_eq!(rig.unique(&[object]), 0);
}

#[test]
fn ranges_are_captured_from_an_address_space() {
    let mut rig = Rig::new(2048 * 4);
    let object = space(&mut rig);
    let capture = rig.core.new_object_id();
    rig.change(CatalogChange::CreateCapture { id: capture, size_bytes: ADDRESS_SPACE_BYTES }).unwrap();
    let part = (5 << 45) + 3 * PART;
    rig.write(object, part + 5, 1, 1).unwrap();
    rig.write(object, part + PART, 1, 2).unwrap();
    let ranges =
        [(part, PART), (part + PART, 16)].map(|(first, count)| BlockRange::new(BlockNumber::new(first), count));
    rig.run(Operation::Capture { source: object, capture, ranges: ranges.to_vec() }).unwrap();
    rig.write(object, part + 5, 1, 9).unwrap();
    assert_eq!(bytes(&mut rig, capture, &[part + 5, part + PART]), [1, 2]);
    assert_eq!(mapped_of(&rig, capture), 2);
    rig.settle();
    rig.assert_clean();
}

#[test]
fn damage_far_into_an_address_space_is_found_and_repaired() {
    let mut rig = Rig::new(2048 * 4);
    let object = space(&mut rig);
    let far = (7 << 45) + 3 * PART + 5;
    for (index, place) in [9, PART, far].into_iter().enumerate() {
        rig.write(object, place, 1, 1 + index as u8).unwrap();
    }
    rig.copy((object, 7 << 45), (object, 6 << 45), 1 << 40).unwrap();
    rig.settle();
    let whole = verify(&mut rig, object);
    assert_eq!((whole.bad.len(), whole.damaged.len()), (0, 0));
    let block = rig.disk.stored().into_iter().find(|block| rig.disk.peek(*block).0 == [3; BLOCK as usize]).unwrap();
    rig.disk.rot(block, 1);
    let mut rig = rig.crash();
    let bad = verify(&mut rig, object).bad;
    let twice = [(object, far - (1 << 45)), (object, far)];
    assert_eq!(places(&mut rig, &bad), twice);
    for (_, place) in twice {
        rig.write(object, place, 1, 8).unwrap();
    }
    rig.settle();
    rig.assert_clean();
    // The space map is rebuilt from the trees.
    for counts in rig.disk.stored().into_iter().filter(|block| (2048 + 16..4096).contains(block)) {
        rig.disk.rot(counts, 8);
    }
    rig.repair();
    rig.assert_clean();
    assert_eq!(bytes(&mut rig, object, &[9, PART, far]), [1, 2, 8]);
    assert_eq!(mapped_of(&rig, object), 4);
}

/// The online check and the check of a pool that is not in use both find a count that no entry has.
#[test]
fn the_check_of_a_pool_in_use_counts_the_parts() {
    let mut rig = Rig::new(2048 * 4);
    let object = space(&mut rig);
    for place in [0, PART, 1 << 40, ALL - 1] {
        rig.write(object, place, 1, 1).unwrap();
    }
    let report = loop {
        match rig.run(Operation::CheckStep).unwrap() {
            Output::Check(step) => {
                if let Some(report) = step.report {
                    break report;
                }
            }
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(report.findings, Vec::<String>::new());
    assert!(report.pages >= 4 * 6 - 5);
}

/// Many address spaces come to rest and back, with memory for few objects in use.
#[test]
fn an_address_space_comes_back_from_rest() {
    let mut rig = Rig::new(2048 * 8);
    let objects: Vec<ObjectId> = (0..40).map(|_| space(&mut rig)).collect();
    for (byte, object) in (1..).zip(&objects) {
        rig.write(*object, (u64::from(byte) << 42) + 1, 1, byte).unwrap();
    }
    rig.settle();
    let mut options = options(9);
    options.memory_bytes = 1 << 20;
    let mut rig = Rig::on(rig.disk.crash(), options).unwrap();
    for (byte, object) in (1..).zip(&objects) {
        assert_eq!(bytes(&mut rig, *object, &[(u64::from(byte) << 42) + 1]), [byte]);
        assert!(rig.core.object(*object).unwrap().is_address_space());
    }
    rig.assert_clean();
}
