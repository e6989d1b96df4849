#![expect(clippy::unwrap_used, reason = "tests")]

use crate::interface::range::BlockNumber;
use crate::{CatalogChange, Core, ObjectId, ObjectKind, Operation, Options, Output, RepairError, initial_root};
use media::{FormatOptions, LocalMedia, Media, Overlay, SimDisk, SimOptions};

type Engine = Core<LocalMedia<SimDisk>>;
const BLOCKS: u64 = 2048 * 6;

fn options() -> Options {
    Options { memory_bytes: 8 << 20, incarnation: 1, ..Options::default() }
}

fn made() -> (SimDisk, Engine) {
    let disk = SimDisk::new(SimOptions::immediate(1, BLOCKS));
    let uuid = [7; 16];
    let format = FormatOptions { uuid, log_bytes: 256 << 10, root: initial_root(uuid), overwrite: false };
    let media = LocalMedia::format(disk.clone(), format).unwrap();
    (disk, Core::open(media, options(), &mut |_| {}).unwrap().0)
}

fn run(core: &mut Engine, operation: Operation) -> Output {
    let id = core.submit(operation);
    loop {
        core.pump(0);
        if let Some(result) = core.take_finished(id) {
            return result.unwrap();
        }
        core.medium.media_mut().wait();
    }
}

fn write(core: &mut Engine, object: ObjectId, block: u64, count: usize, byte: u8) {
    let data = vec![byte; 4096 * count].into();
    run(core, Operation::Write { object, offset: block * 4096, data, forced: true });
}

fn catalog(core: &mut Engine, changes: Vec<CatalogChange>) {
    run(core, Operation::Catalog(changes));
}

/// Creates a pool with shared pages and blocks, entries in the drop queue, and a log.
fn filled() -> (SimDisk, Engine, [ObjectId; 2]) {
    let (disk, mut core) = made();
    let [a, b, snapshot, gone] = [(); 4].map(|()| core.new_object_id());
    for id in [a, b, gone] {
        catalog(&mut core, vec![CatalogChange::CreateVolume { id, size_bytes: 1 << 40 }]);
        write(&mut core, id, 0, 300, 1);
        write(&mut core, id, 70_000, 20, 2);
    }
    catalog(&mut core, vec![CatalogChange::CloneObject { source: a, id: snapshot, kind: ObjectKind::Snapshot }]);
    let share =
        Operation::Clone { source: a, source_offset: 0, destination: b, destination_offset: 1 << 20, length: 1 << 20 };
    run(&mut core, share);
    write(&mut core, a, 5, 10, 3);
    core.checkpoint().unwrap();
    catalog(&mut core, vec![CatalogChange::DeleteObject { id: gone }]);
    core.checkpoint().unwrap();
    (disk, core, [a, b])
}

/// Spoils counts: a leak, a block that would be freed too early, and, if nothing is written
/// afterwards, one that would be used twice.
fn counts_spoiled(core: &mut Engine, free_one: bool) {
    let space = core.map.space_mut();
    let segment = (0..space.layout().segments()).find(|segment| space.in_use(*segment)).unwrap();
    let start = space.layout().segment_start(segment);
    let counts = space.counts(segment).unwrap();
    let of = |wanted: u16| start + counts.iter().position(|count| *count == wanted).unwrap() as u64;
    let (free, one, two) = (start + 2047, of(1), of(2));
    assert_eq!(space.count(free), Some(0));
    space.increment(free);
    space.decrement(two);
    if free_one {
        space.decrement(one);
    }
    let blocks = core.map.metadata_blocks();
    core.map.set_metadata_blocks(blocks + 17);
    core.map.objects_mut().adjust(ObjectId(16), |object| object.mapped += 3).unwrap();
}

