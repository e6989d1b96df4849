//! The NFS server on sockets, as clients of other crates see it.
#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use nfs::v4::Stable;
use nfs::v4::io::{ReadArguments, WriteArguments};
use nfs::v4::operations::{Operation, Outcome};
use nfs_client::{Identity, Options as SessionOptions, Session, Share};
use nfs_conformance::{Harness, Options, Remembered, checks, find, run};
use nfs_memory::{Lie, Restarts, Setup, start, start_restartable, start_with};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

#[test]
fn a_file_is_written_cloned_listed_and_read() {
    let server = start().unwrap().to_string();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let session =
            Session::connect(&server, &Identity::root("test", [1; 8]), SessionOptions::default()).await.unwrap();
        let share = Share::find(&session, "s").await.unwrap();
        let file = share.create_file(share.root(), "template").await.unwrap();
        let data: Vec<u8> = (0..1 << 20).map(|at: u32| at.to_le_bytes()[at as usize % 3]).collect();
        let written = share.write(&file, 0, data.clone().into(), Stable::FileSync).await.unwrap();
        assert_eq!(written.count_bytes, 1 << 20);
        let clone = share.create_file(share.root(), "clone").await.unwrap();
        share.clone_range((&file, 0), (&clone, 0), 0).await.unwrap();
        let (read, end) = share.read(&clone, 0, 1 << 20).await.unwrap();
        assert!(end && read == data);
        let names = share.list(share.root(), &[4]).await.unwrap();
        let mut names: Vec<_> = names.iter().map(|entry| entry.name.as_bytes().clone()).collect();
        names.sort();
        assert_eq!(names, ["clone", "template"]);
        for (name, file) in [("clone", clone), ("template", file)] {
            share.close(file).await.unwrap();
            share.remove(share.root(), name).await.unwrap();
        }
        session.end().await.unwrap();
    });
}

/// A server that does at most 1000 bytes of a READ, WRITE or COPY in a call.
struct Slow;

impl Lie for Slow {
    fn ask(&mut self, operation: Operation) -> Operation {
        match operation {
            Operation::Read(it) => Operation::Read(ReadArguments { count_bytes: it.count_bytes.min(1000), ..it }),
            Operation::Write(it) => {
                let data = it.data.as_bytes().slice(..it.data.len().min(1000)).into();
                Operation::Write(WriteArguments { data, ..it })
            }
            Operation::Copy(mut it) => {
                it.count_bytes = it.count_bytes.min(1000);
                Operation::Copy(it)
            }
            other => other,
        }
    }
}

#[test]
fn content_is_moved_by_as_many_calls_as_the_server_needs() {
    let server = start_with(Setup::lying(|| Slow)).unwrap().to_string();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let session =
            Session::connect(&server, &Identity::root("test", [1; 8]), SessionOptions::default()).await.unwrap();
        let share = Share::find(&session, "s").await.unwrap();
        let file = share.create_file(share.root(), "f").await.unwrap();
        let data: Vec<u8> = (0..4500_u32).map(|at| at.to_le_bytes()[0]).collect();
        let verifier = share.write_range(&file, 100, data.clone().into(), Stable::Unstable).await.unwrap();
        assert_eq!(share.commit(&file.handle).await.unwrap(), verifier);
        assert_eq!(share.read_range(&file, 100, 4500).await.unwrap(), data);
        assert_eq!(share.read_range(&file, 4000, 4500).await.unwrap(), data[3900..]);
        let copy = share.create_file(share.root(), "copy").await.unwrap();
        let mut steps = Vec::new();
        let complete = share.copy_all((&file, 100), (&copy, 7), 4500, |done| {
            steps.push(done);
            true
        });
        assert!(complete.await.unwrap());
        assert_eq!(steps, [1000, 2000, 3000, 4000, 4500]);
        assert_eq!(share.read_range(&copy, 7, 9000).await.unwrap(), data);
        assert!(!share.copy_all((&file, 0), (&copy, 0), 4500, |done| done < 2000).await.unwrap());
        let url: nfs_client::url::Url = format!("nfs://{server}/s/f").parse().unwrap();
        let error = share.directory(&url).await.unwrap_err();
        assert_eq!(error.status(), Some(nfs::v4::Status::NOTDIR));
    });
}

