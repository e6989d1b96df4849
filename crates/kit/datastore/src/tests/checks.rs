//! Damage that the check has to name, one at a time; it must continue after each.

use super::*;
use crate::format::{Allocations, File, Header, Pointer, Pointers};
use crate::geometry::{DIRECTORY_LOCK, HEADER};
use crate::records::id_of;
use crate::sector::{Payload, encode};

const MIB: u64 = 1 << 20;
const NONSENSE: [u8; 512] = [0xff; 512];

type Store = Rc<Datastore<MemoryDevice>>;

/// Changes a sector without its lock.
async fn mend<T: Payload>(run: &World, store: &Store, lba: u64, change: impl FnOnce(&mut T)) {
    let loaded = store.store.load::<T>(lba).await.unwrap();
    let mut value = loaded.value;
    change(&mut value);
    run.medium.poke(lba, &encode(loaded.version, &value));
}

/// Creates two thick disks and a chain of three thin ones: records 0 to 4.
async fn created(run: &World) -> Store {
    run.format().await;
    let (_, one) = run.mount("one").await;
    for (name, format) in
        [("a", DiskFormat::ZeroedThick), ("b", DiskFormat::EagerZeroedThick), ("base", DiskFormat::Thin)]
    {
        one.create_disk(name, DiskOptions { format, size: MIB }, &|_| ()).await.unwrap();
    }
    one.create_linked_clone("base", "middle").await.unwrap();
    one.create_linked_clone("middle", "top").await.unwrap();
    let report = one.check().await.unwrap();
    assert_eq!((report.files, report.problems, report.leftovers), (5, vec![], vec![]));
    one
}

/// Checks the datastore: the problems contain these words, one each, and the number of leftovers
/// matches.
async fn found(store: &Store, problems: &[&str], leftovers: usize) {
    let report = store.check().await.unwrap();
    assert_eq!(report.problems.len(), problems.len(), "{problems:?}: {:?}", report.problems);
    for (found, words) in report.problems.iter().zip(problems) {
        assert!(found.contains(words), "{found:?}, not {words:?}");
        assert!(!found.contains("windlass datastore check"), "{found:?}");
    }
    assert_eq!(report.leftovers.len(), leftovers, "{problems:?}: {:?}", report.leftovers);
}

/// Regression: most of this was not detected, or ended the check.
#[test]
fn every_fault_is_reported_and_the_check_continues() {
    let world = World::new(1);
    let run = world.clone();
    world.time.run(async move {
        let one = created(&run).await;
        let geometry = one.geometry();
        let sectors = [
            (geometry.second_header(), "the second header, sector"),
            (DIRECTORY_LOCK, "the lock of the directory"),
            (geometry.heartbeat(3), "heartbeat slot 3, sector"),
            (geometry.lock(1), "the lock of record 1, sector"),
            (geometry.file(1), "record 1, sector"),
            (geometry.direct(1, 0), "b: pointer sector 0, sector"),
            (geometry.roots(1, 1), "b: sector of pointers to pointers 1, sector"),
            (geometry.allocation(5), "allocation sector 5, sector"),
        ];
        for (lba, words) in sectors {
            let before = one.store.read(data_mover::Extent { lba, blocks: 1 }).await.unwrap();
            run.medium.poke(lba, &NONSENSE);
            let report = one.check().await.unwrap();
            let first = report.problems.first().unwrap();
            assert!(first.contains(words) && first.contains(&lba.to_string()), "{first}");
            assert!(report.files >= 4, "{words}");
            let more = usize::from(lba == geometry.second_header());
            assert_eq!(report.problems.len(), 1 + more, "{:?}", report.problems);
            assert_eq!(report.leftovers, Vec::<String>::new(), "{words}");
            run.medium.poke(lba, &before);
        }
        // All of them at once.
        for (lba, _) in sectors {
            run.medium.poke(lba, &NONSENSE);
        }
        assert!(one.check().await.unwrap().problems.len() >= sectors.len() - 2);
    });
}

