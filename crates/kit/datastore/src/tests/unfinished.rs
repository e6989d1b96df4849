//! Unfinished operations: copies that continue, commits that are repeated, names that two hosts
//! want, and tidying up.

use super::*;
use crate::{Source, VirtualDisk};

const MIB: u64 = 1 << 20;
const THIN: DiskOptions = DiskOptions { format: DiskFormat::Thin, size: 2 * MIB };

async fn content(disk: &VirtualDisk<MemoryDevice>) -> Bytes {
    disk.read(0, disk.size()).await.unwrap()
}

#[test]
fn a_name_is_taken_while_its_file_is_being_created() {
    let world = World::new(1);
    let run = world.clone();
    world.time.run(async move {
        run.format().await;
        let (device, one) = run.mount("one").await;
        let (_, two) = run.mount("two").await;
        let begun = one.begin_disk("disk", THIN).await.unwrap();
        // While the first host lives, the second one waits, and then gets the reason.
        let refused = alive(&one, alive(&two, two.create_disk("disk", THIN, &|_| ()))).await;
        assert!(matches!(&refused, Err(DatastoreError::Locked { host, .. }) if host == "one"), "{refused:?}");
        let other = alive(&two, two.create_disk("other", THIN, &|_| ())).await;
        other.unwrap();
        let making = alive(&two, two.rename("other", "disk"));
        let publish = async {
            run.time.sleep(Duration::from_secs(2)).await;
            begun.publish().await.unwrap();
            begun.close().await.unwrap();
        };
        let (renamed, ()) = alive(&one, future::join(making, publish)).await;
        assert!(matches!(renamed, Err(DatastoreError::Exists(_))), "{renamed:?}");
        // If the first host dies before, the name is free again.
        let _begun = alive(&one, one.begin_disk("third", THIN)).await.unwrap();
        device.cut();
        alive(&two, two.create_disk("third", THIN, &|_| ())).await.unwrap();
        let report = two.check().await.unwrap();
        assert_eq!((report.problems, report.files), (vec![], 3));
    });
}

#[test]
fn a_copy_continues_unless_a_host_opened_the_source() {
    let world = World::new(2);
    let run = world.clone();
    world.time.run(async move {
        run.format().await;
        let (device, one) = run.mount("one").await;
        let source = one.create_open("source", THIN, &|_| ()).await.unwrap();
        source.write(0, pattern(3, 2 << 20)).await.unwrap();
        let mark = source.mark().await.unwrap();
        let copy = one.begin_disk("copy", THIN).await.unwrap();
        copy.copy_from(Source::Disk(&source), 0, MIB, &|_| ()).await.unwrap();
        copy.keep_partial(&mark, MIB).await.unwrap();
        // The host dies; the partial copy remains, and keeps the name.
        device.cut();
        let (_, two) = run.mount("two").await;
        alive(&two, async {
            assert_eq!(two.list().await.unwrap().len(), 1);
            let refused = two.create_disk("copy", THIN, &|_| ()).await;
            assert!(matches!(refused, Err(DatastoreError::Partial(_))), "{refused:?}");
            let source = two.open("source").await.unwrap();
            let mark = source.mark().await.unwrap();
            let (copy, partial) = two.resume_disk("copy").await.unwrap().unwrap();
            assert!(mark.continues(&partial.source) && partial.copied == MIB && partial.size == 2 * MIB);
            let moved = copy.copy_from(Source::Disk(&source), MIB, MIB, &|_| ()).await.unwrap();
            assert_eq!(moved.offloaded_bytes, MIB);
            copy.publish().await.unwrap();
            assert_eq!(content(&copy).await, content(&source).await);
            copy.close().await.unwrap();
            // An orderly end; then the source is opened, or not.
            let part = two.begin_disk("part", THIN).await.unwrap();
            two.mover().interrupt();
            let interrupted = part.copy_from(Source::Disk(&source), 0, MIB, &|_| ()).await;
            assert!(matches!(interrupted, Err(DatastoreError::Device(DeviceError::Interrupted))));
            part.close_partial(&mark, 0).await.unwrap();
            // A check on an interrupted host ends, too.
            assert!(matches!(two.check().await, Err(DatastoreError::Device(DeviceError::Interrupted))));
            let checked = async || {
                let (_, looking) = run.mount("looking").await;
                let report = looking.check().await.unwrap();
                looking.unmount().await.unwrap();
                report
            };
            assert_eq!(checked().await.leftovers, Vec::<String>::new());
            source.close().await.unwrap();
            for (same, size) in [(true, 0), (false, 0)] {
                let source = two.open("source").await.unwrap();
                let (part, partial) = two.resume_disk("part").await.unwrap().unwrap();
                assert_eq!((source.mark().await.unwrap().continues(&partial.source), partial.copied), (same, size));
                part.close().await.unwrap();
                source.close().await.unwrap();
            }
            assert!(two.delete_partial("part").await.unwrap() && !two.delete_partial("part").await.unwrap());
            let report = checked().await;
            assert_eq!((report.problems, report.leftovers, report.blocks), (vec![], vec![], 64));
        })
        .await;
    });
}

