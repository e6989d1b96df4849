//! Hosts that die, are cut off or hang, and a storm of operations.

use super::*;
use futures_util::future::FutureExt;
use std::cell::RefCell;
use std::collections::BTreeMap;

const THIN: DiskOptions = DiskOptions { format: DiskFormat::Thin, size: 1 << 20 };

#[test]
fn a_lock_of_a_dead_host_is_taken_over_and_that_of_a_living_one_is_not() {
    let world = World::new(1);
    let run = world.clone();
    world.time.run(async move {
        run.format().await;
        let (device, one) = run.mount("one").await;
        let (_, two) = run.mount("two").await;
        let disk = alive(&one, one.create_open("disk", THIN, &|_| ())).await.unwrap();
        // The lock stays refused for as long as the first host lives.
        let refused = alive(&one, alive(&two, two.open("disk"))).await;
        assert!(matches!(&refused, Err(DatastoreError::Locked { host, .. }) if host == "one"), "{:?}", refused.err());
        device.cut();
        let died = run.time.now();
        let taken = alive(&two, two.open("disk")).await.unwrap();
        let took = run.time.now() - died;
        assert!((12..22).contains(&took.as_secs()), "{took:?}");
        taken.write(0, pattern(1, 512)).await.unwrap();
        drop(disk);
        alive(&two, taken.close()).await.unwrap();
        assert_eq!(two.hosts().await.unwrap(), ["two"]);
    });
}

#[test]
fn a_host_that_hangs_writes_nothing_when_it_wakes_up() {
    let world = World::new(2);
    let run = world.clone();
    world.time.run(async move {
        run.format().await;
        let (_, one) = run.mount("one").await;
        let (_, two) = run.mount("two").await;
        let disk = one.create_open("disk", THIN, &|_| ()).await.unwrap();
        disk.write(0, pattern(1, 512)).await.unwrap();
        // The heartbeat of the first host is not renewed.
        let late = alive(&two, run.time.sleep(Duration::from_secs(13)).then(|()| disk.write(0, pattern(2, 512)))).await;
        assert!(matches!(late, Err(DatastoreError::LeaseExpired(_))), "{late:?}");
        // The host recovers if no other host has taken its slot.
        one.renew().await.unwrap();
        disk.write(0, pattern(3, 512)).await.unwrap();
        let taken = alive(&two, two.open("disk")).await.unwrap();
        assert_eq!(taken.read(0, 512).await.unwrap(), pattern(3, 512));
        assert!(matches!(one.renew().await, Err(DatastoreError::Evicted)));
        assert!(matches!(disk.write(0, pattern(4, 512)).await, Err(DatastoreError::Evicted)));
        assert!(matches!(one.create_disk("more", THIN, &|_| ()).await, Err(DatastoreError::Evicted)));
        assert_eq!(taken.read(0, 512).await.unwrap(), pattern(3, 512));
    });
}

#[test]
fn the_last_slot_goes_to_the_next_host_when_its_owner_is_dead() {
    let world = World::new(3);
    let run = world.clone();
    world.time.run(async move {
        run.format().await;
        let mut hosts = Vec::new();
        for number in 0..8 {
            hosts.push(run.mount(&format!("h{number}")).await.1);
        }
        let beats = future::join_all(hosts.iter().map(|host| host.keep_alive()));
        let more = Datastore::mount(run.device(), run.mover(), Host { name: "more".into() });
        match future::select(Box::pin(beats), Box::pin(more)).await {
            Either::Right((refused, _)) => assert!(matches!(refused, Err(DatastoreError::TooManyHosts(8)))),
            Either::Left(_) => panic!("a heartbeat ended"),
        }
        // All hosts are silent: the first slot found stale is taken.
        let (_, more) = run.mount("more").await;
        assert!(more.hosts().await.unwrap().contains(&"more".to_owned()));
    });
}

/// Expected counters of all files.
#[derive(Default)]
struct Known {
    /// By file: acknowledged touches, and touches with an unknown result.
    touched: RefCell<BTreeMap<String, (u64, u64)>>,
    killed: Cell<u64>,
    operations: Cell<u64>,
}

/// Life of one host: operations until it is killed.
async fn live(world: Rc<World>, store: Rc<Datastore<MemoryDevice>>, name: String, known: Rc<Known>) -> DatastoreError {
    let random = &world.random;
    loop {
        known.operations.set(known.operations.get() + 1);
        let result = match random.below(7) {
            0..3 => {
                let file = format!("counter-{}", random.below(3));
                known.touched.borrow_mut().entry(file.clone()).or_default().1 += 1;
                let touched = store.touch(&file).await;
                if let Some(count) = known.touched.borrow_mut().get_mut(&file) {
                    match &touched {
                        Ok(()) => *count = (count.0 + 1, count.1 - 1),
                        // Refused before anything was written.
                        Err(DatastoreError::Locked { .. }) => count.1 -= 1,
                        Err(_) => {}
                    }
                }
                touched
            }
            3 => {
                let mine = format!("{name}-{}", random.below(2));
                match random.below(2) {
                    0 => store.create_disk(&mine, THIN, &|_| ()).await,
                    _ => store.delete(&mine).await,
                }
            }
            4 => match store.open("shared").await {
                Ok(disk) => exclusive(&world, disk).await,
                Err(error) => Err(error),
            },
            5 => store.rename("moving-a", "moving-b").await,
            _ => store.rename("moving-b", "moving-a").await,
        };
        match result {
            Ok(()) => {}
            Err(
                DatastoreError::Locked { .. }
                | DatastoreError::NoSuchFile(_)
                | DatastoreError::Exists(_)
                | DatastoreError::HasChildren(_),
            ) => {}
            Err(error) => return error,
        }
    }
}

