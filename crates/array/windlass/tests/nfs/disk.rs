//! `windlass disk` with files of a share.

use super::{share, windlass};
use nfs::v4::Status;
use nfs::v4::compound::CompoundOutcome;
use nfs::v4::operations::{Operation, Outcome};
use nfs_memory::{Lie, Setup};
use serde_json::Value;

fn json(words: &[&str]) -> Value {
    let (status, printed, told) = windlass(&[&["disk"], words, &["-o", "json"]].concat());
    assert_eq!(status, 0, "{words:?}: {printed}{told}");
    serde_json::from_str(&printed).unwrap()
}

fn space(file: &str) -> [u64; 3] {
    let found = json(&["stat", "--extendedstat", file]);
    ["capacity_bytes", "used_bytes", "unshared_bytes"].map(|name| found[name].as_u64().unwrap())
}

const MIB: u64 = 1 << 20;

#[test]
fn a_file_is_created_reserved_punched_and_cloned() {
    let url = share();
    let [thin, thick, eager, clone] = ["thin", "thick", "eager", "clone"].map(|name| format!("{url}/{name}"));
    json(&["create", "-d", "thin", "-c", "4M", &thin]);
    assert_eq!(space(&thin), [4 * MIB, 0, 0]);
    json(&["create", "-c", "4M", &thick]);
    assert_eq!(space(&thick)[..2], [4 * MIB, 4 * MIB]);
    json(&["create", "-d", "eagerzeroedthick", "-c", "4M", &eager]);
    assert_eq!(space(&eager)[..2], [4 * MIB, 4 * MIB]);
    json(&["reserve", &thin, "--offset", "1M", "--length", "2M"]);
    assert_eq!(space(&thin)[..2], [4 * MIB, 2 * MIB]);
    json(&["punch", &thin]);
    assert_eq!(space(&thin), [4 * MIB, 0, 0]);
    let cloned = json(&["clone", "-i", &thick, &clone]);
    assert_eq!((cloned["method"].as_str(), cloned["capacity_bytes"].as_u64()), (Some("clone"), Some(4 * MIB)));
    // With the options of vmkfstools, in words.
    let (status, printed, _) = windlass(&["disk", "--extendedstat", &clone]);
    assert_eq!(status, 0);
    assert!(printed.contains(&format!("Capacity bytes: {}\n", 4 * MIB)), "{printed}");
    let copied = json(&["-i", &thick, "-N", &format!("{url}/by-host")]);
    assert_eq!((copied["method"].as_str(), copied["reason"].as_str()), (Some("host"), Some("-N")));
    assert!(copied["wire_bytes"].as_u64().unwrap() > 4 * MIB, "{copied:#}");
}

/// A server without some operations, or whose writes fail.
struct Lacking {
    clone: bool,
    copy: bool,
    write: bool,
}

impl Lie for Lacking {
    fn ask(&mut self, operation: Operation) -> Operation {
        match operation {
            Operation::Clone(_) if self.clone => Operation::GetFilehandle,
            Operation::Copy(_) if self.copy => Operation::GetFilehandle,
            other => other,
        }
    }

    fn answer(&mut self, asked: &Operation, outcome: Outcome) -> Outcome {
        match asked {
            Operation::Clone(_) if self.clone => Outcome::Clone(Err(Status::NOTSUPP)),
            Operation::Copy(_) if self.copy => Outcome::failed(60, Status::NOTSUPP),
            Operation::SetAttributes(_) if self.write => Outcome::failed(34, Status::NOSPC),
            _ => outcome,
        }
    }
}

#[test]
fn what_a_server_lacks_is_copied_otherwise_with_the_reason() {
    for (clone, copy, method, reason) in
        [(true, false, "copy", None), (true, true, "host", Some("CLONE: NOTSUPP, COPY: NOTSUPP"))]
    {
        let setup = Setup::lying(move || Lacking { clone, copy, write: false });
        let url = format!("nfs://{}/s", nfs_memory::start_with(setup).unwrap());
        let (source, to) = (format!("{url}/source"), format!("{url}/to"));
        json(&["create", "-c", "3M", &source]);
        let cloned = json(&["clone", &source, &to]);
        assert_eq!((cloned["method"].as_str(), cloned["reason"].as_str()), (Some(method), reason));
        assert_eq!(space(&to)[0], 3 * MIB);
    }
}

#[test]
fn a_failed_creation_leaves_nothing_and_errors_have_their_exit_status() {
    let setup = Setup::lying(|| Lacking { clone: false, copy: false, write: true });
    let full = format!("nfs://{}/s/a", nfs_memory::start_with(setup).unwrap());
    let url = share();
    let [a, missing] = ["a", "missing"].map(|name| format!("{url}/{name}"));
    json(&["create", "-c", "1M", &a]);
    for (words, expected, told) in [
        (&["create", "-c", "1M", &full][..], 6, "NOSPC"),
        (&["stat", &full], 3, "NOENT"),
        (&["create", "-c", "1M", &a], 4, "EXIST"),
        (&["clone", &missing, &format!("{url}/b")], 3, "NOENT"),
        (&["clone", &a, &a], 4, "EXIST"),
        (&["stat", &missing], 3, "NOENT"),
        (&["stat", &url], 2, "names a share"),
        (&["clone", &a, "iscsi://127.0.0.1:9/iqn.x:t/0"], 2, "between files"),
        (&["clone", "--resume", &a, &missing], 2, "--resume"),
        (&["reserve", "iscsi://127.0.0.1:9/iqn.x:t/0"], 2, "no nfs://"),
        (&["-U", &a], 2, "is a file"),
        (&["punch", "nfs://127.0.0.1:9/s/a"], 7, "unreachable"),
    ] {
        let (status, _, error) = windlass(&[&["disk"], words].concat());
        assert_eq!(status, expected, "{words:?}: {error}");
        assert!(error.contains(told), "{words:?}: {error}");
    }
}
