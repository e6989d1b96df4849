//! Copies that a host made share their blocks with the original again.
use crate::common::{BLOCK, Rig, options};
use block::BlockError;
use bytes::Bytes;
use pool::{
    CatalogChange, Failure, Incident, ObjectId, ObjectKind, Operation, Options, Output, Place, PoolError, Reshare,
    ReshareStep,
};
use random::Random;

/// What is shared with what.
fn of(object: ObjectId, with: ObjectId) -> Reshare {
    Reshare { object, with, offset: 0, shift_bytes: 0, compare_only: false }
}

fn step(rig: &mut Rig, reshare: Reshare) -> Result<ReshareStep, Failure> {
    match rig.run(Operation::Reshare(reshare))? {
        Output::Reshared(step) => Ok(*step),
        other => panic!("{other:?}"),
    }
}

/// Goes through the whole volume; returns the sum of all steps.
fn reshare(rig: &mut Rig, mut reshare: Reshare) -> Result<ReshareStep, Failure> {
    let mut sum = ReshareStep::default();
    for _ in 0..10_000 {
        let step = step(rig, reshare)?;
        sum.scanned_bytes += step.scanned_bytes;
        sum.compared_bytes += step.compared_bytes;
        sum.shared_bytes += step.shared_bytes;
        sum.freed_bytes += step.freed_bytes;
        sum.already_bytes += step.already_bytes;
        sum.different_bytes += step.different_bytes;
        sum.unreadable_bytes += step.unreadable_bytes;
        sum.damaged.extend(step.damaged);
        match step.next {
            Some(next) => {
                assert!(next > reshare.offset);
                reshare.offset = next;
            }
            None => return Ok(sum),
        }
    }
    panic!("re-sharing never ends");
}

/// Content of blocks that are all different.
fn content(seed: u64, blocks: u64) -> Bytes {
    let random = Random::new(seed);
    (0..blocks * BLOCK / 8).flat_map(|_| random.below(u64::MAX).to_le_bytes()).collect()
}

fn put(rig: &mut Rig, object: ObjectId, block: u64, data: &Bytes) {
    rig.run(Operation::Write { object, offset: block * BLOCK, data: data.clone(), forced: false }).unwrap();
}

fn space(rig: &mut Rig) -> (u64, u64) {
    rig.settle();
    let space = rig.core.space();
    (rig.data_blocks(), space.metadata_bytes / BLOCK)
}

#[test]
fn a_copy_that_a_host_made_is_given_back_as_a_whole() {
    let rig = Rig::new(2048 * 8);
    let mut rig = Rig::on(rig.disk, Options { memory_bytes: 256 << 20, ..options(2) }).unwrap();
    let (original, copy) = (rig.create(1500), rig.create(1500));
    let data = content(1, 1200);
    put(&mut rig, original, 100, &data);
    let alone = space(&mut rig);
    put(&mut rig, copy, 100, &data);
    let before = space(&mut rig);
    assert_eq!(before.0, 2400);

    let tried = reshare(&mut rig, Reshare { compare_only: true, ..of(copy, original) }).unwrap();
    assert_eq!(space(&mut rig), before);
    let done = reshare(&mut rig, of(copy, original)).unwrap();
    assert_eq!(tried, done);
    let all = 1200 * BLOCK;
    assert_eq!((done.scanned_bytes, done.compared_bytes, done.shared_bytes, done.freed_bytes), (all, all, all, all));
    let after = space(&mut rig);
    assert_eq!(after.0, 1200);
    // Whole leaves are shared as well: of the copy, its root page is left, and the leaf at its end.
    assert!(after.1 <= alone.1 + 2, "{alone:?} {before:?} {after:?}");
    rig.assert_clean();

    let again = reshare(&mut rig, of(copy, original)).unwrap();
    assert_eq!((again.already_bytes, again.compared_bytes, again.shared_bytes), (all, 0, 0));
    let mut rig = rig.crash();
    assert_eq!(rig.read(copy, 100, 1200).unwrap(), data);
    // Each is on its own when it is written to.
    rig.write(copy, 500, 3, 7).unwrap();
    rig.write(original, 600, 3, 8).unwrap();
    assert_eq!(rig.read(copy, 499, 1).unwrap(), data.slice((399 * BLOCK) as usize..(400 * BLOCK) as usize));
    assert_eq!(rig.read(original, 500, 200).unwrap()[..4096], data[400 * 4096..401 * 4096]);
    assert_eq!((rig.read(copy, 500, 1).unwrap()[0], rig.read(original, 600, 1).unwrap()[0]), (7, 8));
    assert_eq!(space(&mut rig).0, 1206);
    rig.assert_clean();
}

