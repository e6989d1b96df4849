//! Whole logical units as sources of copies.

use super::*;
use crate::{Source, WholeUnit};
use data_mover::{Device, Extent, Patient};

const MIB: u64 = 1 << 20;
/// Sectors of the logical unit that is copied.
const UNIT: u64 = 8 * MIB / 512;

/// Creates a logical unit with 300 KiB of data at 1 MiB + 4 KiB, gaps in it, and 64 KiB at its end.
/// Returns the unit and its content.
fn unit(world: &World, tells: bool) -> (Rc<WholeUnit<MemoryDevice>>, Vec<u8>) {
    let medium = Rc::new(MemoryUnit::default());
    let mut content = vec![0; (UNIT * 512) as usize];
    let pieces = [(MIB + 4096, 100 << 10), (MIB + (120 << 10), 184 << 10), (8 * MIB - 65_536, 65_536_usize)];
    for (offset, bytes) in pieces {
        let data = pattern(offset as u8 | 1, bytes);
        medium.poke(offset / 512, &data);
        content[offset as usize..offset as usize + bytes].copy_from_slice(&data);
    }
    let device = MemoryDevice::new(&medium, 90, 2, UNIT).with(|identity| {
        if !tells {
            identity.limits.unmap = 0;
        }
    });
    let patient = Patient::new(Rc::new(device), world.mover(), Duration::from_secs(60));
    (Rc::new(WholeUnit::new(patient)), content)
}

/// Regression: a whole unit was copied from its first block to its last, and a thin disk got blocks
/// for all of it.
#[test]
fn unmapped_ranges_are_not_copied_and_take_no_blocks() {
    for tells in [true, false] {
        let world = World::new(4000);
        let run = world.clone();
        world.time.run(async move {
            run.format().await;
            let (_, store) = run.mount("one").await;
            let (unit, content) = unit(&run, tells);
            for format in [DiskFormat::Thin, DiskFormat::ZeroedThick, DiskFormat::EagerZeroedThick] {
                let options = DiskOptions { format, size: unit.size() };
                let disk = store.begin_disk("copy", options).await.unwrap();
                let reported = Cell::new(0);
                let progress = |bytes| reported.set(reported.get() + bytes);
                let copied = disk.copy_from(Source::Unit(&unit), 0, unit.size(), &progress).await.unwrap();
                disk.publish().await.unwrap();
                assert_eq!(disk.read(0, 8 * MIB).await.unwrap(), content, "{format:?}");
                assert_eq!(reported.get(), 8 * MIB, "{format:?}");
                let blocks = disk.allocated_bytes().await.unwrap() >> 16;
                match (tells, format) {
                    (false, _) => assert_eq!((copied.host_bytes() + copied.offloaded_bytes, blocks), (8 * MIB, 128)),
                    // The data from 1 MiB to 1 MiB + 304 KiB touches five blocks of 64 KiB, and one
                    // more is at the end; in them the rest is zeroed.
                    (true, DiskFormat::Thin) => {
                        assert!(copied.host_bytes() + copied.offloaded_bytes <= 12 << 16, "{copied}");
                        assert_eq!(blocks, 6);
                    }
                    (true, DiskFormat::ZeroedThick) => {
                        assert!(copied.host_bytes() + copied.offloaded_bytes <= 12 << 16)
                    }
                    (true, _) => assert_eq!(blocks, 128),
                }
                disk.close().await.unwrap();
                store.delete("copy").await.unwrap();
            }
        });
    }
}

/// Answers from before a write must not be used after it.
#[test]
fn data_written_after_the_query_is_copied() {
    let world = World::new(4001);
    let run = world.clone();
    world.time.run(async move {
        run.format().await;
        let (_, store) = run.mount("one").await;
        let (unit, mut content) = unit(&run, true);
        let options = DiskOptions { format: DiskFormat::Thin, size: unit.size() };
        let disk = store.begin_disk("copy", options).await.unwrap();
        disk.copy_from(Source::Unit(&unit), 0, MIB, &|_| ()).await.unwrap();
        unit.written();
        let data = pattern(5, 4096);
        unit.device().write(6 * MIB / 512, data.clone()).await.unwrap();
        unit.written();
        content[6 << 20..(6 << 20) + 4096].copy_from_slice(&data);
        disk.copy_from(Source::Unit(&unit), MIB, 7 * MIB, &|_| ()).await.unwrap();
        assert_eq!(disk.read(0, 8 * MIB).await.unwrap(), content);
        assert_eq!(unit.device().read(Extent { lba: 0, blocks: UNIT }).await.unwrap(), content);
        disk.close().await.unwrap();
    });
}
