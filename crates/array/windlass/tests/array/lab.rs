//! `windlass lab` against the whole array: tiny cases with both sides, refusals, and the end of an
//! interrupted run.

use crate::fixture::{Fixture, wait_for};
use serde_json::Value;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

/// Starts an array with two volumes of 256 MiB; returns their URLs.
fn start() -> (Fixture, Vec<String>) {
    let fixture = Fixture::start("1G", &[]);
    let urls = ["v1", "v2"].map(|name| {
        fixture.array.create_volume(name, "256M").unwrap();
        fixture.array.volume(name).unwrap().url().to_owned()
    });
    (fixture, urls.to_vec())
}

fn file(fixture: &Fixture) -> PathBuf {
    fixture.directory().join("results.json")
}

/// Command that runs cases and saves the results in the directory of the fixture.
fn command(fixture: &Fixture, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
    command.args(["lab", "run"]).args(words).args(["-o", "json", "--save"]).arg(file(fixture));
    command
}

fn lab(fixture: &Fixture, words: &[&str]) -> Output {
    command(fixture, words).output().unwrap()
}

fn parsed(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

fn kept(fixture: &Fixture) -> Value {
    serde_json::from_slice(&std::fs::read(file(fixture)).unwrap()).unwrap()
}

/// Starts a run, and waits until it has begun a case and written data in it.
fn spawn(fixture: &Fixture, words: &[&str]) -> Child {
    let mut command = command(fixture, words);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for("the run's file", || file(fixture).exists());
    // More than the initial writes of a datastore.
    let before = fixture.written("v1");
    fixture.wait_for_written("v1", before + (64 << 10));
    child
}

fn mapped(fixture: &Fixture, volume: &str) -> u64 {
    fixture.number(&["volume", "show", volume], "mapped_bytes")
}

#[test]
fn cases_run_with_both_sides_and_leave_nothing_behind() {
    let (fixture, urls) = start();
    let names =
        ["clone-template", "ats-touch", "eager-zero-space", "thin-reclaim", "storage-vmotion", "zero-page-reclaim"];
    let words = [&names[..], &[&urls[0], &urls[1], "--size", "16M", "--pairs", "2"]].concat();
    let output = lab(&fixture, &words);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let run = parsed(&output);
    assert_eq!(run, kept(&fixture));
    assert_eq!((&run["version"], &run["pairs"], &run["size"]), (&1.into(), &2.into(), &"16777216".into()));
    assert_eq!(run["subjects"][0]["vendor"], "WINDLASS", "{run:#}");
    let cases = run["cases"].as_array().unwrap();
    assert_eq!(cases.iter().map(|case| case["case"].as_str().unwrap()).collect::<Vec<_>>(), names);
    let median = |case: usize, side: &str, name: &str| {
        let case = &cases[case];
        case[side]["measures"][name]["median"].as_f64().unwrap_or_else(|| panic!("no {name} {side} in {case:#}"))
    };
    for case in cases {
        assert_eq!(case["check_passed"], true, "{case:#}");
        assert!(case.get("skipped").is_none(), "{case:#}");
        assert!(case["paper"]["figures"].as_array().is_some_and(|figures| !figures.is_empty()), "{case:#}");
    }
    // Off: the host reads and writes 16 MiB. On: the array copies, and only commands are sent.
    assert!(median(0, "off", "wire_bytes") > 32e6 && median(0, "on", "wire_bytes") < 1e6);
    assert_eq!(cases[0]["on"]["moved_bytes"]["offloaded"], 16 << 20);
    assert_eq!(cases[0]["off"]["moved_bytes"]["switched off on this host"], 16 << 20);
    assert!(median(1, "off", "conflicts_per_second") > 0.0 && median(1, "on", "conflicts_per_second") == 0.0);
    assert!(cases[1]["others"]["baseline"]["measures"]["read_iops"]["median"].as_f64().unwrap() > 0.0);
    assert!(median(2, "on", "mapped_bytes") < 1e6);
    assert!(median(3, "on", "returned_share") > 0.999 && median(3, "off", "returned_share") < 0.01);
    assert!(median(5, "on", "freed_share") > 0.999);
    assert_eq!((mapped(&fixture, "v1"), mapped(&fixture, "v2")), (0, 0));
    // Two results side by side.
    let path = file(&fixture);
    let compared = fixture.ok(&["lab", "compare", path.to_str().unwrap(), path.to_str().unwrap()]);
    assert!(compared.contains("clone-template  passed → passed") && compared.contains("+0.0 %"), "{compared}");
}

#[test]
fn a_unit_with_data_is_refused_until_it_is_named() {
    let (fixture, urls) = start();
    let mut session = fixture.log_in("v1");
    let data = vec![9; 4096];
    let tiny = ["eager-zero", &urls[0], "--size", "8M"];
    session.write16(0, data.clone().into()).unwrap();
    let refused = lab(&fixture, &tiny);
    let words = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(4), "{words}");
    let name = urls[0].split_once("//").unwrap().1.split_once('/').unwrap().1;
    assert!(words.contains("LBA 0 is not zero") && words.contains(&format!("--destroy-data {name}")), "{words}");
    assert_eq!(session.read16(0, 8).unwrap(), data);
    let wrong = lab(&fixture, &[&tiny[..], &["--destroy-data", "iqn.2026-01.org.example:other/0"]].concat());
    assert_eq!(wrong.status.code(), Some(2));
    assert!(
        String::from_utf8_lossy(&wrong.stderr).contains("names none of the logical units of this run"),
        "{wrong:?}"
    );
    let named = lab(&fixture, &[&tiny[..], &["--destroy-data", name]].concat());
    assert_eq!(named.status.code(), Some(0), "{named:?}");
    assert_eq!(mapped(&fixture, "v1"), 0);
}