/// Content that only the log holds, on both sides, is shared and survives a crash at once.
#[test]
fn content_in_the_log_alone_is_shared() {
    let mut rig = Rig::new(2048 * 6);
    let (original, copy) = (rig.create(300), rig.create(300));
    let data = content(2, 5);
    for object in [original, copy] {
        put(&mut rig, object, 7, &data);
    }
    let done = reshare(&mut rig, of(copy, original)).unwrap();
    assert_eq!((done.shared_bytes, done.freed_bytes), (5 * BLOCK, 5 * BLOCK));
    rig.run(Operation::Flush).unwrap();
    rig.write(original, 8, 1, 9).unwrap();
    let mut rig = rig.crash();
    assert_eq!(rig.read(copy, 7, 5).unwrap(), data);
    assert_eq!(rig.read(original, 8, 1).unwrap()[0], 9);
    assert_eq!(space(&mut rig).0, 6);
    rig.assert_clean();
}

/// Two blocks with the same CRC-32C: they differ by a multiple of its polynomial, which is 33 bits long.
#[test]
fn equal_checksums_are_no_equal_content() {
    let mut rig = Rig::new(2048 * 6);
    let (original, other) = (rig.create(300), rig.create(300));
    let data = content(3, 3);
    let mut changed = data.to_vec();
    let polynomial = 1 | (u64::from(0x82f6_3b78_u32) << 1);
    let word = u64::from_le_bytes(changed[4096 + 800..4096 + 808].try_into().unwrap()) ^ polynomial;
    changed[4096 + 800..4096 + 808].copy_from_slice(&word.to_le_bytes());
    let changed = Bytes::from(changed);
    put(&mut rig, original, 0, &data);
    put(&mut rig, other, 0, &changed);
    rig.settle();
    let done = reshare(&mut rig, of(other, original)).unwrap();
    let bytes = (done.compared_bytes, done.shared_bytes, done.different_bytes);
    assert_eq!(bytes, (3 * BLOCK, 2 * BLOCK, BLOCK), "the two blocks have different checksums, or were not compared");
    assert_eq!(rig.read(other, 0, 3).unwrap(), changed);
    assert_eq!(rig.read(original, 0, 3).unwrap(), data);
    rig.assert_clean();
}

/// A host writes after the step has begun to read.
#[test]
fn what_a_host_writes_meanwhile_stays() {
    let mut rig = Rig::new(2048 * 6);
    let (original, copy) = (rig.create(300), rig.create(300));
    let data = content(4, 40);
    put(&mut rig, original, 0, &data);
    put(&mut rig, copy, 0, &data);
    rig.settle();
    for (object, block) in [(copy, 11), (original, 12)] {
        rig.core = rig.reopen();
        let id = rig.core.submit(Operation::Reshare(of(copy, original)));
        assert!(rig.take(id).is_none(), "the step had everything in memory");
        rig.write(object, block, 1, 77).unwrap();
        while rig.take(id).is_none() {
            rig.core.pump(1);
        }
    }
    assert_eq!((rig.read(copy, 11, 1).unwrap()[0], rig.read(original, 12, 1).unwrap()[0]), (77, 77));
    let mut expected = data.to_vec();
    expected[11 * 4096..12 * 4096].fill(77);
    assert_eq!(rig.read(copy, 0, 40).unwrap(), expected);
    assert_eq!(rig.read(original, 11, 1).unwrap(), data.slice(11 * 4096..12 * 4096));
    rig.assert_clean();
}

