//! First writes to blocks: concurrent, sequential, of whole blocks, and cut off.

use super::*;
use crate::VirtualDisk;
use std::collections::BTreeSet;

const MIB: u64 = 1 << 20;
const BLOCK: u64 = 64 << 10;

/// Leaves data of older files: fills a disk, and deletes it by a host that sends no UNMAP.
async fn leave_garbage(world: &World) {
    let device = world.device_with(|limits| limits.unmap = 0);
    let store = Datastore::mount(device, world.mover(), Host { name: "old".into() }).await.unwrap();
    let size = 4 * MIB;
    let options = DiskOptions { format: DiskFormat::Thin, size };
    let disk = store.create_open("old", options, &|_| ()).await.unwrap();
    disk.write(0, Bytes::from(vec![0xee; size as usize])).await.unwrap();
    disk.close().await.unwrap();
    store.delete("old").await.unwrap();
    store.unmount().await.unwrap();
}

async fn thick(store: &Rc<Datastore<MemoryDevice>>, size: u64) -> VirtualDisk<MemoryDevice> {
    let options = DiskOptions { format: DiskFormat::ZeroedThick, size };
    store.create_open("disk", options, &|_| ()).await.unwrap()
}

/// One lock used to be held while any block got its content. With a lock per block, tasks that meet
/// in a block must not zero data that another one has acknowledged; nor may zeroing ahead.
#[test]
fn tasks_that_meet_in_a_block_lose_nothing() {
    for seed in 0..16 {
        let settings = if seed % 3 == 0 { Settings::off() } else { Settings::default() };
        let world = World::with(1000 + seed, settings, |_| ());
        let run = world.clone();
        world.time.run(async move {
            run.format().await;
            leave_garbage(&run).await;
            let (_, store) = run.mount("one").await;
            let disk = thick(&store, 4 * MIB).await;
            // A run of writes that straddle the blocks, as a guest's do, and single sectors at
            // random beside it.
            let forward = async {
                let next = Cell::new(0);
                let one = async || {
                    while next.get() < 48 {
                        let number = next.replace(next.get() + 1);
                        let at = 4096 + number * BLOCK;
                        disk.write(at, pattern(number as u8, BLOCK as usize)).await.unwrap();
                        assert_eq!(disk.read(at, BLOCK).await.unwrap(), pattern(number as u8, BLOCK as usize));
                    }
                };
                future::join4(one(), one(), one(), one()).await;
            };
            let sectors: BTreeSet<u64> = (0..100).map(|_| run.random.below(4096 / 512)).collect();
            let beside = future::join_all((49..64_u64).flat_map(|block| {
                let disk = &disk;
                sectors.iter().map(move |sector| async move {
                    let at = block * BLOCK + sector * 512;
                    disk.write(at, pattern(*sector as u8, 512)).await.unwrap();
                    assert_eq!(disk.read(at, 512).await.unwrap(), pattern(*sector as u8, 512));
                })
            }));
            future::join(forward, beside).await;
            let mut expected = vec![0; 4 << 20];
            for number in 0..48_u64 {
                let at = (4096 + number * BLOCK) as usize;
                expected[at..at + BLOCK as usize].copy_from_slice(&pattern(number as u8, BLOCK as usize));
            }
            for (block, sector) in (49..64).flat_map(|block| sectors.iter().map(move |sector| (block, *sector))) {
                let at = (block * BLOCK + sector * 512) as usize;
                expected[at..at + 512].copy_from_slice(&pattern(sector as u8, 512));
            }
            assert_eq!(disk.read(0, 4 * MIB).await.unwrap(), expected, "seed {seed}");
            disk.close().await.unwrap();
            let report = store.check().await.unwrap();
            assert_eq!((report.problems, report.leftovers), (vec![], vec![]));
        });
    }
}

