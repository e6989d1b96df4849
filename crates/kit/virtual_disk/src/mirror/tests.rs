//! A disk moves under a guest that verifies, in virtual time and in memory: without each feature
//! that a unit may lack, and with failures at every step.

use super::*;
use crate::load::{LoadError, LoadOptions};
use crate::progress::Meter;
use crate::verbs::migrate::{Ended, Failure, MigrateOptions, move_under_guest, run};
use data_mover::memory::{Delay, MemoryDevice, MemoryUnit};
use data_mover::virtual_time::VirtualTime;
use data_mover::{DeviceError, Limits, Patient, Settings};
use datastore::{Datastore, DiskFormat, DiskOptions, FormatOptions, Host, WholeUnit};
use random::Random;

const SECTORS: u64 = 1 << 17;
const SIZE: u64 = 6 << 20;

type Unit = Patient<MemoryDevice>;

/// Interrupts a host before or during a command.
struct Steps {
    /// Steps until the interruption; every command has two.
    left: Cell<Option<u64>>,
    mover: Rc<DataMover>,
}

impl Steps {
    fn next(&self) {
        match self.left.get() {
            Some(0) => self.mover.interrupt(),
            Some(left) => self.left.set(Some(left - 1)),
            None => {}
        }
    }
}

/// A host with two logical units of one array.
struct World {
    time: VirtualTime,
    mover: Rc<DataMover>,
    steps: Rc<Steps>,
    source: MemoryDevice,
    destination: MemoryDevice,
}

impl World {
    fn new(seed: u64, settings: Settings, without: fn(&mut Limits)) -> Self {
        let time = VirtualTime::default();
        let random = Rc::new(Random::new(seed));
        let mover = Rc::new(DataMover::new(settings, Rc::new(time.clone())));
        let steps = Rc::new(Steps { left: Cell::new(None), mover: mover.clone() });
        let device = |number| {
            let (time, random, steps) = (time.clone(), random.clone(), steps.clone());
            let delay: Delay = Rc::new(move || {
                steps.next();
                time.sleep(Duration::from_micros(random.below(300)))
            });
            MemoryDevice::new(&Rc::new(MemoryUnit::default()), 1, number, SECTORS)
                .with(|identity| without(&mut identity.limits))
                .with_delay(delay)
        };
        let (source, destination) = (device(1), device(2));
        let destination = destination.with_source(&source);
        Self { time, mover, steps, source, destination }
    }

    fn patient(&self, device: &MemoryDevice) -> Unit {
        Patient::new(Rc::new(device.clone()), self.mover.clone(), Duration::from_secs(1))
    }

    fn unit(&self, device: &MemoryDevice) -> Endpoint<MemoryDevice> {
        let device = device.clone().with(|identity| identity.blocks = SIZE / 512);
        Endpoint::Unit { unit: WholeUnit::new(self.patient(&device)), mover: self.mover.clone() }
    }

    async fn datastore(&self, device: &MemoryDevice, block_bytes: u64) -> Rc<Datastore<MemoryDevice>> {
        let device = Rc::new(device.clone());
        let options = FormatOptions { block_bytes, hosts: 4, files: 16, ..FormatOptions::default() };
        Datastore::format(&device, &self.mover, &options).await.unwrap();
        Datastore::mount(device, self.mover.clone(), Host { name: "host".into() }).await.unwrap()
    }
}

fn options(seed: u64) -> MigrateOptions {
    let load = LoadOptions { seed, depth: 3, request_blocks: 40, ..LoadOptions::default() };
    MigrateOptions {
        format: DiskFormat::Thin,
        keep_source: true,
        destroy: None,
        load: Some(load),
        settle: Duration::from_millis(30),
    }
}

/// Moves the disk, and releases the invalid side. Returns the outcome and whether the disk has
/// moved.
async fn migrate(
    world: &World,
    source: Endpoint<MemoryDevice>,
    destination: Endpoint<MemoryDevice>,
    seed: u64,
) -> (Result<Duration, Failure>, bool) {
    let mirror = Mirror::new(source, destination);
    let outcome = run(&world.mover, &mirror, &options(seed), &Meter::new("", true)).await;
    let moved = mirror.is_moved();
    assert!(mirror.settle().await.is_some(), "the other side is still in use");
    assert!(mirror.into_disk().is_some());
    (outcome.map(|(migrated, ..)| migrated.pause), moved)
}

