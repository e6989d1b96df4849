//! `windlass probe` with the URL of a share.

use super::{share, windlass};
use nfs::v4::operations::{Operation, Outcome};
use nfs_memory::{Lie, Setup};
use serde_json::Value;

#[test]
fn every_primitive_is_proved() {
    let url = share();
    let (status, printed, told) = windlass(&["probe", &url, "--write-test", "-o", "json"]);
    assert_eq!(status, 0, "{printed}{told}");
    let report: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!((&report["complete"], &report["failed"]), (&Value::Bool(true), &Value::Null), "{printed}");
    let (status, printed, _) = windlass(&["probe", &url]);
    assert_eq!(status, 0, "{printed}");
    assert!(printed.contains("CLONE") && !printed.contains("Not supported"), "{printed}");
}

/// A server that says it cloned.
struct NoClone;

impl Lie for NoClone {
    fn ask(&mut self, operation: Operation) -> Operation {
        match operation {
            Operation::Clone(_) => Operation::GetFilehandle,
            other => other,
        }
    }

    fn answer(&mut self, asked: &Operation, outcome: Outcome) -> Outcome {
        match asked {
            Operation::Clone(_) => Outcome::Clone(Ok(())),
            _ => outcome,
        }
    }
}

#[test]
fn a_missing_primitive_ends_with_9() {
    let address = nfs_memory::start_with(Setup::lying(|| NoClone)).unwrap();
    let (status, printed, _) = windlass(&["probe", &format!("nfs://{address}/s"), "--write-test"]);
    assert_eq!(status, 9, "{printed}");
    let line = printed.lines().find(|line| line.starts_with("CLONE")).unwrap();
    assert!(line.contains("Not supported") && line.contains("a clone has 0 bytes"), "{line}");
}

#[test]
fn errors_have_their_exit_status() {
    let url = share();
    for (words, expected, told) in [
        (&["nfs://127.0.0.1:9/s"][..], 7, "code: unreachable"),
        (&[&url.replace("/s", "/none")], 3, "code: not-found"),
        (&[&format!("{url}/none")], 3, "code: not-found"),
        (&[&url, "--initiator", "iqn.2026-01.org.example:x"], 2, "--initiator is an option for iscsi:// URLs"),
        (&[&url, "-o", "esxcli"], 2, "code: usage"),
    ] {
        let (status, _, error) = windlass(&[&["probe"], words].concat());
        assert_eq!(status, expected, "{words:?}: {error}");
        assert!(error.contains(told), "{words:?}: {error}");
    }
}
