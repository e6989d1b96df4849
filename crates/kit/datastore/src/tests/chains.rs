//! Base disks: read without a lock while another host changes them.

use super::*;
use crate::VirtualDisk;
use crate::format::FileId;
use crate::records::id_of;

const MIB: u64 = 1 << 20;
const SIZE: u64 = 4 * MIB;
const THIN: DiskOptions = DiskOptions { format: DiskFormat::Thin, size: SIZE };

type Store = Rc<Datastore<MemoryDevice>>;

async fn content(disk: &VirtualDisk<MemoryDevice>) -> Bytes {
    disk.read(0, disk.size()).await.unwrap()
}

/// Action of another host on `base` or on `top`, which is based on it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Other {
    /// Commits the snapshot.
    Commits,
    /// Commits the snapshot and takes another one: the base is frozen as before.
    CommitsAndFreezes,
    /// Deletes both; another disk gets the blocks.
    Deletes,
    /// Deletes the snapshot, and writes to the base.
    Writes,
    /// Creates more children and touches the base; its content stays.
    Touches,
    /// Renames the base.
    Renames,
}

async fn interfere(store: &Store, other: Other) {
    let commit = async || {
        let top = store.open("top").await.unwrap();
        top.commit(&|_| ()).await.map_err(|(_, error)| error).unwrap()
    };
    match other {
        Other::Commits => commit().await.close().await.unwrap(),
        Other::CommitsAndFreezes => {
            let top = commit().await.snapshot("top").await.map_err(|(_, error)| error).unwrap();
            top.close().await.unwrap();
        }
        Other::Deletes => {
            store.delete("top").await.unwrap();
            store.delete("base").await.unwrap();
            let size = 900 << 16;
            let other = store.create_open("other", DiskOptions { size, ..THIN }, &|_| ()).await.unwrap();
            for offset in (0..size).step_by(1 << 20) {
                other.write(offset, pattern(99, MIB.min(size - offset) as usize)).await.unwrap();
            }
        }
        Other::Writes => {
            store.delete("top").await.unwrap();
            let base = store.open("base").await.unwrap();
            base.write(0, pattern(98, SIZE as usize)).await.unwrap();
            base.close().await.unwrap();
        }
        Other::Touches => {
            for number in 0..4 {
                store.create_linked_clone("base", &format!("linked-{number}")).await.unwrap();
                store.touch("base").await.unwrap();
            }
            store.delete("top").await.unwrap();
        }
        Other::Renames => store.rename("base", "other").await.unwrap(),
    }
}

/// Regression: a disk that is read without a lock was cloned while its snapshot was committed, or
/// while it was deleted. The clone mixed two states, or held another disk's data, without an error.
#[test]
fn a_clone_of_a_disk_that_another_host_changes_meanwhile_is_whole_or_fails() {
    let others =
        [Other::Commits, Other::CommitsAndFreezes, Other::Deletes, Other::Writes, Other::Touches, Other::Renames];
    for other in others {
        let (mut whole, mut failed) = (0, 0);
        for wait in (0..=1200).step_by(100) {
            let slow = Settings { depth: 1, max_hardware_transfer_bytes: 64 << 10, ..Settings::default() };
            let world = World::with(wait, slow, |_| ());
            let run = world.clone();
            let created = world.time.run(async move {
                run.format().await;
                // The reader is slow, so that the other host overtakes it.
                let time = run.time.clone();
                let delay: Delay = Rc::new(move || time.sleep(Duration::from_millis(8)));
                let device = MemoryDevice::new(&run.medium, 100, 1, SECTORS).with_delay(delay);
                let host = Host { name: "one".into() };
                let one = Datastore::mount(Rc::new(device), run.mover(), host).await.unwrap();
                let (_, two) = run.mount("two").await;
                let base = two.create_open("base", THIN, &|_| ()).await.unwrap();
                let expected = pattern(1, SIZE as usize);
                base.write(0, expected.clone()).await.unwrap();
                let top = base.snapshot("top").await.map_err(|(_, error)| error).unwrap();
                top.write(0, pattern(2, SIZE as usize)).await.unwrap();
                top.close().await.unwrap();
                one.renew().await.unwrap();
                two.renew().await.unwrap();
                let cloned = async {
                    let source = one.open_read("base").await?;
                    let cloned = one.clone_disk(&source, "copy", DiskFormat::Thin, &|_| ()).await.map(drop);
                    // The check gives the same answer to a caller that only reads.
                    let still = source.check_unchanged().await;
                    assert_eq!(still.is_ok(), cloned.is_ok() && still.is_ok());
                    source.close().await?;
                    cloned
                };
                let interfering = async {
                    run.time.sleep(Duration::from_millis(wait)).await;
                    interfere(&two, other).await;
                };
                let (cloned, ()) = alive(&one, alive(&two, future::join(cloned, interfering))).await;
                let created = match cloned {
                    Ok(()) => {
                        let copy = one.open("copy").await.unwrap();
                        let found = content(&copy).await;
                        let before = matches!(other, Other::Commits | Other::CommitsAndFreezes | Other::Writes);
                        // A clone that began after the other host had finished holds the later
                        // content.
                        let later = match other {
                            Other::Writes => pattern(98, SIZE as usize),
                            _ => pattern(2, SIZE as usize),
                        };
                        assert!(found == expected || (before && found == later), "{other:?} after {wait} ms");
                        copy.close().await.unwrap();
                        true
                    }
                    Err(DatastoreError::Changed(name)) => {
                        assert_eq!(name, "base");
                        assert!(one.list().await.unwrap().iter().all(|file| file.name != "copy"));
                        false
                    }
                    // Opened when the disk did not exist, or during a commit.
                    Err(DatastoreError::NoSuchFile(_) | DatastoreError::Unsuitable(_)) => true,
                    Err(error) => panic!("{other:?} after {wait} ms: {error}"),
                };
                let report = one.check().await.unwrap();
                assert_eq!((report.problems, report.leftovers), (vec![], vec![]), "{other:?} after {wait} ms");
                created
            });
            *(if created { &mut whole } else { &mut failed }) += 1;
        }
        let harmless = matches!(other, Other::Touches | Other::Renames);
        assert_eq!(failed == 0, harmless, "{other:?}: {whole} whole, {failed} failed");
    }
}

