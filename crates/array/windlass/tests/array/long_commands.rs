//! Long commands of the whole array: revoked access, resets and logouts do not wait for them to
//! end.

use crate::fixture::{Fixture, sense, wait_for};
use bytes::Bytes;
use conformance::cdb::{self, CopySegment, padded};
use conformance::initiator::Session;
use conformance::token::{write_list, write_using_token};
use iscsi::initiator::TransferRequest;
use iscsi::pdu::{TaskManagementFunction, TaskManagementResponse};
use std::time::Duration;

const STEP: u32 = 65_535;
const STEPS: u32 = 5;

fn add_host(fixture: &Fixture, name: &str, volumes: &[(&str, &str)]) {
    fixture.ok(&["host", "create", name, "--iqn", &format!("iqn.2026-01.org.example:{name}")]);
    for (volume, lun) in volumes {
        fixture.ok(&["access", "grant", volume, "--host", name, "--lun", lun]);
    }
}

fn fill(session: &mut Session) {
    for step in 0..STEPS {
        session.write_same16(u64::from(step * STEP), STEP, Some(Bytes::from_static(&[0x5a; 512])), false).unwrap();
    }
}

/// For each step of the copy, whether it has begun to write.
fn written(session: &mut Session) -> Vec<bool> {
    let mut begins = |lba: u64| session.read16(lba, 1).unwrap().iter().any(|byte| *byte != 0);
    (0..u64::from(STEP * STEPS)).step_by(4096).map(|lba| begins(100_003 + lba)).collect()
}

/// Regression: after its access was revoked, a host went on writing until its WRITE USING TOKEN
/// ended.
#[test]
fn after_a_revoke_nothing_lands_any_more() {
    let fixture = Fixture::start("1G", &[]);
    fixture.ok(&["volume", "create", "v1", "--size", "512M"]);
    add_host(&fixture, "a", &[("v1", "0")]);
    add_host(&fixture, "b", &[("v1", "0")]);
    for immediate in [true, false] {
        let (mut copying, mut watching) = (fixture.log_in_as("a", "v1"), fixture.log_in_as("b", "v1"));
        fill(&mut copying);
        let token = copying.populate_token(0, &[(0, STEP * STEPS)]).unwrap();
        // A misaligned destination, so that the array moves the data.
        let mut list = write_list(&token, 0, false, &[(100_003, STEP * STEPS)]);
        list[2] |= u8::from(immediate);
        let cdb = write_using_token(7, u32::try_from(list.len()).unwrap());
        let tag = copying.submit(cdb, TransferRequest::Out(list.into())).unwrap();
        if immediate {
            assert_eq!(copying.wait(tag).unwrap().status, 0);
        } else {
            // The data is sent, and the command begins to write.
            wait_for("the copy to begin", || {
                let answered = copying.poll(Duration::from_millis(10)).unwrap();
                assert!(answered.is_none(), "{answered:?}");
                written(&mut watching).contains(&true)
            });
        }
        fixture.ok(&["access", "revoke", "v1", "--host", "a", "--yes"]);
        let then = written(&mut watching);
        // Other work of the array, more than the rest of the copy.
        let data = Bytes::from(vec![1; 1 << 20]);
        for _ in 0..256 {
            watching.write16(0, data.clone()).unwrap();
        }
        assert_eq!(written(&mut watching), then);
        for step in 0..STEPS {
            watching.write_same16(100_003 + u64::from(step * STEP), STEP, None, true).unwrap();
        }
        watching.clear_unit_attentions().unwrap();
        fixture.ok(&["access", "grant", "v1", "--host", "a", "--lun", "0"]);
    }
}

/// Regression: a logout was answered when SANITIZE had ended; initiators gave up earlier.
#[test]
fn a_logout_does_not_wait_for_a_sanitize_operation() {
    let fixture = Fixture::start("1G", &[]);
    fixture.array.create_volume("v1", "256M").unwrap();
    let mut session = fixture.log_in("v1");
    fill(&mut session);
    let list = vec![31, 0, 0, 4, 0x55, 0xaa, 0x55, 0xaa];
    let sanitize = padded(&[0x48, 0x01, 0, 0, 0, 0, 0, 0, 8, 0]);
    session.submit(sanitize, TransferRequest::Out(list.into())).unwrap();
    let runs = || fixture.json(&["job", "list"]).as_array().unwrap().iter().any(|job| job["state"] == "running");
    wait_for("the job", || {
        let _nothing = session.poll(Duration::from_millis(10)).unwrap();
        runs()
    });
    session.logout().unwrap();
    assert!(runs(), "the operation goes on after the logout");
}

