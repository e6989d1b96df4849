//! Copy tokens of the whole array as a process: a token copies the source as it was, and is refused
//! when it is forged, expired, cancelled or another host's. The space that tokens keep is reported
//! for the pool only, and is freed by `kill -9`.

use crate::fixture::{Fixture, wait_for};
use conformance::commands::CommandError;
use conformance::initiator::Session;
use conformance::token::zero_token;
use conformance::url::Url;
use serde_json::Value;
use std::time::{Duration, Instant};

const MIB: usize = 1 << 20;
const TIMEOUT: Duration = Duration::from_secs(20);

fn pool(fixture: &Fixture, field: &str) -> u64 {
    fixture.number(&["pool", "show"], field)
}

/// Waits until the field of the pool has the wanted value.
#[track_caller]
fn until(fixture: &Fixture, field: &str, wanted: impl Fn(u64) -> bool) {
    let started = Instant::now();
    while !wanted(pool(fixture, field)) {
        assert!(started.elapsed() < TIMEOUT, "{field} stays {}", pool(fixture, field));
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// I_T nexus of a host that reaches both volumes.
struct Host {
    session: Session,
    urls: [Url; 2],
}

impl Host {
    fn log_in(fixture: &Fixture, name: &str) -> Self {
        let urls = ["source", "target"].map(|volume| fixture.array.volume(volume).unwrap().url().parse().unwrap());
        let mut host = Self { session: fixture.log_in_as(name, "source"), urls };
        host.target().clear_unit_attentions().unwrap();
        host
    }

    fn source(&mut self) -> &mut Session {
        self.session.select(&self.urls[0]);
        &mut self.session
    }

    fn target(&mut self) -> &mut Session {
        self.session.select(&self.urls[1]);
        &mut self.session
    }
}

#[track_caller]
fn assert_refused<T: std::fmt::Debug>(result: Result<T, CommandError>, qualifier: u8) {
    match result {
        Err(CommandError::Status { sense: Some(sense), .. }) => {
            assert_eq!((sense.key, sense.code, sense.qualifier), (0x05, 0x23, qualifier));
        }
        other => panic!("{other:?}"),
    }
}

/// Content that differs in every block.
fn content(seed: u32, bytes: usize) -> bytes::Bytes {
    let words = (0..bytes / 4).map(|word| (seed << 20 ^ u32::try_from(word).unwrap_or(0)) | 1);
    words.flat_map(u32::to_le_bytes).collect::<Vec<u8>>().into()
}

#[test]
fn a_token_copies_the_source_as_it_was() {
    let fixture = Fixture::start("512M", &[]);
    fixture.array.create_volume("source", "64M").unwrap();
    fixture.array.create_volume("target", "64M").unwrap();
    let mut host = Host::log_in(&fixture, "one");
    let old = content(1, 8 * MIB);
    for piece in 0..8 {
        host.source().write16(piece * 2048, old.slice(piece as usize * MIB..(piece as usize + 1) * MIB)).unwrap();
    }
    let used = pool(&fixture, "used_bytes");
    // Ranges that are unaligned to 4 KiB blocks, and out of order.
    let ranges = [(4096 + 3, 8192), (0, 4096)];
    let token = host.source().populate_token(0, &ranges).unwrap();
    assert!(pool(&fixture, "used_bytes") - used < MIB as u64, "a token moves no data");
    assert_eq!(pool(&fixture, "token_bytes"), 0);
    let volumes: Vec<Value> = fixture.json(&["volume", "list"]).as_array().unwrap().clone();
    assert_eq!(volumes.len(), 2, "{volumes:?}");

    for piece in 0..8 {
        host.source().write16(piece * 2048, content(2, MIB)).unwrap();
    }
    host.source().unmap(&[(0, 2048)]).unwrap();
    // Overwritten blocks are kept for the token, and counted for it.
    until(&fixture, "token_bytes", |bytes| bytes >= 6 * MIB as u64);
    let parts = ["metadata_bytes", "unique_bytes", "snapshot_bytes", "token_bytes", "trash_bytes", "shared_bytes"];
    // A part is null while it is being counted.
    let counted = || {
        let shown = fixture.json(&["pool", "show"]);
        parts.iter().all(|field| shown[*field].is_u64()).then_some(shown)
    };
    let started = Instant::now();
    let shown = loop {
        if let Some(shown) = counted() {
            break shown;
        }
        assert!(started.elapsed() < TIMEOUT, "the pool is not counted");
        std::thread::sleep(Duration::from_millis(50));
    };
    let sum: u64 = parts.iter().map(|field| shown[*field].as_u64().unwrap()).sum();
    assert_eq!(shown["used_bytes"], sum, "{shown}");

    host.target().write_using_token(&token, 0, false, &[(100, 8192), (20_000, 4096)]).unwrap();
    let read = |session: &mut Session, lba: u64, blocks: u32| -> Vec<u8> {
        (0..blocks / 1024).flat_map(|piece| session.read16(lba + u64::from(piece) * 1024, 1024).unwrap()).collect()
    };
    assert!(read(host.target(), 100, 8192) == old[(4096 + 3) * 512..][..8192 * 512]);
    assert!(read(host.target(), 20_000, 4096) == old[..4096 * 512]);
    // Copies within the volume, onto the source itself.
    host.source().write_using_token(&token, 8192, true, &[(50_000, 4096)]).unwrap();
    assert!(read(host.source(), 50_000, 4096) == old[..4096 * 512]);
    assert_refused(host.target().write_using_token(&token, 0, false, &[(100, 8)]), 0x09);
    until(&fixture, "token_bytes", |bytes| bytes == 0);

    host.target().write_using_token(&zero_token(), 0, false, &[(100, 2048)]).unwrap();
    assert!(read(host.target(), 100, 2048).iter().all(|byte| *byte == 0));
}

#[test]
fn forged_expired_cancelled_and_foreign_tokens_are_refused() {
    let fixture = Fixture::start("512M", &[]);
    fixture.array.create_volume("source", "16M").unwrap();
    fixture.array.create_volume("target", "16M").unwrap();
    let mut host = Host::log_in(&fixture, "one");
    host.source().write16(0, content(1, MIB)).unwrap();
    let token = host.source().populate_token(0, &[(0, 2048)]).unwrap();
    for at in (0..token.len()).step_by(3) {
        let mut forged = token;
        forged[at] ^= 0x40;
        let qualifier = match at {
            0..4 => 0x01,
            6..8 => 0x0a,
            8..12 => 0x04,
            _ => 0x05,
        };
        assert_refused(host.target().write_using_token(&forged, 0, false, &[(0, 2048)]), qualifier);
    }
    let mut stranger = fixture.log_in_as("two", "target");
    assert_refused(stranger.write_using_token(&token, 0, false, &[(0, 2048)]), 0x04);
    assert!(host.target().read16(0, 2048).unwrap().iter().all(|byte| *byte == 0));

    let short = host.source().populate_token(1, &[(0, 2048)]).unwrap();
    // The token expires after one second without use. A use renews it, so the attempts get further
    // apart.
    let mut pause = Duration::from_millis(1100);
    wait_for("the token to expire", || {
        std::thread::sleep(pause);
        pause *= 2;
        host.target().write_using_token(&short, 0, false, &[(0, 2048)]).is_err()
    });
    assert_refused(host.target().write_using_token(&short, 0, false, &[(0, 2048)]), 0x07);
    host.target().write_using_token(&token, 0, false, &[(0, 2048)]).unwrap();

    // The source is deleted, and with it the blocks that the token kept.
    fixture.ok(&["access", "revoke", "source", "--any", "--yes"]);
    host.target().clear_unit_attentions().unwrap();
    assert_refused(host.target().write_using_token(&token, 0, false, &[(0, 2048)]), 0x06);
    fixture.ok(&["volume", "delete", "source", "--now", "--yes"]);
    host.target().clear_unit_attentions().unwrap();
    assert_refused(host.target().write_using_token(&token, 0, false, &[(0, 2048)]), 0x08);
    until(&fixture, "token_bytes", |bytes| bytes == 0);
}

#[test]
fn a_crash_ends_every_token_and_leaves_nothing_behind() {
    let mut fixture = Fixture::start("512M", &[]);
    fixture.array.create_volume("source", "32M").unwrap();
    let mut source = fixture.log_in_as("one", "source");
    let mut tokens = Vec::new();
    for round in 0..8 {
        source.write16(0, content(round, MIB)).unwrap();
        tokens.push(source.populate_token(600, &[(0, 2048), (4096, 8)]).unwrap());
    }
    until(&fixture, "token_bytes", |bytes| bytes >= 7 * MIB as u64);
    drop(source);
    fixture.kill_and_restart();
    let mut source = fixture.log_in_as("one", "source");
    for token in &tokens {
        assert_refused(source.write_using_token(token, 0, false, &[(8192, 2048)]), 0x04);
    }
    assert_eq!(source.read16(0, 2048).unwrap(), content(7, MIB));
    assert_eq!(pool(&fixture, "token_bytes"), 0);
    until(&fixture, "unique_bytes", |bytes| bytes == MIB as u64);
    until(&fixture, "shared_bytes", |bytes| bytes == 0);
    fixture.array.stop().unwrap();
    let pool = fixture.array.pool_file();
    let checked = std::process::Command::new(env!("CARGO_BIN_EXE_windlass"))
        .args(["pool", "check", "-o", "json"])
        .arg(pool)
        .output()
        .unwrap();
    let outcome: Value = serde_json::from_slice(&checked.stdout).unwrap();
    assert!(checked.status.success(), "{outcome}");
    // Blocks of the volume, and those of the pool's own structures.
    assert_eq!(outcome["volumes"], 1, "{outcome}");
    assert!(outcome["data_blocks"].as_u64().unwrap() < 256 + 16, "{outcome}");
}
