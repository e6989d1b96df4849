//! Migration of a disk over the real array while a verifying guest works: no write is lost, and the
//! guest hardly waits.

use crate::disk::Host;
use crate::fixture::Fixture;
use data_mover::{DataMover, Settings};
use datastore::{Datastore, DiskFormat, DiskOptions, FormatOptions};
use initiator::LogicalUnit;
use std::cell::Cell;
use std::process::Stdio;
use std::rc::Rc;
use std::time::{Duration, Instant};
use virtual_disk::load::{Load, LoadOptions};
use virtual_disk::{Endpoint, Kit, KitOptions, MigrateError, Mirror};

const MIB: u64 = 1 << 20;
/// Largest number of commands and bytes sent while a guest is paused for its cut-over. Neither
/// depends on the size of the disk, so the guest waits for milliseconds.
const CUT_OVER: (u64, u64) = (16, 64 << 10);

fn run<T>(settings: Settings, work: impl AsyncFnOnce(&Kit) -> T) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let kit = Kit::new(&KitOptions { settings, ..KitOptions::default() }, true);
        let value = work(&kit).await;
        kit.close().await;
        value
    })
}

async fn store(kit: &Kit, fixture: &Fixture, volume: &str, block_bytes: u64) -> Rc<Datastore<LogicalUnit>> {
    let url = fixture.array.create_volume(volume, "512M").unwrap().url().parse().unwrap();
    let options = FormatOptions { files: 64, hosts: 8, block_bytes, ..FormatOptions::default() };
    Datastore::format(&kit.unit(&url).await.unwrap(), kit.mover(), &options).await.unwrap();
    kit.datastore(&url).await.unwrap()
}

async fn endpoints(
    here: &Rc<Datastore<LogicalUnit>>,
    there: &Rc<Datastore<LogicalUnit>>,
    size: u64,
) -> (Endpoint<LogicalUnit>, Endpoint<LogicalUnit>) {
    let thin = DiskOptions { format: DiskFormat::Thin, size };
    let source = here.create_open("disk", thin, &|_| ()).await.unwrap();
    let destination = there.begin_disk("disk", thin).await.unwrap();
    (Endpoint::Disk(Box::new(source)), Endpoint::Disk(Box::new(destination)))
}

async fn publish(endpoint: &Endpoint<LogicalUnit>) -> Result<(), datastore::DatastoreError> {
    match endpoint {
        Endpoint::Disk(disk) => disk.publish().await,
        Endpoint::Unit { .. } => Ok(()),
    }
}

/// Lets the guest complete this many further requests.
async fn more_requests(load: &Load, mover: &DataMover, requests: usize) {
    let wanted = load.samples().len() + requests;
    while load.samples().len() < wanted {
        mover.clock().sleep(Duration::from_millis(1)).await;
    }
}

/// Runs the guest until `work` has finished.
async fn under_load<T>(
    load: &Load,
    mirror: &Mirror<LogicalUnit>,
    mover: &DataMover,
    work: impl Future<Output = T>,
) -> T {
    let until_done = async {
        let value = work.await;
        load.stop();
        value
    };
    let (guest, value) = tokio::join!(load.run(mirror, mover.clock()), until_done);
    guest.unwrap();
    value
}

#[test]
fn no_write_is_lost_and_the_guest_hardly_waits_on_and_off() {
    let fixture = Fixture::start("2G", &[]);
    for (name, settings, block_bytes) in [("on", Settings::default(), 1 << 20), ("off", Settings::off(), 2 << 20)] {
        migrate(&fixture, name, settings, block_bytes);
    }
}

