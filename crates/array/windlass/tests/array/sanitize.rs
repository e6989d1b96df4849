//! SANITIZE of the whole array: it survives a loss of power, and leaves data shared with snapshots
//! intact.

use crate::fixture::{Fixture, sense};
use conformance::cdb::padded;
use conformance::commands::CommandError;
use conformance::initiator::{Session, SessionOptions};
use iscsi::initiator::TransferRequest;
use std::time::{Duration, Instant};

/// LOGICAL UNIT NOT READY, SANITIZE IN PROGRESS.
const IN_PROGRESS: (u8, u8, u8) = (2, 0x04, 0x1b);

/// A session that has not yet tested whether the logical unit is ready.
fn log_in(fixture: &Fixture) -> Session {
    let url = fixture.array.volume("v1").unwrap().url().parse().unwrap();
    Session::connect(&url, &SessionOptions::default()).unwrap()
}

/// Waits until the logical unit is ready; returns the progress indications reported until then.
fn await_ready(session: &mut Session) -> Vec<u16> {
    let mut progress = Vec::new();
    let started = Instant::now();
    loop {
        match session.test_unit_ready() {
            Ok(()) => return progress,
            Err(error) if sense(&error).0 == 6 => {}
            Err(error) => {
                assert_eq!(sense(&error), IN_PROGRESS);
                let cdb = padded(&[3, 0, 0, 0, 18, 0]);
                let data = session.run("REQUEST SENSE", cdb, TransferRequest::In(18)).unwrap();
                if data[2] == 2 {
                    assert_eq!((data[12], data[13], data[15]), (0x04, 0x1b, 0x80));
                    progress.push(u16::from_be_bytes([data[16], data[17]]));
                }
                assert!(started.elapsed() < Duration::from_secs(120));
                std::thread::sleep(Duration::from_millis(20));
            }
        }
    }
}

/// The only running job.
fn running_job(fixture: &Fixture) -> serde_json::Value {
    let jobs = fixture.json(&["job", "list"]);
    jobs.as_array().unwrap().iter().find(|job| job["state"] == "running").cloned().unwrap_or_else(|| panic!("{jobs}"))
}

#[test]
fn an_overwrite_outlives_a_crash_and_spares_snapshots() {
    const MIB: u64 = 192;
    let mut fixture = Fixture::start("1G", &[]);
    fixture.array.create_volume("v1", "256M").unwrap();
    let mut session = fixture.log_in("v1");
    let old = |mib: u64| vec![mib as u8 | 1; 1 << 20];
    for mib in 0..MIB {
        session.write16(mib * 2048, old(mib).into()).unwrap();
        if mib == 7 {
            fixture.ok(&["snapshot", "create", "v1", "before"]);
        }
    }
    // OVERWRITE with IMMED and a pattern of four bytes, one pass.
    let list = [&[1, 0, 0, 4][..], b"wind"].concat();
    let cdb = padded(&[0x48, 0x81, 0, 0, 0, 0, 0, 0, 8, 0]);
    session.run("SANITIZE", cdb, TransferRequest::Out(list.into())).unwrap();
    assert_eq!(sense(&session.write16(0, vec![9; 512].into()).unwrap_err()), IN_PROGRESS);
    drop(session);
    // The job cannot be cancelled, and is the same job after a crash.
    let job = running_job(&fixture);
    assert_eq!((&job["kind"], &job["subject"], &job["unit"]), (&"sanitize".into(), &"v1".into(), &"bytes".into()));
    assert_eq!(job["sanitize"], serde_json::json!({ "method": "overwrite", "passes": 1 }));
    let id = job["id"].as_str().unwrap();
    let refused = fixture.try_run(&["job", "cancel", id]);
    assert_eq!(refused.status.code(), Some(4));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("cannot be interrupted"), "{refused:?}");
    assert_eq!(fixture.try_run(&["job", "set", id, "--share", "50"]).status.code(), Some(4));
    fixture.kill_and_restart();
    assert_eq!(running_job(&fixture)["id"], job["id"]);
    assert!(fixture.metric("windlass_jobs_running{kind=\"sanitize\"}") >= 1.0);
    let mut session = log_in(&fixture);
    let progress = await_ready(&mut session);
    let waited = fixture.json(&["job", "wait", id]);
    assert_eq!((&waited["state"], &waited["done"]), (&"done".into(), &waited["total"]));
    assert!(!progress.is_empty() && progress.is_sorted(), "{progress:?}");
    let pattern = b"wind".repeat(1 << 18);
    for mib in [0, 1, 7, 8, MIB - 1, MIB, 255] {
        assert_eq!(session.read16(mib * 2048, 2048).unwrap(), pattern, "{mib}");
    }
    session.write16(0, vec![9; 512].into()).unwrap();
    drop(session);
    // Blocks that were not mapped share the pattern.
    assert!(fixture.number(&["pool", "show", "p0"], "used_bytes") < 700 << 20);
    fixture.ok(&["volume", "clone", "v1@before", "copy"]);
    fixture.array.publish_volume("copy").unwrap();
    let mut copy = fixture.log_in("copy");
    assert_eq!(copy.read16(7 * 2048, 2048).unwrap(), old(7));
    drop(copy);

    // A completed sanitize stays completed after a restart.
    fixture.kill_and_restart();
    let mut session = fixture.log_in("v1");
    assert_eq!(session.read16(0, 1).unwrap(), vec![9; 512]);
    // BLOCK ERASE without IMMED.
    session.run("SANITIZE", padded(&[0x48, 0x02]), TransferRequest::None).unwrap();
    assert_eq!(session.read16(0, 2048).unwrap(), vec![0; 1 << 20]);
    let status = session.get_lba_status(0).unwrap();
    assert_eq!(status, [(0, 512 * 1024, 1)]);
    drop(session);
    fixture.ok(&["pool", "check", "p0"]);
}

/// Deleting a volume ends its sanitize operation.
#[test]
fn a_volume_that_is_sanitized_can_be_deleted() {
    let mut fixture = Fixture::start("512M", &[]);
    fixture.array.create_volume("v1", "128M").unwrap();
    let mut session = fixture.log_in("v1");
    for mib in 0..100 {
        session.write16(mib * 2048, vec![7; 1 << 20].into()).unwrap();
    }
    let list = [1, 0, 0, 1, 0xaa].to_vec();
    let cdb = padded(&[0x48, 0x81, 0, 0, 0, 0, 0, 0, 5, 0]);
    session.run("SANITIZE", cdb, TransferRequest::Out(list.into())).unwrap();
    session.logout().unwrap();
    fixture.ok(&["access", "revoke", "v1", "--any", "--yes"]);
    fixture.ok(&["volume", "delete", "v1", "--yes"]);
    fixture.array.create_volume("v1", "128M").unwrap();
    fixture.kill_and_restart();
    let mut session = log_in(&fixture);
    assert!(await_ready(&mut session).is_empty());
    match session.write16(0, vec![1; 512].into()) {
        Ok(()) => {}
        Err(error @ CommandError::Status { .. }) => panic!("{:?}", sense(&error)),
        Err(error) => panic!("{error}"),
    }
}
