//! *Unique* bytes equal the bytes that deletion frees, to the block.
use crate::common::Rig;
use pool::{ObjectId, ObjectKind};
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
