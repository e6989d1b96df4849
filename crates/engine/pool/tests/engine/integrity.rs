//! Damage on the medium: it is found, named, kept away from other objects, and healed by
//! overwriting. And checks of a pool in use.
use crate::common::{BLOCK, Rig, options};
use block::BlockError;
use media::{Fate, Fault, FaultEffect, FaultOperation, PendingWrite};
use pool::{
    CatalogChange, CheckReport, Failure, Incident, ObjectId, ObjectKind, Operation, Output, Place, PoolError, ScanStep,
};
use random::Random;

pub(crate) fn verify(rig: &mut Rig, object: ObjectId) -> ScanStep {
    let mut whole = ScanStep::default();
    let mut offset = 0;
    loop {
        let operation = Operation::Verify { object, offset, anew: offset == 0 };
        let Output::Scanned(step) = rig.run(operation).unwrap() else { panic!() };
        whole.scanned_bytes += step.scanned_bytes;
        whole.bad.extend(step.bad);
        whole.damaged.extend(step.damaged);
        match step.next {
            Some(next) => offset = next,
            None => return whole,
        }
    }
}

pub(crate) fn places(rig: &mut Rig, bad: &[Place]) -> Vec<(ObjectId, u64)> {
    let blocks = bad.iter().map(|place| place.block).collect();
    match rig.run(Operation::PlacesOf(blocks)).unwrap() {
        Output::Places(places) => places.iter().map(|p| (p.object, p.offset_bytes / BLOCK)).collect(),
        other => panic!("{other:?}"),
    }
}