#[test]
fn a_commit_that_was_cut_off_at_any_step_can_be_done_again() {
    let (mut before, mut after) = (0, 0);
    for step in 0..40 {
        let world = World::new(100 + step);
        let run = world.clone();
        let done = world.time.run(async move {
            run.format().await;
            let (device, one) = run.mount("one").await;
            let disk = one.create_open("base", THIN, &|_| ()).await.unwrap();
            disk.write(0, pattern(1, 1 << 20)).await.unwrap();
            let top = disk.snapshot("top").await.map_err(|(_, error)| error).unwrap();
            top.write(MIB / 2, pattern(2, 1 << 19)).await.unwrap();
            let expected = content(&top).await;
            device.cut_after(step * 3);
            let cut = top.commit(&|_| ()).await.is_err();
            device.cut();
            let (_, two) = run.mount("two").await;
            alive(&two, async {
                two.tidy().await.unwrap();
                let report = two.check().await.unwrap();
                assert_eq!((report.problems, report.leftovers), (vec![], vec![]), "step {step}");
                let names: Vec<_> = two.list().await.unwrap().into_iter().map(|file| file.name).collect();
                let disk = match names.len() {
                    1 => two.open("base").await.unwrap(),
                    _ => {
                        assert!(cut, "step {step}: {names:?}");
                        let top = two.open("top").await.unwrap();
                        assert_eq!(content(&top).await, expected, "step {step}");
                        top.close().await.unwrap();
                        // A base that mixes two states must not be readable.
                        match two.open_read("base").await {
                            Ok(base) => base.close().await.unwrap(),
                            Err(DatastoreError::Unsuitable(_)) => {
                                let clone = two.create_linked_clone("base", "clone").await;
                                assert!(matches!(clone, Err(DatastoreError::Unsuitable(_))), "{clone:?}");
                                let deleted = two.delete("top").await;
                                assert!(matches!(deleted, Err(DatastoreError::Unsuitable(_))), "{deleted:?}");
                            }
                            Err(error) => panic!("step {step}: {error}"),
                        }
                        let top = two.open("top").await.unwrap();
                        top.commit(&|_| ()).await.map_err(|(_, error)| error).unwrap()
                    }
                };
                assert_eq!(content(&disk).await, expected, "step {step}");
                disk.close().await.unwrap();
                names.len()
            })
            .await
        });
        *(if done == 1 { &mut after } else { &mut before }) += 1;
    }
    assert!(before > 5 && after > 5, "{before} before, {after} after");
}

#[test]
fn tidying_up_leaves_nothing_of_the_dead_and_everything_of_the_living() {
    let world = World::new(4);
    let run = world.clone();
    world.time.run(async move {
        run.format().await;
        let (first, one) = run.mount("one").await;
        let (_, two) = run.mount("two").await;
        let (_, three) = run.mount("three").await;
        let _open = one.create_open("open", THIN, &|_| ()).await.unwrap();
        let _half = one.begin_disk("half", THIN).await.unwrap();
        let living = two.create_open("living", THIN, &|_| ()).await.unwrap();
        first.cut();
        let tidied = alive(&two, alive(&three, three.tidy())).await.unwrap();
        assert_eq!((tidied.hosts, tidied.locks, tidied.files), (1, 2, 1));
        let report = three.check().await.unwrap();
        assert_eq!((report.problems, report.leftovers, report.files), (vec![], vec![], 2));
        let slots = three.slots().await.unwrap();
        let seen: Vec<_> = slots.iter().map(|slot| (slot.host.as_str(), slot.locks)).collect();
        assert_eq!(seen, [("two", 1), ("three", 0)]);
        living.write(0, pattern(1, 512)).await.unwrap();
        // With nothing to do, tidying up takes less than 10 s.
        let begun = run.time.now();
        alive(&two, alive(&three, three.tidy())).await.unwrap();
        assert!(run.time.now() - begun < Duration::from_secs(10));
    });
}