/// A host that dies between the zeros, the pointers and the data of first writes leaves
/// acknowledged data, and zeros beside it: nothing of an older file.
#[test]
fn a_host_that_dies_in_first_writes_shows_nothing_old() {
    let mut finished = 0;
    for step in (0..90).step_by(2) {
        let world = World::new(2000 + step);
        let run = world.clone();
        finished += u32::from(world.time.run(async move {
            run.format().await;
            leave_garbage(&run).await;
            let (device, one) = run.mount("one").await;
            let disk = thick(&one, 2 * MIB).await;
            device.cut_after(step);
            let acknowledged = RefCell::new(vec![false; 28]);
            let next = Cell::new(0);
            let task = async || {
                while next.get() < 28 {
                    let number = next.replace(next.get() + 1);
                    // Every fifth write is of a whole block.
                    let (at, bytes) =
                        if number % 5 == 4 { (number * BLOCK, BLOCK) } else { (number * BLOCK + 4096, BLOCK) };
                    let bytes = if number % 5 == 3 { bytes - 4096 } else { bytes };
                    if disk.write(at, Bytes::from(vec![number as u8 + 1; bytes as usize])).await.is_ok() {
                        acknowledged.borrow_mut()[number as usize] = true;
                    }
                }
            };
            future::join3(task(), task(), task()).await;
            device.cut();
            let all = acknowledged.borrow().iter().all(|acknowledged| *acknowledged);
            let (_, two) = run.mount("two").await;
            alive(&two, async {
                let disk = two.open("disk").await.unwrap();
                let content = disk.read(0, 2 * MIB).await.unwrap();
                let acknowledged = acknowledged.borrow().clone();
                for (sector, bytes) in content.chunks(512).enumerate() {
                    assert!(bytes.iter().all(|byte| *byte == bytes[0]), "step {step}: sector {sector} is torn");
                    let at = sector as u64 * 512;
                    // Writer of this sector; no two writes overlap.
                    let (block, within) = (at / BLOCK, at % BLOCK);
                    let writer = match block % 5 {
                        4 => Some(block),
                        _ if within >= 4096 => Some(block),
                        0 => None,
                        _ => block.checked_sub(1),
                    };
                    let writer = writer.filter(|writer| *writer < 28);
                    let value = bytes[0];
                    match writer {
                        Some(writer) if acknowledged[writer as usize] => {
                            assert_eq!(
                                u64::from(value),
                                writer + 1,
                                "step {step}: sector {sector} of a write that was acknowledged"
                            )
                        }
                        Some(writer) => assert!(
                            value == 0 || u64::from(value) == writer + 1,
                            "step {step}: {value} in sector {sector}"
                        ),
                        None => assert_eq!(value, 0, "step {step}: sector {sector} was never written"),
                    }
                }
                disk.write(0, pattern(1, 512)).await.unwrap();
                disk.close().await.unwrap();
                let report = two.check().await.unwrap();
                assert_eq!((report.problems, report.leftovers), (vec![], vec![]), "step {step}");
            })
            .await;
            all
        }));
    }
    assert!((1..45).contains(&finished), "{finished} hosts had done before they died");
}

/// Writes to blocks 0 to 62 of a disk of 64, one write at a time, each of `bytes` at `from` in the
/// block. Returns the number of commands, and the bytes zeroed by the array.
async fn commands(run: &World, (from, bytes): (u64, u64)) -> (u64, u64) {
    let (_, store) = run.mount("one").await;
    let disk = thick(&store, 64 * BLOCK).await;
    let (commands, zeroed) = (run.medium.commands(), store.mover().tally().zeroed.offloaded_bytes);
    for block in 0..63 {
        disk.write(block * BLOCK + from, pattern(block as u8, bytes as usize)).await.unwrap();
    }
    let spent = run.medium.commands() - commands;
    let zeroed = store.mover().tally().zeroed.offloaded_bytes - zeroed;
    for block in 0..63 {
        assert_eq!(disk.read(block * BLOCK + from, bytes).await.unwrap(), pattern(block as u8, bytes as usize));
    }
    disk.close().await.unwrap();
    store.delete("disk").await.unwrap();
    store.unmount().await.unwrap();
    (spent, zeroed)
}

/// Regression: each first write cost a WRITE SAME and an update.
#[test]
fn first_writes_that_go_forward_cost_little_more_than_later_ones() {
    let world = World::new(3000);
    let run = world.clone();
    world.time.run(async move {
        run.format().await;
        // Straddling writes: two WRITEs each. The whole disk is zeroed, and nothing beyond.
        let (spent, zeroed) = commands(&run, (4096, BLOCK)).await;
        assert!((126..126 + 30).contains(&spent), "{spent} commands");
        assert_eq!(zeroed, 64 * BLOCK);
        // Blocks that are written whole are not zeroed.
        let (spent, zeroed) = commands(&run, (0, BLOCK)).await;
        assert!(spent <= 63 * 2 + 1 && zeroed == 0, "{spent} commands, {zeroed} bytes");
    });
    // Where the host would have to write the zeros, nothing is zeroed ahead.
    let world = World::with(3001, Settings { hardware_accelerated_init: false, ..Settings::default() }, |_| ());
    let run = world.clone();
    world.time.run(async move {
        run.format().await;
        let (_, store) = run.mount("one").await;
        let disk = thick(&store, 64 * BLOCK).await;
        for block in 0..8 {
            disk.write(block * BLOCK + 512, pattern(1, 512)).await.unwrap();
        }
        assert_eq!(store.mover().tally().zeroed.host_bytes(), 8 * BLOCK);
    });
}

#[test]
fn pointers_requested_together_are_written_together() {
    let world = World::new(3002);
    let run = world.clone();
    world.time.run(async move {
        run.format().await;
        let (_, store) = run.mount("one").await;
        let disk = thick(&store, 64 * BLOCK).await;
        let updates = store.mover().tally().atomic_updates;
        let writes = (0..64).map(|block| disk.write(block * BLOCK, pattern(block as u8, BLOCK as usize)));
        future::try_join_all(writes).await.unwrap();
        let updates = store.mover().tally().atomic_updates - updates;
        assert!(updates <= 6, "{updates} updates for 64 blocks");
        assert_eq!(store.mover().tally().miscompares, 0);
    });
}