#[test]
fn a_logical_unit_moves_under_a_guest_and_no_write_is_lost() {
    for seed in 0..8 {
        let settings = if seed % 2 == 0 { Settings::default() } else { Settings::off() };
        let world = World::new(seed, settings, |_| ());
        let time = world.time.clone();
        time.run(async move {
            let (outcome, moved) =
                migrate(&world, world.unit(&world.source), world.unit(&world.destination), seed).await;
            let pause = outcome.unwrap();
            assert!(moved && pause <= Duration::from_millis(100), "{pause:?}");
            let copied = world.mover.tally().copied;
            assert_eq!(copied.offloaded_bytes + copied.host_bytes(), SIZE);
            assert_eq!(copied.host_bytes() > 0, seed % 2 == 1);
        });
    }
}

/// Switches of a host, and a change to the limits of its array.
type Primitives = (Settings, fn(&mut Limits));

#[test]
fn a_virtual_disk_moves_between_datastores_of_different_blocks() {
    let cases: [Primitives; 3] = [
        (Settings::default(), |_| ()),
        (Settings::off(), |_| ()),
        (Settings::default(), |limits| *limits = Limits::default()),
    ];
    for (seed, (settings, without)) in (10..).zip(cases) {
        for (from, to) in [(64 << 10, 256 << 10), (256 << 10, 64 << 10)] {
            let world = World::new(seed, settings, without);
            let time = world.time.clone();
            time.run(async move {
                let here = world.datastore(&world.source, from).await;
                let there = world.datastore(&world.destination, to).await;
                let thin = DiskOptions { format: DiskFormat::Thin, size: SIZE };
                let source = here.create_open("disk", thin, &|_| ()).await.unwrap();
                let format = if seed == 10 { DiskFormat::Thin } else { DiskFormat::EagerZeroedThick };
                let destination = there.begin_disk("disk", DiskOptions { format, ..thin }).await.unwrap();
                let beats = future::join(here.keep_alive(), there.keep_alive());
                let moving =
                    migrate(&world, Endpoint::Disk(Box::new(source)), Endpoint::Disk(Box::new(destination)), seed);
                let Either::Left(((outcome, moved), _)) = future::select(pin!(moving), pin!(beats)).await else {
                    panic!("a heartbeat ended");
                };
                outcome.unwrap();
                assert!(moved && there.list().await.unwrap().len() == 1);
                let report = there.check().await.unwrap();
                assert_eq!(report.problems, Vec::<String>::new());
            });
        }
    }
}

/// Checks that the guest found all its data, or got an error because the disk it is on is gone.
fn guest_is_fine(outcome: &Result<Duration, Failure>, moved: bool, may_be_lost: bool) {
    match outcome {
        Ok(_) => assert!(moved),
        Err(Failure::Migrate(MigrateError::Failed(_) | MigrateError::Interrupted)) => assert!(!moved),
        Err(Failure::Load(LoadError::Disk(DatastoreError::Device(DeviceError::Lost(_))))) if may_be_lost => {}
        Err(Failure::Migrate(MigrateError::Guest(_))) if may_be_lost => assert!(!moved),
        other => panic!("{other:?}"),
    }
}

#[test]
fn when_the_destination_is_gone_at_any_step_the_guest_continues_on_the_source() {
    let (mut stayed, mut went) = (0, 0);
    for step in 0..150 {
        let world = World::new(step, if step % 3 == 0 { Settings::off() } else { Settings::default() }, |_| ());
        world.destination.cut_after(step);
        let time = world.time.clone();
        let moved = time.run(async move {
            let (outcome, moved) =
                migrate(&world, world.unit(&world.source), world.unit(&world.destination), step).await;
            // After the cut-over the destination is the disk.
            guest_is_fine(&outcome, moved, moved);
            moved
        });
        *(if moved { &mut went } else { &mut stayed }) += 1;
    }
    assert!(stayed > 25 && went > 0, "{stayed} stayed, {went} went");
}