#[test]
fn wrong_counts_and_counters_are_rebuilt_before_the_log_is_replayed() {
    for memory_bytes in [1, 1 << 20] {
        let (disk, mut core, [_, b]) = filled();
        assert!(core.check(true, &mut |_| {}).unwrap().is_clean());
        counts_spoiled(&mut core, false);
        core.checkpoint().unwrap();
        let report = core.check(true, &mut |_| {}).unwrap();
        assert!(report.count >= 3, "{:?}", report.findings);
        write(&mut core, b, 1000, 3, 9);
        drop(core);

        // The repair runs in memory first, which leaves the disk unchanged.
        let before = disk.crashed_copy(|_| media::Fate::Applied);
        let overlay = Overlay::new(LocalMedia::open(before).unwrap());
        let (mut rehearsed, _, rehearsal) =
            Core::open_repairing(overlay, options(), memory_bytes, &mut |_| {}).unwrap();
        rehearsed.checkpoint().unwrap();
        assert!(rehearsed.check(true, &mut |_| {}).unwrap().is_clean());

        let media = LocalMedia::open(disk.crashed_copy(|_| media::Fate::Applied)).unwrap();
        let (mut core, opened, repaired) = Core::open_repairing(media, options(), memory_bytes, &mut |_| {}).unwrap();
        assert_eq!(repaired, rehearsal);
        assert_eq!(opened.records, 1);
        let all = repaired.changes.join("\n");
        assert!(all.contains("2 reference counts are wrong"), "{all}");
        assert!(all.contains("the pool's counter said") && all.contains("object 16: "), "{all}");
        core.checkpoint().unwrap();
        let report = core.check(true, &mut |_| {}).unwrap();
        assert!(report.is_clean(), "{:?}", report.findings);
        let media = LocalMedia::open(core.into_media().into_disk()).unwrap();
        let (mut core, ..) = Core::open(media, options(), &mut |_| {}).unwrap();
        assert!(core.check(true, &mut |_| {}).unwrap().is_clean());
        match run(&mut core, Operation::Read { object: b, offset: 1000 * 4096, length: 4096 }) {
            Output::Data(data) => assert!(data.iter().all(|byte| *byte == 9)),
            other => panic!("{other:?}"),
        }
        let media = core.into_media();
        let (_, _, nothing) = Core::open_repairing(media, options(), memory_bytes, &mut |_| {}).unwrap();
        assert_eq!(nothing.count, 0);
    }
}

/// A crash after any completion during a repair leaves a pool that can be repaired.
#[test]
fn a_crash_inside_a_repair_leaves_a_pool_that_can_be_repaired() {
    let (disk, mut core, [_, b]) = filled();
    counts_spoiled(&mut core, false);
    core.checkpoint().unwrap();
    write(&mut core, b, 1000, 3, 9);
    drop(core);
    let mut writes = 0;
    loop {
        // Every write from the n-th on is lost.
        let victim = disk.crashed_copy(|_| media::Fate::Applied);
        victim.plant(media::Fault::sticky(media::FaultOperation::Write, media::FaultEffect::Error).after(writes));
        let media = LocalMedia::open(victim.clone()).unwrap();
        let done = Core::open_repairing(media, options(), 1 << 20, &mut |_| {})
            .is_ok_and(|(mut core, ..)| core.checkpoint().is_ok());
        victim.clear_faults();
        let media = LocalMedia::open(victim.crash()).unwrap();
        let (mut core, ..) = Core::open_repairing(media, options(), 1 << 20, &mut |_| {}).unwrap();
        core.checkpoint().unwrap();
        let report = core.check(true, &mut |_| {}).unwrap();
        assert!(report.is_clean(), "after {writes} writes: {:?}", report.findings);
        if done {
            break;
        }
        writes += 1;
    }
    assert!(writes > 10, "{writes}");
}

/// A block that the counts offered although it was in use, and that was reused: the owner of its
/// content is unknown.
#[test]
fn a_reused_block_that_was_in_use_is_refused() {
    for written in [false, true] {
        let (disk, mut core, [_, b]) = filled();
        counts_spoiled(&mut core, true);
        core.checkpoint().unwrap();
        if written {
            write(&mut core, b, 1000, 3, 9);
        }
        drop(core);
        let opened = Core::open_repairing(LocalMedia::open(disk).unwrap(), options(), 1 << 20, &mut |_| {});
        match opened {
            Ok((mut core, _, report)) => {
                assert!(!written && report.count > 0);
                core.checkpoint().unwrap();
                assert!(core.check(true, &mut |_| {}).unwrap().is_clean());
            }
            Err(error) => assert!(written && error.to_string().contains("contradicts the map"), "{error}"),
        }
    }
}

#[test]
fn a_bad_page_is_reported_for_every_object_that_shares_it() {
    let (disk, core, [a, b]) = filled();
    // The leaf that both volumes and the snapshot share.
    let mut core = core;
    let (pointer, _) = core.map.pointer(b, BlockNumber::new(256), 0).unwrap();
    drop(core);
    disk.damage(pointer.address.get(), |block| block[100] ^= 1);
    let media = LocalMedia::open(disk).unwrap();
    match Core::open_repairing(media, options(), 1 << 20, &mut |_| {}) {
        Err(RepairError::Unprovable { damage, count: 1 }) => {
            let told = damage.join("\n");
            assert!(told.contains(&format!("volume {b}: LBA 2048 to 4095: map page {}", pointer.address)), "{told}");
            assert!(told.contains("snapshot 18: LBA 0 to 2047: "), "{told}");
            assert!(!told.contains(&format!("volume {a}:")), "{told}");
        }
        other => panic!("{:?}", other.map(|(_, _, report)| report)),
    }
}
