//! A full pool: the sense data of every write path, the commands that the working reserve still
//! allows, and the immediate use of freed space.

use crate::fixture::{Fixture, sense};
use conformance::cdb::{self, Cdb, padded};
use conformance::commands::{CommandError, Compared, RESERVATION_CONFLICT};
use conformance::initiator::Session;
use conformance::persistent_reservation::{APTPL, service_action::*};
use iscsi::initiator::TransferRequest;
use std::time::{Duration, Instant};

/// SPACE ALLOCATION FAILED WRITE PROTECT.
const FULL: (u8, u8, u8) = (7, 0x27, 7);
/// Longest time for a command, even on a busy machine: the pool waits for space that is about to be
/// freed, and then refuses.
const PATIENCE: Duration = Duration::from_secs(10);

/// Data without zeros and without repetitions.
fn data(seed: u64, blocks: usize) -> Vec<u8> {
    random::pattern(seed, blocks as u64 * 512)
}

/// Runs an action, again after each unit attention: thresholds are reported as unit attentions.
fn past_attentions<T>(mut action: impl FnMut() -> Result<T, CommandError>) -> Result<T, CommandError> {
    loop {
        match action() {
            Err(error @ CommandError::Status { sense: Some(_), .. }) if sense(&error).0 == 6 => {}
            other => return other,
        }
    }
}

/// Writes new content to a volume until not even a block of 4 KiB fits.
fn fill(fixture: &Fixture, volume: &str) {
    let mut session = fixture.log_in(volume);
    let mut lba = 0;
    for blocks in [2048, 128, 8] {
        loop {
            assert!(lba < 2 << 20, "the pool is never full");
            match past_attentions(|| session.write16(lba, data(lba, blocks).into())) {
                Ok(()) => lba += blocks as u64,
                Err(error) => {
                    assert_eq!(sense(&error), FULL);
                    break;
                }
            }
        }
        lba = lba.next_multiple_of(2048);
    }
}

/// Creates a volume with content in its first and third MiB, in a pool that another volume has
/// filled.
fn full_pool() -> (Fixture, Session) {
    let fixture = Fixture::start("256M", &[]);
    fixture.array.create_volume("v1", "64M").unwrap();
    fixture.array.create_volume("filler", "1G").unwrap();
    let mut session = fixture.log_in("v1");
    for lba in [0, 4096] {
        session.write16(lba, data(lba, 2048).into()).unwrap();
    }
    drop(session);
    fill(&fixture, "filler");
    let session = fixture.log_in("v1");
    (fixture, session)
}

/// Commands that each store new data at `lba` and the blocks after it.
fn write_paths(lba: u64, naa: &[u8; 16]) -> Vec<(&'static str, Cdb, Vec<u8>)> {
    let ten = |opcode: u8, count: u8| {
        let [a, b, c, d] = u32::try_from(lba).unwrap().to_be_bytes();
        padded(&[opcode, 0, a, b, c, d, 0, 0, count, 0])
    };
    let twelve = |opcode: u8, count: u8| {
        let [a, b, c, d] = u32::try_from(lba).unwrap().to_be_bytes();
        padded(&[opcode, 0, a, b, c, d, 0, 0, 0, count, 0, 0])
    };
    let sixteen = |opcode: u8, count: u32| {
        let mut cdb = cdb::write16(lba, count, false);
        cdb[0] = opcode;
        cdb
    };
    let mut atomic = sixteen(0x9c, 0);
    atomic[13] = 8;
    let segment =
        |source_lba, blocks| cdb::CopySegment { source: 0, destination: 0, source_lba, destination_lba: lba, blocks };
    let copy = |source_lba, blocks| cdb::extended_copy_list(&[*naa], &[segment(source_lba, blocks)]);
    let unaligned = copy(1, 9);
    vec![
        ("WRITE (10)", ten(0x2a, 8), data(1, 8)),
        ("WRITE (12)", twelve(0xaa, 8), data(1, 8)),
        ("WRITE (16)", sixteen(0x8a, 1), data(1, 1)),
        ("WRITE (16) of 64 KiB", sixteen(0x8a, 128), data(1, 128)),
        ("WRITE (16) of 1 MiB", sixteen(0x8a, 2048), data(1, 2048)),
        ("WRITE AND VERIFY (10)", ten(0x2e, 8), data(1, 8)),
        ("WRITE AND VERIFY (12)", twelve(0xae, 8), data(1, 8)),
        ("WRITE AND VERIFY (16)", sixteen(0x8e, 8), data(1, 8)),
        ("WRITE SAME (10)", ten(0x41, 8), data(1, 1)),
        ("WRITE SAME (16)", sixteen(0x93, 2048), data(1, 1)),
        ("COMPARE AND WRITE", cdb::compare_and_write(lba, 1), [vec![0; 512], data(1, 1)].concat()),
        ("ORWRITE", sixteen(0x8b, 8), data(1, 8)),
        ("WRITE ATOMIC (16)", atomic, data(1, 8)),
        ("EXTENDED COPY of blocks that cannot be shared", cdb::extended_copy(unaligned.len() as u32), unaligned),
    ]
}

