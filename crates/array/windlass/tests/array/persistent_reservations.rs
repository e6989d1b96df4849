//! Persistent reservations of the whole array as a process: their state after `kill -9`, and the
//! commands left to a fenced host.

use crate::fixture::{Fixture, wait_for};
use conformance::commands::{CommandError, RESERVATION_CONFLICT};
use conformance::persistent_reservation::{APTPL, service_action::*};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

const WRITE_EXCLUSIVE_ALL_REGISTRANTS: u8 = 7;
const WRITE_EXCLUSIVE_REGISTRANTS_ONLY: u8 = 5;

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
fn persistent_reservations_survive_a_crash_and_a_fenced_host_stays_fenced() {
    let mut fixture = Fixture::start("512M", &[]);
    fixture.array.create_volume("v1", "16M").unwrap();
    let (mut one, mut two) = (fixture.log_in_as("one", "v1"), fixture.log_in_as("two", "v1"));
    one.persistent_reserve_out(REGISTER, 0, (0, 0x11), APTPL).unwrap();
    two.persistent_reserve_out(REGISTER, 0, (0, 0x22), APTPL).unwrap();
    one.persistent_reserve_out(RESERVE, WRITE_EXCLUSIVE_REGISTRANTS_ONLY, (0x11, 0), 0).unwrap();
    two.write16(0, block(2)).unwrap();
    // Killed right after the answer, with both sessions open.
    one.persistent_reserve_out(PREEMPT_AND_ABORT, WRITE_EXCLUSIVE_REGISTRANTS_ONLY, (0x11, 0x22), 0).unwrap();
    fixture.kill_and_restart();

    let (mut one, mut two) = (fixture.log_in_as("one", "v1"), fixture.log_in_as("two", "v1"));
    assert_conflict(two.write16(0, block(9)));
    assert_eq!(two.read16(0, 1).unwrap(), block(2));
    assert_eq!(one.registered_keys().unwrap(), [0x11]);
    assert_eq!(one.persistent_reservation().unwrap(), Some((0x11, WRITE_EXCLUSIVE_REGISTRANTS_ONLY)));
    one.write16(0, block(1)).unwrap();
    // The fenced host needs a key to write again; a clone of the volume has no registrations.
    fixture.array.command(&["volume", "clone", "v1", "c1"]).unwrap();
    fixture.array.publish_volume("c1").unwrap();
    let mut copy = fixture.log_in_as("three", "c1");
    assert_eq!((copy.registered_keys().unwrap(), copy.persistent_reservation().unwrap()), (vec![], None));
    copy.write16(0, block(3)).unwrap();
    // REPORTED LUNS DATA HAS CHANGED: the clone.
    one.clear_unit_attentions().unwrap();
    two.clear_unit_attentions().unwrap();
    two.persistent_reserve_out(REGISTER, 0, (0, 0x23), APTPL).unwrap();
    two.write16(0, block(4)).unwrap();

    // The last registration without APTPL: no state is kept.
    one.persistent_reserve_out(REGISTER, 0, (0x11, 0x12), 0).unwrap();
    fixture.kill_and_restart();
    let mut two = fixture.log_in_as("two", "v1");
    assert_eq!((two.registered_keys().unwrap(), two.persistent_reservation().unwrap()), (vec![], None));

    // State is deleted with the volume, also on disk.
    two.persistent_reserve_out(REGISTER, 0, (0, 0x23), APTPL).unwrap();
    two.logout().unwrap();
    fixture.array.command(&["access", "revoke", "v1", "--any", "--yes"]).unwrap();
    fixture.array.command(&["volume", "delete", "v1", "--yes"]).unwrap();
    fixture.kill_and_restart();
    assert!(fixture.array.json(&["volume", "list"]).unwrap().as_array().unwrap().iter().all(|v| v["name"] == "c1"));
}

