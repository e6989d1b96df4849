//! An operation takes no more blocks than it has asked for.

use crate::common::{BLOCK, Rig};
use bytes::Bytes;
use pool::{ObjectKind, Operation};

/// Story: a write over two leaves was planned as if the first one stayed. Its zeros emptied that leaf and the
/// page above, which the second leaf then needed anew.
#[test]
fn zeros_that_empty_a_leaf_are_planned_with_the_pages_that_follow() {
    let mut rig = Rig::new(2048 * 4);
    for blocks in [600, 1 << 17] {
        let volume = rig.create(blocks);
        rig.write(volume, 255, 1, 1).unwrap();
        let mut data = vec![0; 2 * BLOCK as usize];
        data[BLOCK as usize..].fill(2);
        let offset = 255 * BLOCK;
        rig.run(Operation::Write { object: volume, offset, data: data.into(), forced: true }).unwrap();
        let mut large = vec![0; 20 * BLOCK as usize];
        large[BLOCK as usize..].fill(3);
        let offset = 511 * BLOCK;
        rig.zero(volume, 0, 600).unwrap();
        rig.write(volume, 511, 1, 1).unwrap();
        rig.run(Operation::Write { object: volume, offset, data: large.into(), forced: true }).unwrap();
    }
    assert_eq!(rig.core.counters().unplanned, 0);
    rig.assert_clean();
}

/// Story: the count of what a volume shares is in the log, and so is the deletion of the snapshot before it. Replay
/// does both, but gives the detached tree of the snapshot up only later: until then pages were shared of which
/// none was due, and writes took them without asking.
#[test]
fn pages_that_only_a_detached_tree_shares_are_asked_for() {
    let mut rig = Rig::new(2048 * 4);
    let volume = rig.create(600);
    rig.reserve(volume, 0).unwrap();
    rig.write(volume, 0, 600, 1).unwrap();
    let snapshot = rig.clone_of(volume, ObjectKind::Snapshot).unwrap();
    rig.core.checkpoint().unwrap();
    rig.delete(snapshot);
    for _ in 0..1000 {
        rig.core.pump(64);
    }
    rig.run(Operation::Flush).unwrap();
    let promised = |rig: &Rig| rig.core.object(volume).unwrap().promised_bytes;
    assert_eq!(promised(&rig), 0);
    let mut rig = rig.crash();
    assert_eq!(promised(&rig), 0);
    let data = Bytes::from(vec![2; BLOCK as usize]);
    let id = rig.core.submit(Operation::Write { object: volume, offset: 0, data, forced: true });
    while rig.take(id).is_none() {
        rig.core.pump(0);
    }
    assert_eq!(rig.core.counters().unplanned, 0);
    rig.settle();
    rig.assert_clean();
}
