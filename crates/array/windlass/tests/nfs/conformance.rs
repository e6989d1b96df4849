//! `windlass conformance` with the URL of a share.

use super::{share, windlass};
use nfs::v4::Time;
use nfs::v4::operations::{Operation, Outcome};
use nfs::v4::session::ImplementationId;
use nfs_memory::{Lie, Setup};
use serde_json::Value;

#[test]
fn every_check_passes_and_the_share_is_empty_afterwards() {
    let url = share();
    let (status, printed, told) = windlass(&["conformance", &url, "--second-share", "t", "--strict", "-o", "json"]);
    let results: Value = serde_json::from_str(&printed).unwrap();
    let results = results["results"].as_array().unwrap();
    let count = |word: &str| results.iter().filter(|row| row["outcome"] == word).count();
    assert_eq!((status, count("failed"), count("differs")), (0, 0, 0), "{printed}{told}");
    assert!(count("passed") > 150, "{printed}");
    // Only long ones are skipped, and those that restart the server.
    for row in results.iter().filter(|row| row["outcome"] == "skipped") {
        let reason = row["reason"].as_str().unwrap();
        assert!(["takes long", "cannot be restarted"].iter().any(|words| reason.contains(words)), "{row}");
    }
    let all = nfs_conformance_names(&windlass(&["conformance", &url, "--list", "-o", "json"]).1);
    assert_eq!(results.len(), all.len());
}

fn nfs_conformance_names(json: &str) -> Vec<String> {
    let rows: Vec<Value> = serde_json::from_str(json).unwrap();
    assert!(rows.iter().all(|row| row["protocol"] == "NFS"), "{json}");
    rows.iter().map(|row| row["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn checks_are_selected_and_listed_for_the_protocol() {
    let url = share();
    let (status, printed, _) = windlass(&["conformance", &url, "--check", "203", "--check", "rpc/null"]);
    assert_eq!(status, 0, "{printed}");
    assert!(printed.ends_with("2 passed, 0 failed, 0 skipped\n"), "{printed}");
    // A number of each kit, and a group of one.
    let (status, both, _) = windlass(&["conformance", "--list", "--check", "203"]);
    assert_eq!((status, both.lines().count()), (0, 4), "{both}");
    let (_, nfs, _) = windlass(&["conformance", "--list", "--check", "xattr"]);
    assert!(nfs.starts_with("NFS\n") && !nfs.contains("iSCSI"), "{nfs}");
}

#[test]
fn a_minor_version_and_a_missing_share_leave_checks_out() {
    let url = share();
    let (status, printed, _) =
        windlass(&["conformance", &url, "--minor", "1", "--check", "offload/clone", "--check", "across_shares"]);
    assert_eq!(status, 0, "{printed}");
    assert!(printed.contains("minor version 2 is not asked for") && printed.contains("no --second-share"), "{printed}");
}

#[test]
fn a_share_that_does_not_exist_fails_with_9() {
    let url = share().replace("/s", "/none");
    let (status, printed, _) = windlass(&["conformance", &url, "--check", "io/stability"]);
    assert_eq!(status, 9, "{printed}");
    assert!(printed.contains("NOENT"), "{printed}");
}

#[test]
fn options_of_the_other_protocol_are_refused() {
    for (words, told) in [
        (&["nfs://127.0.0.1:9/s", "--second-lun", "1"][..], "--second-lun is an option for iscsi:// URLs"),
        (&["nfs://127.0.0.1:9/s", "--destroy-data"], "--destroy-data is an option for iscsi:// URLs"),
        (&["iscsi://127.0.0.1:9/iqn.x:t/0", "--strict"], "--strict is an option for nfs:// URLs"),
        (&["nfs://127.0.0.1:9/s", "--check", "compare_and_write"], "there is no check compare_and_write"),
        (&["nfs://127.0.0.1:9/s", "--minor", "3"], "3 is not in 1..=2"),
        (&["nfs://127.0.0.1:9"], "no share in"),
        (&["smb://h/s"], "expected iscsi://"),
    ] {
        let (status, printed, error) = windlass(&[&["conformance"], words].concat());
        assert_eq!((status, printed.as_str()), (2, ""), "{words:?}");
        assert!(error.contains(told), "{words:?}: {error}");
    }
}

/// A server whose names have no case, which is a choice of the standard's.
struct Folding {
    name: &'static str,
}

impl Lie for Folding {
    fn ask(&mut self, operation: Operation) -> Operation {
        match operation {
            Operation::Create(mut arguments) => {
                arguments.name = arguments.name.as_bytes().to_ascii_lowercase().into();
                Operation::Create(arguments)
            }
            other => other,
        }
    }

    fn answer(&mut self, _asked: &Operation, outcome: Outcome) -> Outcome {
        match outcome {
            Outcome::ExchangeId(Ok(mut found)) => {
                let date = Time { seconds: 0, nanoseconds: 0 };
                let implementation = ImplementationId { domain: "example.org".into(), name: self.name.into(), date };
                found.implementation = Some(implementation);
                Outcome::ExchangeId(Ok(found))
            }
            other => other,
        }
    }
}

#[test]
fn a_choice_binds_only_windlass_and_those_who_ask_for_it() {
    for (name, more, status, counts) in [
        ("Other", &[][..], 0, "0 passed, 0 failed, 1 different, 0 skipped"),
        ("Other", &["--strict"], 9, "0 passed, 1 failed, 0 skipped"),
        ("Windlass 1.0", &[], 9, "0 passed, 1 failed, 0 skipped"),
    ] {
        let address = nfs_memory::start_with(Setup::lying(move || Folding { name })).unwrap();
        let url = format!("nfs://{address}/s");
        let (found, printed, _) = windlass(&[&["conformance", &url, "--check", "namespace/case"], more].concat());
        assert_eq!(found, status, "{name} {more:?}: {printed}");
        assert!(printed.ends_with(&format!("{counts}\n")), "{name} {more:?}: {printed}");
    }
}
