//! *Unique* bytes equal the bytes that deletion frees, to the block.
use crate::common::{BLOCK, Rig};
use pool::{BlockNumber, BlockRange, ObjectId, ObjectKind, Operation, Output};
use random::Random;

/// Runs one history of writes, zeros, unmaps, copies within and between volumes, snapshots, clones
/// and deletions. Then deletes every object, alone or with others, and compares the freed bytes
/// with the prediction.
fn history(seed: u64) {
    let n = Random::new(seed);
    let mut rig = Rig::new(2048 * 6);
    let size = 1200;
    let mut objects = vec![rig.create(size)];
    let mut snapshots: Vec<ObjectId> = Vec::new();
    for _ in 0..30 + n.below(50) {
        let at = n.below(objects.len() as u64) as usize;
        let object = objects[at];
        let writable = !snapshots.contains(&object);
        let length = [1, 4, 40, 300][n.below(4) as usize];
        let start = n.below(size - length);
        match n.below(12) {
            0..=3 if writable => rig.write(object, start, length, 1 + n.below(200) as u8).unwrap(),
            4 if writable => rig.zero(object, start, length).unwrap(),
            5 if writable => rig.zero(object, start / 256 * 256, 256.min(size - start / 256 * 256)).unwrap(),
            6..=7 => {
                let to = objects[n.below(objects.len() as u64) as usize];
                if !snapshots.contains(&to) {
                    let target = if n.below(2) == 0 { (start + 256) % 900 } else { n.below(size - length) };
                    rig.copy((object, start), (to, target), length.min(size - target)).unwrap();
                }
            }
            8 if objects.len() < 8 => objects.push(rig.clone_of(object, ObjectKind::Volume).unwrap()),
            9 if objects.len() < 8 => {
                let snapshot = rig.clone_of(object, ObjectKind::Snapshot).unwrap();
                snapshots.push(snapshot);
                objects.push(snapshot);
            }
            10 if objects.len() > 3 => {
                rig.delete(object);
                objects.remove(at);
            }
            11 => rig.core.checkpoint().unwrap(),
            _ => {}
        }
    }
    rig.settle();
    while !objects.is_empty() {
        let count = (1 + n.below(3) as usize).min(objects.len());
        let chosen: Vec<ObjectId> =
            (0..count).map(|_| objects.remove(n.below(objects.len() as u64) as usize)).collect();
        let predicted = rig.unique(&chosen);
        let before = rig.data_blocks();
        for id in &chosen {
            rig.delete(*id);
        }
        rig.settle();
        let freed = before - rig.data_blocks();
        assert_eq!(freed, predicted, "seed {seed}: deleting {chosen:?}");
    }
    assert_eq!(rig.data_blocks(), 0, "seed {seed}: everything is deleted");
    rig.assert_clean();
}

#[test]
fn unique_is_what_deletion_frees_in_1000_histories() {
    let threads: Vec<_> =
        (0..4).map(|thread| std::thread::spawn(move || (0..250).for_each(|i| history(thread * 250 + i)))).collect();
    for thread in threads {
        thread.join().unwrap();
    }
}

#[test]
fn blocks_that_only_one_object_refers_to_many_times_are_its_own() {
    let mut rig = Rig::new(2048 * 6);
    let volume = rig.create(2048);
    rig.write(volume, 0, 256, 1).unwrap();
    // A shared leaf, and shared blocks.
    rig.copy((volume, 0), (volume, 256), 256).unwrap();
    rig.copy((volume, 3), (volume, 1000), 50).unwrap();
    assert_eq!(rig.unique(&[volume]), 256);
    let clone = rig.clone_of(volume, ObjectKind::Volume).unwrap();
    assert_eq!((rig.unique(&[volume]), rig.unique(&[clone])), (0, 0));
    assert_eq!(rig.unique(&[volume, clone]), 256);
    rig.write(clone, 0, 16, 2).unwrap();
    assert_eq!((rig.unique(&[volume]), rig.unique(&[clone])), (0, 16));
    // The clone keeps these blocks until all three of their places are gone.
    rig.zero(clone, 256, 16).unwrap();
    assert_eq!(rig.unique(&[volume]), 3);
}

/// Content of each block of an object, by number; 0 is none.
type Contents = Vec<u64>;

/// Blocks of a range that nothing outside of it maps.
fn unique_in(contents: &[Contents], of: usize, first: usize, count: usize) -> u64 {
    let inside: std::collections::BTreeSet<u64> = contents[of][first..first + count].iter().copied().collect();
    let places = |content: u64, of: &[u64]| of.iter().filter(|found| **found == content).count();
    let own = inside.iter().filter(|content| {
        let all: usize = contents.iter().map(|of| places(**content, of)).sum();
        **content != 0 && places(**content, &contents[of][first..first + count]) == all
    });
    own.count() as u64
}

#[test]
fn unique_in_a_range_is_what_nothing_else_maps() {
    for seed in 0..60 {
        let n = Random::new(seed);
        let mut rig = Rig::new(2048 * 6);
        let size = 1200;
        let mut objects = vec![rig.create(size), rig.create(size)];
        let mut contents: Vec<Contents> = vec![vec![0; size as usize]; 2];
        let mut next = 0;
        for _ in 0..40 {
            let (object, other) = (n.index(objects.len()), n.index(objects.len()));
            let length = [1, 4, 256, 300][n.index(4)];
            let mut start = n.below(size - length);
            if n.chance(40) {
                start = start / 256 * 256;
            }
            let range = start as usize..(start + length) as usize;
            match n.below(8) {
                0..=3 => {
                    rig.write(objects[object], start, length, 1 + n.below(200) as u8).unwrap();
                    contents[object][range].iter_mut().for_each(|content| {
                        next += 1;
                        *content = next;
                    });
                }
                4 | 5 => {
                    let to = if n.chance(60) { (start + 256) % 900 } else { n.below(size - length) };
                    rig.copy((objects[object], start), (objects[other], to), length).unwrap();
                    let copied = contents[object][range].to_vec();
                    contents[other][to as usize..(to + length) as usize].copy_from_slice(&copied);
                }
                6 if objects.len() < 4 => {
                    objects.push(rig.clone_of(objects[object], ObjectKind::Volume).unwrap());
                    contents.push(contents[object].clone());
                }
                _ => {
                    rig.zero(objects[object], start, length).unwrap();
                    contents[object][range].fill(0);
                }
            }
            rig.settle();
            // Whole leaves, or a part of one.
            let leaf = start / 256 * 256;
            let (first, count) = match n.below(3) {
                0 => (leaf, 256),
                1 => (leaf, 512),
                _ => (start, length.min(leaf + 256 - start)),
            };
            let count = count.min(size / 256 * 256 - first.min(size / 256 * 256)).max(1);
            let range = BlockRange::new(BlockNumber::new(first), count);
            let found = match rig.run(Operation::UniqueIn { object: objects[object], range }).unwrap() {
                Output::Bytes(bytes) => bytes / BLOCK,
                other => panic!("{other:?}"),
            };
            let expected = unique_in(&contents, object, first as usize, count as usize);
            assert_eq!(found, expected, "seed {seed}: {range:?} of object {object}");
        }
    }
}
