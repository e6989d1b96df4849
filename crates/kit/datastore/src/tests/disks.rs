//! Disks of every format, snapshots, clones, and the space they use.

use super::*;

const MIB: u64 = 1 << 20;

/// Worlds without some offloads: reads return the same, only the party that does the work differs.
fn worlds() -> Vec<Rc<World>> {
    let off = Settings::off();
    vec![
        World::new(1),
        World::with(2, off, |_| ()),
        World::with(3, Settings::default(), |limits| *limits = Limits::default()),
        World::with(4, Settings::default(), |limits| limits.copy_segments = 0),
    ]
}

#[test]
fn every_format_reads_what_was_written_and_zeros_elsewhere() {
    for world in worlds() {
        let run = world.clone();
        world.time.run(async move {
            run.format().await;
            let (_, store) = run.mount("one").await;
            for format in [DiskFormat::Thin, DiskFormat::ZeroedThick, DiskFormat::EagerZeroedThick] {
                // Data of older files must not show.
                let old = DiskOptions { format: DiskFormat::Thin, size: 4 * MIB };
                let disk = store.create_open("old", old, &|_| ()).await.unwrap();
                disk.write(0, pattern(9, 4 << 20)).await.unwrap();
                disk.close().await.unwrap();
                store.delete("old").await.unwrap();

                let free = store.free_blocks().await.unwrap();
                let disk = store.create_open("disk", DiskOptions { format, size: 4 * MIB }, &|_| ()).await.unwrap();
                let taken = free - store.free_blocks().await.unwrap();
                assert_eq!(taken, if format == DiskFormat::Thin { 0 } else { 64 });
                assert!(disk.read(0, 4 * MIB).await.unwrap().iter().all(|byte| *byte == 0), "{format:?}");
                let mut expected = vec![0; 4 << 20];
                for (offset, bytes) in [(512, 512), (65_536 - 512, 1024), (3 << 17, 1 << 17), (MIB as usize, 300 * 512)]
                {
                    let data = pattern(offset as u8, bytes);
                    disk.write(offset as u64, data.clone()).await.unwrap();
                    expected[offset..offset + bytes].copy_from_slice(&data);
                }
                assert_eq!(disk.read(0, 4 * MIB).await.unwrap(), expected, "{format:?}");
                disk.grow(5 * MIB, &|_| ()).await.unwrap();
                disk.close().await.unwrap();
                let disk = store.open("disk").await.unwrap();
                expected.resize(5 << 20, 0);
                assert_eq!(disk.read(0, 5 * MIB).await.unwrap(), expected);
                assert!(matches!(disk.write(5 * MIB, pattern(1, 512)).await, Err(DatastoreError::Range { .. })));
                assert!(matches!(disk.read(1, 511).await, Err(DatastoreError::Range { .. })));
                disk.close().await.unwrap();
                store.delete("disk").await.unwrap();
            }
            let report = store.check().await.unwrap();
            assert_eq!((report.problems, report.leftovers, report.blocks), (vec![], vec![], 0));
        });
    }
}

#[test]
fn snapshots_and_linked_clones_keep_their_content() {
    for world in worlds() {
        let run = world.clone();
        world.time.run(async move {
            run.format().await;
            let (_, store) = run.mount("one").await;
            let thin = DiskOptions { format: DiskFormat::Thin, size: 2 * MIB };
            let disk = store.create_open("vm", thin, &|_| ()).await.unwrap();
            let mut expected = pattern(1, 2 << 20).to_vec();
            disk.write(0, expected.clone().into()).await.unwrap();
            // Three snapshots deep, each with changes.
            let mut disk = disk;
            for number in 1..=3_u8 {
                disk = disk.snapshot(&format!("vm-{number}")).await.map_err(|(_, error)| error).unwrap();
                let at = usize::from(number) * 100_352;
                let data = pattern(number, 66_048);
                disk.write(at as u64, data.clone()).await.unwrap();
                expected[at..at + data.len()].copy_from_slice(&data);
                assert_eq!(disk.read(0, 2 * MIB).await.unwrap(), expected);
            }
            assert!(matches!(store.open("vm").await, Err(DatastoreError::HasChildren(_))));
            assert!(matches!(store.delete("vm-1").await, Err(DatastoreError::HasChildren(_))));
            // Clones of the chain are flat, in every format.
            for format in [DiskFormat::Thin, DiskFormat::ZeroedThick, DiskFormat::EagerZeroedThick] {
                let moved = store.clone_disk(&disk, "flat", format, &|_| ()).await.unwrap();
                assert!(moved.offloaded_bytes + moved.host_bytes() >= 2 * MIB, "{moved}");
                let flat = store.open("flat").await.unwrap();
                assert_eq!(flat.read(0, 2 * MIB).await.unwrap(), expected);
                flat.close().await.unwrap();
                store.delete("flat").await.unwrap();
            }
            // A linked clone of the middle disk shows its state then; it keeps the chain from being
            // committed.
            let refused = store.create_linked_clone("vm-3", "linked").await;
            assert!(matches!(refused, Err(DatastoreError::Locked { .. })), "{refused:?}");
            disk.close().await.unwrap();
            store.create_linked_clone("vm-3", "linked").await.unwrap();
            let linked = store.open("linked").await.unwrap();
            linked.write(0, pattern(77, 512)).await.unwrap();
            linked.close().await.unwrap();
            store.create_linked_clone("vm-3", "other").await.unwrap();
            let linked = store.open("linked").await.unwrap();
            let (linked, error) = linked.commit(&|_| ()).await.err().unwrap();
            assert!(matches!(error, DatastoreError::HasChildren(_)), "{error}");
            linked.close().await.unwrap();
            store.delete("other").await.unwrap();
            // All of it is committed down into the base.
            expected[..512].copy_from_slice(&pattern(77, 512));
            let mut disk = store.open("linked").await.unwrap();
            for _ in 0..4 {
                disk = disk.commit(&|_| ()).await.map_err(|(_, error)| error).unwrap();
                assert_eq!(disk.read(0, 2 * MIB).await.unwrap(), expected);
            }
            disk.write(0, pattern(5, 512)).await.unwrap();
            disk.close().await.unwrap();
            let files = store.list().await.unwrap();
            assert_eq!(files.iter().map(|file| file.name.as_str()).collect::<Vec<_>>(), ["vm"]);
            let report = store.check().await.unwrap();
            assert_eq!((report.problems, report.leftovers, report.blocks), (vec![], vec![], 32));
        });
    }
}