#[test]
fn a_shift_finds_copies_elsewhere_and_in_the_same_volume() {
    let mut rig = Rig::new(2048 * 8);
    let (original, copy) = (rig.create(3000), rig.create(3000));
    let data = content(5, 600);
    put(&mut rig, original, 300, &data);
    put(&mut rig, copy, 1137, &data);
    let shift_bytes = (300 - 1137) * BLOCK.cast_signed();
    let none = reshare(&mut rig, of(copy, original)).unwrap();
    assert_eq!((none.scanned_bytes, none.shared_bytes), (600 * BLOCK, 0));
    let done = reshare(&mut rig, Reshare { shift_bytes, ..of(copy, original) }).unwrap();
    assert_eq!((done.shared_bytes, done.freed_bytes), (600 * BLOCK, 600 * BLOCK));
    // Once more in the copy's own volume, before and behind it.
    put(&mut rig, copy, 300, &data);
    put(&mut rig, copy, 2200, &data);
    for to in [300, 2200_i64] {
        let shift_bytes = (1137 - to) * BLOCK.cast_signed();
        let done = reshare(&mut rig, Reshare { shift_bytes, ..of(copy, copy) }).unwrap();
        assert_eq!((done.shared_bytes, done.freed_bytes), (600 * BLOCK, 600 * BLOCK));
    }
    assert_eq!(space(&mut rig).0, 600);
    for (object, block) in [(original, 300), (copy, 300), (copy, 1137), (copy, 2200)] {
        assert_eq!(rig.read(object, block, 600).unwrap(), data);
    }
    rig.assert_clean();
}

/// A run of equal blocks is its own copy at any shift, in both directions.
#[test]
fn a_copy_that_overlaps_its_original_stays_intact() {
    for shift in [-1, 1, -3, 3, 255, -256] {
        let mut rig = Rig::new(2048 * 6);
        let volume = rig.create(1000);
        for block in 0..700 {
            rig.write(volume, block, 1, 1 + (block / 350) as u8).unwrap();
        }
        let before = rig.read(volume, 0, 1000).unwrap();
        let mut freed = 0;
        for _ in 0..3 {
            let shift_bytes = shift * BLOCK.cast_signed();
            freed += reshare(&mut rig, Reshare { shift_bytes, ..of(volume, volume) }).unwrap().freed_bytes / BLOCK;
        }
        assert_eq!(space(&mut rig).0, 700 - freed, "shift {shift}");
        assert!(freed > 0);
        assert_eq!(rig.read(volume, 0, 1000).unwrap(), before);
        rig.assert_clean();
    }
}

#[test]
fn snapshots_may_be_shared_from_and_stay_as_they_are() {
    let mut rig = Rig::new(2048 * 8);
    let (original, copy) = (rig.create(600), rig.create(600));
    let data = content(6, 500);
    put(&mut rig, original, 0, &data);
    put(&mut rig, copy, 0, &data);
    let source = rig.clone_of(original, ObjectKind::Snapshot).unwrap();
    let kept = rig.clone_of(copy, ObjectKind::Snapshot).unwrap();
    rig.delete(original);
    let refused = step(&mut rig, of(kept, source));
    assert_eq!(refused, Err(Failure::Block(BlockError::ReadOnly)));
    let done = reshare(&mut rig, of(copy, source)).unwrap();
    // The snapshot of the copy keeps the blocks of the copy.
    assert_eq!((done.shared_bytes, done.freed_bytes), (500 * BLOCK, 0));
    assert_eq!(space(&mut rig).0, 1000);
    rig.delete(kept);
    assert_eq!(space(&mut rig).0, 500);
    assert_eq!(rig.read(copy, 0, 500).unwrap(), data);
    assert_eq!(rig.read(source, 0, 500).unwrap(), data);
    rig.assert_clean();
}

