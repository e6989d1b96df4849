//! Copies of whole logical units: where they resume, what they refuse to overwrite, and the
//! messages when they fail.

use crate::disk::{Host, interrupt};
use crate::fixture::{Fixture, wait_for};
use conformance::initiator::Session;
use serde_json::Value;
use std::process::{Child, Stdio};

const MIB: u64 = 1 << 20;

/// Writes this many MiB from the beginning, without zeros and without repetitions.
fn fill(session: &mut Session, mebibytes: u64) {
    for piece in 0..mebibytes {
        session.write16(piece * 2048, random::pattern(piece, MIB).into()).unwrap();
    }
}

/// Bytes copied so far, as the host has noted them in its state directory.
fn note(host: &Host<'_>) -> Option<u64> {
    let mut files = std::fs::read_dir(host.home.path().join("windlass")).ok()?.filter_map(Result::ok);
    let file = files.find(|file| file.file_name().to_string_lossy().starts_with("clone-naa"))?;
    serde_json::from_slice::<Value>(&std::fs::read(file.path()).ok()?).ok()?["copied_bytes"].as_u64()
}

/// Starts a copy with notes of its progress, and waits for the first note.
fn begin(host: &Host<'_>, words: &[&str]) -> Child {
    let child = host.command(words).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for("the copy's first note", || note(host).is_some());
    child
}

/// Starts a copy of 512 MiB from one whole logical unit to another, and interrupts it; returns the
/// bytes copied.
fn interrupted_copy(host: &Host<'_>, words: &[&str]) -> u64 {
    let before = host.fixture.written("to");
    let child = begin(host, words);
    host.fixture.wait_for_written("to", before + 64 * MIB);
    interrupt(&child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    note(host).filter(|copied| *copied > 0).expect("a part that is copied")
}

/// A whole logical unit has no lock: before a copy resumes, it compares both sides of the part that
/// is done.
#[test]
fn a_copy_of_whole_units_goes_on_from_the_first_difference() {
    let fixture = Fixture::start("2G", &[]);
    let host = Host::new(&fixture);
    let (from, to) = (host.unit("from", "512M"), host.unit("to", "512M"));
    let mut source = fixture.log_in("from");
    fill(&mut source, 512);
    let mut target = fixture.log_in_as("reader", "to");
    let mut assert_same = |source: &mut Session| {
        for piece in 0..512 {
            let (one, other) = (source.read16(piece * 2048, 2048).unwrap(), target.read16(piece * 2048, 2048).unwrap());
            assert!(one == other, "MiB {piece} differs");
        }
    };
    let clone = ["disk", "clone", &from, &to, "-N", "--resume", "-q"];
    // Neither side has changed: the copy resumes where it was.
    let copied = interrupted_copy(&host, &clone);
    assert_eq!(host.json(&clone)["resumed_bytes"], copied);
    assert_same(&mut source);
    let named = host.fixture.json(&["volume", "show", "to"])["naa"].as_str().unwrap().to_owned();
    let clone = [&clone[..], &["--destroy-data", &named]].concat();
    // The source has changed: the copy resumes at the change.
    let copied = interrupted_copy(&host, &clone);
    source.write16(0, vec![7; 1 << 20].into()).unwrap();
    let resumed = host.json(&clone)["resumed_bytes"].as_u64().unwrap();
    assert!(resumed < copied, "{resumed} of {copied}");
    assert_same(&mut source);
    // The destination has changed: the data may belong to someone else, and is overwritten only if
    // it is named.
    interrupted_copy(&host, &clone);
    host.ok(&["disk", "zero", &to, "--destroy-data", &named]);
    fixture.log_in_as("other", "to").write16(64, vec![9; 4096].into()).unwrap();
    let (status, words) = host.fails(&clone[..clone.len() - 2]);
    assert!(status == 4 && words.contains("holds data"), "{status}: {words}");
    host.ok(&clone);
    assert_same(&mut source);
}

/// Regression: an answer that came too late during a copy was reported with the exit status of an
/// array that is gone.
#[test]
fn a_stalled_array_and_a_stopped_one_give_different_errors() {
    let fixture = Fixture::start("1G", &[]);
    let host = Host::new(&fixture);
    let (from, to) = (host.unit("from", "256M"), host.unit("to", "256M"));
    fill(&mut fixture.log_in("from"), 256);
    let copying = begin(&host, &["disk", "clone", &from, &to, "-N", "--resume", "-q", "--answer-timeout", "1"]);
    let array = rustix::process::Pid::from_raw(i32::try_from(fixture.array.pid()).unwrap()).unwrap();
    rustix::process::kill_process(array, rustix::process::Signal::STOP).unwrap();
    let output = copying.wait_with_output();
    rustix::process::kill_process(array, rustix::process::Signal::CONT).unwrap();
    let output = output.unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(8), "{said}");
    assert!(
        said.contains("(code: timed-out)") && said.contains("help: the array is gone or does not respond"),
        "{said}"
    );
}

