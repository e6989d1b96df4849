//! Copies that a host made with reads and writes give their space back.

use crate::fixture::{Fixture, wait_for};
use conformance::initiator::Session;
use serde_json::Value;

const MIB: u64 = 1 << 20;
/// Logical blocks in a mebibyte.
const BLOCKS: u64 = 2048;

/// Data without zeros and without repetitions.
fn data(seed: u64) -> Vec<u8> {
    let words = 0..MIB / 8;
    words.flat_map(|word| ((seed << 32 | word) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes()).collect()
}

/// A volume of content, and a copy of it, made by reading and writing; the host's sessions.
fn copied(fixture: &Fixture, mib: u64) -> [Session; 2] {
    let names = ["original", "copy"];
    for name in names {
        fixture.array.create_volume(name, "256M").unwrap();
    }
    let [mut original, mut copy] = names.map(|name| fixture.log_in_as(name, name));
    for at in 0..mib {
        original.write16(at * BLOCKS, data(at).into()).unwrap();
        let read = original.read16(at * BLOCKS, BLOCKS as u32).unwrap();
        copy.write16(at * BLOCKS, read).unwrap();
    }
    [original, copy]
}

/// Bytes of content in the pool.
fn content(fixture: &Fixture) -> u64 {
    let pool = fixture.json(&["pool", "show"]);
    pool["used_bytes"].as_u64().unwrap() - pool["metadata_bytes"].as_u64().unwrap()
}

fn state(fixture: &Fixture, id: &str) -> Value {
    fixture.json(&["job", "show", id])
}

#[test]
fn all_of_a_copy_is_given_back() {
    let fixture = Fixture::start("1G", &[]);
    let [mut original, mut copy] = copied(&fixture, 32);
    let before = content(&fixture);
    assert_eq!(before, 64 * MIB);

    let words = ["volume", "reshare", "copy", "--with", "original"];
    let tried = fixture.json(&[&words[..], &["--dry-run"]].concat());
    let gain =
        |job: &Value| ["compared_bytes", "shared_bytes", "freed_bytes"].map(|name| job["reshare"][name].as_u64());
    assert_eq!(gain(&tried), [Some(32 * MIB); 3], "{tried}");
    assert_eq!(content(&fixture), before);

    let text = fixture.ok(&words);
    assert!(text.contains("32 MiB shared with original, 32 MiB given back"), "{text}");
    wait_for("the space of the copy", || content(&fixture) == 32 * MIB);
    assert_eq!(fixture.number(&["volume", "show", "copy"], "unique_bytes"), 0);
    for at in 0..32 {
        assert_eq!(copy.read16(at * BLOCKS, BLOCKS as u32).unwrap(), data(at));
    }
    // Each is on its own again when a host writes.
    copy.write16(0, data(99).into()).unwrap();
    assert_eq!(original.read16(0, BLOCKS as u32).unwrap(), data(0));

    let again = fixture.json(&words);
    assert_eq!(again["reshare"]["already_bytes"], 31 * MIB, "{again}");
    assert_eq!(gain(&again), [Some(0); 3], "{again}");
    let refused = fixture.try_run(&["volume", "reshare", "copy", "--with", "copy"]);
    assert!(String::from_utf8(refused.stderr).unwrap().contains("reshare-with-itself"));
    let check = fixture.json(&["pool", "check", "p0"]);
    assert_eq!(check["check"]["count"], 0, "{check}");
}

/// A copy inside one volume, at another place.
#[test]
fn a_copy_elsewhere_in_the_volume_is_found_by_its_offset() {
    let fixture = Fixture::start("512M", &[]);
    fixture.array.create_volume("v1", "256M").unwrap();
    let mut session = fixture.log_in("v1");
    for at in 0..8 {
        session.write16(at * BLOCKS, data(at).into()).unwrap();
        session.write16((100 + at) * BLOCKS + 8, data(at).into()).unwrap();
    }
    assert_eq!(content(&fixture), 16 * MIB);
    let offset = format!("--offset=-{}", 100 * MIB + 4096);
    let job = fixture.json(&["volume", "reshare", "v1", "--with", "v1", &offset]);
    assert_eq!(job["reshare"]["freed_bytes"], 8 * MIB, "{job}");
    wait_for("the space of the copy", || content(&fixture) == 8 * MIB);
    for at in 0..8 {
        assert_eq!(session.read16((100 + at) * BLOCKS + 8, BLOCKS as u32).unwrap(), data(at));
    }
}

/// What a host writes during the job stays, and a job whose array dies goes on after the restart.
#[test]
fn a_job_goes_on_after_a_kill_and_leaves_what_is_written_meanwhile() {
    let mut fixture = Fixture::start("1G", &[]);
    let [mut original, mut copy] = copied(&fixture, 64);
    let words = ["volume", "reshare", "copy", "--with", "original", "--share", "1", "--no-wait"];
    let id = fixture.json(&words)["id"].as_str().unwrap().to_owned();
    // While the host is active, the job has a hundredth of the time.
    let mut written = 0;
    wait_for("the job to be on its way", || {
        for _ in 0..4 {
            copy.write16((written % 64) * BLOCKS, data(1000 + written)[..4096].to_vec().into()).unwrap();
            original.write16((written % 64) * BLOCKS + 8, data(2000 + written)[..4096].to_vec().into()).unwrap();
            written += 1;
        }
        state(&fixture, &id)["reshare"]["shared_bytes"].as_u64() > Some(0) && written >= 16
    });
    assert_eq!(state(&fixture, &id)["state"], "running", "the job ended before the kill");
    fixture.kill_and_restart();
    // Jobs that have ended are not kept over a restart: this one goes on.
    wait_for("the end of the job", || state(&fixture, &id)["state"] == "done");
    let [mut original, mut copy] = ["original", "copy"].map(|name| fixture.log_in_as(name, name));
    let last = |at: u64| (0..written).rev().find(|number| number % 64 == at);
    for at in 0..64 {
        let [mut of_original, mut of_copy] = [data(at), data(at)];
        if let Some(number) = last(at) {
            of_copy[..4096].copy_from_slice(&data(1000 + number)[..4096]);
            of_original[4096..8192].copy_from_slice(&data(2000 + number)[..4096]);
        }
        assert_eq!(copy.read16(at * BLOCKS, BLOCKS as u32).unwrap(), of_copy, "MiB {at} of the copy");
        assert_eq!(original.read16(at * BLOCKS, BLOCKS as u32).unwrap(), of_original, "MiB {at} of the original");
    }
    // Two blocks of each mebibyte that was written to differ, and the rest is shared.
    wait_for("the space of the copy", || content(&fixture) == 64 * MIB + written.min(64) * 2 * 4096);
}