#[test]
fn what_cannot_be_shared_is_refused() {
    let mut rig = Rig::new(2048 * 6);
    let volume = rig.create(300);
    let gone = ObjectId(9999);
    assert_eq!(step(&mut rig, of(volume, gone)), Err(Failure::Block(BlockError::Gone)));
    assert_eq!(step(&mut rig, of(gone, volume)), Err(Failure::Block(BlockError::Gone)));
    assert_eq!(step(&mut rig, of(volume, volume)), Ok(ReshareStep::default()));
    let files = rig.core.new_object_id();
    rig.change(CatalogChange::CreateVolume { id: files, size_bytes: pool::ADDRESS_SPACE_BYTES }).unwrap();
    for (object, with) in [(volume, files), (files, volume), (files, files)] {
        let shift = Reshare { shift_bytes: 4096, ..of(object, with) };
        assert_eq!(step(&mut rig, shift), Err(Failure::Block(BlockError::ReadOnly)));
    }
    // Places of the other object that do not exist have nothing to share.
    rig.write(volume, 0, 300, 1).unwrap();
    let other = rig.create(2);
    rig.write(other, 0, 2, 1).unwrap();
    for (shift, shared) in [(i64::MIN, 0), (-4096 * 298, 2), (-4096 * 299, 1), (4096, 1), (8192, 0), (i64::MAX, 0)] {
        let shift_bytes = shift / 4096 * 4096;
        let tried = Reshare { shift_bytes, compare_only: true, ..of(volume, other) };
        assert_eq!(reshare(&mut rig, tried).unwrap().shared_bytes, shared * BLOCK, "shift {shift}");
    }
}

/// Blocks that become shared raise the promises of reserved volumes; where that is not possible, nothing changes.
#[test]
fn promises_to_reserved_volumes_are_kept() {
    let mut rig = Rig::with_log(2048 * 4, 16 << 20);
    let (original, copy) = (rig.create(1000), rig.create(1000));
    let data = content(7, 1000);
    for object in [original, copy] {
        put(&mut rig, object, 0, &data);
        rig.reserve(object, 100).unwrap();
        rig.run(Operation::Recount { object }).unwrap();
    }
    let promised = |rig: &Rig| [original, copy].map(|object| rig.core.object(object).unwrap().promised_bytes / BLOCK);
    let before = promised(&rig);
    assert!(before.iter().all(|blocks| *blocks < 100), "{before:?}");
    let shared = step(&mut rig, of(copy, original)).unwrap().shared_bytes / BLOCK;
    let after = promised(&rig);
    assert!(shared > 0 && before.iter().zip(after).all(|(before, after)| after >= before + shared), "{after:?}");
    // A thin volume takes what is left: no more can be promised.
    let thin = rig.create(20_000);
    let mut at = 0;
    while rig.write(thin, at, 1, 3).is_ok() {
        at += 1;
    }
    let in_full_pool = promised(&rig);
    let refused = reshare(&mut rig, of(copy, original));
    assert_eq!(promised(&rig), in_full_pool, "what locks and small overwrites need is not promised");
    assert!(
        matches!(refused, Err(Failure::Pool(PoolError::NoRoomForReservation { needed_bytes, .. })) if needed_bytes > 0),
        "{refused:?}"
    );
    assert_eq!(rig.core.overdrawn_blocks(), 0);
    // The promises hold in the full pool.
    rig.write(copy, 0, 1000, 5).unwrap();
    rig.write(original, 0, 1000, 6).unwrap();
    rig.assert_clean();
}

/// The space comes back in a pool that is full.
#[test]
fn a_full_pool_gets_space_back() {
    let mut rig = Rig::new(2048 * 4);
    let (original, copy) = (rig.create(1500), rig.create(1500));
    let data = content(8, 1000);
    put(&mut rig, original, 200, &data);
    put(&mut rig, copy, 200, &data);
    let thin = rig.create(20_000);
    let mut at = 0;
    while rig.write(thin, at, 1, 3).is_ok() {
        at += 1;
    }
    let done = reshare(&mut rig, of(copy, original)).unwrap();
    assert_eq!(done.freed_bytes, 1000 * BLOCK);
    rig.settle();
    rig.write(thin, at, 500, 3).unwrap();
    rig.assert_clean();
}