/// Regression: each of many equal refusals was a line of the log of offloads, and pushed others out; "reserved by
/// another initiator" did not say by whom.
#[test]
fn the_log_of_offloads_counts_refusals_and_names_the_holder() {
    let fixture = Fixture::start("512M", &[]);
    fixture.array.create_volume("v1", "16M").unwrap();
    let (mut one, mut two) = (fixture.log_in_as("one", "v1"), fixture.log_in_as("two", "v1"));
    fixture.ok(&["host", "create", "node1", "--iqn", "iqn.2026-01.org.example:one"]);
    one.persistent_reserve_out(REGISTER, 0, (0, 0x11), 0).unwrap();
    one.persistent_reserve_out(RESERVE, WRITE_EXCLUSIVE_REGISTRANTS_ONLY, (0x11, 0), 0).unwrap();
    two.clear_unit_attentions().unwrap();
    for lba in 0..50 {
        assert_conflict(two.unmap(&[(8 * lba, 8)]));
    }
    // Another host is the holder afterwards.
    one.persistent_reserve_out(CLEAR, 0, (0x11, 0), 0).unwrap();
    let mut three = fixture.log_in_as("three", "v1");
    three.persistent_reserve_out(REGISTER, 0, (0, 0x33), 0).unwrap();
    three.persistent_reserve_out(RESERVE, WRITE_EXCLUSIVE_ALL_REGISTRANTS, (0x33, 0), 0).unwrap();
    two.clear_unit_attentions().unwrap();
    assert_conflict(two.unmap(&[(0, 8)]));
    three.persistent_reserve_out(CLEAR, 0, (0x33, 0), 0).unwrap();

    let log = fixture.array.json(&["offload", "log", "v1"]).unwrap();
    let entries: Vec<_> =
        log.as_array().unwrap().iter().map(|entry| (&entry["reason_code"], &entry["count"])).collect();
    let reserved = || "reserved-by-another".into();
    assert_eq!(entries, [(&reserved(), &50.into()), (&reserved(), &1.into())], "{log}");
    let holder = |at: usize| log[at]["holder"].clone();
    let expected = serde_json::json!({
        "initiator": "iqn.2026-01.org.example:one",
        "host": "node1",
        "volume": "v1",
        "reservation_type": "write-exclusive-registrants-only",
        "key": "0x0000000000000011"
    });
    assert_eq!(holder(0), expected);
    let other = "iqn.2026-01.org.example:three";
    assert_eq!((&holder(1)["initiator"], &holder(1)["host"]), (&other.into(), &serde_json::Value::Null));
    let shown = fixture.ok(&["offload", "log", "v1"]);
    let named = "reserved by another initiator: node1 (write-exclusive-registrants-only, key 0x0000000000000011)";
    assert!(shown.contains("×50") && shown.contains(named) && shown.contains(other), "{shown}");
}

/// PREEMPT AND ABORT is answered while writes of the preempted host are in flight: none of them
/// takes effect afterwards.
#[test]
fn nothing_of_a_preempted_host_lands_after_the_answer() {
    let fixture = Fixture::start("512M", &[]);
    fixture.array.create_volume("v1", "16M").unwrap();
    let (mut one, mut two) = (fixture.log_in_as("one", "v1"), fixture.log_in_as("two", "v1"));
    one.persistent_reserve_out(REGISTER, 0, (0, 0x11), 0).unwrap();
    for round in 0..20u8 {
        two.persistent_reserve_out(REGISTER_AND_IGNORE_EXISTING_KEY, 0, (0, 0x22), 0).unwrap();
        if round == 0 {
            one.persistent_reserve_out(RESERVE, WRITE_EXCLUSIVE_ALL_REGISTRANTS, (0x11, 0), 0).unwrap();
        }
        let done = Arc::new(AtomicU64::new(0));
        let counter = done.clone();
        let stop = Instant::now() + Duration::from_secs(120);
        let victim = std::thread::spawn(move || {
            let mut lba = 0;
            // Ends at the first refusal: the unit attention, the conflict, or a missing answer of
            // an aborted task.
            while Instant::now() < stop {
                let cdb = conformance::cdb::write16(lba, 1, false);
                let data = block(round | 0x80);
                if two.submit(cdb, iscsi::initiator::TransferRequest::Out(data)).is_err() {
                    break;
                }
                match two.poll(Duration::from_millis(1)) {
                    Ok(Some(done)) if done.status != 0 => break,
                    Ok(Some(_)) => drop(counter.fetch_add(1, Ordering::Relaxed)),
                    Ok(None) => {}
                    Err(_) => break,
                }
                lba = (lba + 8) % 8192;
            }
            two
        });
        wait_for("the victim's writes", || done.load(Ordering::Relaxed) >= 20 || victim.is_finished());
        one.persistent_reserve_out(PREEMPT_AND_ABORT, WRITE_EXCLUSIVE_ALL_REGISTRANTS, (0x11, 0x22), 0).unwrap();
        // From here on, this host owns every block.
        for chunk in 0..4 {
            one.write16(chunk * 2048, vec![0; 1 << 20].into()).unwrap();
        }
        let fenced = victim.join().unwrap();
        for chunk in 0..4 {
            assert!(one.read16(chunk * 2048, 2048).unwrap().iter().all(|byte| *byte == 0), "round {round}");
        }
        drop(fenced);
        two = fixture.log_in_as("two", "v1");
        assert_conflict(two.write16(0, block(9)));
    }
}

