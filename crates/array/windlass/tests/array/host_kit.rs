//! Host kit against the whole array: a clustered datastore of two hosts, with the primitives on and
//! off.

use crate::fixture::{Fixture, run, wait_for};
use data_mover::{DataMover, Device, Settings};
use datastore::{Datastore, DatastoreError, DiskFormat, DiskOptions, FormatOptions, Host, VirtualDisk};
use initiator::{LogicalUnit, Options, Session, SystemClock};
use std::rc::Rc;

const MIB: u64 = 1 << 20;

async fn unit(fixture: &Fixture, volume: &str, host: &str) -> Rc<LogicalUnit> {
    let url: initiator::url::Url = fixture.array.volume(volume).unwrap().url().parse().unwrap();
    let options = Options { initiator_name: format!("iqn.2026-01.org.example:{host}"), ..Options::default() };
    let session = Session::connect(&url, &options).await.unwrap();
    Rc::new(LogicalUnit::find(&session, url.lun).await.unwrap())
}

fn mover(settings: Settings) -> Rc<DataMover> {
    Rc::new(DataMover::new(settings, Rc::new(SystemClock::default())))
}

fn pattern(seed: u64, bytes: u64) -> bytes::Bytes {
    random::pattern(seed, bytes).into()
}

async fn content(disk: &VirtualDisk<LogicalUnit>) -> Vec<u8> {
    let mut all = Vec::new();
    for offset in (0..disk.size()).step_by(1 << 20) {
        all.extend_from_slice(&disk.read(offset, MIB.min(disk.size() - offset)).await.unwrap());
    }
    all
}

#[test]
fn a_unit_reports_its_size_and_limits() {
    let fixture = Fixture::start("256M", &[]);
    fixture.array.create_volume("v1", "16M").unwrap();
    run(async {
        let unit = unit(&fixture, "v1", "one").await;
        let identity = unit.identity();
        assert_eq!((identity.blocks, identity.block_bytes), (32_768, 512));
        assert!(identity.naa.is_some() && unit.is_thin() && unit.reads_zeros());
        let limits = identity.limits;
        assert!(limits.compare_and_write >= 1 && limits.write_same > 0 && limits.unmap > 0, "{limits:?}");
        assert!(limits.copy_segments > 0 && limits.copy_segment >= 8192, "{limits:?}");
    });
}

#[test]
fn two_hosts_share_a_datastore_and_only_who_moves_the_bytes_differs() {
    let mut fixture = Fixture::start("1G", &[]);
    for (volume, settings) in [("on", Settings::default()), ("off", Settings::off())] {
        fixture.array.create_volume(volume, "256M").unwrap();
        let moved = run(two_hosts(&fixture, volume, settings));
        // Bytes on the wire for a 32 MiB clone: commands only, or the data twice.
        match settings.hardware_accelerated_move {
            true => assert!(moved < MIB, "{moved} bytes on the wire"),
            false => assert!(moved > 64 * MIB, "{moved} bytes on the wire"),
        }
    }
    fixture.kill_and_restart();
}

async fn two_hosts(fixture: &Fixture, volume: &str, settings: Settings) -> u64 {
    let (one, two) = (unit(fixture, volume, "one").await, unit(fixture, volume, "two").await);
    let options = FormatOptions { files: 64, hosts: 8, ..FormatOptions::default() };
    Datastore::format(&one, &mover(settings), &options).await.unwrap();
    let mount = async |unit: &Rc<LogicalUnit>, name: &str| {
        Datastore::mount(unit.clone(), mover(settings), Host { name: name.into() }).await.unwrap()
    };
    let (first, second) = (mount(&one, "one").await, mount(&two, "two").await);
    let disk = DiskOptions { format: DiskFormat::EagerZeroedThick, size: 32 * MIB };
    let disk = first.create_open("template", disk, &|_| ()).await.unwrap();
    for offset in (0..32 * MIB).step_by(1 << 20) {
        disk.write(offset, pattern(offset, MIB)).await.unwrap();
    }
    let expected = content(&disk).await;
    // The second host waits for the lock, which the first one holds.
    let refused = tokio::time::timeout(std::time::Duration::from_secs(1), second.open("template")).await;
    assert!(refused.is_err(), "the lock of another host was taken");
    let wire = |unit: &LogicalUnit| {
        let counters = unit.session().counters();
        counters.sent_bytes + counters.received_bytes
    };
    let before = wire(&one);
    let moved = first.clone_disk(&disk, "clone", DiskFormat::EagerZeroedThick, &|_| ()).await.unwrap();
    let on_the_wire = wire(&one) - before;
    assert_eq!(moved.offloaded_bytes + moved.host_bytes(), 32 * MIB);
    disk.close().await.unwrap();
    let clone = second.open("clone").await.unwrap();
    assert_eq!(content(&clone).await, expected);
    clone.write(0, pattern(7, MIB)).await.unwrap();
    clone.close().await.unwrap();
    // Both hosts touch one file continuously.
    let touches = async |store: &Rc<Datastore<LogicalUnit>>| {
        for _ in 0..50 {
            store.touch("clone").await.unwrap();
        }
    };
    tokio::join!(touches(&first), touches(&second));
    let files = first.list().await.unwrap();
    assert_eq!(
        files.iter().map(|file| (file.name.as_str(), file.touched)).collect::<Vec<_>>(),
        [("clone", 100), ("template", 0)]
    );
    assert!(matches!(first.create_linked_clone("none", "x").await, Err(DatastoreError::NoSuchFile(_))));
    let report = second.check().await.unwrap();
    assert_eq!((report.problems, report.leftovers, report.files), (vec![], vec![], 2));
    first.unmount().await.unwrap();
    second.unmount().await.unwrap();
    on_the_wire
}

