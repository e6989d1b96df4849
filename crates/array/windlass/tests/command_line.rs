//! The binary itself: exit statuses, and the use of standard output and standard error.
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

/// Regression: the usage line showed `--server <URL>` as required when the variable was set.
#[test]
fn a_usage_line_has_no_option_that_came_from_a_variable() {
    let output = Command::new(env!("CARGO_BIN_EXE_windlass"))
        .args(["volume", "create", "--size", "1G"])
        .envs([("WINDLASS_SERVER", "unix:/nonexistent.sock"), ("WINDLASS_CA", "ca.pem"), ("WINDLASS_TOKEN_FILE", "t")])
        .output()
        .unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("Usage: windlass volume create --size <SIZE> <NAME>"), "{told}");
}

#[test]
fn the_version_is_json_when_asked_for() {
    let version: serde_json::Value = serde_json::from_slice(&windlass(&["version", "-o", "json"]).stdout).unwrap();
    assert!(version["version"].as_str().is_some_and(|version| !version.is_empty()), "{version}");
}

/// The options that all commands have stand once, and not below each command.
#[test]
fn options_of_all_commands_have_a_page_of_their_own() {
    let help = |words: &[&str]| String::from_utf8(windlass(words).stdout).unwrap();
    for words in
        [&["--help"][..], &["volume", "--help"], &["volume", "create", "--help"], &["help", "volume", "create"]]
    {
        let text = help(words);
        assert!(text.contains("windlass help options") && !text.contains("--token-file"), "{words:?}: {text}");
    }
    assert!(help(&["volume", "create", "--help"]).contains("--reserve"));
    let options = help(&["help", "options"]);
    assert!(["--server", "--token-file", "--output", "--yes"].iter().all(|one| options.contains(one)), "{options}");
    assert!(!options.contains("volume"), "{options}");
    let unknown = windlass(&["help", "volume", "frobnicate"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(String::from_utf8(unknown.stderr).unwrap().contains("no command \"frobnicate\" of volume"));
    // They are there all the same.
    assert_eq!(
        windlass(&["volume", "list", "--server", "unix:/nonexistent.sock", "--no-headers"]).status.code(),
        Some(7)
    );
}

/// Programs read errors as they read results.
#[test]
fn errors_are_problem_documents_when_json_is_asked_for() {
    let output = windlass(&["--server", "unix:/nonexistent.sock", "-o", "json", "volume", "list"]);
    let error: serde_json::Value = serde_json::from_slice(&output.stderr).unwrap();
    assert_eq!((&error["code"], &error["exit_status"]), (&"unreachable".into(), &7.into()), "{error}");
    assert_eq!(error["type"], "urn:windlass:problem:unreachable");
    assert!(error["detail"].is_string() && error["help"].is_string(), "{error}");
}

#[test]
fn completion_scripts_ask_for_nouns_and_names() {
    for shell in ["bash", "zsh", "fish"] {
        let output = windlass(&["completion", shell]);
        assert!(String::from_utf8_lossy(&output.stdout).contains("WINDLASS_COMPLETE"), "{shell}");
    }
    assert_eq!(windlass(&["completion", "csh"]).status.code(), Some(2));
    let complete = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
        let index = (words.len() - 1).to_string();
        // What the script of bash sets.
        command.envs([("WINDLASS_COMPLETE", "bash"), ("_CLAP_IFS", "\n"), ("_CLAP_COMPLETE_INDEX", &index)]);
        command.env("WINDLASS_SERVER", "unix:/nonexistent/windlass.sock");
        let output = command.arg("--").args(words).output().unwrap();
        assert!(output.stderr.is_empty() && output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(complete(&["windlass", "snap"]), ["snapshot"]);
    assert!(complete(&["windlass", "volume", ""]).iter().any(|verb| verb == "rollback"));
    // An array that does not answer has no names, and the shell no error.
    assert!(complete(&["windlass", "volume", "show", "d"]).is_empty());
}

/// Puts a sequence that clears the screen before every text and every free name in a file of
/// results.
fn hostile(value: &mut serde_json::Value) {
    const CLEAR: &str = "\u{1b}[2J\n";
    match value {
        serde_json::Value::String(text) => text.insert_str(0, CLEAR),
        serde_json::Value::Array(values) => values.iter_mut().for_each(hostile),
        serde_json::Value::Object(fields) => {
            for (name, value) in fields.iter_mut() {
                let fixed = matches!(name.as_str(), "started" | "ended" | "unit" | "better");
                if let ("measures" | "others" | "moved_bytes" | "series", Some(named)) =
                    (name.as_str(), value.as_object_mut())
                {
                    let old = std::mem::take(named);
                    named.extend(old.into_iter().map(|(name, value)| (format!("{CLEAR}{name}"), value)));
                }
                if !fixed {
                    hostile(value);
                }
            }
        }
        _ => {}
    }
}

/// Regression: `lab compare` printed the names of arrays and cases unfiltered.
#[test]
fn a_file_of_results_does_not_drive_the_terminal() {
    let kept = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/lab/windlass-2026-11-22.json");
    let mut run: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(kept).unwrap()).unwrap();
    hostile(&mut run);
    run["ended_early"] = "\u{1b}[2J".into();
    run["cases"][0]["failures"] = ["\u{1b}[2J"].as_slice().into();
    run["cases"][1]["skipped"] = "\u{1b}[2J".into();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("hostile.json");
    std::fs::write(&file, run.to_string()).unwrap();
    let file = file.to_str().unwrap();
    for words in [
        &["lab", "compare", file, file][..],
        &["lab", "compare", file, kept],
        &["lab", "compare", kept, file],
        &["lab", "report", "--markdown", file],
        &["lab", "report", "--markdown", file, kept],
        &["lab", "report", file],
    ] {
        let output = windlass(words);
        assert_eq!(output.status.code(), Some(0), "{words:?}: {output:?}");
        let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        assert!(text.contains("[2J") && !text.contains('\u{1b}'), "{words:?}: {text}");
    }
    let compared = String::from_utf8(windlass(&["lab", "compare", file, file]).stdout).unwrap();
    assert!(!compared.lines().any(|line| line.starts_with("eager-zero  ")), "a line that a name forged: {compared}");
}
