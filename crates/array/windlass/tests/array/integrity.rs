//! Bit rot in the pool file under a volume, its snapshot and its clone: the array names exactly
//! these, serves everything else, heals a block by an overwrite, and a later scrub finds nothing.

use crate::fixture::Fixture;
use conformance::commands::CommandError;
use conformance::sense::Sense;
use serde_json::Value;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

const BLOCK: usize = 4096;

/// Block content that occurs nowhere else.
fn block(seed: u32) -> Vec<u8> {
    (0..1024_u32).flat_map(|word| (word.wrapping_mul(2_654_435_761) ^ (seed << 20) | 1).to_le_bytes()).collect()
}

/// Flips a bit in every copy of the block in the file.
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
fn a_rotten_block_is_reported_and_an_overwrite_repairs_it() {
    let mut fixture = Fixture::start("256M", &[]);
    fixture.array.create_volume("tmpl", "16M").unwrap();
    fixture.array.create_volume("other", "16M").unwrap();
    let mut session = fixture.log_in("tmpl");
    for at in 0..4_u32 {
        session.write16(u64::from(at) * 8, block(at).into()).unwrap();
    }
    fixture.log_in("other").write16(0, block(9).into()).unwrap();
    fixture.ok(&["snapshot", "create", "tmpl", "monday"]);
    fixture.ok(&["volume", "clone", "tmpl@monday", "vm1"]);
    fixture.array.publish_volume("vm1").unwrap();
    drop(session);
    fixture.array.stop().unwrap();
    rot(&fixture.array.pool_file(), &block(2));
    fixture.array.restart().unwrap();

    // A read fails, and the event names the affected objects.
    let mut session = fixture.log_in("vm1");
    for lba in [0, 8, 24] {
        session.read16(lba, 8).unwrap();
    }
    drop(session);
    assert_eq!(fixture.log_in("other").read16(0, 8).unwrap(), block(9));
    let mut session = fixture.log_in("vm1");
    match session.read16(16, 8).unwrap_err() {
        CommandError::Status { sense: Some(Sense { key: 3, code: 0x11, .. }), .. } => {}
        other => panic!("{other}"),
    }
    let told = |fixture: &Fixture| -> Vec<String> {
        let events = fixture.json(&["event", "list", "--limit", "1000"]);
        let bad = events.as_array().unwrap().iter().filter(|event| event["code"] == "bad-block");
        bad.map(|event| event["message"].as_str().unwrap().to_owned()).collect()
    };
    let deadline = Instant::now() + Duration::from_secs(20);
    while told(&fixture).len() < 2 {
        assert!(Instant::now() < deadline, "{:?}", told(&fixture));
        std::thread::sleep(Duration::from_millis(100));
    }
    let words = ["LBA 16 to 23 of tmpl cannot be read, nor in snapshot monday", "LBA 16 to 23 of vm1 cannot be read"];
    assert_eq!(told(&fixture), words);

    let scrub = |fixture: &Fixture| -> (Option<i32>, Value) {
        let output = fixture.try_run(&["pool", "scrub", "-o", "json"]);
        (output.status.code(), serde_json::from_slice(&output.stdout).unwrap())
    };
    let (status, job) = scrub(&fixture);
    assert_eq!((status, &job["scrub"]["bad_blocks"]), (Some(9), &1.into()), "{job}");
    let bad = &job["scrub"]["bad"];
    assert_eq!(
        (&bad[0]["volume"], &bad[0]["lba"], &bad[0]["snapshots"][0]),
        (&"tmpl".into(), &16.into(), &"monday".into())
    );
    assert_eq!((&bad[1]["volume"], &bad[1]["blocks"], &bad[1]["in_volume"]), (&"vm1".into(), &8.into(), &true.into()));
    assert_eq!(fixture.json(&["alert", "list"])[0]["code"], "bad-blocks");
    assert_eq!(told(&fixture).len(), 2, "nothing is told twice");

    session.write16(16, block(7).into()).unwrap();
    assert_eq!(session.read16(16, 8).unwrap(), block(7));
    drop(session);
    fixture.log_in("tmpl").write16(16, block(8).into()).unwrap();
    fixture.ok(&["snapshot", "delete", "tmpl@monday", "--now", "--yes"]);
    let (status, job) = scrub(&fixture);
    assert_eq!((status, &job["scrub"]["bad_blocks"]), (Some(0), &0.into()), "{job}");
    let left = fixture.json(&["alert", "list"]);
    let codes: Vec<&str> = left.as_array().unwrap().iter().filter_map(|alert| alert["code"].as_str()).collect();
    assert_eq!(codes, ["open-access"], "the volumes of these tests are granted to any host");
}