/// Moves the disk of a working guest. Counts the work that the guest waits for, instead of timing
/// it.
fn migrate(fixture: &Fixture, name: &str, settings: Settings, block_bytes: u64) {
    run(settings, async |kit| {
        let here = store(kit, fixture, &format!("{name}-here"), 1 << 20).await;
        let there = store(kit, fixture, &format!("{name}-there"), block_bytes).await;
        let size = 128 * MIB;
        let (source, destination) = endpoints(&here, &there, size).await;
        let mirror = Mirror::new(source, destination);
        let load = Load::new(LoadOptions::default(), size);
        load.fill(&mirror, &|| false).await.unwrap();
        let before = kit.counters();
        let (moved, pause) = under_load(&load, &mirror, kit.mover(), async {
            let moved = mirror.copy(&|| false, &|_| ()).await.unwrap();
            let held_back = Cell::new((0, 0));
            let pause = mirror
                .cut_over(async |endpoint| {
                    let before = kit.counters();
                    let published = publish(endpoint).await;
                    let after = kit.counters();
                    held_back.set((after.commands - before.commands, after.sent_bytes - before.sent_bytes));
                    published
                })
                .await
                .unwrap();
            println!("{name}: {:?} commands and bytes in the cut-over", held_back.get());
            let (commands, bytes) = held_back.get();
            assert!((1..=CUT_OVER.0).contains(&commands) && bytes <= CUT_OVER.1, "{commands} commands, {bytes} bytes");
            more_requests(&load, kit.mover(), 500).await;
            (moved, pause)
        })
        .await;
        assert_eq!(moved.offloaded_bytes + moved.host_bytes(), size);
        assert_eq!(moved.host_bytes() == 0, settings.hardware_accelerated_move);
        assert!(mirror.is_moved());
        load.verify(&mirror).await.unwrap();
        let received = kit.counters().received_bytes - before.received_bytes;
        let longest = load.samples().iter().map(|sample| sample.took).max().unwrap();
        println!(
            "{name}: pause {pause:?}, {} requests, the longest {longest:?}, {received} bytes received",
            load.samples().len()
        );
        if let Some(Endpoint::Disk(source)) = mirror.settle().await {
            source.close().await.unwrap();
        }
        here.delete("disk").await.unwrap();
        if let Some(Endpoint::Disk(disk)) = mirror.into_disk() {
            disk.close().await.unwrap();
        }
        for store in [&here, &there] {
            let report = store.check().await.unwrap();
            assert_eq!((report.problems, report.leftovers), (vec![], vec![]));
        }
        assert_eq!((here.list().await.unwrap().len(), there.list().await.unwrap().len()), (0, 1));
    })
}

#[test]
fn a_destination_without_space_leaves_the_guest_at_the_source() {
    // The pool has space for the source and for only a part of the copy, which the host makes.
    let fixture = Fixture::start("256M", &[]);
    run(Settings::off(), async |kit| {
        let here = store(kit, &fixture, "here", 1 << 20).await;
        let there = store(kit, &fixture, "there", 1 << 20).await;
        let size = 128 * MIB;
        let (source, destination) = endpoints(&here, &there, size).await;
        let mirror = Mirror::new(source, destination);
        let load = Load::new(LoadOptions { write_percent: 20, ..LoadOptions::default() }, size);
        load.fill(&mirror, &|| false).await.unwrap();
        let begun = Instant::now();
        let outcome = under_load(&load, &mirror, kit.mover(), async {
            let outcome = mirror.copy(&|| false, &|_| ()).await;
            if let Some(Endpoint::Disk(part)) = mirror.settle().await {
                part.abandon().await.unwrap();
            }
            more_requests(&load, kit.mover(), 300).await;
            outcome
        })
        .await;
        assert!(matches!(outcome, Err(MigrateError::Failed(_))), "{outcome:?} after {:?}", begun.elapsed());
        assert!(!mirror.is_moved());
        load.verify(&mirror).await.unwrap();
        assert!(there.list().await.unwrap().is_empty());
        let report = there.check().await.unwrap();
        assert_eq!((report.problems, report.leftovers, report.blocks), (vec![], vec![], 0));
        if let Some(Endpoint::Disk(disk)) = mirror.into_disk() {
            disk.close().await.unwrap();
        }
    });
}

/// Regression: the array of the source died after the guest had moved to the destination. The
/// command blamed the source, suggested a retry, and did not mention the move.
#[test]
fn a_source_that_dies_after_the_cut_over_is_reported_with_the_move() {
    let (mut old, new) = (Fixture::start("512M", &[]), Fixture::start("512M", &[]));
    let (from, to) = {
        let (here, there) = (Host::new(&old), Host::new(&new));
        (here.unit("here", "256M"), there.unit("there", "256M"))
    };
    let host = Host::new(&new);
    for url in [&from, &to] {
        host.ok(&["datastore", "format", url]);
    }
    let (vm, moved) = (format!("{from}#vm"), format!("{to}#vm"));
    host.ok(&["disk", "create", "-d", "thin", "-c", "16M", &vm]);
    let words = ["disk", "migrate", "--load", "--settle", "4", &vm, &moved];
    let child = host.command(&words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let begun = Instant::now();
    while host.json(&["datastore", "ls", &to]).as_array().unwrap().is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(60), "the disk is not moved");
    }
    old.array.kill().unwrap();
    let output = child.wait_with_output().unwrap();
    let (out, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(7), "{said}");
    assert!(out.starts_with("moved ") && out.contains("every acknowledged write present at the end"), "{out}");
    assert!(out.contains("could not be removed and is stale"), "{out}");
    assert!(
        said.contains("error: the old disk could not be removed:")
            && said.contains("help: the disk is complete at its destination"),
        "{said}"
    );
    assert_eq!(host.json(&["datastore", "ls", &to])[0]["name"], "vm");
}
