//! Wide objects: volumes above 16 TiB, whose maps have five levels.
use crate::common::{BLOCK, Rig};
use media::{FEATURE_WIDE, RootStore};
use pool::{CatalogChange, Failure, MAX_VOLUME_BYTES, ObjectId, ObjectKind, Operation, Output, PoolError};

/// Blocks of the largest volume.
const MOST: u64 = MAX_VOLUME_BYTES / BLOCK;
/// Blocks of the largest volume with a map of four levels: 16 TiB.
const NARROW: u64 = 1 << 32;

fn is_marked(rig: &Rig) -> bool {
    rig.core.media().features() & FEATURE_WIDE != 0
}

/// First byte of each of these blocks.
fn bytes(rig: &mut Rig, object: ObjectId, blocks: &[u64]) -> Vec<u8> {
    blocks.iter().map(|block| rig.read(object, *block, 1).unwrap()[0]).collect()
}

/// Mapped runs of an object from a byte offset on, as logical block and count.
fn mapped(rig: &mut Rig, object: ObjectId, offset: u64) -> Vec<(u64, u64, bool)> {
    match rig.run(Operation::Provisioning { object, offset, limit: 8 }).unwrap() {
        Output::Provisioning(runs) => runs.iter().map(|run| (run.extent.lba.0, run.extent.count, run.mapped)).collect(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_volume_of_256_tib_is_used_to_its_last_block() {
    let mut rig = Rig::new(2048 * 8);
    let volume = rig.create(MOST);
    let places = [0, 1, NARROW - 1, NARROW, 77 << 24, MOST - 2, MOST - 1];
    for (index, place) in places.iter().enumerate() {
        rig.write(volume, *place, 1, 1 + index as u8).unwrap();
    }
    assert!(rig.write(volume, MOST, 1, 1).is_err());
    let snapshot = rig.clone_of(volume, ObjectKind::Snapshot).unwrap();
    let clone = rig.clone_of(snapshot, ObjectKind::Volume).unwrap();
    rig.write(clone, MOST - 1, 1, 90).unwrap();
    rig.copy((volume, MOST - 2), (clone, NARROW - 2), 2).unwrap();
    rig.zero(clone, 77 << 24, 1 << 24).unwrap();
    let mut rig = rig.crash();
    let expected: Vec<u8> = (1..=7).collect();
    assert_eq!(bytes(&mut rig, volume, &places), expected);
    assert_eq!(bytes(&mut rig, snapshot, &places), expected);
    assert_eq!(bytes(&mut rig, clone, &places), [1, 2, 7, 4, 0, 6, 90]);
    assert_eq!(bytes(&mut rig, clone, &[NARROW - 2]), [6]);
    assert_eq!(mapped(&mut rig, clone, (MOST - 3) * BLOCK), [(MOST * 8 - 24, 8, false), (MOST * 8 - 16, 16, true)]);
    assert_eq!(rig.core.object(clone).unwrap().mapped_bytes, 7 * BLOCK);
    rig.settle();
    rig.assert_clean();
    for object in [volume, snapshot, clone] {
        rig.delete(object);
    }
    rig.settle();
    assert_eq!((rig.data_blocks(), rig.core.object(volume).is_none()), (0, true));
    rig.assert_clean();
}

/// Objects at rest have two bits for the level of their roots, and one for wide objects.
#[test]
fn a_wide_volume_comes_back_from_rest() {
    let mut rig = Rig::new(2048 * 4);
    let volume = rig.create(MOST);
    rig.write(volume, MOST - 1, 1, 5).unwrap();
    rig.settle();
    let mut rig = rig.crash();
    assert_eq!(bytes(&mut rig, volume, &[MOST - 1, 0]), [5, 0]);
    assert_eq!(rig.core.object(volume).unwrap().size_bytes, MAX_VOLUME_BYTES);
}

#[test]
fn a_volume_grows_beyond_16_tib_and_shrinks_again() {
    let mut rig = Rig::new(2048 * 8);
    let volume = rig.create(1000);
    rig.write(volume, 999, 1, 1).unwrap();
    let snapshot = rig.clone_of(volume, ObjectKind::Snapshot).unwrap();
    let resize =
        |rig: &mut Rig, blocks: u64| rig.change(CatalogChange::Resize { id: volume, size_bytes: blocks * BLOCK });
    resize(&mut rig, NARROW).unwrap();
    assert!(!is_marked(&rig));
    resize(&mut rig, NARROW + 1).unwrap();
    assert!(is_marked(&rig));
    rig.write(volume, NARROW, 1, 2).unwrap();
    let mut rig = rig.crash();
    resize(&mut rig, MOST).unwrap();
    rig.write(volume, MOST - 1, 1, 3).unwrap();
    assert_eq!(bytes(&mut rig, volume, &[999, NARROW, MOST - 1]), [1, 2, 3]);
    resize(&mut rig, 2000).unwrap();
    let mut rig = rig.crash();
    resize(&mut rig, MOST).unwrap();
    assert_eq!(bytes(&mut rig, volume, &[999, NARROW, MOST - 1]), [1, 0, 0]);
    rig.change(CatalogChange::Rollback { id: volume, source: snapshot }).unwrap();
    assert_eq!(bytes(&mut rig, volume, &[999]), [1]);
    rig.settle();
    rig.assert_clean();
    let too_large = resize(&mut rig, MOST + 1);
    assert!(matches!(too_large, Err(Failure::Pool(PoolError::BadSize { .. }))), "{too_large:?}");
}

/// A release that does not know wide objects must refuse a pool that may have one, and open any
/// other.
#[test]
fn the_pool_is_marked_before_its_first_wide_object_and_not_earlier() {
    let mut rig = Rig::new(2048 * 4);
    let narrow = rig.create(NARROW);
    rig.write(narrow, NARROW - 1, 1, 1).unwrap();
    rig.settle();
    assert!(!is_marked(&rig));
    let id = rig.core.new_object_id();
    let create = Operation::Catalog(vec![CatalogChange::CreateVolume { id, size_bytes: MAX_VOLUME_BYTES }]);
    let operation = rig.core.submit(create);
    // Cut before the checkpoint: neither the mark nor the volume is there.
    assert!(rig.take(operation).is_none());
    let mut rig = rig.crash();
    assert!(!is_marked(&rig) && rig.core.object(id).is_none());
    let volume = rig.create(MOST);
    assert!(is_marked(&rig));
    let rig = rig.crash();
    assert!(is_marked(&rig) && rig.core.object(volume).is_some());
}