#[test]
fn viewing_changes_nothing() {
    let world = World::new(5);
    let run = world.clone();
    world.time.run(async move {
        run.format().await;
        let (_, one) = run.mount("one").await;
        one.create_disk("disk", THIN, &|_| ()).await.unwrap();
        let view = Datastore::view(run.device(), run.mover()).await.unwrap();
        assert_eq!((view.list().await.unwrap().len(), view.hosts().await.unwrap().len()), (1, 1));
        assert_eq!(view.stat("disk").await.unwrap().1.capacity_bytes, 2 * MIB);
        assert!(matches!(view.create_disk("more", THIN, &|_| ()).await, Err(DatastoreError::Evicted)));
        assert!(matches!(view.delete("disk").await, Err(DatastoreError::Evicted)));
        view.unmount().await.unwrap();
        one.touch("disk").await.unwrap();
    });
}

#[test]
fn disks_report_their_space_and_free_zeros() {
    let world = World::new(6);
    let run = world.clone();
    world.time.run(async move {
        run.format().await;
        let (_, one) = run.mount("one").await;
        let space = async |name: &str| {
            let space = one.stat(name).await.unwrap().1;
            assert_eq!(space.capacity_bytes, 2 * MIB);
            (space.used_bytes >> 16, space.unshared_bytes >> 16)
        };
        let disk = one.create_open("thin", THIN, &|_| ()).await.unwrap();
        disk.write(0, pattern(1, 1 << 20)).await.unwrap();
        disk.write(3 << 16, vec![0; 2 << 16].into()).await.unwrap();
        assert_eq!(space("thin").await, (16, 16));
        // Two blocks of zeros, then three discarded blocks and the edges of two others.
        assert_eq!(disk.punch_zeros(&|_| ()).await.unwrap(), 2 << 16);
        assert_eq!(disk.discard((6 << 16) - 512, (3 << 16) + 1024, &|_| ()).await.unwrap(), 3 << 16);
        assert_eq!(space("thin").await, (11, 11));
        let mut expected = pattern(1, 1 << 20).to_vec();
        expected[3 << 16..5 << 16].fill(0);
        expected[(6 << 16) - 512..(9 << 16) + 512].fill(0);
        expected.resize(2 << 20, 0);
        assert_eq!(content(&disk).await, expected);
        disk.inflate(&|_| ()).await.unwrap();
        assert_eq!((content(&disk).await, space("thin").await), (expected.clone().into(), (32, 32)));
        assert!(matches!(disk.punch_zeros(&|_| ()).await, Err(DatastoreError::Unsuitable(_))));
        assert_eq!(disk.discard(0, 1 << 16, &|_| ()).await.unwrap(), 1 << 16);
        expected[..1 << 16].fill(0);
        assert_eq!(content(&disk).await, expected);
        // Below a snapshot nothing is unshared; the top has only its own.
        let top = disk.snapshot("top").await.map_err(|(_, error)| error).unwrap();
        top.write(0, pattern(9, 512)).await.unwrap();
        assert_eq!((space("thin").await, space("top").await), ((32, 0), (32, 1)));
        top.zero(&|_| ()).await.unwrap();
        assert!(content(&top).await.iter().all(|byte| *byte == 0));
        let disk = top.commit(&|_| ()).await.map_err(|(_, error)| error).unwrap();
        assert!(content(&disk).await.iter().all(|byte| *byte == 0));
        disk.write(0, pattern(9, 512)).await.unwrap();
        disk.zero(&|_| ()).await.unwrap();
        assert!(content(&disk).await.iter().all(|byte| *byte == 0));
        disk.close().await.unwrap();
        let report = one.check().await.unwrap();
        assert_eq!((report.problems, report.leftovers, report.blocks), (vec![], vec![], 32));
    });
}
