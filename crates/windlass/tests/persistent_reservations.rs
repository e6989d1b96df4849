//! Persistent reservations of the whole array as a process: what outlives `kill -9`, and what a fenced host can still do.
#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use conformance::commands::{CommandError, RESERVATION_CONFLICT};
use conformance::initiator::{Session, SessionOptions};
use conformance::persistent_reservation::{APTPL, service_action::*};
use harness::array::{Array, ArrayOptions, free_portal};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const WRITE_EXCLUSIVE_ALL_REGISTRANTS: u8 = 7;
const WRITE_EXCLUSIVE_REGISTRANTS_ONLY: u8 = 5;

struct Fixture {
    _directory: TempDir,
    array: Array,
}

impl Fixture {
    fn start() -> Self {
        let directory = TempDir::new().unwrap();
        let array = Array::start(ArrayOptions {
            executable: PathBuf::from(env!("CARGO_BIN_EXE_windlass")),
            state_directory: directory.path().join("state"),
            portals: vec![free_portal().unwrap()],
            pool_size: "512M".into(),
            arguments: Vec::new(),
        })
        .unwrap();
        Self { _directory: directory, array }
    }

    fn log_in(&self, volume: &str, host: &str) -> Session {
        let url = self.array.volume(volume).unwrap().url().parse().unwrap();
        let initiator_name = format!("iqn.2026-01.org.example:{host}");
        let mut session =
            Session::connect(&url, &SessionOptions { initiator_name, ..SessionOptions::default() }).unwrap();
        session.clear_unit_attentions().unwrap();
        session
    }

    fn kill_and_restart(&mut self) {
        self.array.kill().unwrap();
        self.array.restart().unwrap();
    }
}

#[track_caller]
fn assert_conflict<T: std::fmt::Debug>(result: Result<T, CommandError>) {
    match result {
        Err(CommandError::Status { status: RESERVATION_CONFLICT, sense: None, .. }) => {}
        other => panic!("{other:?}"),
    }
}

fn block(byte: u8) -> bytes::Bytes {
    vec![byte; 512].into()
}

#[test]
fn what_persists_outlives_a_crash_and_a_fenced_host_stays_fenced() {
    let mut fixture = Fixture::start();
    fixture.array.create_volume("v1", "16M").unwrap();
    let (mut one, mut two) = (fixture.log_in("v1", "one"), fixture.log_in("v1", "two"));
    one.persistent_reserve_out(REGISTER, 0, (0, 0x11), APTPL).unwrap();
    two.persistent_reserve_out(REGISTER, 0, (0, 0x22), APTPL).unwrap();
    one.persistent_reserve_out(RESERVE, WRITE_EXCLUSIVE_REGISTRANTS_ONLY, (0x11, 0), 0).unwrap();
    two.write16(0, block(2)).unwrap();
    // Killed right after the answer, with both sessions open.
    one.persistent_reserve_out(PREEMPT_AND_ABORT, WRITE_EXCLUSIVE_REGISTRANTS_ONLY, (0x11, 0x22), 0).unwrap();
    fixture.kill_and_restart();

    let (mut one, mut two) = (fixture.log_in("v1", "one"), fixture.log_in("v1", "two"));
    assert_conflict(two.write16(0, block(9)));
    assert_eq!(two.read16(0, 1).unwrap(), block(2));
    assert_eq!(one.registered_keys().unwrap(), [0x11]);
    assert_eq!(one.persistent_reservation().unwrap(), Some((0x11, WRITE_EXCLUSIVE_REGISTRANTS_ONLY)));
    one.write16(0, block(1)).unwrap();
    // It comes back by itself only with a key; a clone of the volume knows of nothing.
    fixture.array.command(&["volume", "clone", "v1", "c1"]).unwrap();
    fixture.array.publish_volume("c1").unwrap();
    let mut copy = fixture.log_in("c1", "three");
    assert_eq!((copy.registered_keys().unwrap(), copy.persistent_reservation().unwrap()), (vec![], None));
    copy.write16(0, block(3)).unwrap();
    // REPORTED LUNS DATA HAS CHANGED: the clone.
    one.clear_unit_attentions().unwrap();
    two.clear_unit_attentions().unwrap();
    two.persistent_reserve_out(REGISTER, 0, (0, 0x23), APTPL).unwrap();
    two.write16(0, block(4)).unwrap();

    // The last registration without APTPL: nothing is kept any more.
    one.persistent_reserve_out(REGISTER, 0, (0x11, 0x12), 0).unwrap();
    fixture.kill_and_restart();
    let mut two = fixture.log_in("v1", "two");
    assert_eq!((two.registered_keys().unwrap(), two.persistent_reservation().unwrap()), (vec![], None));

    // Deleted with the volume, also for the next start.
    two.persistent_reserve_out(REGISTER, 0, (0, 0x23), APTPL).unwrap();
    two.logout().unwrap();
    fixture.array.command(&["access", "revoke", "v1", "--any"]).unwrap();
    fixture.array.command(&["volume", "delete", "v1", "--yes"]).unwrap();
    fixture.kill_and_restart();
    assert!(fixture.array.json(&["volume", "list"]).unwrap().as_array().unwrap().iter().all(|v| v["name"] == "c1"));
}

/// Writes of the preempted host are under way while PREEMPT AND ABORT is answered: whatever it wrote, nothing lands afterwards.
#[test]
fn nothing_of_a_preempted_host_lands_after_the_answer() {
    let fixture = Fixture::start();
    fixture.array.create_volume("v1", "16M").unwrap();
    let (mut one, mut two) = (fixture.log_in("v1", "one"), fixture.log_in("v1", "two"));
    one.persistent_reserve_out(REGISTER, 0, (0, 0x11), 0).unwrap();
    for round in 0..20u8 {
        two.persistent_reserve_out(REGISTER_AND_IGNORE_EXISTING_KEY, 0, (0, 0x22), 0).unwrap();
        if round == 0 {
            one.persistent_reserve_out(RESERVE, WRITE_EXCLUSIVE_ALL_REGISTRANTS, (0x11, 0), 0).unwrap();
        }
        let stop = Instant::now() + Duration::from_millis(30);
        let victim = std::thread::spawn(move || {
            let mut lba = 0;
            // Until the first refusal, be it the unit attention, the conflict or no answer at all: the task was aborted.
            while Instant::now() < stop + Duration::from_secs(1) {
                let cdb = conformance::cdb::write16(lba, 1, false);
                let data = block(round | 0x80);
                if two.submit(cdb, iscsi::initiator::TransferRequest::Out(data)).is_err() {
                    break;
                }
                match two.poll(Duration::from_millis(1)) {
                    Ok(Some(done)) if done.status != 0 => break,
                    Ok(_) => {}
                    Err(_) => break,
                }
                lba = (lba + 8) % 8192;
            }
            two
        });
        std::thread::sleep(Duration::from_millis(15));
        one.persistent_reserve_out(PREEMPT_AND_ABORT, WRITE_EXCLUSIVE_ALL_REGISTRANTS, (0x11, 0x22), 0).unwrap();
        // From here on every block is ours.
        for chunk in 0..4 {
            one.write16(chunk * 2048, vec![0; 1 << 20].into()).unwrap();
        }
        let fenced = victim.join().unwrap();
        for chunk in 0..4 {
            assert!(one.read16(chunk * 2048, 2048).unwrap().iter().all(|byte| *byte == 0), "round {round}");
        }
        drop(fenced);
        two = fixture.log_in("v1", "two");
        assert_conflict(two.write16(0, block(9)));
    }
}