fn check(rig: &mut Rig) -> CheckReport {
    loop {
        match rig.run(Operation::CheckStep).unwrap() {
            Output::Check(step) => {
                assert!(step.done <= step.total);
                if let Some(report) = step.report {
                    return report;
                }
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn bit_rot_is_named_and_healed_by_overwriting() {
    let mut rig = Rig::new(2048 * 6);
    let volume = rig.create(3000);
    for block in 0..700 {
        let byte = if block == 302 { 250 } else { 1 + (block % 200) as u8 };
        rig.write(volume, block, 1, byte).unwrap();
    }
    let clone = rig.clone_of(volume, ObjectKind::Volume).unwrap();
    let snapshot = rig.clone_of(clone, ObjectKind::Snapshot).unwrap();
    let other = rig.create(3000);
    rig.copy((volume, 300), (other, 10), 5).unwrap();
    rig.write(other, 2000, 3, 9).unwrap();
    rig.settle();
    let step = verify(&mut rig, volume);
    assert_eq!((step.scanned_bytes, step.bad.len()), (700 * BLOCK, 0));

    let block = (0..rig.disk_blocks()).find(|b| rig.disk.peek(*b).0.iter().all(|byte| *byte == 250));
    rig.disk.rot(block.unwrap(), 3);
    rig.core = rig.reopen();
    let step = verify(&mut rig, volume);
    assert_eq!(step.bad.iter().map(|p| p.offset_bytes / BLOCK).collect::<Vec<_>>(), [302]);
    assert_eq!(places(&mut rig, &step.bad), [(volume, 302), (clone, 302), (snapshot, 302), (other, 12)]);

    // Only reads that need the block fail, with its own LBA.
    let failure = rig.read(volume, 290, 20).unwrap_err();
    assert_eq!(failure, Failure::Block(BlockError::ReadFailed { lba: 302 * 8 }));
    assert_eq!(rig.read(volume, 290, 12).unwrap().len(), 12 * 4096);
    assert_eq!(rig.read(volume, 303, 50).unwrap().len(), 50 * 4096);
    let incident = Incident::BadBlock(Place { object: volume, ..step.bad[0] });
    assert_eq!(rig.core.take_incidents(), [incident]);
    // Half a block cannot be written without its other half; a whole block heals, here and nowhere
    // else.
    let half = Operation::Write { object: volume, offset: 302 * BLOCK, data: vec![5; 512].into(), forced: false };
    assert_eq!(rig.run(half), Err(Failure::Block(BlockError::ReadFailed { lba: 302 * 8 })));
    rig.write(volume, 302, 1, 5).unwrap();
    assert_eq!(rig.read(volume, 302, 1).unwrap()[0], 5);
    rig.settle();
    assert!(verify(&mut rig, volume).bad.is_empty());
    assert_eq!(verify(&mut rig, other).bad.len(), 1);
    for object in [clone, snapshot, other] {
        match object {
            id if id == snapshot => rig.delete(id),
            id => {
                let at = if id == other { 12 } else { 302 };
                rig.write(id, at, 1, 6).unwrap();
            }
        }
    }
    rig.settle();
    for object in [volume, clone, other] {
        assert!(verify(&mut rig, object).bad.is_empty());
    }
    rig.assert_clean();
}

#[test]
fn an_overwrite_in_place_heals_too() {
    let mut rig = Rig::new(2048 * 6);
    let volume = rig.create(3000);
    rig.write(volume, 0, 9, 1).unwrap();
    rig.settle();
    let block =
        (0..rig.disk_blocks()).find(|b| *b > 2048 && rig.disk.peek(*b).0.iter().all(|byte| *byte == 1)).unwrap();
    rig.disk.rot(block, 1);
    rig.core = rig.reopen();
    assert!(rig.read(volume, 0, 9).is_err());
    rig.write(volume, 0, 9, 2).unwrap();
    rig.settle();
    assert!(verify(&mut rig, volume).bad.is_empty());
    assert_eq!(rig.read(volume, 0, 9).unwrap()[0], 2);
}

#[test]
fn a_damaged_map_page_concerns_what_lies_below_it_alone() {
    let mut rig = Rig::new(2048 * 6);
    let volume = rig.create(3000);
    for at in [0, 300, 600] {
        rig.write(volume, at, 2, 1).unwrap();
    }
    let other = rig.create(3000);
    rig.write(other, 0, 2, 2).unwrap();
    rig.settle();
    // The page of blocks 256 to 511: a leaf whose header names this object.
    let leaves: Vec<u64> = (2048..rig.disk_blocks())
        .filter(|b| {
            let page = rig.disk.peek(*b).0;
            page[0..4] == *b"WLpg" && page[8] == 0 && page[32..40] == volume.0.to_le_bytes()
        })
        .collect();
    // Old versions of pages remain on the disk: all that map two blocks at index 44 are versions of
    // the wanted leaf.
    for leaf in leaves {
        let page = rig.disk.peek(leaf).0;
        if page[64 + 44 * 12..64 + 44 * 12 + 5] != [0; 5] {
            rig.disk.rot(leaf, 2);
        }
    }
    rig.core = rig.reopen();
    assert_eq!(rig.read(volume, 0, 2).unwrap()[0], 1);
    assert_eq!(rig.read(volume, 600, 2).unwrap()[0], 1);
    assert_eq!(rig.read(other, 0, 2).unwrap()[0], 2);
    // The LBA of the error is that of the first block whose place is unknown. Regression: it was 0
    // for every read.
    let unreadable = |block: u64| Err(Failure::Block(BlockError::ReadFailed { lba: block * 8 }));
    assert_eq!(rig.read(volume, 300, 1), unreadable(300));
    assert_eq!(rig.read(volume, 250, 100), unreadable(256));
    assert_eq!(rig.write(volume, 301, 1, 1), unreadable(301).map(|_: bytes::Bytes| ()));
    assert_eq!(rig.copy((other, 0), (volume, 320), 4), unreadable(320).map(|_: bytes::Bytes| ()));
    let read = Operation::Read { object: volume, offset: 300 * BLOCK + 1024, length: 512 };
    assert_eq!(rig.run(read), Err(Failure::Block(BlockError::ReadFailed { lba: 2402 })));
    assert!(matches!(rig.core.take_incidents()[..], [Incident::Metadata(_)]));
    let step = verify(&mut rig, volume);
    assert_eq!((step.damaged.len(), step.scanned_bytes), (1, 4 * BLOCK));
    assert!(!check(&mut rig).is_clean());
    rig.write(volume, 0, 2, 3).unwrap();
    // The volume can be deleted; blocks that cannot be walked stay in use until a repair, and the
    // pool continues.
    rig.delete(volume);
    for _ in 0..100 {
        rig.core.pump(16);
    }
    assert_eq!(rig.core.stopped(), None);
    rig.write(other, 50, 40, 4).unwrap();
    rig.core.checkpoint().unwrap();
    rig.core = rig.reopen();
    assert_eq!(rig.read(other, 50, 40).unwrap()[0], 4);
}

#[test]
fn stored_zeros_are_found_and_deallocated() {
    let mut rig = Rig::new(2048 * 6);
    let volume = rig.create(3000);
    rig.write(volume, 0, 40, 0).unwrap();
    assert_eq!(rig.core.object(volume).unwrap().mapped_bytes, 0);
    rig.change(CatalogChange::SetZeroDetection { id: volume, enabled: false }).unwrap();
    rig.write(volume, 0, 700, 0).unwrap();
    rig.write(volume, 100, 4, 1).unwrap();
    rig.write(volume, 2999, 1, 0).unwrap();
    assert_eq!(rig.core.object(volume).unwrap().mapped_bytes, 701 * BLOCK);
    let (mut offset, mut freed, mut steps) = (Some(0), 0, 0);
    while let Some(at) = offset {
        let Output::Scanned(step) = rig.run(Operation::ReclaimZeros { object: volume, offset: at }).unwrap() else {
            panic!()
        };
        freed += step.deallocated_bytes;
        offset = step.next;
        steps += 1;
        assert!(steps < 100);
    }
    assert_eq!(freed, 697 * BLOCK);
    assert_eq!(rig.core.object(volume).unwrap().mapped_bytes, 4 * BLOCK);
    assert_eq!(rig.read(volume, 90, 20).unwrap().iter().filter(|byte| **byte == 1).count(), 4 * 4096);
    let snapshot = rig.clone_of(volume, ObjectKind::Snapshot).unwrap();
    let refused = rig.run(Operation::ReclaimZeros { object: snapshot, offset: 0 });
    assert_eq!(refused, Err(Failure::Block(BlockError::ReadOnly)));
    let mut rig = rig.crash();
    assert!(!rig.core.object(volume).unwrap().zero_detection);
    rig.assert_clean();
}

#[test]
fn rolling_back_takes_content_and_size() {
    let mut rig = Rig::new(2048 * 6);
    let volume = rig.create(1000);
    rig.write(volume, 0, 300, 1).unwrap();
    let snapshot = rig.clone_of(volume, ObjectKind::Snapshot).unwrap();
    rig.write(volume, 100, 300, 2).unwrap();
    rig.change(CatalogChange::Resize { id: volume, size_bytes: 90_000 * BLOCK }).unwrap();
    rig.write(volume, 80_000, 10, 3).unwrap();
    rig.change(CatalogChange::Rollback { id: volume, source: snapshot }).unwrap();
    let mut rig = rig.crash().crash();
    let info = rig.core.object(volume).unwrap();
    assert_eq!((info.size_bytes, info.mapped_bytes), (1000 * BLOCK, 300 * BLOCK));
    assert!(rig.read(volume, 0, 300).unwrap().iter().all(|byte| *byte == 1));
    rig.settle();
    assert_eq!(rig.data_blocks(), 300);
    // A roll-back to itself; then the snapshot is deleted.
    rig.change(CatalogChange::Rollback { id: volume, source: volume }).unwrap();
    rig.delete(snapshot);
    rig.settle();
    assert_eq!((rig.data_blocks(), rig.unique(&[volume])), (300, 300));
    rig.assert_clean();
}

#[test]
fn a_pool_in_use_is_checked() {
    let n = Random::new(5);
    let mut rig = Rig::new(2048 * 24);
    let mut objects = vec![rig.create(4000), rig.create(4000)];
    let mut checks = 0;
    let mut pending = None;
    for step in 0..6000u64 {
        let object = objects[n.below(objects.len() as u64) as usize];
        match n.below(12) {
            0..=5 => rig.write(object, n.below(3900), 1 + n.below(20), step as u8 | 1).unwrap(),
            6 => rig.zero(object, n.below(3000), 1 + n.below(900)).unwrap(),
            7 => {
                let to = objects[n.below(objects.len() as u64) as usize];
                rig.copy((object, n.below(3000)), (to, n.below(3000)), 1 + n.below(600)).unwrap();
            }
            8 if objects.len() < 6 => objects.push(rig.clone_of(object, ObjectKind::Volume).unwrap()),
            9 if objects.len() > 3 => {
                objects.retain(|other| *other != object);
                rig.delete(object);
            }
            10 => rig.core.request_checkpoint(),
            _ => {}
        }
        // The check continues between these operations.
        let id = *pending.get_or_insert_with(|| rig.core.submit(Operation::CheckStep));
        rig.core.pump(1);
        if let Some((_, result)) = rig.take(id) {
            pending = None;
            let Output::Check(step) = result.unwrap() else { panic!() };
            if let Some(report) = step.report {
                assert_eq!(report.findings, Vec::<String>::new());
                assert!(report.pages > 4 && report.objects >= 2);
                checks += 1;
            }
        }
    }
    assert!(checks >= 3, "{checks}");
    rig.core.abandon_check();
    rig.settle();
    assert!(check(&mut rig).is_clean());
    rig.assert_clean();
}

/// Blocks of the disk that hold leaves created for an object.
fn leaves_of(rig: &Rig, object: ObjectId) -> Vec<u64> {
    let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap());
    let is_leaf = |block: &u64| {
        let page = rig.disk.peek(*block);
        page.0[..4] == *b"WLpg"
            && page.0[8] == 0
            && number(&page.0[24..32]) == *block
            && number(&page.0[32..40]) == object.0
    };
    (0..rig.disk_blocks()).filter(is_leaf).collect()
}

/// The log names a leaf that turns out to be damaged: the pool opens, the leaf's range is an error
/// until it is zeroed or unmapped, and everything else is intact, also the other writes of the same
/// records.
#[test]
fn a_damaged_leaf_costs_its_own_range_also_when_the_log_names_it() {
    let mut lost_ranges = Vec::new();
    for nth in 0..3 {
        let mut rig = Rig::new(2048 * 6);
        let [bad, good] = [(); 2].map(|()| rig.create(3000));
        for volume in [bad, good] {
            rig.write(volume, 0, 600, 1).unwrap();
        }
        rig.settle();
        let mut expected = vec![1u8; 600];
        rig.write(bad, 250, 20, 2).unwrap();
        expected[250..270].fill(2);
        rig.write(bad, 300, 1, 3).unwrap();
        expected[300] = 3;
        rig.zero(bad, 500, 20).unwrap();
        expected[500..520].fill(0);
        rig.write(bad, 100, 2, 4).unwrap();
        expected[100..102].fill(4);
        rig.copy((good, 20), (bad, 530), 4).unwrap();
        rig.write(bad, 560, 1, 5).unwrap();
        expected[560] = 5;
        rig.write(good, 0, 8, 6).unwrap();
        let leaves = leaves_of(&rig, bad);
        assert_eq!(leaves.len(), 3);
        rig.disk.damage(leaves[nth], |content| content[100] ^= 1);
        let mut rig = rig.crash();
        let incidents = rig.core.take_incidents();
        assert!(matches!(incidents[..], [Incident::Metadata(_)]), "{nth}: {incidents:?}");
        assert_eq!(rig.read(good, 0, 8).unwrap()[0], 6);
        for again in [false, true] {
            let mut lost = Vec::new();
            for block in 0..600 {
                match rig.read(bad, block, 1) {
                    Ok(data) => assert!(data.iter().all(|byte| *byte == expected[block as usize]), "block {block}"),
                    Err(_) => lost.push(block),
                }
            }
            let leaf = lost[0] / 256;
            assert_eq!(lost, (leaf * 256..600.min(leaf * 256 + 256)).collect::<Vec<_>>());
            assert!(rig.write(bad, lost[0], 1, 9).is_err());
            // Even if the medium returns the leaf later, it lacks the changes in the log.
            match again {
                false => {
                    rig.settle();
                    rig.disk.damage(leaves[nth], |content| content[100] ^= 1);
                    rig.core = rig.reopen();
                }
                true => lost_ranges.push(lost[0]),
            }
        }
        let first = *lost_ranges.last().unwrap();
        rig.zero(bad, first, 256).unwrap();
        rig.settle();
        assert_eq!(rig.read(bad, first, 1).unwrap()[0], 0);
        rig.write(bad, first, 1, 9).unwrap();
        rig.core.checkpoint().unwrap();
        // The deleted leaf keeps its blocks in use until a repair.
        assert!(rig.core.check(true, &mut |_| {}).unwrap().count > 0);
        rig.repair();
        rig.assert_clean();
        assert_eq!(rig.read(bad, first, 1).unwrap()[0], 9);
        assert_eq!(rig.read(good, 0, 8).unwrap()[0], 6);
    }
    lost_ranges.sort_unstable();
    assert_eq!(lost_ranges, [0, 256, 512]);
}

/// Damages every block of reference counts; returns their number. They are behind the index, in the
/// first segment of the data area.
fn damage_counts(rig: &Rig) -> usize {
    let written = |block: &u64| rig.disk.peek(*block).0.iter().any(|byte| *byte != 0);
    let blocks: Vec<u64> = (2048 + 16..2 * 2048).filter(written).collect();
    for block in &blocks {
        rig.disk.damage(*block, |content| content[4000] ^= 1);
    }
    blocks.len()
}

/// Reference counts fail their checksum: no block is freed there, and everything else continues,
/// over a crash and until a repair.
#[test]
fn damaged_reference_counts_cost_space_and_nothing_else() {
    for crash in [false, true] {
        let mut rig = Rig::new(2048 * 6);
        let volume = rig.create(3000);
        rig.write(volume, 0, 600, 1).unwrap();
        rig.settle();
        rig.write(volume, 10, 1, 2).unwrap();
        rig.write(volume, 700, 1, 2).unwrap();
        if !crash {
            rig.core.checkpoint().unwrap();
        }
        assert!(damage_counts(&rig) > 0);
        let mut rig = rig.crash();
        rig.write(volume, 20, 1, 3).unwrap();
        rig.zero(volume, 30, 5).unwrap();
        let clone = rig.clone_of(volume, ObjectKind::Volume).unwrap();
        rig.write(clone, 40, 1, 4).unwrap();
        rig.settle();
        let expected = |block: u64| match block {
            10 | 700 => 2,
            20 => 3,
            30..35 => 0,
            _ => 1,
        };
        for again in [false, true] {
            for block in (0..600).chain([700]) {
                assert_eq!(rig.read(volume, block, 1).unwrap()[9], expected(block), "block {block}, again {again}");
            }
            assert_eq!(rig.read(clone, 40, 1).unwrap()[9], 4);
            let report = check(&mut rig);
            assert!(report.findings.iter().any(|finding| finding.contains("were lost")), "{:?}", report.findings);
            rig.core = rig.reopen();
        }
        rig.repair();
        rig.assert_clean();
        for block in (0..600).chain([700]) {
            assert_eq!(rig.read(volume, block, 1).unwrap()[9], expected(block));
        }
        rig.delete(clone);
        rig.delete(volume);
        rig.settle();
        assert_eq!(rig.data_blocks(), 0);
    }
}

/// Writes random lengths in one frame, up to half of the log.
fn write_frame(rig: &mut Rig, object: ObjectId, numbers: &Random) {
    let mut submitted = Vec::new();
    for _ in 0..1 + numbers.below(5) {
        let data = vec![1 + numbers.below(255) as u8; ((1 + numbers.below(7)) * BLOCK) as usize].into();
        let offset = numbers.below(56) * BLOCK;
        submitted.push(rig.core.submit(Operation::Write { object, offset, data, forced: false }));
    }
    while !submitted.is_empty() {
        rig.core.pump(1);
        submitted.retain(|id| rig.take(*id).is_none_or(|(_, result)| result.is_err()));
    }
}

/// Regression: a disk that forgets a flush can restore an older root whose log has been
/// overwritten. The proof was searched only behind the end of the log and up to half of the ring:
/// the pool opened without acknowledged writes and reported nothing.
#[test]
fn an_older_root_that_a_forgotten_flush_brings_back_is_noticed() {
    let mut noticed = 0;
    for seed in 0..250 {
        let numbers = &Random::new(seed);
        let mut rig = Rig::with_log(8192, 256 << 10);
        let id = rig.create(64);
        for _ in 0..seed % 4 {
            write_frame(&mut rig, id, numbers);
        }
        rig.core.checkpoint().unwrap();
        rig.disk.plant(Fault::sticky(FaultOperation::Flush, FaultEffect::Lost));
        let last = rig.disk_blocks() - 1;
        for round in 0..12 {
            write_frame(&mut rig, id, numbers);
            let acknowledged = rig.core.next_sequence();
            // The disk loses unflushed writes of superblocks.
            let fate = |write: &PendingWrite| match write.block {
                block if block < 2048 || block == last => Fate::Lost,
                _ => Fate::Applied,
            };
            match Rig::on(rig.disk.crashed_copy(fate), options(2)) {
                Ok(opened) => {
                    let recovered = opened.core.next_sequence();
                    assert!(recovered >= acknowledged, "seed {seed}, round {round}: {recovered} of {acknowledged}");
                }
                Err(PoolError::Damaged(_)) => noticed += 1,
                Err(other) => panic!("{other:?}"),
            }
        }
    }
    assert!(noticed > 100, "{noticed}");
}
