//! Runs over an array in memory, with processes that behave badly: scripts in the place of the program.
#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use super::{LabRefusal, Laboratory};
use crate::memory::{TemporaryDirectory, spawn};
use api::{LabRun, LabRunCreate, LabRunState};
use control::{HostList, TrashList, VolumeCreate, VolumeList};
use reactor::ArrayHandle;
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Longest wait: a machine that is busy with builds must not fail a test.
const PATIENCE: Duration = Duration::from_secs(120);

struct World {
    directory: TemporaryDirectory,
    array: ArrayHandle,
}

impl World {
    fn new() -> Self {
        Self { directory: TemporaryDirectory::new(), array: spawn(|_, _, _| {}) }
    }

    /// File in which a script writes its identifier.
    fn pid_file(&self) -> PathBuf {
        self.directory.path().join("pid")
    }

    /// Laboratory whose program is a script.
    async fn with_script(&self, script: &str) -> Arc<Laboratory> {
        let path = self.directory.path().join("program");
        let text = format!("#!/bin/sh\necho $$ > {}\n{script}\n", self.pid_file().display());
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o700)).unwrap();
        let laboratory = Arc::new(Laboratory::open(self.directory.path()).with_program(path));
        Arc::clone(&laboratory).recover(self.array.clone()).await;
        laboratory
    }

    async fn start(&self, laboratory: &Arc<Laboratory>) -> LabRun {
        laboratory.start(wanted(&["clone-template"]), "user ana".to_owned(), &self.array).await.unwrap()
    }

    /// Waits for the end of a run, after which nothing of it may be left.
    async fn end(&self, laboratory: &Laboratory, id: u64) -> LabRun {
        let ended = async {
            loop {
                let run = laboratory.show(id).unwrap();
                if run.state != LabRunState::Running {
                    return run;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let run = tokio::time::timeout(PATIENCE, ended).await.unwrap();
        assert_eq!((self.names().await, &run.left), (Vec::new(), &Vec::new()), "{run:#?}");
        let pid = std::fs::read_to_string(self.pid_file()).unwrap();
        assert!(!PathBuf::from(format!("/proc/{}", pid.trim())).exists(), "the process goes on: {run:#?}");
        run
    }

    /// Names of volumes and hosts.
    async fn names(&self) -> Vec<String> {
        let volumes = self.array.read(VolumeList::default()).await.unwrap().into_iter().map(|view| view.record.name);
        let hosts = self.array.read(HostList::default()).await.unwrap().into_iter().map(|view| view.record.name);
        volumes.chain(hosts).collect()
    }
}

fn wanted(cases: &[&str]) -> LabRunCreate {
    let cases = cases.iter().map(|case| (*case).to_owned()).collect();
    LabRunCreate { cases, size: Some("16M".to_owned()), ..LabRunCreate::default() }
}

/// Whatever the process does, the run ends with a reason, and nothing of it is left.
#[tokio::test]
async fn a_process_that_misbehaves_ends_its_run() {
    for (script, reason) in [
        ("echo this is no progress; /bin/sleep 1000", "its process wrote what is no progress"),
        ("/bin/sleep 1000 & echo '{\"event\":\"launch\"}'; wait", "its process wrote what is no progress"),
        ("while :; do printf 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'; done", "a line of more than"),
        ("echo why it is so >&2; exit 3", "exit status: 3 and without a result: why it is so"),
        ("exit 0", "exit status: 0 and without a result"),
        ("kill -9 $$", "SIGKILL"),
        ("exec 1>&-; /bin/sleep 1000", "SIGKILL"),
        ("echo '{\"event\":\"ended\",\"cancelled\":false,\"reason\":\"the array was gone\"}'", "the array was gone"),
    ] {
        let world = World::new();
        let laboratory = world.with_script(script).await;
        let run = world.start(&laboratory).await;
        let run = world.end(&laboratory, run.id).await;
        let words = run.reason.clone().unwrap_or_default();
        assert!(run.state == LabRunState::Failed && words.contains(reason), "{script}: {run:#?}");
        assert!(words.chars().count() <= 501, "{words}");
        // The next run can begin, and the record tells the same after a restart.
        assert_eq!(Laboratory::open(world.directory.path()).show(run.id).unwrap(), run);
        let next = world.start(&laboratory).await;
        assert_eq!(next.id, run.id + 1);
        world.end(&laboratory, next.id).await;
    }
}

/// A process that ignores the signal is killed, and one that reports without end does not grow the run.
#[tokio::test]
async fn a_process_that_does_not_end_is_killed() {
    let line = r#"echo '{"event":"point","wire_bytes_per_second":7}'"#;
    for rest in ["while :; do /bin/sleep 1; done", &format!("while :; do {line}; done")] {
        let world = World::new();
        let laboratory = world.with_script(&format!("trap '' INT; {line}; {rest}")).await;
        let run = world.start(&laboratory).await;
        while laboratory.show(run.id).unwrap().points.is_empty() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let other = laboratory.start(wanted(&["eager-zero"]), String::new(), &world.array).await;
        assert_eq!(other.unwrap_err(), LabRefusal::Running { id: run.id });
        assert!(laboratory.cancel(run.id).unwrap().now.is_some_and(|now| now.ending));
        let run = world.end(&laboratory, run.id).await;
        assert_eq!((run.state, run.reason), (LabRunState::Cancelled, None));
        assert!(run.points.len() <= 240, "{}", run.points.len());
        // Of a run that has ended there is nothing to cancel.
        assert_eq!(laboratory.cancel(run.id).unwrap().state, LabRunState::Cancelled);
    }
}

#[tokio::test]
async fn a_run_is_refused_that_is_not_possible() {
    let world = World::new();
    let laboratory = world.with_script("exit 0").await;
    let with = |change: fn(&mut LabRunCreate)| {
        let mut request = wanted(&["clone-template"]);
        change(&mut request);
        request
    };
    for (request, code) in [
        (wanted(&[]), "invalid-lab-run"),
        (wanted(&["clone-template", "clone-template"]), "invalid-lab-run"),
        (wanted(&["clone"]), "invalid-lab-run"),
        (wanted(&["nas-clone"]), "invalid-lab-run"),
        (with(|request| request.size = Some("huge".to_owned())), "invalid-lab-run"),
        (with(|request| request.pairs = Some(0)), "invalid-lab-run"),
        (with(|request| request.pairs = Some(101)), "invalid-lab-run"),
        (with(|request| request.stop_when_host_p99_us = Some(0)), "invalid-lab-run"),
        // Three times 200 GiB.
        (with(|request| request.size = Some("paper".to_owned())), "lab-needs-space"),
        (with(|request| request.size = Some("1P".to_owned())), "lab-needs-space"),
    ] {
        let refused = laboratory.start(request.clone(), String::new(), &world.array).await.unwrap_err();
        assert_eq!(refused.code(), code, "{request:?}: {refused}");
    }
    assert!(world.names().await.is_empty() && laboratory.list().is_empty());
}

/// What a killed array has left is removed at its next start, also if the record is lost; what an administrator has
/// made with such names or labels is not.
#[tokio::test]
async fn the_next_start_removes_what_is_left() {
    let world = World::new();
    let laboratory = world.with_script("while :; do /bin/sleep 1; done").await;
    let run = world.start(&laboratory).await;
    while world.names().await.len() < 2 || !world.pid_file().exists() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let label = |value: &str| BTreeMap::from([("windlass-laboratory".to_owned(), value.to_owned())]);
    for (name, labels) in
        [("lab-scratch-mine", label("other")), ("mine", label("mine")), ("lab-scratch-1", label("lab-scratch-1"))]
    {
        let name = name.to_owned();
        let create = VolumeCreate { name, size_bytes: Some(1 << 20), labels, ..VolumeCreate::default() };
        world.array.call(create).await.unwrap();
    }
    let next = Arc::new(Laboratory::open(world.directory.path()));
    assert_eq!(next.show(run.id).unwrap().state, LabRunState::Running);
    Arc::clone(&next).recover(world.array.clone()).await;
    let ended = next.show(run.id).unwrap();
    assert_eq!((ended.state, ended.reason.as_deref()), (LabRunState::Failed, Some("the array ended during the run")));
    assert_eq!(world.names().await, ["lab-scratch-mine", "mine"]);
    // Of volumes without a record, it is not certain whose they are.
    let trash = world.array.read(TrashList).await.unwrap();
    assert_eq!(trash.iter().map(|of| of.name.as_str()).collect::<Vec<_>>(), ["lab-scratch-1"]);
    laboratory.stop().await;
    let pid = std::fs::read_to_string(world.pid_file()).unwrap();
    assert!(!PathBuf::from(format!("/proc/{}", pid.trim())).exists());
}

#[tokio::test]
async fn a_damaged_archive_stops_nothing() {
    let world = World::new();
    let lab = world.directory.path().join("lab");
    for (id, text) in [("1", "{"), ("2", "{\"run\":{}}"), ("x", ""), ("3", "")] {
        std::fs::create_dir_all(lab.join(id)).unwrap();
        std::fs::write(lab.join(id).join("run.json"), text).unwrap();
    }
    let laboratory = world.with_script("exit 0").await;
    assert!(laboratory.list().is_empty());
    // Their numbers are not used again.
    let run = world.start(&laboratory).await;
    assert_eq!(run.id, 4);
    world.end(&laboratory, run.id).await;
    assert_eq!(laboratory.report(4, None).await.unwrap_err(), LabRefusal::NoReport { id: 4 });
    assert_eq!(laboratory.results(5).await.unwrap_err(), LabRefusal::NoRun { id: 5 });
}

#[tokio::test]
async fn only_the_last_runs_are_kept() {
    let world = World::new();
    let laboratory = world.with_script("exit 0").await;
    for _ in 0..22 {
        let run = world.start(&laboratory).await;
        world.end(&laboratory, run.id).await;
        laboratory.stop().await;
    }
    let kept: Vec<u64> = laboratory.list().iter().map(|run| run.id).collect();
    assert_eq!((kept.len(), kept.first(), kept.last()), (20, Some(&22), Some(&3)));
    assert!(!world.directory.path().join("lab/2").exists() && world.directory.path().join("lab/3").exists());
}

/// Uploaded files come from people: what is not a run is refused, and nothing of it is kept.
#[tokio::test]
async fn uploads_are_checked() {
    let world = World::new();
    let laboratory = world.with_script("echo '<p>report</p>'").await;
    let text = r#"{"version":1,"windlass":"w","started":"2026-11-22T10:00:00Z","ended":"2026-11-22T10:01:00Z","machine":{"processors":2,"processor":"p","memory_bytes":1,"system":"s"},"pairs":1,"size":"small","subjects":[{"url":"u","vendor":"LIO","product":"x","revision":"1","size_bytes":1}],"cases":[]}"#;
    for wrong in ["", "[]", "{}", &text.replace("\"version\":1", "\"version\":2"), &"[".repeat(100_000)] {
        let refused = laboratory.upload(wrong.as_bytes().to_vec(), String::new()).await.unwrap_err();
        assert_eq!(refused.code(), "invalid-lab-run", "{refused}");
    }
    assert!(laboratory.list().is_empty());
    let run = laboratory.upload(text.as_bytes().to_vec(), "user ana".to_owned()).await.unwrap();
    assert_eq!((run.state, run.array.as_deref(), run.has_report), (LabRunState::Uploaded, Some("LIO x 1"), true));
    assert_eq!(laboratory.results(run.id).await.unwrap(), text.as_bytes());
    assert_eq!(laboratory.report(run.id, None).await.unwrap(), b"<p>report</p>\n");
    assert_eq!(Laboratory::open(world.directory.path()).list(), [run]);
    // The process that makes the report refuses it.
    let world = World::new();
    let laboratory = world.with_script("echo no >&2; exit 2").await;
    assert_eq!(laboratory.upload(text.as_bytes().to_vec(), String::new()).await.unwrap_err().to_string(), "no");
    assert!(laboratory.list().is_empty());
}