#[test]
fn a_unit_is_not_overwritten_under_a_host_that_has_its_datastore_mounted() {
    let fixture = Fixture::start("512M", &[]);
    fixture.array.create_volume("v1", "64M").unwrap();
    let volume = fixture.array.volume("v1").unwrap();
    let url = volume.url().to_owned();
    let name = url.split_once("//").unwrap().1.split_once('/').unwrap().1.to_owned();
    let naa = fixture.json(&["volume", "show", "v1"])["naa"].as_str().unwrap().to_owned();
    let held = format!("{url}#held");
    let kept = fixture.directory().join("lab.json");
    let commands: [Vec<&str>; 5] = [
        vec!["probe", &url, "--write-test"],
        vec!["datastore", "format", &url, "--destroy-data", &naa],
        vec!["disk", "zero", &url, "--destroy-data", &naa],
        vec![
            "lab",
            "run",
            "eager-zero",
            &url,
            "--size",
            "8M",
            "--destroy-data",
            &name,
            "--save",
            kept.to_str().unwrap(),
        ],
        vec!["disk", "delete", &held],
    ];
    run(async {
        let unit = unit(&fixture, "v1", "living").await;
        let options = FormatOptions { name: "store".into(), files: 64, hosts: 8, ..FormatOptions::default() };
        Datastore::format(&unit, &mover(Settings::default()), &options).await.unwrap();
        let host = Host { name: "living".into() };
        let store = Datastore::mount(unit.clone(), mover(Settings::default()), host).await.unwrap();
        let beating = store.clone();
        let heartbeat = tokio::task::spawn_local(async move { beating.keep_alive().await });
        let disk = DiskOptions { format: DiskFormat::Thin, size: MIB };
        let disk = store.create_open("held", disk, &|_| ()).await.unwrap();
        disk.write(0, pattern(5, MIB)).await.unwrap();
        let mut running = Vec::new();
        for words in &commands {
            let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_windlass"));
            command.args(words).stdin(std::process::Stdio::null());
            running.push(tokio::task::spawn_blocking(move || command.output().unwrap()));
        }
        for (words, output) in commands.iter().zip(futures_util::future::join_all(running).await) {
            let output = output.unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(4), "{words:?}: {said}");
            assert!(said.contains("living"), "{words:?}: {said}");
            // A held lock is waited for, with a message.
            let expected = if words[1] == "delete" { "held is in use by living; waiting up to" } else { "has mounted" };
            assert!(said.contains(expected), "{words:?}: {said}");
        }
        assert_eq!(disk.read(0, MIB).await.unwrap(), pattern(5, MIB));
        // The list tells a living host from a dead one whose entry remains.
        let hosts = async || {
            let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_windlass"));
            command.args(["datastore", "list", &url, "--no-headers"]).stdin(std::process::Stdio::null());
            let listed = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
            String::from_utf8(listed.stdout).unwrap()
        };
        assert!(hosts().await.contains("  1  iscsi://"));
        let other = Host { name: "silent".into() };
        let dead = Datastore::mount(unit.clone(), mover(Settings::default()), other).await.unwrap();
        drop(dead);
        let listed = hosts().await;
        assert!(listed.contains("  1 (1 silent)  iscsi://"), "{listed}");
        disk.close().await.unwrap();
        heartbeat.abort();
        store.unmount().await.unwrap();
    });
    // No host has it mounted any longer.
    fixture.ok(&["disk", "zero", &url, "--destroy-data", &naa]);
    assert_eq!(fixture.number(&["volume", "show", "v1"], "mapped_bytes"), 0);
}