/// Checks that no other host writes while this host has the disk open.
async fn exclusive(world: &World, mut disk: crate::VirtualDisk<MemoryDevice>) -> Result<(), DatastoreError> {
    let stamp = pattern(world.random.below(256) as u8, 1024);
    let offset = world.random.below(16) << 16;
    disk.write(offset, stamp.clone()).await?;
    if world.random.below(3) == 0 {
        let name = format!("shared-{}", world.random.below(1000));
        disk = match disk.snapshot(&name).await {
            Ok(disk) => disk,
            Err((disk, DatastoreError::Exists(_))) => disk,
            Err((_, error)) => return Err(error),
        };
        disk.write(offset + 512, stamp.slice(512..)).await?;
        assert_eq!(disk.read(offset, 1024).await?, stamp);
        disk = match disk.commit(&|_| ()).await {
            Ok(disk) => disk,
            Err((_, error)) => return Err(error),
        };
    }
    world.time.sleep(Duration::from_millis(world.random.below(50))).await;
    assert_eq!(disk.read(offset, 1024).await?, stamp, "another host wrote to a disk that this host has open");
    disk.close().await
}

fn storm(seed: u64, settings: Settings, without: fn(&mut Limits)) -> Rc<Known> {
    let world = World::with(seed, settings, without);
    let known = Rc::new(Known::default());
    let (run, seen) = (world.clone(), known.clone());
    world.time.run(async move {
        run.format().await;
        let (_, first) = run.mount("first").await;
        alive(&first, async {
            for name in ["counter-0", "counter-1", "counter-2", "shared", "moving-a"] {
                first.create_disk(name, THIN, &|_| ()).await.unwrap();
            }
        })
        .await;
        first.unmount().await.unwrap();
        let lives = (0..4).map(|host| {
            let (run, seen) = (run.clone(), seen.clone());
            async move {
                for life in 0..4 {
                    let name = format!("h{host}-{life}");
                    let (device, store) = run.mount(&name).await;
                    let work = live(run.clone(), store.clone(), format!("h{host}"), seen.clone());
                    let end = run.time.sleep(Duration::from_millis(500 + run.random.below(20_000)));
                    let lived = Box::pin(future::select(Box::pin(work), Box::pin(store.keep_alive())));
                    match future::select(lived, end).await {
                        // Killed in the middle of an operation.
                        Either::Right(_) => device.cut(),
                        Either::Left((Either::Left((error, _)) | Either::Right((error, _)), _)) => {
                            panic!("seed {seed}: host {name} ended by itself: {error}")
                        }
                    }
                    seen.killed.set(seen.killed.get() + 1);
                }
            }
        });
        future::join_all(lives).await;

        // One host is left, and takes over everything.
        let (_, last) = run.mount("last").await;
        alive(&last, async {
            let touched = seen.touched.take();
            for (name, (sure, maybe)) in &touched {
                last.touch(name).await.unwrap();
                let files = last.list().await.unwrap();
                let found = files.iter().find(|file| file.name == *name).unwrap().touched - 1;
                assert!(
                    (*sure..=sure + maybe).contains(&found),
                    "seed {seed}: {name}: {found}, not {sure} + 0..{maybe}"
                );
            }
            let report = last.check().await.unwrap();
            assert_eq!(report.problems, Vec::<String>::new(), "seed {seed}");
            // All files can be deleted, redo disks first; afterwards no block is allocated.
            for _ in 0..8 {
                for file in last.list().await.unwrap() {
                    match last.delete(&file.name).await {
                        Ok(()) | Err(DatastoreError::HasChildren(_)) => {}
                        // The commit was interrupted, and has to be repeated.
                        Err(DatastoreError::Unsuitable(_)) => {
                            let top = last.open(&file.name).await.unwrap();
                            let base = top.commit(&|_| ()).await.map_err(|(_, error)| error).unwrap();
                            base.close().await.unwrap();
                        }
                        Err(error) => panic!("seed {seed}: {}: {error}", file.name),
                    }
                }
            }
            assert_eq!(last.list().await.unwrap(), [], "seed {seed}");
            // Creating files finds and reuses the records of half-created ones.
            for number in 0..32 {
                last.create_disk(&format!("all-{number}"), THIN, &|_| ()).await.unwrap();
            }
            let report = last.check().await.unwrap();
            assert_eq!((report.problems, report.leftovers, report.blocks), (vec![], vec![], 0), "seed {seed}");
        })
        .await;
    });
    known
}

#[test]
fn a_storm_of_dying_hosts_loses_no_update() {
    let (mut killed, mut operations) = (0, 0);
    for seed in 0..6 {
        let known = storm(seed, Settings::default(), |_| ());
        killed += known.killed.get();
        operations += known.operations.get();
    }
    assert_eq!(killed, 96);
    assert!(operations > 2500, "{operations}");
}

#[test]
fn nor_does_it_with_reservations() {
    for seed in 100..103 {
        storm(seed, Settings { hardware_accelerated_locking: false, ..Settings::default() }, |_| ());
    }
    storm(200, Settings::default(), |limits| *limits = Limits::default());
}
