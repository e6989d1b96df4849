//! Space, jobs, snapshots and events of the whole array as a process, with a real pool and a real
//! session.

use crate::fixture::{Fixture, sense, wait_for};
use conformance::commands::CommandError;
use conformance::initiator::Session;
use std::time::{Duration, Instant};

const MIB: u64 = 1 << 20;

/// Data without zeros and without repetitions.
fn data(seed: u32, bytes: u32) -> Vec<u8> {
    (0..bytes / 4).flat_map(|word| (word ^ seed.rotate_left(16) | 1).to_le_bytes()).collect()
}

#[test]
fn the_parts_add_up_and_a_thick_volume_is_promised_its_space() {
    let fixture = Fixture::start("512M", &[]);
    fixture.array.create_volume("v1", "64M").unwrap();
    let mut session = fixture.log_in("v1");
    for mib in 0..8 {
        session.write16(mib * 2048, data(mib as u32, 1 << 20).into()).unwrap();
    }
    fixture.ok(&["snapshot", "create", "v1", "monday"]);
    session.write16(0, data(99, 1 << 20).into()).unwrap();
    fixture.ok(&["volume", "clone", "v1@monday", "c1"]);
    let volume = fixture.json(&["volume", "show", "v1"]);
    for (field, mib) in [("mapped_bytes", 8), ("unique_bytes", 1), ("shared_bytes", 7), ("snapshot_bytes", 0)] {
        assert_eq!(volume[field], mib * MIB, "{field} in {volume}");
    }
    let adds_up = |terms: [u64; 2]| {
        let pool = fixture.json(&["pool", "show"]);
        let names = ["metadata_bytes", "unique_bytes", "snapshot_bytes", "token_bytes", "trash_bytes", "shared_bytes"];
        let term = |name: &str| pool[name].as_u64().unwrap_or_else(|| panic!("no {name} in {pool}"));
        assert_eq!(pool["used_bytes"], names.iter().map(|name| term(name)).sum::<u64>(), "{pool}");
        assert_eq!([term("snapshot_bytes"), term("trash_bytes")], terms, "{pool}");
    };
    adds_up([0, 0]);
    // The content that the clone shares with the snapshot belongs to neither alone.
    fixture.ok(&["volume", "delete", "c1", "--yes"]);
    adds_up([0, 0]);
    fixture.ok(&["volume", "restore", "c1"]);
    fixture.ok(&["snapshot", "delete", "v1@monday", "--yes"]);
    fixture.ok(&["volume", "delete", "c1", "--yes"]);
    adds_up([0, MIB]);
    fixture.ok(&["trash", "restore", "v1@monday"]);
    fixture.ok(&["trash", "empty", "c1", "--yes"]);
    adds_up([MIB, 0]);
    assert_eq!(fixture.number(&["volume", "show", "v1"], "snapshot_bytes"), MIB);

    fixture.ok(&["volume", "create", "thick", "--size", "128M", "--reserve", "thick"]);
    let promised = fixture.number(&["pool", "show"], "promised_bytes");
    assert!(promised >= 128 * MIB, "{promised}");
    let refused = fixture.try_run(&["volume", "create", "thick2", "--size", "2G", "--reserve", "thick"]);
    assert_eq!(refused.status.code(), Some(6));
    let words = String::from_utf8(refused.stderr).unwrap();
    assert!(words.contains("code: no-space") && words.contains("kept free"), "{words}");
    fixture.ok(&["volume", "set", "v1", "--reserve", "thick"]);
    fixture.ok(&["volume", "set", "v1", "--reserve", "thin"]);
    fixture.ok(&["volume", "set", "thick", "--reserve", "thin"]);
    assert_eq!(fixture.number(&["pool", "show"], "promised_bytes"), 0);
}

