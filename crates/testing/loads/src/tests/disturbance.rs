use crate::disturbance::{
    DisturbanceError, DisturbanceOptions, abort_task, cut_data_out, reinstatement, reset_under_load,
};
use crate::faulty_target::{Array, Fault};

fn options(array: &Array) -> DisturbanceOptions {
    DisturbanceOptions { rounds: 3, ..DisturbanceOptions::new(vec![array.url(0)]) }
}

#[test]
fn a_correct_target_passes() {
    let array = Array::start(Fault::None);
    let options = options(&array);
    for check in [reset_under_load, abort_task, cut_data_out] {
        let summary = check(&options).unwrap();
        assert_eq!(summary.rounds, 3);
        assert!(summary.acknowledged > 0);
    }
}

#[test]
fn half_a_write_is_noticed() {
    let array = Array::start(Fault::LosesHalf);
    let options = DisturbanceOptions { rounds: 200, ..options(&array) };
    let error = abort_task(&options).unwrap_err();
    assert!(matches!(error, DisturbanceError::Violation { .. }), "{error}");
}

/// This target does not reinstate sessions: the old connection stays.
#[test]
fn a_session_that_is_not_taken_over_is_noticed() {
    let array = Array::start(Fault::None);
    let options = DisturbanceOptions { timeout: std::time::Duration::from_millis(300), ..options(&array) };
    let error = reinstatement(&options).unwrap_err();
    assert!(error.to_string().contains("still has its connection"), "{error}");
}