/// Every path reports DATA PROTECT, writes nothing, and neither reports BUSY or COPY ABORTED nor
/// waits. After an UNMAP the same commands succeed at once.
#[test]
fn every_write_path_reports_a_full_pool() {
    let (fixture, mut session) = full_pool();
    let naa = session.naa_designator().unwrap();
    // Each path has its own MiB, so that none reuses blocks of another.
    let paths =
        || (0..).map(|at| 8192 + at * 4096).zip(0..).map(|(lba, at)| (lba, write_paths(lba, &naa).swap_remove(at)));
    let count = write_paths(8192, &naa).len();
    for (lba, (name, cdb, out)) in paths().take(count) {
        let started = Instant::now();
        let result = past_attentions(|| session.run(name, cdb, TransferRequest::Out(out.clone().into())));
        assert!(started.elapsed() < PATIENCE, "{name} took {:?}", started.elapsed());
        let error = result.err().unwrap_or_else(|| panic!("{name} found space at {lba}"));
        assert_eq!(sense(&error), FULL, "{name}");
        assert_eq!(past_attentions(|| session.read16(lba, 8)).unwrap(), vec![0; 4096], "{name}");
    }
    // Overwrites of blocks that nothing shares need no space.
    past_attentions(|| session.write16(0, data(7, 2048).into())).unwrap();
    past_attentions(|| session.write_same16(4096, 2048, Some(data(8, 1).into()), false)).unwrap();
    assert_eq!(past_attentions(|| session.compare_and_write(0, &data(7, 1), &data(9, 1))).unwrap(), Compared::Written);

    // A second host: a login with the same name would reinstate the session of the first.
    let mut filler = fixture.log_in_as("filler", "filler");
    past_attentions(|| filler.unmap(&[(0, 128 * 2048)])).unwrap();
    for (lba, (name, cdb, out)) in paths().take(count) {
        let result = past_attentions(|| session.run(name, cdb, TransferRequest::Out(out.clone().into())));
        result.unwrap_or_else(|error| panic!("{name} in a pool that has space again: {error}"));
        assert_ne!(past_attentions(|| session.read16(lba, 1)).unwrap(), vec![0; 512], "{name}");
    }
    drop((session, filler));
    fixture.ok(&["pool", "check", "p0"]);
}

/// Regression: `pool list` said healthy while writes of 1 MiB were refused, until those of 4 KiB were refused as well.
#[test]
fn a_pool_that_refuses_large_writes_is_full() {
    let fixture = Fixture::start("256M", &[]);
    fixture.array.create_volume("v1", "1G").unwrap();
    let mut session = fixture.log_in("v1");
    let state = || {
        let text = fixture.ok(&["pool", "list", "--columns", "state", "--no-headers"]);
        text.trim().to_owned()
    };
    let refused = (0..).map(|at| at * 2048).find(|lba| {
        let result = past_attentions(|| session.write16(*lba, data(*lba, 2048).into()));
        result.is_err_and(|error| {
            assert_eq!(sense(&error), FULL);
            true
        })
    });
    assert_eq!((refused.is_some(), state().as_str()), (true, "full"));
    let created = fixture.try_run(&["volume", "create", "v2", "--size", "1G"]);
    let said = String::from_utf8_lossy(&created.stderr).into_owned();
    assert!(created.status.success() && said.contains("warning: pool p0 is full"), "{created:?}");
    past_attentions(|| session.unmap(&[(0, 40 * 2048)])).unwrap();
    crate::fixture::wait_for("the pool has space again", || state() == "low-space");
    past_attentions(|| session.unmap(&[(0, 128 * 2048)])).unwrap();
    crate::fixture::wait_for("the pool is as before", || state() == "healthy");
}

