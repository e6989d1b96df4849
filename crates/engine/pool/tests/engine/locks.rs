//! Locked snapshots: what the pool refuses whoever asks for it.

use crate::common::{BLOCK, Rig};
use media::{FEATURE_LOCKS, RootStore};
use pool::{CatalogChange, Failure, Hour, ObjectId, ObjectKind, Operation, PoolError};

fn hour(number: u32) -> Hour {
    Hour::new(number).unwrap()
}

fn lock(id: ObjectId, until: u32) -> CatalogChange {
    CatalogChange::Lock { id, until: hour(until) }
}

fn unlock(id: ObjectId, now: u32) -> CatalogChange {
    CatalogChange::Unlock { id, now: hour(now) }
}

fn delete(id: ObjectId) -> CatalogChange {
    CatalogChange::DeleteObject { id }
}

/// The changes of one commit, and the error that refuses them.
fn commit(rig: &mut Rig, changes: &[CatalogChange]) -> Option<PoolError> {
    match rig.run(Operation::Catalog(changes.to_vec())) {
        Ok(_) => None,
        Err(Failure::Pool(error)) => Some(error),
        Err(other) => panic!("{other:?}"),
    }
}

/// Pool with a volume and a snapshot of it.
fn with_snapshot() -> (Rig, ObjectId, ObjectId) {
    let mut rig = Rig::new(16_384);
    let volume = rig.create(64);
    rig.write(volume, 0, 8, 1).unwrap();
    let snapshot = rig.clone_of(volume, ObjectKind::Snapshot).unwrap();
    (rig, volume, snapshot)
}

#[test]
fn a_locked_snapshot_stays_until_its_hour_and_its_lock_never_ends_earlier() {
    let (mut rig, volume, snapshot) = with_snapshot();
    assert_eq!(commit(&mut rig, &[lock(snapshot, 100)]), None);
    let locked = |until| Some(PoolError::Locked { object: snapshot, until: hour(until) });
    let refused = [
        vec![delete(snapshot)],
        vec![CatalogChange::Resize { id: snapshot, size_bytes: 128 * BLOCK }],
        vec![CatalogChange::Rollback { id: snapshot, source: volume }],
        vec![lock(snapshot, 99)],
        vec![unlock(snapshot, 99), delete(snapshot)],
        vec![delete(snapshot), unlock(snapshot, 100)],
        // Nothing of a list takes effect when one of its changes is refused.
        vec![delete(volume), delete(snapshot)],
    ];
    for changes in refused {
        assert_eq!(commit(&mut rig, &changes), locked(100), "{changes:?}");
    }
    assert!(rig.core.object(volume).is_some());
    assert_eq!(commit(&mut rig, &[lock(snapshot, 200), lock(snapshot, 200)]), None);
    assert_eq!(commit(&mut rig, &[unlock(snapshot, 199), delete(snapshot)]), locked(200));
    assert_eq!(commit(&mut rig, &[unlock(snapshot, 200), lock(snapshot, 5), delete(snapshot)]), locked(5));
    assert_eq!(rig.core.object(snapshot).unwrap().locked_until, Some(hour(200)));
    assert_eq!(commit(&mut rig, &[unlock(snapshot, 200), delete(snapshot)]), None);
    assert!(rig.core.object(snapshot).is_none());
}

