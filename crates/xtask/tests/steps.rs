//! The program as users start it. The existence of this test makes `cargo test` build the program
//! with the features of the other tests.
#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use std::process::Command;

fn xtask(words: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_xtask")).args(words).output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn the_steps_of_continuous_integration_are_listed() {
    let (status, text) = xtask(&["ci", "--list"]);
    assert_eq!(status, Some(0));
    for step in ["fmt", "clippy", "test", "sim", "suite", "conformance", "demo"] {
        assert!(text.lines().any(|line| line.starts_with(&format!("{step} "))), "{step} is not in\n{text}");
    }
}

#[test]
fn an_unknown_step_is_refused() {
    let (status, text) = xtask(&["ci", "everything"]);
    assert_eq!(status, Some(1));
    assert!(!text.contains("passed"), "{text}");
}
