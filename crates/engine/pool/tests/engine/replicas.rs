//! Replicas: hosts read them, and their group alone changes them.

use crate::common::{BLOCK, Rig};
use block::BlockError;
use bytes::Bytes;
use media::{FEATURE_REPLICAS, RootStore};
use pool::{ByteRange, CatalogChange, Failure, ObjectId, ObjectKind, Operation, Output, PoolError};

fn set(id: ObjectId, enabled: bool) -> CatalogChange {
    CatalogChange::SetReplica { id, enabled }
}

/// Every operation by which a host changes content of `object`, from the first block on.
fn changes(object: ObjectId, source: ObjectId) -> Vec<Operation> {
    let data = |blocks: u64| Bytes::from(vec![9; (blocks * BLOCK) as usize]);
    vec![
        Operation::Write { object, offset: 0, data: data(1), forced: false },
        // Content that goes straight to its place.
        Operation::Write { object, offset: 0, data: data(32), forced: true },
        Operation::Zero { object, ranges: vec![ByteRange::new(0, 4 * BLOCK)], forced: false },
        Operation::CompareAndWrite {
            object,
            offset: 0,
            compare: vec![1; 512].into(),
            data: vec![2; 512].into(),
            forced: false,
        },
        Operation::Clone { source, source_offset: 0, destination: object, destination_offset: 0, length: 8 * BLOCK },
        Operation::ReclaimZeros { object, offset: 0 },
    ]
}

/// Pool with a volume whose first 64 blocks are written, and another one.
fn with_volumes() -> (Rig, ObjectId, ObjectId) {
    let mut rig = Rig::new(16_384);
    let (volume, other) = (rig.create(256), rig.create(256));
    rig.write(volume, 0, 64, 1).unwrap();
    rig.write(other, 0, 64, 2).unwrap();
    (rig, volume, other)
}

impl Rig {
    fn run_as_group(&mut self, operation: Operation) -> Result<Output, Failure> {
        let id = self.core.submit_as_group(operation);
        for _ in 0..1_000_000 {
            if let Some((_, result)) = self.take(id) {
                return result;
            }
            self.core.pump(1);
        }
        panic!("an operation never finishes");
    }
}

#[test]
fn every_change_by_a_host_is_refused_and_the_same_by_the_group_takes_effect() {
    let (mut rig, volume, other) = with_volumes();
    rig.change(set(volume, true)).unwrap();
    for operation in changes(volume, other) {
        let name = format!("{operation:?}").chars().take(40).collect::<String>();
        assert_eq!(rig.run(operation), Err(BlockError::ReadOnly.into()), "{name}");
    }
    let edit =
        move |view: &mut pool::View<'_>| view.edit(volume, pool::BlockNumber::FIRST, 0..512).map(|bytes| bytes.fill(3));
    assert_eq!(rig.together(edit), Err(BlockError::ReadOnly.into()));
    let zero = move |view: &mut pool::View<'_>| view.zero(volume, ByteRange::new(0, BLOCK));
    assert_eq!(rig.together(zero), Err(BlockError::ReadOnly.into()));
    assert_eq!(rig.read(volume, 0, 64).unwrap(), vec![1; 64 * BLOCK as usize]);
    for operation in changes(volume, other) {
        let name = format!("{operation:?}").chars().take(40).collect::<String>();
        assert!(rig.run_as_group(operation).is_ok(), "{name}");
    }
    assert_eq!(rig.read(volume, 0, 8).unwrap(), vec![2; 8 * BLOCK as usize]);
    rig.change(set(volume, false)).unwrap();
    for operation in changes(volume, other) {
        assert!(rig.run(operation).is_ok());
    }
    rig.assert_clean();
}

#[test]
fn a_replica_is_the_source_of_everything_and_its_clones_are_none() {
    let (mut rig, volume, other) = with_volumes();
    rig.change(set(volume, true)).unwrap();
    rig.copy((volume, 0), (other, 8), 8).unwrap();
    let snapshot = rig.clone_of(volume, ObjectKind::Snapshot).unwrap();
    let clone = rig.clone_of(volume, ObjectKind::Volume).unwrap();
    rig.write(clone, 0, 1, 3).unwrap();
    let replica = |rig: &Rig, id| rig.core.object(id).unwrap().is_replica;
    assert_eq!([volume, snapshot, clone].map(|id| replica(&rig, id)), [true, false, false]);
    // It stays one when it goes back to a common point.
    rig.change(CatalogChange::Rollback { id: volume, source: snapshot }).unwrap();
    assert!(replica(&rig, volume));
    rig.delete(volume);
    assert!(rig.core.object(volume).is_none());
}

#[test]
fn only_volumes_are_replicas_and_new_ones_in_the_same_commit() {
    let (mut rig, volume, _) = with_volumes();
    let snapshot = rig.clone_of(volume, ObjectKind::Snapshot).unwrap();
    assert_eq!(rig.change(set(snapshot, true)), Err(PoolError::NoVolume(snapshot).into()));
    let id = rig.core.new_object_id();
    assert_eq!(rig.change(set(id, true)), Err(PoolError::NoSuchObject(id).into()));
    let create = CatalogChange::CreateVolume { id, size_bytes: 64 * BLOCK };
    rig.run(Operation::Catalog(vec![create, set(id, true)])).unwrap();
    assert_eq!(rig.write(id, 0, 1, 1), Err(BlockError::ReadOnly.into()));
}

#[test]
fn the_flag_is_in_the_log_and_in_the_object_table_and_marks_the_pool() {
    let (mut rig, volume, other) = with_volumes();
    let marked = |rig: &Rig| rig.core.media().features() & FEATURE_REPLICAS != 0;
    assert!(!marked(&rig));
    rig.change(set(volume, true)).unwrap();
    assert!(marked(&rig));
    for is_stored in [false, true] {
        if is_stored {
            rig.core.checkpoint().unwrap();
        }
        rig.core = rig.reopen();
        assert_eq!([volume, other].map(|id| rig.core.object(id).unwrap().is_replica), [true, false]);
        assert_eq!(rig.write(volume, 0, 1, 1), Err(BlockError::ReadOnly.into()));
        rig.assert_clean();
    }
    rig.change(set(volume, false)).unwrap();
    rig.core.checkpoint().unwrap();
    rig.core = rig.reopen();
    rig.write(volume, 0, 1, 1).unwrap();
}