/// Kills a copy with SIGKILL after its first note and after it has written this many MiB.
fn killed_copy(host: &Host<'_>, words: &[&str], mebibytes: u64) {
    let before = host.fixture.written("to");
    let mut child = begin(host, words);
    host.fixture.wait_for_written("to", before + mebibytes * MIB);
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Regression: a copy without a note, or behind its last note, resumed over data of another writer.
#[test]
fn a_copy_resumes_only_over_its_own_data() {
    let fixture = Fixture::start("2G", &[]);
    let host = Host::new(&fixture);
    let (from, to) = (host.unit("from", "256M"), host.unit("to", "512M"));
    let mut source = fixture.log_in("from");
    fill(&mut source, 256);
    let named = fixture.json(&["volume", "show", "to"])["naa"].as_str().unwrap().to_owned();
    let clone = ["disk", "clone", &from, &to, "-N", "--resume", "-q"];
    // Data behind the last note was written by the copy itself, and needs no confirmation.
    for mebibytes in [0, 8, 16, 32] {
        killed_copy(&host, &clone, mebibytes);
    }
    host.ok(&clone);
    let mut target = fixture.log_in_as("reader", "to");
    for piece in 0..256 {
        assert!(
            source.read16(piece * 2048, 2048).unwrap() == target.read16(piece * 2048, 2048).unwrap(),
            "MiB {piece}"
        );
    }
    // Data of another writer, far behind the copied part.
    host.ok(&["disk", "zero", &to, "--destroy-data", &named]);
    killed_copy(&host, &clone, 0);
    target.write16(1_000_000, vec![9; 4096].into()).unwrap();
    let (status, words) = host.fails(&clone);
    assert!(status == 4 && words.contains("holds data: the") && words.contains("--destroy-data naa."), "{words}");
    assert_eq!(target.read16(1_000_000, 8).unwrap(), vec![9; 4096]);
    // Data of another writer within the copied part.
    host.ok(&["datastore", "format", &to, "--name", "precious", "--destroy-data", &named]);
    host.ok(&["disk", "create", "-c", "8M", "-d", "thin", &format!("{to}#theirs")]);
    let (status, words) = host.fails(&clone);
    // A copy that was killed before its first note counts as not begun.
    let refused = ["holds data that the interrupted copy cannot have written", "holds data: the"];
    assert!(status == 4 && refused.iter().any(|reason| words.contains(reason)), "{words}");
    assert_eq!(host.json(&["datastore", "ls", &to])[0]["name"], "theirs");
    assert!(host.ok(&["datastore", "check", &to]).contains(": clean"));
    // A copy from another source: only the note is to be deleted.
    let other = host.unit("other", "256M");
    let (status, words) = host.fails(&["disk", "clone", &other, &to, "--resume"]);
    assert!(status == 2 && words.contains("to start over, remove ") && words.contains("/clone-naa."), "{words}");
    host.ok(&[&clone[..], &["--destroy-data", &named]].concat());
    source.clear_unit_attentions().unwrap();
    target.clear_unit_attentions().unwrap();
    assert_eq!(source.read16(0, 2048).unwrap(), target.read16(0, 2048).unwrap());
}

/// A logical unit has as many URLs as portals.
#[test]
fn a_unit_is_not_copied_to_itself() {
    let fixture = Fixture::start("512M", &[]);
    let host = Host::new(&fixture);
    let url = host.unit("one", "128M");
    let naa = fixture.json(&["volume", "show", "one"])["naa"].as_str().unwrap().to_owned();
    host.ok(&["datastore", "format", &url]);
    let alias = url.replace("127.0.0.1", "localhost");
    let (disk, there) = (format!("{url}#disk"), format!("{alias}#other"));
    host.ok(&["disk", "create", "-c", "8M", &disk]);
    for (from, to, says) in [
        (&url, &alias, "are the same logical unit"),
        (&url, &there, "cannot hold the logical unit that it is on"),
        (&disk, &alias, "cannot overwrite the logical unit that it is on"),
    ] {
        for verb in ["clone", "migrate"] {
            let named: &[&str] = if to.contains('#') { &[] } else { &["--destroy-data", &naa] };
            let (status, words) = host.fails(&[&["disk", verb, from, to][..], named].concat());
            assert!(status == 2 && words.contains(says), "{verb}: {status} {words}");
        }
    }
    assert_eq!(host.json(&["datastore", "ls", &url]).as_array().unwrap().len(), 1);
}

/// Regression: overwritten data was lost, which was reported only for an interrupted copy.
#[test]
fn a_failed_copy_reports_how_much_it_overwrote() {
    let fixture = Fixture::start("256M", &[]);
    let host = Host::new(&fixture);
    let (from, to) = (host.unit("from", "256M"), host.unit("to", "256M"));
    fill(&mut fixture.log_in("from"), 150);
    let (status, words) = host.fails(&["disk", "clone", &from, &to, "-N", "-q"]);
    assert!(status == 6 && words.contains(" are overwritten, the rest is unchanged; iscsi://"), "{status}: {words}");
    let (status, words) = host.fails(&["disk", "clone", &from, &to, "-N", "-q"]);
    assert!(status == 4 && words.contains("holds data"), "{status}: {words}");
}