#[test]
fn cases_that_cannot_run_give_the_reason() {
    let (fixture, urls) = start();
    let no_lun = urls[0].replace("/0", "/77");
    for (words, status, expected) in [
        (&["eager-zero", "iscsi://127.0.0.1:1/iqn.2026-01.org.example:t/0"][..], 7, "cannot connect to 127.0.0.1:1"),
        (&["eager-zero", &no_lun], 3, "LUN 77"),
        (&["eager", &urls[0]], 2, "there is no case eager"),
        (&["eager-zero", "all"], 2, "which logical unit?"),
        (&["nas-clone", "nas-stat"], 2, "in which share or directory?"),
        (&["eager-zero", &urls[0], &urls[0]], 2, "both URLs name the same logical unit"),
    ] {
        let output = lab(&fixture, words);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(status), "{words:?}: {said}");
        assert!(said.starts_with("error: ") && said.contains(expected), "{words:?}: {said}");
    }
    let listed = fixture.ok(&["lab", "list"]);
    assert!(listed.contains("zero-interference") && listed.contains("P5"), "{listed}");
}

#[test]
fn a_cancelled_run_keeps_its_results_and_wipes_its_scratch() {
    let (fixture, urls) = start();
    let child = spawn(&fixture, &["eager-zero", "ats-touch", &urls[0], "--size", "128M", "--pairs", "100"]);
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    let run = kept(&fixture);
    assert_eq!(
        (run["ended_early"].as_str(), run["cases"].as_array().unwrap().len()),
        (Some("cancelled during eager-zero"), 1)
    );
    assert_eq!(mapped(&fixture, "v1"), 0);
}

/// Regression: a lost session, such as that of a host with a late heartbeat, ended the run and left
/// its data behind.
#[test]
fn an_array_that_is_restarted_in_the_middle_costs_a_case_and_not_the_run() {
    // On a busy machine the first case may have ended before the kill, and a host of the second one may get no
    // processor for longer than its lease.
    let mut tries = Vec::new();
    for _ in 0..4 {
        let (passed, said) = restarted_in_the_middle();
        if passed.contains(&Some(false)) && passed.contains(&Some(true)) {
            return;
        }
        tries.push((passed, said));
    }
    panic!("{tries:#?}");
}

/// Runs two cases and restarts the array in the first one. Returns which of them passed, and what the run said.
fn restarted_in_the_middle() -> (Vec<Option<bool>>, String) {
    let (mut fixture, urls) = start();
    let child = spawn(&fixture, &["ats-touch", "eager-zero", &urls[0], "--size", "128M"]);
    fixture.array.kill().unwrap();
    fixture.array.restart().unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(9), "{said}");
    let run = kept(&fixture);
    let passed: Vec<_> = run["cases"].as_array().unwrap().iter().map(|case| case["check_passed"].as_bool()).collect();
    assert!(passed.len() == 2 && run["ended_early"] == Value::Null, "{said}{:#}", run["cases"]);
    assert_eq!(mapped(&fixture, "v1"), 0, "{said}");
    (passed, format!("{said}{:#}{}", run["cases"], fixture.array.log_end()))
}

#[test]
fn an_array_that_dies_during_a_run_is_reported_and_earlier_results_are_kept() {
    let (mut fixture, urls) = start();
    let child = spawn(&fixture, &["ats-touch", "eager-zero", &urls[0], "--size", "128M", "--pairs", "100"]);
    fixture.array.kill().unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    // On a busy machine the first case may have ended before the kill.
    let named = ["ats-touch", "eager-zero"]
        .iter()
        .any(|case| said.contains(&format!("the run ended early: {case}: the connection to")));
    assert!(named && said.contains("still holds data of the run"), "{said}");
    let run = kept(&fixture);
    let last = run["cases"].as_array().and_then(|cases| cases.last()).unwrap();
    assert_eq!(last["check_passed"], false, "{run:#}");
    fixture.array.restart().unwrap();
}