#[test]
fn when_the_source_is_gone_at_any_step_only_the_guest_gets_an_error() {
    for step in 0..60 {
        let world = World::new(step, if step % 2 == 0 { Settings::off() } else { Settings::default() }, |_| ());
        world.source.cut_after(10 + step * 8);
        let time = world.time.clone();
        time.run(async move {
            let (outcome, moved) =
                migrate(&world, world.unit(&world.source), world.unit(&world.destination), step).await;
            guest_is_fine(&outcome, moved, true);
        });
    }
}

#[test]
fn a_full_destination_leaves_the_disk_at_its_source() {
    for space in [0, 100, 5000, 9000] {
        let world = World::new(space as u64, Settings::default(), |_| ());
        let destination = world.destination.clone().with_space(space);
        let time = world.time.clone();
        time.run(async move {
            let (outcome, moved) = migrate(&world, world.unit(&world.source), world.unit(&destination), 3).await;
            assert!(!moved);
            let full = MigrateError::Failed(DatastoreError::Device(DeviceError::Full));
            match outcome {
                Err(Failure::Migrate(found)) => assert_eq!(found.to_string(), full.to_string()),
                other => panic!("{other:?}"),
            }
        });
    }
}

/// Regression: the error said that the disk was at the source, while a stale disk at the
/// destination looked complete.
#[test]
fn a_destination_lost_while_it_is_published_is_reported_separately() {
    for (error, expected) in [
        (DeviceError::Lost("gone".into()), "the disk stays at its source, but the destination may look complete: gone"),
        (DeviceError::Full, "the disk stays at its source: the array has no space left"),
    ] {
        let world = World::new(1, Settings::default(), |_| ());
        let time = world.time.clone();
        time.run(async move {
            let mirror = Mirror::new(world.unit(&world.source), world.unit(&world.destination));
            mirror.copy(&|| false, &|_| ()).await.unwrap();
            let failed = mirror.cut_over(async |_| Err(DatastoreError::Device(error))).await.unwrap_err();
            assert!(failed.to_string().starts_with(expected), "{failed}");
            assert!(!mirror.is_moved());
        });
    }
}

#[test]
fn writes_wait_for_the_region_that_is_copied_and_for_each_other() {
    let world = World::new(1, Settings::off(), |_| ());
    let time = world.time.clone();
    time.run(async move {
        let mirror = Mirror::new(world.unit(&world.source), world.unit(&world.destination));
        let page = |value: u8| Bytes::from(vec![value; 4096]);
        mirror.write(0, page(1)).await.unwrap();
        let work = async {
            mirror.copy(&|| false, &|_| ()).await.unwrap();
            // The writes take effect in one order on both sides.
            let writes = (0..40_u8).map(|value| mirror.write(u64::from(value % 3) * 2048, page(value)));
            for written in future::join_all(writes).await {
                written.unwrap();
            }
            let before = mirror.read(0, 12_288).await.unwrap();
            mirror.cut_over(async |_| Ok(())).await.unwrap();
            assert_eq!(mirror.read(0, 12_288).await.unwrap(), before);
        };
        let meanwhile = async {
            let begun = world.time.now();
            mirror.write(0, page(2)).await.unwrap();
            // The host copies a region of 4 MiB first; then the write runs.
            assert!(world.time.now() - begun > Duration::from_millis(1));
        };
        // The copy has begun when the write arrives.
        future::join(work, async {
            world.time.sleep(Duration::from_micros(1)).await;
            meanwhile.await;
        })
        .await;
    });
}

#[test]
fn an_interrupted_migration_leaves_the_disk_at_its_source() {
    let world = World::new(4, Settings::off(), |_| ());
    let time = world.time.clone();
    time.run(async move {
        let mirror = Mirror::new(world.unit(&world.source), world.unit(&world.destination));
        let regions = Cell::new(0);
        let stop = || regions.replace(regions.get() + 1) > 0;
        let outcome = mirror.copy(&stop, &|_| ()).await;
        assert!(matches!(outcome, Err(MigrateError::Interrupted)), "{outcome:?}");
        mirror.write(0, Bytes::from(vec![7; 512])).await.unwrap();
        assert!(!mirror.is_moved() && mirror.settle().await.is_some());
        assert_eq!(mirror.read(0, 512).await.unwrap(), vec![7; 512]);
    });
}

