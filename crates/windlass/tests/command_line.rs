//! The binary itself: exit statuses, and which of the two outputs things go to.
#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use std::process::{Command, Output};

fn windlass(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_windlass")).args(words).env_remove("WINDLASS_SERVER").output().unwrap()
}

#[test]
fn usage_is_2_and_an_array_that_is_not_there_is_7() {
    for (words, status) in [
        (&["frobnicate"][..], 2),
        (&["volume", "create", "v1"], 2),
        (&["check-config", "--config", "/nonexistent.toml"], 2),
        (&["--server", "unix:/nonexistent.sock", "volume", "list"], 7),
        (&["version"], 0),
        (&["volume", "create", "--help"], 0),
    ] {
        let output = windlass(words);
        assert_eq!(output.status.code(), Some(status), "{words:?}");
        assert_eq!(output.stdout.is_empty(), status != 0, "{words:?}");
        assert_eq!(output.stderr.is_empty(), status == 0, "{words:?}");
    }
}

#[test]
fn a_usage_error_names_both_alternatives() {
    for (words, alternatives) in
        [(&["pool", "grow", "p0"][..], ["--size", "--device"]), (&["volume", "reclaim"], ["NAME", "--all"])]
    {
        let output = windlass(words);
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(alternatives.iter().all(|alternative| told.contains(alternative)), "{told}");
    }
    let both = windlass(&["pool", "grow", "p0", "--size", "1G", "--device", "/dev/x"]);
    assert_eq!(both.status.code(), Some(2));
}

#[test]
fn the_version_is_json_when_asked_for() {
    let version: serde_json::Value = serde_json::from_slice(&windlass(&["version", "-o", "json"]).stdout).unwrap();
    assert!(version["version"].as_str().is_some_and(|version| !version.is_empty()), "{version}");
}

#[test]
fn completion_scripts_know_the_nouns() {
    for shell in ["bash", "zsh", "fish"] {
        let output = windlass(&["completion", shell]);
        assert!(String::from_utf8_lossy(&output.stdout).contains("snapshot"), "{shell}");
    }
}
