//! Several hosts on one logical unit in memory, in virtual time.

mod chains;
mod checks;
mod cluster;
mod disks;
mod first_writes;
mod hanging;
mod leftovers;
mod stopped;
mod unfinished;
mod whole_units;

use crate::{Datastore, DatastoreError, DiskFormat, DiskOptions, FormatOptions, Host};
use bytes::Bytes;
use data_mover::memory::{Delay, MemoryDevice, MemoryUnit};
use data_mover::virtual_time::VirtualTime;
use data_mover::{Clock, DataMover, DeviceError, Limits, Settings};
use futures_util::future::{self, Either};
use random::Random;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

const SECTORS: u64 = 1 << 19;

/// A logical unit and a virtual clock.
struct World {
    medium: Rc<MemoryUnit>,
    time: VirtualTime,
    random: Rc<Random>,
    settings: Settings,
    next_host: Cell<u32>,
    without: fn(&mut Limits),
}

impl World {
    fn new(seed: u64) -> Rc<Self> {
        Self::with(seed, Settings::default(), |_| ())
    }

    fn with(seed: u64, settings: Settings, without: fn(&mut Limits)) -> Rc<Self> {
        Rc::new(Self {
            medium: Rc::default(),
            time: VirtualTime::default(),
            random: Rc::new(Random::new(seed)),
            settings,
            next_host: Cell::new(1),
            without,
        })
    }

    /// Creates a path to the unit for a new host; commands take up to 4 ms each way.
    fn device(&self) -> Rc<MemoryDevice> {
        self.device_with(|_| ())
    }

    /// Like [`Self::device`], with fewer announced limits.
    fn device_with(&self, without: fn(&mut Limits)) -> Rc<MemoryDevice> {
        let (time, random) = (self.time.clone(), self.random.clone());
        let delay: Delay = Rc::new(move || time.sleep(Duration::from_micros(random.below(4000))));
        let host = self.next_host.replace(self.next_host.get() + 1);
        let device = MemoryDevice::new(&self.medium, host, 1, SECTORS);
        let device = device.with(|identity| {
            (self.without)(&mut identity.limits);
            without(&mut identity.limits);
        });
        Rc::new(device.with_delay(delay))
    }

    fn mover(&self) -> Rc<DataMover> {
        Rc::new(DataMover::new(self.settings, Rc::new(self.time.clone())))
    }

    async fn format(&self) {
        let options = FormatOptions { block_bytes: 64 << 10, hosts: 8, files: 32, ..FormatOptions::default() };
        Datastore::format(&self.device(), &self.mover(), &options).await.unwrap();
    }

    async fn mount(&self, name: &str) -> (Rc<MemoryDevice>, Rc<Datastore<MemoryDevice>>) {
        let device = self.device();
        let store = Datastore::mount(device.clone(), self.mover(), Host { name: name.into() }).await.unwrap();
        (device, store)
    }
}

/// Runs `work` while the heartbeat of the datastore is renewed.
async fn alive<T>(store: &Rc<Datastore<MemoryDevice>>, work: impl Future<Output = T>) -> T {
    let (work, beat) = (std::pin::pin!(work), std::pin::pin!(store.keep_alive()));
    match future::select(work, beat).await {
        Either::Left((value, _)) => value,
        Either::Right((error, _)) => panic!("{error}"),
    }
}

fn pattern(seed: u8, bytes: usize) -> Bytes {
    (0..bytes).map(|at| (at / 512 + at) as u8 ^ seed).collect()
}

#[test]
fn existing_data_is_not_overwritten_and_other_data_is_not_mounted() {
    let world = World::new(1);
    let run = world.clone();
    world.time.run(async move {
        let host = || Host { name: "h".into() };
        let mounted = Datastore::mount(run.device(), run.mover(), host()).await;
        assert!(matches!(mounted, Err(DatastoreError::NoDatastore)));
        run.medium.poke(3, &[7; 512]);
        let options = FormatOptions { block_bytes: 64 << 10, ..FormatOptions::default() };
        let refused = Datastore::format(&run.device(), &run.mover(), &options).await;
        assert!(matches!(refused, Err(DatastoreError::NotEmpty)));
        Datastore::format(&run.device(), &run.mover(), &FormatOptions { force: true, ..options }).await.unwrap();
        let store = Datastore::mount(run.device(), run.mover(), host()).await.unwrap();
        assert_eq!((store.name().as_str(), store.hosts().await.unwrap()), ("datastore", vec!["h".to_owned()]));
        store.unmount().await.unwrap();
        run.medium.poke(0, &[9; 512]);
        let mounted = Datastore::mount(run.device(), run.mover(), host()).await;
        assert!(matches!(mounted, Err(DatastoreError::NoDatastore)));
    });
}

#[test]
fn names_are_unique_and_files_are_found() {
    let world = World::new(2);
    let run = world.clone();
    world.time.run(async move {
        run.format().await;
        let (_, one) = run.mount("one").await;
        let (_, two) = run.mount("two").await;
        let thin = DiskOptions { format: DiskFormat::Thin, size: 1 << 20 };
        // Both hosts at once: one of them wins.
        let created =
            future::join(one.create_disk("vm/disk", thin, &|_| ()), two.create_disk("vm/disk", thin, &|_| ())).await;
        let won = [&created.0, &created.1].iter().filter(|created| created.is_ok()).count();
        assert_eq!(won, 1, "{created:?}");
        assert!([created.0, created.1].iter().any(|created| matches!(created, Err(DatastoreError::Exists(_)))));
        for name in ["", "/a", "a/", "a\nb", &"x".repeat(201)] {
            let refused = one.create_disk(name, thin, &|_| ()).await;
            assert!(matches!(refused, Err(DatastoreError::Name(_))), "{name:?}");
        }
        two.rename("vm/disk", "vm/other").await.unwrap();
        assert!(matches!(one.touch("vm/disk").await, Err(DatastoreError::NoSuchFile(_))));
        one.touch("vm/other").await.unwrap();
        let files = two.list().await.unwrap();
        assert_eq!(files.iter().map(|file| (file.name.as_str(), file.touched)).collect::<Vec<_>>(), [("vm/other", 1)]);
        one.delete("vm/other").await.unwrap();
        assert!(two.list().await.unwrap().is_empty());
        let report = two.check().await.unwrap();
        assert_eq!((report.problems, report.leftovers, report.blocks), (vec![], vec![], 0));
    });
}

#[test]
fn when_all_records_are_in_use_the_next_file_is_refused() {
    let world = World::new(3);
    let run = world.clone();
    world.time.run(async move {
        run.format().await;
        let (_, one) = run.mount("one").await;
        let thin = DiskOptions { format: DiskFormat::Thin, size: 512 };
        for number in 0..32 {
            one.create_disk(&format!("d{number}"), thin, &|_| ()).await.unwrap();
        }
        let refused = one.create_disk("more", thin, &|_| ()).await;
        assert!(matches!(refused, Err(DatastoreError::TooManyFiles(32))));
        one.delete("d7").await.unwrap();
        one.create_disk("more", thin, &|_| ()).await.unwrap();
    });
}

#[test]
fn a_device_that_is_gone_is_an_error() {
    let world = World::new(4);
    let run = world.clone();
    world.time.run(async move {
        run.format().await;
        let (device, one) = run.mount("one").await;
        device.cut();
        assert!(matches!(one.list().await, Err(DatastoreError::Device(DeviceError::Lost(_)))));
    });
}