/// Each dry run is compared with the change that follows it, to the byte.
#[test]
fn a_dry_run_says_the_bytes_that_the_change_frees() {
    let fixture = Fixture::start("512M", &[]);
    for (seed, name) in [(0, "v1"), (50, "v2")] {
        fixture.array.create_volume(name, "64M").unwrap();
        let mut session = fixture.log_in(name);
        for mib in 0..4 {
            session.write16(mib * 2048, data(seed + mib as u32, 1 << 20).into()).unwrap();
        }
        fixture.ok(&["snapshot", "create", name, "monday"]);
        session.write16(0, data(seed + 99, 1 << 20).into()).unwrap();
        session.logout().unwrap();
    }
    fixture.ok(&["volume", "clone", "v2", "c2"]);
    let content = || {
        let pool = fixture.json(&["pool", "show"]);
        pool["used_bytes"].as_u64().unwrap() - pool["metadata_bytes"].as_u64().unwrap()
    };
    let frees = |words: &[&str], bytes: u64| {
        let effect = &fixture.json(&[words, &["--dry-run"]].concat())[0];
        assert_eq!((&effect["allowed"], &effect["frees_bytes"]), (&true.into(), &bytes.into()), "{words:?}: {effect}");
        let before = content();
        fixture.ok(&[words, &["--yes"]].concat());
        // Blocks become free a little after the change.
        wait_for(&format!("{bytes} bytes of {words:?}"), || content() == before - bytes);
    };
    let forced = ["volume", "rollback", "v1", "monday", "--force"];
    frees(&[&forced[..], &["--keep", "before"]].concat(), 0);
    frees(&["snapshot", "delete", "v1@before", "--now"], MIB);
    frees(&["snapshot", "delete", "v1@monday", "--now"], 0);
    frees(&["volume", "delete", "v1", "--revoke", "--now"], 4 * MIB);
    // The clone has all that the volume has, and the snapshot alone has what was overwritten.
    frees(&["volume", "delete", "v2", "--revoke", "--with-snapshots", "--now"], MIB);
    let to_trash = &fixture.json(&["volume", "delete", "c2", "--dry-run"])[0];
    assert_eq!(to_trash["frees_bytes"], 4 * MIB, "{to_trash}");
    fixture.ok(&["volume", "delete", "c2", "--yes"]);
    frees(&["trash", "empty", "--all"], 4 * MIB);
}

#[test]
fn stored_zeros_are_given_back_and_everything_is_verified() {
    let fixture = Fixture::start("512M", &[]);
    fixture.array.create_volume("v1", "64M").unwrap();
    fixture.ok(&["volume", "set", "v1", "--zero-detection", "off"]);
    let mut session = fixture.log_in("v1");
    session.write16(0, vec![0; 1 << 20].into()).unwrap();
    session.write16(2048, data(1, 1 << 20).into()).unwrap();
    assert_eq!(fixture.number(&["volume", "show", "v1"], "mapped_bytes"), 2 * MIB);
    let job = fixture.json(&["volume", "reclaim", "v1"]);
    assert_eq!(job["reclaim"]["deallocated_bytes"], MIB, "{job}");
    assert_eq!(fixture.number(&["volume", "show", "v1"], "mapped_bytes"), MIB);
    assert_eq!(session.read16(0, 2048).unwrap(), vec![0; 1 << 20]);
    assert_eq!(session.read16(2048, 2048).unwrap(), data(1, 1 << 20));
    let job = fixture.json(&["pool", "scrub", "p0"]);
    assert_eq!((&job["state"], &job["scrub"]["bad_blocks"]), (&"done".into(), &0.into()), "{job}");
    assert!(job["scrub"]["verified_bytes"].as_u64().unwrap() >= MIB, "{job}");
    assert_eq!(fixture.json(&["pool", "show"])["scrub"]["bad_blocks"], 0);
}

