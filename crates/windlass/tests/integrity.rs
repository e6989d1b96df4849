//! Bits that rot in the pool's file under a volume, its snapshot and its clone: exactly those are named, everything else is served, an
//! overwrite heals, and a scrub then finds nothing.
#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use conformance::commands::CommandError;
use conformance::initiator::{Session, SessionOptions};
use conformance::sense::Sense;
use harness::array::{Array, ArrayOptions, free_portal};
use serde_json::Value;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const BLOCK: usize = 4096;

fn log_in(array: &Array, volume: &str) -> Session {
    let url = array.volume(volume).unwrap().url().parse().unwrap();
    let mut session = Session::connect(&url, &SessionOptions::default()).unwrap();
    session.clear_unit_attentions().unwrap();
    session
}

/// A block that is nowhere else.
fn block(seed: u32) -> Vec<u8> {
    (0..1024_u32).flat_map(|word| (word.wrapping_mul(2_654_435_761) ^ (seed << 20) | 1).to_le_bytes()).collect()
}

/// Turns a bit in every copy of the block in the file.
fn rot(path: &Path, content: &[u8]) {
    let file = std::fs::File::options().read(true).write(true).open(path).unwrap();
    let mut found = 0;
    let mut buffer = vec![0; BLOCK];
    let blocks = file.metadata().unwrap().len() / BLOCK as u64;
    for offset in (0..blocks).map(|block| block * BLOCK as u64) {
        file.read_exact_at(&mut buffer, offset).unwrap();
        if buffer == content {
            file.write_all_at(&[content[100] ^ 4], offset + 100).unwrap();
            found += 1;
        }
    }
    assert!(found > 0, "the block is not in the file");
}

#[test]
fn what_rots_is_named_and_an_overwrite_heals_it() {
    let directory = TempDir::new().unwrap();
    let mut array = Array::start(ArrayOptions {
        executable: PathBuf::from(env!("CARGO_BIN_EXE_windlass")),
        state_directory: directory.path().join("state"),
        portals: vec![free_portal().unwrap()],
        pool_size: "256M".into(),
        arguments: Vec::new(),
    })
    .unwrap();
    array.create_volume("tmpl", "16M").unwrap();
    array.create_volume("other", "16M").unwrap();
    let mut session = log_in(&array, "tmpl");
    for at in 0..4_u32 {
        session.write16(u64::from(at) * 8, block(at).into()).unwrap();
    }
    log_in(&array, "other").write16(0, block(9).into()).unwrap();
    array.command(&["snapshot", "create", "tmpl", "monday"]).unwrap();
    array.command(&["volume", "clone", "tmpl@monday", "vm1"]).unwrap();
    array.publish_volume("vm1").unwrap();
    drop(session);
    array.stop().unwrap();
    rot(&array.pool_file(), &block(2));
    array.restart().unwrap();

    // A host's read fails, and what it hit is told.
    let mut session = log_in(&array, "vm1");
    for lba in [0, 8, 24] {
        session.read16(lba, 8).unwrap();
    }
    assert_eq!(log_in(&array, "other").read16(0, 8).unwrap(), block(9));
    match session.read16(16, 8).unwrap_err() {
        CommandError::Status { sense: Some(Sense { key: 3, code: 0x11, .. }), .. } => {}
        other => panic!("{other}"),
    }
    let told = |array: &Array| -> Vec<String> {
        let events = array.json(&["event", "list", "--limit", "1000"]).unwrap();
        let bad = events.as_array().unwrap().iter().filter(|event| event["code"] == "bad-block");
        bad.map(|event| event["message"].as_str().unwrap().to_owned()).collect()
    };
    let deadline = Instant::now() + Duration::from_secs(20);
    while told(&array).len() < 2 {
        assert!(Instant::now() < deadline, "{:?}", told(&array));
        std::thread::sleep(Duration::from_millis(100));
    }
    let words = ["LBA 16 to 23 of tmpl cannot be read, nor in snapshot monday", "LBA 16 to 23 of vm1 cannot be read"];
    assert_eq!(told(&array), words);

    let scrub = |array: &Array| -> (Option<i32>, Value) {
        let server = array.server();
        let output = Command::new(env!("CARGO_BIN_EXE_windlass"))
            .args(["--server", &server, "pool", "scrub", "-o", "json"])
            .output()
            .unwrap();
        (output.status.code(), serde_json::from_slice(&output.stdout).unwrap())
    };
    let (status, job) = scrub(&array);
    assert_eq!((status, &job["scrub"]["bad_blocks"]), (Some(9), &1.into()), "{job}");
    let bad = &job["scrub"]["bad"];
    assert_eq!(
        (&bad[0]["volume"], &bad[0]["lba"], &bad[0]["snapshots"][0]),
        (&"tmpl".into(), &16.into(), &"monday".into())
    );
    assert_eq!((&bad[1]["volume"], &bad[1]["blocks"], &bad[1]["in_volume"]), (&"vm1".into(), &8.into(), &true.into()));
    assert_eq!(array.json(&["alert", "list"]).unwrap()[0]["code"], "bad-blocks");
    assert_eq!(told(&array).len(), 2, "nothing is told twice");

    session.write16(16, block(7).into()).unwrap();
    assert_eq!(session.read16(16, 8).unwrap(), block(7));
    log_in(&array, "tmpl").write16(16, block(8).into()).unwrap();
    array.command(&["snapshot", "delete", "tmpl@monday"]).unwrap();
    let (status, job) = scrub(&array);
    assert_eq!((status, &job["scrub"]["bad_blocks"]), (Some(0), &0.into()), "{job}");
    assert_eq!(array.json(&["alert", "list"]).unwrap(), Value::Array(Vec::new()));
}