/// Regression: one damaged sector kept all disks from being listed and opened, and all hosts from
/// mounting.
#[test]
fn a_damaged_sector_costs_only_what_it_described() {
    let world = World::new(3);
    let run = world.clone();
    world.time.run(async move {
        let one = created(&run).await;
        let geometry = one.geometry();
        assert_eq!(one.damage().await.unwrap().map(|error| error.to_string()), None);
        let slot = geometry.heartbeat(1);
        for lba in [geometry.file(1), geometry.lock(1), slot] {
            run.medium.poke(lba, &NONSENSE);
        }
        let damaged = |error: &DatastoreError| matches!(error, DatastoreError::Damaged { .. });
        assert!(damaged(&one.damage().await.unwrap().unwrap()));

        let (_, two) = run.mount("two").await;
        assert_eq!(two.hosts().await.unwrap(), ["one", "two"]);
        let slots: Vec<_> = two.slots().await.unwrap().into_iter().map(|slot| slot.number).collect();
        assert_eq!(slots, [0, 2]);
        let names = |files: Vec<crate::FileInfo>| files.into_iter().map(|file| file.name).collect::<Vec<_>>();
        assert_eq!(names(two.list().await.unwrap()), ["a", "base", "middle", "top"]);
        for name in ["a", "top"] {
            two.stat(name).await.unwrap();
            let disk = two.open(name).await.unwrap();
            disk.write(0, vec![7; 512].into()).await.unwrap();
            disk.close().await.unwrap();
        }
        two.open_read("a").await.unwrap().close().await.unwrap();
        // The damaged record may have this name, or be based on this disk.
        for error in [
            two.open("b").await.map(drop).unwrap_err(),
            two.create_disk("new", DiskOptions { format: DiskFormat::Thin, size: MIB }, &|_| ())
                .await
                .map(drop)
                .unwrap_err(),
            two.rename("a", "c").await.unwrap_err(),
            two.delete("a").await.unwrap_err(),
            two.open("base").await.map(drop).unwrap_err(),
        ] {
            assert!(damaged(&error), "{error}");
        }
        assert_eq!(names(two.list().await.unwrap()).len(), 4);
        one.unmount().await.unwrap();
        let beating = two.clone();
        let tidied = future::select(Box::pin(two.tidy()), Box::pin(async move { beating.keep_alive().await })).await;
        assert!(matches!(tidied, Either::Left((Ok(_), _))));
        two.unmount().await.unwrap();
    });
}

/// A lock whose owner's heartbeat slot is damaged must not be taken.
#[test]
fn a_host_whose_slot_is_damaged_does_not_count_as_dead() {
    let world = World::new(4);
    let run = world.clone();
    world.time.run(async move {
        let one = created(&run).await;
        let _open = one.open("a").await.unwrap();
        let (_, two) = run.mount("two").await;
        run.medium.poke(one.geometry().heartbeat(0), &NONSENSE);
        assert!(matches!(two.open("a").await.map(drop), Err(DatastoreError::Damaged { .. })));
        assert_eq!(two.tidy().await.unwrap().locks, 0);
        two.open("b").await.unwrap().close().await.unwrap();
        // The host learns of it with its next renewal.
        assert!(one.renew().await.is_err());
        two.unmount().await.unwrap();
    });
}

