//! Many clones of one template that go their own ways.
use crate::common::{BLOCK, Numbers, Rig};
use pool::ObjectKind;
use std::collections::BTreeMap;

#[test]
fn clones_512_of_one_template_stay_exact() {
    const TEMPLATE: u64 = 2048;
    let mut rig = Rig::new(2048 * 40);
    let template = rig.create(TEMPLATE);
    rig.write(template, 0, TEMPLATE, 7).unwrap();
    let snapshot = rig.clone_of(template, ObjectKind::Snapshot).unwrap();
    let clones: Vec<u64> = (0..512).map(|_| rig.clone_of(snapshot, ObjectKind::Volume).unwrap()).collect();
    rig.settle();
    let before = rig.core.space();
    assert_eq!(rig.data_blocks(), TEMPLATE);
    let mut n = Numbers(1);
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
    // Each clone has eight leaves and a root of its own now.
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
    // All clones together have what they wrote; the template stays with its snapshot until both are gone.
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
    // Of the template, what some remaining clone has not overwritten.
    let overwritten_by_all = (0..TEMPLATE)
        .filter(|block| written.iter().skip(1).step_by(2).all(|content| content.contains_key(block)))
        .count();
    assert_eq!(rig.data_blocks(), kept + TEMPLATE - overwritten_by_all as u64);
    rig.assert_clean();
}
