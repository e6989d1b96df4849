//! Reserved volumes: their writes never fail for lack of space, regardless of other volumes, before
//! and after snapshots and clones.
use crate::common::{BLOCK, Rig};
use block::BlockError;
use pool::{CatalogChange, Failure, ObjectId, ObjectKind, PoolError, Reservation};
use random::Random;

/// Large enough for the largest write, as in real pools.
const LOG_BYTES: u64 = 16 << 20;

fn full(failure: &Failure) -> bool {
    matches!(failure, Failure::Block(BlockError::PoolFull))
}

/// Writes to a thin volume until the pool has no room for it; returns the number of blocks written.
fn fill(rig: &mut Rig, thin: ObjectId, blocks: u64) -> u64 {
    for block in 0..blocks {
        match rig.write(thin, block, 1, 3) {
            Ok(()) => {}
            Err(failure) if full(&failure) => return block,
            Err(failure) => panic!("{failure:?}"),
        }
    }
    panic!("the pool was never full");
}

#[test]
fn a_thick_volume_can_be_written_in_a_full_pool() {
    let mut rig = Rig::with_log(2048 * 5, LOG_BYTES);
    let thick = rig.create(1500);
    rig.reserve(thick, 100).unwrap();
    assert!(rig.core.object(thick).unwrap().promised_bytes >= 1500 * BLOCK);
    let thin = rig.create(20_000);
    let got = fill(&mut rig, thin, 20_000);
    assert!(got > 3000, "{got}");
    // Small, large and mixed writes, new blocks and overwrites, with zeros in between.
    let n = Random::new(1);
    for _ in 0..400 {
        let length = [1, 3, 8, 64, 200][n.below(5) as usize];
        let start = n.below(1500 - length);
        if n.below(8) == 0 {
            rig.zero(thick, start, length).unwrap();
        } else {
            rig.write(thick, start, length, 5).unwrap();
        }
    }
    rig.write(thick, 0, 1500, 6).unwrap();
    assert!(full(&rig.write(thin, got, 1, 4).unwrap_err()));
    // The thin volume can overwrite its own blocks too.
    rig.write(thin, 0, 1, 4).unwrap();
    rig.write(thin, 100, 30, 4).unwrap();
    rig.assert_clean();
    let mut rig = rig.crash();
    rig.write(thick, 7, 90, 7).unwrap();
    rig.assert_clean();
}

#[test]
fn a_snapshot_needs_credit_for_what_will_be_overwritten() {
    let mut rig = Rig::with_log(2048 * 5, LOG_BYTES);
    let thick = rig.create(2500);
    rig.reserve(thick, 100).unwrap();
    rig.write(thick, 0, 2500, 1).unwrap();
    let thin = rig.create(20_000);
    let got = fill(&mut rig, thin, 20_000);
    let refused = rig.clone_of(thick, ObjectKind::Snapshot).unwrap_err();
    let Failure::Pool(PoolError::NoRoomForReservation { needed_bytes, available_bytes }) = refused else {
        panic!("{refused:?}")
    };
    assert!(needed_bytes >= 2500 * BLOCK && available_bytes < 100 * BLOCK, "{needed_bytes} {available_bytes}");
    // Space that another volume frees is sufficient.
    rig.zero(thin, 0, got).unwrap();
    rig.settle();
    let snapshot = rig.clone_of(thick, ObjectKind::Snapshot).unwrap();
    fill(&mut rig, thin, 20_000);
    rig.write(thick, 0, 2500, 2).unwrap();
    assert_eq!(rig.read(snapshot, 2499, 1).unwrap()[0], 1);
    // A second snapshot would need the space again.
    assert!(rig.clone_of(thick, ObjectKind::Volume).is_err());
    // Without the snapshot the credit is not needed: a recount follows its deletion.
    rig.delete(snapshot);
    rig.settle();
    rig.core.pump(0);
    assert!(rig.core.object(thick).unwrap().promised_bytes < 50 * BLOCK);
    rig.assert_clean();
}

#[test]
fn the_overwrite_reserve_is_a_setting() {
    let mut rig = Rig::with_log(2048 * 5, LOG_BYTES);
    let thick = rig.create(2500);
    rig.reserve(thick, 0).unwrap();
    rig.write(thick, 0, 2400, 1).unwrap();
    let before = rig.core.object(thick).unwrap().promised_bytes;
    rig.clone_of(thick, ObjectKind::Snapshot).unwrap();
    // Only the map may have to be stored a second time.
    assert!(rig.core.object(thick).unwrap().promised_bytes <= before + 20 * BLOCK);
    let thin = rig.create(20_000);
    fill(&mut rig, thin, 20_000);
    // New content has its space; a second copy of old content has none.
    rig.write(thick, 2400, 100, 2).unwrap();
    assert!(full(&rig.write(thick, 0, 200, 2).unwrap_err()));
    let half = Reservation { overwrite_percent: 101 };
    let change = CatalogChange::SetReservation { id: thick, reservation: Some(half) };
    assert_eq!(rig.change(change), Err(Failure::Pool(PoolError::BadReservation { percent: 101 })));
}

