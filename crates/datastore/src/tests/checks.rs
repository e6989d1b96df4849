//! Damage that the check has to name, one at a time; and that it goes on after it.

use super::*;
use crate::directory::id_of;
use crate::format::{Allocations, File, Header, Pointer, Pointers};
use crate::geometry::{DIRECTORY_LOCK, HEADER};
use crate::sector::{Payload, encode};

const MIB: u64 = 1 << 20;
const NONSENSE: [u8; 512] = [0xff; 512];

type Store = Rc<Datastore<MemoryDevice>>;

/// Changes a sector without anybody's leave.
async fn mend<T: Payload>(run: &World, store: &Store, lba: u64, change: impl FnOnce(&mut T)) {
    let loaded = store.store.load::<T>(lba).await.unwrap();
    let mut value = loaded.value;
    change(&mut value);
    run.medium.poke(lba, &encode(loaded.version, &value));
}

/// Two thick disks and a chain of three thin ones: records 0 to 4.
async fn made(run: &World) -> Store {
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

/// What the check says after a change: problems that have to have these words, one each, and so many leftovers.
async fn found(store: &Store, problems: &[&str], leftovers: usize) {
    let report = store.check().await.unwrap();
    assert_eq!(report.problems.len(), problems.len(), "{problems:?}: {:?}", report.problems);
    for (found, words) in report.problems.iter().zip(problems) {
        assert!(found.contains(words), "{found:?}, not {words:?}");
        assert!(!found.contains("windlass datastore check"), "{found:?}");
    }
    assert_eq!(report.leftovers.len(), leftovers, "{problems:?}: {:?}", report.leftovers);
}

/// Most of this was not seen, or ended the check.
#[test]
fn everything_that_is_wrong_is_named_and_the_check_goes_on() {
    let world = World::new(1);
    let run = world.clone();
    world.time.run(async move {
        let one = made(&run).await;
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

#[test]
fn records_and_pointers_that_make_no_sense_are_named() {
    let world = World::new(2);
    let run = world.clone();
    world.time.run(async move {
        let one = made(&run).await;
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
        found(&one, &["a is of format 9"], 0).await;
        again();
        mend::<File>(&run, &one, record(1), |file| file.size = (MIB - 100).into()).await;
        found(&one, &["b has 1048476 bytes, which are no whole sectors"], 0).await;
        again();
        mend::<File>(&run, &one, record(2), |file| file.set_parent(Some(id_of(&middle)))).await;
        found(&one, &["base is based on itself, by way of 1 other disks"], 0).await;
        again();
        mend::<File>(&run, &one, record(2), |file| file.set_parent(Some(id_of(&a)))).await;
        found(&one, &["base is based on a disk that is not there"], 0).await;
        again();
        mend::<File>(&run, &one, record(0), |file| file.state = 77).await;
        found(&one, &["state 77"], 0).await;
        again();

        // Behind the end: another disk's block is damage, one's own is left over.
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
        // Out of the datastore; then a hole where none may be.
        mend::<Pointers>(&run, &one, geometry.direct(0, 0), |pointers| pointers.entries[41] = 0x7fff_0000.into()).await;
        found(&one, &["leads out of the datastore"], 0).await;
        mend::<Pointers>(&run, &one, geometry.direct(0, 0), |pointers| pointers.entries[41] = 0.into()).await;
        mend::<Pointers>(&run, &one, geometry.direct(1, 0), |pointers| pointers.entries[0] = 0.into()).await;
        found(&one, &["b is eagerzeroedthick, and 1 of its blocks are not there"], 1).await;
        mend::<Pointers>(&run, &one, geometry.direct(1, 0), |pointers| *pointers = b).await;
        // Entries of the allocation table that are nobody's.
        let last = geometry.allocation(geometry.allocation_sectors() - 2);
        mend::<Allocations>(&run, &one, last, |entries| entries.entries[3] = 12_345.into()).await;
        found(&one, &["is not free, and is of no file"], 0).await;
        mend::<Allocations>(&run, &one, last, |entries| entries.entries[3] = (30_u64 << 44).into()).await;
        found(&one, &["is of a file that is not there"], 0).await;
        mend::<Allocations>(&run, &one, last, |entries| entries.entries[3] = 0.into()).await;
        found(&one, &[], 0).await;
    });
}

#[test]
fn a_header_that_no_datastore_has_is_refused_and_the_second_one_serves_the_check() {
    let world = World::new(3);
    let run = world.clone();
    world.time.run(async move {
        let one = made(&run).await;
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
        found(&one, &["is not the same as the first"], 0).await;
        for lost in [&NONSENSE, &[0; 512]] {
            run.medium.poke(HEADER, lost);
            assert!(Datastore::view(run.device(), run.mover()).await.is_err());
            let view = Datastore::view_to_check(run.device(), run.mover()).await.unwrap();
            let second = format!("only the header in sector {} is left", one.geometry().second_header());
            found(&view, &["the header, sector 0:", &second], 0).await;
            assert_eq!(view.list().await.unwrap().len(), 5);
        }
        run.medium.poke(one.geometry().second_header(), &NONSENSE);
        let lost = Datastore::view_to_check(run.device(), run.mover()).await;
        assert!(matches!(lost, Err(DatastoreError::NoDatastore)));
    });
}