/// Regression: the write test restored the old content over data that a guest had written meanwhile
/// and that had been acknowledged.
#[test]
fn a_write_test_ends_when_another_host_writes() {
    let fixture = Fixture::start("256M", &[]);
    fixture.array.create_volume("v1", "16M").unwrap();
    let url = fixture.array.volume("v1").unwrap().url().to_owned();
    run(async {
        let unit = unit(&fixture, "v1", "guest").await;
        for mebibyte in 0..16 {
            unit.write(mebibyte * 2048, pattern(mebibyte, MIB)).await.unwrap();
        }
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_windlass"));
        command.args(["probe", &url, "--write-test"]).stdin(std::process::Stdio::null());
        let mut probing = tokio::task::spawn_blocking(move || command.output().unwrap());
        // Outside of the blocks that the test writes, and inside the range that it restores.
        let lba = 15 * 2048 + 300;
        let mut number = 0;
        let output = loop {
            number += 1;
            unit.write(lba, pattern(number, 512)).await.unwrap();
            if let std::task::Poll::Ready(output) = futures_util::poll!(&mut probing) {
                break output.unwrap();
            }
        };
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(4), "{said}");
        assert!(
            said.contains("another host or process writes to blocks 31020 to 31020")
                && said.contains("help: stop the other users"),
            "{said}"
        );
        // The results up to that point are shown nevertheless.
        assert!(String::from_utf8_lossy(&output.stdout).starts_with("Vendor WINDLASS"), "{output:?}");
        assert_eq!(unit.read(data_mover::Extent { lba, blocks: 1 }).await.unwrap(), pattern(number, 512));
        // All other blocks are unchanged.
        let expected = pattern(15, MIB);
        let found = unit.read(data_mover::Extent { lba: 15 * 2048, blocks: 300 }).await.unwrap();
        assert_eq!(found, expected.slice(..300 * 512));
    });
}

#[test]
fn a_probe_reports_the_unit_and_leaves_it_unchanged() {
    let mut fixture = Fixture::start("256M", &[]);
    fixture.array.create_volume("v1", "16M").unwrap();
    let url = fixture.array.volume("v1").unwrap().url().to_owned();
    let expected = pattern(3, 16 * MIB);
    run(async {
        let unit = unit(&fixture, "v1", "one").await;
        // Every block is written: the test finds no unmapped space to use.
        for offset in (0..16 * MIB).step_by(1 << 20) {
            let at = usize::try_from(offset).unwrap();
            unit.write(offset / 512, expected.slice(at..at + (1 << 20))).await.unwrap();
        }
    });
    let probe = |arguments: &[&str]| {
        let output = fixture.try_run(&[&["probe", &url], arguments].concat());
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    for arguments in [&["-o", "json"][..], &["--write-test", "-o", "json"]] {
        let report: serde_json::Value = serde_json::from_str(&probe(arguments)).unwrap();
        let primitives = report["primitives"].as_array().unwrap();
        let statuses: Vec<_> =
            primitives.iter().map(|p| (p["primitive"].as_str().unwrap(), p["status"].as_str().unwrap())).collect();
        assert_eq!(statuses, ["ats", "xcopy", "zero", "unmap", "alerts"].map(|name| (name, "Supported")), "{report:#}");
        for limit in
            ["compare_and_write_blocks", "write_same_blocks", "unmap_blocks", "copy_segment_blocks", "copy_segments"]
        {
            assert!(report["limits"][limit].as_u64().is_some_and(|number| number > 0), "{limit}: {report:#}");
        }
        if report["write_test"] == true {
            assert!(primitives[1]["wire_bytes"].as_u64().unwrap() < 1000, "{report:#}");
            assert!(primitives[0]["reason"].as_str().unwrap().contains("none lost"), "{report:#}");
        }
    }
    assert!(probe(&["-o", "esxcli"]).contains("   Clone Status: supported\n"));
    assert!(probe(&[]).contains("announced, not tried"));
    assert!(probe(&["--write-test"]).contains("claim rule    esxcli storage core claimrule add"));
    // Regression: an interrupted write test left its data on the unit.
    for operations in [1, 2, 4, 8, 16, 32, 64] {
        let before = fixture.written("v1");
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_windlass"));
        command.args(["probe", &url, "--write-test"]).stdout(std::process::Stdio::null());
        let mut child = command.stderr(std::process::Stdio::null()).spawn().unwrap();
        // Continues also when the test has ended, because it had less to write.
        wait_for("the write test", || {
            fixture.written("v1") >= before + operations * 512 || child.try_wait().unwrap().is_some()
        });
        let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
        if child.try_wait().unwrap().is_none() {
            rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
        }
        let status = child.wait().unwrap();
        assert!(matches!(status.code(), Some(0 | 130)), "{status} after {operations} operations");
    }
    let assert_whole = |fixture: &Fixture| {
        run(async {
            let unit = unit(fixture, "v1", "one").await;
            for lba in (0..32_768).step_by(2048) {
                let at = lba as usize * 512;
                let found = unit.read(data_mover::Extent { lba, blocks: 2048 }).await.unwrap();
                assert_eq!(found, expected.slice(at..at + (1 << 20)), "LBA {lba}");
            }
        });
    };
    assert_whole(&fixture);
    // Concurrent probes with the same initiator name: each process has its own session.
    let child = |words: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_windlass"));
        command.args(["probe", &url]).args(words).stdout(std::process::Stdio::null()).spawn().unwrap()
    };
    let children = [child(&["--write-test"]), child(&[]), child(&[]), child(&[])];
    for mut child in children {
        assert_eq!(child.wait().unwrap().code(), Some(0));
    }
    assert_whole(&fixture);
    // The array dies during a write test and comes back: the old content is restored.
    for operations in [4, 16] {
        let before = fixture.written("v1");
        let mut probing = child(&["--write-test"]);
        wait_for("the write test", || {
            fixture.written("v1") >= before + operations * 512 || probing.try_wait().unwrap().is_some()
        });
        fixture.array.kill().unwrap();
        fixture.array.restart().unwrap();
        // The kill came before, during or after the write test.
        let status = probing.wait().unwrap().code();
        assert!(matches!(status, Some(0 | 1 | 7)), "{status:?}");
        assert_whole(&fixture);
    }
    let nobody = fixture.try_run(&["probe", "iscsi://127.0.0.1:1/iqn.2026-01.org.example:t/0"]);
    assert_eq!(nobody.status.code(), Some(7));
    assert!(String::from_utf8_lossy(&nobody.stderr).starts_with("error: cannot connect to 127.0.0.1:1: "));
    let no_lun = fixture.try_run(&["probe", &url.replace("/0", "/77")]);
    assert_eq!(no_lun.status.code(), Some(3), "{no_lun:?}");
}

