//! A pool of release 0.1 opens, checks clean and serves.
//!
//! `pool_offline/golden/array-0.1.gz` is the pool of a whole array of that release, killed while
//! hosts were logged in: volumes (one thick, one with a write cache), a snapshot, a clone,
//! persistent reservations, LUNs and an overwriting SANITIZE in progress. `array-0.1.json` is the
//! state that its administrator saw. Block B of LUN L holds the SHA-256 of the text `L-B`, 128
//! times.

use crate::fixture::Fixture;
use array_process::array::Array;
use conformance::commands::{CommandError, RESERVATION_CONFLICT};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

const BLOCK_BYTES: u64 = 4096;
const SECTORS: u64 = BLOCK_BYTES / 512;

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../pool_offline/golden").join(name)
}

/// Unpacks the pool from this format: number of blocks, then number and content of each nonzero
/// block.
fn unpack(state_directory: &Path) {
    let mut content = Vec::new();
    let packed = File::open(golden("array-0.1.gz")).unwrap();
    flate2::read::GzDecoder::new(packed).read_to_end(&mut content).unwrap();
    let (count, blocks) = content.split_first_chunk().unwrap();
    let path = state_directory.join("p0.pool");
    let pool = File::options().create_new(true).write(true).mode(0o600).open(path).unwrap();
    pool.set_len(u64::from_le_bytes(*count) * BLOCK_BYTES).unwrap();
    for entry in blocks.chunks_exact(8 + 4096) {
        let (number, block) = entry.split_first_chunk().unwrap();
        pool.write_all_at(block, u64::from_le_bytes(*number) * BLOCK_BYTES).unwrap();
    }
}

fn content(lun: u32, block: u64) -> Vec<u8> {
    Sha256::digest(format!("{lun}-{block}")).repeat(128)
}

/// Asserts that every field of `old` is in `new` with the same value; `new` may have more.
#[track_caller]
fn assert_kept(what: &str, old: &Value, new: &Value) {
    let (old, new) = (old.as_array().unwrap(), new.as_array().unwrap());
    assert!(!old.is_empty(), "no {what} to compare");
    for row in old {
        let kept =
            |candidate: &&Value| row.as_object().unwrap().iter().all(|(field, value)| &candidate[field] == value);
        assert!(new.iter().any(|candidate| kept(&candidate)), "{what}: {row} is not in {new:?}");
    }
}

fn assert_checks_clean(array: &Array) {
    let pool = array.pool_file();
    let mut check = Command::new(env!("CARGO_BIN_EXE_windlass"));
    let checked = check.args(["pool", "check"]).arg(pool).output().unwrap();
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stdout));
}

#[test]
fn a_pool_of_release_0_1_opens_checks_clean_and_serves() {
    let mut fixture = Fixture::start_over("1G", &[], unpack);
    let manifest: Value = serde_json::from_reader(File::open(golden("array-0.1.json")).unwrap()).unwrap();
    for (noun, rows) in [
        ("volume", "volumes"),
        ("snapshot", "snapshots"),
        ("host", "hosts"),
        ("reservation", "reservations"),
        ("job", "jobs"),
        ("access", "access"),
    ] {
        assert_kept(rows, &manifest[rows], &fixture.json(&[noun, "list"]));
    }

    // The overwriting SANITIZE, interrupted by the kill, continues to its end.
    let deadline = Instant::now() + Duration::from_secs(120);
    while fixture.json(&["job", "list"])[0]["state"] != "done" {
        assert!(Instant::now() < deadline, "{}", fixture.ok(&["job", "list"]));
        std::thread::sleep(Duration::from_millis(100));
    }

    // The nexus of the old release is registered; a new nexus of the same host can read and not
    // write.
    for (lun, volume, blocks) in [(0, "db", 640), (1, "thick", 320), (3, "late", 192)] {
        let mut session = fixture.log_in_as("old-host", volume);
        for block in 0..blocks {
            let stored = session.read16(block * SECTORS, SECTORS as u32).unwrap();
            assert_eq!(stored, content(lun, block), "block {block} of {volume}");
        }
        match session.write16(0, vec![7; 512].into()) {
            Err(CommandError::Status { status: RESERVATION_CONFLICT, .. }) => {}
            other => panic!("{volume}: {other:?}"),
        }
        session.logout().unwrap();
    }

    // The pool accepts new content, and keeps it over a crash of the present release.
    fixture.ok(&["volume", "clone", "db@nightly", "again"]);
    fixture.array.publish_volume("again").unwrap();
    let mut session = fixture.log_in_as("new-host", "again");
    session.write16(0, content(9, 0).into()).unwrap();
    assert_eq!(session.read16(SECTORS, SECTORS as u32).unwrap(), content(0, 1));
    fixture.kill_and_restart();
    let mut session = fixture.log_in_as("new-host", "again");
    assert_eq!(session.read16(0, SECTORS as u32).unwrap(), content(9, 0));
    session.logout().unwrap();
    assert_kept("reservations", &manifest["reservations"], &fixture.json(&["reservation", "list"]));
    fixture.array.stop().unwrap();
    assert_checks_clean(&fixture.array);
}
