#![expect(clippy::unwrap_used, reason = "tests")]

use crate::core::B;
use crate::space::layout::{Layout, ZONE_BLOCKS};
use crate::{CatalogChange, Core, Failure, Growth, ObjectId, Operation, Options, Output, PoolError, initial_root};
use block::BlockError;
use media::BlockAddress;
use media::{
    BLOCK_BYTES, Fate, Fault, FaultEffect, FaultOperation, FormatOptions, LocalMedia, Media, SimDisk, SimOptions,
};

type Engine = Core<LocalMedia<SimDisk>>;
/// The data area begins at block 2048: log of 256 KiB.
const LOG_BYTES: u64 = 256 << 10;

fn options() -> Options {
    Options { memory_bytes: 8 << 20, incarnation: 1, ..Options::default() }
}

fn made(sim: SimOptions) -> (SimDisk, Engine) {
    let disk = SimDisk::new(sim);
    let uuid = [7; 16];
    let format = FormatOptions { uuid, log_bytes: LOG_BYTES, root: initial_root(uuid), overwrite: false };
    let media = LocalMedia::format(disk.clone(), format).unwrap();
    (disk, Core::open(media, options(), &mut |_| {}).unwrap().0)
}

fn opened(disk: SimDisk) -> Engine {
    Core::open(LocalMedia::open(disk).unwrap(), options(), &mut |_| {}).unwrap().0
}

fn quiet(blocks: u64) -> SimOptions {
    SimOptions::immediate(1, blocks)
}

fn run(core: &mut Engine, operation: Operation) -> Result<Output, Failure> {
    let id = core.submit(operation);
    loop {
        core.pump(8);
        if let Some(result) = core.take_finished(id) {
            return result;
        }
        core.medium.media_mut().wait();
    }
}

fn volume(core: &mut Engine) -> ObjectId {
    let id = core.new_object_id();
    run(core, Operation::Catalog(vec![CatalogChange::CreateVolume { id, size_bytes: 1 << 44 }])).unwrap();
    id
}

fn write(core: &mut Engine, object: ObjectId, block: u64, count: u64) -> Result<(), Failure> {
    let data: Vec<u8> =
        (block..block + count).flat_map(|b| std::iter::repeat_n((b + 1).to_le_bytes(), 512).flatten()).collect();
    run(core, Operation::Write { object, offset: block * B, data: data.into(), forced: true }).map(|_| ())
}

fn holds(core: &mut Engine, object: ObjectId, blocks: std::ops::Range<u64>) {
    for block in blocks {
        match run(core, Operation::Read { object, offset: block * B, length: BLOCK_BYTES }) {
            Ok(Output::Data(data)) => assert_eq!(data[8..16], (block + 1).to_le_bytes(), "block {block}"),
            other => panic!("{other:?}"),
        }
    }
}

/// Writes until the pool is full; returns the first block that no longer fits.
fn fill(core: &mut Engine, object: ObjectId, from: u64) -> u64 {
    let mut block = from;
    for step in [256, 16, 1] {
        loop {
            match write(core, object, block, step) {
                Ok(()) => block += step,
                Err(Failure::Block(BlockError::PoolFull)) => break,
                other => panic!("{other:?}"),
            }
        }
    }
    block
}

fn clean(core: &mut Engine) {
    let report = core.check(true, &mut |_| {}).unwrap();
    assert!(report.is_clean(), "{:?}", report.findings);
}

/// Asserts that the counts of the space map add up.
fn exact(core: &Engine) {
    let space = core.map.space();
    assert_eq!(space.usable(), space.layout().usable_blocks());
    assert_eq!(space.available() + space.allocated() + space.pinned(), space.usable());
}

#[test]
fn a_full_pool_grows_and_writing_goes_on() {
    // Old ends in the middle of a segment, at its border, and next to it.
    for old in [2048 * 3 + 1000, 2048 * 4 + 1, 2048 * 4, 2048 * 4 + 2] {
        let (disk, mut core) = made(quiet(old));
        let object = volume(&mut core);
        let full = fill(&mut core, object, 0);
        assert!(full > 1000);
        core.grow(Growth::Size((old + 777) * B)).unwrap();
        exact(&core);
        assert_eq!(core.space().size_bytes, (old + 777) * B);
        let more = fill(&mut core, object, full);
        assert!(more - full > 600 && more - full <= 777, "{full} {more}");
        core.grow(Growth::Size((old + 3 * 2048) * B)).unwrap();
        let most = fill(&mut core, object, more);
        assert!(most - more > 5000, "{more} {most}");
        clean(&mut core);
        drop(core);
        let mut core = opened(disk);
        clean(&mut core);
        holds(&mut core, object, 0..most);
        core.checkpoint().unwrap();
        exact(&core);
        assert_eq!(core.space().size_bytes, (old + 3 * 2048) * B);
    }
}