#[test]
fn a_disk_beyond_its_direct_pointers_works_too() {
    let world = World::with(5, Settings::default(), |_| ());
    let run = world.clone();
    world.time.run(async move {
        run.format().await;
        let (_, store) = run.mount("one").await;
        // The first 984 blocks of 64 KiB are addressed directly.
        let size = 100_000 * (64 << 10);
        let options = DiskOptions { format: DiskFormat::Thin, size };
        let disk = store.create_open("large", options, &|_| ()).await.unwrap();
        let places = [0, 983 << 16, 984 << 16, (984 + 15_743) << 16, (984 + 15_744) << 16, size - 512];
        for (number, offset) in (0..).zip(places) {
            disk.write(offset, pattern(number, 512)).await.unwrap();
        }
        disk.close().await.unwrap();
        let disk = store.open("large").await.unwrap();
        for (number, offset) in (0..).zip(places) {
            assert_eq!(disk.read(offset, 512).await.unwrap(), pattern(number, 512));
            assert!(disk.read(offset ^ 1024, 512).await.unwrap().iter().all(|byte| *byte == 0));
        }
        disk.close().await.unwrap();
        let report = store.check().await.unwrap();
        assert_eq!((report.problems, report.leftovers), (vec![], vec![]));
        store.delete("large").await.unwrap();
        assert_eq!(store.check().await.unwrap().blocks, 0);
    });
}

#[test]
fn a_full_datastore_refuses_and_continues_when_there_is_space() {
    let world = World::new(6);
    let run = world.clone();
    world.time.run(async move {
        run.format().await;
        let (_, store) = run.mount("one").await;
        let blocks = u64::from(store.geometry().blocks);
        let thick = |blocks| DiskOptions { format: DiskFormat::ZeroedThick, size: blocks << 16 };
        let refused = store.create_disk("large", thick(blocks + 1), &|_| ()).await;
        assert!(matches!(refused, Err(DatastoreError::Full)));
        assert_eq!(store.free_blocks().await.unwrap(), blocks);
        // One block of pointers for every 15 744 blocks beyond the first 984.
        store.create_disk("fill", thick(blocks - 2), &|_| ()).await.unwrap();
        let thin = DiskOptions { format: DiskFormat::Thin, size: MIB };
        let disk = store.create_open("thin", thin, &|_| ()).await.unwrap();
        disk.write(0, pattern(1, 512)).await.unwrap();
        assert!(matches!(disk.write(1 << 16, pattern(1, 512)).await, Err(DatastoreError::Full)));
        store.delete("fill").await.unwrap();
        disk.write(1 << 16, pattern(1, 512)).await.unwrap();
        disk.close().await.unwrap();
        assert!(store.unmap_free().await.unwrap() > 0);
        let report = store.check().await.unwrap();
        assert_eq!((report.problems, report.leftovers, report.blocks), (vec![], vec![], 2));
    });
}

#[test]
fn writes_that_overlap_in_time_all_count() {
    let world = World::new(7);
    let run = world.clone();
    world.time.run(async move {
        run.format().await;
        let (_, store) = run.mount("one").await;
        let thin = DiskOptions { format: DiskFormat::Thin, size: MIB };
        let disk = store.create_open("disk", thin, &|_| ()).await.unwrap();
        let writes = (0..256_u64).map(|sector| disk.write(sector * 512, pattern(sector as u8, 512)));
        for written in future::join_all(writes).await {
            written.unwrap();
        }
        for sector in 0..256_u64 {
            assert_eq!(disk.read(sector * 512, 512).await.unwrap(), pattern(sector as u8, 512));
        }
        assert_eq!(disk.allocated_bytes().await.unwrap(), 2 << 16);
        disk.close().await.unwrap();
    });
}