/// Regression: a reset by another host, or a new login with the same ISID, was answered only after
/// all third-party copies had ended.
#[test]
fn resets_and_logins_do_not_wait_for_copies() {
    const SEGMENT: u16 = 61_432;
    let fixture = Fixture::start("1G", &[]);
    fixture.array.create_volume("v1", "512M").unwrap();
    let mut other = fixture.log_in_as("other", "v1");
    let mut copying = fixture.log_in_as("copying", "v1");
    fill(&mut copying);
    let naa = copying.naa_designator().unwrap();
    let segment = CopySegment { source: 0, destination: 1, source_lba: 0, destination_lba: 400_001, blocks: SEGMENT };
    let list = cdb::extended_copy_list(&[naa, naa], &[segment; 64]);
    let submit = |session: &mut Session| {
        for _ in 0..4 {
            let cdb = cdb::extended_copy(u32::try_from(list.len()).unwrap());
            session.submit(cdb, TransferRequest::Out(list.clone().into())).unwrap();
        }
        // The lists are sent, and the first copy begins.
        let answered = session.poll(Duration::from_millis(300)).unwrap();
        assert!(answered.is_none(), "{answered:?}");
    };
    let carried_out =
        || fixture.metric("windlass_volume_offload_commands_total{volume=\"v1\",primitive=\"xcopy\",outcome=\"ok\"");
    // A function that waits for the copies would see all four of them completed.
    let prompt = |what: &str| assert!(carried_out() < 4.0, "{what} waited for {} copies", carried_out());
    submit(&mut copying);
    let answer = other.task_management(TaskManagementFunction::LOGICAL_UNIT_RESET, None).unwrap();
    assert_eq!(answer, TaskManagementResponse::COMPLETE);
    prompt("LOGICAL UNIT RESET");

    copying.clear_unit_attentions().unwrap();
    submit(&mut copying);
    let answer = copying.task_management(TaskManagementFunction::ABORT_TASK_SET, None).unwrap();
    assert_eq!(answer, TaskManagementResponse::COMPLETE);
    prompt("ABORT TASK SET");

    submit(&mut copying);
    let mut again = fixture.log_in_as("copying", "v1");
    prompt("login");
    drop(copying);
    submit(&mut again);
    again.logout().unwrap();
    prompt("logout");
}

/// TARGET COLD RESET is also a power-on event for its sender. No other host loses its session by
/// it; otherwise any host could lock others out.
#[test]
fn a_cold_reset_ends_the_session_of_its_sender() {
    let fixture = Fixture::start("256M", &[]);
    for volume in ["v1", "v2"] {
        fixture.ok(&["volume", "create", volume, "--size", "16M"]);
    }
    add_host(&fixture, "a", &[("v1", "0")]);
    add_host(&fixture, "b", &[("v1", "0")]);
    add_host(&fixture, "c", &[("v2", "0")]);
    let mut sender = fixture.log_in_as("a", "v1");
    let mut sharing = fixture.log_in_as("b", "v1");
    let mut stranger = fixture.log_in_as("c", "v2");
    let answer = sender.task_management(TaskManagementFunction::TARGET_COLD_RESET, None).unwrap();
    assert_eq!(answer, TaskManagementResponse::COMPLETE);
    assert!(sender.ping(Bytes::new()).is_err(), "it is still connected");
    assert_eq!(sense(&sharing.test_unit_ready().unwrap_err()).0, 6);
    sharing.test_unit_ready().unwrap();
    stranger.test_unit_ready().unwrap();
}

/// The thread of the array took nothing more of a connection whose turn was over, and waited for its end for ever.
#[test]
fn a_cold_reset_behind_many_commands_ends_the_session_and_nothing_else() {
    let fixture = Fixture::start("256M", &[]);
    fixture.ok(&["volume", "create", "v1", "--size", "16M"]);
    add_host(&fixture, "a", &[("v1", "0")]);
    add_host(&fixture, "b", &[("v1", "0")]);
    let mut other = fixture.log_in_as("b", "v1");
    for _ in 0..20 {
        let mut sender = fixture.log_in_as("a", "v1");
        sender.clear_unit_attentions().unwrap();
        for _ in 0..48 {
            sender.submit([0; 16], TransferRequest::None).unwrap();
        }
        // Its commands are answered, or aborted by the function.
        let _answer = sender.task_management(TaskManagementFunction::TARGET_COLD_RESET, None);
        other.clear_unit_attentions().unwrap();
        other.test_unit_ready().unwrap();
    }
}
