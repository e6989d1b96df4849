//! Hosts that are stopped in the middle of an operation of many commands, taken over, and woken up.

use super::*;
use crate::VirtualDisk;
use data_mover::{Device, Extent, Gate};
use futures_util::future::LocalBoxFuture;

const MIB: u64 = 1 << 20;
const SIZE: u64 = 4 * MIB;

/// Number of commands after which the host stops, once; `None` while not armed.
#[derive(Clone, Default)]
struct Stop(Rc<Cell<Option<u64>>>);

/// Creates a path to the unit for a host that sends one command at a time. The host is stopped for
/// 30 s after one has taken effect.
fn stopping(run: &World, stop: &Stop) -> Rc<MemoryDevice> {
    let (time, stop) = (run.time.clone(), stop.clone());
    let delay: Delay = Rc::new(move || {
        let (time, now) = (time.clone(), stop.0.get());
        stop.0.set(now.and_then(|left| left.checked_sub(1)));
        Box::pin(async move {
            if now == Some(0) {
                time.sleep(Duration::from_secs(30)).await;
            }
        })
    });
    let host = run.next_host.replace(run.next_host.get() + 1);
    let device = MemoryDevice::new(&run.medium, host, 1, SECTORS).with_delay(delay);
    Rc::new(device.with(|identity| (run.without)(&mut identity.limits)))
}

type Work = fn(VirtualDisk<MemoryDevice>) -> LocalBoxFuture<'static, Result<(), DatastoreError>>;

fn zeroed(disk: VirtualDisk<MemoryDevice>) -> LocalBoxFuture<'static, Result<(), DatastoreError>> {
    Box::pin(async move { disk.zero(&|_| ()).await })
}

fn copied(disk: VirtualDisk<MemoryDevice>) -> LocalBoxFuture<'static, Result<(), DatastoreError>> {
    Box::pin(async move {
        let on = disk.datastore().clone();
        on.clone_disk(&disk, "copy", DiskFormat::EagerZeroedThick, &|_| ()).await.map(drop)
    })
}

fn discarded(disk: VirtualDisk<MemoryDevice>) -> LocalBoxFuture<'static, Result<(), DatastoreError>> {
    Box::pin(async move { disk.discard(0, SIZE, &|_| ()).await.map(drop) })
}

fn written(disk: VirtualDisk<MemoryDevice>) -> LocalBoxFuture<'static, Result<(), DatastoreError>> {
    Box::pin(async move {
        let end = (0..SIZE).step_by(64 << 10);
        for offset in end {
            disk.write(offset, pattern(9, 64 << 10)).await?;
        }
        Ok(())
    })
}

/// Content of the metadata and of the first blocks, from which the first host allocates.
async fn medium(run: &World, end: u64) -> Bytes {
    MemoryDevice::new(&run.medium, 0, 1, SECTORS).read(Extent { lba: 0, blocks: end }).await.unwrap()
}

/// Regression: a host was stopped in the middle of a copy, a zeroing or an UNMAP of many commands,
/// and taken over. When it woke up it sent the remaining commands, to blocks that another host had
/// by then.
#[test]
fn a_stopped_host_that_was_taken_over_sends_no_more_commands() {
    let slow = Settings { depth: 1, max_hardware_transfer_bytes: 64 << 10, ..Settings::default() };
    let host = Settings { hardware_accelerated_move: false, hardware_accelerated_init: false, ..slow };
    let host = Settings { software_transfer_bytes: 64 << 10, ..host };
    for (work, settings) in
        [(zeroed as Work, slow), (copied, slow), (discarded, slow), (written, slow), (zeroed, host), (copied, host)]
    {
        let mut woken = 0;
        for after in (0..8).map(|step| step * 24 + 1) {
            let world = World::with(1, settings, |limits| {
                (limits.write_same, limits.copy_segment, limits.copy_segments) = (128, 128, 1);
                (limits.unmap, limits.unmap_descriptors) = (128, 1);
            });
            let run = world.clone();
            woken += world.time.run(async move {
                run.format().await;
                let stop = Stop::default();
                let device = stopping(&run, &stop);
                let one = Datastore::mount(device, run.mover(), Host { name: "one".into() }).await.unwrap();
                let (_, two) = run.mount("two").await;
                let disk = DiskOptions { format: DiskFormat::EagerZeroedThick, size: SIZE };
                let disk = one.create_open("disk", disk, &|_| ()).await.unwrap();
                disk.write(0, pattern(1, SIZE as usize)).await.unwrap();
                one.renew().await.unwrap();
                stop.0.set(Some(after));
                let taken_over = async {
                    run.time.sleep(Duration::from_secs(1)).await;
                    // Everything of the first host is removed, and its blocks are overwritten.
                    two.tidy().await.unwrap();
                    two.delete("disk").await.unwrap();
                    let geometry = two.geometry();
                    let end = geometry.block_lba(160);
                    for block in 0..160 {
                        run.medium.poke(geometry.block_lba(block), &pattern(7, 64 << 10));
                    }
                    (medium(&run, end).await, end)
                };
                let (late, (before, end)) = future::join(work(disk), alive(&two, taken_over)).await;
                if late.is_ok() {
                    // The operation had finished before.
                    return 0;
                }
                assert!(matches!(late, Err(DatastoreError::LeaseExpired(_) | DatastoreError::Evicted)), "{late:?}");
                assert!(before == medium(&run, end).await, "something landed late");
                1
            });
        }
        assert!(woken > 1, "{woken} times in the middle");
    }
}

/// A unit in memory has no queue of commands: only the permit holds the rest back.
#[test]
fn a_datastore_controls_when_its_device_may_send() {
    let world = World::new(2);
    let run = world.clone();
    world.time.run(async move {
        run.format().await;
        let (_, one) = run.mount("one").await;
        let gate: Gate = one.store.gate();
        assert!(gate());
        run.time.sleep(Duration::from_secs(11)).await;
        assert!(gate());
        run.time.sleep(Duration::from_secs(2)).await;
        assert!(!gate());
        one.renew().await.unwrap();
        assert!(gate());
        one.unmount().await.unwrap();
        run.time.sleep(Duration::from_secs(60)).await;
        assert!(gate());
        let (_, one) = run.mount("one").await;
        let gate = one.store.gate();
        drop(one);
        run.time.sleep(Duration::from_secs(60)).await;
        assert!(gate());
    });
}