#[test]
fn a_volume_that_does_not_fit_is_refused() {
    let mut rig = Rig::with_log(2048 * 5, LOG_BYTES);
    let volume = rig.create(20_000);
    assert!(matches!(rig.reserve(volume, 100), Err(Failure::Pool(PoolError::NoRoomForReservation { .. }))));
    assert_eq!(rig.core.space().promised_bytes, 0);
    let small = rig.create(1000);
    rig.reserve(small, 100).unwrap();
    let change = CatalogChange::Resize { id: small, size_bytes: 20_000 * BLOCK };
    assert!(matches!(rig.change(change), Err(Failure::Pool(PoolError::NoRoomForReservation { .. }))));
    assert_eq!(rig.core.object(small).unwrap().size_bytes, 1000 * BLOCK);
}

#[test]
fn a_written_volume_becomes_thick_for_what_it_lacks() {
    let mut rig = Rig::with_log(2048 * 5, LOG_BYTES);
    let volume = rig.create(3000);
    rig.write(volume, 0, 2900, 1).unwrap();
    // If all of it counted as shared, the promise would not fit.
    let thin = rig.create(20_000);
    rig.write(thin, 0, 2900, 1).unwrap();
    assert!(rig.reserve(volume, 100).is_err());
    rig.run(pool::Operation::Recount { object: volume }).unwrap();
    rig.reserve(volume, 100).unwrap();
    assert!(rig.core.object(volume).unwrap().promised_bytes < 150 * BLOCK);
    let rig = rig.crash();
    assert!(rig.core.object(volume).unwrap().promised_bytes < 150 * BLOCK);
}

/// Thick volumes under random use by hosts, with snapshots, clones, copies, deletions and crashes,
/// in a pool that a thin volume keeps full.
fn history(seed: u64) {
    let n = Random::new(seed);
    let mut rig = Rig::with_log(2048 * 6, LOG_BYTES);
    let thick = rig.create(1000);
    rig.reserve(thick, 100).unwrap();
    let thin = rig.create(20_000);
    let mut others: Vec<ObjectId> = Vec::new();
    for step in 0..300 {
        let length = [1, 2, 8, 9, 40, 256][n.below(6) as usize];
        let start = n.below(1000 - length);
        match n.below(20) {
            0..=7 => rig
                .write(thick, start, length, step as u8 | 1)
                .unwrap_or_else(|e| panic!("seed {seed} step {step}: {e:?}")),
            8..=9 => rig.zero(thick, start, length).unwrap_or_else(|e| panic!("seed {seed} step {step}: {e:?}")),
            10..=13 => {
                let _ = rig.write(thin, n.below(15_000), 1 + n.below(300), 9);
            }
            14 => {
                let _ = rig.copy((thick, start), (thin, n.below(15_000)), length);
            }
            15 => {
                let _ = rig.copy((thick, start), (thick, n.below(1000 - length)), length);
            }
            16 if others.len() < 4 => {
                let kind = if n.below(2) == 0 { ObjectKind::Volume } else { ObjectKind::Snapshot };
                others.extend(rig.clone_of(thick, kind));
            }
            17 if !others.is_empty() => {
                let at = n.below(others.len() as u64) as usize;
                rig.delete(others.remove(at));
            }
            18 if !others.is_empty() => {
                let source = others[n.below(others.len() as u64) as usize];
                let _ = rig.change(CatalogChange::Rollback { id: thick, source });
            }
            19 if n.below(4) == 0 => rig = rig.crash(),
            _ => rig.zero(thin, n.below(1000), 1 + n.below(600)).unwrap_or(()),
        }
        let space = rig.core.space();
        assert_eq!(space.size_bytes, space.used_bytes + space.free_bytes);
    }
    for id in others {
        rig.delete(id);
    }
    rig.settle();
    rig.write(thick, 0, 1000, 1).unwrap();
    rig.assert_clean();
}

#[test]
fn promises_are_kept_in_random_histories() {
    for seed in 0..300 {
        history(seed);
    }
}