/// Moves a disk between two datastores, interrupted after `step` steps. Returns the outcome, and
/// false when the move had ended before.
async fn interrupted_after(world: &World, step: u64) -> (Ended, bool) {
    let here = world.datastore(&world.source, 64 << 10).await;
    let there = world.datastore(&world.destination, 64 << 10).await;
    let thin = DiskOptions { format: DiskFormat::Thin, size: 512 << 10 };
    let source = here.create_open("from", thin, &|_| ()).await.unwrap();
    let destination = there.begin_disk("to", thin).await.unwrap();
    let (source, destination) = (Endpoint::Disk(Box::new(source)), Endpoint::Disk(Box::new(destination)));
    let options = MigrateOptions { keep_source: false, settle: Duration::from_millis(1), ..options(step) };
    let meter = Meter::new("", true);
    world.steps.left.set(Some(step));
    let moving = move_under_guest(&world.mover, source, destination, Some("from"), &options, &meter);
    let beats = future::join(here.keep_alive(), there.keep_alive());
    let Either::Left((ended, _)) = future::select(pin!(moving), pin!(beats)).await else {
        panic!("a heartbeat ended");
    };
    let interrupted = world.steps.left.replace(None) == Some(0);
    for store in [&here, &there] {
        store.unmount().await.unwrap();
    }
    (ended, interrupted)
}

/// Files of a clean datastore, as another host sees them.
async fn files(world: &World, device: &MemoryDevice) -> Vec<String> {
    let mover = Rc::new(DataMover::new(Settings::default(), Rc::new(world.time.clone())));
    let store = Datastore::view(Rc::new(device.clone()), mover).await.unwrap();
    let report = store.check().await.unwrap();
    assert_eq!((report.problems, report.leftovers), (vec![], vec![]));
    store.list().await.unwrap().into_iter().map(|file| file.name).collect()
}

/// Regression: when interrupted while the guest filled the disk, before the copy had begun, the
/// command left a half-created, locked destination. The mirror still used both sides, so neither
/// was released.
#[test]
fn a_migration_that_is_interrupted_at_any_step_leaves_one_disk_and_nothing_else() {
    let (mut stayed, mut went) = (0, 0);
    for step in 0.. {
        let settings = if step % 2 == 0 { Settings::off() } else { Settings::default() };
        let world = World::new(step, settings, |_| ());
        let time = world.time.clone();
        let (moved, interrupted) = time.run(async move {
            let (ended, interrupted) = interrupted_after(&world, step).await;
            let of_interrupt =
                |error: &DatastoreError| matches!(error, DatastoreError::Device(DeviceError::Interrupted));
            match &ended.outcome {
                Ok(_) => assert!(ended.moved),
                Err(Failure::Migrate(MigrateError::Interrupted)) => assert!(!ended.moved),
                Err(Failure::Migrate(MigrateError::Failed(error)) | Failure::Load(LoadError::Disk(error)))
                    if of_interrupt(error) =>
                {
                    assert!(!ended.moved);
                }
                other => panic!("step {step}: {other:?}"),
            }
            assert!(matches!((&ended.tidied, &ended.closed), (Ok(()), Ok(()))), "step {step}");
            let found = (files(&world, &world.source).await, files(&world, &world.destination).await);
            let expected = if ended.moved { (vec![], vec!["to"]) } else { (vec!["from"], vec![]) };
            assert_eq!(found, (owned(expected.0), owned(expected.1)), "step {step}");
            (ended.moved, interrupted)
        });
        *(if moved { &mut went } else { &mut stayed }) += 1;
        if !interrupted {
            break;
        }
    }
    assert!(stayed > 50 && went > 10, "{stayed} stayed, {went} went");
}

fn owned(names: Vec<&str>) -> Vec<String> {
    names.into_iter().map(str::to_owned).collect()
}