#[test]
fn records_and_pointers_that_make_no_sense_are_named() {
    let world = World::new(2);
    let run = world.clone();
    world.time.run(async move {
        let one = created(&run).await;
        let geometry = one.geometry();
        let b = one.store.load::<Pointers>(geometry.direct(1, 0)).await.unwrap().value;
        let record = |number| geometry.file(number);
        let (middle, a) = (one.record(3).await.unwrap(), one.record(0).await.unwrap());
        let whole: Vec<_> = (0..5).map(|number| (record(number), one.store.load::<File>(record(number)))).collect();
        let mut images = Vec::new();
        for (lba, loading) in whole {
            images.push((lba, loading.await.unwrap().image));
        }
        let again = || images.iter().for_each(|(lba, image)| run.medium.poke(*lba, image));

        mend::<File>(&run, &one, record(0), |file| file.format = 9).await;
        found(&one, &["a has the unknown format 9"], 0).await;
        again();
        mend::<File>(&run, &one, record(1), |file| file.size = (MIB - 100).into()).await;
        found(&one, &["b has 1048476 bytes, not a multiple of 512"], 0).await;
        again();
        mend::<File>(&run, &one, record(2), |file| file.set_parent(Some(id_of(&middle)))).await;
        found(&one, &["base is based on itself through 1 other disks"], 0).await;
        again();
        mend::<File>(&run, &one, record(2), |file| file.set_parent(Some(id_of(&a)))).await;
        found(&one, &["base is based on a missing disk"], 0).await;
        again();
        mend::<File>(&run, &one, record(0), |file| file.state = 77).await;
        found(&one, &["state 77"], 0).await;
        again();

        // Behind the end: another disk's block is damage, the disk's own is a leftover.
        let theirs = b.entries[0];
        mend::<Pointers>(&run, &one, geometry.direct(0, 0), |pointers| pointers.entries[40] = theirs).await;
        found(&one, &["a: block "], 0).await;
        mend::<Pointers>(&run, &one, geometry.direct(0, 0), |pointers| pointers.entries[40] = 0.into()).await;
        let block = one.allocate(id_of(&a), &[40]).await.unwrap()[0];
        found(&one, &[], 1).await;
        let pointer = Pointer::Data(block).pack();
        mend::<Pointers>(&run, &one, geometry.direct(0, 0), |pointers| pointers.entries[40] = pointer.into()).await;
        found(&one, &[], 1).await;
        assert_eq!(alive(&one, one.tidy()).await.unwrap().blocks, 1);
        found(&one, &[], 0).await;
        // A pointer out of the datastore; then a hole that the format forbids.
        mend::<Pointers>(&run, &one, geometry.direct(0, 0), |pointers| pointers.entries[41] = 0x7fff_0000.into()).await;
        found(&one, &["leads out of the datastore"], 0).await;
        mend::<Pointers>(&run, &one, geometry.direct(0, 0), |pointers| pointers.entries[41] = 0.into()).await;
        mend::<Pointers>(&run, &one, geometry.direct(1, 0), |pointers| pointers.entries[0] = 0.into()).await;
        found(&one, &["b is eagerzeroedthick, but 1 of its blocks are missing"], 1).await;
        mend::<Pointers>(&run, &one, geometry.direct(1, 0), |pointers| *pointers = b).await;
        // Entries of the allocation table without a valid owner.
        let last = geometry.allocation(geometry.allocation_sectors() - 2);
        mend::<Allocations>(&run, &one, last, |entries| entries.entries[3] = 12_345.into()).await;
        found(&one, &["is not free, but belongs to no file"], 0).await;
        mend::<Allocations>(&run, &one, last, |entries| entries.entries[3] = (30_u64 << 44).into()).await;
        found(&one, &["belongs to a missing file"], 0).await;
        mend::<Allocations>(&run, &one, last, |entries| entries.entries[3] = 0.into()).await;
        found(&one, &[], 0).await;
    });
}

#[test]
fn a_header_that_no_datastore_has_is_refused_and_the_second_one_serves_the_check() {
    let world = World::new(3);
    let run = world.clone();
    world.time.run(async move {
        let one = created(&run).await;
        let good = one.store.load::<Header>(HEADER).await.unwrap().image;
        let changes: [fn(&mut Header); 6] = [
            |header| header.block_sectors = 3.into(),
            |header| header.block_sectors = 64.into(),
            |header| header.block_sectors = (1 << 18).into(),
            |header| header.files = u32::MAX.into(),
            |header| header.hosts = 0.into(),
            |header| header.blocks = 0.into(),
        ];
        for change in changes {
            mend::<Header>(&run, &one, HEADER, change).await;
            let seen = Datastore::view(run.device(), run.mover()).await;
            assert!(matches!(seen, Err(DatastoreError::Damaged { lba: HEADER, .. })));
            let mounted = Datastore::mount(run.device(), run.mover(), Host { name: "h".into() }).await;
            assert!(matches!(mounted, Err(DatastoreError::Damaged { lba: HEADER, .. })));
            run.medium.poke(HEADER, &good);
        }
        mend::<Header>(&run, &one, HEADER, |header| header.created = 7.into()).await;
        found(&one, &["differs from the first"], 0).await;
        for lost in [&NONSENSE, &[0; 512]] {
            run.medium.poke(HEADER, lost);
            assert!(Datastore::view(run.device(), run.mover()).await.is_err());
            let view = Datastore::view_to_check(run.device(), run.mover()).await.unwrap();
            let second = format!("only the header in sector {} is intact", one.geometry().second_header());
            found(&view, &["the header, sector 0:", &second], 0).await;
            assert_eq!(view.list().await.unwrap().len(), 5);
        }
        run.medium.poke(one.geometry().second_header(), &NONSENSE);
        let lost = Datastore::view_to_check(run.device(), run.mover()).await;
        assert!(matches!(lost, Err(DatastoreError::NoDatastore)));
    });
}
