use crate::race::{RaceOptions, Writers, run};
use loads::faulty_target::{Array, Fault};

/// Options with all commands that the array of these tests supports, which has no tokens.
fn options(array: &Array) -> RaceOptions {
    let options = RaceOptions::new(vec![array.url(0); 4]);
    RaceOptions { writers: Writers { tokens: false, ..options.writers }, ..options }
}

#[test]
fn a_correct_target_passes() {
    let array = Array::start(Fault::None);
    let options = RaceOptions { rounds: 300, commands_each: 4, ..options(&array) };
    let report = run(&options).unwrap();
    assert!(report.passed(), "{report}");
    assert_eq!(report.rounds, 300);
    for count in [
        report.compare_and_write_written,
        report.compare_and_write_miscompared,
        report.writes,
        report.write_sames,
        report.unmaps,
        report.extended_copies,
        report.reads,
    ] {
        assert!(count > 20, "{report}");
    }
}

/// A target that compares and writes in two steps loses plain writes between them.
#[test]
fn a_target_that_is_not_atomic_fails() {
    let array = Array::start(Fault::NotAtomic);
    let options = RaceOptions { rounds: 500, ..options(&array) };
    let report = run(&options).unwrap();
    assert!(report.violations > 0, "{report}");
    assert!(report.to_string().contains("UPDATES LOST"));
    assert!(!report.descriptions.is_empty());
}

#[test]
fn senseless_options() {
    let array = Array::start(Fault::None);
    assert!(run(&RaceOptions::new(vec![array.url(0)])).is_err());
    assert!(run(&RaceOptions { commands_each: 9, ..RaceOptions::new(vec![array.url(0); 2]) }).is_err());
}