#[test]
fn a_rollback_is_seen_by_the_host() {
    let fixture = Fixture::start("512M", &[]);
    fixture.array.create_volume("v1", "16M").unwrap();
    fixture.array.create_volume("v2", "16M").unwrap();
    let mut session = fixture.log_in("v1");
    let (old, new) = (data(1, 64 << 10), data(2, 64 << 10));
    session.write16(0, old.clone().into()).unwrap();
    fixture.ok(&["snapshot", "create", "--group", "v1", "v2", "--name", "noon"]);
    session.write16(0, new.clone().into()).unwrap();
    fixture.ok(&["volume", "grow", "v1", "--size", "32M"]);
    session.clear_unit_attentions().unwrap();
    let refused = fixture.try_run(&["volume", "rollback", "v1", "noon", "--yes"]);
    assert_eq!(refused.status.code(), Some(4));
    assert!(String::from_utf8(refused.stderr).unwrap().contains("session"));
    fixture.ok(&["volume", "rollback", "v1", "noon", "--force", "--keep", "before", "--yes"]);
    let attention = sense(&session.test_unit_ready().unwrap_err());
    assert_eq!(attention, (6, 0x2a, 0x09), "CAPACITY DATA HAS CHANGED");
    assert_eq!(session.read_capacity().unwrap().blocks * 512, 16 * MIB);
    assert_eq!(session.read16(0, 128).unwrap(), old);
    fixture.ok(&["volume", "clone", "v1@before", "copy"]);
    fixture.ok(&["access", "grant", "copy", "--any"]);
    let mut copy = fixture.log_in("copy");
    assert_eq!(copy.read16(0, 128).unwrap(), new);
    let tree = fixture.json(&["snapshot", "tree", "v1"]);
    let names: Vec<&str> = tree.as_array().unwrap().iter().filter_map(|node| node["name"].as_str()).collect();
    assert_eq!(names, ["v1", "v1@noon", "v1@before", "copy"]);
}

#[test]
fn a_threshold_is_reported_once_across_a_restart() {
    let mut fixture = Fixture::start("512M", &[]);
    fixture.array.create_volume("v1", "4M").unwrap();
    fixture.ok(&["volume", "set", "v1", "--warn", "50%"]);
    let mut session = fixture.log_in("v1");
    session.write16(0, data(1, 3 << 20).into()).unwrap();
    let told = |fixture: &Fixture| {
        let events = fixture.json(&["event", "list", "--limit", "1000"]);
        let events = events.as_array().unwrap();
        events.iter().filter(|event| event["code"] == "threshold-reached").count()
    };
    let deadline = Instant::now() + Duration::from_secs(20);
    while told(&fixture) == 0 {
        assert!(Instant::now() < deadline, "{}", fixture.ok(&["event", "list"]));
        std::thread::sleep(Duration::from_millis(100));
    }
    drop(session);
    fixture.array.stop().unwrap();
    fixture.array.restart().unwrap();
    // The alert shows that the thresholds were evaluated.
    wait_for("the alert", || fixture.json(&["alert", "list"])[0]["code"] == "volume-threshold");
    assert_eq!(told(&fixture), 1);
    fixture.array.kill().unwrap();
    fixture.array.restart().unwrap();
    assert_eq!(told(&fixture), 1);
    let events = fixture.json(&["event", "list", "--limit", "1000"]);
    let ids: Vec<u64> = events.as_array().unwrap().iter().filter_map(|event| event["id"].as_u64()).collect();
    assert!(ids.is_sorted() && ids.windows(2).all(|pair| pair[0] != pair[1]), "{ids:?}");
}

/// `pool check` of a name asks the array; an argument with a slash, or the name of an existing
/// file, is a file.
#[test]
fn a_check_of_a_name_and_of_a_file_are_different_things() {
    let fixture = Fixture::start("512M", &[]);
    let file = fixture.array.pool_file();
    let in_use = fixture.try_run(&["pool", "check", file.to_str().unwrap()]);
    assert_eq!(in_use.status.code(), Some(4), "{in_use:?}");
    let no_file = fixture.try_run(&["pool", "check", "/nonexistent/p0"]);
    assert_eq!(no_file.status.code(), Some(3), "{no_file:?}");
    let no_pool = fixture.try_run(&["pool", "check", "p9"]);
    assert_eq!(no_pool.status.code(), Some(3));
    assert!(String::from_utf8(no_pool.stderr).unwrap().contains("there is no pool p9"));
    let options = fixture.try_run(&["pool", "check", file.to_str().unwrap(), "--no-wait"]);
    assert_eq!(options.status.code(), Some(2));
}

