use crate::faulty_target::{Array, Fault};
use crate::sanitize_race::{RaceOptions, run};

/// Options for the array of these tests: two units, and no tokens.
fn options(array: &Array) -> RaceOptions {
    let options = RaceOptions::new(vec![array.url(0); 3]);
    RaceOptions { other: Some(array.url(1)), tokens: false, rounds: 8, ..options }
}

#[test]
fn a_correct_sanitize_passes() {
    let array = Array::start(Fault::None);
    let report = run(&options(&array)).unwrap();
    assert!(report.passed(), "{report}");
    assert!(report.refused > 8, "{report}");
    // All kinds except tokens.
    for (kind, count) in crate::sanitize_race::KINDS.iter().zip(report.done) {
        assert_eq!(count > 0, *kind != "WRITE USING TOKEN", "{kind}: {report}");
    }
}

#[test]
fn a_write_refused_during_a_sanitize_operation_must_not_land() {
    let array = Array::start(Fault::SanitizesAndWrites);
    let report = run(&options(&array)).unwrap();
    assert!(!report.passed() && report.to_string().contains("from before SANITIZE"), "{report}");
}

#[test]
fn a_write_acknowledged_before_a_sanitize_operation_must_be_gone() {
    let array = Array::start(Fault::SanitizesLittle);
    let report = run(&RaceOptions { rounds: 2, ..options(&array) }).unwrap();
    assert!(!report.passed(), "{report}");
    assert_eq!(report.descriptions.len(), 10);
    assert!(run(&RaceOptions::new(vec![array.url(0)])).is_err());
}