#[test]
fn a_pool_grows_over_the_borders_of_zones_and_groups() {
    let group = ZONE_BLOCKS * 512;
    for (old, new) in [
        (2048 + ZONE_BLOCKS - 100, 2048 + ZONE_BLOCKS + 5000),
        // Old end inside the metadata segment of a zone.
        (2048 + ZONE_BLOCKS + 100, 2048 + 2 * ZONE_BLOCKS + 50),
        (2048 + group - 2048 * 3 + 500, 2048 + group + ZONE_BLOCKS + 3000),
        (2048 + group + 300, 2048 + 3 * group + 12_345),
    ] {
        let (disk, mut core) = made(quiet(old));
        let object = volume(&mut core);
        write(&mut core, object, 0, 100).unwrap();
        core.grow(Growth::Size(new * B)).unwrap();
        exact(&core);
        let layout = Layout { start: BlockAddress::new(2048), end: BlockAddress::new(new - 1) };
        assert_eq!(core.map.space().layout(), layout);
        assert_eq!(core.map.space().groups().len(), layout.groups() as usize);
        // Allocates at the far end: the cursor of the space map gets there on its own only when the
        // rest is full.
        core.map.space_mut().start_at(layout.segments() - 2);
        write(&mut core, object, 100, 100).unwrap();
        core.checkpoint().unwrap();
        clean(&mut core);
        drop(core);
        let mut core = opened(disk);
        assert_eq!(core.map.space().layout(), layout);
        exact(&core);
        clean(&mut core);
        holds(&mut core, object, 0..200);
        write(&mut core, object, 200, 100).unwrap();
        core.checkpoint().unwrap();
        clean(&mut core);
    }
}