/// Registrations and reservations as the administrator sees them: command line, REST and metrics.
#[test]
fn registrations_are_seen_by_administrators() {
    let mut fixture = Fixture::start("512M", &[]);
    fixture.array.create_volume("v1", "16M").unwrap();
    let name = "iqn.2026-01.org.example:one";
    fixture.ok(&["host", "create", "one", "--iqn", name]);
    let (mut one, mut two) = (fixture.log_in_as("one", "v1"), fixture.log_in_as("two", "v1"));
    assert_eq!(fixture.json(&["reservation", "list"]), serde_json::json!([]));
    one.persistent_reserve_out(REGISTER, 0, (0, 0x11), APTPL).unwrap();
    two.persistent_reserve_out(REGISTER, 0, (0, 0x22), APTPL).unwrap();
    one.persistent_reserve_out(RESERVE, WRITE_EXCLUSIVE_REGISTRANTS_ONLY, (0x11, 0), 0).unwrap();
    let mut three = fixture.log_in_as("three", "v1");
    assert_conflict(three.write16(0, block(3)));

    let shown = fixture.json(&["reservation", "show", "v1"]);
    assert_eq!(shown["reservation_type"], "write-exclusive-registrants-only");
    assert_eq!((&shown["persistent"], &shown["generation"], &shown["conflicts"]), (&true.into(), &2.into(), &1.into()));
    let rows = fixture.json(&["reservation", "list", "v1"]);
    assert_eq!(rows, shown["registrations"]);
    let row = &rows[0];
    assert_eq!((&row["initiator"], &row["host"], &row["portal_id"]), (&name.into(), &"one".into(), &1.into()));
    assert_eq!((&row["isid"], &row["key"]), (&"800000000001".into(), &"0x0000000000000011".into()));
    assert_eq!((&row["holder"], &row["group"], &rows[1]["holder"]), (&true.into(), &1.into(), &false.into()));
    let table = fixture.ok(&["reservation", "list"]);
    assert!(table.contains("KEY") && table.contains("0x0000000000000022"), "{table}");
    assert!(fixture.ok(&["reservation", "show", "v1"]).contains(name));
    let volume = "{volume=\"v1\"}";
    assert_eq!(fixture.metric(&format!("windlass_volume_registrations{volume}")), 2.0);
    assert_eq!(fixture.metric(&format!("windlass_volume_reserved{volume}")), 1.0);
    assert_eq!(fixture.metric("windlass_volume_lock_conflicts_total{volume=\"v1\",kind=\"reservation\"}"), 1.0);
    assert!(fixture.get("/api/v1/reservations?volume=v9").contains("404"));

    // State that survives a crash is listed before any host is back.
    fixture.kill_and_restart();
    assert_eq!(fixture.json(&["reservation", "list"]), rows);
    fixture.log_in_as("one", "v1").persistent_reserve_out(CLEAR, 0, (0x11, 0), 0).unwrap();
    assert!(!fixture.get("/metrics/volumes").contains("windlass_volume_registrations{"));
    assert_eq!(fixture.json(&["reservation", "show", "v1"])["reservation_type"], serde_json::Value::Null);
}
