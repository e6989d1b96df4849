//! `windlass lab` with the URL of a share.

use super::{share, windlass};
use serde_json::Value;

#[test]
fn cases_of_files_run_over_nfs_without_a_mount() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("lab.json");
    let file = file.to_str().unwrap();
    let url = share();
    let words = ["lab", "run", "nas-clone", "nas-stat", &url, "--size", "4M", "--save", file, "-o", "json"];
    let (status, printed, told) = windlass(&words);
    assert_eq!(status, 0, "{printed}{told}");
    let run: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(run["subjects"][0]["url"], url);
    for case in run["cases"].as_array().unwrap() {
        assert_eq!((&case["check_passed"], &case["skipped"]), (&Value::Bool(true), &Value::Null), "{case:#}");
    }
    let on = &run["cases"][0]["on"]["measures"];
    assert!(on["server_bytes"]["median"].as_f64().unwrap() < 10_000.0, "{on:#}");
    let (status, report, _) = windlass(&["lab", "report", file, "--markdown"]);
    assert_eq!(status, 0);
    assert!(report.contains("nas-clone"), "{report}");
}

#[test]
fn a_share_that_cannot_be_used_has_its_exit_status() {
    let url = share();
    for (words, expected, told) in [
        (&["nas-clone", "nfs://127.0.0.1:9/s"][..], 7, "code: unreachable"),
        (&["nas-clone", &url.replace("/s", "/none")], 3, "code: not-found"),
        (&["eager-zero", &url], 2, "no share"),
        (&["nas-clone", &url, "--directory", "/tmp"], 2, "not in both"),
    ] {
        let (status, _, error) = windlass(&[&["lab", "run"], words].concat());
        assert_eq!(status, expected, "{words:?}: {error}");
        assert!(error.contains(told), "{words:?}: {error}");
    }
}