/// Regression: a circle of parents was followed until the stack overflowed.
#[test]
fn a_circle_of_disks_is_damage_and_a_long_chain_is_none() {
    let world = World::new(1);
    let run = world.clone();
    world.time.run(async move {
        let options = FormatOptions { block_bytes: 64 << 10, hosts: 8, files: 4096, ..FormatOptions::default() };
        Datastore::format(&run.device(), &run.mover(), &options).await.unwrap();
        let (_, one) = run.mount("one").await;
        alive(&one, async {
            one.create_disk("base", THIN, &|_| ()).await.unwrap();
            one.create_linked_clone("base", "middle").await.unwrap();
            one.create_linked_clone("middle", "top").await.unwrap();
            let middle = one.record(1).await.unwrap();
            let mut base = one.record(0).await.unwrap();
            let (mended, mut circle) = (base.value, base.value);
            circle.set_parent(Some(id_of(&middle)));
            assert!(one.store.swap(&mut base, circle).await.unwrap());
            for opened in [one.open("top").await.err(), one.open_read("middle").await.err()] {
                let what = "the chain of base disks is circular";
                assert!(
                    matches!(&opened, Some(DatastoreError::Damaged { what: found, .. }) if *found == what),
                    "{opened:?}"
                );
            }
            assert!(matches!(one.delete("middle").await, Err(DatastoreError::HasChildren(_))));
            one.stat("top").await.unwrap();
            assert!(one.store.swap(&mut base, mended).await.unwrap());
            // Records written directly: creating this many disks takes long.
            let top = one.record(2).await.unwrap();
            let last = 4000;
            for number in 3..=last {
                let mut record = one.record(number).await.unwrap();
                let mut file = top.value;
                let generation = if number == 3 { top.value.generation.get() } else { 1 };
                file.set_parent(Some(FileId { record: number - 1, generation }));
                file.frozen = u8::from(number < last);
                file.generation = 1.into();
                file.set_name(&format!("disk-{number}"));
                assert!(one.store.swap(&mut record, file).await.unwrap());
            }
            let mut top = one.record(2).await.unwrap();
            let mut frozen = top.value;
            frozen.frozen = 1;
            assert!(one.store.swap(&mut top, frozen).await.unwrap());
            let disk = one.open(&format!("disk-{last}")).await.unwrap();
            assert!(disk.read(0, MIB).await.unwrap().iter().all(|byte| *byte == 0));
            disk.write(0, pattern(5, 512)).await.unwrap();
            assert_eq!(disk.read(0, 512).await.unwrap(), pattern(5, 512));
            disk.check_unchanged().await.unwrap();
            disk.close().await.unwrap();
        })
        .await;
    });
}
