//! Checks of the kit against a correct target and against faulty ones: a check that cannot fail is
//! worthless.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::kit::{self, Options, Outcome};
use loads::faulty_target::{Array, Fault};

/// Runs one check against an array with a fault.
fn outcome(name: &str, fault: Fault) -> Outcome {
    let array = Array::start(fault);
    let options = Options {
        destroy_data: true,
        second_lun: Some(1),
        timeout: Duration::from_millis(500),
        ..Options::new(array.url(0))
    };
    let checks = kit::find(name);
    assert_eq!(checks.len(), 1, "{name}");
    let report = kit::run(&options, &checks, &AtomicBool::new(false), |_| {});
    report.rows.into_iter().next().unwrap().outcome
}

fn fails(name: &str, fault: Fault) -> String {
    match outcome(name, fault) {
        Outcome::Failed(reason) => reason,
        other => panic!("{name}: {other:?}"),
    }
}

/// Checks that a check passes on the correct array, fails when the command with this operation code
/// is answered wrong, and fails when it is not answered.
fn can_fail(name: &str, opcode: u8) {
    assert_eq!(outcome(name, Fault::None), Outcome::Passed, "{name}");
    let reason = fails(name, Fault::Lies(opcode));
    assert!(reason.contains("expected") && reason.contains("found"), "{name}: {reason}");
    assert!(fails(name, Fault::Silent(opcode)).contains("no answer within"), "{name}");
}

#[test]
fn discovery() {
    can_fail("read_capacity_16", 0x9E);
}

#[test]
fn compare_and_write() {
    can_fail("compare_and_write/miscompare", 0x89);
    // The order of the two commands depends on the machine; a busy one may let the same command win
    // a hundred times.
    let noticed = (0..20).find_map(|_| match outcome("compare_and_write/concurrent_write", Fault::NotAtomic) {
        Outcome::Failed(reason) => Some(reason),
        _ => None,
    });
    assert!(noticed.is_some_and(|reason| reason.contains("content")));
}

#[test]
fn extended_copy() {
    can_fail("extended_copy/one_descriptor", 0x83);
}

#[test]
fn write_same() {
    can_fail("write_same/pattern", 0x93);
}

#[test]
fn unmap() {
    can_fail("unmap/unaligned", 0x42);
}

/// This array has no log pages, no reservations and hardly any task management.
#[test]
fn a_target_without_the_feature_fails() {
    assert!(fails("thin/provisioning_log", Fault::None).contains("05/20/00"));
    assert!(fails("reservations/conflicting_commands", Fault::None).contains("05/20/00"));
    assert!(fails("task_management/reset_of_no_unit", Fault::None).contains("expected 2, found 0"));
    assert!(fails("iscsi/underflow", Fault::None).contains("expected GOOD"));
}

#[test]
fn iscsi() {
    assert_eq!(outcome("iscsi/solicited_data", Fault::None), Outcome::Passed);
    assert_eq!(outcome("iscsi/unsolicited_data", Fault::None), Outcome::Passed);
    assert!(fails("iscsi/unsolicited_data", Fault::Lies(0x8A)).contains("content"));
}

/// Regression: LIO keeps a reservation when the session of its holder ends. One check that failed
/// while it held one made every later check fail with RESERVATION CONFLICT.
#[test]
fn a_failed_check_leaves_no_reservation() {
    let array = Array::start(Fault::KeepsReservations);
    let options = Options { destroy_data: true, timeout: Duration::from_millis(500), ..Options::new(array.url(0)) };
    let checks = [kit::find("extended_copy/receiver_reserved"), kit::find("write_same/pattern")].concat();
    let report = kit::run(&options, &checks, &AtomicBool::new(false), |_| {});
    let words: Vec<_> = report.rows.iter().map(|row| row.outcome.word()).collect();
    assert_eq!(words, ["failed", "passed"], "{}", report.table());
}

#[test]
fn needs_and_interruption_skip() {
    let array = Array::start(Fault::None);
    let options = Options::new(array.url(0));
    let report = kit::run(&options, &kit::checks(), &AtomicBool::new(true), |_| {});
    assert_eq!(report.count("skipped"), kit::checks().len());
    let report = kit::run(&options, &kit::find("write_same"), &AtomicBool::new(false), |_| {});
    assert!(report.rows.iter().all(|row| row.outcome.reason().is_some_and(|reason| reason.contains("--destroy-data"))));
}