/// Regression: the reservation of a hanging host was never broken.
#[test]
fn the_reservation_of_a_hanging_host_is_broken_and_its_next_write_is_refused() {
    let fixture = Fixture::start("256M", &[]);
    fixture.array.create_volume("v1", "16M").unwrap();
    run(async {
        let (hangs, lives) = (unit(&fixture, "v1", "one").await, unit(&fixture, "v1", "two").await);
        let (old, new) = (bytes::Bytes::from(vec![0; 512]), pattern(1, 512));
        hangs.reserve().await.unwrap();
        assert_eq!(hangs.read_reserved(data_mover::Extent { lba: 9, blocks: 1 }).await.unwrap(), old);
        let mover = mover(Settings::off());
        let began = std::time::Instant::now();
        assert!(mover.update(&*lives, 9, &old, &new).await.unwrap());
        // The patience passes first: a host that is only slow keeps its reservation.
        assert!(began.elapsed().as_secs() >= 5, "{:?}", began.elapsed());
        assert_eq!(mover.tally().reservations_broken, 1);
        // The host wakes up. Without the unit attention it would write data derived from the old
        // content.
        let late = hangs.write_reserved(9, pattern(2, 512)).await;
        assert_eq!(late, Err(data_mover::DeviceError::ReservationConflict));
        assert_eq!(hangs.read(data_mover::Extent { lba: 9, blocks: 1 }).await.unwrap(), new);
    });
}

/// Regression: both ended with 1, as if the check had not been possible.
#[test]
fn a_check_that_finds_something_wrong_ends_with_9() {
    let fixture = Fixture::start("1G", &[]);
    fixture.array.create_volume("v1", "64M").unwrap();
    let url = fixture.array.volume("v1").unwrap().url().to_owned();
    let status = |words: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_windlass"));
        command.args(words).arg(&url).stdin(std::process::Stdio::null());
        command.output().unwrap().status.code()
    };
    assert_eq!(status(&["datastore", "format"]), Some(0));
    assert_eq!(status(&["datastore", "check"]), Some(0));
    // The lock of the directory (docs/datastore-format.md).
    run(async { unit(&fixture, "v1", "one").await.write(8, pattern(1, 512)).await.unwrap() });
    assert_eq!(status(&["datastore", "check"]), Some(9));
    assert_eq!(status(&["conformance", "--check", "1"]), Some(0));
    // A check fails with its hook.
    let failing = ["conformance", "--check", "discovery/resize_attention", "--destroy-data", "--hook", "false"];
    assert_eq!(status(&failing), Some(9));
}
