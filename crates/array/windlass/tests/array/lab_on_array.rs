//! `windlass lab array` against the whole array: a run on scratch volumes to its report, and runs that end early.
//! None leaves a volume, a host, a grant or a process.

use crate::fixture::{Fixture, wait_for};
use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;

fn start(fixture: &Fixture) -> u64 {
    let words = ["clone-template", "storage-vmotion", "--size", "64M", "--pairs", "100", "--no-wait"];
    let run = fixture.json(&[&["lab", "array", "start"], &words[..]].concat());
    assert_eq!(run["state"], "running", "{run:#}");
    let id = run["id"].as_u64().unwrap();
    // Half-way: a round has begun.
    wait_for("a round of the run", || show(fixture, id)["now"]["round"].as_u64() > Some(0));
    assert_eq!(names(fixture).len(), 5, "two volumes, a host and two grants: {:?}", names(fixture));
    id
}

fn show(fixture: &Fixture, id: u64) -> Value {
    fixture.json(&["lab", "array", "show", &id.to_string()])
}

/// Names of all volumes, hosts and grants.
fn names(fixture: &Fixture) -> Vec<String> {
    let of = |noun: &str| fixture.ok(&[noun, "list", "-o", "name"]);
    ["volume", "host", "access"]
        .into_iter()
        .flat_map(|noun| of(noun).lines().map(str::to_owned).collect::<Vec<_>>())
        .collect()
}

/// Identifiers of processes that run cases of this array.
fn processes(fixture: &Fixture) -> Vec<i32> {
    let lab = fixture.directory().join("state/lab").display().to_string();
    let numbers =
        std::fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let is_of_run = |pid: &i32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).into_owned();
        line.contains("--end-with-input") && line.contains(&lab)
    };
    numbers.filter(is_of_run).collect()
}

#[track_caller]
fn nothing_is_left(fixture: &Fixture, run: &Value) {
    assert_eq!(names(fixture), Vec::<String>::new(), "{run:#}");
    assert!(run.get("left").is_none(), "{run:#}");
    wait_for("the end of the process", || processes(fixture).is_empty());
}

fn ended(fixture: &Fixture, id: u64) -> Value {
    wait_for("the end of the run", || show(fixture, id)["state"] != "running");
    show(fixture, id)
}

#[test]
fn a_run_ends_with_a_report_and_leaves_nothing() {
    let fixture = Fixture::start("1G", &[]);
    let run = fixture.json(&["lab", "array", "start", "clone-template", "--size", "16M"]);
    assert_eq!((&run["state"], &run["id"]), (&"done".into(), &1.into()), "{run:#}");
    let result = &run["results"][0];
    assert_eq!((&result["case"], &result["outcome"]), (&"clone-template".into(), &"passed".into()), "{run:#}");
    let wire = result["measures"].as_array().unwrap().iter().find(|measure| measure["name"] == "wire_bytes").unwrap();
    assert!(wire["off"].as_f64().unwrap() > 32e6 && wire["on"].as_f64().unwrap() < 1e6, "{wire:#}");
    nothing_is_left(&fixture, &run);
    let report = fixture.get("/api/v1/lab/runs/1/report.html");
    assert!(
        report.contains("content-security-policy: sandbox;") && report.contains("clone-template"),
        "{report:.2000}"
    );
    // The results are a file of the laboratory.
    let file = fixture.directory().join("saved.json");
    fixture.ok(&["lab", "array", "save", "1", "--to", file.to_str().unwrap()]);
    let compared = fixture.ok(&["lab", "compare", file.to_str().unwrap(), file.to_str().unwrap()]);
    assert!(compared.contains("clone-template  passed → passed"), "{compared}");
    // A run that needs more than the pool has.
    let refused = fixture.try_run(&["lab", "array", "start", "clone-template"]);
    assert_eq!(refused.status.code(), Some(6), "{refused:?}");
    // Runs of an earlier process are still there.
    let mut fixture = fixture;
    fixture.kill_and_restart();
    assert_eq!(show(&fixture, 1), run);
}

#[test]
fn a_cancelled_run_leaves_nothing() {
    let fixture = Fixture::start("1G", &[]);
    let id = start(&fixture);
    let secret =
        |pid: &i32| std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default().contains("SECRET=");
    assert!(
        processes(&fixture).iter().any(|pid| !secret(pid)),
        "no process, or one with its secret on the command line"
    );
    let second = fixture.try_run(&["lab", "array", "start", "eager-zero", "--size", "16M"]);
    assert_eq!(second.status.code(), Some(4), "{second:?}");
    fixture.ok(&["lab", "array", "cancel", &id.to_string()]);
    let run = ended(&fixture, id);
    assert_eq!((&run["state"], &run["has_report"]), (&"cancelled".into(), &true.into()), "{run:#}");
    nothing_is_left(&fixture, &run);
}

#[test]
fn a_killed_process_leaves_nothing() {
    let fixture = Fixture::start("1G", &[]);
    let id = start(&fixture);
    for pid in processes(&fixture) {
        let killed = Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap();
        assert!(killed.success());
    }
    let run = ended(&fixture, id);
    assert_eq!(run["state"], "failed", "{run:#}");
    assert!(run["reason"].as_str().unwrap().contains("SIGKILL"), "{run:#}");
    nothing_is_left(&fixture, &run);
}

#[test]
fn a_killed_array_leaves_nothing_after_its_next_start() {
    let mut fixture = Fixture::start("1G", &[]);
    let id = start(&fixture);
    let before: Vec<PathBuf> = processes(&fixture).iter().map(|pid| format!("/proc/{pid}").into()).collect();
    assert!(!before.is_empty());
    fixture.array.kill().unwrap();
    // The process ends with the array, before there is another one.
    wait_for("the end of the process", || processes(&fixture).is_empty());
    fixture.array.restart().unwrap();
    let run = ended(&fixture, id);
    assert_eq!(run["reason"], "the array ended during the run", "{run:#}");
    nothing_is_left(&fixture, &run);
    // A new run can begin at once.
    let next = fixture.json(&["lab", "array", "start", "clone-template", "--size", "16M"]);
    assert_eq!((&next["state"], &next["id"]), (&"done".into(), &(id + 1).into()), "{next:#}");
}