/// Waits for an event: thresholds are evaluated periodically.
fn await_event(fixture: &Fixture, code: &str) {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let events = fixture.json(&["event", "list", "--limit", "1000"]);
        let codes: Vec<&str> = events.as_array().unwrap().iter().filter_map(|event| event["code"].as_str()).collect();
        if codes.contains(&code) {
            return;
        }
        assert!(Instant::now() < deadline, "no {code} in {codes:?}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// THIN PROVISIONING SOFT THRESHOLD REACHED.
const THRESHOLD: (u8, u8, u8) = (6, 0x38, 7);

/// Writes, and retries once if the host is notified of a threshold instead.
fn write(session: &mut Session, lba: u64, data: bytes::Bytes) -> Result<(), CommandError> {
    match session.write16(lba, data.clone()) {
        Err(error) if sense(&error) == THRESHOLD => session.write16(lba, data),
        other => other,
    }
}

/// Three volumes on a pool that fills up: the thick one and one that only overwrites continue, the
/// thin one gets an error until there is space again.
#[test]
fn a_full_pool_stops_only_who_needs_space_and_growing_helps() {
    let fixture = Fixture::start("512M", &[]);
    fixture.ok(&["volume", "create", "thick", "--size", "64M", "--reserve", "thick"]);
    fixture.ok(&["access", "grant", "thick", "--any"]);
    for name in ["over", "thin"] {
        fixture.array.create_volume(name, "1G").unwrap();
    }
    let mut session = fixture.log_in("over");
    for mib in 0..4 {
        write(&mut session, mib * 2048, data(mib as u32, 1 << 20).into()).unwrap();
    }
    drop(session);
    let mut session = fixture.log_in("thin");
    let mut mib = 0;
    let mut told = 0;
    let full = loop {
        assert!(mib < 1024, "a pool of 512 MiB took 1 GiB");
        match session.write16(mib * 2048, data(1000 + mib as u32, 1 << 20).into()) {
            Ok(()) => mib += 1,
            Err(error) => match sense(&error) {
                // Once for each soft threshold; the write was not executed.
                THRESHOLD => told += 1,
                other => break other,
            },
        }
    };
    assert!(told <= 2, "warn and critical, once each: {told}");
    assert_eq!(full, (7, 0x27, 7), "SPACE ALLOCATION FAILED WRITE PROTECT");
    drop(session);
    let mut session = fixture.log_in("thick");
    for at in 0..64 {
        write(&mut session, at * 2048, data(5000 + at as u32, 1 << 20).into()).unwrap();
    }
    drop(session);
    let mut session = fixture.log_in("over");
    for mib in 0..4 {
        write(&mut session, mib * 2048, data(9000 + mib as u32, 1 << 20).into()).unwrap();
    }
    drop(session);
    await_event(&fixture, "threshold-reached");
    fixture.ok(&["pool", "grow", "p0", "--size", "1G"]);
    assert_eq!(fixture.number(&["pool", "show"], "size_bytes"), 1 << 30);
    let mut session = fixture.log_in("thin");
    for at in mib..mib + 64 {
        write(&mut session, at * 2048, data(1000 + at as u32, 1 << 20).into()).unwrap();
    }
    drop(session);
    let mut session = fixture.log_in("thick");
    assert_eq!(session.read16(63 * 2048, 2048).unwrap(), data(5063, 1 << 20));
    drop(session);
    fixture.ok(&["pool", "check", "p0"]);
    for code in ["pool-grown", "threshold-left"] {
        await_event(&fixture, code);
    }
}
