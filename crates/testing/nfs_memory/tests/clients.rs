//! The NFS server on sockets, as clients of other crates see it.
#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use nfs::v4::Stable;
use nfs_client::{Identity, Options as SessionOptions, Session, Share};
use nfs_conformance::{Options, checks, run};
use nfs_memory::start;
use std::sync::atomic::AtomicBool;

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

#[test]
fn every_check_of_conformance_passes() {
    let mut options = Options::new(format!("nfs://{}/s", start().unwrap()).parse().unwrap());
    options.second_share = Some("t".into());
    options.strict = Some(true);
    let report = run(&options, &checks(), &AtomicBool::new(false), |_| {});
    println!("{}", report.table());
    assert_eq!(report.count("failed"), 0);
}
