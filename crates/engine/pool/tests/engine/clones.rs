//! Many clones of one template that diverge.
use crate::common::{BLOCK, Rig};
use pool::{CatalogChange, Failure, ObjectId, ObjectKind, Operation, PoolError, Reservation};
use random::Random;
use std::collections::BTreeMap;

#[test]
fn clones_512_of_one_template_stay_exact() {
    const TEMPLATE: u64 = 2048;
    let mut rig = Rig::new(2048 * 40);
    let template = rig.create(TEMPLATE);
    rig.write(template, 0, TEMPLATE, 7).unwrap();
    let snapshot = rig.clone_of(template, ObjectKind::Snapshot).unwrap();
    let clones: Vec<ObjectId> = (0..512).map(|_| rig.clone_of(snapshot, ObjectKind::Volume).unwrap()).collect();
    rig.settle();
    let before = rig.core.space();
    assert_eq!(rig.data_blocks(), TEMPLATE);
    let n = Random::new(1);
    let mut written: Vec<BTreeMap<u64, u8>> = vec![BTreeMap::new(); clones.len()];
    for _ in 0..100 {
        for (clone, content) in clones.iter().zip(&mut written) {
            let (block, byte) = (n.below(TEMPLATE), 8 + n.below(200) as u8);
            rig.write(*clone, block, 1, byte).unwrap();
            content.insert(block, byte);
        }
    }
    rig.settle();
    let new: u64 = written.iter().map(|content| content.len() as u64).sum();
    assert_eq!(rig.data_blocks(), TEMPLATE + new);
    let after = rig.core.space();
    // Each clone has its own eight leaves and root now.
    assert!(after.metadata_bytes - before.metadata_bytes <= 512 * 10 * BLOCK);
    for (i, (clone, content)) in clones.iter().zip(&written).enumerate() {
        assert_eq!(rig.unique(&[*clone]), content.len() as u64);
        if i % 37 == 0 {
            let data = rig.read(*clone, 0, TEMPLATE).unwrap();
            for (block, bytes) in data.chunks_exact(BLOCK as usize).enumerate() {
                let expected = content.get(&(block as u64)).copied().unwrap_or(7);
                assert!(bytes.iter().all(|byte| *byte == expected), "clone {i} block {block}");
            }
        }
    }
    // All clones together have the blocks they wrote; the template's blocks stay until the template
    // and its snapshot are both gone.
    assert_eq!(rig.unique(&clones), new);
    assert_eq!(rig.unique(&[template]), 0);
    rig.assert_clean();
    let mut rig = rig.crash();
    for (i, clone) in clones.iter().enumerate() {
        if i % 2 == 0 {
            rig.delete(*clone);
        }
    }
    rig.delete(template);
    rig.delete(snapshot);
    rig.settle();
    let kept: u64 = written.iter().skip(1).step_by(2).map(|content| content.len() as u64).sum();
    // Blocks of the template that at least one remaining clone has not overwritten.
    let overwritten_by_all = (0..TEMPLATE)
        .filter(|block| written.iter().skip(1).step_by(2).all(|content| content.contains_key(block)))
        .count();
    assert_eq!(rig.data_blocks(), kept + TEMPLATE - overwritten_by_all as u64);
    rig.assert_clean();
}

/// Regression: a clone larger than its source took two commits, because the pool refused to resize
/// an object created in the same list. A crash between them left a clone of the old size.
#[test]
fn a_clone_grows_in_the_commit_that_creates_it() {
    for size_blocks in [1001, 90_000, 17_000_000] {
        let mut rig = Rig::new(2048 * 6);
        let source = rig.create(1000);
        rig.write(source, 0, 300, 1).unwrap();
        let clone = rig.core.new_object_id();
        let (id, kind) = (clone, ObjectKind::Volume);
        let changes = vec![
            CatalogChange::CloneObject { source, id, kind },
            CatalogChange::Resize { id, size_bytes: size_blocks * BLOCK },
        ];
        rig.run(Operation::Catalog(changes)).unwrap();
        rig.write(clone, size_blocks - 1, 1, 2).unwrap();
        rig.write(clone, 0, 1, 3).unwrap();
        let mut rig = rig.crash();
        let sizes = [source, clone].map(|object| rig.core.object(object).unwrap().size_bytes / BLOCK);
        assert_eq!(sizes, [1000, size_blocks]);
        let byte = |rig: &mut Rig, object, block| rig.read(object, block, 1).unwrap()[0];
        assert_eq!([0, 299, 300, size_blocks - 1].map(|block| byte(&mut rig, clone, block)), [3, 1, 0, 2]);
        assert_eq!([0, 299].map(|block| byte(&mut rig, source, block)), [1, 1]);
        rig.delete(source);
        rig.settle();
        assert_eq!(rig.data_blocks(), 301);
        rig.assert_clean();
    }
}

#[test]
fn a_clone_does_not_shrink_in_the_commit_that_creates_it() {
    let mut rig = Rig::new(2048 * 6);
    let source = rig.create(1000);
    let (id, kind) = (rig.core.new_object_id(), ObjectKind::Volume);
    let clone = CatalogChange::CloneObject { source, id, kind };
    let shrink = CatalogChange::Resize { id, size_bytes: 999 * BLOCK };
    let refused = rig.run(Operation::Catalog(vec![clone, shrink]));
    assert_eq!(refused.map(|_| ()), Err(Failure::Pool(PoolError::ObjectExists(id))));
    assert!(rig.core.object(id).is_none());
}

/// Space is promised for the size of the clone at the end of the commit.
#[test]
fn a_thick_clone_grows_in_the_commit_that_creates_it() {
    let mut rig = Rig::new(2048 * 6);
    let source = rig.create(100);
    rig.write(source, 0, 100, 1).unwrap();
    let mut clone_of_blocks = |blocks| {
        let (id, kind) = (rig.core.new_object_id(), ObjectKind::Volume);
        let changes = vec![
            CatalogChange::CloneObject { source, id, kind },
            CatalogChange::Resize { id, size_bytes: blocks * BLOCK },
            CatalogChange::SetReservation { id, reservation: Some(Reservation { overwrite_percent: 100 }) },
        ];
        let done = rig.run(Operation::Catalog(changes)).map(|_| ());
        (done, rig.core.object(id).map(|info| info.promised_bytes))
    };
    let (refused, none) = clone_of_blocks(2048 * 6);
    assert!(matches!(refused, Err(Failure::Pool(PoolError::NoRoomForReservation { .. }))) && none.is_none());
    let (done, promised) = clone_of_blocks(2048);
    assert_eq!(done, Ok(()));
    assert!(promised.unwrap() >= 2048 * BLOCK, "{promised:?}");
}