/// Regression: the write test of a probe failed when it restored blocks that it had not changed,
/// and its results were lost.
#[test]
fn a_probe_lists_the_tests_that_it_could_not_run() {
    let (fixture, session) = full_pool();
    drop(session);
    let url = fixture.array.volume("v1").unwrap().url().to_owned();
    let mapped = fixture.number(&["volume", "show", "v1"], "mapped_bytes");
    let output = fixture.try_run(&["probe", &url, "--write-test", "-o", "json"]);
    assert_eq!(output.status.code(), Some(9), "{output:?}");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let ats = &report["primitives"][0];
    assert_eq!((&ats["primitive"], &ats["status"]), (&"ats".into(), &"Unknown".into()), "{report:#}");
    assert!(ats["reason"].as_str().unwrap().contains("no space left"), "{report:#}");
    assert_eq!((&report["failed"], report["primitives"].as_array().unwrap().len()), (&serde_json::Value::Null, 5));
    assert_eq!(fixture.number(&["volume", "show", "v1"], "mapped_bytes"), mapped);
}

/// Locks of a datastore are in blocks that each snapshot shares again; a host that cannot take them
/// loses the datastore.
#[test]
fn locks_are_taken_after_a_snapshot_in_a_full_pool() {
    let fixture = Fixture::start("256M", &[]);
    fixture.array.create_volume("v1", "64M").unwrap();
    fixture.array.create_volume("filler", "1G").unwrap();
    let mut session = fixture.log_in("v1");
    session.write16(0, data(1, 2048).into()).unwrap();
    drop(session);
    fixture.ok(&["snapshot", "create", "v1", "before"]);
    fill(&fixture, "filler");
    let mut session = fixture.log_in("v1");
    let content = data(1, 2048);
    for (round, lba) in (0..16u64).map(|n| n * 64).enumerate() {
        let at = lba as usize * 512;
        let new = data(100 + round as u64, 1);
        let taken = past_attentions(|| session.compare_and_write(lba, &content[at..at + 512], &new)).unwrap();
        assert_eq!(taken, Compared::Written);
        past_attentions(|| session.write16(lba + 8, data(200, 8).into())).unwrap();
    }
    // Growth still fails.
    assert_eq!(sense(&past_attentions(|| session.write16(8192, data(1, 8).into())).unwrap_err()), FULL);
    drop(session);
    fixture.ok(&["pool", "check", "p0"]);
}

/// Regression: a full pool refused changes of persistent reservations with APTPL (INSUFFICIENT
/// REGISTRATION RESOURCES), so a cluster could not fence.
#[test]
fn a_cluster_fences_in_a_full_pool() {
    const WRITE_EXCLUSIVE_REGISTRANTS_ONLY: u8 = 5;
    let mut fixture = Fixture::start("256M", &[]);
    fixture.array.create_volume("v1", "16M").unwrap();
    fixture.array.create_volume("filler", "1G").unwrap();
    let (mut one, mut two) = (fixture.log_in_as("one", "v1"), fixture.log_in_as("two", "v1"));
    one.persistent_reserve_out(REGISTER, 0, (0, 0x11), APTPL).unwrap();
    two.persistent_reserve_out(REGISTER, 0, (0, 0x22), APTPL).unwrap();
    fill(&fixture, "filler");
    // Changes of the same size, of a larger size (one more registration), and of a smaller size.
    let reserve = |session: &mut Session, action, keys| {
        past_attentions(|| session.persistent_reserve_out(action, WRITE_EXCLUSIVE_REGISTRANTS_ONLY, keys, 0))
    };
    reserve(&mut one, RESERVE, (0x11, 0)).unwrap();
    let mut three = fixture.log_in_as("three", "v1");
    past_attentions(|| three.persistent_reserve_out(REGISTER, 0, (0, 0x33), APTPL)).unwrap();
    reserve(&mut one, PREEMPT_AND_ABORT, (0x11, 0x22)).unwrap();
    drop((one, two, three));
    fixture.kill_and_restart();
    let (mut one, mut two) = (fixture.log_in_as("one", "v1"), fixture.log_in_as("two", "v1"));
    assert_eq!(one.registered_keys().unwrap(), [0x11, 0x33]);
    match past_attentions(|| two.write16(0, data(1, 1).into())) {
        Err(CommandError::Status { status: RESERVATION_CONFLICT, .. }) => {}
        other => panic!("{other:?}"),
    }
    reserve(&mut one, RELEASE, (0x11, 0)).unwrap();
}