#[test]
fn only_snapshots_are_locked_and_their_clones_are_not() {
    let (mut rig, volume, snapshot) = with_snapshot();
    assert_eq!(commit(&mut rig, &[lock(volume, 9)]), Some(PoolError::NoSnapshot(volume)));
    let [capture, clone, second, gone] = std::array::from_fn(|_| rig.core.new_object_id());
    let create = CatalogChange::CreateCapture { id: capture, size_bytes: BLOCK };
    assert_eq!(commit(&mut rig, &[create, lock(capture, 9)]), Some(PoolError::NoSnapshot(capture)));
    assert_eq!(commit(&mut rig, &[lock(gone, 9)]), Some(PoolError::NoSuchObject(gone)));
    assert_eq!(commit(&mut rig, &[unlock(gone, 9)]), Some(PoolError::NoSuchObject(gone)));
    // What is not locked can be unlocked.
    assert_eq!(commit(&mut rig, &[unlock(volume, 9)]), None);
    assert_eq!(commit(&mut rig, &[lock(snapshot, 9)]), None);
    let of = |id, kind| CatalogChange::CloneObject { source: snapshot, id, kind };
    let changes = [of(clone, ObjectKind::Volume), of(second, ObjectKind::Snapshot), lock(second, 7)];
    assert_eq!(commit(&mut rig, &changes), None);
    let lock_of = |rig: &Rig, id| rig.core.object(id).unwrap().locked_until;
    assert_eq!([clone, second, snapshot].map(|id| lock_of(&rig, id)), [None, Some(hour(7)), Some(hour(9))]);
    // A volume goes back to its locked snapshot, which stays.
    rig.write(volume, 0, 8, 2).unwrap();
    assert_eq!(commit(&mut rig, &[CatalogChange::Rollback { id: volume, source: snapshot }]), None);
    assert_eq!(lock_of(&rig, snapshot), Some(hour(9)));
    assert_eq!(commit(&mut rig, &[delete(volume), delete(clone)]), None);
}

#[test]
fn a_lock_is_in_the_log_and_in_the_object_table_and_marks_the_pool() {
    let (mut rig, _, snapshot) = with_snapshot();
    let marked = |rig: &Rig| rig.core.media().features() & FEATURE_LOCKS != 0;
    assert!(!marked(&rig));
    assert_eq!(commit(&mut rig, &[lock(snapshot, Hour::MAX.get())]), None);
    assert!(marked(&rig));
    for is_stored in [false, true] {
        if is_stored {
            rig.core.checkpoint().unwrap();
        }
        let mut again = rig.reopen();
        assert_eq!(again.object(snapshot).unwrap().locked_until, Some(Hour::MAX));
        assert_eq!(again.check(false, &mut |_| {}).unwrap().findings, [""; 0]);
        rig.core = again;
        assert!(matches!(commit(&mut rig, &[delete(snapshot)]), Some(PoolError::Locked { .. })));
    }
}

/// A thousand locked snapshots take effect at once, stay over a restart, and go one by one.
#[test]
fn many_locks_have_ends_of_their_own() {
    let (mut rig, volume, _) = with_snapshot();
    let ids: Vec<ObjectId> = (0..1000).map(|_| rig.core.new_object_id()).collect();
    for some in ids.chunks(100) {
        let changes: Vec<CatalogChange> = some
            .iter()
            .flat_map(|id| {
                let clone = CatalogChange::CloneObject { source: volume, id: *id, kind: ObjectKind::Snapshot };
                [clone, lock(*id, id.0 as u32)]
            })
            .collect();
        assert_eq!(commit(&mut rig, &changes), None);
    }
    rig.core.checkpoint().unwrap();
    rig.core = rig.reopen();
    for (place, id) in ids.iter().enumerate() {
        let (early, due) = (unlock(*id, id.0 as u32 - 1), unlock(*id, id.0 as u32));
        assert!(matches!(commit(&mut rig, &[early, delete(*id)]), Some(PoolError::Locked { .. })), "{id}");
        if place % 2 == 0 {
            assert_eq!(commit(&mut rig, &[due, delete(*id)]), None, "{id}");
        }
    }
    rig.core.checkpoint().unwrap();
    rig.core = rig.reopen();
    for (place, id) in ids.iter().enumerate() {
        let lock = rig.core.object(*id).map(|info| info.locked_until.map(Hour::get));
        assert_eq!(lock, (place % 2 == 1).then_some(Some(id.0 as u32)), "{id}");
    }
}