#[test]
fn an_impossible_growth_is_refused_and_changes_nothing() {
    let (_, mut core) = made(quiet(2048 * 4));
    let object = volume(&mut core);
    let before = (core.space(), core.counters().checkpoints);
    for (growth, words) in [
        (Growth::Size(2048 * 4 * B), "32 MiB is not larger"),
        (Growth::Size(4096), "is not larger"),
        (Growth::Size(u64::MAX), "a pool has at most 512 TiB"),
        (Growth::Device("/dev/null".into()), "cannot grow like that"),
    ] {
        match core.grow(growth) {
            Err(PoolError::CannotGrow(reason)) => assert!(reason.contains(words), "{reason}"),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((core.space(), core.counters().checkpoints), before);
    write(&mut core, object, 0, 10).unwrap();
    // Only one growth at a time.
    let sizes = [5u64, 6].map(|n| core.submit(Operation::Grow(Growth::Size(2048 * n * B))));
    let results = sizes.map(|id| {
        loop {
            core.pump(0);
            if let Some(result) = core.take_finished(id) {
                break result;
            }
        }
    });
    assert!(results[0].is_ok() && format!("{:?}", results[1]).contains("growing already"), "{results:?}");
}

/// After every completion inside the growth of a busy pool: a crash with the pending writes lost,
/// applied or mixed leaves the old or the new size, and all acknowledged data.
#[test]
fn a_crash_anywhere_inside_a_growth_leaves_the_old_or_the_new_size() {
    let (old, new) = (2048 * 3 + 1000, 2048 * 6 + 77);
    let mut sizes = std::collections::BTreeSet::new();
    let mut step = 0;
    loop {
        let stepped = SimOptions { delay: 256, reorder: false, ..SimOptions::new(step, old) };
        let (disk, mut core) = made(stepped);
        let object = volume(&mut core);
        write(&mut core, object, 0, 60).unwrap();
        let growth = core.submit(Operation::Grow(Growth::Size(new * B)));
        let mut acknowledged = 60u64;
        let mut pending = None;
        let mut finished = false;
        for _ in 0..step {
            core.pump(1);
            finished |= core.take_finished(growth).is_some();
            if let Some(id) = pending
                && core.take_finished(id).is_some()
            {
                acknowledged += 1;
                pending = None;
            }
            pending.get_or_insert_with(|| {
                let data = (acknowledged + 1).to_le_bytes().repeat(512);
                core.submit(Operation::Write { object, offset: acknowledged * B, data: data.into(), forced: true })
            });
            core.medium.media_mut().wait();
        }
        for choice in 0..4 {
            let mut count = 0u64;
            let crashed = disk.crashed_copy(|_| {
                count += 1;
                match choice {
                    0 => Fate::Lost,
                    1 => Fate::Applied,
                    odd if count % 2 == odd - 2 => Fate::Applied,
                    _ => Fate::Lost,
                }
            });
            let mut core = opened(crashed);
            let size = core.space().size_bytes / B;
            assert!(size == old || size == new, "{size}");
            assert!(size == new || !finished);
            sizes.insert(size);
            clean(&mut core);
            holds(&mut core, object, 0..acknowledged);
            if size == old {
                core.grow(Growth::Size(new * B)).unwrap();
            }
            write(&mut core, object, 1000, 300).unwrap();
            core.checkpoint().unwrap();
            exact(&core);
            clean(&mut core);
        }
        if finished {
            break;
        }
        step += 1;
    }
    assert!(step > 10 && sizes.len() == 2, "{step} {sizes:?}");
}

/// Growing flushes the file. Where that flush fails, the disk may have dropped data that a large write
/// has placed, and the write's own flush succeeds all the same.
#[test]
fn a_growth_whose_flush_fails_loses_no_write_that_is_acknowledged_later() {
    // Where blocks may have no place below, the data of a large write is flushed before its record.
    let options = SimOptions { delay: 256, reorder: false, known_room: 0, ..SimOptions::new(1, 2048 * 4) };
    let (disk, mut core) = made(options);
    let object = volume(&mut core);
    let data: Vec<u8> = (0..16u64).flat_map(|b| (b + 1).to_le_bytes().repeat(512)).collect();
    let writing = core.submit(Operation::Write { object, offset: 0, data: data.into(), forced: true });
    core.pump(0);
    core.medium.media_mut().wait(); // its data is in the disk's cache
    disk.plant(Fault::once(FaultOperation::Flush, FaultEffect::Error));
    core.grow(Growth::Size(2048 * 5 * B)).unwrap_err();
    assert!(core.stopped().is_some_and(|reason| reason.contains("the flush of a growth failed")));
    assert!(core.take_finished(writing).is_some_and(|written| written.is_err()));
    opened(disk.crashed_copy(|_| Fate::Lost));
}

/// The new last block of a sparse file gets superblock copy 3, and the file system has no room for it.
#[test]
fn a_growth_without_room_for_its_last_block_is_refused_and_changes_nothing() {
    let (disk, mut core) = made(quiet(2048 * 4));
    let object = volume(&mut core);
    write(&mut core, object, 0, 10).unwrap();
    core.checkpoint().unwrap();
    let last = 2048 * 5 - 1;
    disk.plant(Fault::sticky(FaultOperation::Write, FaultEffect::NoSpace).on_blocks(last..last + 1));
    match core.grow(Growth::Size(2048 * 5 * B)) {
        Err(PoolError::CannotGrow(reason)) => assert!(reason.contains("allocating its new last block"), "{reason}"),
        other => panic!("{other:?}"),
    }
    core.checkpoint().unwrap();
    let mut again = opened(disk.clone());
    write(&mut again, object, 0, 10).unwrap();
    again.checkpoint().unwrap();
    assert_eq!((core.stopped(), again.stopped()), (None, None));
}

/// A pool whose growth left a hole at the place of superblock copy 3 starts and serves, and continues
/// when there is room.
#[test]
fn a_root_without_room_for_one_of_its_copies_waits_for_it() {
    let (disk, mut core) = made(quiet(2048 * 4));
    let object = volume(&mut core);
    write(&mut core, object, 0, 10).unwrap();
    core.grow(Growth::Size(2048 * 5 * B)).unwrap();
    let last = 2048 * 5 - 1;
    disk.plant(Fault::sticky(FaultOperation::Write, FaultEffect::NoSpace).on_blocks(last..last + 1));
    write(&mut core, object, 0, 10).unwrap();
    assert_eq!(core.checkpoint(), Err(PoolError::PoolFull));
    assert!(core.has_parked_writes() && core.stopped().is_none());
    holds(&mut core, object, 0..10);
    drop(core);
    // The block becomes a hole, as an earlier release left it.
    disk.damage(last, |bytes| bytes.fill(0));
    for _ in 0..2 {
        let mut again = opened(disk.clone());
        holds(&mut again, object, 0..10);
        assert_eq!(again.checkpoint(), Err(PoolError::PoolFull));
        assert_eq!(again.stopped(), None);
    }
    let mut again = opened(disk.clone());
    assert_eq!(again.checkpoint(), Err(PoolError::PoolFull));
    disk.clear_faults();
    // The waiting write is tried again every few pumps.
    assert!((0..20).any(|_| again.checkpoint().is_ok()));
    assert!(!again.has_parked_writes());
    let mut again = opened(disk.crashed_copy(|_| Fate::Lost));
    holds(&mut again, object, 0..10);
    assert!(again.media().damaged_copies().is_empty());
}