#[test]
fn blocks_that_cannot_be_read_are_counted_and_left() {
    let mut rig = Rig::new(2048 * 6);
    let (original, copy) = (rig.create(800), rig.create(800));
    let data = content(9, 700);
    put(&mut rig, original, 0, &data);
    put(&mut rig, copy, 0, &data);
    rig.settle();
    let stored = |rig: &Rig, block: usize| -> Vec<u64> {
        let wanted = &data[block * 4096..(block + 1) * 4096];
        (0..rig.disk_blocks()).filter(|at| rig.disk.peek(*at).0[..] == *wanted).collect()
    };
    let (one, two) = (stored(&rig, 33), stored(&rig, 400));
    assert_eq!((one.len(), two.len()), (2, 2));
    rig.disk.rot(one[0], 3);
    rig.disk.rot(two[1], 3);
    rig.core = rig.reopen();
    let done = reshare(&mut rig, of(copy, original)).unwrap();
    assert_eq!((done.unreadable_bytes, done.shared_bytes), (2 * BLOCK, 698 * BLOCK));
    let bad: Vec<_> = rig.core.take_incidents();
    let at = |block: u64| {
        let is_at = |place: &Place| place.offset_bytes == block * BLOCK;
        bad.iter().any(|incident| matches!(incident, Incident::BadBlock(place) if is_at(place)))
    };
    assert!(at(33) && at(400) && bad.len() == 2, "{bad:?}");
    assert_eq!(rig.read(copy, 34, 300).unwrap()[..], data[34 * 4096..334 * 4096]);
    // One of the two copies of each block still reads.
    for block in [33, 400] {
        let reads = [original, copy].map(|object| rig.read(object, block, 1).is_ok());
        assert_eq!(reads.iter().filter(|read| **read).count(), 1);
    }
}

/// A map page of either side that cannot be read hides the blocks below it, and no others.
#[test]
fn unreadable_map_pages_are_skipped() {
    for side in [0, 1] {
        let mut rig = Rig::new(2048 * 6);
        let (original, copy) = (rig.create(800), rig.create(800));
        let data = content(10, 700);
        put(&mut rig, original, 0, &data);
        put(&mut rig, copy, 0, &data);
        rig.settle();
        // Leaves have level 0 in byte 8; the hint of the object follows further on.
        let object = [original, copy][side];
        let leaf = (0..rig.disk_blocks()).rev().find(|at| {
            let page = rig.disk.peek(*at);
            page.0.starts_with(b"WLpg")
                && page.0[8] == 0
                && page.0[..64].as_chunks::<8>().0.contains(&object.0.to_le_bytes())
        });
        rig.disk.rot(leaf.unwrap(), 5);
        rig.core = rig.reopen();
        let done = reshare(&mut rig, of(copy, original)).unwrap();
        assert_eq!(done.damaged.len(), 1, "side {side}: {done:?}");
        let [shared, unreadable] = [done.shared_bytes, done.unreadable_bytes].map(|bytes| bytes / BLOCK);
        assert!(shared == 700 - 256 || shared == 700 - 188, "{done:?}");
        assert_eq!(unreadable, if side == 0 { 700 - shared } else { 0 });
        assert!(rig.core.stopped().is_none());
    }
}

/// A pool with the least memory compares the same, a few blocks at a time.
#[test]
fn little_memory_suffices() {
    let mut rig = Rig::new(2048 * 6);
    let (original, copy) = (rig.create(800), rig.create(800));
    let data = content(11, 700);
    put(&mut rig, original, 0, &data);
    put(&mut rig, copy, 0, &data);
    rig.settle();
    let mut rig = Rig::on(rig.disk, Options { memory_bytes: 256 << 10, ..options(9) }).unwrap();
    let done = reshare(&mut rig, of(copy, original)).unwrap();
    assert_eq!(done.freed_bytes, 700 * BLOCK);
    assert_eq!(rig.read(copy, 0, 700).unwrap(), data);
    rig.assert_clean();
}