/// The server in memory, as it is restarted.
#[derive(Debug)]
struct Restartable(Restarts);

impl Harness for Restartable {
    fn restart(&self, remembered: Remembered) -> Result<(), String> {
        self.0.restart(remembered == Remembered::Recorded).map_err(|error| error.to_string())
    }
}

/// Restarts with the time that leases take to lapse.
#[test]
fn every_check_of_restarts_passes() {
    let setup = Setup { lease: Duration::from_secs(5), ..Setup::default() };
    let (address, restarts) = start_restartable(setup).unwrap();
    let mut options = Options::new(format!("nfs://{address}/s").parse().unwrap());
    options.strict = Some(true);
    options.thorough = true;
    options.harness = Some(Arc::new(Restartable(restarts)));
    let report = run(&options, &find("restart"), &AtomicBool::new(false), |_| {});
    println!("{}", report.table());
    assert_eq!((report.count("failed"), report.count("skipped")), (0, 0));
}

#[test]
fn every_check_of_conformance_passes() {
    let (address, restarts) = start_restartable(Setup::default()).unwrap();
    let mut options = Options::new(format!("nfs://{address}/s").parse().unwrap());
    options.harness = Some(Arc::new(Restartable(restarts)));
    options.second_share = Some("t".into());
    options.strict = Some(true);
    let report = run(&options, &checks(), &AtomicBool::new(false), |_| {});
    println!("{}", report.table());
    assert_eq!(report.count("failed"), 0);
}

/// A server that says of a copy that goes on: all is copied; it is cancelled, which it is not; it has another name; it
/// has been done.
#[derive(Clone, Copy, Debug)]
enum AboutCopies {
    Status,
    Cancel,
    Name,
    Synchronous,
}

impl Lie for AboutCopies {
    fn ask(&mut self, operation: Operation) -> Operation {
        match (operation, self) {
            (Operation::OffloadCancel(_), Self::Cancel) => Operation::GetFilehandle,
            (other, _) => other,
        }
    }

    fn answer(&mut self, asked: &Operation, outcome: Outcome) -> Outcome {
        match (self, asked, outcome) {
            (Self::Cancel, Operation::OffloadCancel(_), _) => Outcome::OffloadCancel(Ok(())),
            (Self::Status, _, Outcome::OffloadStatus(Ok(mut status))) => {
                status.count_bytes = 20 << 20;
                Outcome::OffloadStatus(Ok(status))
            }
            (Self::Name, _, Outcome::Copy(Ok(mut copy))) => {
                copy.response.callback.iter_mut().for_each(|stateid| stateid.seqid += 1);
                Outcome::Copy(Ok(copy))
            }
            (Self::Synchronous, _, Outcome::Copy(Ok(mut copy))) => {
                copy.requirements.synchronous = true;
                Outcome::Copy(Ok(copy))
            }
            (_, _, outcome) => outcome,
        }
    }
}

#[test]
fn lies_about_copies_are_noticed() {
    for (lie, check) in [
        (AboutCopies::Status, "offload/status"),
        (AboutCopies::Cancel, "offload/cancel"),
        (AboutCopies::Name, "offload/copy_callback"),
        (AboutCopies::Synchronous, "offload/asynchronous_copy"),
    ] {
        let address = start_with(Setup::lying(move || lie)).unwrap();
        let options = Options::new(format!("nfs://{address}/s").parse().unwrap());
        let report = run(&options, &find(check), &AtomicBool::new(false), |_| {});
        assert_eq!(report.count("failed"), 1, "{lie:?}: {}", report.table());
    }
}
